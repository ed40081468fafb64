// SPDX-License-Identifier: Apache-2.0
#include "session/told.hpp"

#include <utility>

namespace narratoria::session {
namespace {

// More than anyone reads: a script may run a million tools.
constexpr size_t kMaxSaid = 1024 * 1024;

}  // namespace

std::string joined(std::string_view first, std::string_view second) {
    std::string out(first);
    if (!first.empty() && !second.empty()) out += "\n\n";
    out += second;
    return out;
}

std::string_view said_by(const plan::ToolResult& tool) {
    if (tool.state == plan::State::Skipped) return {};
    return tool.summary.empty() && !tool.ok() ? tool.message : tool.summary;
}

void Told::add_narrative(std::string_view text) {
    if (text.empty()) return;
    waiting_.clear();
    text_ = joined(text_, text);
}

void Told::add_tool(const plan::ToolResult& tool, std::string_view narrative) {
    const std::string_view said = said_by(tool);
    if (said.empty() || narrative.find(said) != narrative.npos) return;
    if (waiting_.size() + said.size() > kMaxSaid) return;
    if (!waiting_.empty()) waiting_ += "\n\n";
    waiting_ += said;
}

void Told::add_plan(const plan::Result& result) {
    add_narrative(result.narrative);
    for (const plan::ToolResult& tool : result.tools) add_tool(tool, result.narrative);
    if (!result.success || !result.continues) end();
}

void Told::end() { text_ = joined(text_, std::exchange(waiting_, {})); }

}  // namespace narratoria::session
