// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeps one session in a store: the records of its stream, the patches of its state, its narrator's
// questions and answers, turn by turn. Listens to the stream, the state and the assets; nothing else
// writes to the store.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "asset/registry.hpp"
#include "base/loop.hpp"
#include "event/stream.hpp"
#include "journal/playback.hpp"
#include "journal/records.hpp"
#include "journal/store_file.hpp"
#include "journal/writer.hpp"
#include "state/store.hpp"

namespace narratoria::journal {

// Belongs to a session. Engine thread only. If the store cannot be written any more, the session goes
// on without it.
class Journal final : private state::PatchListener, private event::Recorder {
public:
    struct Options {
        std::string path;
        std::string session;
        // Its story and project, as JSON: with them it can be opened again.
        std::string about = "{}";
        // end_turn() reports a turn when the disk has it; otherwise at once.
        bool waits = true;
        // The store must not have the session yet.
        bool must_be_new = false;
    };
    // The past of a session that does not live in its objects.
    struct Past {
        // TurnEnd::rest of the current turn, and of the latest of all turns; or empty.
        std::string rest;
        std::string latest_rest;
        // The greatest record number and the number of executions of the interrupted turns after
        // that one.
        uint64_t interrupted_seq = 0;
        uint64_t interrupted_executions = 0;
    };
    struct Kept {
        TurnId turn = 0;  // 0: the store does not have it
        bool is_durable = false;
        // All records up to this one are on the disk.
        uint64_t durable_seq = 0;
    };

    // Settles turns that a dead host has left in a session that is locked.
    static void settle(StoreFile& file, int64_t session);

    // Opens the session in the store, or creates it with this state (JSON), and makes this its only
    // writer. Waits for the disk. Throws StoreError, or TurnError if it must be new and is not.
    Journal(Loop& loop, Writer& writer, Options options, std::string_view state);
    // close()
    ~Journal() override;

    // The turn that the session goes on from; none: its beginning.
    std::optional<TurnId> current() const { return current_; }

    // Puts the past of the session into these, which are new. Once, before listen().
    Past restore(uint64_t history_limit, state::Store& state, asset::Registry& assets);

    struct Session {
        state::Store& state;
        asset::Registry& assets;
        event::Stream& stream;
        // TurnEnd::rest of a turn of this kind that ends now.
        std::function<std::string(TurnKind kind)> rest;
        // The store cannot be written, which is the last call.
        std::function<void(const StoreFailure& failure)> on_failure;
        // The store has a fault; the session is still kept.
        std::function<void(const std::string& warning)> on_warning;
    };
    // From now on, what happens is kept. All must outlive close().
    void listen(Session session);

    void begin_turn(TurnKind kind, std::string_view prompt, int64_t time_us);
    // Keeps a change of what TurnEnd::rest contains, also between two turns.
    void note_change();
    // A tool begins that is not repeatable. Waits until the disk has that: a later life must know it.
    void note_begun(const event::Subject& subject, std::string_view body);
    void note(RecordKind kind, std::string_view text) { note(kind, text, 0); }
    // `why`: kFinalFailure, kNarratorTimeout or 0.
    void note_failure(std::string_view text, uint8_t why) { note(RecordKind::Failure, text, why); }
    // Appends the turns of the session (listing.hpp), with all that happened. Waits for the disk. Throws
    // StoreError.
    void append_turns(std::string& out);

    // The last prompt on the way to where the session stands, or the one that was interrupted there last
    // of all; the last turn that was interrupted there. Both wait for the disk. Throw StoreError or
    // TurnError.
    TurnId last_prompt();
    TurnId last_interrupted();

    // Waits for the disk. Throws StoreError or TurnError.
    TurnRow turn(TurnId turn);
    // Reads a turn, to be played again. Waits for the disk. Throws StoreError or TurnError.
    std::unique_ptr<Playback> playback(TurnId turn);

    // Goes to the end of a turn, or to the beginning: puts the past of the session into these, which are
    // new, and lets the next turn follow there. No turn may run. Waits for the disk. Throws StoreError
    // or TurnError, and the session stands where it stood.
    Past go_to(std::optional<TurnId> turn, uint64_t history_limit, state::Store& state,
               asset::Registry& assets);

    // Calls `then` at once or from the loop.
    void end_turn(TurnStatus status, std::function<void(const Kept& kept)> then);

    // Waits for the disk, so that end_turn() reports; false if it is not waiting.
    bool finish_end();
    // Waits for the disk. Everything that happens later is not kept.
    void close();

private:
    void on_patch(std::string_view patch, const state::PatchOrigin& origin) override;
    void on_nulls(std::string_view nulls) override;
    void record(uint64_t number, event::Kind kind, uint32_t type, int64_t time_us,
                const event::Subject& subject, std::string_view body) override;

    void note(RecordKind kind, std::string_view text, uint8_t type);
    bool is_listening() const { return session_.has_value(); }
    StoreFile& settled_file();
    std::optional<TurnId> before_host_turns(StoreFile& file, std::optional<TurnId> turn);
    bool is_interrupted_here(StoreFile& file, TurnId turn);
    Past read_past(StoreFile& file, uint64_t history_limit, state::Store& state,
                   asset::Registry& assets);
    void add(const Record& record);
    void flush();
    void flush_soon();
    void end_running(TurnStatus status, std::function<void(const StoreFailure* failure)> done);
    void submit(std::function<void(StoreFile& file)> write,
                std::function<void(const StoreFailure* failure)> done = {}, bool waits = false,
                size_t bytes = 0, std::function<std::string(StoreFile& file)> then = {});
    void fail(const StoreFailure& failure);
    void report(TurnId turn, bool is_durable);

    Loop& loop_;
    Writer& writer_;
    const Options options_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    std::optional<StoreFile> opened_;         // until listen()
    std::shared_ptr<Writer::Target> target_;  // then
    int64_t row_ = 0;                         // of the session in the store
    std::optional<TurnId> current_;           // the turn that the session goes on from
    TurnId last_ = 0;
    std::optional<Session> session_;

    RecordWriter records_;
    std::optional<TurnKind> running_;  // the kind of the turn that runs, which is last_
    int64_t position_ = 0;             // of its next part
    int64_t patches_ = 0;
    int64_t patch_bytes_ = 0;
    std::string assets_;         // the elements of TurnEnd::assets
    size_t not_waited_for_ = 0;  // bytes
    bool flushes_soon_ = false;
    uint64_t durable_seq_ = 0;

    // The arguments of end_turn(), while it waits for the disk.
    std::function<void(const Kept& kept)> then_;
    TurnId ended_turn_ = 0;
    uint64_t ended_seq_ = 0;
};

}  // namespace narratoria::journal
