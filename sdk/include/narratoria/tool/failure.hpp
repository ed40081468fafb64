// SPDX-License-Identifier: Apache-2.0
#pragma once
// The exceptions of a tool.

#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "json_value.hpp"

namespace narratoria::tool {

/// Thrown by a tool to report a controlled failure: `run` emits it as an `error` event (spec 000
/// §4.5) and ends with `done`, `ok: false`. `code` is for programs (`TORCH_WET`), `message` for
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

/// The request, or a member of its `input`, is invalid; `details` contains the JSON Pointer. Tools
/// may throw it too: `throw InvalidInput("/sides", "must be at least 2")`.
class InvalidInput : public Failure {
public:
    explicit InvalidInput(const std::string& what) : Failure("INVALID_INPUT", what) {}

    InvalidInput(std::string_view pointer, const std::string& what)
        : Failure("INVALID_INPUT", "input " + std::string(pointer) + ": " + what,
                  json::object({{"pointer", pointer}})) {}
};

/// An event could not be written: the runtime has exited or closed its end of the pipe. Do not catch
/// it; nothing more can be reported. (Usually SIGPIPE ends the process first.)
class OutputLost : public std::system_error {
public:
    explicit OutputLost(int error_number)
        : std::system_error(error_number, std::generic_category(),
                            "the event cannot be written to the runtime") {}
};

}  // namespace narratoria::tool
