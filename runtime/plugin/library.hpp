// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plugin's shared library. Loaded once per process and never unloaded, because threads of the
// plugin may still run its code.

#include <string>
#include <string_view>
#include <vector>

#include "narratoria/plugin.h"
#include "plugin/metadata.hpp"

namespace narratoria::plugin {

// Immutable once load_library() has returned it, and never destroyed.
struct Library {
    std::string id;
    std::string name;
    std::string version;
    std::vector<std::string> extensions;
    nar_plugin plugin{};  // fields beyond the plugin's size are zero

    bool offers(std::string_view extension) const;
    // The struct of an extension, or NULL.
    const void* extension(std::string_view id) const;
};

// Returns NULL and a reason if the library cannot be loaded or does not match its metadata. The
// result is cached per file once the plugin's entry function has run. Thread-safe.
const Library* load_library(const std::string& path, const Metadata& metadata, std::string& reason);

// Validates and copies the struct that an entry function returned. Returns false and a reason if it
// is not valid or does not match `metadata`.
bool accept_plugin(const nar_plugin* given, const Metadata* metadata, Library& out,
                   std::string& reason);

// The message of a plugin, with invalid UTF-8 repaired.
std::string message_of(const nar_failure& failure);
std::string code_of(const nar_failure& failure);
nar_failure empty_failure();

}  // namespace narratoria::plugin
