// SPDX-License-Identifier: Apache-2.0
#pragma once
// The nar_host of a plugin instance. The last kKept handles are kept after their instances are
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
// The session, for built-in plugins that need more than the ABI. Valid as long as the instance.
// Engine thread only.
SessionAccess& session_of(const nar_host* host);
// Runs `body` while no other thread is inside a function of this host.
void with_host_locked(HostHandle* handle, const std::function<void()>& body);
// Detaches the instance before its destruction. All later calls return NAR_GONE.
void retire_host(HostHandle* handle);

}  // namespace narratoria::plugin
