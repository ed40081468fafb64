// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/fault.hpp"

namespace narratoria::session {

// A text of a story that names something outside its document, such as a file or a plugin. Only
// check_story() checks that it exists.
struct Mention {
    std::string text;
    Fault place;  // without rule and message
};

}  // namespace narratoria::session
