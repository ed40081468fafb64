// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the thread that drives a session and the threads of its tools hand calls to each other.
//
// Waking a sleeping thread often takes longer than the tool. So the thread that waits first spins for
// a few microseconds, without the interpreter's lock, and sleeps only then.

#include <pybind11/pybind11.h>
#include <semaphore.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace narratoria::python {

namespace py = pybind11;

// Spins for a short time. After spinning in vain it spins less often, so that tools that take long
// and busy cores cost nothing.
class SpinWait {
public:
    enum class Found { NotYet, Never, Yes };

    // Calls `look` until it returns something other than NotYet. True if it returned Yes.
    template <class Look>
    bool spin(Look&& look) {
        if (skipped_ < skips_) {
            ++skipped_;
            return false;
        }
        const auto end = std::chrono::steady_clock::now() + kTime;
        do {
            const Found found = look();
            if (found == Found::Yes) skips_ = 0;
            if (found != Found::NotYet) return found == Found::Yes;
            pause();
        } while (std::chrono::steady_clock::now() < end);
        skips_ = std::min(2 * skips_ + 1, kMostSkips);
        skipped_ = 0;
        return false;
    }

private:
    static constexpr std::chrono::microseconds kTime{50};
    static constexpr std::uint32_t kMostSkips = 63;
    static void pause();

    std::uint32_t skips_ = 0;  // between two spins
    std::uint32_t skipped_ = 0;
};

// The work of one tool thread, which has at most one call at a time.
class ThreadInbox {
public:
    ThreadInbox();
    ~ThreadInbox();
    ThreadInbox(const ThreadInbox&) = delete;
    ThreadInbox& operator=(const ThreadInbox&) = delete;

    void put(py::object work);
    // Called by the tool thread. Returns None after `seconds` without work; without a value it waits
    // as long as it takes.
    py::object get(std::optional<double> seconds);

private:
    bool spin();
    bool sleep(std::optional<double> seconds);

    // Unlike a condition variable, it can be destroyed after a fork while threads of the parent wait.
    sem_t is_full_;
    py::object work_ = py::none();
    std::uint32_t put_at_ = 0;  // the number of releases of the lock before put()
    bool is_working_ = false;
    SpinWait wait_;
};

// Called on the thread that drives a session: after it has released the lock, and before it takes
// the lock again.
void lock_was_released();
void await_ending_tool();
// The driving thread waits, and gives no work to tool threads, while it exists.
class DriverWait {
public:
    DriverWait();
    ~DriverWait();
    DriverWait(const DriverWait&) = delete;
    DriverWait& operator=(const DriverWait&) = delete;

    // True if the descriptor became readable while a tool runs.
    bool spin(int descriptor);
};

// Called on a tool thread before the end of its tool is delivered.
void tool_is_ending();

}  // namespace narratoria::python
