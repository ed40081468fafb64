// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Header for tools written in C++: read the request, emit events, end the attempt.
///
/// A tool is a program. The runtime starts it for each attempt, writes one JSON object (the
/// *request*, spec 000 §6) to its standard input, and reads *events* from its standard output, one
/// JSON object per line (spec 000 §2–§4). The last event is `done`. A complete tool:
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
/// It needs a POSIX system and C++17 or later. It links against nothing and includes no other header
/// of the SDK: copy the file, or add the include folder of the SDK.
///
/// **Text** is UTF-8. Text that the tool passes in may be invalid: each invalid sequence is written
/// as U+FFFD, so that file names and foreign messages cannot violate the protocol. The input is
/// parsed strictly.
///
/// **Errors.** Every function throws on failure. `run` turns exceptions into an `error` event and
/// `done` with `ok: false`. Throw a `Failure` to choose the error's code. The exceptions:
///
/// | exception             | thrown by                                          | code of the error event |
/// |-----------------------|----------------------------------------------------|-------------------------|
/// | `Failure`             | the tool itself                                    | its own                 |
/// | `InvalidInput`        | reading the request or a member of its `input`     | `INVALID_INPUT`         |
/// | any other exception   | the tool; an event that violates the protocol      | `TOOL_EXCEPTION`        |
/// | `OutputLost`          | emitting, if writing to the runtime fails          | none can be sent        |
///
/// **Ownership.** All types own their content. References and pointers that accessors return are
/// valid until the object is changed or destroyed.
///
/// **Threads.** Emitting events is thread-safe: each event is written as one complete line. All other
/// objects may be read by several threads, but not written.

// In the source tree the header consists of parts; the build and the installation join them
// (cmake/JoinHeader.cmake).
#include "tool/events.hpp"
#include "tool/failure.hpp"
#include "tool/invocation.hpp"
#include "tool/json_reader.hpp"
#include "tool/json_value.hpp"
#include "tool/run.hpp"
