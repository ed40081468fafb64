// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the command says to a person on standard error, and the exit codes that go with it.

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

// What is shown goes through the terminal's own words.
using namespace terminal;

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitFailure = 1;   // it ran, and failed; or: there are faults
inline constexpr int kExitRefused = 2;   // bad input or use; nothing was run, nothing was changed
inline constexpr int kExitSignal = 128;  // plus the number of the signal that ended it

// Bad input or use. The message says what happened, where, and what to do; `lines` are the places,
// each a line of its own, printed before it.
class Refused : public std::runtime_error {
public:
    explicit Refused(const std::string& message, std::vector<std::string> lines = {})
        : std::runtime_error(message), lines_(std::move(lines)) {}
    const std::vector<std::string>& lines() const noexcept { return lines_; }

private:
    std::vector<std::string> lines_;
};

// The reader of standard output went away. There is nobody to tell; the command ends with
// kExitRefused, because neither success nor faults were reported.
class ReaderGone : public std::exception {};

// Something that worked before stopped working while or after the plan ran, for example a disk that
// is full.
class Failed : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Names the subcommand in every message: "narratoria run: …".
void set_command_name(std::string_view name);

// Writes one message, as a line; `message` must be printable.
void complain(std::string_view message);

// Writes lines as they are.
void complain_lines(const std::vector<std::string>& lines);

// "No such file or directory", in English whatever the locale.
std::string reason(int error_number);

// A file's name as it is shown in messages; "-" is standard input.
std::string shown_path(std::string_view path);

// A printable word for a shell, for commands that a message advises.
std::string shell_word(std::string_view text);

}  // namespace narratoria::command
