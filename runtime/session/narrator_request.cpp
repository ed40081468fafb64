// SPDX-License-Identifier: Apache-2.0
#include "session/narrator_request.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.hpp"
#include "base/json/writer.hpp"
#include "session/story_so_far.hpp"

namespace narratoria::session {
namespace {

// The events of a previous result are left out if they are larger than this.
constexpr uint64_t kMaxShownEvents = 1024 * 1024;

class TextOutput : public plan::Output {
public:
    explicit TextOutput(std::string& text) : text_(text) {}
    bool write(std::string_view piece) override {
        text_.append(piece);
        return true;
    }
    bool write_file(int file, uint64_t offset, uint64_t size) override {
        const size_t start = text_.size();
        text_.resize(start + size);
        for (uint64_t done = 0; done < size;) {
            const ssize_t got = ::pread(file, text_.data() + start + done, size - done,
                                        static_cast<off_t>(offset + done));
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return false;
            done += static_cast<uint64_t>(got);
        }
        return true;
    }

private:
    std::string& text_;
};

void append_result(std::string& out, const plan::Result& result, bool with_events) {
    TextOutput output(out);
    result.write(output, with_events && result.event_bytes() <= kMaxShownEvents);
}

void append_details(json::ObjectWriter& entry, std::string& out, const tool::Definition& tool,
                    const std::vector<std::string>& disabled_skills) {
    const std::string_view skill = plan::skill_of(tool.name);
    if (std::find(disabled_skills.begin(), disabled_skills.end(), skill) != disabled_skills.end()) {
        entry.boolean("disabled", true);
    }
    if (tool.result != nullptr) entry.raw("resultSchema", tool.result->text());
    if (tool.try_ms) entry.number("tryMs", *tool.try_ms);
    if (!tool.repeatable) entry.boolean("repeatable", false);
    if (!tool.resources.empty()) entry.raw("resources", tool.resources);
    if (!tool.state.empty()) {
        entry.key("state");
        plan::append_strings(out, tool.state);
    }
}

void append_tools(std::string& out, const tool::Registry& registry, bool is_detailed,
                  const std::vector<std::string>& disabled_skills) {
    out += '[';
    for (const auto& tool : registry.list()) {
        if (out.back() != '[') out += ',';
        json::ObjectWriter entry(out);
        entry.string("name", tool->name);
        // An executable file without a manifest has no description and no schema.
        if (tool->origin.kind != tool::Origin::Kind::File || !tool->description.empty()) {
            entry.string("description", tool->description);
        }
        if (tool->input != nullptr) entry.raw("inputSchema", tool->input->text());
        if (is_detailed) append_details(entry, out, *tool, disabled_skills);
        entry.end();
    }
    out += ']';
}

}  // namespace

std::string NarratorRequest::write(bool with_session) const {
    std::string out;
    json::ObjectWriter request(out);
    request.string("schema", "narrator-request/1");
    request.string("sessionId", session_id);
    request.key("prompt");
    json::ObjectWriter(out)
        .string("text", prompt)
        .string("timestamp", clock::to_iso8601(submitted_us))
        .string("sessionId", session_id)
        .end();
    request.number("generationAttempt", generation);
    request.number("continuation", continuation);
    request.number("random", static_cast<int64_t>(random));
    if (parent_plan_id.empty()) request.raw("parentPlanId", "null");
    else request.string("parentPlanId", parent_plan_id);
    request.key("disabledSkills");
    plan::append_strings(out, disabled_skills);
    request.key("previousResult");
    if (previous_result != nullptr) append_result(out, *previous_result, with_session);
    else out += "null";
    request.raw("previousMetadata", previous_metadata.empty() ? "{}" : previous_metadata);
    if (invocations != nullptr) {
        request.key("invocations");
        append_result(out, *invocations, with_session);
    }
    request.raw("planFaults", plan_faults);
    if (with_session && registry != nullptr) {
        request.key("state");
        state.tree().append_json(out);
        request.key("tools");
        append_tools(out, *registry, details != nullptr, disabled_skills);
        if (details != nullptr) {
            request.key("turns");
            details->story_so_far.append_json(out);
            request.raw("turnMetadata", details->story_so_far.metadata());
            std::string text;
            details->format_state(text);
            request.string("stateForPrompt", text);
        }
    }
    request.end();
    return out;
}

}  // namespace narratoria::session
