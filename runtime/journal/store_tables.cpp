// SPDX-License-Identifier: Apache-2.0
#include "journal/store_tables.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>

namespace narratoria::journal {
namespace {

// A store of version 1 has no compressed parts; it gets this version when it is opened for
// writing.
constexpr int64_t kVersion = 2;

// "Narr": SQLite's application id, which file(1) and other programs show.
constexpr int64_t kApplication = 0x4E617272;

// The states have separate tables, because SQLite rewrites a whole row when it changes. The columns
// `patches`, `bytes_since_snapshot` and `nearest_assets` (a turn) exist so that going to a turn
// does not read all turns before it.
constexpr const char* kSchema = R"(
CREATE TABLE session (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created_ms INTEGER NOT NULL,
    about TEXT NOT NULL,
    current INTEGER
) STRICT;
CREATE TABLE beginning (
    session INTEGER PRIMARY KEY REFERENCES session(id),
    state TEXT NOT NULL
) STRICT;
CREATE TABLE turn (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES session(id),
    number INTEGER NOT NULL,
    parent INTEGER,
    kind INTEGER NOT NULL,
    status INTEGER NOT NULL,
    prompt TEXT NOT NULL,
    began_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    state_digest INTEGER,
    patches INTEGER NOT NULL DEFAULT 0,
    bytes_since_snapshot INTEGER NOT NULL DEFAULT 0,
    assets TEXT NOT NULL DEFAULT '',
    nearest_assets INTEGER,
    rest TEXT NOT NULL DEFAULT '',
    UNIQUE(session, number)
) STRICT;
CREATE TABLE part (
    turn INTEGER NOT NULL REFERENCES turn(id),
    position INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (turn, position)
) STRICT;
CREATE TABLE snapshot (
    turn INTEGER PRIMARY KEY REFERENCES turn(id),
    state TEXT NOT NULL
) STRICT;
)";

// Older stores do not have this table and get it when they are opened for writing.
constexpr const char* kNames = R"(
CREATE TABLE IF NOT EXISTS name (
    session INTEGER NOT NULL REFERENCES session(id),
    name TEXT NOT NULL,
    turn INTEGER NOT NULL,
    PRIMARY KEY (session, name)
) STRICT;
)";

bool is_empty(Connection& connection) {
    return connection.number("SELECT count(*) FROM sqlite_schema") == 0 &&
           connection.number("PRAGMA application_id") == 0;
}

void require_store(Connection& connection, const std::string& path) {
    if (connection.number("PRAGMA application_id") != kApplication) {
        throw StoreError("STORE_DAMAGED", "\"" + path + "\" is not a store of sessions");
    }
    const int64_t version = connection.number("PRAGMA user_version");
    if (version > kVersion) {
        throw StoreError("STORE_NEWER", "the store \"" + path + "\" has version " +
                                            std::to_string(version) +
                                            ", and this Narratoria reads up to version " +
                                            std::to_string(kVersion) + "; use a newer one");
    }
}

// SQLite does not apply the busy timeout to this statement.
void switch_to_wal(Connection& connection) {
    for (int left = Connection::kBusyMs;; left -= 5) {
        try {
            return connection.run("PRAGMA journal_mode = WAL;");
        } catch (const StoreError& error) {
            if (left <= 0 || error.code() != std::string_view("STORE_LOCKED")) throw;
        }
        ::usleep(5000);
    }
}

// A non-empty file with an empty database is a store that another process is creating.
bool wait_for_creation(Connection& connection, const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || status.st_size == 0) return false;
    for (int left = Connection::kBusyMs; left > 0; left -= 5) {
        ::usleep(5000);
        if (!is_empty(connection)) return true;
    }
    return false;
}

}  // namespace

void prepare_store(Connection& connection, Connection::Access access, const std::string& path) {
    // FULL: a turn that is reported durable survives a power failure.
    connection.run("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;");
    bool is_new = is_empty(connection);
    if (access == Connection::Access::ReadOnly && is_new)
        is_new = !wait_for_creation(connection, path);
    // Do not change the database of another program.
    if (!is_new || access == Connection::Access::ReadOnly) require_store(connection, path);
    if (access == Connection::Access::ReadWrite) {
        switch_to_wal(connection);
        connection.run("BEGIN IMMEDIATE;");
        // Another process may have created it in the meantime.
        if (is_empty(connection)) {
            connection.run(kSchema);
            connection.run(("PRAGMA application_id = " + std::to_string(kApplication)).c_str());
        }
        connection.run(kNames);
        if (connection.number("PRAGMA user_version") < kVersion) {
            connection.run(("PRAGMA user_version = " + std::to_string(kVersion)).c_str());
        }
        connection.run("COMMIT;");
        if (is_new) require_store(connection, path);
    }
}

}  // namespace narratoria::journal
