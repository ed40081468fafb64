// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace narratoria::command::doctor {

// One line of `narratoria doctor`.
struct MachineCheck {
    std::string name;
    bool is_fine = false;
    std::string text;     // what there is, or what is wrong and what to do
    std::string version;  // or empty
    // Only some tools need it, so the exit status does not depend on it.
    bool is_optional = false;
};

}  // namespace narratoria::command::doctor
