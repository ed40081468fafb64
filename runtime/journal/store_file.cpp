// SPDX-License-Identifier: Apache-2.0
#include "journal/store_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace narratoria::journal {
namespace {

// "Narr"; `file` and others show it for a store.
constexpr int64_t kApplication = 0x4E617272;

constexpr const char* kSchema = R"(
CREATE TABLE session (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created_ms INTEGER NOT NULL,
    current INTEGER REFERENCES turn(id)
) STRICT;
CREATE TABLE turn (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES session(id),
    parent INTEGER REFERENCES turn(id),
    prompt TEXT NOT NULL,
    status INTEGER NOT NULL,
    began_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    state_hash TEXT NOT NULL DEFAULT '',
    rest TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX turn_of_session ON turn(session);
CREATE TABLE part (
    turn INTEGER NOT NULL REFERENCES turn(id),
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (turn, position)
) STRICT;
CREATE TABLE snapshot (
    turn INTEGER PRIMARY KEY REFERENCES turn(id),
    state BLOB NOT NULL
) STRICT;
)";

constexpr std::array<std::string_view, 5> kStatuses = {"running", "completed", "fallback",
                                                       "cancelled", "interrupted"};

bool is_empty(Connection& connection) {
    return connection.number("SELECT count(*) FROM sqlite_schema") == 0 &&
           connection.number("PRAGMA application_id") == 0;
}

void require_store(Connection& connection, const std::string& path) {
    if (connection.number("PRAGMA application_id") != kApplication) {
        throw StoreError("STORE_DAMAGED", "\"" + path + "\" is not a store of sessions");
    }
    const int64_t version = connection.number("PRAGMA user_version");
    if (version > StoreFile::kVersion) {
        throw StoreError("STORE_NEWER", "the store \"" + path + "\" has version " +
                                            std::to_string(version) +
                                            ", and this library reads up to version " +
                                            std::to_string(StoreFile::kVersion) +
                                            "; use the newer version that has written it");
    }
}

TurnStatus status_of(int64_t number) {
    const bool is_known = number >= 0 && number < static_cast<int64_t>(kStatuses.size());
    return is_known ? static_cast<TurnStatus>(number) : TurnStatus::Interrupted;
}

}  // namespace

std::string_view name_of(TurnStatus status) { return kStatuses[static_cast<size_t>(status)]; }

struct StoreFile::Statements {
    explicit Statements(Connection& connection)
        : all_sessions(connection, "SELECT id, name, created_ms, current FROM session ORDER BY id"),
          one_session(connection,
                      "SELECT id, name, created_ms, current FROM session WHERE name = ?"),
          add_session(connection, "INSERT INTO session(name, created_ms) VALUES(?, ?)"),
          move(connection, "UPDATE session SET current = ? WHERE id = ?"),
          interrupt(connection, "UPDATE turn SET status = 4 WHERE session = ? AND status = 0"),
          add_turn(connection,
                   "INSERT INTO turn(session, parent, prompt, status, began_ms) "
                   "VALUES(?, ?, ?, 0, ?)"),
          end_turn(connection,
                   "UPDATE turn SET status = ?, ended_ms = ?, state_hash = ?, rest = ? "
                   "WHERE id = ?"),
          add_part(connection, "INSERT INTO part(turn, position, kind, body) VALUES(?, ?, ?, ?)"),
          add_snapshot(connection, "INSERT INTO snapshot(turn, state) VALUES(?, ?)"),
          all_turns(connection,
                    "SELECT id, parent, prompt, status, began_ms, ended_ms, state_hash FROM turn "
                    "WHERE session = ? ORDER BY id"),
          one_turn(connection,
                   "SELECT id, parent, prompt, status, began_ms, ended_ms, state_hash FROM turn "
                   "WHERE id = ?"),
          rest(connection, "SELECT rest FROM turn WHERE id = ?"),
          parts(connection, "SELECT kind, body FROM part WHERE turn = ? ORDER BY position"),
          nearest(connection,
                  "WITH RECURSIVE way(id, parent, depth) AS ("
                  "SELECT id, parent, 0 FROM turn WHERE id = ? UNION ALL "
                  "SELECT turn.id, turn.parent, depth + 1 FROM turn JOIN way ON turn.id = "
                  "way.parent) "
                  "SELECT snapshot.turn, state FROM way JOIN snapshot ON snapshot.turn = way.id "
                  "ORDER BY depth LIMIT 1") {}

    Statement all_sessions, one_session, add_session, move, interrupt, add_turn, end_turn, add_part,
        add_snapshot, all_turns, one_turn, rest, parts, nearest;
};

StoreFile::StoreFile(const std::string& path, Connection::Access access)
    : path_(path), connection_(path, access), statements_(opened(connection_, access, path)) {}

StoreFile::~StoreFile() = default;

std::unique_ptr<StoreFile::Statements> StoreFile::opened(Connection& connection,
                                                         Connection::Access access,
                                                         const std::string& path) {
    // FULL: a turn that is reported durable survives the loss of power.
    connection.run("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;");
    // A database of somebody else's is left as it is.
    const bool is_new = is_empty(connection);
    if (!is_new || access == Connection::Access::ReadOnly) require_store(connection, path);
    if (access == Connection::Access::ReadWrite) {
        connection.run("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE;");
        // Another process may have been faster.
        if (is_empty(connection)) {
            connection.run(kSchema);
            connection.run(("PRAGMA application_id = " + std::to_string(kApplication) +
                            "; PRAGMA user_version = " + std::to_string(kVersion) + ";")
                               .c_str());
        }
        connection.run("COMMIT;");
        if (is_new) require_store(connection, path);
    }
    return std::make_unique<Statements>(connection);
}

namespace {

SessionRow session_in(const Statement& row) {
    return {row.number(0), std::string(row.view(1)), row.number(2), row.optional_number(3)};
}

TurnRow turn_in(const Statement& row) {
    return {
        row.number(0), row.optional_number(1), std::string(row.view(2)), status_of(row.number(3)),
        row.number(4), row.optional_number(5), std::string(row.view(6))};
}

}  // namespace

std::vector<SessionRow> StoreFile::sessions() {
    std::vector<SessionRow> found;
    Statement& rows = statements_->all_sessions;
    while (rows.next()) found.push_back(session_in(rows));
    return found;
}

std::optional<SessionRow> StoreFile::session(std::string_view name) {
    Statement& rows = statements_->one_session.text(0, name);
    std::optional<SessionRow> found;
    if (rows.next()) found = session_in(rows);
    rows.reset();
    return found;
}

SessionRow StoreFile::create_session(std::string_view name, int64_t now_ms) {
    statements_->add_session.text(0, name).number(1, now_ms).run();
    return {connection_.last_id(), std::string(name), now_ms, std::nullopt};
}

// A byte of the file beside the store for each session. The lock belongs to the open file, so that two
// stores of one process exclude each other as well, and ends with it.
bool StoreFile::lock(int64_t session) {
    const std::string path = path_ + "-lock";
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) {
        throw StoreError("STORE_IO", "the file \"" + path + "\" that says who writes a session " +
                                         "cannot be opened: " + std::strerror(errno));
    }
    struct flock byte {};
    byte.l_type = F_WRLCK;
    byte.l_whence = SEEK_SET;
    byte.l_start = session;
    byte.l_len = 1;
    if (::fcntl(file.get(), F_OFD_SETLK, &byte) != 0) {
        if (errno == EAGAIN || errno == EACCES) return false;
        throw StoreError("STORE_IO",
                         "the file \"" + path + "\" cannot be locked: " + std::strerror(errno));
    }
    locks_.push_back(std::move(file));
    statements_->interrupt.number(0, session).run();
    return true;
}

void StoreFile::begin() { connection_.run("BEGIN IMMEDIATE"); }

void StoreFile::commit() { connection_.run("COMMIT"); }

// Fails only if SQLite has rolled back already.
void StoreFile::roll_back() noexcept {
    try {
        connection_.run("ROLLBACK");
    } catch (const std::exception&) {
    }
}

TurnId StoreFile::begin_turn(int64_t session, std::optional<TurnId> parent, std::string_view prompt,
                             int64_t now_ms) {
    statements_->add_turn.number(0, session)
        .number(1, parent)
        .text(2, prompt)
        .number(3, now_ms)
        .run();
    return connection_.last_id();
}

void StoreFile::add_part(TurnId turn, int64_t position, std::string_view kind,
                         std::string_view body) {
    statements_->add_part.number(0, turn).number(1, position).text(2, kind).bytes(3, body).run();
}

void StoreFile::end_turn(TurnId turn, const TurnEnd& end) {
    statements_->end_turn.number(0, static_cast<int64_t>(end.status))
        .number(1, end.ended_ms)
        .text(2, end.state_hash)
        .text(3, end.rest)
        .number(4, turn)
        .run();
    if (end.state) statements_->add_snapshot.number(0, turn).bytes(1, *end.state).run();
}

void StoreFile::go_to(int64_t session, std::optional<TurnId> turn) {
    statements_->move.number(0, turn).number(1, session).run();
}

std::vector<TurnRow> StoreFile::turns(int64_t session) {
    std::vector<TurnRow> found;
    Statement& rows = statements_->all_turns.number(0, session);
    while (rows.next()) found.push_back(turn_in(rows));
    return found;
}

std::optional<TurnRow> StoreFile::turn(TurnId id) {
    Statement& rows = statements_->one_turn.number(0, id);
    std::optional<TurnRow> found;
    if (rows.next()) found = turn_in(rows);
    rows.reset();
    return found;
}

std::string StoreFile::rest(TurnId turn) {
    Statement& rows = statements_->rest.number(0, turn);
    std::string found;
    if (rows.next()) found = rows.view(0);
    rows.reset();
    return found;
}

void StoreFile::each_part(
    TurnId turn, const std::function<void(std::string_view kind, std::string_view body)>& take) {
    Statement& rows = statements_->parts.number(0, turn);
    struct Reset {
        Statement& rows;
        ~Reset() { rows.reset(); }
    } const reset{rows};
    while (rows.next()) take(rows.view(0), rows.view(1));
}

std::optional<StoreFile::SnapshotRow> StoreFile::nearest_snapshot(TurnId turn) {
    Statement& rows = statements_->nearest.number(0, turn);
    std::optional<SnapshotRow> found;
    if (rows.next()) found = SnapshotRow{rows.number(0), std::string(rows.view(1))};
    rows.reset();
    return found;
}

}  // namespace narratoria::journal
