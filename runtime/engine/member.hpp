// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an engine asks of each of its sessions, on the engine thread.

namespace narratoria::engine {

class Member {
public:
    virtual ~Member() = default;

    // Work is running or waits to begin: nar_engine_run_until_idle goes on.
    virtual bool busy() const = 0;
    // Cancellation was requested, by any thread, and was not carried out yet.
    virtual bool has_cancel() const = 0;
    virtual void take_cancel() = 0;
};

}  // namespace narratoria::engine
