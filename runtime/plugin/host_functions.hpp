// SPDX-License-Identifier: Apache-2.0
#pragma once
// The nar_host of a plugin instance. A number of handles is kept after their instances are
// destroyed, so that a thread that a plugin did not join gets NAR_GONE instead of reading freed
// memory.

#include <functional>

#include "narratoria/host.h"

namespace narratoria::plugin {

class Instance;
class SessionAccess;
struct HostHandle;

// Creates the handle of an instance. The handle must be retired with retire_host(). Engine thread
// only.
HostHandle* make_host(Instance& instance);
const nar_host* host_of(const HostHandle* handle);
// What a built-in plugin may use beside the ABI. Valid while its instance is. Engine thread only.
SessionAccess& session_of(const nar_host* host);
// Runs `body` while no other thread is inside a function of this host.
void with_host_locked(HostHandle* handle, const std::function<void()>& body);
// Detaches the instance before its destruction. All later calls return NAR_GONE.
void retire_host(HostHandle* handle);

}  // namespace narratoria::plugin
