// SPDX-License-Identifier: Apache-2.0
#include "session/story_so_far.hpp"

#include <utility>

#include "base/json/writer.hpp"

namespace narratoria::session {

std::string said_by_tools(const plan::Result* result) {
    std::string out = "[";
    if (result != nullptr) {
        for (const plan::ToolResult& tool : result->tools) {
            if (out.size() > 1) out += ',';
            json::ObjectWriter entry(out);
            entry.string("tool", tool.tool_id).boolean("ok", tool.ok());
            if (!tool.summary.empty()) entry.string("summary", tool.summary);
            if (!tool.error.empty()) entry.string("error", tool.error);
            entry.end();
        }
    }
    out += ']';
    return out;
}

void StorySoFar::add(const Turn& turn) {
    std::string entry;
    json::ObjectWriter(entry)
        .string("prompt", turn.prompt)
        .string("narrative", turn.narrative)
        .raw("choices", turn.choices)
        .raw("tools", turn.tools)
        .end();
    if (!turn.metadata.empty()) metadata_ = turn.metadata;
    bytes_ += entry.size();
    turns_.push_back(std::move(entry));
    while (turns_.size() > kMaxTurns || (bytes_ > kMaxBytes && turns_.size() > 1)) {
        bytes_ -= turns_.front().size();
        turns_.pop_front();
    }
}

void StorySoFar::clear() {
    turns_.clear();
    bytes_ = 0;
    metadata_ = "{}";
}

void StorySoFar::append_json(std::string& out) const {
    out += '[';
    for (const std::string& turn : turns_) {
        if (out.back() != '[') out += ',';
        out += turn;
    }
    out += ']';
}

}  // namespace narratoria::session
