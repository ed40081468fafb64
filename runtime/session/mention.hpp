// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>

#include "base/fault.hpp"

namespace narratoria::session {

// A text of a story that names something outside its document, such as a file or a plugin. Only
// check_story() checks that it exists.
struct Mention {
    std::string text;
    Fault place;  // without rule and message
};

inline void report(const Fault& place, const char* rule, std::string message, bool is_warning,
                   Faults& faults) {
    Fault& fault = faults.emplace_back(place);
    fault.rule = rule;
    fault.message = std::move(message);
    fault.is_warning = is_warning;
}

inline void warn(const Mention& mention, const char* rule, std::string message, Faults& faults) {
    report(mention.place, rule, std::move(message), true, faults);
}

}  // namespace narratoria::session
