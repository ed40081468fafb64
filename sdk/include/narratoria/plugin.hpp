// SPDX-License-Identifier: Apache-2.0
#pragma once
// Includes everything that a plugin in C++ needs. A complete plugin:
//
//   #include <narratoria/plugin.hpp>
//
//   namespace plugin = narratoria::plugin;
//
//   class Rain final : public plugin::UiHandler {
//   public:
//       static constexpr std::string_view kUiEvents[] = {"rain"};
//
//       explicit Rain(const plugin::Host& host) : host_(host) {}
//
//       plugin::HandlerResult handle(const plugin::UiEvent& event) override {
//           host_.log(plugin::Level::Info, event.payload());
//           return plugin::HandlerResult::Handled;
//       }
//
//   private:
//       plugin::Host host_;
//   };
//
//   NARRATORIA_PLUGIN(Rain, "org.example.rain", "Rain", "1.0.0", "narratoria.ui_handler/1");
//
// A plugin is a class that derives from one or more extension classes (plugin_extension.hpp). Each
// session has its own object: constructed, with the Host or without arguments, when the session
// begins, and destroyed when it ends. Keep the data of a session in the object, never in a global.
//
// Exceptions never reach the host. If the constructor throws, the plugin is refused for this
// session with the message of what(). Each function below documents what its exceptions cause. A
// noexcept function has no guard.
//
// Threads: all functions of the plugin are called on the engine thread. A thread that the plugin
// starts may use Host::log, Host::post, Reply and Invocation. Join it in the destructor.
//
// A plugin links against nothing. Build it with narratoria_add_plugin() of the CMake package, which
// exports only the plugin's entry.

#include "narratoria/asset_renderer.h"
#include "narratoria/event_sink.h"
#include "narratoria/exceptions.hpp"
#include "narratoria/narrator.h"
#include "narratoria/plugin_context.hpp"
#include "narratoria/plugin_event.hpp"
#include "narratoria/plugin_extension.hpp"
#include "narratoria/plugin_host.hpp"
#include "narratoria/plugin_http.hpp"
#include "narratoria/plugin_library.hpp"
#include "narratoria/plugin_loop.hpp"
#include "narratoria/plugin_process.hpp"
#include "narratoria/plugin_reply.hpp"
#include "narratoria/tool.h"
#include "narratoria/tool_runner.h"
#include "narratoria/ui_handler.h"

// Defines the plugin's entry and its metadata. Use it once per library, at file scope, followed by
// a semicolon. Arguments: the class; then, as literals, its globally unique id (a-z 0-9 . _ -), its
// display name, its version, and the ids of all extensions that the class derives from.
//
// If the class has a public member kSettings, a JSON Schema of its settings, the host warns the author
// of a story whose [plugins."ID"] violates it:
//
//   static constexpr std::string_view kSettings = R"({
//       "properties": {"file": {"type": "string"}}, "additionalProperties": false})";
#define NARRATORIA_PLUGIN(Class, id, name, version, ...)                                         \
    static_assert(                                                                               \
        NAR_ABI_MAJOR == 1 && NAR_ABI_MINOR == 0,                                                \
        "narratoria/plugin.hpp and narratoria/base.h are of different releases of the SDK");     \
    static_assert(sizeof(#__VA_ARGS__) > 1,                                                      \
                  "NARRATORIA_PLUGIN lists no extension; add the id of each extension class, "   \
                  "such as \"narratoria.tool/1\", after the version");                           \
    namespace {                                                                                  \
    struct NarratoriaPluginDescription {                                                         \
        static constexpr std::string_view kId{id};                                               \
        static constexpr std::string_view kName{name};                                           \
        static constexpr std::string_view kVersion{version};                                     \
        static constexpr std::string_view kExtensions[] = {__VA_ARGS__};                         \
    };                                                                                           \
    }                                                                                            \
    __attribute__((used, section(NAR_PLUGIN_NOTE_SECTION),                                       \
                   aligned(4))) static constexpr auto nar_plugin_note =                          \
        ::narratoria::plugin::detail::note<Class, NarratoriaPluginDescription>();                \
    extern "C" NAR_PLUGIN_EXPORT nar_status nar_plugin_entry(                                    \
        const nar_host_description* host, const nar_plugin** plugin, nar_failure* failure) {     \
        return ::narratoria::plugin::detail::Library<Class, NarratoriaPluginDescription>::enter( \
            host, plugin, failure);                                                              \
    }                                                                                            \
    static_assert(true, "")
