// SPDX-License-Identifier: Apache-2.0
#pragma once
// A store: one SQLite file with any number of sessions, each a tree of turns. What a turn consists of
// is kept in parts as it happens, so that of a turn that was cut off all is there that had happened.
//
// Nothing is overwritten: going back to a turn only changes where the session stands, and the next
// turn becomes another child of it.
//
// One thread at a time, which may wait for the disk: never the engine's.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "journal/sqlite.hpp"

namespace narratoria::journal {

using TurnId = int64_t;

enum class TurnStatus : uint8_t {
    Running,
    Completed,
    Fallback,
    Cancelled,
    Interrupted,  // its host died, or gave up the store, in the middle
};
std::string_view name_of(TurnStatus status);

struct SessionRow {
    int64_t id = 0;
    std::string name;
    int64_t created_ms = 0;         // since 1970
    std::optional<TurnId> current;  // the turn at whose end it stands; none: its beginning
};

struct TurnRow {
    TurnId id = 0;
    std::optional<TurnId> parent;  // none: the session's beginning
    std::string prompt;
    TurnStatus status = TurnStatus::Running;
    int64_t began_ms = 0;
    std::optional<int64_t> ended_ms;
    std::string state_hash;  // of the state's JSON at its end; empty before it
};

// How a turn ended.
struct TurnEnd {
    TurnStatus status = TurnStatus::Completed;
    int64_t ended_ms = 0;
    std::string_view state_hash;
    // What the next turn needs beside the state (choices, counters), as JSON.
    std::string_view rest;
    // The state as JSON, if this turn has a snapshot.
    std::optional<std::string_view> state;
};

class StoreFile {
public:
    static constexpr int64_t kVersion = 1;

    // Opens the store, and creates it unless it is only read. Throws StoreError.
    StoreFile(const std::string& path, Connection::Access access);
    ~StoreFile();

    // In the order of their creation.
    std::vector<SessionRow> sessions();
    std::optional<SessionRow> session(std::string_view name);
    SessionRow create_session(std::string_view name, int64_t now_ms);

    // Makes this the one writer of the session, until the store is closed or the process ends. False
    // if another store, of this process or of another, is. Turns that a dead writer has left running
    // become interrupted.
    bool lock(int64_t session);

    // Everything between begin() and commit() is kept or nothing. commit() returns when it is on the
    // disk; a failure takes all of it back.
    void begin();
    void commit();
    void roll_back() noexcept;

    TurnId begin_turn(int64_t session, std::optional<TurnId> parent, std::string_view prompt,
                      int64_t now_ms);
    // `position` counts within the turn.
    void add_part(TurnId turn, int64_t position, std::string_view kind, std::string_view body);
    void end_turn(TurnId turn, const TurnEnd& end);
    // Where the session stands.
    void go_to(int64_t session, std::optional<TurnId> turn);

    // Parents come before their children.
    std::vector<TurnRow> turns(int64_t session);
    std::optional<TurnRow> turn(TurnId id);
    std::string rest(TurnId turn);
    // In order. The views are valid during the call.
    void each_part(TurnId turn,
                   const std::function<void(std::string_view kind, std::string_view body)>& take);
    // The state at the end of the nearest turn with a snapshot, from this one towards the beginning.
    // None: there is no such turn, and the state begins as {}.
    struct SnapshotRow {
        TurnId turn;
        std::string state;
    };
    std::optional<SnapshotRow> nearest_snapshot(TurnId turn);

private:
    struct Statements;

    static std::unique_ptr<Statements> opened(Connection& connection, Connection::Access access,
                                              const std::string& path);

    std::string path_;
    Connection connection_;
    std::unique_ptr<Statements> statements_;
    std::vector<Descriptor> locks_;
};

}  // namespace narratoria::journal
