// SPDX-License-Identifier: Apache-2.0
#pragma once
// `narratoria script` on a terminal: runs what is typed, with the variables of what ran before.

#include <string>

#include "script/script_session.hpp"

namespace narratoria::command::script {

// Until Ctrl-D. `scope`: the variables to begin with, a JSON object or empty. Returns the exit code.
// Throws Refused in a build without a line editor.
int run_repl(ScriptSession& session, std::string scope);

}  // namespace narratoria::command::script
