// SPDX-License-Identifier: Apache-2.0
#pragma once
// One player's game: its state, its assets, its event stream, its turns. What each call does in
// detail: narratoria/session.h. Include narratoria/engine.hpp, which has the rules of ownership,
// threads and exceptions.

#include "narratoria/core.hpp"
#include "narratoria/event.hpp"
#include "narratoria/narrator.hpp"
#include "narratoria/plugins.h"
#include "narratoria/result.hpp"
#include "narratoria/session.h"
#include "narratoria/text.hpp"

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace narratoria {

class Engine;

// Milliseconds; 0 is the default, NAR_NONE no limit. The fields are nar_times' own.
struct Times : nar_times {
    Times() noexcept : nar_times{} { size = sizeof(nar_times); }
};

enum class Outcome : std::uint32_t {
    kCompleted = NAR_TURN_COMPLETED,
    kFallback = NAR_TURN_FALLBACK,
    kCancelled = NAR_TURN_CANCELLED,
    kTimeout = NAR_TURN_TIMEOUT,
};

// A view of how a prompt ended: dies when the handler it was given to returns; result() may be kept.
class Turn {
public:
    explicit Turn(const nar_turn& turn) noexcept : turn_(&turn) {}

    Outcome outcome() const noexcept { return static_cast<Outcome>(turn_->outcome); }
    // Plans asked for, up to 5; 0: cancelled before it began.
    std::uint32_t generations() const noexcept { return turn_->generations; }
    // What to tell the player.
    std::string_view narrative() const noexcept { return detail::to_view(turn_->narrative); }
    // JSON array of texts: what the player may choose from, or [].
    std::string_view choices() const noexcept { return detail::to_view(turn_->choices); }
    // Of the last plan that ran; empty when none did.
    Result result() const noexcept { return Result(turn_->result); }

private:
    const nar_turn* turn_;
};

// Everything is copied by the constructor of Session; empty is the default.
struct SessionOptions {
    std::string_view id = {};               // a fresh UUID
    std::string_view story = {};            // the story's folder; none
    std::string_view state = {};            // the state to start from, a JSON object; {}
    std::optional<Narrator> narrator = {};  // narrator_id says which
    std::optional<Times> times = {};
    std::span<const std::string_view> plugins = {};  // to load, beside the story's: ids or paths
    std::string_view narrator_id = {};               // a plugin's id, or "template"; the story's
    bool without_plugins = false;                    // none at all, whatever the story says
    // {"a plugin's id": {its settings}}, merged over the story's; none.
    std::string_view plugin_settings = {};
};

namespace detail {

// A sink on the far side of C's `void* user`. It may take itself off while it runs, so it goes when
// the last of its calls has returned, not before.
template <class Sink>
class CarriedSink {
public:
    template <class Given>
    CarriedSink(Core& core, Given&& sink) : core_(core), sink_(std::forward<Given>(sink)) {}

    static void event(void* user, const nar_event* event) noexcept {
        auto* self = static_cast<CarriedSink*>(user);
        ++self->running_;
        guard(self->core_, [&]() noexcept(std::is_nothrow_invocable_v<Sink&, Event>) {
            self->sink_(Event(*event));
        });
        if (--self->running_ == 0 && self->detached_) delete self;
    }

    static void detached(void* user) noexcept {
        auto* self = static_cast<CarriedSink*>(user);
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

// Movable, not copyable. The destructor ends the session: its tools are ended at once, without
// grace. A session that outlives its engine is over: calls throw NAR_GONE.
// All calls belong on the engine thread and are allowed inside callbacks, cancel on any thread.
class Session {
public:
    // Reads the story. Throws NAR_INVALID_DOCUMENT when the story or the state has faults.
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
        if (core_ && core_->engine != nullptr) nar_session_destroy(session_, nullptr);
    }

    // Submits the player's words. `ended(Turn)` is called exactly once. While a turn runs one more
    // prompt may wait; a further one throws NAR_BUSY.
    template <class Ended>
    void prompt(std::string_view text, Ended&& ended) {
        nar_session* session = handle();
        auto parcel = detail::pack(*core_, std::forward<Ended>(ended));
        using Carried = typename decltype(parcel)::element_type;
        nar_turn_handler handler{};
        handler.size = sizeof handler;
        handler.user = parcel.get();
        handler.ended = [](void* user, const nar_turn* turn) noexcept {
            const std::unique_ptr<Carried> carried(static_cast<Carried*>(user));
            detail::guard(*carried->core, [&] { carried->function(Turn(*turn)); });
        };
        detail::Check check;
        check(nar_session_prompt(session, detail::to_c(text), &handler, check.details()));
        static_cast<void>(parcel.release());
    }
    void prompt(std::string_view text) {
        detail::Check check;
        check(nar_session_prompt(handle(), detail::to_c(text), nullptr, check.details()));
    }

    // Runs one plan without a narrator; its tool paths resolve against `folder` (empty: the
    // story's, else the engine's root). `ended(Result)` is called exactly once. Throws
    // NAR_INVALID_DOCUMENT when the plan has faults; then nothing was started.
    template <class Ended>
    void execute(std::string_view plan, std::string_view folder, Ended&& ended) {
        nar_session* session = handle();
        auto parcel = detail::pack(*core_, std::forward<Ended>(ended));
        using Carried = typename decltype(parcel)::element_type;
        nar_execution_handler handler{};
        handler.size = sizeof handler;
        handler.user = parcel.get();
        handler.ended = [](void* user, nar_result* result) noexcept {
            const std::unique_ptr<Carried> carried(static_cast<Carried*>(user));
            detail::guard(*carried->core, [&] { carried->function(Result(result)); });
        };
        detail::Check check;
        check(nar_session_execute(session, detail::to_c(plan), detail::to_c(folder), &handler,
                                  check.details()));
        static_cast<void>(parcel.release());
    }
    void execute(std::string_view plan, std::string_view folder = {}) {
        detail::Check check;
        check(nar_session_execute(handle(), detail::to_c(plan), detail::to_c(folder), nullptr,
                                  check.details()));
    }

    // Ends what runs and drops what waits; their handlers are told in the next driving call.
    // Any thread, also a signal handler, as long as this object lives and is not being moved.
    void cancel() const noexcept {
        if (core_ && core_->engine != nullptr) nar_session_cancel(session_);
    }

    // Attaches a sink: `sink(Event)` for every record of the kinds wanted, and returns its number.
    // The callable is copied or moved in, called through one function pointer, and freed when
    // nothing more will come. Pass std::ref(sink) to keep it yourself.
    template <class Sink>
    std::uint64_t attach(Sink&& sink, std::uint32_t kinds = kAllKinds) {
        using Carried = detail::CarriedSink<std::decay_t<Sink>>;
        nar_session* session = handle();
        auto carried = std::make_unique<Carried>(*core_, std::forward<Sink>(sink));
        nar_event_sink description{};
        description.size = sizeof description;
        description.kinds = kinds;
        description.user = carried.get();
        description.event = Carried::event;
        description.detached = Carried::detached;
        detail::Check check;
        std::uint64_t number = 0;
        check(nar_session_attach_sink(session, &description, &number, check.details()));
        static_cast<void>(carried.release());
        return number;
    }

    // Takes a sink off. Throws NAR_NOT_FOUND when there is none with that number.
    void detach(std::uint64_t sink) {
        detail::Check check;
        check(nar_session_detach_sink(handle(), sink, check.details()));
    }

    // Adds what the host itself brings, an extension of narratoria/plugin.h without a library:
    // `functions` is its C struct, `instance` what its functions are given; both stay as they are
    // until `released(instance)`. Returns what it calls its host with, alive as long as the session.
    // Its functions must not throw. Not inside a callback. Throws NAR_UNSUPPORTED, NAR_BUSY,
    // NAR_INVALID_ARGUMENT; then nothing is released.
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

    // The state at a JSON Pointer, as JSON; "" is all of it. Throws NAR_NOT_FOUND.
    Text state(std::string_view pointer = {}) const {
        detail::Check check;
        nar_text* text = nullptr;
        check(nar_session_read_state(handle(), detail::to_c(pointer), &text, check.details()));
        return Text(text);
    }

    // Merges a patch of the host's own (RFC 7396).
    void patch_state(std::string_view patch) {
        detail::Check check;
        check(nar_session_patch_state(handle(), detail::to_c(patch), check.details()));
    }

    // {"limit", "dropped", "patches": […]}, oldest first.
    Text history() const { return read(nar_session_read_history); }

    // The asset registry, a JSON array.
    Text assets() const { return read(nar_session_read_assets); }

    // The plugins it has, a JSON array: nar_session_read_plugins.
    Text plugins() const { return read(nar_session_read_plugins); }

    // Alive as long as the session.
    std::string_view id() const { return detail::to_view(nar_session_id(handle())); }

    // For calls of the C contract; NULL when the session is over.
    nar_session* raw() const noexcept {
        return core_ && core_->engine != nullptr ? session_ : nullptr;
    }

private:
    nar_session* handle() const {
        nar_session* session = raw();
        if (session == nullptr) {
            throw Error(NAR_GONE, "SESSION_GONE",
                        "this session is over: its engine was destroyed, or it was moved from", "");
        }
        return session;
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

}  // namespace narratoria
