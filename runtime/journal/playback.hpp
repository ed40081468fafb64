// SPDX-License-Identifier: Apache-2.0
#pragma once
// A turn that a store keeps, played again: its narrator's answers and what its tools did, in the order
// in which they came. The narrator is not asked and no tool is started.
//
// It is a list with a place: an answer, an event or the end of an attempt is delivered when all before
// it are, as soon as someone waits for it. What runs again instead is left out.

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
#include "base/loop.hpp"
#include "event/event.hpp"
#include "journal/store_file.hpp"
#include "plan/recording.hpp"

namespace narratoria::journal {

// Engine thread only. What it calls may destroy it.
class Playback final : public plan::Recording {
public:
    // Reads the turn. Throws StoreError.
    Playback(Loop& loop, StoreFile& file, int64_t session, TurnRow turn);
    ~Playback() override;
    Playback(const Playback&) = delete;
    Playback& operator=(const Playback&) = delete;

    // Both before it is played; without them everything is as it was.
    //
    // These tools of the last plan run again, and those that depend on them. What the narrator answered
    // after that plan is left out. Throws TurnError if it has no such tool.
    void run_again(const std::set<std::string, std::less<>>& tools);
    struct CutOff {
        std::string id;
        std::string path;
    };
    // Everything that had not ended runs: the turn was cut off. Returns the tools that had begun and
    // will begin again.
    std::vector<CutOff> go_on();

    const TurnRow& turn() const { return turn_; }
    // True: what is not in the recording does not happen.
    bool is_whole() const { return is_whole_; }
    // The record of the last plan's start; empty: there is none.
    std::string_view plan() const;

    struct Actions {
        // The narrator or a script invokes a tool.
        std::function<void(std::string_view invocation)> invoke;
        // The host changed the state (`by` is empty), or a plugin did.
        std::function<void(json::Value patch, json::Value nulls, std::string_view by)> patch;
        // Everything has been delivered. For turns without a plan and a narrator.
        std::function<void()> end;
    };
    // Once, before the other calls.
    void play(Actions actions);

    struct Answer {
        std::string_view text;  // the plan, or why there is none
        bool is_plan = false;
        bool is_final = false;
        bool is_timeout = false;
        bool was_executed = false;  // the plan
        bool was_refused = false;   // likewise
    };
    bool has_answer() const;
    // Calls one of these from the loop: `take` with the narrator's next answer, or `no_answer` when all
    // is played and there is none.
    void ask(std::function<void(const Answer& answer)> take, std::function<void()> no_answer);
    // The turn has ended: nothing more is delivered.
    void stop();
    // The number of its first record; 0: it has none.
    uint64_t first_seq() const { return first_seq_; }

    void begin(const plan::Plan& plan, std::function<void()> wake) override;
    bool has(std::string_view tool_id) const override;
    bool may_start() override;
    std::unique_ptr<tool::Attempt> start(std::string_view tool_id, uint32_t attempt,
                                         tool::AttemptListener& listener) override;
    void on_waiting(uint32_t running) override;

private:
    class RecordedAttempt;
    enum class ItemKind : uint8_t { Question, Answer, Invocation, Patch, Start, Event, End };
    struct Item {
        ItemKind kind;
        uint8_t flags = 0;  // of an answer
        uint32_t plan = 0;  // the index in plans_; of an answer: the number of plans before it
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
    bool is_left_out(const Item& item) const;
    tool::Outcome outcome_of(const RecordedAttempt& attempt, const Item* item);

    Loop& loop_;
    const TurnRow turn_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    std::deque<std::string> parts_;  // the texts are in them
    std::vector<RecordedPlan> plans_;
    std::vector<Item> items_;
    bool is_whole_ = true;
    uint64_t first_seq_ = 0;
    std::set<std::string, std::less<>> asked_for_;  // run_again()

    Actions actions_;
    size_t at_ = 0;                            // the first item that is not delivered
    size_t next_plan_ = 0;                     // of begin()
    std::set<std::string, std::less<>> live_;  // the tools of the current plan that run
    std::vector<RecordedAttempt*> started_;
    int64_t left_out_ = 0;  // attempts that ran here in the recording, of tools that run again
    std::function<void(const Answer& answer)> take_;  // of ask()
    std::function<void()> no_answer_;
    std::function<void()> wake_;  // of begin()
    bool wakes_ = false;          // may_start() has said no
    bool may_overtake_ = false;
    bool delivers_soon_ = false;
    event::Decoder decoder_;
    std::string line_;
};

}  // namespace narratoria::journal
