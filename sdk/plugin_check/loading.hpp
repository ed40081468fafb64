// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads a plugin, and calls it outside an instance.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "narratoria/plugin.h"
#include "narratoria/status.hpp"
#include "plugin_check/child.hpp"

namespace narratoria::command::plugin_check {

// Calls a function of the plugin outside an instance's calls. False, and a finding, if it threw.
bool call_caught(TrialReport& report, std::string_view doing, const std::function<void()>& ask);

// Calls get_extension outside an instance's calls. A crash, a hang or an exception is a finding.
const void* query_extension(TrialReport& report, const nar_plugin& plugin, nar_str id,
                            const Blame& blame, std::string_view doing);

// The extension's struct, or NULL if the plugin does not list it.
template <typename Extension>
const Extension* extension_of(const nar_plugin& plugin, std::string_view id) {
    for (std::uint64_t index = 0; index < plugin.extension_count; ++index) {
        if (detail::to_view(plugin.extensions[index]) != id) continue;
        return static_cast<const Extension*>(plugin.get_extension(detail::to_c(id)));
    }
    return nullptr;
}

struct Library {
    void* handle = nullptr;
    nar_plugin_entry_fn entry = nullptr;
};

// Calls dlopen and dlsym as the runtime does. A failure is a finding of P1 or P2.
Library load_library(TrialReport& report, const std::string& path);

// Calls the entry with a host of this version, which an earlier trial has checked. NULL on failure.
const nar_plugin* enter(TrialReport& report, const Library& library);

}  // namespace narratoria::command::plugin_check
