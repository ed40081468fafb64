// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tables of a store, and the steps that make a database a store.

#include <string>

#include "journal/sqlite.hpp"

namespace narratoria::journal {

// Prepares a connection that was just opened. Creates the tables in a new database, and those that
// an older store lacks, unless it is opened read-only. Throws StoreError if the database is not a
// store, or one of a later version; it is then unchanged.
void prepare_store(Connection& connection, Connection::Access access, const std::string& path);

}  // namespace narratoria::journal
