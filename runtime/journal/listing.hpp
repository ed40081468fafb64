// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sessions and turns of a store as JSON for hosts (store.h has the forms). All throw StoreError.

#include <cstdint>
#include <optional>
#include <string>

#include "journal/store_file.hpp"

namespace narratoria::journal {

// Returns the reason why a session is not there: "the store "FILE" has no session "NAME"", with a
// similar name or the first names.
std::string missing_session(StoreFile& file, std::string_view path, std::string_view name);

void append_sessions(std::string& out, StoreFile& file);
void append_turns(std::string& out, StoreFile& file, const SessionRow& session);
// Appends the last `count` turns up to this one that are not the host's, with their assets, the
// oldest first (host_session.h). Throws a TurnError, too.
void append_last_turns(std::string& out, StoreFile& file, int64_t session,
                       std::optional<TurnId> last, uint32_t count);

}  // namespace narratoria::journal
