// SPDX-License-Identifier: Apache-2.0
#pragma once
// Uses a plugin as a session does: creates an instance, and calls each of its extensions.

#include <cstdint>
#include <string>

#include "plugin_check/fake_host.hpp"

namespace narratoria::command::plugin_check {

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
