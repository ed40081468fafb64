// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by Engine, its Sessions and their callbacks. Not for direct use: include
// narratoria/engine.hpp.

#include "narratoria/engine.h"
#include "narratoria/exceptions.hpp"
#include "narratoria/status.hpp"

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

namespace narratoria {

// One line of the log; the texts are valid during the call that passes it.
struct LogLine {
    std::uint32_t level;          // NAR_LOG_…
    std::string_view message;     // UTF-8, without a newline at its end
    std::string_view session_id;  // of the session that the line concerns, or empty
    std::string_view code;        // set if the event stream reports it too (narratoria/engine.h)
};

}  // namespace narratoria

namespace narratoria::detail {

// Shared ownership by the Engine, its Sessions and its NarratorReplies. `engine` is NULL once the
// engine is destroyed, so that a Session or NarratorReply that outlives it does nothing instead of
// using freed memory.
struct Core {
    nar_engine* engine = nullptr;
    // Serializes replies from other threads with the engine's destruction. Recursive, because a
    // reply can trigger a callback that sends another reply.
    std::recursive_mutex ending;
    // The first exception that a callback threw since the last driving call. [engine-thread]
    std::exception_ptr thrown;
    std::function<void(const LogLine& line)> log;

    void keep_exception() noexcept {
        if (!thrown) thrown = std::current_exception();
    }
    void rethrow() {
        if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
    }
};

// Runs a callback and catches its exceptions, because they must not reach the C code that called
// it. A noexcept callback has no overhead; other callbacks have none until they throw.
template <class Callback>
void guard(Core& core, Callback&& callback) noexcept {
    if constexpr (noexcept(callback())) {
        callback();
    } else {
        NARRATORIA_TRY { callback(); }
        NARRATORIA_CATCH_ALL { core.keep_exception(); }
    }
}

// Carries a callable through C's `void *user`. The single call that C guarantees frees it.
template <class Function>
struct BoundFunction {
    Core* core;
    Function function;
};

template <class Function>
std::unique_ptr<BoundFunction<std::decay_t<Function>>> bind_function(Core& core,
                                                                     Function&& function) {
    return std::unique_ptr<BoundFunction<std::decay_t<Function>>>(
        new BoundFunction<std::decay_t<Function>>{&core, std::forward<Function>(function)});
}

}  // namespace narratoria::detail
