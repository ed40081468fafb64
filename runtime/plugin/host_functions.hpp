// SPDX-License-Identifier: Apache-2.0
#pragma once
// The nar_host that an instance gets. It outlives its instance for a while, so that a thread that a
// plugin forgot to join is told NAR_GONE instead of reading freed memory.

#include <functional>

#include "narratoria/host.h"

namespace narratoria::plugin {

class Instance;
struct HostHandle;

HostHandle* make_host(Instance& instance);
const nar_host* host_of(const HostHandle* handle);
// While no other thread is inside a function of this host.
void with_host_locked(HostHandle* handle, const std::function<void()>& body);
// The instance is going; calls answer NAR_GONE from now on.
void retire_host(HostHandle* handle);

}  // namespace narratoria::plugin
