// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interface from plugins to their session.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/engine_thread.hpp"
#include "base/inbox.hpp"
#include "base/loop.hpp"
#include "narratoria/status.h"
#include "process/pool.hpp"
#include "process/process.hpp"
#include "state/metadata.hpp"
#include "state/replacement.hpp"

namespace narratoria::script {
struct Limits;
}
namespace narratoria::tool {
class Registry;
}

namespace narratoria::http {
class Client;
}  // namespace narratoria::http

namespace narratoria::plugin {

// The story of a session; all fields are empty without one.
struct StoryInfo {
    std::string folder;  // absolute
    std::string title;
    std::string opening;   // a JSON object; empty if the story has none
    std::string language;  // a BCP 47 language tag; empty if the story has none
};

// The defaults for a plugin's processes: those of the session's tools.
struct ProcessDefaults {
    process::Pool& pool;
    const std::string& folder;
    const std::vector<std::string>& environment;
    const process::Limits& limits;
};

// Applies a patch and its nulls for a running tool. On failure `why` holds the reason.
using ApplyPatch = std::function<nar_status(const state::Replacement& patch, std::string& why)>;

// Implemented by the session, which outlives its plugins. Engine thread only, except where a
// function says otherwise.
class SessionAccess {
public:
    virtual ~SessionAccess() = default;

    virtual Loop& loop() = 0;
    virtual const std::shared_ptr<EngineThread>& engine_thread() const = 0;  // thread-safe
    bool on_engine_thread() const { return engine_thread()->is_current(); }
    // The nesting depth of callbacks. Unless it is 0, the engine must not be driven.
    virtual uint32_t& callback_depth() = 0;
    virtual const std::string& session_id() const = 0;  // thread-safe
    // `code`: as in nar_log_line, or empty.
    virtual void log(uint32_t level, std::string_view message, std::string_view code = {}) = 0;
    // Excludes a plugin call that was already reported from the batch's timing.
    virtual void excuse(int64_t milliseconds) = 0;
    // Publishes a warning event. Deferred, because the stream may be publishing another event.
    virtual void warn(std::string_view code, std::string_view message) = 0;

    virtual nar_status read_state(std::string_view pointer, std::string& json) = 0;
    virtual nar_status patch_state(std::string_view patch, std::string_view who) = 0;
    // The operations of spec 002's ToolContext (narratoria/context.h). `apply` is empty for a write
    // of the plugin `who` itself. If the status is not NAR_OK, nothing has changed, and `why` holds
    // the reason.
    virtual nar_status set_state(std::string_view key, std::string_view value,
                                 std::optional<state::Description> metadata,
                                 const ApplyPatch& apply, std::string_view who,
                                 std::string& why) = 0;
    virtual nar_status clear_state(const ApplyPatch& apply, std::string_view who,
                                   std::string& why) = 0;
    // Without `metadata`, removes the key's metadata.
    virtual nar_status register_state_metadata(std::string_view key,
                                               std::optional<state::Description> metadata,
                                               std::string& why) = 0;
    virtual const state::Metadata& state_metadata() const = 0;
    virtual void format_state_for_prompt(std::string& out) = 0;
    // True while sinks receive a record.
    virtual bool is_publishing() const = 0;

    virtual void list_assets(std::string& json) = 0;
    // `by`: the plugin's id.
    virtual nar_status submit_prompt(std::string_view text, std::string_view by,
                                     uint64_t& submission) = 0;
    // Submits a move to a stored turn, a prompt again, or the rest of an interrupted one
    // (narratoria.turns/1).
    // `turn` is a value of store.h, `by` the plugin's id.
    virtual nar_status submit_go_to(uint64_t turn, std::string_view by, uint64_t& submission) = 0;
    virtual nar_status submit_again(uint64_t turn, std::string_view by, uint64_t& submission) = 0;
    virtual nar_status submit_resume(uint64_t turn, bool repeats, std::string_view by,
                                     uint64_t& submission) = 0;
    // Appends the last `count` turns up to this one as a JSON array (narratoria.turns/1).
    virtual nar_status read_turns(uint64_t turn, uint32_t count, std::string_view by,
                                  std::string& json) = 0;
    virtual uint64_t running_submission() const = 0;
    // The outcome of a pending rendering (narratoria/asset_renderer.h). Returns false if `renderer`
    // has none for this asset.
    virtual bool on_rendered(Instance& renderer, uint64_t seq, nar_status status) = 0;
    // `renderer` will report no more outcomes.
    virtual void drop_renderings(Instance& renderer) = 0;
    // Returns false if the submission is unknown or has ended.
    virtual bool cancel(uint64_t submission) = 0;
    virtual void cancel_all() = 0;
    virtual bool has_cancel() const = 0;  // requested, and not carried out yet

    virtual ProcessDefaults process_defaults() = 0;
    virtual http::Client& http() = 0;

    // Thread-safe. Answers a question to the narrator.
    virtual nar_status delta(uint64_t token, std::string_view text) = 0;
    // Later tools do not get this environment variable.
    virtual void withhold_variable(std::string_view name) = 0;
    // `line` is a valid report on one line.
    virtual nar_status usage(uint64_t token, std::string_view line) = 0;
    virtual nar_status answer(uint64_t token, bool is_plan, std::string text) = 0;
    // Invokes a tool for the narrator while its question is open. On NAR_OK `on_outcome` is called
    // once, from the loop, before the plugins are destroyed. Otherwise `why` holds the reason.
    using OnOutcomeJson = std::function<void(uint64_t number, std::string_view outcome)>;
    virtual nar_status invoke(uint64_t token, std::string_view invocation, OnOutcomeJson on_outcome,
                              uint64_t& number, std::string& why) = 0;
    virtual nar_status cancel_invocation(uint64_t token, uint64_t number) = 0;
    // Thread-safe. The engine's inbox, which outlives the session.
    virtual Inbox& inbox() = 0;

    // ---- for built-in narrators

    // Answers a question with a permanent failure: the narrator is not asked again for this prompt.
    virtual void give_up(uint64_t token, std::string message) = 0;
    virtual const tool::Registry& registry() const = 0;
    virtual script::Limits script_limits() const = 0;
};

}  // namespace narratoria::plugin
