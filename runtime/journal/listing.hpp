// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a store has, as JSON for hosts (store.h says in which form). All throw StoreError.

#include <string>

#include "journal/store_file.hpp"

namespace narratoria::journal {

void append_sessions(std::string& out, StoreFile& file);
void append_turns(std::string& out, StoreFile& file, const SessionRow& session);

}  // namespace narratoria::journal
