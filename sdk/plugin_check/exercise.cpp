// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/exercise.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>

#include "display.hpp"
#include "io/file.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/limits.h"
#include "narratoria/validate.hpp"

namespace narratoria::command::plugin_check {
namespace {

constexpr double kGrace = 2;
// Seconds to wait for a second reply, or for a reply after cancel.
constexpr double kSettling = 0.08;
constexpr double kSettlingBriefly = 0.02;
constexpr double kAfterCancel = 0.25;
constexpr double kBriefly = 0.25;
constexpr std::size_t kMaxOfAList = 16;
// Turns to run for prompts that the plugin submits by itself.
constexpr unsigned kMaxTurns = 20;
// Bytes appended to a struct to simulate a later version.
constexpr std::size_t kLaterFields = 64;

constexpr std::string_view kRequest =
    R"({"schema":"narrator-request/1","sessionId":"session-1",)"
    R"("prompt":{"text":"I light the torch","timestamp":"2026-01-24T18:30:00Z","sessionId":"session-1"},)"
    R"("generationAttempt":1,"parentPlanId":null,"disabledSkills":[],"previousResult":null,)"
    R"("planFaults":[],"state":{"inventory":{"torch":{"lit":false}}},)"
    R"("tools":[{"name":"torch-lighter","description":"Lights torches","inputSchema":{"type":"object"}}]})";

// A one-pixel image.
constexpr unsigned char kPicture[] = {
    0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00, 0x00, 0x00, 0x0D, 0x49, 0x48,
    0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x06, 0x00, 0x00,
    0x00, 0x1F, 0x15, 0xC4, 0x89, 0x00, 0x00, 0x00, 0x0D, 0x49, 0x44, 0x41, 0x54, 0x78,
    0x9C, 0x63, 0xF8, 0xCF, 0xC0, 0xF0, 0x1F, 0x00, 0x05, 0x00, 0x01, 0xFF, 0x89, 0x99,
    0x3D, 0x1D, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82};

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

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9E37'79B9'7F4A'7C15u + 1) {}
    std::uint64_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }

private:
    std::uint64_t state_;
};

std::vector<std::string> texts_of(const nar_str* list, std::uint64_t count) {
    std::vector<std::string> texts;
    for (std::uint64_t index = 0; list != nullptr && index < count && index < kMaxOfAList;
         ++index) {
        texts.emplace_back(to_view(list[index]));
    }
    return texts;
}

// An input that a JSON Schema accepts. Understands only the common keywords.
std::string example_of(const json::Value& schema, unsigned depth = 0) {
    if (!schema.IsObject() || depth > 16) return depth == 0 ? "{}" : "null";
    for (const char* word : {"const", "default"}) {
        if (const json::Value* value = json::member(schema, word)) return json::line(*value);
    }
    for (const char* word : {"examples", "enum"}) {
        const json::Value* values = json::member(schema, word);
        if (values != nullptr && values->IsArray() && !values->Empty()) {
            return json::line((*values)[0]);
        }
    }
    const json::Value* types = json::member(schema, "type");
    if (types != nullptr && types->IsArray() && !types->Empty()) types = &(*types)[0];
    const std::string_view type =
        types != nullptr && types->IsString() ? std::string_view(types->GetString()) : "object";
    if (type == "string") {
        const std::uint64_t least = std::min<std::uint64_t>(json::count(schema, "minLength"), 4096);
        return json::quoted(std::string(std::max<std::uint64_t>(least, 1), 'x'));
    }
    if (type == "integer" || type == "number") {
        return fmt::format("{}", json::number(schema, "minimum").value_or(1));
    }
    if (type == "boolean") return "true";
    if (type == "null") return "null";
    if (type == "array") {
        std::string out = "[";
        const std::uint64_t least = std::min<std::uint64_t>(json::count(schema, "minItems"), 64);
        const json::Value* items = json::member(schema, "items");
        for (std::uint64_t index = 0; index < least; ++index) {
            out += (index > 0 ? "," : "") +
                   (items != nullptr ? example_of(*items, depth + 1) : std::string("1"));
        }
        return out + "]";
    }
    std::string out = "{";
    const json::Value* required = json::member(schema, "required");
    const json::Value* properties = json::member(schema, "properties");
    if (required == nullptr || !required->IsArray()) return "{}";
    for (const json::Value& name : required->GetArray()) {
        if (!name.IsString()) continue;
        const std::string_view key(name.GetString(), name.GetStringLength());
        const json::Value* property =
            properties != nullptr ? json::member(*properties, key) : nullptr;
        out += fmt::format("{}{}:{}", out.size() > 1 ? "," : "", json::quoted(key),
                           property != nullptr ? example_of(*property, depth + 1) : "1");
    }
    return out + "}";
}

// A media type that matches the pattern.
std::string concrete(std::string type) {
    if (type == "*" || type == "*/*") return "application/octet-stream";
    if (const std::size_t star = type.find("/*"); star != std::string::npos) {
        const std::string whole = type.substr(0, star);
        const char* part = whole == "image"   ? "png"
                           : whole == "audio" ? "wav"
                           : whole == "text"  ? "plain"
                           : whole == "video" ? "mp4"
                                              : "octet-stream";
        return fmt::format("{}/{}", whole, part);
    }
    if (type.starts_with("*/")) return "application" + type.substr(1);
    return type;
}

class Session {
public:
    Session(PluginCheckHost& host, const nar_plugin& plugin, void* instance,
            const ExerciseOptions& options)
        : host_(host), plugin_(plugin), instance_(instance), options_(options) {}

    void play() {
        // Run the posts of init.
        host_.run_loop(0.001, [] { return false; });
        sink();
        ui_handler();
        turns_of_prompts();
        asset_renderer();
        narrator();
        tool_runner();
        tool();
        run_loop(is_judged() && answers_later_ ? kSettling : kSettlingBriefly);
    }

private:
    template <typename Extension>
    const Extension* wanted(std::string_view id) {
        if (!options_.only.empty() && options_.only != id) return nullptr;
        const Extension* found = nullptr;
        host_.call(fmt::format("get_extension for {}", id), "get_extension",
                   [&] { found = extension_of<Extension>(plugin_, id); });
        return found;
    }

    bool is_judged() const { return options_.kind == Exercise::Ordinary; }
    bool is_future() const { return options_.kind == Exercise::Future; }
    bool is_odd() const { return options_.kind == Exercise::Odd; }
    // Seconds to wait for a reply. A host without extensions cannot receive one, but the plugin's
    // threads need time to try.
    double patience() const {
        if (is_judged()) return options_.limit;
        return host_.options().lacks_extensions ? kSettlingBriefly : kBriefly;
    }

    nar_str lend_text(Loan& loan, std::string_view text, const char* what) {
        // A host may pass an empty text as NULL.
        if (text.empty()) return {nullptr, 0};
        return {static_cast<const char*>(loan.bytes(text.data(), text.size(), what)), text.size()};
    }

    template <typename Struct>
    const Struct* lend(Loan& loan, Struct content, const char* what) {
        content.size = static_cast<std::uint32_t>(sizeof content);
        if (!is_future()) return loan.object(content, what);
        content.size += kLaterFields;
        return static_cast<const Struct*>(loan.bytes(&content, sizeof content, what, kLaterFields));
    }

    // The texts to pass as a JSON argument: `ordinary`, or odd ones.
    std::vector<std::string> variants(std::string_view ordinary) {
        if (!is_odd()) return {std::string(ordinary)};
        std::vector<std::string> odd;
        for (unsigned number = 0; number < kOddTexts; ++number) {
            odd.push_back(odd_text(options_.seed, number));
        }
        // The ordinary text, truncated and with one byte changed.
        Random random(options_.seed);
        for (unsigned number = 0; number < 8 && !ordinary.empty(); ++number) {
            odd.emplace_back(ordinary.substr(0, random.next() % ordinary.size()));
            std::string changed(ordinary);
            changed[random.next() % changed.size()] = static_cast<char>(random.next());
            odd.push_back(std::move(changed));
        }
        return odd;
    }

    bool has_thrown() { return host_.report().has_finding("P24"); }

    // Brief repeats the first text, so that the plugin uses a view that it kept from the first
    // call.
    std::vector<std::string> repeated(std::vector<std::string> texts) const {
        if (options_.kind == Exercise::Brief) texts.push_back(texts.front());
        return texts;
    }

    void require_status(nar_status status, const char* function) {
        if (status <= 0 && status >= NAR_STATUS_LAST_ && status != NAR_PENDING) return;
        host_.report().add_finding(
            "P34", fmt::format("{} returned {}, which is not a nar_status that it may return",
                               function, status));
    }

    // ------------------------------------------------------------ event_sink

    void tell(const nar_event_sink_extension& sink, std::uint32_t kind, std::uint32_t type,
              std::string_view body) {
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
        host_.call(fmt::format("event_sink event (kind {}, type {})", kind, type),
                   "event_sink event", [&] { sink.event(instance_, lent); });
    }

    void sink() {
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
            tell(*sink, kind, kind == 1 ? 1 : 0,
                 R"({"later":"none of the fields that were there"})");
        }
    }

    // ------------------------------------------------------------ ui_handler

    void handle(const nar_ui_handler_extension& handler, std::string_view name,
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

    void ui_handler() {
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

    // ------------------------------------------------------------ prompts

    // Runs the turns of prompts that the plugin submitted. A plugin that submits a prompt in each
    // of these turns keeps the session busy forever (P43).
    void turns_of_prompts() {
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
            host_.run_loop(0.001, [] { return false; });
        }
        if (turns < kMaxTurns) return;
        host_.report().add_finding(
            "P43", fmt::format("it submits a prompt in each turn of its own prompts, {} "
                               "times: the session is never idle",
                               kMaxTurns));
    }

    // ------------------------------------------------------------ asset_renderer

    void render(const nar_asset_renderer_extension& renderer, std::string_view type,
                std::string_view path, std::string_view metadata) {
        Loan loan(host_.options().memory);
        nar_asset asset{};
        asset.attempt = 1;
        asset.seq = ++sequence_;
        asset.plan_id = lend_text(loan, "plan-1", "an asset's plan_id");
        asset.tool_id = lend_text(loan, "map-maker", "an asset's tool_id");
        asset.asset_id = lend_text(loan, fmt::format("map-{}", sequence_), "an asset's asset_id");
        asset.kind = lend_text(loan, type.substr(0, type.find('/')), "an asset's kind");
        asset.media_type = lend_text(loan, type, "an asset's media_type");
        asset.path = lend_text(loan, path, "an asset's path");
        asset.metadata = lend_text(loan, metadata, "an asset's metadata");
        const nar_asset* lent = lend(loan, asset, "the nar_asset");
        nar_status status = NAR_OK;
        host_.call(fmt::format("asset_renderer render ({})", type), "asset_renderer render",
                   [&] { status = renderer.render(instance_, lent); });
        if (status == NAR_PENDING) host_.expect_rendering(asset.seq);
        else require_status(status, "asset_renderer render");
    }

    std::string sample_file(std::string_view type) {
        const std::string path = fmt::format("{}/asset-{}", options_.folder, ++files_);
        const Descriptor file(open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600));
        if (is_odd()) {
            write_all(file.get(), odd_text(options_.seed, static_cast<unsigned>(files_)));
        } else if (type.starts_with("image/")) {
            write_all(file.get(), {reinterpret_cast<const char*>(kPicture), sizeof kPicture});
        } else {
            write_all(file.get(), "Light fills the cave.\n");
        }
        return path;
    }

    void asset_renderer() {
        const auto* renderer = wanted<nar_asset_renderer_extension>(NAR_EXTENSION_ASSET_RENDERER);
        if (renderer == nullptr) return;
        std::vector<std::string> types =
            texts_of(renderer->media_types, renderer->media_type_count);
        if (is_future() || is_odd()) types.emplace_back("application/x.of-a-later-version");
        for (const std::string& pattern : types) {
            const std::string type = concrete(pattern);
            const std::string path = sample_file(type);
            for (const std::string& metadata : variants(R"({"title":"The cave"})")) {
                render(*renderer, type, path, metadata);
            }
            render(*renderer, type, path, "{}");
            render(*renderer, type, options_.folder + "/no-such-file", "{}");
            render(*renderer, type + "; charset=utf-8", path, "{}");
        }
        if (is_odd()) render(*renderer, std::string(1000, '/'), std::string("\xFF\0\n", 3), "{}");
        const auto has_reported = [this] { return host_.pending_renderings() == 0; };
        if (!is_judged() || host_.run_loop(patience(), has_reported)) return;
        host_.report().add_finding(
            "P48", fmt::format("{} renderings for which render returned NAR_PENDING had no outcome "
                               "after {} s (--time allows more time)",
                               host_.pending_renderings(), patience()));
    }

    // ------------------------------------------------------------ narrator

    std::uint64_t generate(const nar_narrator_extension& narrator, std::string_view request) {
        const std::uint64_t token = host_.new_request();
        Loan loan(host_.options().memory);
        nar_narrator_request given{};
        given.timeout_ms = 5'000;
        given.token = token;
        given.json = lend_text(loan, request, "the narrator's request");
        const nar_narrator_request* const lent = lend(loan, given, "the nar_narrator_request");
        host_.call("narrator generate", "narrator generate",
                   [&] { narrator.generate(instance_, lent); });
        return token;
    }

    void cancel(const nar_narrator_extension& narrator, std::uint64_t token) {
        if (host_.request(token).answers > 0) return;
        host_.will_cancel_request(token, narrator.cancel != nullptr);
        if (narrator.cancel == nullptr) return;
        host_.call("narrator cancel", "narrator cancel",
                   [&] { narrator.cancel(instance_, token); });
    }

    void judge_plan(const NarratorRequest& request) {
        if (!request.has_plan) return;
        const Text faults = validate(Document::Plan, request.plan);
        const json::Document list = json::read(faults.view());
        if (!list.IsArray() || list.Empty()) return;
        host_.report().add_warning(
            "P38", fmt::format("the plan has a fault: {}: {}", json::text(list[0], "pointer"),
                               json::text(list[0], "message")));
    }

    void narrator() {
        const auto* narrator = wanted<nar_narrator_extension>(NAR_EXTENSION_NARRATOR);
        if (narrator == nullptr) return;
        answers_later_ = true;
        std::string later(kRequest);
        later.insert(later.size() - 1, R"(,"fieldOfALaterVersion":{"deep":[1]})");
        const std::vector<std::string> requests =
            is_judged() ? std::vector<std::string>(3, std::string(kRequest))
                        : repeated(variants(is_future() ? later : std::string(kRequest)));
        double left = patience();
        for (const std::string& request : requests) {
            const std::uint64_t token = generate(*narrator, request);
            const Clock::time_point began = Clock::now();
            const bool answered = host_.run_loop(is_judged() ? patience() : left,
                                                 [&] { return host_.request(token).answers > 0; });
            left = std::max(0.0, left - seconds_since(began));
            if (is_judged() && !answered && !has_thrown()) {
                host_.report().add_finding("P35",
                                           fmt::format("a request had no reply after {} s; call "
                                                       "reply or fail (--time allows more time)",
                                                       patience()));
            }
            if (is_judged() && answered) judge_plan(host_.request(token));
            cancel(*narrator, token);
            if (is_judged() && !answered) break;
        }
        if (is_judged()) {
            // Cancelled at once. A reply from within generate is valid.
            cancel(*narrator, generate(*narrator, kRequest));
            run_loop(kAfterCancel);
        }
    }

    // ------------------------------------------------------------ tool_runner and tool

    const nar_invocation* invocation(Loan& loan, std::string_view path, std::string_view request) {
        nar_invocation one{};
        one.attempt = 1;
        one.plan_id = lend_text(loan, "plan-1", "an invocation's plan_id");
        one.tool_id = lend_text(loan, "tool-1", "an invocation's tool_id");
        one.tool_path = lend_text(loan, path, "an invocation's tool_path");
        one.plan_folder = lend_text(loan, options_.folder, "an invocation's plan_folder");
        one.root = lend_text(loan, options_.folder, "an invocation's root");
        one.request = lend_text(loan, request, "an invocation's request");
        const nar_str environment[] = {
            lend_text(loan, "PATH=/usr/bin:/bin", "an invocation's variable"),
            lend_text(loan, "LANG=C.UTF-8", "an invocation's variable")};
        one.environment = static_cast<const nar_str*>(
            loan.bytes(environment, sizeof environment, "an invocation's environment"));
        one.environment_count = std::size(environment);
        one.try_ms = 30'000;
        one.resources = lend_text(loan, R"({"cpus":2})", "an invocation's resources");
        nar_limits limits{};
        limits.size = sizeof limits;
#define NARRATORIA_LIMIT(name, type, least, text) limits.name = std::numeric_limits<type>::max();
        NAR_TOOL_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
        one.limits = static_cast<const nar_limits*>(
            loan.bytes(&limits, sizeof limits, "an invocation's limits"));
        return lend(loan, one, "the nar_invocation");
    }

    void judge_output(const ObservedInvocation& seen, const std::string& who) {
        if (seen.is_handed_over || seen.is_refused || seen.is_cut) return;
        TrialReport& report = host_.report();
        const bool was_completed =
            seen.exit_status == 0 && seen.error_code.empty() && !seen.is_cancelled;
        if (seen.output.empty() && !was_completed) return;
        const Text faults = validate(Document::Events, seen.output);
        const json::Document list = json::read(faults.view());
        if (list.IsArray() && !list.Empty()) {
            report.add_finding(
                "P40", fmt::format("{}: line {} of its output: {}", who,
                                   json::count(list[0], "line"), json::text(list[0], "message")));
            return;
        }
        if (!was_completed) return;
        std::string_view rest = seen.output;
        std::string_view last;
        unsigned done = 0;
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            const std::string_view line = rest.substr(0, end);
            rest.remove_prefix(std::min(end + 1, rest.size()));
            if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
            last = line;
            done += json::text(json::read(line), "type") == "done";
        }
        if (done != 1 || json::text(json::read(last), "type") != "done") {
            report.add_finding("P40",
                               fmt::format("{}: its output has {} done events{}; a tool ends "
                                           "with exactly one, as the last",
                                           who, done, done == 1 ? ", not the last" : ""));
        }
    }

    // Runs one attempt; begin() returns false if the plugin refused it. `is_synchronous`: it must
    // have ended when begin() returns. Returns false if the attempt did not end, so that later
    // attempts would not end either.
    bool attempt(const std::string& who, bool cancels, bool is_synchronous, std::uint64_t token,
                 const std::function<bool()>& begin, const std::function<void()>& cancel) {
        if (!begin()) {
            host_.forget_refused(token);
            return true;
        }
        const auto has_ended = [&] {
            const ObservedInvocation seen = host_.invocation(token);
            return seen.ends > 0 || seen.is_handed_over;
        };
        // P34 has found what was wrong; waiting for another end would say nothing more.
        const auto has_ended_or_tried = [&] {
            return has_ended() || host_.invocation(token).has_refused_end;
        };
        TrialReport& report = host_.report();
        // A plugin that throws is disabled and has no more duties.
        if (has_thrown()) return false;
        if (is_judged() && is_synchronous &&
            (!has_ended() || host_.invocation(token).is_handed_over)) {
            report.add_finding(
                "P39", fmt::format("{} has the flag NAR_TOOL_SYNCHRONOUS, but had not ended when "
                                   "invoke returned",
                                   who));
        } else if (is_judged() && !cancel && !has_ended()) {
            report.add_finding("P39",
                               fmt::format("{} had not ended when invoke returned; cancel may "
                                           "be NULL only if invoke always ends it",
                                           who));
        }
        if (!cancels && !host_.run_loop(patience(), has_ended_or_tried)) {
            report.add_finding(
                "P39", fmt::format("{} did not call ended within {} s{}", who, patience(),
                                   host_.invocation(token).output.find(R"("type":"done")") !=
                                           std::string::npos
                                       ? "; its output has done, which is not the end: call ended "
                                         "after it, or each attempt takes 4 s longer"
                                       : ""));
            cancels = true;
        }
        if (is_judged() && host_.invocation(token).has_refused_end) return has_ended();
        if (host_.options().lacks_extensions) run_loop(kSettlingBriefly);
        if (cancels && !has_ended() && cancel) {
            host_.will_cancel_invocation(token);
            cancel();
            const Clock::time_point began = Clock::now();
            const bool ended =
                host_.run_loop(is_judged() ? kGrace : std::min(brief_left_, patience()), has_ended);
            if (!is_judged()) brief_left_ = std::max(0.0, brief_left_ - seconds_since(began));
            if (is_judged() && !ended) {
                report.add_finding(
                    "P39",
                    fmt::format("{} did not call ended within {} s after cancel", who, kGrace));
            }
        }
        if (is_judged() && has_ended()) judge_output(host_.invocation(token), who);
        return has_ended();
    }

    static std::string request_of(std::string_view tool, std::string_view input) {
        return fmt::format(R"({{"requestId":"request-1","tool":{},"operation":"run","input":{},)"
                           R"("dependencies":{{}},"results":{{}}}})",
                           json::quoted(tool), input);
    }

    void tool_runner() {
        const auto* runner = wanted<nar_tool_runner_extension>(NAR_EXTENSION_TOOL_RUNNER);
        if (runner == nullptr) return;
        answers_later_ = true;
        for (const std::string& scheme : texts_of(runner->schemes, runner->scheme_count)) {
            const std::string who = fmt::format("tool_runner ({}:)", scheme);
            std::vector<std::string> requests =
                repeated(variants(request_of("door", R"({"door":"red"})")));
            if (is_judged()) requests.assign(4, requests.front());
            for (std::size_t index = 0; index < requests.size(); ++index) {
                const std::string path =
                    is_odd() && index % 4 == 0 ? scheme + ":" : scheme + ":tools/door";
                const std::uint64_t token = host_.new_invocation();
                const bool ended = attempt(
                    who, !is_judged() || index == 3, false, token,
                    [&] { return start(*runner, token, path, requests[index], who); },
                    [&] {
                        host_.call("tool_runner cancel", "tool_runner cancel",
                                   [&] { runner->cancel(instance_, token); });
                    });
                if (!ended && is_judged()) break;
            }
        }
    }

    bool start(const nar_tool_runner_extension& runner, std::uint64_t token, std::string_view path,
               std::string_view request, const std::string& who) {
        Loan loan(host_.options().memory);
        nar_failure* const failure = loan.failure();
        const nar_invocation* lent = invocation(loan, path, request);
        nar_status status = NAR_OK;
        host_.call(who + " start", "tool_runner start",
                   [&] { status = runner.start(instance_, token, lent, failure); });
        require_status(status, "tool_runner start");
        if (status == NAR_OK) return true;
        PluginCheckHost::reason_in(host_.report(), *failure, "tool_runner start");
        return false;
    }

    void tool() {
        const auto* extension = wanted<nar_tool_extension>(NAR_EXTENSION_TOOL);
        if (extension == nullptr) return;
        answers_later_ = true;
        const std::uint64_t count = std::min<std::uint64_t>(extension->tool_count, kMaxOfAList);
        for (std::uint64_t at = 0; at < count; ++at) {
            const nar_tool& tool = *extension->tools[at];
            const std::string name(to_view(tool.name));
            const std::string who = fmt::format("tool ({})", name);
            const std::string input = example_of(json::read(to_view(tool.input_schema)));
            std::vector<std::string> requests = repeated(variants(request_of(name, input)));
            if (is_judged()) requests.assign(4, requests.front());
            for (std::size_t index = 0; index < requests.size(); ++index) {
                const std::uint64_t token = host_.new_invocation();
                const std::function<void()> cancel = [&] {
                    host_.call("tool cancel", "tool cancel",
                               [&] { extension->cancel(instance_, token); });
                };
                const bool ended = attempt(
                    who, !is_judged() || index == 3, (tool.flags & NAR_TOOL_SYNCHRONOUS) != 0,
                    token,
                    [&] {
                        Loan loan(host_.options().memory);
                        const nar_invocation* lent = invocation(loan, name, requests[index]);
                        host_.call(who + " invoke", "tool invoke",
                                   [&] { extension->invoke(instance_, token, &tool, lent); });
                        return true;
                    },
                    extension->cancel != nullptr ? cancel : std::function<void()>());
                if (!ended && is_judged()) break;
            }
        }
    }

    void run_loop(double seconds) {
        host_.run_loop(seconds, [] { return false; });
    }

    PluginCheckHost& host_;
    const nar_plugin& plugin_;
    void* instance_;
    const ExerciseOptions& options_;
    std::uint64_t sequence_ = 0;
    std::uint64_t files_ = 0;
    bool answers_later_ = false;
    double brief_left_ = kBriefly;  // seconds left for all ends that are not judged
};

}  // namespace

std::string odd_text(std::uint64_t seed, unsigned number) {
    switch (number) {
        case 0: return "";
        case 1: return "null";
        case 2: return "[]";
        case 3: return "42";
        case 4: return "\"text\"";
        case 5: return "{";
        case 6: return std::string(512, '[') + std::string(512, ']');
        case 7: return R"({"choices":5,"kind":{"a":[]},"text":null,"message":[1]})";
        case 8: return R"({"choices":[null,5,{},""],"path":7,"prompt":"no object"})";
        case 9: return R"({"a":1,"a":2,"a":{"a":3}})";
        case 10: return R"({"number":1e400,"more":-1e-400,"large":123456789012345678901234567890})";
        case 11: return R"({"text":"\ud800 alone","zero":"a\u0000b"})";
        case 12: return fmt::format("{{\"text\":\"{}\"}}", std::string(1 << 20, 'x'));
        case 13: return std::string(4096, '\0');
        case 14: return "%s%n%s%n%d";
        case 15: return std::string("{\"a\":\"\xC3\"}\xFF", 10);
        default: break;
    }
    Random random(seed * 1000 + number);
    std::string bytes(random.next() % 2000, '\0');
    for (char& one : bytes) one = static_cast<char>(random.next());
    return bytes;
}

Library load_library(TrialReport& report, const std::string& path) {
    Library library;
    report.begin_call({"P5", "P5", "P5"}, "loading");
    // Volatile: the declaration of dlopen promises that it does not throw, but a constructor of the
    // library may.
    void* (*volatile const open_library)(const char*, int) = dlopen;
    std::string thrown;
    try {
        library.handle = open_library(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    } catch (const std::exception& error) {
        thrown = error.what();
    }
    report.end_call();
    if (!thrown.empty()) {
        report.add_finding("P5", fmt::format("a constructor of the library, such as the "
                                             "initializer of a static object, threw an exception, "
                                             "which ends every host: {}",
                                             thrown));
        return library;
    }
    if (library.handle == nullptr) {
        const char* why = dlerror();
        report.add_finding("P1",
                           fmt::format("it cannot be loaded: {}", why != nullptr ? why : "?"));
        return library;
    }
    library.entry = reinterpret_cast<nar_plugin_entry_fn>(dlsym(library.handle, NAR_PLUGIN_ENTRY));
    if (library.entry == nullptr) {
        report.add_finding("P2", "it does not export " NAR_PLUGIN_ENTRY);
    }
    return library;
}

bool call_caught(TrialReport& report, std::string_view doing, const std::function<void()>& ask) {
    try {
        ask();
        return true;
    } catch (const abi::__forced_unwind&) {
        report.add_finding("P25", fmt::format("{} ended the thread (pthread_exit)", doing));
        throw;
    } catch (...) {
        report.add_finding("P24", fmt::format("{} threw an exception", doing));
        return false;
    }
}

const void* query_extension(TrialReport& report, const nar_plugin& plugin, nar_str id,
                            const Blame& blame, std::string_view doing) {
    const void* found = nullptr;
    report.begin_call(blame, doing);
    call_caught(report, doing, [&] { found = plugin.get_extension(id); });
    report.end_call();
    return found;
}

const nar_plugin* enter(TrialReport& report, const Library& library) {
    if (library.entry == nullptr) return nullptr;
    nar_host_description description{};
    description.size = sizeof description;
    description.abi_version = NAR_ABI_VERSION;
    description.name = NAR_STR("narratoria plugin check");
    description.version = to_c(nar_library_version());
    nar_failure failure{};
    failure.size = sizeof failure;
    const nar_plugin* plugin = nullptr;
    report.begin_call({}, "entry");
    nar_status status = NAR_FAILED;
    call_caught(report, "the entry",
                [&] { status = library.entry(&description, &plugin, &failure); });
    report.end_call();
    return status == NAR_OK ? plugin : nullptr;
}

bool PluginInstance::start() { return host_.init(plugin_, &instance_, &refusal_) == NAR_OK; }

void PluginInstance::exercise(const ExerciseOptions& options) {
    Session(host_, plugin_, instance_, options).play();
}

void PluginInstance::end() { host_.deinit(plugin_, instance_); }

}  // namespace narratoria::command::plugin_check
