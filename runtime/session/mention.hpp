// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/fault.hpp"

namespace narratoria::session {

// A text of a story that names something outside of its document: a file, a plugin. Whether that
// exists is checked by check_story() only.
struct Mention {
    std::string text;
    Fault place;  // without rule and message
};

}  // namespace narratoria::session
