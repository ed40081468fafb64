// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plugin's library, loaded: once a process, and never unloaded, because threads of it may run.

#include <string>
#include <string_view>
#include <vector>

#include "narratoria/plugin.h"
#include "plugin/metadata.hpp"

namespace narratoria::plugin {

struct Library {
    std::string path;  // empty: built in
    std::string id;
    std::string name;
    std::string version;
    std::vector<std::string> extensions;
    nar_plugin plugin{};  // as far as its size goes, the rest zero

    bool offers(std::string_view extension) const;
    // The struct of an extension, or NULL.
    const void* extension(std::string_view id) const;
};

// Nothing, and why, when it cannot be loaded or the two sides do not agree. Asked again for the same
// file it answers the same. From any thread.
const Library* load_library(const std::string& path, const Metadata& metadata, std::string& reason);

// Takes what an entry answered, or says what is wrong with it. `metadata` is what it said before.
bool accept_plugin(const nar_plugin* given, const Metadata* metadata, Library& out,
                   std::string& reason);

// What a plugin wrote, as far as it is text.
std::string message_of(const nar_failure& failure);
nar_failure empty_failure();

}  // namespace narratoria::plugin
