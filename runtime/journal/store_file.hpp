// SPDX-License-Identifier: Apache-2.0
#pragma once
// A store: one SQLite file with any number of sessions, each a tree of turns. A running turn is
// written in parts, so that everything before an interruption is in the store.
//
// Nothing is overwritten: going back to a turn only changes the session's current turn, and the
// next turn becomes another child of it.
//
// One thread at a time. Calls may wait for the disk, so the engine thread must not make them while
// a turn runs.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "journal/sqlite.hpp"

namespace narratoria::journal {

// Counts the turns of one session, from 1.
using TurnId = int64_t;

// Written into the file: the values never change.
enum class TurnKind : uint8_t {
    Prompt = 0,
    Plan = 1,
    Script = 2,
    Host = 3,  // patches of the host and plugins between two other turns; each is independent
};
enum class TurnStatus : uint8_t {
    Running = 0,
    Completed = 1,
    Fallback = 2,
    Cancelled = 3,
    Timeout = 4,
    Interrupted = 5,  // the host died, or stopped using the store, while it ran
};
std::string_view name_of(TurnKind kind);
std::string_view name_of(TurnStatus status);

struct SessionRow {
    int64_t id = 0;
    std::string name;
    int64_t created_ms = 0;         // since 1970
    std::string about;              // the story and project of the last turn, as JSON
    std::optional<TurnId> current;  // the turn from which it continues; none: its beginning
};

struct TurnRow {
    TurnId id = 0;
    std::optional<TurnId> parent;  // none: the session's beginning
    TurnKind kind = TurnKind::Prompt;
    TurnStatus status = TurnStatus::Running;
    std::string prompt;
    int64_t began_ms = 0;
    std::optional<int64_t> ended_ms;
    std::optional<uint64_t> state_digest;  // state::Tree::digest() at its end
};

struct TurnBegin {
    TurnId id = 0;
    std::optional<TurnId> parent;
    TurnKind kind = TurnKind::Prompt;
    std::string_view prompt;
    int64_t time_ms = 0;
};

struct TurnEnd {
    TurnStatus status = TurnStatus::Completed;
    int64_t time_ms = 0;
    uint64_t state_digest = 0;
    // The number of its patches, and the cost of folding them, in bytes of patches.
    int64_t patches = 0;
    int64_t fold_bytes = 0;
    // The assets that it registered, as JSON; or empty.
    std::string_view assets;
    // The data that the next turn needs in addition to state and assets, as JSON.
    std::string_view rest;
};

// A turn on the path back to the beginning of a session.
struct Step {
    TurnId turn;
    std::optional<TurnId> parent;
    int64_t patches;
    bool has_snapshot;  // of the state at its end
};

// A turn that cannot be used: it does not exist, or has not ended. The code is TURN_MISSING or
// TURN_NOT_ENDED.
class TurnError : public std::runtime_error {
public:
    TurnError(const char* code, const std::string& message)
        : std::runtime_error(message), code_(code) {}
    const char* code() const { return code_; }

private:
    const char* code_;
};

class StoreFile {
public:
    // Opens the store, and creates a missing one unless it is opened read-only. Throws StoreError.
    StoreFile(const std::string& path, Connection::Access access);
    ~StoreFile();
    StoreFile(StoreFile&&) noexcept;

    const std::string& path() const { return path_; }

    // In the order of their creation.
    std::vector<SessionRow> sessions();
    std::optional<SessionRow> session(std::string_view name);
    // `state`: the initial state, as JSON.
    SessionRow create_session(std::string_view name, int64_t now_ms, std::string_view about,
                              std::string_view state);
    void set_about(int64_t session, std::string_view about);
    std::string initial_state(int64_t session);

    // Makes this the only writer of the session, until the store is closed or the process ends.
    // Returns false if a different StoreFile, in this or another process, is the writer.
    bool lock(int64_t session);
    // True if a StoreFile, in this or another process, is the writer of the session.
    bool is_locked(int64_t session);

    // Many reads of one state of the file. Without it SQLite locks the file for each of them. Not
    // within a transaction.
    class Reading {
    public:
        explicit Reading(StoreFile& file) : file_(file) { file_.connection_->run("BEGIN"); }
        ~Reading() { file_.roll_back(); }
        Reading(const Reading&) = delete;
        Reading& operator=(const Reading&) = delete;

    private:
        StoreFile& file_;
    };

    // How long begin() waits while another process writes.
    void wait_for_others(int milliseconds) { connection_->wait_for_others(milliseconds); }
    // A transaction: everything between begin() and commit() is stored, or nothing. With `waits`,
    // and now and then without it, commit() returns when the data is on the disk. Otherwise the
    // data survives the end of the process, but a power failure only after the next commit that
    // waits. commit() also throws if the file was moved or removed.
    void begin(bool waits = true);
    void commit();
    void roll_back() noexcept;

    void begin_turn(int64_t session, const TurnBegin& begin);
    // `position` counts within the turn.
    void add_part(int64_t session, TurnId turn, int64_t position, std::string_view body);
    void end_turn(int64_t session, TurnId turn, const TurnEnd& end);
    // For a turn that was interrupted.
    void interrupt_turn(int64_t session, TurnId turn);
    void add_snapshot(int64_t session, TurnId turn, std::string_view state);
    // Sets the current turn of the session.
    void go_to(int64_t session, std::optional<TurnId> turn);

    // Removes turns: `turn` and its descendants, or without `turn` all that are not on the path to
    // the current turn. Returns their number. Throws TurnError if the current turn would be removed,
    // or all turns would be because there is no current one.
    int64_t prune(int64_t session, std::optional<TurnId> turn);
    // Removes the session with all its turns. Returns how many they were.
    int64_t remove_session(int64_t session);
    // Returns the space of removed turns to the file system. Throws if the store is in use.
    void shrink() { connection_->run("VACUUM;"); }

    // By id: parents come before their children.
    std::vector<TurnRow> turns(int64_t session);
    std::optional<TurnRow> turn(int64_t session, TurnId id);
    // Throws TurnError if the session has no such turn.
    TurnRow require_turn(int64_t session, TurnId id);
    // Throws TurnError unless the session has the turn, and it has ended.
    void require_ended(int64_t session, TurnId turn);
    TurnId last_turn(int64_t session);  // 0 if there is none
    // A name belongs to one turn of a session: naming a different turn moves it.
    void set_name(int64_t session, std::string_view name, TurnId turn);
    // Names by turn; the names of each turn are sorted.
    std::multimap<TurnId, std::string> names(int64_t session);
    // Turns without an end. If the session has no writer now, an earlier writer died during them.
    std::vector<TurnRow> running_turns(int64_t session);
    std::string rest(int64_t session, TurnId turn);
    // The nearest turn with assets on the path back from `turn`, including `turn`, with its assets.
    struct AssetsRow {
        TurnId turn;
        std::optional<TurnId> parent;
        std::string assets;
    };
    std::optional<AssetsRow> nearest_assets(int64_t session, TurnId turn);
    // The sum of fold_bytes from the nearest snapshot to the end of `turn`.
    int64_t bytes_since_snapshot(int64_t session, std::optional<TurnId> turn);
    std::optional<Step> step(int64_t session, TurnId turn);
    std::string snapshot(int64_t session, TurnId turn);
    // In order. The view is valid during the call.
    void each_part(int64_t session, TurnId turn,
                   const std::function<void(std::string_view body)>& take);

private:
    struct Statements;

    std::string path_;
    std::unique_ptr<Connection> connection_;
    std::unique_ptr<Statements> statements_;
    std::vector<Descriptor> locks_;
    bool waits_ = true;
    size_t unsynced_bytes_ = 0;  // of parts since the last commit that waited
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace narratoria::journal
