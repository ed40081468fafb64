// SPDX-License-Identifier: Apache-2.0
#pragma once
// A host for tests: a folder with small tools, an engine, a session, and a record of the session's
// event stream. It uses only the public headers.

#include "conformance/folder.hpp"
#include "conformance/json.hpp"

#include "narratoria/engine.hpp"

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::test {

// ---- events of tools

inline std::string event(std::string_view type, std::string_view members = {}) {
    std::string text = R"({"version":"0","type":")" + std::string(type) + '"';
    if (!members.empty()) text += "," + std::string(members);
    return text + "}";
}
inline std::string log(std::string_view message) {
    return event("log", R"("level":"info","message":)" + json_text(message));
}
inline std::string patch(std::string_view object) {
    return event("state_patch", R"("patch":)" + std::string(object));
}
inline const std::string kDone = R"({"version":"0","type":"done","ok":true})";
inline const std::string kFailed =
    R"({"version":"0","type":"done","ok":false,"summary":"no luck"})";

// ---- plans

// One entry of `tools`. Retries are off unless `members` has a retryPolicy.
inline std::string entry(std::string_view tool_id, std::string_view tool_path,
                         std::string_view members = {}) {
    std::string text =
        R"({"toolId":)" + json_text(tool_id) + R"(,"toolPath":)" + json_text(tool_path);
    if (!members.empty()) text += "," + std::string(members);
    if (members.find("retryPolicy") == std::string_view::npos) {
        text += R"(,"retryPolicy":{"maxRetries":0})";
    }
    return text + "}";
}
inline std::string plan_of(const std::vector<std::string>& tools, std::string_view members = {}) {
    std::string text = R"({"requestId":"plan-1","tools":[)";
    for (size_t i = 0; i < tools.size(); ++i) text += (i > 0 ? "," : "") + tools[i];
    text += "]";
    if (!members.empty()) text += "," + std::string(members);
    return text + "}";
}

// ---- recorded events

struct Record {
    uint64_t seq;
    Kind kind;
    Type type;
    uint32_t attempt;
    std::string plan_id;
    std::string tool_id;
    std::string text;  // the body's text
    Json body;
};

class Recorder {
public:
    void operator()(Event event) {
        records.push_back({event.seq(), event.kind(), event.type(), event.attempt(),
                           std::string(event.plan_id()), std::string(event.tool_id()),
                           std::string(event.body()), Json(event.body())});
        if (on_record) on_record(records.back());
    }
    std::vector<Record> of(Kind kind, std::string_view tool_id = {}) const {
        std::vector<Record> found;
        for (const Record& record : records) {
            if (record.kind == kind && (tool_id.empty() || record.tool_id == tool_id)) {
                found.push_back(record);
            }
        }
        return found;
    }
    // The only record of its kind.
    Record one(Kind kind, std::string_view tool_id = {}) const {
        const std::vector<Record> found = of(kind, tool_id);
        if (found.size() != 1) {
            throw std::out_of_range(std::to_string(found.size()) + " records of that kind");
        }
        return found.front();
    }
    uint64_t seq(Kind kind, std::string_view tool_id) const { return one(kind, tool_id).seq; }

    std::vector<Record> records;
    std::function<void(const Record&)> on_record;
};

// ---- the host

class Stage {
public:
    explicit Stage(EngineOptions options = {}, SessionOptions session_options = {})
        : engine(rooted(std::move(options), folder)), session(engine, session_options) {
        session.attach(std::ref(recorder));
    }

    // Runs a plan to its end; tool paths are relative to the test's folder.
    Json run(std::string_view plan) {
        std::optional<Json> result;
        session.execute(plan, folder.path(),
                        [&](Result ended) { result.emplace(ended.json().view()); });
        engine.run_until_idle();
        if (!result) throw std::runtime_error("the plan did not end");
        return *result;
    }
    // The faults of a refused plan; throws if the plan is accepted.
    Json refusal(std::string_view plan) {
        try {
            session.execute(plan, folder.path());
        } catch (const Error& error) {
            if (error.status() != NAR_INVALID_DOCUMENT) throw;
            return Json(error.details());
        }
        throw std::runtime_error("the plan was not refused");
    }
    Json state() const { return Json(session.state().view()); }
    Json assets() const { return Json(session.assets().view()); }

    Folder folder;
    Engine engine;
    Recorder recorder;
    Session session;

private:
    static EngineOptions rooted(EngineOptions options, const Folder& folder) {
        if (options.root.empty()) options.root = folder.path();
        return options;
    }
};

inline Json tool_of(const Json& result, std::string_view tool_id) {
    for (const Json& tool : result["toolResults"].elements()) {
        if (tool["toolId"].string() == tool_id) return tool;
    }
    throw std::out_of_range("no tool " + std::string(tool_id) + " in " + result.text());
}

// "pointer rule" for each fault.
inline std::vector<std::string> places(const Json& faults) {
    std::vector<std::string> all;
    for (const Json& fault : faults.elements()) {
        all.push_back(fault["pointer"].string() + " " + fault["rule"].string());
    }
    return all;
}

}  // namespace narratoria::test
