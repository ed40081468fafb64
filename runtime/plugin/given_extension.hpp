// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads what a plugin gives for an extension: its struct, and the lists of names in it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/given_struct.hpp"
#include "narratoria/base.h"
#include "plugin/instance.hpp"

namespace narratoria::plugin {

// The limit of the entries in a list.
inline constexpr uint64_t kMaxListed = 4096;

// Copies an extension's struct. Returns false and a reason if it cannot be used.
template <typename Extension>
bool read_extension(const Instance& instance, const char* id, Extension& out, std::string& reason) {
    const auto* const given = static_cast<const Extension*>(instance.extension(id));
    if (given == nullptr) {
        reason = std::string("it lists ") + id + ", but its get_extension returns NULL for it";
        return false;
    }
    const std::string fault = read_struct(given, out);
    if (fault.empty()) return true;
    reason = std::string("its ") + id + " " + fault;
    return false;
}

// Appends the names to `out`. Returns false and a reason if one is not valid. `what`: a word for the
// names in the reason.
bool read_names(const nar_str* names, uint64_t count, const char* what,
                std::vector<std::string>& out, std::string& reason);

}  // namespace narratoria::plugin
