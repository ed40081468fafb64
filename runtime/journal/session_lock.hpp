// SPDX-License-Identifier: Apache-2.0
#pragma once
// The lock that makes a store file the only writer of a session: one byte of the file FILE-lock for
// each session. The lock belongs to the open file description, so that two stores of one process
// exclude each other too. It ends when the file is closed.

#include <cstdint>
#include <string>

#include "base/descriptor.hpp"

namespace narratoria::journal {

// Returns the locked file; an empty one if a different writer has the lock. `store`: the resolved
// path of the store. Throws StoreError if the lock file cannot be used.
Descriptor lock_session(const std::string& store, int64_t session);
// True if a writer, in this or another process, has the lock.
bool is_session_locked(const std::string& store, int64_t session);

}  // namespace narratoria::journal
