// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plays a stored turn again: delivers the narrator's answers and the tools' events in the recorded
// order. The narrator is not asked and no tool is started.
//
// The items are in one list. An answer, an event or the end of an attempt is delivered once all
// earlier items have been delivered and a receiver waits for it. Items of tools that run again are
// skipped.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json/tape.hpp"
#include "base/lifetime.hpp"
#include "base/loop.hpp"
#include "event/event.hpp"
#include "journal/store_file.hpp"
#include "plan/recording.hpp"
#include "plan/tool_invocation.hpp"

namespace narratoria::journal {

// Engine thread only. Its callbacks may destroy it.
class Playback final : public plan::Recording {
public:
    // Reads the turn. Throws StoreError.
    Playback(Loop& loop, StoreFile& file, int64_t session, TurnRow turn);
    ~Playback() override;
    Playback(const Playback&) = delete;
    Playback& operator=(const Playback&) = delete;

    // Call at most one of run_again() and resume(), before play(). Without them the whole turn comes
    // from the recording.
    //
    // Runs these tools of the last plan with tools and their dependents again. Later answers of the narrator
    // are skipped. Throws TurnError if the plan has no such tool.
    void run_again(const std::set<std::string, std::less<>>& tools);
    struct InterruptedTool {
        std::string id;
        std::string path;
    };
    // Continues an interrupted turn: whatever had not ended runs. Returns the tools that had
    // started and will start again.
    std::vector<InterruptedTool> resume();

    const TurnRow& turn() const { return turn_; }
    // True if the whole turn comes from the recording: nothing else runs.
    bool is_whole() const { return is_whole_; }
    // The record of the last plan's start; empty if there is none.
    std::string_view plan() const;

    struct Actions {
        // The narrator or a script invokes a tool.
        std::function<void(plan::ToolInvocation invocation)> invoke;
        // The host changed the state (`by` is empty), or a plugin did.
        std::function<void(json::Value patch, json::Value nulls, std::string_view by)> patch;
        // Everything has been delivered. For turns without a plan and a narrator.
        std::function<void()> end;
    };
    // Call it once, before the functions below.
    void play(Actions actions);

    struct Answer {
        std::string_view text;  // the plan, or the reason for a missing plan
        bool is_plan = false;
        bool is_final = false;
        bool is_timeout = false;
        bool was_executed = false;  // the plan was executed
        bool was_refused = false;   // the plan was refused
    };
    bool has_answer() const;
    // What precedes an answer: pieces of the narrative, and reports of the narrator's usage.
    struct Telling {
        std::function<void(std::string_view text)> on_delta;
        std::function<void(std::string_view line)> on_usage;
    };
    // Calls from the loop those of `telling`, and then `take` with the narrator's next answer, or
    // `no_answer` if everything has been delivered and there is no answer.
    void ask(Telling telling, std::function<void(const Answer& answer)> take,
             std::function<void()> no_answer);
    // The turn has ended: nothing more is delivered.
    void stop();
    // The number of the turn's first record; 0 if it has none.
    uint64_t first_seq() const { return first_seq_; }

    void begin(const plan::Plan& plan, std::function<void()> wake) override;
    bool has(std::string_view tool_id) const override;
    bool may_start() override;
    std::unique_ptr<tool::Attempt> start(std::string_view tool_id, uint32_t attempt,
                                         tool::AttemptListener& listener) override;
    void on_waiting(uint32_t running) override;

private:
    class RecordedAttempt;
    enum class ItemKind : uint8_t {
        Question,
        Answer,
        Delta,
        Usage,
        Invocation,
        Patch,
        Start,
        Event,
        End
    };
    struct Item {
        ItemKind kind;
        uint8_t flags = 0;  // only for an answer
        uint32_t plan = 0;  // the index in plans_; for an answer, the number of earlier plans
        uint32_t attempt = 0;
        std::string_view tool_id;
        std::string_view body;
        std::string_view warning;  // the record before the end of an attempt, or empty
        bool is_delivered = false;
    };
    struct RecordedTool {
        uint32_t attempts = 0;
        std::string_view started;  // the record of its start, or empty
        std::string_view ended;    // the record of its end, or empty
    };
    struct RecordedPlan {
        std::string_view started;  // the record
        bool is_open = false;
        bool has_ended = false;
        size_t first_item = 0;
        std::map<std::string_view, RecordedTool> tools;
    };

    void read(StoreFile& file, int64_t session);
    void deliver_soon();
    void deliver();
    Item* next();
    bool deliver_item(Item& item);
    void deliver_event(RecordedAttempt& attempt, const Item& item);
    void deliver_end(RecordedAttempt& attempt, Item* item);
    RecordedAttempt* attempt_of(const Item& item) const;
    Item* find(ItemKind kind, const RecordedAttempt& attempt);
    bool is_skipped(const Item& item) const;
    tool::Outcome outcome_of(const RecordedAttempt& attempt, const Item* item);

    Loop& loop_;
    const TurnRow turn_;
    Lifetime lifetime_;
    std::deque<std::string> parts_;  // the string_views above point into them
    std::vector<RecordedPlan> plans_;
    std::vector<Item> items_;
    bool is_whole_ = true;
    uint64_t first_seq_ = 0;
    std::set<std::string, std::less<>> rerun_tools_;  // the argument of run_again()

    Actions actions_;
    size_t at_ = 0;                            // the first item that is not delivered
    size_t next_plan_ = 0;                     // the number of plans that have begun
    std::set<std::string, std::less<>> live_;  // tools of the current plan that really run
    std::vector<RecordedAttempt*> started_;
    int64_t skipped_attempts_ = 0;  // skipped ones that run at this place of the recording
    Telling telling_;               // from ask()
    std::function<void(const Answer& answer)> take_;
    std::function<void()> no_answer_;
    std::function<void()> wake_;  // from begin()
    bool must_wake_ = false;      // may_start() has returned false
    bool may_reorder_ = false;
    bool delivers_soon_ = false;
    event::Decoder decoder_;
    std::string line_;
};

}  // namespace narratoria::journal
