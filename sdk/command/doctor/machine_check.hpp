// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace narratoria::command::doctor {

// One line of `narratoria doctor`.
struct MachineCheck {
    std::string name;
    bool is_fine = false;
    std::string text;     // the mechanism, or the problem and its fix
    std::string version;  // or empty
    // Needed by some tools only, so a failure does not change the exit status.
    bool is_optional = false;
};

}  // namespace narratoria::command::doctor
