// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace narratoria::command {

// Forks. This function returns only in the child, which runs the command. The parent stays as a
// guard: it forwards termination signals, kills all processes that the child leaves, even if the
// child was killed, and exits with the child's status. If the guard is killed, the child receives
// SIGTERM. Used by the checks, whose tools may leave processes behind. Call interruption::record_first
// before, and no function of the library.
void run_under_guard();

}  // namespace narratoria::command
