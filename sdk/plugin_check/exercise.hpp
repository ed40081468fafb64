// SPDX-License-Identifier: Apache-2.0
#pragma once
// Uses a plugin as a session does: loads it, makes an instance, and asks of each of its extensions
// what it is there for.

#include <cstdint>
#include <string>
#include <string_view>

#include "plugin_check/child.hpp"
#include "plugin_check/fake_host.hpp"

namespace narratoria::command::plugin_check {

// get_extension outside of an instance's calls: a crash, a hang or an exception is a finding.
const void* ask_extension(TrialReport& report, const nar_plugin& plugin, nar_str id,
                          const Blame& blame, std::string_view doing);

// The extension's struct, or NULL when the plugin does not list it.
template <typename Extension>
const Extension* extension_of(const nar_plugin& plugin, std::string_view id) {
    for (std::uint64_t index = 0; index < plugin.extension_count; ++index) {
        if (to_view(plugin.extensions[index]) != id) continue;
        return static_cast<const Extension*>(plugin.get_extension(to_c(id)));
    }
    return nullptr;
}

struct Library {
    void* handle = nullptr;
    nar_plugin_entry_fn entry = nullptr;
};

// dlopen and dlsym as the runtime does it; what goes wrong is a finding of P1 or P2.
Library load_library(TrialReport& report, const std::string& path);

// The entry with a host of this version, in a trial where that is known to work. NULL: it is not.
const nar_plugin* enter(TrialReport& report, const Library& library);

enum class Exercise {
    Ordinary,  // and every duty is judged
    Brief,     // the same, but what takes its time is not waited for
    Future,    // larger structs, unknown kinds, types and names
    Odd,       // bytes that are no JSON, and JSON that is something else
};

struct ExerciseOptions {
    Exercise kind = Exercise::Ordinary;
    std::string only;  // one extension's id; empty: all
    double limit = 5;  // seconds for what is answered later
    std::uint64_t seed = 1;
    std::string folder;  // for files of the test's own
};

// One instance, from init to deinit.
class PluginInstance {
public:
    PluginInstance(PluginCheckHost& host, const nar_plugin& plugin)
        : host_(host), plugin_(plugin) {}

    // False: it refused; why_not() says why.
    bool start();
    void exercise(const ExerciseOptions& options);
    void end();

    void* address() const { return instance_; }
    const std::string& why_not() const { return why_not_; }

private:
    PluginCheckHost& host_;
    const nar_plugin& plugin_;
    void* instance_ = nullptr;
    std::string why_not_;
};

// A text of the given kind of oddness; there are kOddTexts of them for each seed.
inline constexpr unsigned kOddTexts = 24;
std::string odd_text(std::uint64_t seed, unsigned number);

}  // namespace narratoria::command::plugin_check
