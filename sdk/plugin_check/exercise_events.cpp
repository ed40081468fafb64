// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "plugin_check/exercise_session.hpp"

namespace narratoria::command::plugin_check {
namespace {

// Turns to run for prompts that the plugin submits by itself.
constexpr unsigned kMaxTurns = 20;

struct Sample {
    std::uint32_t kind;
    std::uint32_t type;
    std::string_view body;
};
constexpr Sample kSamples[] = {
    {NAR_KIND_PROMPT, 0, R"({"text":"I light the torch","timestamp":"2026-01-24T18:30:00Z"})"},
    {NAR_KIND_PLAN_STARTED, 0,
     R"({"plan":{"requestId":"plan-1","tools":[]},"generationAttempt":1,"parentPlanId":null})"},
    {NAR_KIND_TOOL_PENDING, 0, R"({"toolPath":"tools/torch-lighter","dependencies":[]})"},
    {NAR_KIND_TOOL_STARTED, 0, R"({"toolPath":"tools/torch-lighter"})"},
    {NAR_KIND_ATTEMPT_STARTED, 0, R"({"attempt":1})"},
    {NAR_KIND_TOOL_EVENT, NAR_TYPE_LOG,
     R"({"version":"0","type":"log","level":"info","message":"Lighting… \ud83d\udd25","fields":{"progress":0.5}})"},
    {NAR_KIND_TOOL_EVENT, NAR_TYPE_STATE_PATCH,
     R"({"version":"0","type":"state_patch","patch":{"inventory":{"torch":{"lit":true}}}})"},
    {NAR_KIND_TOOL_EVENT, NAR_TYPE_ASSET,
     R"({"version":"0","type":"asset","assetId":"map","kind":"image","mediaType":"image/png","path":"/no/such/map.png"})"},
    {NAR_KIND_TOOL_EVENT, NAR_TYPE_UI_EVENT,
     R"({"version":"0","type":"ui_event","event":"narrative_choice","payload":{"choices":["Open","Leave"]}})"},
    {NAR_KIND_TOOL_EVENT, NAR_TYPE_ERROR,
     R"({"version":"0","type":"error","errorCode":"WET","errorMessage":"The torch is wet"})"},
    {NAR_KIND_TOOL_EVENT, NAR_TYPE_DONE,
     R"({"version":"0","type":"done","ok":true,"summary":"Lit."})"},
    {NAR_KIND_ATTEMPT_ENDED, 0, R"({"attempt":1,"state":"completed"})"},
    {NAR_KIND_TOOL_ENDED, 0,
     R"({"state":"completed","ok":true,"executionTime":12,"retryCount":0})"},
    {NAR_KIND_ASSET_REFUSED, 0,
     R"({"assetId":"map","code":"ASSET_UNREADABLE","message":"there is no such file"})"},
    {NAR_KIND_STATE_CONFLICT, 0, R"({"path":"/inventory/torch","tools":["a","b"]})"},
    {NAR_KIND_WARNING, 0, R"({"code":"TIMESTAMP","message":"a timestamp is not ISO-8601"})"},
    {NAR_KIND_UI_PLACEHOLDER, 0, R"({"event":"weather","payload":{"kind":"rain"}})"},
    {NAR_KIND_ASSET_PLACEHOLDER, 0,
     R"({"assetId":"map","kind":"image","mediaType":"image/png","path":"/no/such/map.png","metadata":{}})"},
    {NAR_KIND_PLAN_ENDED, 0,
     R"({"success":true,"executionTime":20,"failedTools":[],"canReplan":false})"},
    {NAR_KIND_NARRATIVE, 0, R"({"text":"Light fills the cave.","source":"plan"})"},
    {NAR_KIND_STATE_PATCHED, 0, R"({"patch":{"torch":{"lit":true}},"by":""})"},
    {NAR_KIND_SESSION_MOVED, 0, R"({"turn":1,"narrative":"It is dark.","choices":["Look"]})"},
    {NAR_KIND_STORY_RELOADED, 0, R"({"title":"The Well","faults":[]})"},
    {NAR_KIND_NARRATIVE_DELTA, 0, R"({"text":"The well "})"},
    {NAR_KIND_NARRATIVE_RETRACTED, 0, "{}"},
    {NAR_KIND_NARRATOR_USAGE, 0, R"({"inputTokens":900,"outputTokens":120})"},
    {NAR_KIND_TURN_ENDED, 0, R"({"outcome":"completed","generations":1,"choices":["Leave"]})"},
};

}  // namespace

void ExerciseSession::tell(const nar_event_sink_extension& sink, std::uint32_t kind,
                           std::uint32_t type, std::string_view body) {
    if (sink.kinds != 0 && (kind >= 64 || (sink.kinds & NAR_KIND_BIT(kind)) == 0)) return;
    Loan loan(host_.options().memory);
    nar_event event{};
    event.kind = kind;
    event.type = type;
    event.attempt = 1;
    event.seq = ++sequence_;
    event.time_us = 1'769'279'400'000'000;
    event.session_id = lend_text(loan, "session-1", "an event's session_id");
    event.plan_id = lend_text(loan, "plan-1", "an event's plan_id");
    event.tool_id = lend_text(loan, "torch-lighter", "an event's tool_id");
    event.body = lend_text(loan, body, "an event's body");
    const nar_event* lent = lend(loan, event, "the nar_event");
    host_.call(fmt::format("event_sink event (kind {}, type {})", kind, type), "event_sink event",
               [&] { sink.event(instance_, lent); });
}

void ExerciseSession::sink() {
    const auto* sink = wanted<nar_event_sink_extension>(NAR_EXTENSION_EVENT_SINK);
    if (sink == nullptr) return;
    for (const Sample& sample : kSamples) {
        for (const std::string& body : variants(sample.body)) {
            tell(*sink, sample.kind, sample.type, body);
        }
    }
    if (!is_future()) return;
    for (const std::uint32_t kind : {0u, 16u, 17u, 31u, 32u, 1000u, 0xFFFF'FFFFu}) {
        tell(*sink, kind, 0, R"({"later":[1,2,{"deep":null}]})");
    }
    for (const std::uint32_t type : {0u, 7u, 1000u, 0xFFFF'FFFFu}) {
        tell(*sink, NAR_KIND_TOOL_EVENT, type, R"({"version":"0","type":"later","more":true})");
    }
    for (const std::uint32_t kind : {1u, 3u, 14u}) {
        tell(*sink, kind, kind == 1 ? 1 : 0, R"({"later":"none of the fields that were there"})");
    }
}

void ExerciseSession::handle(const nar_ui_handler_extension& handler, std::string_view name,
                             std::string_view payload) {
    Loan loan(host_.options().memory);
    nar_ui_event event{};
    event.attempt = 1;
    event.seq = ++sequence_;
    event.plan_id = lend_text(loan, "plan-1", "a ui event's plan_id");
    event.tool_id = lend_text(loan, "torch-lighter", "a ui event's tool_id");
    event.name = lend_text(loan, name, "a ui event's name");
    event.payload = lend_text(loan, payload, "a ui event's payload");
    const nar_ui_event* lent = lend(loan, event, "the nar_ui_event");
    nar_status status = NAR_OK;
    host_.call(fmt::format("ui_handler handle ({})", name), "ui_handler handle",
               [&] { status = handler.handle(instance_, lent); });
    require_status(status, "ui_handler handle");
}

void ExerciseSession::ui_handler() {
    const auto* handler = wanted<nar_ui_handler_extension>(NAR_EXTENSION_UI_HANDLER);
    if (handler == nullptr) return;
    std::vector<std::string> names = texts_of(handler->events, handler->event_count);
    if (names.empty()) names = {"narrative_choice", "weather"};
    if (is_future() || is_odd()) names.emplace_back("an_event_of_a_later_version");
    for (const std::string& name : names) {
        const std::string_view payload = name == "narrative_choice"
                                             ? R"({"choices":["Open","Leave"]})"
                                             : R"({"kind":"rain","for":5})";
        for (const std::string& text : variants(payload)) handle(*handler, name, text);
        handle(*handler, name, "{}");
        handle(*handler, name, payload);
    }
    if (is_odd()) handle(*handler, std::string(1000, '\xFF'), "{}");
}

void ExerciseSession::turns_of_prompts() {
    if (!is_judged()) return;
    unsigned turns = 0;
    while (turns < kMaxTurns && host_.consume_prompt()) {
        ++turns;
        const auto* sink = wanted<nar_event_sink_extension>(NAR_EXTENSION_EVENT_SINK);
        if (sink != nullptr) {
            for (const Sample& sample : kSamples) {
                tell(*sink, sample.kind, sample.type, sample.body);
            }
        }
        const auto* handler = wanted<nar_ui_handler_extension>(NAR_EXTENSION_UI_HANDLER);
        if (handler != nullptr) {
            handle(*handler, "narrative_choice", R"({"choices":["Open","Leave"]})");
        }
        run_loop(0.001);
    }
    if (turns < kMaxTurns) return;
    host_.report().add_finding(
        "P43", fmt::format("it submits a prompt in each turn of its own prompts, {} "
                           "times: the session is never idle",
                           kMaxTurns));
}

}  // namespace narratoria::command::plugin_check
