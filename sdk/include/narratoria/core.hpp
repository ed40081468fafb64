// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an Engine, its Sessions and their callbacks share. Not for direct use: include
// narratoria/engine.hpp.

#include "narratoria/engine.h"
#include "narratoria/status.hpp"

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

namespace narratoria::detail {

// Lives as long as the last of them. `engine` is NULL once the engine is destroyed, so that a
// Session or a NarratorReply that outlives it does nothing instead of using freed memory.
struct Core {
    nar_engine* engine = nullptr;
    // Orders a reply from another thread before or after the engine's end. Recursive, because a
    // reply may be given inside a callback that a reply has caused.
    std::recursive_mutex ending;
    // The first exception that a callback threw since the last driving call. [engine-thread]
    std::exception_ptr thrown;
    std::function<void(std::uint32_t level, std::string_view message)> log;

    void keep_exception() noexcept {
        if (!thrown) thrown = std::current_exception();
    }
    void rethrow() {
        if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
    }
};

// Runs a callback so that nothing it throws reaches the C code that called it. A callback that is
// noexcept costs nothing here, another nothing until it throws.
template <class Callback>
void guard(Core& core, Callback&& callback) noexcept {
    if constexpr (noexcept(callback())) {
        callback();
    } else {
        try {
            callback();
        } catch (...) {
            core.keep_exception();
        }
    }
}

// A callable on its way through C's `void *user`. It is freed by the one call that C promises to
// make exactly once.
template <class Function>
struct Parcel {
    Core* core;
    Function function;
};

template <class Function>
std::unique_ptr<Parcel<std::decay_t<Function>>> pack(Core& core, Function&& function) {
    return std::unique_ptr<Parcel<std::decay_t<Function>>>(
        new Parcel<std::decay_t<Function>>{&core, std::forward<Function>(function)});
}

}  // namespace narratoria::detail
