// SPDX-License-Identifier: Apache-2.0
#pragma once
// A host that uses only the public wrapper and records all events; and a fixture that looks for
// leftovers after the host is destroyed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/json.hpp"
#include "narratoria/engine.hpp"
#include "support/folders.hpp"
#include "support/leftovers.hpp"
#include "support/variable.hpp"

namespace narratoria::hostile {

using test::Json;
using test::json_text;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The deadline for events that must happen; long, because the machine may be busy.
constexpr std::chrono::seconds kPatience{300};

inline int64_t milliseconds_since(Clock::time_point start) {
    return std::chrono::duration_cast<milliseconds>(Clock::now() - start).count();
}

inline std::string tool_path(const std::string& name) {
    return test::in_build("tests/hostile/") + name;
}
inline std::string script_path(const std::string& name) {
    return test::in_source("tests/hostile/tools/") + name;
}

// One tool of a plan, which may run in parallel and is tried once. `more` is JSON that begins with
// a comma and overrides members: ,"required":false
inline std::string tool_json(const std::string& id, const std::string& path,
                             const std::string& input = "{}", const std::string& more = "") {
    return R"({"toolId":)" + json_text(id) + R"(,"toolPath":)" + json_text(path) + R"(,"input":)" +
           input + R"(,"async":true,"retryPolicy":{"maxRetries":0})" + more + "}";
}

inline std::string plan_json(const std::vector<std::string>& tools, bool parallel = false,
                             const std::string& id = "plan") {
    std::string text = R"({"requestId":)" + json_text(id) + R"(,"parallel":)" +
                       (parallel ? "true" : "false") + R"(,"tools":[)";
    for (size_t i = 0; i < tools.size(); ++i) text += (i > 0 ? "," : "") + tools[i];
    return text + "]}";
}

// A copy of a record of the event stream.
struct Record {
    Kind kind;
    Type type;
    uint64_t seq;
    uint32_t attempt;
    std::string tool;
    std::string body;
};

class Host {
public:
    explicit Host(EngineOptions options = {}, bool keeps_tool_events = true)
        : engine(with_jobs(std::move(options))), session(engine) {
        session.attach([this, keeps_tool_events](Event event) {
            ++events;
            if (on_event) on_event(event);
            if (event.kind() == Kind::ToolEvent && !keeps_tool_events) return;
            records.push_back({event.kind(), event.type(), event.seq(), event.attempt(),
                               std::string(event.tool_id()), std::string(event.body())});
        });
    }

    // Submits a plan; its result is in `result` when it has ended.
    void begin(const std::string& plan) {
        result = Result();
        session.execute(plan, "", [this](Result ended) { result = std::move(ended); });
    }

    // Drives the engine until the condition holds; false if it does not hold at the deadline.
    bool until(const std::function<bool()>& condition, int other_descriptor = -1,
               milliseconds patience = kPatience) {
        const Clock::time_point deadline = Clock::now() + patience;
        for (;;) {
            engine.run_for(std::chrono::microseconds(0));
            if (condition()) return true;
            if (Clock::now() >= deadline) return false;
            const auto next = engine.timeout().value_or(milliseconds(100));
            pollfd descriptors[2] = {{engine.descriptor(), POLLIN, 0},
                                     {other_descriptor, POLLIN, 0}};
            ::poll(descriptors, other_descriptor >= 0 ? 2 : 1,
                   static_cast<int>(std::clamp<int64_t>(next.count(), 0, 100)));
        }
    }

    // Runs a plan until it has ended and the engine is idle; returns its result.
    Json run(const std::string& plan) {
        begin(plan);
        return finish();
    }
    Json finish() {
        if (!until([this] { return static_cast<bool>(result); })) {
            ADD_FAILURE() << "the plan did not end";
            return Json();
        }
        if (!until([this] { return !engine.is_busy(); })) {
            ADD_FAILURE() << "the engine did not become idle";
        }
        return Json(result.json().view());
    }
    // Runs a plan with one tool; returns the result of the tool.
    Json run_tool(const std::string& path, const std::string& input = "{}",
                  const std::string& more = "") {
        return run(plan_json({tool_json("tool", path, input, more)}))["/toolResults/0"];
    }

    Json state(std::string_view pointer = {}) const { return Json(session.state(pointer).view()); }

    // The bodies of the records of a kind.
    std::vector<Json> told(Kind kind) const {
        std::vector<Json> found;
        for (const Record& record : records) {
            if (record.kind == kind) found.emplace_back(record.body);
        }
        return found;
    }
    bool heard(const std::string& text) const {
        return std::any_of(records.begin(), records.end(), [&](const Record& record) {
            return record.body.find(text) != std::string::npos;
        });
    }
    bool has(Kind kind, const std::string& tool) const {
        return std::any_of(records.begin(), records.end(), [&](const Record& record) {
            return record.kind == kind && record.tool == tool;
        });
    }

    std::vector<Record> records;
    uint64_t events = 0;
    std::function<void(Event)> on_event;
    Result result;
    // Last, so that they are destroyed before the members that their callbacks write to.
    Engine engine;
    Session session;

private:
    static EngineOptions with_jobs(EngineOptions options) {
        if (options.jobs == 0) options.jobs = 4;
        return options;
    }
};

inline Times times(uint32_t try_ms, uint32_t grace_ms) {
    Times made;
    made.try_ms = try_ms;
    made.grace_ms = grace_ms;
    made.plan_ms = NAR_NONE;
    return made;
}

// Checks that a test leaves no child, no descriptor and no file behind.
class HostileTest : public testing::Test {
protected:
    void SetUp() override {
        // Processes that escape a supervisor become children of this one; TearDown() finds them.
        ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
        temporary_.emplace("TMPDIR", folder.path());
        // The first loop of a process opens descriptors that stay open (libuv's signal pipe).
        { Engine first; }
        descriptors_before_ = open_descriptors();
    }

    void TearDown() override {
        host.reset();
        temporary_.reset();
        expect_no_children();
        EXPECT_EQ(open_descriptors(), descriptors_before_);
        EXPECT_THAT(folder.files(), testing::IsEmpty());
    }

    Host& make_host(EngineOptions options = {}, bool keeps_tool_events = true) {
        host = std::make_unique<Host>(std::move(options), keeps_tool_events);
        return *host;
    }

    // The folder for tools' files of a killed host remains until a session runs a tool, at least ten
    // seconds later.
    void expect_the_next_host_removes_the_folder() {
        ASSERT_THAT(folder.files(), testing::SizeIs(1));
        namespace fs = std::filesystem;
        for (const auto& left :
             fs::directory_iterator(folder.path() + "/" + folder.files().front())) {
            fs::last_write_time(left.path(),
                                fs::file_time_type::clock::now() - std::chrono::minutes(1));
        }
        make_host();
        EXPECT_TRUE(
            host->run(plan_json({tool_json("tool", tool_path("patcher"))}))["/success"].boolean());
        host.reset();
        EXPECT_THAT(folder.files(), testing::IsEmpty());
    }

    TemporaryFolder folder;
    std::unique_ptr<Host> host;

private:
    std::optional<test::Variable> temporary_;
    std::map<int, std::string> descriptors_before_;
};

}  // namespace narratoria::hostile
