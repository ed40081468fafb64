// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handles Ctrl-C, SIGTERM and SIGHUP. The first signal cancels the running session: its tools get
// their grace period, result and state are written, and the command exits with 128 + the signal's
// number. The second signal exits immediately; the tools end with the process. Without a running
// session, the first signal exits.

#include <csignal>

#include "live_region.hpp"

struct nar_session;

namespace narratoria::command::interruption {

// Installs the handlers, except for signals that were ignored from the start (nohup, a shell's
// "&").
void install();

// While this object exists, the first signal cancels the session. Afterwards a signal is only
// recorded, so that the outcome of the run is still written.
class CancelSessionOnSignal {
public:
    explicit CancelSessionOnSignal(nar_session* session) noexcept;
    CancelSessionOnSignal(const CancelSessionOnSignal&) = delete;
    ~CancelSessionOnSignal();
};

// From now on, the first signal is only recorded. The caller polls descriptor() and calls
// received().
void record_first() noexcept;

// From now on, all signals are only recorded, because the terminal must be restored before exiting.
// received() returns the last one that is not SIGINT.
void record_all() noexcept;

// From now on, the first signal exits, as after install().
void exit_on_first() noexcept;

// The first signal since install or clear, or 0.
int received() noexcept;

// Marks a Ctrl-C as handled, so that the next signal is a first one again. Keeps other signals.
void clear() noexcept;

// Readable after a signal has arrived.
int descriptor() noexcept;

// Registers a terminal with a hidden cursor. The handlers show it before the process stops or
// exits.
void show_cursor_on(int terminal) noexcept;

// True if the process was stopped and continued since the last call, so that the terminal must be
// redrawn.
bool was_continued() noexcept;

// The two functions above, as an interface for the display.
terminal::CursorKeeper& cursor_keeper() noexcept;

}  // namespace narratoria::command::interruption
