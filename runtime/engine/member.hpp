// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interface of a session to its engine, which owns it. Engine thread only.

namespace narratoria::engine {

class Member {
public:
    virtual ~Member() = default;

    // True while work is running or queued. Keeps nar_engine_run_until_idle running.
    virtual bool busy() const = 0;
    // True if a thread requested a cancellation that apply_cancel() has not carried out yet.
    virtual bool has_cancel() const = 0;
    virtual void apply_cancel() = 0;
};

}  // namespace narratoria::engine
