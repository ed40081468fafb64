// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stores one session turn by turn: the records of its stream, the patches of its state, and the
// requests to its narrator with their answers. Listens to the stream and the assets.
// Nothing else writes to the store.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "asset/registry.hpp"
#include "base/lifetime.hpp"
#include "base/loop.hpp"
#include "event/stream.hpp"
#include "journal/playback.hpp"
#include "journal/records.hpp"
#include "journal/store_file.hpp"
#include "journal/writer.hpp"
#include "state/store.hpp"

namespace narratoria::journal {

// Belongs to a session. Engine thread only. If the disk is full or the store is locked, the session
// continues, and what could not be written is written with a later turn. After other failures, the
// session continues without the store.
class Journal final : private event::Recorder {
public:
    struct Options {
        std::string path;
        std::string session;
        // The session's story and project as JSON, which are needed to open it again. Stored with
        // its next turn: a session that is only opened keeps its own.
        std::string about = "{}";
        // True: end_turn() reports a turn once it is on the disk. False: immediately.
        bool waits = true;
        // The store must not have the session yet.
        bool must_be_new = false;
    };
    // The data that a restored session needs in addition to state, history and assets.
    struct PastPrompt {
        std::string prompt;
        std::string rest;  // TurnEnd::rest
    };
    static constexpr size_t kMaxPastPrompts = 20;
    struct Restored {
        // TurnEnd::rest of the current turn, and of the newest turn; or empty.
        std::string rest;
        std::string latest_rest;
        // The greatest record number and the number of executions of the interrupted turns after
        // the newest turn that has a `rest`.
        uint64_t interrupted_seq = 0;
        uint64_t interrupted_executions = 0;
        // The last prompts up to the current turn, the oldest first.
        std::deque<PastPrompt> prompts;
    };
    struct StoredTurn {
        // 0: the session is no longer stored. If it is not durable and its session ends, it may be
        // lost, and a later turn then has the same number.
        TurnId turn = 0;
        bool is_durable = false;
        // All records up to this one are on the disk.
        uint64_t durable_seq = 0;
    };

    // Ends turns that were running when the host died. The session must be locked.
    static void end_running_turns(StoreFile& file, int64_t session);

    // Opens the session in the store, or creates it with this state (JSON), and locks it, so that
    // this is its only writer. Waits for the disk. Throws StoreError, or TurnError if the session
    // must be new but exists.
    Journal(Loop& loop, Writer& writer, Options options, std::string_view state);
    // Calls close().
    ~Journal() override;

    // Options::about of the session's last turn, or of its beginning; empty for a new session.
    const std::string& previous_about() const { return previous_about_; }
    // The turn from which the session continues; none: its beginning.
    std::optional<TurnId> current() const { return current_; }

    // Restores the session into `state` and `assets`, which must be new. Call it once, before
    // listen().
    Restored restore(uint64_t history_limit, state::Store& state, asset::Registry& assets);

    struct Session {
        state::Store& state;
        asset::Registry& assets;
        event::Stream& stream;
        // Returns TurnEnd::rest for a turn of this kind that ends now.
        std::function<std::string(TurnKind kind)> rest;
        // The store cannot be written; called once until on_recovery, and for a final failure, which
        // is the last call.
        std::function<void(const StoreFailure& failure)> on_failure;
        // Everything is stored again.
        std::function<void()> on_recovery;
        // The store has a fault; the session is still stored.
        std::function<void(const std::string& warning)> on_warning;
    };
    // Starts recording. The referenced objects must outlive close().
    void listen(Session session);

    void begin_turn(TurnKind kind, std::string_view prompt, int64_t time_us);
    // Records a change of what TurnEnd::rest contains, even between two turns.
    void note_change();
    // Records that a tool that is not repeatable is about to start. Waits until this is on the
    // disk, because a process that resumes the turn must know it.
    void note_tool_starting(const event::Subject& subject, std::string_view body);
    void note(RecordKind kind, std::string_view text) { note(kind, text, 0); }
    // `why`: kFinalFailure, kNarratorTimeout or 0.
    void note_failure(std::string_view text, uint8_t why) { note(RecordKind::Failure, text, why); }
    // Appends the turns of the session (listing.hpp). Waits until the store is up to date. Throws
    // StoreError.
    void append_turns(std::string& out);

    // Appends the last turns up to this one (listing.hpp). Waits until the store is up to date.
    // Throws StoreError or TurnError.
    void append_last_turns(std::string& out, std::optional<TurnId> last, uint32_t count);

    // The newest turn, apart from those of the host, if it is an interrupted prompt that follows the
    // current turn. Waits for the disk. Throws StoreError.
    std::optional<TurnId> interrupted();
    // interrupted(), otherwise the last prompt on the path to the current turn. Waits for the disk.
    // Throws StoreError, or TurnError if there is none.
    TurnId last_prompt();
    // The last interrupted prompt that follows the current turn, even if later turns followed it,
    // too. Throws as last_prompt().
    TurnId last_interrupted();

    // The last prompt on the path to the current turn. Waits for the disk. Throws StoreError, or
    // TurnError if there is none.
    TurnRow last_ended_prompt() { return last_ended_prompt(flushed_file()); }

    // Waits for the disk. Throws StoreError or TurnError.
    TurnRow turn(TurnId turn);
    // Throws TurnError unless the turn has ended. Waits for the disk; throws StoreError.
    void require_ended(TurnId turn) { flushed_file().require_ended(row_, turn); }
    // Reads a turn for playback. Waits for the disk. Throws StoreError or TurnError.
    std::unique_ptr<Playback> playback(TurnId turn);

    // Goes to the end of a turn, or to the beginning: restores the session into `state` and
    // `assets`, which must be new, and makes the turn the current one. No prompt, plan or script
    // may be running. Waits for the disk. Throws StoreError or TurnError; the current turn is then
    // unchanged.
    Restored go_to(std::optional<TurnId> turn, uint64_t history_limit, state::Store& state,
                   asset::Registry& assets);

    // Calls `then` immediately or from the loop.
    void end_turn(TurnStatus status, std::function<void(const StoredTurn& stored)> then);

    // If end_turn() is waiting for the disk, waits too and lets it report; otherwise returns false.
    bool finish_end();
    // Waits for the disk and stops recording.
    void close();

private:
    void record(uint64_t number, event::Kind kind, uint32_t type, int64_t time_us,
                const event::Subject& subject, std::string_view body,
                const event::MergedPatch* merged) override;

    void note(RecordKind kind, std::string_view text, uint8_t type);
    bool is_listening() const { return session_.has_value(); }
    StoreFile& flushed_file();
    std::optional<TurnId> before_host_turns(StoreFile& file, std::optional<TurnId> turn);
    bool is_interrupted_here(StoreFile& file, TurnId turn);
    TurnRow last_ended_prompt(StoreFile& file);
    Restored restore_from(StoreFile& file, uint64_t history_limit, state::Store& state,
                          asset::Registry& assets);
    void add(const Record& record);
    void add_patch(const Record& event, const event::MergedPatch& merged);
    void flush_if_full();
    void flush();
    void flush_soon();
    void end_running(TurnStatus status, std::function<void(const StoreFailure* failure)> done);
    void submit(Writer::Task task);
    const StoreFailure* wait_for_disk(bool is_last = false);
    void fail(const StoreFailure& failure);
    void report(TurnId turn, bool is_durable);
    void report_soon(TurnId turn, bool is_durable);

    Loop& loop_;
    Writer& writer_;
    const Options options_;
    Lifetime lifetime_;
    std::optional<StoreFile> opened_;         // until listen()
    std::shared_ptr<Writer::Target> target_;  // from listen() on
    int64_t row_ = 0;                         // of the session in the store
    std::string previous_about_;
    std::string new_about_;          // if it differs: stored with the first turn
    std::optional<TurnId> current_;  // the turn from which the session continues
    TurnId last_ = 0;
    std::optional<Session> session_;

    RecordWriter records_;
    std::optional<TurnKind> running_;  // the kind of the running turn, which is last_
    int64_t position_ = 0;             // the position of its next part
    int64_t patches_ = 0;
    int64_t patch_bytes_ = 0;
    std::string assets_;  // the elements of TurnEnd::assets
    bool flushes_soon_ = false;
    bool is_failing_ = false;
    uint64_t durable_seq_ = 0;

    // The arguments of end_turn(), while it waits for the disk.
    std::function<void(const StoredTurn& stored)> then_;
    TurnId ended_turn_ = 0;
    uint64_t ended_seq_ = 0;
};

}  // namespace narratoria::journal
