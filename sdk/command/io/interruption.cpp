// SPDX-License-Identifier: Apache-2.0
#include "io/interruption.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "io/file.hpp"
#include "io/message.hpp"
#include "narratoria/session.h"

namespace narratoria::command::interruption {
namespace {

enum class SignalAction { Exit, Cancel, Record, RecordAll };

// Used by signal handlers, so lock-free and never destroyed.
std::atomic<SignalAction> action{SignalAction::Exit};
std::atomic<nar_session*> running{nullptr};
std::atomic<int> first_signal{0};
std::atomic<int> cursor_hidden_on{-1};
std::atomic<bool> continued{false};
std::atomic<int> wake_reader{-1};
std::atomic<int> wake_writer{-1};

void show_cursor() {
    const int terminal = cursor_hidden_on.load();
    if (terminal < 0) return;
    constexpr char kShowCursor[] = "\x1b[?25h";
    static_cast<void>(!write(terminal, kShowCursor, sizeof kShowCursor - 1));
}

void on_end(int signal) {
    const int saved = errno;
    int none = 0;
    const bool is_first = first_signal.compare_exchange_strong(none, signal);
    if (action.load() == SignalAction::RecordAll) {
        if (signal != SIGINT) first_signal.store(signal);
    } else if (!is_first || action.load() == SignalAction::Exit) {
        show_cursor();
        if (action.load() == SignalAction::Cancel && signal == SIGINT) {
            constexpr char kEnded[] = "\nended by a second Ctrl-C\n";
            static_cast<void>(!write(STDERR_FILENO, kEnded, sizeof kEnded - 1));
        }
        forget_replacements_in_signal();
        _exit(kExitSignal + signal);
    }
    if (action.load() == SignalAction::Cancel) {
        if (nar_session* session = running.load(); session != nullptr) nar_session_cancel(session);
    }
    const int writer = wake_writer.load();
    if (writer >= 0) static_cast<void>(!write(writer, "!", 1));
    errno = saved;
}

void on_stop(int signal) {
    const int saved = errno;
    show_cursor();
    struct sigaction ours {};
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, &ours);
    sigset_t this_one;
    sigemptyset(&this_one);
    sigaddset(&this_one, signal);
    raise(signal);
    sigset_t before;
    sigprocmask(SIG_UNBLOCK, &this_one, &before);  // stops here until SIGCONT
    sigprocmask(SIG_SETMASK, &before, nullptr);
    sigaction(signal, &ours, nullptr);
    continued.store(true);
    errno = saved;
}

void take_over(int signal, void (*handler)(int)) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) return;
    struct sigaction ours {};
    ours.sa_handler = handler;
    sigemptyset(&ours.sa_mask);
    sigaction(signal, &ours, nullptr);
}

}  // namespace

void install() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
        wake_reader.store(ends[0]);
        wake_writer.store(ends[1]);
    }
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) take_over(signal, on_end);
    // A closed pipe (SIGPIPE) and a file beyond the shell's limit (ulimit -f, SIGXFSZ) must be
    // errors of write() and not end the process.
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    for (const int signal : {SIGPIPE, SIGXFSZ}) sigaction(signal, &ignored, nullptr);
}

CancelSessionOnSignal::CancelSessionOnSignal(nar_session* session) noexcept {
    running.store(session);
    action.store(SignalAction::Cancel);
    // A signal recorded earlier had no session to cancel.
    if (first_signal.load() != 0) nar_session_cancel(session);
}

CancelSessionOnSignal::~CancelSessionOnSignal() { record_first(); }

void record_first() noexcept {
    action.store(SignalAction::Record);
    running.store(nullptr);
}

void record_all() noexcept {
    action.store(SignalAction::RecordAll);
    running.store(nullptr);
}

void exit_on_first() noexcept { action.store(SignalAction::Exit); }

int received() noexcept { return first_signal.load(); }

void clear() noexcept {
    int handled = SIGINT;
    first_signal.compare_exchange_strong(handled, 0);
    char drained[16];
    while (wake_reader.load() >= 0 && read(wake_reader.load(), drained, sizeof drained) > 0) {
    }
}

int descriptor() noexcept { return wake_reader.load(); }

void show_cursor_on(int terminal) noexcept {
    if (terminal >= 0 && cursor_hidden_on.load() < 0) take_over(SIGTSTP, on_stop);
    cursor_hidden_on.store(terminal);
}

bool was_continued() noexcept { return continued.exchange(false); }

terminal::CursorKeeper& cursor_keeper() noexcept {
    class Keeper : public terminal::CursorKeeper {
        void hides_cursor_on(int terminal) override { show_cursor_on(terminal); }
        bool was_continued() override { return interruption::was_continued(); }
    };
    static Keeper keeper;
    return keeper;
}

}  // namespace narratoria::command::interruption
