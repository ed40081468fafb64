// SPDX-License-Identifier: Apache-2.0
#pragma once
// Running a tool.

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "events.hpp"
#include "failure.hpp"
#include "invocation.hpp"
#include "json_value.hpp"

namespace narratoria::tool {

namespace detail {

/// Keeps standard output for events alone: the stream moves to a descriptor of its own that children
/// do not inherit, and what a library or a child prints to standard output lands in the diagnostics
/// on standard error instead of breaking the protocol. Not undone: buffered output may still come
/// when the process exits. Negative when the process has no standard error to move it to.
inline int reserve_standard_output() noexcept {
    const int events = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (events >= 0 && ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        ::close(events);
        return -1;
    }
    return events;
}

template <class Function>
void call(Function& function, int input, Events& events) {
    const auto fail = [&events](std::string_view code, std::string_view message,
                                const json::Value& details) {
        if (events.is_done()) {
            throw std::runtime_error(std::string(message) + " (after done)");
        }
        const std::string_view said = message.empty() ? "no message was given" : message;
        events.error(code.empty() ? "TOOL_FAILURE" : code, said,
                     details.kind() == json::Kind::Object ? details : json::Value());
        events.done(false, said);
    };
    try {
        function(Invocation::read(input), events);
        if (!events.is_done()) {
            events.done(!events.had_error());
        }
    } catch (const Failure& failure) {
        fail(failure.code(), failure.what(), failure.details());
    } catch (const OutputLost&) {
        throw;
    } catch (const std::exception& exception) {
        fail("TOOL_EXCEPTION", exception.what(), {});
    } catch (...) {
        fail("TOOL_EXCEPTION", "the tool threw something that is no std::exception", {});
    }
}

}  // namespace detail

/// Runs a tool: reads the invocation, calls `function(const Invocation&, Events&)`, and ends with
/// `done` in every case. A function that returns without `done` gets one, `ok` unless it emitted an
/// error. What it throws becomes an `error` event and `done` with `ok: false`.
///
/// Return the answer from `main`: 0 when the runtime has been told how it ended, 1 when that was not
/// possible (the stream is broken, or the function threw after `done`); standard error says why.
///
/// While it runs, and after, standard output belongs to the events: other output to it, of this
/// process or its children, goes to standard error. Other descriptors can be given for tests.
template <class Function>
int run(Function&& function, int input = STDIN_FILENO, int output = STDOUT_FILENO) {
    const int reserved = output == STDOUT_FILENO ? detail::reserve_standard_output() : -1;
    int status = 0;
    {
        Events events(reserved >= 0 ? reserved : output);
        try {
            detail::call(function, input, events);
        } catch (const std::exception& exception) {
            std::fprintf(stderr, "tool failed: %s\n", exception.what());
            status = 1;
        }
    }
    if (reserved >= 0) {
        ::close(reserved);
    }
    return status;
}

}  // namespace narratoria::tool
