// SPDX-License-Identifier: Apache-2.0
#pragma once
// The extensions of a plugin: a base class for each, and the arguments of its functions. Not for
// direct use: include narratoria/plugin.hpp.
//
// The host calls the author's class directly: one indirect call, independent of the number of base
// classes.

#include "narratoria/asset_renderer.h"
#include "narratoria/event_sink.h"
#include "narratoria/exceptions.hpp"
#include "narratoria/plugin_event.hpp"
#include "narratoria/plugin_host.hpp"
#include "narratoria/plugin_reply.hpp"
#include "narratoria/tool.h"
#include "narratoria/tool_runner.h"
#include "narratoria/ui_handler.h"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace narratoria::plugin {

// What every class of a plugin has.
class WithSettings {
public:
    // Redefine it, public, with a JSON Schema of the settings; see NARRATORIA_PLUGIN. Empty: settings
    // are not described.
    static constexpr std::string_view kSettings = {};
};

// ---- narratoria.event_sink/1

// Receives the session's whole event stream.
class EventSink : public WithSettings {
public:
    // Redefine it to select kinds: kKinds = narratoria::kinds(narratoria::Kind::ToolEvent).
    static constexpr std::uint64_t kKinds = kAllKinds;

    // Receives one record. It runs for every event of every tool, so move slow work to a thread. An
    // exception is logged.
    virtual void event(const Event& event) = 0;

protected:
    ~EventSink() = default;
};

// ---- narratoria.ui_handler/1

// A view, valid until handle returns.
class UiEvent {
public:
    explicit UiEvent(const nar_ui_event& event) noexcept : event_(&event) {}

    std::string_view name() const noexcept { return detail::to_view(event_->name); }
    // JSON, verbatim; {} if the tool sent none.
    std::string_view payload() const noexcept { return detail::to_view(event_->payload); }
    std::string_view plan_id() const noexcept { return detail::to_view(event_->plan_id); }
    std::string_view tool_id() const noexcept { return detail::to_view(event_->tool_id); }
    // The attempt of the tool, from 1.
    std::uint32_t attempt() const noexcept { return event_->attempt; }
    // The number of the event's record in the event stream.
    std::uint64_t seq() const noexcept { return event_->seq; }
    const nar_ui_event& raw() const noexcept { return *event_; }

private:
    const nar_ui_event* event_;
};

// Carries out the ui_events of tools.
class UiHandler : public WithSettings {
public:
    // Redefine it with the names of the events to handle; by default all events:
    //   static constexpr std::string_view kUiEvents[] = {"rain", "snow"};
    static constexpr std::nullptr_t kUiEvents = nullptr;
    // Higher is called first.
    static constexpr std::int32_t kUiPriority = 0;

    // Handles one event. An exception is logged, and the next handler is called.
    virtual HandlerResult handle(const UiEvent& event) = 0;

protected:
    ~UiHandler() = default;
};

// ---- narratoria.asset_renderer/1

// A view, valid until render returns. The tool owns the file: it may have been changed or deleted.
class Asset {
public:
    explicit Asset(const nar_asset& asset) noexcept : asset_(&asset) {}

    std::string_view asset_id() const noexcept { return detail::to_view(asset_->asset_id); }
    // As the tool sent it: "image", "audio" ….
    std::string_view kind() const noexcept { return detail::to_view(asset_->kind); }
    // As the tool sent it: "image/png".
    std::string_view media_type() const noexcept { return detail::to_view(asset_->media_type); }
    // Absolute.
    std::string_view path() const noexcept { return detail::to_view(asset_->path); }
    // JSON, verbatim; {} if the tool sent none.
    std::string_view metadata() const noexcept { return detail::to_view(asset_->metadata); }
    std::string_view plan_id() const noexcept { return detail::to_view(asset_->plan_id); }
    std::string_view tool_id() const noexcept { return detail::to_view(asset_->tool_id); }
    // The attempt of the tool, from 1.
    std::uint32_t attempt() const noexcept { return asset_->attempt; }
    // The number of the asset event's record in the event stream.
    std::uint64_t seq() const noexcept { return asset_->seq; }
    const nar_asset& raw() const noexcept { return *asset_; }

private:
    const nar_asset* asset_;
};

// Displays assets. The class declares media types; a type or subtype may be a star:
//   static constexpr std::string_view kMediaTypes[] = {"image/*", "text/plain"};
class AssetRenderer : public WithSettings {
public:
    // Higher is called first.
    static constexpr std::int32_t kAssetPriority = 0;

    // Renders one asset. An exception is logged, and the next renderer is called.
    virtual HandlerResult render(const Asset& asset) = 0;

protected:
    ~AssetRenderer() = default;
};

// ---- narratoria.narrator/1

// Turns prompts into Plan JSON.
class Narrator : public WithSettings {
public:
    // Redefine it with true for what a language model needs in its requests: `turns`,
    // `turnMetadata`, `stateForPrompt` and details of the tools.
    static constexpr bool kDetailed = false;

    // Receives a request (abi/schemas/narrator-request-1.schema.json), valid until it returns.
    // Reply through `reply`, now or later, from any thread. An exception becomes the reply "no
    // plan" with the message of what().
    virtual void generate(std::string_view request, Reply reply) = 0;

    // Called when the reply is no longer needed. Reply::is_wanted returns false already; redefine
    // this function to stop work. An exception is logged.
    virtual void cancel_reply(std::uint64_t /*token*/) {}

protected:
    ~Narrator() = default;
};

// ---- narratoria.tool_runner/1 and narratoria.tool/1

// The attempt to run: a view, valid until the function that received it returns.
class InvocationRequest {
public:
    explicit InvocationRequest(const nar_invocation& invocation) noexcept
        : invocation_(&invocation) {}

    // The stdin of a process: a JSON object on one line (spec 000 §6).
    std::string_view request() const noexcept { return detail::to_view(invocation_->request); }
    // As in the plan, for example "launcher:tools/door".
    std::string_view tool_path() const noexcept { return detail::to_view(invocation_->tool_path); }
    // The part after the scheme and its colon.
    std::string_view path_after_scheme() const noexcept {
        const std::string_view path = tool_path();
        return path.substr(path.find(':') + 1);
    }
    std::string_view plan_id() const noexcept { return detail::to_view(invocation_->plan_id); }
    std::string_view tool_id() const noexcept { return detail::to_view(invocation_->tool_id); }
    // From 1.
    std::uint32_t attempt() const noexcept { return invocation_->attempt; }
    // Base of the plan's relative paths; absolute.
    std::string_view plan_folder() const noexcept {
        return detail::to_view(invocation_->plan_folder);
    }
    // Working directory of tools; absolute.
    std::string_view root() const noexcept { return detail::to_view(invocation_->root); }
    // "NAME=value" strings: the environment a process would get.
    std::vector<std::string_view> environment() const {
        std::vector<std::string_view> all;
        for (std::uint64_t at = 0; at < invocation_->environment_count; ++at) {
            all.push_back(detail::to_view(invocation_->environment[at]));
        }
        return all;
    }
    // Timeout of the attempt; nothing: none.
    std::optional<std::chrono::milliseconds> time_limit() const noexcept {
        return narratoria::detail::to_duration(invocation_->try_ms);
    }
    // "resources" of the tool's manifest, for a runner of other machines: a JSON object that matches
    // tool-1.schema.json. Empty: none.
    std::string_view resources() const noexcept { return detail::to_view(invocation_->resources); }
    // The limits of a tool's process; the largest value of a field: no limit. NULL: unknown.
    const nar_limits* limits() const noexcept { return invocation_->limits; }
    const nar_invocation& raw() const noexcept { return *invocation_; }

private:
    const nar_invocation* invocation_;
};

// Thrown by ToolRunner::start if no later attempt could start either, for example because the file
// of the toolPath does not exist. The tool is not retried.
class CannotStart : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Runs tools in its own way. The class declares its schemes (letters, digits, + - . _). It receives
// the tools whose toolPath begins with one of them and a colon:
//   static constexpr std::string_view kSchemes[] = {"launcher"};
class ToolRunner : public WithSettings {
public:
    // Redefine it with true if its tools use no processor core of this machine.
    static constexpr bool kWaits = false;

    // Starts an attempt and returns soon. An exception means that it could not be started, for the
    // reason in what(). The Invocation is then invalid. The plan's retries follow, except after
    // CannotStart.
    virtual void start(const InvocationRequest& request, Invocation invocation) = 0;

    // Requests the end. ended() must still be called, and may be called from here. is_cancelled()
    // of the Invocation returns true already; redefine this function if the runner does not check
    // it. An exception is logged.
    virtual void cancel_invocation(std::uint64_t /*token*/) {}

protected:
    ~ToolRunner() = default;
};

// One tool of Tools.
struct ToolDescription {
    std::string_view name;         // letters, digits, _ and -
    std::string_view description;  // what it does, for narrators
    // JSON Schema of its input, draft 4 to 2020-12 (docs/tool-schemas.md). If it is not a valid
    // schema, the plugin is refused. Empty: any object.
    std::string_view input_schema = {};
    // JSON Schema of its result. A result that violates it fails the attempt. Empty: any value.
    std::string_view result_schema = {};
    std::uint32_t try_ms = 0;  // timeout of an attempt; 0: the session's; NAR_NONE: none
    bool waits = false;        // it mostly waits and takes no job slot (NAR_TOOL_WAITS)
    // Its end is reported before invoke() returns, so that a script's CALL takes no job slot
    // (NAR_TOOL_SYNCHRONOUS has the rules).
    bool synchronous = false;
    bool repeatable = true;  // false: to run it twice may do harm (NAR_TOOL_NOT_REPEATABLE)
};

// Provides tools that are functions in the host's process. The class declares them:
//   static constexpr narratoria::plugin::ToolDescription kTools[] = {{"dice", "Rolls a die"}};
class Tools : public WithSettings {
public:
    // Runs the tool of this name, or starts it. Blocks the engine thread until it returns. An
    // exception fails the attempt with PLUGIN_EXCEPTION and the message of what().
    virtual void invoke(std::string_view tool, const InvocationRequest& request,
                        Invocation invocation) = 0;

    // Like ToolRunner::cancel_invocation. A class that derives from both defines it once.
    virtual void cancel_invocation(std::uint64_t /*token*/) {}

protected:
    ~Tools() = default;
};

}  // namespace narratoria::plugin
