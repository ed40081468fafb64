// SPDX-License-Identifier: Apache-2.0
#include "journal/journal.hpp"

#include <algorithm>
#include <utility>

#include "journal/listing.hpp"
#include "journal/restore.hpp"

namespace narratoria::journal {
namespace {

// A part of a running turn is written when it reaches this size.
constexpr size_t kPartSize = 256 * 1024;
// Bounds the cost of going to a turn: a snapshot is taken when the patches since the last one
// exceed both this many bytes and the size of the state.
constexpr uint64_t kMinSnapshotBytes = 512 * 1024;
// The cost of folding a turn without patches, in bytes of patches.
constexpr int64_t kTurnFoldBytes = 256;

// True for records that a resumed turn needs: which plans and tools have ended. They are written
// soon.
bool is_milestone(event::Kind kind) {
    return kind == event::Kind::PlanStarted || kind == event::Kind::PlanEnded ||
           kind == event::Kind::ToolEnded;
}

// Takes a snapshot if folding the state costs more than `max_fold_bytes`. If the store is damaged, takes none
// and returns the reason.
std::string take_snapshot(StoreFile& file, int64_t session, TurnId turn, uint64_t max_fold_bytes,
                          uint64_t digest) {
    if (static_cast<uint64_t>(file.bytes_since_snapshot(session, turn)) <= max_fold_bytes)
        return {};
    const state::Tree state = state_at(file, session, turn);
    if (state.digest() != digest) {
        return "the patches in the store \"" + file.path() +
               "\" do not produce the state of turn " + std::to_string(turn);
    }
    std::string json;
    state.append_json(json);
    file.begin(false);
    file.add_snapshot(session, turn, json);
    file.commit();
    return {};
}

int64_t milliseconds(int64_t time_us) { return time_us / 1000; }

}  // namespace

Journal::Journal(Loop& loop, Writer& writer, Options options, std::string_view state)
    : loop_(loop), writer_(writer), options_(std::move(options)) {
    opened_.emplace(options_.path, Connection::Access::ReadWrite);
    // Looking up and creating the session are one transaction, so that only one of two processes
    // creates it.
    opened_->begin();
    std::optional<SessionRow> row = opened_->session(options_.session);
    if (row && options_.must_be_new) {
        throw TurnError("SESSION_EXISTS", "the store \"" + options_.path +
                                              "\" already has a session \"" + options_.session +
                                              "\"; give the new one a different id");
    }
    const bool is_new = !row;
    if (is_new) {
        row = opened_->create_session(options_.session, milliseconds(loop_.wall_us()),
                                      options_.about, state.empty() ? "{}" : state);
    }
    opened_->commit();
    row_ = row->id;
    if (!opened_->lock(row_)) {
        throw StoreError("STORE_LOCKED", "the session \"" + options_.session +
                                             "\" of the store \"" + options_.path +
                                             "\" is already being played; end that game, or give "
                                             "this one a different name");
    }
    // Read it again: before it was locked, another process may have continued it.
    end_running_turns(*opened_, row_);
    row = opened_->session(options_.session);
    if (row && !is_new) {
        previous_about_ = row->about;
        if (row->about != options_.about) new_about_ = options_.about;
    }
    current_ = row ? row->current : std::nullopt;
    last_ = opened_->last_turn(row_);
}

Journal::~Journal() {
    lifetime_.end();
    close();
}

void Journal::end_running_turns(StoreFile& file, int64_t session) {
    const std::vector<TurnRow> running = file.running_turns(session);
    if (running.empty()) return;
    file.begin();
    for (const TurnRow& turn : running) {
        if (turn.kind != TurnKind::Host) {
            file.interrupt_turn(session, turn.id);
            continue;
        }
        // Each patch of a host turn is independent, so the turn counts as complete.
        TurnEnd end;
        end.time_ms = turn.began_ms;
        end.fold_bytes = kTurnFoldBytes;
        file.each_part(session, turn.id, [&](std::string_view part) {
            each_record(part, [&](const Record& record) {
                end.time_ms = std::max(end.time_ms, milliseconds(record.time_us));
                if (record.kind != RecordKind::Patch) return;
                ++end.patches;
                end.fold_bytes += static_cast<int64_t>(record.body.size());
            });
        });
        end.state_digest = state_at(file, session, turn.id).digest();
        const std::string rest = turn.parent ? file.rest(session, *turn.parent) : std::string();
        end.rest = rest;
        file.end_turn(session, turn.id, end);
    }
    file.commit();
}

Journal::Restored Journal::restore(uint64_t history_limit, state::Store& state,
                                   asset::Registry& assets) {
    return restore_from(*opened_, history_limit, state, assets);
}

Journal::Restored Journal::restore_from(StoreFile& file, uint64_t history_limit,
                                        state::Store& state, asset::Registry& assets) {
    const StoreFile::Reading reading(file);
    Restored restored;
    restored.rest = journal::restore(file, row_, current_, history_limit, state, assets);
    for (std::optional<TurnId> at = current_; at && restored.prompts.size() < kMaxPastPrompts;) {
        TurnRow turn = file.require_turn(row_, *at);
        if (turn.kind == TurnKind::Prompt) {
            restored.prompts.push_front({std::move(turn.prompt), file.rest(row_, turn.id)});
        }
        at = turn.parent;
    }
    for (TurnId turn = last_; turn > 0 && restored.latest_rest.empty(); --turn) {
        restored.latest_rest = file.rest(row_, turn);
        if (!restored.latest_rest.empty()) break;
        file.each_part(row_, turn, [&](std::string_view part) {
            each_record(part, [&](const Record& record) {
                if (record.kind != RecordKind::Event) return;
                restored.interrupted_seq = std::max(restored.interrupted_seq, record.seq);
                restored.interrupted_executions +=
                    record.event_kind == static_cast<uint8_t>(event::Kind::PlanStarted) ? 1 : 0;
            });
        });
    }
    return restored;
}

// Waits until the file is up to date. It may be used until the next task is submitted.
StoreFile& Journal::flushed_file() {
    if (!is_listening()) {
        throw StoreError("STORE_IO",
                         "the session is no longer stored in \"" + options_.path + "\"");
    }
    flush();
    if (const StoreFailure* const failure = wait_for_disk()) {
        const StoreFailure why = *failure;
        if (why.is_final) fail(why);
        throw StoreError(why.code, why.message);
    }
    return Writer::file_of(*target_);
}

// Waits until all tasks have run; those that failed temporarily are tried again. Returns why the
// last transaction failed, or NULL.
const StoreFailure* Journal::wait_for_disk(bool is_last) {
    writer_.wait_for(target_);
    const StoreFailure* const failure = Writer::failure_of(*target_);
    if (failure == nullptr || failure->is_final) return failure;
    submit({.waits = true, .is_last = is_last});
    writer_.wait_for(target_);
    return Writer::failure_of(*target_);
}

void Journal::append_turns(std::string& out) {
    StoreFile& file = flushed_file();
    journal::append_turns(out, file, file.session(options_.session).value());
}

void Journal::append_last_turns(std::string& out, std::optional<TurnId> last, uint32_t count) {
    journal::append_last_turns(out, flushed_file(), row_, last, count);
}

TurnId Journal::last_prompt() {
    if (const auto turn = interrupted()) return *turn;
    return last_ended_prompt(flushed_file()).id;
}

TurnRow Journal::last_ended_prompt(StoreFile& file) {
    for (std::optional<TurnId> at = current_; at;) {
        TurnRow turn = file.require_turn(row_, *at);
        if (turn.kind == TurnKind::Prompt) return turn;
        at = turn.parent;
    }
    throw TurnError("TURN_MISSING", "the session has no prompt up to its current turn");
}

TurnId Journal::last_interrupted() {
    StoreFile& file = flushed_file();
    for (TurnId id = last_; id > 0; --id) {
        if (is_interrupted_here(file, id)) return id;
    }
    throw TurnError("TURN_MISSING", "no turn after the current one was interrupted");
}

std::optional<TurnId> Journal::interrupted() {
    StoreFile& file = flushed_file();
    TurnId newest = last_;
    while (newest > 0 && before_host_turns(file, newest) != newest) --newest;
    if (newest > 0 && is_interrupted_here(file, newest)) return newest;
    return std::nullopt;
}

// The turn, or its nearest ancestor that is not a host turn.
std::optional<TurnId> Journal::before_host_turns(StoreFile& file, std::optional<TurnId> turn) {
    while (turn) {
        const std::optional<TurnRow> row = file.turn(row_, *turn);
        if (!row || row->kind != TurnKind::Host) break;
        turn = row->parent;
    }
    return turn;
}

bool Journal::is_interrupted_here(StoreFile& file, TurnId turn) {
    const std::optional<TurnRow> row = file.turn(row_, turn);
    return row && row->kind == TurnKind::Prompt && row->status == TurnStatus::Interrupted &&
           before_host_turns(file, row->parent) == before_host_turns(file, current_);
}

TurnRow Journal::turn(TurnId turn) { return flushed_file().require_turn(row_, turn); }

std::unique_ptr<Playback> Journal::playback(TurnId turn) {
    StoreFile& file = flushed_file();
    return std::make_unique<Playback>(loop_, file, row_, file.require_turn(row_, turn));
}

Journal::Restored Journal::go_to(std::optional<TurnId> turn, uint64_t history_limit,
                                 state::Store& state, asset::Registry& assets) {
    if (running_) end_running(TurnStatus::Completed, {});
    StoreFile& file = flushed_file();
    if (turn) file.require_ended(row_, *turn);
    const std::optional<TurnId> before = std::exchange(current_, turn);
    try {
        Restored restored = restore_from(file, history_limit, state, assets);
        file.begin();
        file.go_to(row_, turn);
        file.commit();
        return restored;
    } catch (...) {
        file.roll_back();
        current_ = before;
        throw;
    }
}

void Journal::listen(Session session) {
    target_ = writer_.add(std::move(*opened_));
    opened_.reset();
    session_.emplace(std::move(session));
    session_->state.keep_digest();
    session_->stream.set_recorder(*this);
    session_->assets.set_listener([this](const asset::Asset& asset) {
        if (!is_listening()) return;
        if (!assets_.empty()) assets_ += ',';
        append_asset(assets_, asset);
    });
    durable_seq_ = session_->stream.last_number();
}

bool Journal::finish_end() {
    if (!then_) return false;
    writer_.wait_for(target_);
    const StoreFailure* const failure = Writer::failure_of(*target_);
    if (failure != nullptr && failure->is_final) {
        fail(*failure);
        report(0, false);
    } else {
        report(ended_turn_, failure == nullptr);
    }
    return true;
}

void Journal::close() {
    if (is_listening()) {
        if (running_) {
            const bool is_whole = *running_ == TurnKind::Host;
            end_running(is_whole ? TurnStatus::Completed : TurnStatus::Cancelled, {});
        }
        finish_end();
        if (const StoreFailure* const failure = wait_for_disk(true)) fail(*failure);
        session_.reset();
    }
    target_.reset();
    opened_.reset();
}

// ---- recording

void Journal::record(uint64_t number, event::Kind kind, uint32_t type, int64_t time_us,
                     const event::Subject& subject, std::string_view body,
                     const event::MergedPatch* merged) {
    // The end of a turn is stored with the turn (end_turn), not as a record.
    if (!is_listening() || kind == event::Kind::TurnEnded) return;
    const Record event{RecordKind::Event,
                       static_cast<uint8_t>(kind),
                       static_cast<uint8_t>(type),
                       subject.attempt,
                       number,
                       time_us,
                       subject.plan_id,
                       subject.tool_id,
                       body};
    if (merged != nullptr) add_patch(event, *merged);
    else records_.add(event);
    flush_if_full();
    if (is_milestone(kind)) flush_soon();
}

void Journal::add_patch(const Record& event, const event::MergedPatch& merged) {
    if (!running_) begin_turn(TurnKind::Host, "", merged.time_us);
    if (running_ == TurnKind::Host) flush_soon();
    ++patches_;
    patch_bytes_ += static_cast<int64_t>(merged.patch.size());
    Record patch = event;
    patch.kind = RecordKind::Patch;
    patch.event_kind = patch.event_type = 0;
    patch.time_us = merged.time_us;
    patch.tool_id = merged.by;
    patch.body = merged.patch;
    records_.add(patch);
    if (!merged.nulls.empty()) {
        records_.add({RecordKind::Nulls, 0, 0, 0, 0, 0, {}, {}, merged.nulls});
    }
    records_.add_around(event, merged.patch);
}

void Journal::note(RecordKind kind, std::string_view text, uint8_t type) {
    if (!is_listening()) return;
    add({kind, 0, type, 0, 0, loop_.wall_us(), {}, {}, text});
    flush_soon();
}

void Journal::note_tool_starting(const event::Subject& subject, std::string_view body) {
    if (!is_listening()) return;
    add({RecordKind::ToolStarting, 0, 0, subject.attempt, 0, loop_.wall_us(), subject.plan_id,
         subject.tool_id, body});
    flush();
    submit({.waits = true});
    writer_.wait_for(target_);
}

void Journal::note_change() {
    if (is_listening() && !running_) begin_turn(TurnKind::Host, "", loop_.wall_us());
}

void Journal::add(const Record& record) {
    records_.add(record);
    flush_if_full();
}

void Journal::flush_if_full() {
    if (records_.size() < kPartSize) return;
    if (!running_) begin_turn(TurnKind::Host, "", loop_.wall_us());
    flush();
}

// Deferred, because most turns end first and then need only one part.
void Journal::flush_soon() {
    if (std::exchange(flushes_soon_, true)) return;
    loop_.defer([this, life = lifetime_.watch()] {
        if (life.ended()) return;
        flushes_soon_ = false;
        flush();
    });
}

void Journal::flush() {
    if (!running_ || records_.size() == 0) return;
    const auto part = std::make_shared<Part>(records_.take(writer_.take_spare()));
    submit({.write = [row = row_, turn = last_, position = position_++,
                      part](StoreFile& file) { file.add_part(row, turn, position, part->bytes()); },
            .bytes = part->capacity,
            .part = part});
}

// ---- turns

void Journal::begin_turn(TurnKind kind, std::string_view prompt, int64_t time_us) {
    if (!is_listening()) return;
    if (running_) end_running(TurnStatus::Completed, {});
    running_ = kind;
    position_ = 0;
    patches_ = 0;
    patch_bytes_ = 0;
    assets_.clear();
    const TurnId turn = ++last_;
    const std::optional<TurnId> parent =
        std::exchange(current_, kind == TurnKind::Host ? std::optional<TurnId>(turn) : current_);
    submit({.write =
                [row = row_, turn, parent, kind, prompt = std::string(prompt),
                 time_ms = milliseconds(time_us),
                 about = std::exchange(new_about_, {})](StoreFile& file) {
                    if (!about.empty()) file.set_about(row, about);
                    file.begin_turn(row, {turn, parent, kind, prompt, time_ms});
                    // A host turn is complete after each patch, so it becomes current immediately.
                    if (kind == TurnKind::Host) file.go_to(row, turn);
                },
            .bytes = prompt.size()});
}

void Journal::end_turn(TurnStatus status, std::function<void(const StoredTurn& stored)> then) {
    if (!is_listening()) return then({});
    then_ = std::move(then);
    ended_turn_ = last_;
    ended_seq_ = session_->stream.last_number();
    end_running(status, [this, seq = ended_seq_](const StoreFailure* failure) {
        if (failure == nullptr) durable_seq_ = std::max(durable_seq_, seq);
        // If end_turn() did not wait, a later turn may be the one that waits now.
        if (seq != ended_seq_) return;
        report_soon(ended_turn_, failure == nullptr);
    });
    if (!options_.waits) report(ended_turn_, false);
}

void Journal::end_running(TurnStatus status,
                          std::function<void(const StoreFailure* failure)> done) {
    flush();
    const TurnKind kind = *running_;
    running_.reset();
    current_ = last_;
    const state::Tree& tree = session_->state.tree();
    const uint64_t max_fold_bytes = std::max(kMinSnapshotBytes, tree.json_bytes());
    const uint64_t digest = tree.digest();
    std::string assets = assets_.empty() ? std::string() : "[" + assets_ + "]";
    std::string rest = session_->rest(kind);
    const size_t bytes = assets.size() + rest.size();
    submit({.write =
                [row = row_, turn = last_, status, time_ms = milliseconds(loop_.wall_us()), digest,
                 patches = patches_, fold_bytes = kTurnFoldBytes + patch_bytes_,
                 assets = std::move(assets), rest = std::move(rest)](StoreFile& file) {
                    file.end_turn(row, turn,
                                  {status, time_ms, digest, patches, fold_bytes, assets, rest});
                    file.go_to(row, turn);
                },
            .then =
                [row = row_, turn = last_, max_fold_bytes, digest](StoreFile& file) {
                    return take_snapshot(file, row, turn, max_fold_bytes, digest);
                },
            .done = std::move(done),
            .waits = true,
            .bytes = bytes});
}

// Also reports failures, the end of failures, and warnings to the session.
void Journal::submit(Writer::Task task) {
    task.target = target_;
    task.done = [this, life = lifetime_.watch(),
                 done = std::move(task.done)](const StoreFailure* failure) {
        if (life.ended() || !is_listening()) return;
        if (failure != nullptr) fail(*failure);
        else if (std::exchange(is_failing_, false)) session_->on_recovery();
        if (done && is_listening()) done(failure);
    };
    task.warn = [this, life = lifetime_.watch()](const std::string& warning) {
        if (!life.ended() && is_listening()) session_->on_warning(warning);
    };
    writer_.submit(std::move(task));
}

void Journal::report(TurnId turn, bool is_durable) {
    if (!then_) return;
    const auto then = std::exchange(then_, {});
    if (is_durable) durable_seq_ = std::max(durable_seq_, ended_seq_);
    then({turn, is_durable, durable_seq_});
}

void Journal::fail(const StoreFailure& failure) {
    if (!is_listening()) return;
    if (!failure.is_final) {
        if (!std::exchange(is_failing_, true)) session_->on_failure(failure);
        return;
    }
    const auto on_failure = std::move(session_->on_failure);
    session_.reset();
    records_.take();
    on_failure(failure);
    report_soon(0, false);
}

// Deferred, to come after a warning of the session, which is deferred too: a display shows the
// warning with the turn.
void Journal::report_soon(TurnId turn, bool is_durable) {
    loop_.defer([this, turn, is_durable, life = lifetime_.watch()] {
        if (!life.ended()) report(turn, is_durable);
    });
}

}  // namespace narratoria::journal
