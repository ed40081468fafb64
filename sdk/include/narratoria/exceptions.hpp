// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks the compiler's requirements, C++20 with or without exceptions, and defines the macros that
// hide the difference. Not for direct use.
//
// Without exceptions (-fno-exceptions), a call that fails prints its message to stderr and ends the
// process with std::abort. Where a failure is expected, call the C function, which returns a
// status; raw() of each class returns the handle.

#if __cplusplus < 202002L
#error "Narratoria's C++ headers need C++20 (-std=c++20); narratoria/tool.hpp alone needs C++17."
// Including a missing file stops the compiler here, before it reports misleading errors.
#include <narratoria/needs_c++20>
#endif

#include <cstdio>
#include <cstdlib>

#if defined(__cpp_exceptions)

#define NARRATORIA_TRY try
#define NARRATORIA_CATCH_ALL catch (...)
#define NARRATORIA_RETHROW throw
#define NARRATORIA_THROW(...) throw __VA_ARGS__

#else

#define NARRATORIA_TRY if constexpr (true)
#define NARRATORIA_CATCH_ALL else
#define NARRATORIA_RETHROW static_cast<void>(0)
#define NARRATORIA_THROW(...) ::narratoria::detail::end_with((__VA_ARGS__).what())

namespace narratoria::detail {

[[noreturn]] inline void end_with(const char* message) noexcept {
    std::fprintf(stderr, "narratoria: %s\n", message);
    std::abort();
}

}  // namespace narratoria::detail

#endif
