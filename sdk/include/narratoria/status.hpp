// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors of the C++ headers: every call of the C ABI that does not return NAR_OK throws an Error.
// Exceptions of callbacks never cross into C; see "Exceptions" in engine.hpp.

#include "narratoria/exceptions.hpp"
#include "narratoria/status.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace narratoria {

// A failed call. what() is the message for people: what happened, where, and what to do.
class Error : public std::runtime_error {
public:
    Error(nar_status status, std::string code, const std::string& message, std::string details)
        : std::runtime_error(message),
          status_(status),
          code_(std::move(code)),
          details_(std::move(details)) {}

    // One of NAR_STATUS_LIST, for example NAR_BUSY.
    nar_status status() const noexcept { return status_; }
    // For programs, for example "PLAN_CYCLE"; never translated.
    const std::string& code() const noexcept { return code_; }
    // For people; the same text as what().
    std::string_view message() const noexcept { return what(); }
    // JSON, or empty. With NAR_INVALID_DOCUMENT an array of faults (narratoria/validate.h).
    const std::string& details() const noexcept { return details_; }

private:
    nar_status status_;
    std::string code_;
    std::string details_;
};

namespace detail {

inline nar_str to_c(std::string_view text) noexcept { return nar_str{text.data(), text.size()}; }

// UINT32_MAX is NAR_NONE: no limit.
inline std::optional<std::chrono::milliseconds> to_duration(std::uint32_t milliseconds) noexcept {
    if (milliseconds == UINT32_MAX) return std::nullopt;
    return std::chrono::milliseconds(milliseconds);
}

inline std::string_view to_view(nar_str text) noexcept {
    return text.data == nullptr ? std::string_view{}
                                : std::string_view{text.data, static_cast<std::size_t>(text.size)};
}

// Collects the error details of one or more calls and throws if one fails.
class Check {
public:
    Check() = default;
    Check(const Check&) = delete;
    Check& operator=(const Check&) = delete;
    ~Check() { nar_error_clear(&error_); }

    nar_error* details() noexcept { return &error_; }

    void operator()(nar_status status) {
        if (status != NAR_OK) fail(status);
    }

private:
    [[noreturn]] void fail(nar_status status) const {
        // After NAR_OUT_OF_MEMORY the library may have no message.
        const std::string_view message = to_view(error_.message);
        NARRATORIA_THROW(
            Error(status, std::string(to_view(error_.code)),
                  message.empty() ? std::string(nar_status_text(status)) : std::string(message),
                  std::string(to_view(error_.details))));
    }

    nar_error error_ = NAR_ERROR_INIT;
};

}  // namespace detail
}  // namespace narratoria
