// SPDX-License-Identifier: Apache-2.0
#include "journal/store_file.hpp"

#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "journal/compression.hpp"
#include "journal/rows.hpp"
#include "journal/session_lock.hpp"
#include "journal/store_tables.hpp"
#include "narratoria/store.h"

namespace narratoria::journal {
namespace {

// A transaction waits for the disk if parts of this many bytes were written since the last wait.
// Otherwise the end of a long turn would wait until all of it is written.
constexpr size_t kMaxUnsyncedBytes = size_t{4} << 20;

constexpr std::array<std::string_view, 4> kKinds = {"prompt", "plan", "script", "host"};
constexpr std::array<std::string_view, 6> kStatuses = {"running",   "completed", "fallback",
                                                       "cancelled", "timeout",   "interrupted"};
// An unknown value becomes the last enumerator, which makes the weakest claim.
template <typename Enum, size_t kSize>
Enum enum_of(int64_t number, const std::array<std::string_view, kSize>&) {
    const bool is_known = number >= 0 && number < static_cast<int64_t>(kSize);
    return static_cast<Enum>(is_known ? number : static_cast<int64_t>(kSize) - 1);
}

constexpr std::string_view kTurnColumns =
    "SELECT number, parent, kind, status, prompt, began_ms, ended_ms, state_digest FROM turn ";

std::string turns_where(std::string_view condition) {
    return std::string(kTurnColumns).append(condition);
}

std::string of_turn(std::string_view columns) {
    return std::string("SELECT ").append(columns).append(
        " FROM turn WHERE session = ? AND number = ?");
}

}  // namespace

std::string_view name_of(TurnKind kind) { return kKinds[static_cast<size_t>(kind)]; }
std::string_view name_of(TurnStatus status) { return kStatuses[static_cast<size_t>(status)]; }

struct StoreFile::Statements {
    explicit Statements(Connection& connection)
        : all_sessions(connection,
                       "SELECT id, name, created_ms, about, current FROM session ORDER BY id"),
          one_session(connection,
                      "SELECT id, name, created_ms, about, current FROM session WHERE name = ?"),
          add_session(connection, "INSERT INTO session(name, created_ms, about) VALUES(?, ?, ?)"),
          add_beginning(connection, "INSERT INTO beginning(session, state) VALUES(?, ?)"),
          set_about(connection, "UPDATE session SET about = ? WHERE id = ?"),
          initial_state(connection, "SELECT state FROM beginning WHERE session = ?"),
          move(connection, "UPDATE session SET current = ? WHERE id = ?"),
          interrupt(connection,
                    "UPDATE turn SET status = 5 WHERE session = ? AND number = ? AND status = 0"),
          add_turn(connection,
                   "INSERT INTO turn(session, number, parent, kind, status, prompt, began_ms) "
                   "VALUES(?, ?, ?, ?, 0, ?, ?)"),
          end_turn(connection,
                   "UPDATE turn SET status = ?3, ended_ms = ?4, state_digest = ?5, patches = ?6, "
                   "bytes_since_snapshot = ?7, assets = ?8, rest = ?9, nearest_assets = "
                   "CASE WHEN ?8 <> '' THEN ?2 ELSE (SELECT before.nearest_assets FROM turn AS "
                   "before WHERE before.session = ?1 AND before.number = turn.parent) END "
                   "WHERE session = ?1 AND number = ?2"),
          add_part(connection,
                   "INSERT INTO part(turn, position, body) VALUES("
                   "(SELECT id FROM turn WHERE session = ? AND number = ?), ?, ?)"),
          add_snapshot(connection,
                       "INSERT INTO snapshot(turn, state) VALUES("
                       "(SELECT id FROM turn WHERE session = ? AND number = ?), ?)"),
          reset_fold_bytes(
              connection,
              "UPDATE turn SET bytes_since_snapshot = 0 WHERE session = ? AND number = ?"),
          all_turns(connection, turns_where("WHERE session = ? ORDER BY number")),
          one_turn(connection, turns_where("WHERE session = ? AND number = ?")),
          running_turns(connection,
                        turns_where("WHERE session = ? AND status = 0 ORDER BY number")),
          last_turn(connection, "SELECT max(number) FROM turn WHERE session = ?"),
          rest(connection, of_turn("rest")),
          assets(connection,
                 "SELECT found.number, found.parent, found.assets FROM turn JOIN turn AS found ON "
                 "found.session = turn.session AND found.number = turn.nearest_assets "
                 "WHERE turn.session = ? AND turn.number = ?"),
          since_snapshot(connection, of_turn("bytes_since_snapshot")),
          parts(connection,
                "SELECT body FROM part WHERE turn = (SELECT id FROM turn WHERE session = ? AND "
                "number = ?) ORDER BY position"),
          snapshot(connection,
                   "SELECT state FROM snapshot WHERE turn = (SELECT id FROM turn WHERE session = ? "
                   "AND number = ?)"),
          step(connection,
               "SELECT number, parent, patches, EXISTS (SELECT 1 FROM snapshot WHERE "
               "snapshot.turn = turn.id) FROM turn WHERE session = ? AND number = ?") {}

    Statement all_sessions, one_session, add_session, add_beginning, set_about, initial_state, move,
        interrupt, add_turn, end_turn, add_part, add_snapshot, reset_fold_bytes, all_turns,
        one_turn, running_turns, last_turn, rest, assets, since_snapshot, parts, snapshot, step;
};

StoreFile::StoreFile(const std::string& path, Connection::Access access)
    : path_(path), connection_(std::make_unique<Connection>(path, access)) {
    prepare_store(*connection_, access, path);
    statements_ = std::make_unique<Statements>(*connection_);
    // Resolve links, as SQLite does, so that a store has one lock for all paths to it.
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
    if (real) path_ = real.get();
    struct stat status {};
    if (::stat(path_.c_str(), &status) == 0) {
        device_ = status.st_dev;
        inode_ = status.st_ino;
    }
    if (access == Connection::Access::ReadWrite && status.st_nlink > 1) {
        // The lock and the WAL file belong to a name: writers that use two names would not see each
        // other.
        throw StoreError("STORE_IO", "the store \"" + path_ + "\" has " +
                                         std::to_string(status.st_nlink) +
                                         " names (hard links), which would damage it; copy it, or "
                                         "remove the other names");
    }
}

StoreFile::~StoreFile() = default;
StoreFile::StoreFile(StoreFile&&) noexcept = default;

namespace {

SessionRow session_in(const Statement& row) {
    return {row.number(0), std::string(row.view(1)), row.number(2), std::string(row.view(3)),
            row.optional_number(4)};
}

TurnRow turn_in(const Statement& row) {
    TurnRow turn;
    turn.id = row.number(0);
    turn.parent = row.optional_number(1);
    turn.kind = enum_of<TurnKind>(row.number(2), kKinds);
    turn.status = enum_of<TurnStatus>(row.number(3), kStatuses);
    turn.prompt = row.view(4);
    turn.began_ms = row.number(5);
    turn.ended_ms = row.optional_number(6);
    if (const auto digest = row.optional_number(7)) {
        turn.state_digest = static_cast<uint64_t>(*digest);
    }
    return turn;
}

std::string text_in(const Statement& row) { return std::string(row.view(0)); }
int64_t number_in(const Statement& row) { return row.number(0); }

}  // namespace

std::vector<SessionRow> StoreFile::sessions() {
    return all_of(statements_->all_sessions, session_in);
}

std::optional<SessionRow> StoreFile::session(std::string_view name) {
    return first_of(statements_->one_session.text(0, name), session_in);
}

SessionRow StoreFile::create_session(std::string_view name, int64_t now_ms, std::string_view about,
                                     std::string_view state) {
    statements_->add_session.text(0, name).number(1, now_ms).text(2, about).run();
    const int64_t id = connection_->last_id();
    statements_->add_beginning.number(0, id).text(1, state).run();
    return {id, std::string(name), now_ms, std::string(about), std::nullopt};
}

void StoreFile::set_about(int64_t session, std::string_view about) {
    statements_->set_about.text(0, about).number(1, session).run();
}

std::string StoreFile::initial_state(int64_t session) {
    return first_of(statements_->initial_state.number(0, session), text_in).value_or("{}");
}

bool StoreFile::is_locked(int64_t session) { return is_session_locked(path_, session); }

bool StoreFile::lock(int64_t session) {
    Descriptor file = lock_session(path_, session);
    if (!file) return false;
    locks_.push_back(std::move(file));
    return true;
}

void StoreFile::begin(bool waits) {
    waits = waits || unsynced_bytes_ >= kMaxUnsyncedBytes;
    // SQLite cannot change it within a transaction.
    if (waits_ != waits) {
        connection_->run(waits ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
        waits_ = waits;
    }
    connection_->run("BEGIN IMMEDIATE");
}

void StoreFile::commit() {
    connection_->run("COMMIT");
    if (waits_) unsynced_bytes_ = 0;
    struct stat status {};
    if (::stat(path_.c_str(), &status) == 0 && status.st_dev == device_ &&
        status.st_ino == inode_) {
        return;
    }
    throw StoreError(
        "STORE_REMOVED",
        "the store \"" + path_ + "\" was removed or replaced while a session was stored in it");
}

// Fails only if SQLite has already rolled back.
void StoreFile::roll_back() noexcept {
    try {
        connection_->run("ROLLBACK");
    } catch (const std::exception&) {
    }
}

void StoreFile::begin_turn(int64_t session, const TurnBegin& begin) {
    statements_->add_turn.number(0, session)
        .number(1, begin.id)
        .number(2, begin.parent)
        .number(3, static_cast<int64_t>(begin.kind))
        .text(4, begin.prompt)
        .number(5, begin.time_ms)
        .run();
}

void StoreFile::add_part(int64_t session, TurnId turn, int64_t position, std::string_view body) {
    const std::string stored = compress_part(body);
    statements_->add_part.number(0, session)
        .number(1, turn)
        .number(2, position)
        .bytes(3, stored)
        .run();
    unsynced_bytes_ += stored.size();
}

void StoreFile::end_turn(int64_t session, TurnId turn, const TurnEnd& end) {
    const std::optional<TurnRow> begun = this->turn(session, turn);
    const int64_t before =
        begun && begun->parent ? bytes_since_snapshot(session, begun->parent) : 0;
    statements_->end_turn.number(0, session)
        .number(1, turn)
        .number(2, static_cast<int64_t>(end.status))
        .number(3, end.time_ms)
        .number(4, static_cast<int64_t>(end.state_digest))
        .number(5, end.patches)
        .number(6, before + end.fold_bytes)
        .text(7, end.assets)
        .text(8, end.rest)
        .run();
}

void StoreFile::interrupt_turn(int64_t session, TurnId turn) {
    statements_->interrupt.number(0, session).number(1, turn).run();
}

void StoreFile::add_snapshot(int64_t session, TurnId turn, std::string_view state) {
    statements_->add_snapshot.number(0, session).number(1, turn).text(2, state).run();
    statements_->reset_fold_bytes.number(0, session).number(1, turn).run();
}

void StoreFile::go_to(int64_t session, std::optional<TurnId> turn) {
    statements_->move.number(0, turn).number(1, session).run();
}

std::vector<TurnRow> StoreFile::turns(int64_t session) {
    return all_of(statements_->all_turns.number(0, session), turn_in);
}

std::optional<TurnRow> StoreFile::turn(int64_t session, TurnId id) {
    return first_of(statements_->one_turn.number(0, session).number(1, id), turn_in);
}

TurnRow StoreFile::require_turn(int64_t session, TurnId id) {
    std::optional<TurnRow> found = turn(session, id);
    if (found) return std::move(*found);
    if (id < 0) {
        const bool is_beginning = static_cast<uint64_t>(id) == NAR_TURN_BEGINNING;
        throw TurnError("TURN_MISSING", is_beginning ? "the beginning of the session is not a turn"
                                                     : "the value is not the number of a turn");
    }
    const std::vector<TurnRow> all = turns(session);
    throw TurnError("TURN_MISSING",
                    "the session has no turn " + std::to_string(id) +
                        (all.empty() ? "; it has no turns yet"
                                     : "; its last turn is " + std::to_string(all.back().id)));
}

void StoreFile::require_ended(int64_t session, TurnId turn) {
    const TurnRow found = require_turn(session, turn);
    // A host turn is complete after each patch.
    if (found.state_digest || found.kind == TurnKind::Host) return;
    const bool is_interrupted = found.status == TurnStatus::Interrupted;
    throw TurnError(
        "TURN_NOT_ENDED",
        "turn " + std::to_string(turn) +
            (is_interrupted ? " was interrupted; resume it, or name " : " has not ended; name ") +
            (found.parent ? "the turn before it, " + std::to_string(*found.parent)
                          : std::string("the beginning before it, 0")));
}

void StoreFile::set_name(int64_t session, std::string_view name, TurnId turn) {
    Statement(*connection_, "REPLACE INTO name(session, name, turn) VALUES(?, ?, ?)")
        .number(0, session)
        .text(1, name)
        .number(2, turn)
        .run();
}

std::multimap<TurnId, std::string> StoreFile::names(int64_t session) {
    std::multimap<TurnId, std::string> names;
    if (connection_->number("SELECT count(*) FROM sqlite_schema WHERE name = 'name'") == 0) {
        return names;
    }
    Statement each(*connection_, "SELECT turn, name FROM name WHERE session = ? ORDER BY name");
    each.number(0, session);
    while (each.next()) names.emplace(each.number(0), each.view(1));
    return names;
}

TurnId StoreFile::last_turn(int64_t session) {
    return first_of(statements_->last_turn.number(0, session), number_in).value_or(0);
}

std::vector<TurnRow> StoreFile::running_turns(int64_t session) {
    return all_of(statements_->running_turns.number(0, session), turn_in);
}

std::string StoreFile::rest(int64_t session, TurnId turn) {
    return first_of(statements_->rest.number(0, session).number(1, turn), text_in).value_or("");
}

std::optional<StoreFile::AssetsRow> StoreFile::nearest_assets(int64_t session, TurnId turn) {
    return first_of(
        statements_->assets.number(0, session).number(1, turn), [](const Statement& row) {
            return AssetsRow{row.number(0), row.optional_number(1), std::string(row.view(2))};
        });
}

int64_t StoreFile::bytes_since_snapshot(int64_t session, std::optional<TurnId> turn) {
    if (!turn) return 0;
    return first_of(statements_->since_snapshot.number(0, session).number(1, *turn), number_in)
        .value_or(0);
}

std::optional<Step> StoreFile::step(int64_t session, TurnId turn) {
    return first_of(statements_->step.number(0, session).number(1, turn), [](const Statement& row) {
        return Step{row.number(0), row.optional_number(1), row.number(2), row.number(3) != 0};
    });
}

std::string StoreFile::snapshot(int64_t session, TurnId turn) {
    return first_of(statements_->snapshot.number(0, session).number(1, turn), text_in)
        .value_or("{}");
}

void StoreFile::each_part(int64_t session, TurnId turn,
                          const std::function<void(std::string_view body)>& take) {
    Rows rows(statements_->parts.number(0, session).number(1, turn));
    while (const Statement* row = rows.next()) {
        const std::optional<std::string> part = expand_part(row->view(0));
        if (!part) {
            throw StoreError("STORE_DAMAGED", "the store \"" + path_ + "\": a part of turn " +
                                                  std::to_string(turn) + " cannot be read");
        }
        take(*part);
    }
}

}  // namespace narratoria::journal
