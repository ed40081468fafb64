// SPDX-License-Identifier: Apache-2.0
#pragma once
// The objects that a session registers with the engine, and their functions for it.

#include <cstdint>
#include <string>
#include <vector>

#include "event.hpp"
#include "narratoria/asset_renderer.h"
#include "narratoria/tools.h"
#include "narratoria/ui_handler.h"
#include "session.hpp"

namespace narratoria::python {

struct Session::Tool : Registration {
    // True if the function takes the input and returns the result; otherwise it takes an
    // Invocation.
    bool is_plain = false;

    static Tool& of(void* instance) { return *static_cast<Tool*>(instance); }

    static void invoke(void* instance, std::uint64_t token, const nar_tool*,
                       const nar_invocation* invocation) noexcept;
    void run(std::uint64_t token, const py::object& request) const;
    void fail(std::uint64_t token, const py::error_already_set& error) const;
    static void released(void* instance) noexcept;
    static void cancel(void* instance, std::uint64_t token) noexcept;
};

struct Session::UiHandler : Registration {
    std::vector<std::string> names;
    std::vector<nar_str> views;

    static nar_status handle(void* instance, const nar_ui_event* event) noexcept;
};

struct Session::AssetRenderer : Registration {
    std::vector<std::string> media_types;
    std::vector<nar_str> views;

    static nar_status render(void* instance, const nar_asset* asset) noexcept;
};

struct Session::Narrator : Registration {
    static void generate(void* instance, const nar_narrator_request* request) noexcept;
    static void cancel(void* instance, std::uint64_t token) noexcept;
};

struct Session::Sink : Registration {
    EventMaker maker;
    std::uint64_t number = 0;

    void operator()(Event event) noexcept;
};

// A function that formats a key of the state. Owned by the engine, which returns it by released().
struct Session::Formatter : Registration {
    std::string key;
    bool has_failed = false;  // in the last call, which was logged

    static nar_status format(void* user, nar_str value, nar_write_fn write, void* to) noexcept;
    std::string call(nar_str value) const;
    // The destruction of the function may run code that adds, removes or reads formatters. It is
    // postponed until the engine and formatters_ agree.
    static void released(void* user) noexcept;
};

}  // namespace narratoria::python
