// SPDX-License-Identifier: Apache-2.0
#pragma once
/*
 * The engine for C++20 hosts: header-only, on top of the C ABI in narratoria/narratoria.h.
 *
 *     narratoria::Engine engine;
 *     narratoria::Session session(engine, {.story = "examples/stories/torch"});
 *     session.attach([](narratoria::Event event) { std::cout << event.body() << '\n'; });
 *     session.prompt("I light the torch", [](narratoria::Turn turn) {
 *         std::cout << turn.narrative() << '\n';
 *     });
 *     engine.run_until_idle();
 *
 * Threads      An Engine and its Sessions belong to the thread that created the Engine. These are
 *              thread-safe: Engine::post, Engine::adopt_thread, Session::cancel, NarratorReply,
 *              Result, Text and validate. No thread is started, except one that writes to stores:
 *              callbacks run inside driving calls.
 * Ownership    Engine, Session and Text own; Result shares; Event and Turn are views, valid until
 *              the callback returns. Destroying an Engine ends its Sessions. A Session object that
 *              outlives it is harmless: its calls throw NAR_GONE.
 * Exceptions   A call that fails throws Error. An exception that leaves a callback is caught before
 *              it reaches C, and rethrown from the driving call: run_until_idle stops there, and
 *              can be called again. If several callbacks throw, the first exception is kept. An
 *              exception from a callback outside a driving call (prompt, attach, patch_state and
 *              others call sinks at once) is rethrown from the next driving call.
 *              Without exceptions (-fno-exceptions) a call that fails prints its message and ends
 *              the process; see narratoria/exceptions.hpp.
 * Cost         A sink costs one call through a function pointer. A noexcept sink has no guard.
 *
 * The other headers: session.hpp, event.hpp, result.hpp, narrator.hpp, status.hpp, text.hpp, and
 * tools.hpp and validate.hpp, which engine.hpp does not include.
 */

#include "narratoria/core.hpp"
#include "narratoria/engine.h"
#include "narratoria/event.hpp"
#include "narratoria/exceptions.hpp"
#include "narratoria/narrator.hpp"
#include "narratoria/result.hpp"
#include "narratoria/session.hpp"
#include "narratoria/status.hpp"
#include "narratoria/text.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace narratoria {

// nar_limits with `size` set. 0 selects the default; NAR_NONE or UINT64_MAX means no limit.
struct Limits : nar_limits {
    Limits() noexcept : nar_limits{} { size = sizeof(nar_limits); }
};

// The constructor of Engine copies everything. Empty and 0 select the default, which each comment
// names after the semicolon.
struct EngineOptions {
    std::uint32_t jobs = 0;      // most tools at a time; the cores in the affinity mask
    std::string_view root = {};  // working directory of tools; the current one, read now
    std::vector<std::string_view> environment =
        {};  // "NAME=value", added to the tools' environment
    std::vector<std::string_view> allow_paths = {};  // folders that tools must be in; anywhere
    std::optional<Times> times = {};
    std::optional<Limits> limits = {};
    // Receives the log; without it, warnings and errors go to stderr.
    std::function<void(const LogLine& line)> log = {};
    std::string_view supervisor = {};  // path of narratoria-supervisor; the embedded one
    std::string_view cgroup = {};      // a cgroup2 folder that the user owns; none
    // With allow_paths: schemes whose tools may run, regardless of the text after "scheme:"; none.
    std::vector<std::string_view> allow_schemes = {};
    // Parent of the folders to which the tools of each session write files; narratoria-UID in
    // TMPDIR.
    std::string_view output = {};
    std::uint32_t output_mode = NAR_OUTPUT_REMOVE;  // a NAR_OUTPUT_…
    // Guarantees of every tool, "no_network,no_subprocess" or "all"; none.
    std::string_view sandbox = {};
    // The store of sessions whose options name none; none.
    std::string_view store = {};
};

// Movable, not copyable. Destroy it on the engine thread, outside callbacks. Otherwise the
// destructor cannot destroy the engine and leaks it; destroy() reports that as an error.
class Engine {
public:
    explicit Engine(const EngineOptions& options = {}) : core_(std::make_shared<detail::Core>()) {
        std::vector<nar_str> environment;
        environment.reserve(options.environment.size());
        for (const std::string_view one : options.environment) {
            environment.push_back(detail::to_c(one));
        }
        std::vector<nar_str> allow_paths;
        allow_paths.reserve(options.allow_paths.size());
        for (const std::string_view one : options.allow_paths) {
            allow_paths.push_back(detail::to_c(one));
        }
        std::vector<nar_str> allow_schemes;
        allow_schemes.reserve(options.allow_schemes.size());
        for (const std::string_view one : options.allow_schemes) {
            allow_schemes.push_back(detail::to_c(one));
        }
        core_->log = options.log;

        nar_engine_options description{};
        description.size = sizeof description;
        description.jobs = options.jobs;
        description.root = detail::to_c(options.root);
        description.environment = environment.data();
        description.environment_count = environment.size();
        description.allow_paths = allow_paths.data();
        description.allow_path_count = allow_paths.size();
        description.times = options.times ? &*options.times : nullptr;
        description.limits = options.limits ? &*options.limits : nullptr;
        description.user = core_.get();
        if (core_->log) {
            description.log = [](void* user, const nar_log_line* line) noexcept {
                auto& core = *static_cast<detail::Core*>(user);
                detail::guard(core, [&] {
                    core.log({line->level, detail::to_view(line->message),
                              detail::to_view(line->session_id), detail::to_view(line->code)});
                });
            };
        }
        description.allow_schemes = allow_schemes.data();
        description.allow_scheme_count = allow_schemes.size();
        description.output = detail::to_c(options.output);
        description.output_mode = options.output_mode;
        description.supervisor = detail::to_c(options.supervisor);
        description.cgroup = detail::to_c(options.cgroup);
        description.sandbox = detail::to_c(options.sandbox);
        description.store = detail::to_c(options.store);
        detail::Check check;
        check(nar_engine_create(&description, &core_->engine, check.details()));
    }

    Engine(Engine&& other) noexcept : core_(std::move(other.core_)) {}
    Engine& operator=(Engine&& other) noexcept {
        std::swap(core_, other.core_);
        return *this;
    }
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    ~Engine() {
        if (!core_ || core_->engine == nullptr) return;
        if (end(nullptr) != NAR_OK) {
            // Callbacks may still use the core: leak it together with the engine.
            static_cast<void>(new (std::nothrow) std::shared_ptr<detail::Core>(core_));
        }
    }

    // Like the destructor, but throws if the engine cannot be destroyed: NAR_WRONG_THREAD,
    // NAR_REENTRANT. Afterwards every other call throws NAR_GONE. A second call does nothing.
    void destroy() {
        if (raw() == nullptr) return;
        detail::Check check;
        check(end(check.details()));
    }

    // Drives the loop until no turn runs and no tool is being ended, or a callback throws.
    void run_until_idle() {
        do {
            run_once();
        } while (is_busy());
    }

    // Waits for the next events and handles them. Returns at once if the engine is idle.
    void run_once() {
        detail::Check check;
        check(nar_engine_run_once(handle(), check.details()));
        core_->rethrow();
    }

    // Handles pending events without waiting, for about `budget`; 0 means one round of the loop.
    void run_for(std::chrono::microseconds budget) {
        detail::Check check;
        const auto count = budget.count() > 0 ? static_cast<std::uint64_t>(budget.count()) : 0u;
        check(nar_engine_run_for(handle(), count, check.details()));
        core_->rethrow();
    }

    // Starts supervisor processes until `supervisors` are ready, so that the first tools start as
    // fast as later ones. Does not wait for them.
    void prepare(std::uint32_t supervisors) {
        detail::Check check;
        check(nar_engine_prepare(handle(), supervisors, check.details()));
    }

    // True while a turn runs or a tool is being ended.
    bool is_busy() const { return nar_engine_is_busy(handle()) != 0; }

    // A descriptor that is readable when the loop has work to do. Poll it, but do not read from it.
    int descriptor() const { return nar_engine_descriptor(handle()); }

    // Time until the next timer, or nothing if there is none. Call it again before each poll().
    std::optional<std::chrono::milliseconds> timeout() const {
        const std::int32_t milliseconds = nar_engine_timeout(handle());
        if (milliseconds < 0) return std::nullopt;
        return std::chrono::milliseconds(milliseconds);
    }

    // Makes the calling thread the engine thread. No other thread may use the engine during the
    // call.
    void adopt_thread() {
        detail::Check check;
        check(nar_engine_adopt_thread(handle(), check.details()));
    }

    // Queues `function()` for the engine thread; the next driving call runs it. If the engine is
    // destroyed first, the function is destroyed without being called. Thread-safe.
    template <class Function>
    void post(Function&& function) {
        nar_engine* engine = handle();
        auto bound = detail::bind_function(*core_, std::forward<Function>(function));
        using Bound = typename decltype(bound)::element_type;
        detail::Check check;
        check(nar_engine_post(
            engine,
            [](void* user) noexcept {
                const std::unique_ptr<Bound> owned(static_cast<Bound*>(user));
                detail::guard(*owned->core, [&] { owned->function(); });
            },
            [](void* user) noexcept { delete static_cast<Bound*>(user); }, bound.get(),
            check.details()));
        static_cast<void>(bound.release());
    }

    // For calls of the C ABI; NULL after destroy.
    nar_engine* raw() const noexcept { return core_ ? core_->engine : nullptr; }

private:
    friend class Session;

    nar_engine* handle() const {
        nar_engine* engine = raw();
        if (engine == nullptr) {
            NARRATORIA_THROW(
                Error(NAR_GONE, "ENGINE_GONE", "the engine was destroyed or moved from", ""));
        }
        return engine;
    }

    nar_status end(nar_error* error) noexcept {
        // First block replies, then destroy the engine. In the reverse order a narrator's thread
        // could reply to an engine that is partly destroyed.
        nar_engine* engine = nullptr;
        {
            const std::lock_guard lock(core_->ending);
            engine = std::exchange(core_->engine, nullptr);
        }
        const nar_status status = nar_engine_destroy(engine, error);
        if (status != NAR_OK) {
            const std::lock_guard lock(core_->ending);
            core_->engine = engine;
        }
        return status;
    }

    std::shared_ptr<detail::Core> core_;
};

inline Session::Session(Engine& engine, const SessionOptions& options) : core_(engine.core_) {
    struct BoundNarrator {
        std::shared_ptr<detail::Core> core;
        Narrator narrator;
    };
    nar_session_options description{};
    description.size = sizeof description;
    description.id = detail::to_c(options.id);
    description.story = detail::to_c(options.story);
    description.state = detail::to_c(options.state);
    description.times = options.times ? &*options.times : nullptr;
    std::vector<nar_str> plugins;
    for (const std::string_view plugin : options.plugins) plugins.push_back(detail::to_c(plugin));
    description.plugins = plugins.data();
    description.plugin_count = plugins.size();
    description.narrator_id = detail::to_c(options.narrator_id);
    description.without_plugins = options.without_plugins ? 1 : 0;
    description.plugin_settings = detail::to_c(options.plugin_settings);
    description.project = detail::to_c(options.project);
    description.store = detail::to_c(options.store);
    description.durability = options.durability;
    description.must_be_new = options.must_be_new ? 1 : 0;
    description.replays = options.replays ? 1 : 0;
    description.seed = options.seed;
    description.watches_story = options.watches_story ? 1 : 0;

    std::unique_ptr<BoundNarrator> bound_narrator;
    nar_narrator narrator{};
    if (options.narrator) {
        bound_narrator.reset(new BoundNarrator{core_, *options.narrator});
        narrator.size = sizeof narrator;
        narrator.flags = bound_narrator->narrator.is_detailed ? NAR_NARRATOR_DETAILED : 0;
        narrator.id = detail::to_c(bound_narrator->narrator.id);
        narrator.user = bound_narrator.get();
        narrator.generate = [](void* user, const nar_narrator_request* request) noexcept {
            auto& self = *static_cast<BoundNarrator*>(user);
            const NarratorReply reply(self.core, *request);
            detail::guard(*self.core, [&] {
                NARRATORIA_TRY { self.narrator.generate(detail::to_view(request->json), reply); }
#if defined(__cpp_exceptions)
                catch (const std::exception& error) {
                    reply.fail(error.what());
                    throw;
                }
#endif
            });
        };
        narrator.cancel = [](void* user, std::uint64_t token) noexcept {
            auto& self = *static_cast<BoundNarrator*>(user);
            if (self.narrator.cancel) {
                detail::guard(*self.core, [&] { self.narrator.cancel(token); });
            }
        };
        narrator.released = [](void* user) noexcept { delete static_cast<BoundNarrator*>(user); };
        description.narrator = &narrator;
    }
    detail::Check check;
    check(nar_session_create(engine.handle(), &description, &session_, check.details()));
    static_cast<void>(bound_narrator.release());
}

}  // namespace narratoria
