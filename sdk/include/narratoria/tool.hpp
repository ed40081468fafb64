// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Everything a tool written in C++ needs, in one header: read the invocation, emit events, end well.
///
/// A tool is a program. The runtime starts it, writes one JSON object (the *invocation*, spec 000 §6)
/// to its standard input, and reads *events* from its standard output, one JSON object a line
/// (spec 000 §2–§4). The last event is `done`. A complete tool:
///
/// ```cpp
/// #include <narratoria/tool.hpp>
///
/// namespace tool = narratoria::tool;
/// namespace json = narratoria::tool::json;
///
/// int main() {
///     return tool::run([](const tool::Invocation& invocation, tool::Events& events) {
///         const std::string who = invocation.string_or("/who", "stranger");
///         events.log(tool::Level::Info, "Greeting " + who);
///         events.patch(json::object({{"greeted", json::object({{"name", who}, {"times", 1}})}}));
///         events.done(true, "Greeted " + who + ".");
///     });
/// }
/// ```
///
/// It needs a POSIX system and C++17 or later, and nothing is linked: copy the file, or add the
/// include folder of the SDK. It does not include, and is not tied to, any other header of the SDK.
///
/// **Text** is UTF-8 on both sides. What a tool hands over need not be: each ill-formed sequence
/// leaves as U+FFFD, so that no file name and no foreign message can break the protocol. What
/// arrives is checked strictly.
///
/// **Errors.** Every function throws on failure; `run` turns what is thrown into an `error` event and
/// `done` with `ok: false`. Throw a `Failure` to choose the error's code. What can be thrown:
///
/// | exception             | thrown by                                          | code of the error event |
/// |-----------------------|----------------------------------------------------|-------------------------|
/// | `Failure`             | the tool itself                                    | its own                 |
/// | `InvalidInput`        | reading the invocation or a member of its `input`  | `INVALID_INPUT`         |
/// | anything else         | the tool; an event that breaks the rules           | `TOOL_EXCEPTION`        |
/// | `OutputLost`          | emitting, when the runtime cannot be written to    | none can be sent        |
///
/// **Ownership.** All types own what they hold; references and pointers that accessors return live as
/// long as the object they came from, and until it is changed.
///
/// **Threads.** Events may be emitted from several threads at once, each arrives as a whole line.
/// Everything else follows the usual rule: shared reading is fine, writing is not.

// In the source tree the header is in parts; the build and the installation join them
// (cmake/JoinHeader.cmake).
#include "tool/events.hpp"
#include "tool/failure.hpp"
#include "tool/invocation.hpp"
#include "tool/json_reader.hpp"
#include "tool/json_value.hpp"
#include "tool/run.hpp"
