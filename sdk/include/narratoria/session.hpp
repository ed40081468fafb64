// SPDX-License-Identifier: Apache-2.0
#pragma once
// One player's game: its state, assets, event stream and turns. narratoria/session.h has the
// details of each call. Include narratoria/engine.hpp, which states the rules of ownership, threads
// and exceptions.

#include "narratoria/core.hpp"
#include "narratoria/event.hpp"
#include "narratoria/exceptions.hpp"
#include "narratoria/narrator.hpp"
#include "narratoria/plugins.h"
#include "narratoria/result.hpp"
#include "narratoria/script.h"
#include "narratoria/session.h"
#include "narratoria/state_metadata.hpp"
#include "narratoria/store.h"
#include "narratoria/text.hpp"

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace narratoria {

class Engine;
class SessionTools;

// nar_times with `size` set: milliseconds; 0 selects the default, NAR_NONE means no limit.
struct Times : nar_times {
    Times() noexcept : nar_times{} { size = sizeof(nar_times); }
};

enum class Outcome : std::uint32_t {
    Completed = NAR_TURN_COMPLETED,
    Fallback = NAR_TURN_FALLBACK,
    Cancelled = NAR_TURN_CANCELLED,
    Timeout = NAR_TURN_TIMEOUT,
};

// How a prompt ended: a view, valid until the handler that received it returns. result() may be
// kept.
class Turn {
public:
    explicit Turn(const nar_turn& turn) noexcept : turn_(&turn) {}

    Outcome outcome() const noexcept { return static_cast<Outcome>(turn_->outcome); }
    // The number of requested plans, up to 5; 0 if cancelled before it began.
    std::uint32_t generations() const noexcept { return turn_->generations; }
    // Text for the player.
    std::string_view narrative() const noexcept { return detail::to_view(turn_->narrative); }
    // JSON array of strings: the choices offered to the player, or [].
    std::string_view choices() const noexcept { return detail::to_view(turn_->choices); }
    // The result of the last plan that ran; empty if no plan ran.
    Result result() const noexcept { return Result(turn_->result); }
    // The turn's number in the session's store, from 1; 0 without a store.
    std::uint64_t id() const noexcept { return turn_->id; }
    // True if this turn is on the disk.
    bool is_durable() const noexcept { return turn_->durable != 0; }
    // The `seq` up to which all records of the stream are on the disk.
    std::uint64_t durable_seq() const noexcept { return turn_->durable_seq; }
    // What the narrator's replies took (nar_turn.usage), a JSON object; empty: it reported nothing.
    std::string_view usage() const noexcept { return detail::to_view(turn_->usage); }

private:
    const nar_turn* turn_;
};

// The constructor of Session copies everything. Empty selects the default, which each comment names
// after the semicolon.
struct SessionOptions {
    std::string_view id = {};               // a new UUID
    std::string_view story = {};            // the story's folder; no story
    std::string_view state = {};            // initial state, a JSON object; the story's, or {}
    std::optional<Narrator> narrator = {};  // `narrator_id` selects one
    std::optional<Times> times = {};
    std::span<const std::string_view> plugins = {};  // ids or paths to load besides the story's
    std::string_view narrator_id = {};               // a plugin's id, or "template"; the story's
    bool without_plugins = false;                    // load no plugins, not even the story's
    // JSON object {"plugin id": {settings}}, merged over the story's; none.
    std::string_view plugin_settings = {};
    // The folder of a Namel3ss project, whose tools are called by name; the story's folder, if it has
    // a .namel3ss/.
    std::string_view project = {};
    // The file that stores the session under its id, so that it can continue later
    // (narratoria/session.h, "Sessions in a store"); the engine's.
    std::string_view store = {};
    std::uint32_t durability = NAR_DURABILITY_TURN;  // a NAR_DURABILITY_…
    bool must_be_new = false;  // the store must not have the session yet (SESSION_EXISTS)
    bool replays = false;      // only replays turns of the store, without plugins; see replay()
    std::uint64_t seed = 0;  // of the random numbers of narrator and tools; 0: the session chooses
    bool watches_story = false;  // changes of the story's files take effect between two turns
};

namespace detail {

// Carries a sink through C's `void* user`. A sink may detach itself while it runs, so it is deleted
// after the last of its calls has returned.
template <class Sink>
class BoundSink {
public:
    template <class Given>
    BoundSink(Core& core, Given&& sink) : core_(core), sink_(std::forward<Given>(sink)) {}

    static void event(void* user, const nar_event* event) noexcept {
        auto* self = static_cast<BoundSink*>(user);
        ++self->running_;
        guard(self->core_, [&]() noexcept(std::is_nothrow_invocable_v<Sink&, Event>) {
            self->sink_(Event(*event));
        });
        if (--self->running_ == 0 && self->detached_) delete self;
    }

    static void detached(void* user) noexcept {
        auto* self = static_cast<BoundSink*>(user);
        self->detached_ = true;
        if (self->running_ == 0) delete self;
    }

private:
    Core& core_;
    Sink sink_;
    std::uint32_t running_ = 0;
    bool detached_ = false;
};

}  // namespace detail

// How a script ended. The views are valid during the call.
struct ScriptEnd {
    bool ok;
    std::string_view scope;  // JSON object: the variables of the outermost scope
    std::string_view error;  // {"name","message","line","column","text"}, or empty if ok
    Result result;           // of its CALLs; empty if it called no tool
};

// Movable, not copyable. The destructor ends the session; its running tools are killed without a
// grace period. If the engine is destroyed first, calls throw NAR_GONE.
// All calls belong on the engine thread and are allowed inside callbacks. cancel is thread-safe.
// Destroyed on another thread, the session ends in the engine's next driving call; until then it
// keeps its descriptors, and its game in the store stays locked.
class Session {
public:
    // Reads the story. Throws NAR_INVALID_DOCUMENT if the story or the state has faults.
    Session(Engine& engine, const SessionOptions& options = {});

    Session(Session&& other) noexcept
        : core_(std::move(other.core_)), session_(std::exchange(other.session_, nullptr)) {}
    Session& operator=(Session&& other) noexcept {
        std::swap(core_, other.core_);
        std::swap(session_, other.session_);
        return *this;
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() {
        if (!core_ || session_ == nullptr) return;
        // On another thread, the engine must not be destroyed between the two calls.
        const std::lock_guard lock(core_->ending);
        if (core_->engine == nullptr) return;
        if (nar_session_destroy(session_, nullptr) != NAR_WRONG_THREAD) return;
        nar_engine_post(
            core_->engine,
            [](void* user) noexcept {
                nar_session_destroy(static_cast<nar_session*>(user), nullptr);
            },
            nullptr, session_, nullptr);
    }

    // Submits the player's prompt. `ended(Turn)` is called exactly once. Throws NAR_BUSY if two
    // prompts of the host have not ended yet. This function and the others that submit
    // return the id of the submission (narratoria/session.h).
    template <class Ended>
    std::uint64_t prompt(std::string_view text, Ended&& ended) {
        nar_session* session = handle();
        return submit(std::forward<Ended>(ended), [&](const nar_turn_handler& handler,
                                                      std::uint64_t* id, nar_error* error) {
            return nar_session_prompt(session, detail::to_c(text), &handler, id, error);
        });
    }
    std::uint64_t prompt(std::string_view text) {
        detail::Check check;
        std::uint64_t id = 0;
        check(nar_session_prompt(handle(), detail::to_c(text), nullptr, &id, check.details()));
        return id;
    }

    // The turns of its store as JSON (narratoria/store.h). Waits until the store is up to date.
    // Throws NAR_UNSUPPORTED.
    Text turns() const { return read(nar_session_read_turns); }

    // What the player reads now, as JSON:
    // {"turn": 3, "narrative": "…", "choices": ["…"][, "ending": "…"]}
    // (nar_session_read_current). Show it after opening a session that the store already had.
    Text current() const { return read(nar_session_read_current); }

    // Goes to the end of a turn of its store (narratoria/store.h): undo, redo, or a change of
    // branch. NAR_TURN_PREVIOUS undoes the last prompt; NAR_TURN_BEGINNING goes to the beginning;
    // NAR_TURN_CURRENT, which is 0, is refused with NAR_INVALID_ARGUMENT. Not allowed inside a
    // callback. Throws also NAR_BUSY, NAR_NOT_FOUND or NAR_UNSUPPORTED.
    void go_to(std::uint64_t turn) {
        detail::Check check;
        check(nar_session_go_to(handle(), turn, check.details()));
    }

    // Plays a prompt of its store again, from the end of the preceding turn, as a sibling
    // (narratoria/session.h). NAR_TURN_CURRENT is the last prompt. If `tools` is empty, the
    // narrator is asked; otherwise it is a JSON array of toolIds, and these tools and their
    // dependents run again. `ended(Turn)` is called exactly once. Not allowed inside a callback.
    // Throws as go_to().
    template <class Ended>
    std::uint64_t again(std::uint64_t turn, std::string_view tools, Ended&& ended) {
        nar_session* session = handle();
        return submit(std::forward<Ended>(ended), [&](const nar_turn_handler& handler,
                                                      std::uint64_t* id, nar_error* error) {
            return nar_session_again(session, turn, detail::to_c(tools), &handler, id, error);
        });
    }

    // Resumes an interrupted prompt (narratoria/session.h). NAR_TURN_CURRENT is the last one that
    // directly follows the current turn. `flags` is 0 or NAR_RESUME_REPEATS. Otherwise as again().
    // Throws with the code NOT_REPEATABLE if a tool had begun that must not run twice.
    template <class Ended>
    std::uint64_t resume(std::uint64_t turn, std::uint32_t flags, Ended&& ended) {
        nar_session* session = handle();
        return submit(std::forward<Ended>(ended),
                      [&](const nar_turn_handler& handler, std::uint64_t* id, nar_error* error) {
                          return nar_session_resume(session, turn, flags, &handler, id, error);
                      });
    }

    // Replays a turn of its store without a narrator and without tools, in a session with
    // `replays`. `ended(const nar_replayed&)` is called exactly once. Not allowed inside a
    // callback. Throws as go_to().
    template <class Ended>
    std::uint64_t replay(std::uint64_t turn, Ended&& ended) {
        nar_session* session = handle();
        auto bound = detail::bind_function(*core_, std::forward<Ended>(ended));
        using Bound = typename decltype(bound)::element_type;
        nar_replay_handler handler{};
        handler.size = sizeof handler;
        handler.user = bound.get();
        handler.ended = [](void* user, const nar_replayed* replayed) noexcept {
            const std::unique_ptr<Bound> owned(static_cast<Bound*>(user));
            detail::guard(*owned->core, [&] { owned->function(*replayed); });
        };
        detail::Check check;
        std::uint64_t id = 0;
        check(nar_session_replay(session, turn, &handler, &id, check.details()));
        static_cast<void>(bound.release());
        return id;
    }

    // Runs a plan without a narrator. Tool paths are relative to `folder`; if it is empty, to the
    // story's folder, else to the engine's root. `ended(Result)` is called exactly once. If the
    // plan has faults, throws NAR_INVALID_DOCUMENT and starts nothing.
    template <class Ended>
    std::uint64_t execute(std::string_view plan, std::string_view folder, Ended&& ended) {
        nar_session* session = handle();
        auto bound = detail::bind_function(*core_, std::forward<Ended>(ended));
        using Bound = typename decltype(bound)::element_type;
        nar_execution_handler handler{};
        handler.size = sizeof handler;
        handler.user = bound.get();
        handler.ended = [](void* user, nar_result* result) noexcept {
            const std::unique_ptr<Bound> owned(static_cast<Bound*>(user));
            detail::guard(*owned->core, [&] { owned->function(Result(result)); });
        };
        detail::Check check;
        std::uint64_t id = 0;
        check(nar_session_execute(session, detail::to_c(plan), detail::to_c(folder), &handler, &id,
                                  check.details()));
        static_cast<void>(bound.release());
        return id;
    }
    std::uint64_t execute(std::string_view plan, std::string_view folder = {}) {
        detail::Check check;
        std::uint64_t id = 0;
        check(nar_session_execute(handle(), detail::to_c(plan), detail::to_c(folder), nullptr, &id,
                                  check.details()));
        return id;
    }

    // Runs a Nuwa script (nar_session_run_script). Calls `printed(std::string_view)` for each line
    // that it prints and `ended(const ScriptEnd&)` exactly once. `scope` is a JSON object with its
    // initial variables, or empty. `tools` is a folder of additional tools, or empty. `flags` are
    // NAR_SCRIPT_…. If the source is not a valid script, throws NAR_INVALID_DOCUMENT with the place
    // in the message and starts nothing.
    template <class Printed, class Ended>
    std::uint64_t run_script(std::string_view source, std::string_view scope,
                             std::string_view tools, Printed&& printed, Ended&& ended,
                             std::uint32_t flags = 0) {
        struct Functions {
            std::decay_t<Printed> printed;
            std::decay_t<Ended> ended;
        };
        nar_session* session = handle();
        auto bound = detail::bind_function(
            *core_, Functions{std::forward<Printed>(printed), std::forward<Ended>(ended)});
        using Bound = typename decltype(bound)::element_type;
        nar_script script{};
        script.size = sizeof script;
        script.flags = flags;
        script.source = detail::to_c(source);
        script.scope = detail::to_c(scope);
        script.tools = detail::to_c(tools);
        nar_script_handler handler{};
        handler.size = sizeof handler;
        handler.user = bound.get();
        handler.printed = [](void* user, nar_str line) noexcept {
            Bound& owned = *static_cast<Bound*>(user);
            detail::guard(*owned.core, [&] { owned.function.printed(detail::to_view(line)); });
        };
        handler.ended = [](void* user, const nar_script_end* end) noexcept {
            const std::unique_ptr<Bound> owned(static_cast<Bound*>(user));
            detail::guard(*owned->core, [&] {
                owned->function.ended(ScriptEnd{end->ok != 0, detail::to_view(end->scope),
                                                detail::to_view(end->error), Result(end->result)});
            });
        };
        detail::Check check;
        std::uint64_t id = 0;
        check(nar_session_run_script(session, &script, &handler, &id, check.details()));
        static_cast<void>(bound.release());
        return id;
    }

    // The places at which a script fails whenever it gets there, as a JSON array of errors
    // (nar_session_check_script); "[]" if none is found. Arguments as above.
    Text check_script(std::string_view source, std::string_view scope = {},
                      std::string_view tools = {}) const {
        nar_script script{};
        script.size = sizeof script;
        script.source = detail::to_c(source);
        script.scope = detail::to_c(scope);
        script.tools = detail::to_c(tools);
        detail::Check check;
        nar_text* errors = nullptr;
        check(nar_session_check_script(handle(), &script, &errors, check.details()));
        return Text(errors);
    }

    // The names of all tools that a script can CALL now, as a sorted JSON array. `tools` as above.
    Text script_names(std::string_view tools = {}) const {
        detail::Check check;
        nar_text* names = nullptr;
        check(nar_session_script_names(handle(), detail::to_c(tools), &names, check.details()));
        return Text(names);
    }

    // Cancels the running turn and drops waiting ones. Their handlers are called in the
    // next driving call. Thread-safe and async-signal-safe while this object exists and is not
    // being moved.
    void cancel() const noexcept {
        if (core_ && core_->engine != nullptr) nar_session_cancel(session_);
    }

    // Cancels one submission, whether it runs or waits. Returns false if it has ended.
    bool cancel(std::uint64_t submission) const {
        detail::Check check;
        const nar_status status =
            nar_session_cancel_submission(handle(), submission, check.details());
        if (status == NAR_NOT_FOUND) return false;
        check(status);
        return true;
    }

    // The id of the submission that runs now, or 0. In a sink it is the one that the record belongs
    // to.
    std::uint64_t submission() const { return nar_session_submission(handle()); }

    // Attaches a sink: `sink(Event)` is called for each record of the given kinds. Returns its
    // number. The callable is copied or moved in, called through one function pointer, and
    // destroyed after the last record. Pass std::ref(sink) to keep ownership.
    template <class Sink>
    std::uint64_t attach(Sink&& sink, std::uint64_t kinds = kAllKinds) {
        using Bound = detail::BoundSink<std::decay_t<Sink>>;
        nar_session* session = handle();
        auto owned = std::make_unique<Bound>(*core_, std::forward<Sink>(sink));
        nar_event_sink description{};
        description.size = sizeof description;
        description.kinds = kinds;
        description.user = owned.get();
        description.event = Bound::event;
        description.detached = Bound::detached;
        detail::Check check;
        std::uint64_t number = 0;
        check(nar_session_attach_sink(session, &description, &number, check.details()));
        static_cast<void>(owned.release());
        return number;
    }

    // Detaches a sink. Throws NAR_NOT_FOUND if the number is unknown.
    void detach(std::uint64_t sink) {
        detail::Check check;
        check(nar_session_detach_sink(handle(), sink, check.details()));
    }

    // Adds an extension of the host: an extension of narratoria/plugin.h without a library.
    // `functions` is its C struct, `instance` is passed to its functions; both must stay unchanged
    // until `released(instance)`. Its functions must not throw. Returns the nar_host for its calls,
    // valid as long as the session. Not allowed inside a callback. Throws NAR_UNSUPPORTED, NAR_BUSY
    // or NAR_INVALID_ARGUMENT; `released` is then not called.
    const nar_host* extend(std::string_view id, std::string_view extension, const void* functions,
                           void* instance, void (*released)(void* instance) = nullptr) {
        nar_session_extension description{};
        description.size = sizeof description;
        description.id = detail::to_c(id);
        description.extension = detail::to_c(extension);
        description.functions = functions;
        description.instance = instance;
        description.released = released;
        const nar_host* host = nullptr;
        detail::Check check;
        check(nar_session_extend(handle(), &description, &host, check.details()));
        return host;
    }

    // Its tools; include narratoria/tools.hpp. Valid as long as the session.
    SessionTools tools();

    // The state at a JSON Pointer ("" is the whole state) as JSON. Throws NAR_NOT_FOUND.
    Text state(std::string_view pointer = {}) const {
        detail::Check check;
        nar_text* text = nullptr;
        check(nar_session_read_state(handle(), detail::to_c(pointer), &text, check.details()));
        return Text(text);
    }

    // The number of members or elements of the state at a JSON Pointer, without copying them; 0 for
    // any other value. Throws NAR_NOT_FOUND.
    std::uint64_t state_size(std::string_view pointer = {}) const {
        detail::Check check;
        std::uint64_t count = 0;
        check(nar_session_state_size(handle(), detail::to_c(pointer), &count, check.details()));
        return count;
    }

    // True if the state has a value at a JSON Pointer.
    bool has_state(std::string_view pointer) const {
        detail::Check check;
        const nar_status status =
            nar_session_state_size(handle(), detail::to_c(pointer), nullptr, check.details());
        if (status == NAR_NOT_FOUND) return false;
        check(status);
        return true;
    }

    // Merges a patch from the host into the state (RFC 7396).
    void patch_state(std::string_view patch) {
        detail::Check check;
        check(nar_session_patch_state(handle(), detail::to_c(patch), check.details()));
    }

    // Sets a key of the state to a JSON value, which replaces the previous one;
    // narratoria/context.h has the rules. Throws NAR_INVALID_DOCUMENT or NAR_INVALID_ARGUMENT.
    void set_state(std::string_view key, std::string_view value) {
        detail::Check check;
        check(nar_session_set_state(handle(), detail::to_c(key), detail::to_c(value), nullptr,
                                    check.details()));
    }
    // Also replaces the key's metadata.
    void set_state(std::string_view key, std::string_view value, const StateMetadata& metadata) {
        give(metadata, [&](const nar_state_metadata* given, nar_error* error) {
            return nar_session_set_state(handle(), detail::to_c(key), detail::to_c(value), given,
                                         error);
        });
    }

    // Removes all keys of the state and all metadata.
    void clear_state() {
        detail::Check check;
        check(nar_session_clear_state(handle(), check.details()));
    }

    // Describes a key of the state, which need not have a value. If the formatter throws, the
    // default form is used, and the driving call rethrows the exception, as for any callback.
    void register_state_metadata(std::string_view key, const StateMetadata& metadata) {
        give(metadata, [&](const nar_state_metadata* given, nar_error* error) {
            return nar_session_register_state_metadata(handle(), detail::to_c(key), given, error);
        });
    }
    void remove_state_metadata(std::string_view key) {
        detail::Check check;
        check(nar_session_register_state_metadata(handle(), detail::to_c(key), nullptr,
                                                  check.details()));
    }

    // {"description": …, "formatter": true or false}; nothing if the key is not described.
    std::optional<Text> get_state_metadata(std::string_view key) const {
        detail::Check check;
        nar_text* text = nullptr;
        const nar_status status =
            nar_session_read_state_metadata(handle(), detail::to_c(key), &text, check.details());
        if (status == NAR_NOT_FOUND) return std::nullopt;
        check(status);
        return Text(text);
    }
    // The metadata of all keys, as a JSON object by key.
    Text get_all_state_metadata() const { return read(nar_session_read_all_state_metadata); }

    // The state as text for a model's prompt: a line "key: value (description)" for each key.
    Text format_state_for_prompt() const { return read(nar_session_format_state_for_prompt); }

    // The history as JSON, oldest patch first: {"limit", "dropped", "patches": […]}.
    Text history() const { return read(nar_session_read_history); }

    // The asset registry as a JSON array.
    Text assets() const { return read(nar_session_read_assets); }

    // The assets with a greater `seq`. Sets `seq` to the greatest one in the registry.
    Text assets_after(std::uint64_t& seq) const {
        detail::Check check;
        nar_text* json = nullptr;
        check(nar_session_read_assets_after(handle(), &seq, &json, check.details()));
        return Text(json);
    }

    // The greatest `seq` of the registry; 0 if it is empty.
    std::uint64_t latest_asset() const {
        detail::Check check;
        std::uint64_t seq = 0;
        check(nar_session_read_assets_after(handle(), &seq, nullptr, check.details()));
        return seq;
    }

    // The session's plugins as a JSON array (nar_session_read_plugins).
    Text plugins() const { return read(nar_session_read_plugins); }

    // The value that a plugin (given by its id) has published under a name; nothing if there is no
    // value or the plugin is not active. Read it again after a driving call: plugins publish while
    // the loop is driven.
    std::optional<Text> published(std::string_view plugin, std::string_view name) const {
        detail::Check check;
        nar_text* text = nullptr;
        const nar_status status = nar_session_read_published(
            handle(), detail::to_c(plugin), detail::to_c(name), &text, check.details());
        if (status == NAR_NOT_FOUND) return std::nullopt;
        check(status);
        return Text(text);
    }

    // Valid as long as the session.
    std::string_view id() const { return detail::to_view(nar_session_id(handle())); }
    // The title of the story; empty if there is no story.
    std::string_view title() const { return detail::to_view(nar_session_title(handle())); }
    // The story's opening as a JSON object {"text": "…", "choices": ["…"]}; empty if it has no
    // [opening].
    std::string_view opening() const { return detail::to_view(nar_session_opening(handle())); }

    // For calls of the C ABI; NULL if the session has ended.
    nar_session* raw() const noexcept {
        return core_ && core_->engine != nullptr ? session_ : nullptr;
    }

private:
    nar_session* handle() const {
        nar_session* session = raw();
        if (session == nullptr) {
            NARRATORIA_THROW(
                Error(NAR_GONE, "SESSION_GONE",
                      "the session has ended: its engine was destroyed, or it was moved from", ""));
        }
        return session;
    }

    // Passes `call` a handler that calls `ended(Turn)` once.
    template <class Ended, class Call>
    std::uint64_t submit(Ended&& ended, Call&& call) {
        auto bound = detail::bind_function(*core_, std::forward<Ended>(ended));
        using Bound = typename decltype(bound)::element_type;
        nar_turn_handler handler{};
        handler.size = sizeof handler;
        handler.user = bound.get();
        handler.ended = [](void* user, const nar_turn* turn) noexcept {
            const std::unique_ptr<Bound> owned(static_cast<Bound*>(user));
            detail::guard(*owned->core, [&] { owned->function(Turn(*turn)); });
        };
        detail::Check check;
        std::uint64_t id = 0;
        check(call(handler, &id, check.details()));
        static_cast<void>(bound.release());
        return id;
    }

    template <class Give>
    void give(const StateMetadata& metadata, Give&& call) {
        detail::Check check;
        const auto guard = [core = core_](auto&& function) noexcept {
            detail::guard(*core, function);
        };
        check(detail::give_metadata(metadata, guard, [&](const nar_state_metadata* given) {
            return call(given, check.details());
        }));
    }

    Text read(nar_status (*function)(nar_session*, nar_text**, nar_error*)) const {
        detail::Check check;
        nar_text* text = nullptr;
        check(function(handle(), &text, check.details()));
        return Text(text);
    }

    std::shared_ptr<detail::Core> core_;
    nar_session* session_ = nullptr;
};

// Returns a new random UUID (RFC 9562, version 4), for example for the requestId of a plan.
// Thread-safe.
inline std::string make_uuid() {
    detail::Check check;
    nar_text* uuid = nullptr;
    check(nar_make_uuid(&uuid, check.details()));
    return std::string(Text(uuid).view());
}

}  // namespace narratoria
