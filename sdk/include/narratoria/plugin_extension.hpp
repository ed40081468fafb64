// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a plugin can be: a class to derive from for each extension, and what its functions get. Not
// for direct use: include narratoria/plugin.hpp.
//
// The functions are called directly on the author's class: there is one indirect call from the host
// to it, whatever is derived from.

#include "narratoria/asset_renderer.h"
#include "narratoria/event_sink.h"
#include "narratoria/plugin_answer.hpp"
#include "narratoria/plugin_event.hpp"
#include "narratoria/plugin_host.hpp"
#include "narratoria/tool.h"
#include "narratoria/tool_runner.h"
#include "narratoria/ui_handler.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace narratoria::plugin {

// What a ui handler or an asset renderer says to what it was asked.
enum class Answer {
    kTaken,     // done, or on its way; nobody else is asked
    kDeclined,  // not this one; the next is asked
};

// ---- narratoria.event_sink/1

// Receives the session's whole event stream.
class EventSink {
public:
    // Redefine it to get these kinds only: kKinds = narratoria::kinds(narratoria::Kind::kToolEvent).
    static constexpr std::uint32_t kKinds = kAllKinds;

    // One record. It is called for every event of every tool: what takes long belongs behind it. An
    // exception is logged.
    virtual void event(const Event& event) = 0;

protected:
    ~EventSink() = default;
};

// ---- narratoria.ui_handler/1

// A view that lives until handle returns.
class UiEvent {
public:
    explicit UiEvent(const nar_ui_event& event) noexcept : event_(&event) {}

    std::string_view name() const noexcept { return detail::to_view(event_->name); }
    // JSON, verbatim; {} when the tool sent none.
    std::string_view payload() const noexcept { return detail::to_view(event_->payload); }
    std::string_view plan_id() const noexcept { return detail::to_view(event_->plan_id); }
    std::string_view tool_id() const noexcept { return detail::to_view(event_->tool_id); }
    // Of the tool, 1, 2 …
    std::uint32_t attempt() const noexcept { return event_->attempt; }
    // Of its record in the event stream.
    std::uint64_t seq() const noexcept { return event_->seq; }
    const nar_ui_event& raw() const noexcept { return *event_; }

private:
    const nar_ui_event* event_;
};

// Carries out what tools ask of the user interface.
class UiHandler {
public:
    // Redefine it with the names of the events that it knows; without it, it is asked for each:
    //   static constexpr std::string_view kUiEvents[] = {"rain", "snow"};
    static constexpr std::nullptr_t kUiEvents = nullptr;
    // Higher is asked first.
    static constexpr std::int32_t kUiPriority = 0;

    // An exception is logged, and the next handler is asked.
    virtual Answer handle(const UiEvent& event) = 0;

protected:
    ~UiHandler() = default;
};

// ---- narratoria.asset_renderer/1

// A view that lives until render returns. The file is the tool's: it may be gone or changed by now.
class Asset {
public:
    explicit Asset(const nar_asset& asset) noexcept : asset_(&asset) {}

    std::string_view asset_id() const noexcept { return detail::to_view(asset_->asset_id); }
    // "image", "audio" …, the tool's word.
    std::string_view kind() const noexcept { return detail::to_view(asset_->kind); }
    // "image/png", as the tool wrote it.
    std::string_view media_type() const noexcept { return detail::to_view(asset_->media_type); }
    // Absolute.
    std::string_view path() const noexcept { return detail::to_view(asset_->path); }
    // JSON, verbatim; {} when the tool sent none.
    std::string_view metadata() const noexcept { return detail::to_view(asset_->metadata); }
    std::string_view plan_id() const noexcept { return detail::to_view(asset_->plan_id); }
    std::string_view tool_id() const noexcept { return detail::to_view(asset_->tool_id); }
    // Of the tool that made it.
    std::uint32_t attempt() const noexcept { return asset_->attempt; }
    // Of the event that brought it.
    std::uint64_t seq() const noexcept { return asset_->seq; }
    const nar_asset& raw() const noexcept { return *asset_; }

private:
    const nar_asset* asset_;
};

// Shows assets. The class says which, "image/png", where a star stands for a whole type or subtype:
//   static constexpr std::string_view kMediaTypes[] = {"image/*", "text/plain"};
class AssetRenderer {
public:
    // Higher is asked first.
    static constexpr std::int32_t kAssetPriority = 0;

    // An exception is logged, and the next renderer is asked.
    virtual Answer render(const Asset& asset) = 0;

protected:
    ~AssetRenderer() = default;
};

// ---- narratoria.narrator/1

// Turns prompts into Plan JSON.
class Narrator {
public:
    // A request (abi/schemas/narrator-request-1.schema.json), alive until it returns. Answer by
    // `reply`, now or later, from any thread. An exception is the answer "no plan", with its what().
    virtual void generate(std::string_view request, Reply reply) = 0;

    // The answer is no longer wanted. Its Reply knows already (Reply::is_wanted); this is for whoever
    // has something to stop. An exception is logged.
    virtual void cancel_answer(std::uint64_t /*token*/) {}

protected:
    ~Narrator() = default;
};

// ---- narratoria.tool_runner/1 and narratoria.tool/1

// What is to be run: a view that lives until the function it was given to returns.
class InvocationRequest {
public:
    explicit InvocationRequest(const nar_invocation& invocation) noexcept
        : invocation_(&invocation) {}

    // What a process finds on its stdin, a JSON object on one line (spec 000 §6).
    std::string_view request() const noexcept { return detail::to_view(invocation_->request); }
    // As the plan says it, for example "launcher:tools/door".
    std::string_view tool_path() const noexcept { return detail::to_view(invocation_->tool_path); }
    // What stands behind the scheme and its colon.
    std::string_view path_behind_scheme() const noexcept {
        const std::string_view path = tool_path();
        return path.substr(path.find(':') + 1);
    }
    std::string_view plan_id() const noexcept { return detail::to_view(invocation_->plan_id); }
    std::string_view tool_id() const noexcept { return detail::to_view(invocation_->tool_id); }
    // 1, 2 …
    std::uint32_t attempt() const noexcept { return invocation_->attempt; }
    // Where the plan's relative paths begin; absolute.
    std::string_view plan_folder() const noexcept {
        return detail::to_view(invocation_->plan_folder);
    }
    // The tools' working folder; absolute.
    std::string_view root() const noexcept { return detail::to_view(invocation_->root); }
    // NAME=value, what a process would get.
    std::vector<std::string_view> environment() const {
        std::vector<std::string_view> all;
        for (std::uint64_t at = 0; at < invocation_->environment_count; ++at) {
            all.push_back(detail::to_view(invocation_->environment[at]));
        }
        return all;
    }
    // The time of a try; 0: none.
    std::chrono::milliseconds time_limit() const noexcept {
        return std::chrono::milliseconds(invocation_->try_ms);
    }
    const nar_invocation& raw() const noexcept { return *invocation_; }

private:
    const nar_invocation* invocation_;
};

// Runs tools in its own way. The class says which: those whose toolPath begins with one of these and
// a colon (letters, digits, + - . _):
//   static constexpr std::string_view kSchemes[] = {"launcher"};
class ToolRunner {
public:
    // Begins an attempt and returns soon. An exception: it could not be started, for the reason that
    // its what() says, and the Invocation is dead.
    virtual void start(const InvocationRequest& request, Invocation invocation) = 0;

    // Asks for the end; ended() must still be called, and may be from here. The Invocation knows
    // already (is_cancelled). A runner that never looks there redefines this. An exception is logged.
    virtual void cancel_invocation(std::uint64_t /*token*/) {}

protected:
    ~ToolRunner() = default;
};

// A tool that Tools brings.
struct ToolDescription {
    std::string_view name;         // letters, digits, _ and -
    std::string_view description;  // what it does, for narrators
    // JSON Schema of its input, draft 4, as RapidJSON knows it; other keywords are ignored; "$ref" is
    // refused, and the plugin with it. Empty: any object.
    std::string_view input_schema = {};
};

// Brings tools as functions of this process. The class says which:
//   static constexpr narratoria::plugin::ToolDescription kTools[] = {{"dice", "Rolls a die"}};
class Tools {
public:
    // Does the work of the tool of that name, or begins it; the engine waits while it runs. An
    // exception fails the invocation with PLUGIN_EXCEPTION and its what().
    virtual void invoke(std::string_view tool, const InvocationRequest& request,
                        Invocation invocation) = 0;

    // As in ToolRunner; a class that is both defines it once for both.
    virtual void cancel_invocation(std::uint64_t /*token*/) {}

protected:
    ~Tools() = default;
};

}  // namespace narratoria::plugin
