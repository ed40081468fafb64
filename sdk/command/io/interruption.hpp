// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ctrl-C, SIGTERM and SIGHUP. The first one cancels what runs: its tools get their grace, results
// and state are written, and the command ends with 128 + the signal's number. The second one leaves
// at once; the tools end with the process. When nothing runs the first one leaves.

#include <csignal>

#include "live_region.hpp"

struct nar_session;

namespace narratoria::command::interruption {

// Takes the signals over, except those that were ignored from the start (nohup, a shell's "&").
void install();

// While it lives, the first signal cancels this session. Afterwards it is only noted, so that what
// the run came to is still written.
class CancelsSession {
public:
    explicit CancelsSession(nar_session* session) noexcept;
    CancelsSession(const CancelsSession&) = delete;
    ~CancelsSession();
};

// From now on the first signal is only noted: somebody polls descriptor() and asks received().
void is_noted() noexcept;

// From now on no signal leaves, however many come: the terminal has to be set back first. Of several
// the last that is no Ctrl-C is received().
void all_are_noted() noexcept;

// From now on, as at the start, the first signal leaves.
void leaves() noexcept;

// The first signal since install or clear; 0 when there was none.
int received() noexcept;

// Takes a Ctrl-C as dealt with: the next signal is a first one again. Another signal stays.
void clear() noexcept;

// Readable once a signal came.
int descriptor() noexcept;

// A terminal whose cursor is hidden: it is shown again before the process stops or leaves.
void shows_cursor_on(int terminal) noexcept;

// The process was stopped and continued since the last call: what was on the terminal has scrolled.
bool was_continued() noexcept;

// Both, for what draws.
terminal::CursorKeeper& cursor_keeper() noexcept;

}  // namespace narratoria::command::interruption
