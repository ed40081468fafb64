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

/// Reserves standard output for events: moves the stream to a new descriptor that children do not
/// inherit, and redirects standard output to standard error, so that output from libraries and
/// children cannot violate the protocol. Never undone, because buffered output may still be written
/// at exit.
/// Returns a negative number if the process has no standard error.
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
        const std::string_view text = message.empty() ? "no message was given" : message;
        events.error(code.empty() ? "TOOL_FAILURE" : code, text,
                     details.kind() == json::Kind::Object ? details : json::Value());
        events.done(false, text);
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
        fail("TOOL_EXCEPTION", "the tool threw an exception that is not a std::exception", {});
    }
}

}  // namespace detail

/// Runs a tool: reads the request, calls `function(const Invocation&, Events&)`, and always ends
/// with `done`. If the function returns without `done`, it is emitted with `ok: true` unless the
/// function reported an error. An exception becomes an `error` event and `done` with `ok: false`.
///
/// Return its result from `main`: 0 if the end was reported to the runtime, 1 if that was not
/// possible (the stream is broken, or the function threw after `done`); the reason is then on
/// standard error.
///
/// Once it is called, standard output is reserved for events: other output of this process and its
/// children goes to standard error. Tests can pass other descriptors.
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
