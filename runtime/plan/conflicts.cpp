// SPDX-License-Identifier: Apache-2.0
#include "plan/conflicts.hpp"

#include <algorithm>

#include "plan/records.hpp"

namespace narratoria::plan {

void Conflicts::add_writer(state::Writer writer, uint32_t tool) {
    if (tools_.empty()) first_ = writer;
    tools_.push_back(tool);
}

void Conflicts::on_conflict(std::string_view path, state::Writer earlier, state::Writer later) {
    if (found_.size() >= kMaxConflicts) return;
    const uint32_t first = tools_[earlier - first_];
    const uint32_t second = tools_[later - first_];
    // The pair is unordered: only its first conflict on a path is reported.
    std::string key = std::to_string(std::min(first, second)) + ' ' +
                      std::to_string(std::max(first, second)) + ' ' + std::string(path);
    if (!known_.insert(std::move(key)).second) return;
    found_.push_back(
        records::state_conflict(path, plan_.tools[first].tool_id, plan_.tools[second].tool_id));
}

}  // namespace narratoria::plan
