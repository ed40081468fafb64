// SPDX-License-Identifier: Apache-2.0
#include "tool/project/faults.hpp"

#include <algorithm>
#include <utility>

#include "base/near_name.hpp"
#include "base/strict_keys.hpp"

namespace narratoria::tool::project {

Fault file_fault(std::string file, const char* rule, std::string message) {
    Fault fault{rule, "", 0, std::move(message), std::move(file)};
    fault.has_position = false;
    return fault;
}

Fault placed(const Fault& place, const char* rule, std::string message, bool is_warning) {
    Fault fault = place;
    fault.rule = rule;
    fault.message = std::move(message);
    fault.is_warning = is_warning;
    return fault;
}

UnknownNames::UnknownNames(Faults& faults, const char* rule, std::vector<std::string_view> known)
    : faults_(faults), rule_(rule), known_(std::move(known)) {
    std::sort(known_.begin(), known_.end());
}

bool UnknownNames::knows(std::string_view name) const {
    return std::binary_search(known_.begin(), known_.end(), name);
}

void UnknownNames::tell(const Fault& place, std::string message, std::string_view name) {
    constexpr size_t kMost = 100;
    if (++count_ > kMost + 1) return;
    if (count_ > kMost) {
        message = "more faults follow and are not listed";
    } else {
        message += did_you_mean(near_name(name, known_));
    }
    faults_.push_back(placed(place, rule_, std::move(message), true));
}

}  // namespace narratoria::tool::project
