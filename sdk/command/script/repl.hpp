// SPDX-License-Identifier: Apache-2.0
#pragma once
// `narratoria script` on a terminal: an interactive session that keeps its variables.

#include <string>

#include "script/script_session.hpp"

namespace narratoria::command::script {

// Runs until Ctrl-D and returns the exit code. `scope` has the initial variables: a JSON object, or
// empty. Throws Refused in a build without a line editor.
int run_repl(ScriptSession& session, std::string scope);

}  // namespace narratoria::command::script
