// SPDX-License-Identifier: Apache-2.0
#pragma once
// Uses a plugin as a session does: loads it, creates an instance, and calls each of its extensions.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "plugin_check/child.hpp"
#include "plugin_check/fake_host.hpp"

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
        if (to_view(plugin.extensions[index]) != id) continue;
        return static_cast<const Extension*>(plugin.get_extension(to_c(id)));
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

enum class Exercise {
    Ordinary,  // ordinary use; every duty is judged
    Brief,     // the same, without waiting for late replies and without judging duties
    Future,    // larger structs, unknown kinds, types and names
    Odd,       // bytes that are not JSON, and JSON of the wrong shape
};

struct ExerciseOptions {
    Exercise kind = Exercise::Ordinary;
    std::string only;  // one extension's id; empty: all
    double limit = 5;  // seconds for each later reply
    std::uint64_t seed = 1;
    std::string folder;  // for the test's own files
};

// An instance of a plugin, from init to deinit.
class PluginInstance {
public:
    PluginInstance(PluginCheckHost& host, const nar_plugin& plugin)
        : host_(host), plugin_(plugin) {}

    // False if init refused; refusal() has the reason.
    bool start();
    void exercise(const ExerciseOptions& options);
    void end();

    void* address() const { return instance_; }
    const std::string& refusal() const { return refusal_; }

private:
    PluginCheckHost& host_;
    const nar_plugin& plugin_;
    void* instance_ = nullptr;
    std::string refusal_;
};

// Returns one of the kOddTexts malformed or unexpected texts of a seed.
inline constexpr unsigned kOddTexts = 24;
std::string odd_text(std::uint64_t seed, unsigned number);

}  // namespace narratoria::command::plugin_check
