// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace narratoria {

// The variable with the folder of a session for the files that its tools create.
inline constexpr const char* kOutputVariable = "NARRATORIA_OUTPUT_DIR";

// Replaces or appends `variable` (NAME=value) in a list of variables.
void set_variable(std::vector<std::string>& environment, const std::string& variable);

// True for a variable of the host that every tool gets: PATH, HOME, USER, LANG, LC_*, TZ, TMPDIR
// and VIRTUAL_ENV. `variable` is NAME or NAME=value.
bool is_inherited(std::string_view variable);

// No tool of this process gets this variable of the host from now on. Thread-safe.
void withhold_variable(std::string_view name);
// True if it was withheld. `variable` is NAME or NAME=value. Thread-safe.
bool is_withheld(std::string_view variable);

}  // namespace narratoria
