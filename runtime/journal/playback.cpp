// SPDX-License-Identifier: Apache-2.0
#include "journal/playback.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json/writer.hpp"
#include "event/stream.hpp"
#include "journal/records.hpp"

namespace narratoria::journal {
namespace {

constexpr uint8_t kIsPlan = 1;
constexpr uint8_t kIsFinal = 2;
constexpr uint8_t kIsTimeout = 4;
constexpr uint8_t kWasExecuted = 8;

// A member of a record that the runtime wrote.
std::string text_member(json::Value object, std::string_view key) {
    const json::Value value = object.find(key);
    return std::string(value && value.is_string() ? value.text() : "");
}

int64_t number_member(json::Value object, std::string_view key, int64_t otherwise) {
    const json::Value value = object.find(key);
    return value ? value.integer().value_or(otherwise) : otherwise;
}

// Records from before a turn may be in its first part.
bool begins_turn(event::Kind kind) {
    return kind == event::Kind::Prompt || kind == event::Kind::PlanStarted ||
           kind == event::Kind::StatePatched;
}

// False if it is not an object.
bool parse(json::Document& document, std::string_view body) {
    json::ParseError error;
    return document.parse(body, error, json::kDepthOfOwn) && document.root().is_object();
}

}  // namespace

class Playback::RecordedAttempt final : public tool::Attempt {
public:
    RecordedAttempt(Playback& playback, uint32_t plan_index, std::string_view recorded_id,
                    uint32_t attempt_number, tool::AttemptListener& attempt_listener)
        : playback_(playback),
          plan(plan_index),
          number(attempt_number),
          tool_id(recorded_id),
          listener(attempt_listener) {}
    ~RecordedAttempt() override { std::erase(playback_.started_, this); }

    // Nothing to do: the recorded end is delivered later.
    void terminate() override {}
    std::string diagnostics() const override { return {}; }
    tool::Outcome outcome_of_done() const override {
        return playback_.outcome_of(*this, playback_.find(ItemKind::End, *this));
    }

private:
    Playback& playback_;

public:
    const uint32_t plan;
    const uint32_t number;
    const std::string tool_id;
    tool::AttemptListener& listener;
    bool is_interrupted = false;  // its end is not recorded
    std::string result;           // of its `done`, as JSON
};

Playback::Playback(Loop& loop, StoreFile& file, int64_t session, TurnRow turn)
    : loop_(loop), turn_(std::move(turn)) {
    read(file, session);
}

Playback::~Playback() { lifetime_.end(); }

void Playback::read(StoreFile& file, int64_t session) {
    json::Document document;
    Record before;  // the last one
    file.each_part(session, turn_.id, [&](std::string_view text) {
        const std::string& part = parts_.emplace_back(text);
        const bool is_read = each_record(part, [&](Record record) {
            const bool is_in_part = record.body.data() >= part.data() &&
                                    record.body.data() <= part.data() + part.size();
            if (!is_in_part) record.body = parts_.emplace_back(record.body);
            const Record last = std::exchange(before, record);
            const auto plan = static_cast<uint32_t>(plans_.empty() ? 0 : plans_.size() - 1);
            auto add = [&](ItemKind kind) -> Item& {
                Item& item = items_.emplace_back();
                item.kind = kind;
                item.plan = plan;
                item.attempt = record.attempt;
                item.tool_id = record.tool_id;
                item.body = record.body;
                return item;
            };
            switch (record.kind) {
                case RecordKind::Question: add(ItemKind::Question); return;
                case RecordKind::Answer: {
                    Item& item = add(ItemKind::Answer);
                    item.plan = static_cast<uint32_t>(plans_.size());
                    item.flags = kIsPlan;
                    return;
                }
                case RecordKind::Failure: {
                    Item& item = add(ItemKind::Answer);
                    item.plan = static_cast<uint32_t>(plans_.size());
                    if (record.event_type == kFinalFailure) item.flags = kIsFinal;
                    if (record.event_type == kNarratorTimeout) item.flags = kIsTimeout;
                    return;
                }
                case RecordKind::ToolStarting:
                    if (!plans_.empty()) plans_.back().tools[record.tool_id].started = record.body;
                    return;
                case RecordKind::Event: break;
                default: return;
            }
            if (first_seq_ == 0 && begins_turn(static_cast<event::Kind>(record.event_kind))) {
                first_seq_ = record.seq;
            }
            switch (static_cast<event::Kind>(record.event_kind)) {
                case event::Kind::PlanStarted: {
                    RecordedPlan& started = plans_.emplace_back();
                    started.started = record.body;
                    started.first_item = items_.size();
                    started.is_open = parse(document, record.body) && document.root().find("open");
                    const auto answer = std::find_if(
                        items_.rbegin(), items_.rend(),
                        [](const Item& item) { return item.kind == ItemKind::Answer; });
                    if (!started.is_open && answer != items_.rend()) answer->flags |= kWasExecuted;
                    return;
                }
                case event::Kind::PlanEnded:
                    if (!plans_.empty()) plans_.back().has_ended = true;
                    return;
                case event::Kind::ToolPending:
                    if (!plans_.empty() && plans_.back().is_open) add(ItemKind::Invocation);
                    return;
                case event::Kind::AttemptStarted: add(ItemKind::Start); break;
                case event::Kind::ToolEvent: add(ItemKind::Event); break;
                case event::Kind::AttemptEnded: {
                    Item& item = add(ItemKind::End);
                    const bool is_warning =
                        last.kind == RecordKind::Event &&
                        static_cast<event::Kind>(last.event_kind) == event::Kind::Warning &&
                        last.tool_id == record.tool_id && last.attempt == record.attempt;
                    if (is_warning) item.warning = last.body;
                    break;
                }
                case event::Kind::ToolStarted:
                    if (!plans_.empty()) plans_.back().tools[record.tool_id].started = record.body;
                    return;
                case event::Kind::ToolEnded:
                    if (!plans_.empty()) plans_.back().tools[record.tool_id].ended = record.body;
                    return;
                case event::Kind::StatePatched: add(ItemKind::Patch); return;
                case event::Kind::NarrativeDelta: add(ItemKind::Delta); return;
                case event::Kind::NarratorUsage: add(ItemKind::Usage); return;
                default: return;
            }
            if (plans_.empty()) return;
            RecordedTool& tool = plans_.back().tools[record.tool_id];
            tool.attempts = std::max(tool.attempts, record.attempt);
        });
        if (!is_read) {
            throw StoreError("STORE_DAMAGED", "the store \"" + file.path() + "\": a part of turn " +
                                                  std::to_string(turn_.id) + " cannot be read");
        }
    });
}

std::string_view Playback::plan() const {
    const auto last = std::find_if(plans_.rbegin(), plans_.rend(),
                                   [](const RecordedPlan& plan) { return !plan.is_open; });
    return last == plans_.rend() ? std::string_view() : last->started;
}

void Playback::run_again(const std::set<std::string, std::less<>>& tools) {
    // A plan without tools may continue the one that ran them.
    const auto last = std::find_if(plans_.rbegin(), plans_.rend(), [](const RecordedPlan& plan) {
        return !plan.is_open && !plan.tools.empty();
    });
    for (const std::string& tool : tools) {
        if (last != plans_.rend() && last->tools.contains(tool)) continue;
        std::string names;
        if (last != plans_.rend()) {
            for (const auto& [name, ignored] : last->tools) {
                (names += names.empty() ? "\"" : ", \"") += std::string(name) + "\"";
            }
        }
        throw TurnError("TOOL_MISSING", "the last plan of turn " + std::to_string(turn_.id) +
                                            " has no tool \"" + tool + "\"" +
                                            (names.empty() ? "" : "; it has " + names));
    }
    is_whole_ = false;
    rerun_tools_ = tools;
    // Drop what followed the plan: if it now fails or is to be continued, the narrator is asked.
    const auto index = static_cast<uint32_t>(plans_.rend() - last - 1);
    size_t position = 0;
    bool is_asked = false;
    std::erase_if(items_, [&](const Item& item) {
        if (position++ < last->first_item) return false;
        is_asked = is_asked || item.kind == ItemKind::Question;
        return is_asked || item.plan != index || item.kind < ItemKind::Patch;
    });
    plans_.resize(index + size_t{1});
}

std::vector<Playback::InterruptedTool> Playback::resume() {
    is_whole_ = false;
    // A question without an answer is asked again, and its invocations start over.
    size_t end = items_.size();
    while (end > 0 && items_[end - 1].kind > ItemKind::Answer) --end;
    const bool is_asked = end > 0 && items_[end - 1].kind == ItemKind::Question;
    const size_t item_count = is_asked ? end - 1 : items_.size();
    std::vector<InterruptedTool> interrupted;
    json::Document document;
    for (const RecordedPlan& plan : plans_) {
        for (const auto& [id, tool] : plan.tools) {
            if (tool.started.empty() || (!tool.ended.empty() && plan.first_item <= item_count))
                continue;
            if (!parse(document, tool.started)) continue;
            interrupted.push_back({std::string(id), text_member(document.root(), "toolPath")});
        }
    }
    if (is_asked) {
        size_t position = 0;
        std::erase_if(items_, [&](const Item& item) {
            return position++ >= item_count && item.kind != ItemKind::Patch;
        });
        std::erase_if(plans_,
                      [&](const RecordedPlan& plan) { return plan.first_item > item_count; });
    }
    return interrupted;
}

void Playback::play(Actions actions) {
    actions_ = std::move(actions);
    if (actions_.end) deliver_soon();
}

// ---- the narrator

bool Playback::has_answer() const {
    return std::any_of(
        items_.begin() + static_cast<std::ptrdiff_t>(at_), items_.end(),
        [](const Item& item) { return item.kind == ItemKind::Answer && !item.is_delivered; });
}

void Playback::ask(Telling telling, std::function<void(const Answer& answer)> take,
                   std::function<void()> no_answer) {
    telling_ = std::move(telling);
    take_ = std::move(take);
    no_answer_ = std::move(no_answer);
    // Earlier plans have ended or will not run: skip their undelivered items.
    for (size_t i = at_; i < items_.size(); ++i) {
        Item& item = items_[i];
        if (item.kind == ItemKind::Answer || item.kind == ItemKind::Question) break;
        if (item.kind >= ItemKind::Start) item.is_delivered = true;
    }
    deliver_soon();
}

void Playback::stop() {
    at_ = items_.size();
    take_ = nullptr;
    no_answer_ = nullptr;
}

// ---- the tools

void Playback::begin(const plan::Plan& plan, std::function<void()> wake) {
    live_.clear();
    skipped_attempts_ = 0;
    wake_ = std::move(wake);
    must_wake_ = false;
    const size_t index = next_plan_++;
    if (index + 1 != plans_.size()) return;
    // The requested tools and their dependents.
    std::vector<uint32_t> waiting;
    auto add = [&](uint32_t tool) {
        if (live_.emplace(plan.tools[tool].tool_id).second) waiting.push_back(tool);
    };
    for (uint32_t tool = 0; tool < plan.tools.size(); ++tool) {
        if (rerun_tools_.contains(plan.tools[tool].tool_id)) add(tool);
    }
    while (!waiting.empty()) {
        const uint32_t tool = waiting.back();
        waiting.pop_back();
        for (const uint32_t dependent : plan.dependents.of(tool)) add(dependent);
    }
}

bool Playback::has(std::string_view tool_id) const {
    if (is_whole_) return true;
    if (next_plan_ == 0 || next_plan_ > plans_.size() || live_.contains(tool_id)) return false;
    const RecordedPlan& plan = plans_[next_plan_ - 1];
    const auto tool = plan.tools.find(tool_id);
    return tool != plan.tools.end() && !tool->second.ended.empty() &&
           (tool->second.attempts > 0 || plan.has_ended);
}

// If an item can be delivered now, deliver it first, because it came first in the recording.
bool Playback::may_start() {
    const Item* const item = next();
    if (item == nullptr || may_reorder_) return true;
    const bool is_of_tool = item->kind == ItemKind::Event || item->kind == ItemKind::End;
    if (!is_of_tool || attempt_of(*item) == nullptr) return true;
    must_wake_ = true;
    return false;
}

std::unique_ptr<tool::Attempt> Playback::start(std::string_view tool_id, uint32_t attempt,
                                               tool::AttemptListener& listener) {
    const auto plan = static_cast<uint32_t>(next_plan_ - 1);
    auto started = std::make_unique<RecordedAttempt>(*this, plan, tool_id, attempt, listener);
    started->is_interrupted = find(ItemKind::End, *started) == nullptr;
    if (Item* const item = find(ItemKind::Start, *started)) item->is_delivered = true;
    started_.push_back(started.get());
    may_reorder_ = false;
    deliver_soon();
    return started;
}

void Playback::on_waiting(uint32_t running) {
    if (running == 0 || running != started_.size()) return;
    may_reorder_ = true;
    deliver_soon();
}

// ---- the list

void Playback::deliver_soon() {
    if (std::exchange(delivers_soon_, true)) return;
    loop_.defer([this, life = lifetime_.watch()] {
        if (life.ended()) return;
        delivers_soon_ = false;
        deliver();
    });
}

void Playback::deliver() {
    const Lifetime::Watch life = lifetime_.watch();
    for (;;) {
        if (loop_.time_is_up()) return deliver_soon();
        const auto interrupted =
            std::find_if(started_.begin(), started_.end(),
                         [](const RecordedAttempt* attempt) { return attempt->is_interrupted; });
        if (interrupted != started_.end()) {
            deliver_end(**interrupted, nullptr);
            if (life.ended()) return;
            continue;
        }
        Item* const item = next();
        if (item == nullptr) break;
        bool is_delivered = deliver_item(*item);
        if (life.ended()) return;
        // The schedule differs from the recorded one, so the recorded order cannot be item_count.
        for (size_t i = at_ + 1; !is_delivered && may_reorder_ && i < items_.size(); ++i) {
            if (items_[i].is_delivered || attempt_of(items_[i]) == nullptr) continue;
            is_delivered = deliver_item(items_[i]);
            if (life.ended()) return;
        }
        if (!is_delivered) break;
    }
    if (std::exchange(must_wake_, false)) wake_();
    if (at_ < items_.size() || !started_.empty()) return;
    if (take_) {
        take_ = nullptr;
        if (no_answer_) std::exchange(no_answer_, nullptr)();
    } else if (actions_.end) {
        std::exchange(actions_.end, nullptr)();
    }
}

// The first item that has not been delivered; NULL if there is none.
Playback::Item* Playback::next() {
    for (; at_ < items_.size(); ++at_) {
        Item& item = items_[at_];
        if (item.is_delivered) continue;
        if (!is_skipped(item)) return &item;
        if (item.kind == ItemKind::Start) ++skipped_attempts_;
        if (item.kind == ItemKind::End) --skipped_attempts_;
    }
    return nullptr;
}

// Returns false if nothing waits for the item yet.
bool Playback::deliver_item(Item& item) {
    switch (item.kind) {
        case ItemKind::Question: item.is_delivered = true; return true;
        case ItemKind::Answer: {
            if (!take_) return false;
            item.is_delivered = true;
            next_plan_ = item.plan;
            const auto take = std::exchange(take_, nullptr);
            const bool was_executed = (item.flags & kWasExecuted) != 0;
            const bool is_last =
                std::none_of(&item + 1, items_.data() + items_.size(),
                             [](const Item& later) { return later.kind == ItemKind::Question; });
            const bool was_interrupted = is_last && turn_.status == TurnStatus::Interrupted;
            take({item.body, (item.flags & kIsPlan) != 0, (item.flags & kIsFinal) != 0,
                  (item.flags & kIsTimeout) != 0, was_executed, !was_executed && !was_interrupted});
            return true;
        }
        case ItemKind::Delta: {
            if (!take_) return false;
            item.is_delivered = true;
            json::Document document;
            const auto tell = telling_.on_delta;
            if (parse(document, item.body)) tell(text_member(document.root(), "text"));
            return true;
        }
        case ItemKind::Usage:
            if (!take_) return false;
            item.is_delivered = true;
            telling_.on_usage(item.body);
            return true;
        case ItemKind::Invocation: {
            if (turn_.kind == TurnKind::Prompt && !take_) return false;
            item.is_delivered = true;
            json::Document document;
            if (!parse(document, item.body) || !actions_.invoke) return true;
            const uint32_t attempts = plans_[item.plan].tools[item.tool_id].attempts;
            plan::ToolInvocation invocation;
            invocation.tool_path = text_member(document.root(), "toolPath");
            invocation.max_retries = std::max<uint32_t>(attempts, 1) - 1;
            invocation.line = static_cast<uint32_t>(number_member(document.root(), "line", 0));
            actions_.invoke(std::move(invocation));
            return true;
        }
        case ItemKind::Patch: {
            item.is_delivered = true;
            json::Document document;
            if (!parse(document, item.body)) return true;
            const std::string by = text_member(document.root(), "by");
            // Skip it if it will be made again: by a plugin, or by a function of the host that runs
            // again.
            if (!is_whole_ && (!by.empty() || skipped_attempts_ > 0)) return true;
            actions_.patch(document.root().find("patch"), document.root().find("nulls"), by);
            return true;
        }
        case ItemKind::Start: return false;
        case ItemKind::Event:
        case ItemKind::End: break;
    }
    RecordedAttempt* const attempt = attempt_of(item);
    if (attempt == nullptr) return false;
    item.is_delivered = true;
    if (item.kind == ItemKind::Event) deliver_event(*attempt, item);
    else deliver_end(*attempt, &item);
    return true;
}

// True for items of a tool that runs again.
bool Playback::is_skipped(const Item& item) const {
    if (item.kind < ItemKind::Start || item.plan >= next_plan_) return false;
    return item.plan + size_t{1} < next_plan_ || !has(item.tool_id);
}

Playback::RecordedAttempt* Playback::attempt_of(const Item& item) const {
    if (item.kind != ItemKind::Event && item.kind != ItemKind::End) return nullptr;
    const auto found =
        std::find_if(started_.begin(), started_.end(), [&](const RecordedAttempt* attempt) {
            return attempt->plan == item.plan && attempt->number == item.attempt &&
                   attempt->tool_id == item.tool_id;
        });
    return found == started_.end() ? nullptr : *found;
}

Playback::Item* Playback::find(ItemKind kind, const RecordedAttempt& attempt) {
    const auto found = std::find_if(
        items_.begin() + static_cast<std::ptrdiff_t>(at_), items_.end(), [&](const Item& item) {
            return item.kind == kind && item.plan == attempt.plan &&
                   item.attempt == attempt.number && item.tool_id == attempt.tool_id;
        });
    return found == items_.end() ? nullptr : &*found;
}

// May destroy the attempt and this object.
void Playback::deliver_event(RecordedAttempt& attempt, const Item& item) {
    line_.assign(item.body).append(json::kPadding, '\0');
    event::Event event;
    if (!decoder_.decode(std::string_view(line_).substr(0, item.body.size()), event)) return;
    if (event.type == event::Type::Done) {
        const json::Value result = event.field(event::Field::Result);
        attempt.result = result ? result.raw() : "";
    }
    const Lifetime::Watch life = lifetime_.watch();
    RecordedAttempt* const given = &attempt;
    attempt.listener.on_batch();
    attempt.listener.on_event(event);
    if (life.ended() || std::find(started_.begin(), started_.end(), given) == started_.end())
        return;
    attempt.listener.on_batch_end();
}

void Playback::deliver_end(RecordedAttempt& attempt, Item* item) {
    if (item != nullptr) item->is_delivered = true;
    // Keep the recorded order again until the execution calls on_waiting().
    may_reorder_ = false;
    tool::Outcome outcome = outcome_of(attempt, item);
    std::erase(started_, &attempt);
    attempt.listener.on_ended(std::move(outcome));
}

tool::Outcome Playback::outcome_of(const RecordedAttempt& attempt, const Item* item) {
    tool::Outcome outcome;
    outcome.is_recorded = true;
    outcome.result = attempt.result;
    outcome.code = "NOT_RECORDED";
    outcome.error = "the tool did not run in the recorded turn";
    outcome.may_retry = false;
    json::Document document;
    const RecordedTool* tool = nullptr;
    if (attempt.plan < plans_.size()) {
        const auto found = plans_[attempt.plan].tools.find(attempt.tool_id);
        if (found != plans_[attempt.plan].tools.end()) tool = &found->second;
    }
    if (tool != nullptr && parse(document, tool->ended)) {
        outcome.code = text_member(document.root(), "errorCode");
        outcome.error = text_member(document.root(), "error");
        outcome.diagnostics = text_member(document.root(), "stderr");
        outcome.may_retry = attempt.number < tool->attempts;
    }
    if (item == nullptr || !parse(document, item->body)) return outcome;
    const std::string state = text_member(document.root(), "state");
    outcome.ok = state == "completed";
    outcome.is_timeout = state == "timeout";
    outcome.code = text_member(document.root(), "code");
    outcome.error = text_member(document.root(), "error");
    outcome.signal = static_cast<int>(number_member(document.root(), "signal", 0));
    outcome.exit_status = static_cast<int>(number_member(document.root(), "exitStatus", -1));
    const json::Value traces = document.root().find("traces");
    if (traces && traces.is_array()) {
        for (const json::Value trace : traces.elements()) outcome.traces.emplace_back(trace.raw());
    }
    if (parse(document, item->warning)) {
        outcome.warning_code = text_member(document.root(), "code");
        outcome.warning = text_member(document.root(), "message");
    }
    return outcome;
}

}  // namespace narratoria::journal
