// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a tool throws.

#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "json_value.hpp"

namespace narratoria::tool {

/// Thrown by a tool that cannot do what it was asked: `run` emits it as an `error` event (spec 000
/// §4.5) and ends with `done`, `ok: false`. The code is for programs (`TORCH_WET`), the message for
/// people; `details` may be an object.
class Failure : public std::runtime_error {
public:
    Failure(std::string code, const std::string& message, json::Value details = {})
        : std::runtime_error(message), code_(std::move(code)), details_(std::move(details)) {}

    const std::string& code() const noexcept { return code_; }
    const json::Value& details() const noexcept { return details_; }

private:
    std::string code_;
    json::Value details_;
};

/// The invocation, or a member of its `input`, is not what the tool needs; its `details` hold the
/// JSON Pointer. Tools may throw it themselves: `throw InvalidInput("/sides", "must be at least 2")`.
class InvalidInput : public Failure {
public:
    explicit InvalidInput(const std::string& what) : Failure("INVALID_INPUT", what) {}

    InvalidInput(std::string_view pointer, const std::string& what)
        : Failure("INVALID_INPUT", "input " + std::string(pointer) + ": " + what,
                  json::object({{"pointer", pointer}})) {}
};

/// An event could not be written: the runtime has gone, or closed its end. Let it pass through; there
/// is nobody left to tell. (Usually the signal SIGPIPE ends the process before.)
class OutputLost : public std::system_error {
public:
    explicit OutputLost(int error_number)
        : std::system_error(error_number, std::generic_category(),
                            "the event cannot be written to the runtime") {}
};

}  // namespace narratoria::tool
