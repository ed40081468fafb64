// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages on standard error, and the exit codes.

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "narratoria/status.hpp"
#include "output.hpp"
#include "style.hpp"

namespace narratoria::command {

// For printable() and the other functions that escape output for a terminal.
using namespace terminal;

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitFailure = 1;   // it ran and failed, or there are faults
inline constexpr int kExitRefused = 2;   // bad input or use; nothing was run or changed
inline constexpr int kExitSignal = 128;  // plus the number of the signal that ended the command

// Bad input or use. The message says what happened, where, and what to do. `lines` are the places;
// they are printed before the message.
class Refused : public std::runtime_error {
public:
    explicit Refused(const std::string& message, std::vector<std::string> lines = {})
        : std::runtime_error(message), lines_(std::move(lines)) {}
    const std::vector<std::string>& lines() const noexcept { return lines_; }

private:
    std::vector<std::string> lines_;
};

// The reader of standard output has closed the pipe. The command exits without a message with
// kExitFailure.
class ReaderGone : public std::exception {};

// A failure while or after the plan ran, for example a full disk.
class Failed : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Sets the subcommand that begins every message: "narratoria run: …".
void set_command_name(std::string_view name);

// Writes a message as one line. `message` must be printable.
void complain(std::string_view message);

// Writes lines without the command's name.
void complain_lines(const std::vector<std::string>& lines);

// "No such file or directory", in English in every locale.
std::string reason(int error_number);

// A path as messages show it: printable, and "standard input" for "-".
std::string display_path(std::string_view path);

// Quotes a word for a shell, for commands that a message suggests.
std::string shell_word(std::string_view text);

}  // namespace narratoria::command
