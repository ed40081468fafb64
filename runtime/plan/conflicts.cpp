// SPDX-License-Identifier: Apache-2.0
#include "plan/conflicts.hpp"

#include <algorithm>

#include "plan/records.hpp"

namespace narratoria::plan {

void Conflicts::add_writer(state::Writer writer, std::string_view tool_id) {
    tools_.emplace(writer, tool_id);
}

void Conflicts::on_conflict(std::string_view path, state::Writer earlier, state::Writer later) {
    if (found_.size() >= kMaxConflicts) return;
    const std::string& first = tools_.at(earlier);
    const std::string& second = tools_.at(later);
    // The pair is unordered: only its first conflict on a path is reported. JSON Pointers and
    // toolIds may contain any character, so each length is written before its text.
    std::string key;
    for (const std::string* each : {&std::min(first, second), &std::max(first, second)}) {
        key += std::to_string(each->size()) + ' ' + *each;
    }
    if (!known_.insert(key.append(path)).second) return;
    found_.push_back(records::state_conflict(path, first, second));
}

}  // namespace narratoria::plan
