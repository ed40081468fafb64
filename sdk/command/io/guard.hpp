// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace narratoria::command {

// From its return on, the command runs in a child process. The process that was started stays behind
// as its guard: it passes on the signals that ask the command to end, kills what the child leaves
// behind, also when the child was killed, and exits with the child's status. When the guard is
// killed, the child receives SIGTERM. For the checks, which run what may leave anything behind.
// Call interruption::is_noted first, and nothing of the library.
void run_under_guard();

}  // namespace narratoria::command
