// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sessions and turns of a store as JSON for hosts (store.h has the forms). All throw StoreError.

#include <string>

#include "journal/store_file.hpp"

namespace narratoria::journal {

void append_sessions(std::string& out, StoreFile& file);
void append_turns(std::string& out, StoreFile& file, const SessionRow& session);

}  // namespace narratoria::journal
