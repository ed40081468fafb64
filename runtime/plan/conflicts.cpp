// SPDX-License-Identifier: Apache-2.0
#include "plan/conflicts.hpp"

#include <algorithm>

#include "base/json/writer.hpp"

namespace narratoria::plan {

void Conflicts::add_writer(state::Writer writer, uint32_t tool) {
    if (tools_.empty()) first_ = writer;
    tools_.push_back(tool);
}

void Conflicts::on_conflict(std::string_view path, state::Writer earlier, state::Writer later) {
    if (found_.size() >= kMaxConflicts) return;
    const uint32_t first = tools_[earlier - first_];
    const uint32_t second = tools_[later - first_];
    std::string key = std::to_string(std::min(first, second)) + ' ' +
                      std::to_string(std::max(first, second)) + ' ' + std::string(path);
    if (!known_.insert(std::move(key)).second) return;
    std::string& body = found_.emplace_back();
    json::ObjectWriter writer(body);
    writer.string("path", path);
    writer.key("tools");
    body += '[';
    json::append_string(body, plan_.tools[first].tool_id);
    body += ',';
    json::append_string(body, plan_.tools[second].tool_id);
    body += ']';
    writer.end();
}

}  // namespace narratoria::plan
