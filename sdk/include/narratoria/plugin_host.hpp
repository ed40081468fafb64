// SPDX-License-Identifier: Apache-2.0
#pragma once
// The services of the host: log, settings, state, assets, prompts, and the engine's loop. Not for
// direct use: include narratoria/plugin.hpp.

#include "narratoria/asset_renderer.h"
#include "narratoria/context.h"
#include "narratoria/exceptions.hpp"
#include "narratoria/host.h"
#include "narratoria/host_http.h"
#include "narratoria/host_loop.h"
#include "narratoria/host_process.h"
#include "narratoria/host_session.h"
#include "narratoria/invocation.h"
#include "narratoria/narrator.h"
#include "narratoria/plugin.h"
#include "narratoria/status.hpp"
#include "narratoria/store.h"
#include "narratoria/utf8.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace narratoria::plugin {

// Levels of a log line.
enum class Level : std::uint32_t { Debug = 1, Info = 2, Warning = 3, Error = 4 };

// The return value of a ui handler or an asset renderer.
enum class HandlerResult {
    Handled,   // done; no other plugin is called
    Declined,  // not for this plugin; the next one is called
    Pending,   // only of a renderer: it reports the outcome later with Host::rendered
};

namespace detail {

using narratoria::detail::to_c;
using narratoria::detail::to_view;

// A plugin links against nothing, so it cannot call nar_status_text.
inline const char* sentence(nar_status status) noexcept {
    switch (status) {
#define NARRATORIA_SENTENCE(name, value, text) \
    case value: return text;
        NAR_STATUS_LIST(NARRATORIA_SENTENCE)
#undef NARRATORIA_SENTENCE
        default: return "the host returned a status that this version does not know";
    }
}

template <std::size_t room>
void copy_into(char (&out)[room], std::string_view text) noexcept {
    text = narratoria::detail::prefix_of(text, room - 1);
    for (std::size_t at = 0; at < text.size(); ++at) out[at] = text[at];
    out[text.size()] = '\0';
}

inline void tell(nar_failure* failure, std::string_view message,
                 std::string_view code = {}) noexcept {
    if (failure == nullptr || failure->size < sizeof *failure) return;
    copy_into(failure->message, message);
    copy_into(failure->code, code);
}

constexpr nar_status status_of(HandlerResult result) noexcept {
    switch (result) {
        case HandlerResult::Handled: return NAR_OK;
        case HandlerResult::Declined: return NAR_DECLINED;
        case HandlerResult::Pending: return NAR_PENDING;
    }
    return NAR_FAILED;
}

// The code of the exception that is being handled, if it is an Error.
inline std::string current_exception_code() {
#if defined(__cpp_exceptions)
    try {
        throw;
    } catch (const Error& error) {
        return std::string(error.code());
    } catch (...) {
    }
#endif
    return {};
}

// The message of the exception that is being handled.
inline std::string current_exception_message() {
#if defined(__cpp_exceptions)
    try {
        throw;
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "an exception that is not a std::exception";
    }
#else
    return {};
#endif
}

// A service of the host: the struct of its functions, and its id.
template <class Functions>
struct ServiceTraits;
#define NARRATORIA_SERVICE(Functions, text)          \
    template <>                                      \
    struct ServiceTraits<Functions> {                \
        static constexpr std::string_view id = text; \
    };
NARRATORIA_SERVICE(nar_host_log, NAR_HOST_LOG)
NARRATORIA_SERVICE(nar_host_config, NAR_HOST_CONFIG)
NARRATORIA_SERVICE(nar_host_thread_check, NAR_HOST_THREAD_CHECK)
NARRATORIA_SERVICE(nar_host_state, NAR_HOST_STATE)
NARRATORIA_SERVICE(nar_host_context, NAR_HOST_CONTEXT)
NARRATORIA_SERVICE(nar_host_assets, NAR_HOST_ASSETS)
NARRATORIA_SERVICE(nar_host_prompt, NAR_HOST_PROMPT)
NARRATORIA_SERVICE(nar_host_turns, NAR_HOST_TURNS)
NARRATORIA_SERVICE(nar_host_render, NAR_HOST_RENDER)
NARRATORIA_SERVICE(nar_host_post, NAR_HOST_POST)
NARRATORIA_SERVICE(nar_host_timer, NAR_HOST_TIMER)
NARRATORIA_SERVICE(nar_host_poll, NAR_HOST_POLL)
NARRATORIA_SERVICE(nar_host_process, NAR_HOST_PROCESS)
NARRATORIA_SERVICE(nar_host_http, NAR_HOST_HTTP)
NARRATORIA_SERVICE(nar_host_narrator, NAR_EXTENSION_NARRATOR)
NARRATORIA_SERVICE(nar_host_invoke, NAR_HOST_INVOKE)
NARRATORIA_SERVICE(nar_host_invocation, NAR_HOST_INVOCATION)
#undef NARRATORIA_SERVICE

template <class Functions>
const Functions* find_service(const nar_host* host) noexcept {
    const auto id = ServiceTraits<Functions>::id;
    // A function that is added after 1.0 must not raise this minimum.
    const auto* found = static_cast<const Functions*>(host->get_extension(host, to_c(id)));
    return found != nullptr && found->size >= sizeof(Functions) ? found : nullptr;
}

class Pending;

// A callback that the host calls once, or never if the instance is disabled. Core owns it until
// then.
class OwnedCallback {
public:
    virtual ~OwnedCallback() = default;
};

// One per instance, shared by Host, Reply, Invocation, Timer and Poll. When the instance ends, the
// Core drops the host pointer, so that late calls do nothing instead of using a dangling pointer.
class Core {
public:
    explicit Core(const nar_host* host) noexcept
        : host_(host),
          services_(find_service<nar_host_log>(host), find_service<nar_host_config>(host),
                    find_service<nar_host_thread_check>(host), find_service<nar_host_state>(host),
                    find_service<nar_host_context>(host), find_service<nar_host_assets>(host),
                    find_service<nar_host_prompt>(host), find_service<nar_host_turns>(host),
                    find_service<nar_host_render>(host), find_service<nar_host_post>(host),
                    find_service<nar_host_timer>(host), find_service<nar_host_poll>(host),
                    find_service<nar_host_process>(host), find_service<nar_host_http>(host),
                    find_service<nar_host_narrator>(host), find_service<nar_host_invoke>(host),
                    find_service<nar_host_invocation>(host)) {}

    // The host while the instance lives, else NULL. Any thread other than the engine's must hold
    // `ending` while it uses the pointer.
    const nar_host* host() const noexcept { return host_.load(std::memory_order_acquire); }
    // False in deinit and afterwards, when only log and thread_check still work.
    bool is_open() const noexcept { return life_.load(std::memory_order_acquire) != Life::Ended; }
    // Called when the constructor of the author's class has returned.
    void activate() noexcept { life_.store(Life::Active, std::memory_order_release); }

    template <class Functions>
    const Functions* find() const noexcept {
        return host() == nullptr ? nullptr : std::get<const Functions*>(services_);
    }
    // Throws if the host does not offer the service, or if the instance has ended.
    template <class Functions>
    const Functions& require() const {
        if (!is_open()) check<Functions>(NAR_GONE, "a call");
        const Functions* found = find<Functions>();
        if (found == nullptr) check<Functions>(NAR_UNSUPPORTED, "a call");
        return *found;
    }
    // Throws for any status other than NAR_OK.
    template <class Functions>
    void check(nar_status status, std::string_view what) const {
        if (status == NAR_OK) return;
        NARRATORIA_THROW(Error(status, {}, describe<Functions>(status, what), {}));
    }
    // Reports the failure of a handle's function: throws on the engine thread. On other threads, and
    // in the destructor of the plugin's class, an exception would end the process: there it is
    // logged.
    template <class Functions>
    void fail(nar_status status, std::string_view what) {
        if (is_open() && is_engine_thread()) check<Functions>(status, what);
        else log(Level::Error, describe<Functions>(status, what));
    }
    // Like require(), for handles: NULL after fail().
    template <class Functions>
    const Functions* find_or_fail() {
        const Functions* const found = find<Functions>();
        if (is_open() && found != nullptr) return found;
        fail<Functions>(is_open() ? NAR_UNSUPPORTED : NAR_GONE, "a call");
        return nullptr;
    }

    // Also false if the host does not offer the service, or if the instance has ended.
    bool is_engine_thread() noexcept {
        const std::lock_guard lock(ending);
        const auto* functions = find<nar_host_thread_check>();
        return functions != nullptr && functions->is_engine_thread(host()) != 0;
    }

    void log(Level level, std::string_view message) noexcept {
        const std::lock_guard lock(ending);
        const auto* functions = find<nar_host_log>();
        if (functions == nullptr) return;
        functions->write(host(), static_cast<std::uint32_t>(level), to_c(message));
    }

    // Logs the exception that is being handled.
    void log_thrown(std::string_view where) noexcept {
        NARRATORIA_TRY {
            log(Level::Error, std::string(where) + " threw: " + current_exception_message());
        }
        NARRATORIA_CATCH_ALL {
            log(Level::Error, "an exception was thrown, and there was no memory to report it");
        }
    }

    // After this call only log works. Pending replies are dropped.
    inline void close() noexcept;
    // Invalidates the host pointer.
    void end() noexcept {
        const std::lock_guard lock(ending);
        host_.store(nullptr, std::memory_order_release);
    }

    // Serializes calls from other threads with the end of the instance. Recursive, because the host
    // may call back while it accepts a reply.
    std::recursive_mutex ending;

    // The replies and ends of attempts that the host waits for, by service id and token.
    // Guarded by `ending`.
    std::map<std::pair<std::string_view, std::uint64_t>, Pending*> pending;

    // Callbacks for outcomes of invoked tools. Engine thread.
    std::map<const void*, std::unique_ptr<OwnedCallback>> outcome_callbacks;

private:
    enum class Life { Begins, Active, Ended };

    template <class Functions>
    std::string describe(nar_status status, std::string_view what) const {
        const std::string id(ServiceTraits<Functions>::id);
        if (status == NAR_UNSUPPORTED && find<Functions>() == nullptr) {
            return "the host does not offer " + id;
        }
        std::string why = sentence(status);
        if (status == NAR_GONE) {
            why = is_open()
                      ? "it works only after the constructor of the plugin's class has returned"
                      : "the instance has ended";
        }
        return std::string(what) + " (" + id + ") failed: " + why;
    }

    std::atomic<const nar_host*> host_;
    std::atomic<Life> life_{Life::Begins};
    const std::tuple<const nar_host_log*, const nar_host_config*, const nar_host_thread_check*,
                     const nar_host_state*, const nar_host_context*, const nar_host_assets*,
                     const nar_host_prompt*, const nar_host_turns*, const nar_host_render*,
                     const nar_host_post*, const nar_host_timer*, const nar_host_poll*,
                     const nar_host_process*, const nar_host_http*, const nar_host_narrator*,
                     const nar_host_invoke*, const nar_host_invocation*>
        services_;
};

// A reply or the end of an attempt for which the host waits. It exists as long as a handle
// refers to it. Core finds it by its token when the host cancels.
class Pending {
public:
    Pending(std::shared_ptr<Core> core, std::string_view service_id, std::uint64_t token)
        : core_(std::move(core)), service_id_(service_id), token_(token) {
        const std::lock_guard lock(core_->ending);
        core_->pending[{service_id_, token_}] = this;
    }
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;

    std::uint64_t token() const noexcept { return token_; }
    Core& core() const noexcept { return *core_; }
    const std::shared_ptr<Core>& shared_core() const noexcept { return core_; }
    bool is_cancelled() const noexcept { return cancelled_.load(std::memory_order_acquire); }
    void cancel() noexcept { cancelled_.store(true, std::memory_order_release); }

    // Calls the host. Returns NAR_GONE, without calling it, if the reply was given or the instance
    // has ended.
    template <class Functions, class Call>
    nar_status attempt(bool is_final, Call&& function) {
        const std::lock_guard lock(core_->ending);
        if (is_settled_ || !core_->is_open()) return NAR_GONE;
        const Functions* const functions = core_->find<Functions>();
        nar_status status = NAR_UNSUPPORTED;
        if (functions != nullptr) {
            // Set before the call: the host may call back, and that callback may reply again.
            if (is_final) is_settled_ = true;
            status = function(*functions, core_->host());
        }
        if (status == NAR_GONE || status == NAR_STALE) {
            is_settled_ = true;
            return NAR_GONE;
        }
        if (status != NAR_OK && is_final) is_settled_ = false;
        return status;
    }
    // The same; returns true for NAR_OK and false for NAR_GONE. See Core::fail for other failures;
    // `what` names the call.
    template <class Functions, class Call>
    bool call(const char* what, bool is_final, Call&& function) {
        const nar_status status = attempt<Functions>(is_final, std::forward<Call>(function));
        if (status != NAR_OK && status != NAR_GONE) core_->fail<Functions>(status, what);
        return status == NAR_OK;
    }
    // Marks the token as invalid: nothing more is reported for it.
    void settle() noexcept {
        const std::lock_guard lock(core_->ending);
        is_settled_ = true;
    }

protected:
    ~Pending() {
        const std::lock_guard lock(core_->ending);
        const auto known = core_->pending.find({service_id_, token_});
        // The host may have reused the token.
        if (known != core_->pending.end() && known->second == this) core_->pending.erase(known);
    }

private:
    const std::shared_ptr<Core> core_;
    const std::string_view service_id_;
    const std::uint64_t token_;
    bool is_settled_ = false;  // under core_->ending
    std::atomic<bool> cancelled_{false};
};

void Core::close() noexcept {
    {
        const std::lock_guard lock(ending);
        life_.store(Life::Ended, std::memory_order_release);
        for (const auto& [name, one] : pending) one->cancel();
    }
    // Destroyed outside the member: a function may own a Reply, whose destructor uses this object.
    const auto unused = std::exchange(outcome_callbacks, {});
}

// Marks a pending reply or attempt as cancelled, for its handles.
inline void cancel(Core& core, std::string_view service_id, std::uint64_t token) noexcept {
    const std::lock_guard lock(core.ending);
    const auto known = core.pending.find({service_id, token});
    if (known != core.pending.end()) known->second->cancel();
}

// Runs the author's function and catches its exceptions, because they must not reach the C code
// that called it. A noexcept function has no overhead.
template <class Callback>
void guard(Core& core, std::string_view where, Callback&& callback) noexcept {
    if constexpr (noexcept(callback())) {
        callback();
    } else {
        NARRATORIA_TRY { callback(); }
        NARRATORIA_CATCH_ALL { core.log_thrown(where); }
    }
}

inline nar_status write_to_string(void* user, nar_str piece) noexcept {
    NARRATORIA_TRY {
        static_cast<std::string*>(user)->append(to_view(piece));
        return NAR_OK;
    }
    NARRATORIA_CATCH_ALL { return NAR_OUT_OF_MEMORY; }
}

// Carries a callable through C's `void *user`. The single call that C guarantees frees it.
template <class Function>
struct PostedFunction {
    std::shared_ptr<Core> core;
    Function function;

    static void run(void* user) noexcept {
        const std::unique_ptr<PostedFunction> posted(static_cast<PostedFunction*>(user));
        guard(*posted->core, "a posted function",
              [&]() noexcept(noexcept(posted->function())) { posted->function(); });
    }
    static void drop(void* user) noexcept { delete static_cast<PostedFunction*>(user); }
};

}  // namespace detail

// The host, as one instance sees it. Copies are cheap and safe to keep: after the instance has
// ended they do nothing.
//
// In the constructor of the plugin's class only log, settings, story, post and is_engine_thread
// work; in its destructor only log and is_engine_thread. Functions that fail throw
// narratoria::Error: NAR_UNSUPPORTED if the host does not offer the service, NAR_GONE before the
// instance is active. On a thread other than the engine's, and in the destructor, an exception would
// end the process: there a failure is logged, and the function returns false or nothing. A function
// for the engine thread always fails on another one (NAR_WRONG_THREAD).
class Host {
public:
    explicit Host(std::shared_ptr<detail::Core> core) noexcept : core_(std::move(core)) {}

    // Writes one log line. The host prefixes the plugin's id. Thread-safe.
    void log(Level level, std::string_view message) const noexcept { core_->log(level, message); }

    // The settings of this plugin, [plugins."ID"] of story.toml, as a JSON object; "{}" if the host
    // does not offer the service, or if the instance has ended. The view is valid as long as the
    // instance. Thread-safe.
    std::string_view settings() const noexcept {
        const std::lock_guard lock(core_->ending);
        const auto* functions = config();
        return functions == nullptr ? "{}" : detail::to_view(functions->settings(core_->host()));
    }
    // The story's folder; empty if there is no story, and where settings() is "{}". Valid as long as
    // the instance. Thread-safe.
    std::string_view story() const noexcept {
        const std::lock_guard lock(core_->ending);
        const auto* functions = config();
        return functions == nullptr ? "" : detail::to_view(functions->story(core_->host()));
    }
    // The story's title; empty if there is no story, and where settings() is "{}". Valid as long as
    // the instance. Thread-safe.
    std::string_view title() const noexcept {
        const std::lock_guard lock(core_->ending);
        const auto* functions = config();
        return functions == nullptr ? "" : detail::to_view(functions->title(core_->host()));
    }
    // The story's opening as a JSON object {"text": "…", "choices": ["…"]}; empty if the story has
    // no [opening], and where settings() is "{}". Valid as long as the instance. Thread-safe.
    std::string_view opening() const noexcept {
        const std::lock_guard lock(core_->ending);
        const auto* functions = config();
        return functions == nullptr ? "" : detail::to_view(functions->opening(core_->host()));
    }
    // The language of the story's texts as a BCP 47 language tag, for example "de"; empty if the
    // story does not say, and where settings() is "{}". Valid as long as the instance. Thread-safe.
    std::string_view language() const noexcept {
        const std::lock_guard lock(core_->ending);
        const auto* functions = config();
        return functions == nullptr ? "" : detail::to_view(functions->language(core_->host()));
    }

    // Publishes a small value of this plugin, which the program reads with Session::published.
    // `name` has at most 64 bytes of a-z 0-9 . _ -, `value` at most 4096 bytes; an empty value
    // removes it. Throws NAR_INVALID_ARGUMENT. Engine thread.
    void publish(std::string_view name, std::string_view value) const {
        const auto* functions = core_->find_or_fail<nar_host_config>();
        if (functions == nullptr) return;
        const nar_status status =
            functions->publish(core_->host(), detail::to_c(name), detail::to_c(value));
        if (status == NAR_OK) return;
        core_->fail<nar_host_config>(status, "publishing \"" + std::string(name) + "\"");
    }

    // Withholds a variable of the host's environment from the tools of this session, because its
    // value is a secret of this plugin. Engine thread, also in the constructor.
    void withhold(std::string_view variable) const {
        const auto* functions = config();
        if (functions == nullptr) return;
        const nar_status status = functions->withhold(core_->host(), detail::to_c(variable));
        if (status != NAR_OK) {
            core_->fail<nar_host_config>(status, "withholding \"" + std::string(variable) + "\"");
        }
    }

    // Also false if the host does not offer the service, or if the instance has ended. Thread-safe.
    bool is_engine_thread() const noexcept { return core_->is_engine_thread(); }

    // The state at a JSON Pointer ("" is the whole state) as JSON, or nothing if it has no value
    // there. Engine thread.
    std::optional<std::string> read_state(std::string_view pointer = {}) const {
        const auto* functions = core_->find_or_fail<nar_host_state>();
        if (functions == nullptr) return std::nullopt;
        std::string text;
        const nar_status status =
            functions->read(core_->host(), detail::to_c(pointer), detail::write_to_string, &text);
        if (status == NAR_OK) return text;
        if (status != NAR_NOT_FOUND) {
            core_->fail<nar_host_state>(status,
                                        "reading the state at \"" + std::string(pointer) + "\"");
        }
        return std::nullopt;
    }

    // Merges a JSON object into the state (RFC 7396). Engine thread.
    void patch_state(std::string_view patch) const {
        const auto* functions = core_->find_or_fail<nar_host_state>();
        if (functions == nullptr) return;
        const nar_status status = functions->patch(core_->host(), detail::to_c(patch));
        if (status != NAR_OK) core_->fail<nar_host_state>(status, "patching the state");
    }

    // The asset registry as a JSON array, oldest first (narratoria/host_session.h). Engine thread.
    std::string assets() const {
        const auto* functions = core_->find_or_fail<nar_host_assets>();
        if (functions == nullptr) return "[]";
        std::string text;
        const nar_status status = functions->list(core_->host(), detail::write_to_string, &text);
        if (status == NAR_OK) return text;
        core_->fail<nar_host_assets>(status, "listing the assets");
        return "[]";
    }

    // Reports the outcome of a rendering for which AssetRenderer::render returned Pending; `seq` is
    // that of the asset. Declined passes it to the next renderer. Returns false if the session no
    // longer waits for it. Engine thread.
    bool rendered(std::uint64_t seq, HandlerResult result) const {
        const auto* functions = core_->find_or_fail<nar_host_render>();
        if (functions == nullptr) return false;
        const nar_status status =
            functions->rendered(core_->host(), seq, detail::status_of(result));
        if (status == NAR_OK) return true;
        if (status != NAR_NOT_FOUND) core_->fail<nar_host_render>(status, "reporting a rendering");
        return false;
    }

    // The id of the session; empty if the instance has ended. Valid as long as the instance.
    // Thread-safe.
    std::string_view session_id() const noexcept {
        const std::lock_guard lock(core_->ending);
        const nar_host* const host = core_->host();
        return host == nullptr ? "" : detail::to_view(host->session_id);
    }

    // Submits a prompt for the player. Its turn begins when the running turn has ended. Returns
    // the id of the submission, or 0 if two prompts of this plugin have not ended yet. Engine thread.
    std::uint64_t submit_prompt(std::string_view text) const {
        const auto* functions = core_->find_or_fail<nar_host_prompt>();
        if (functions == nullptr) return 0;
        std::uint64_t submission = 0;
        const nar_status status = functions->submit(core_->host(), detail::to_c(text), &submission);
        if (status == NAR_OK) return submission;
        if (status != NAR_BUSY) core_->fail<nar_host_prompt>(status, "submitting a prompt");
        return 0;
    }

    // The id of the submission that runs now, or 0. In a sink it is the one that the record belongs
    // to. Engine thread.
    std::uint64_t submission() const {
        const auto* functions = core_->find_or_fail<nar_host_prompt>();
        return functions == nullptr ? 0 : functions->submission(core_->host());
    }

    // Cancels one submission. Returns false if it has ended. Engine thread.
    bool cancel(std::uint64_t submission) const {
        const auto* functions = core_->find_or_fail<nar_host_prompt>();
        if (functions == nullptr) return false;
        const nar_status status = functions->cancel(core_->host(), submission);
        if (status == NAR_OK) return true;
        if (status != NAR_NOT_FOUND) core_->fail<nar_host_prompt>(status, "cancelling");
        return false;
    }

    // Cancels the running submission and all that wait. Engine thread.
    void cancel_all() const {
        const auto* functions = core_->find_or_fail<nar_host_prompt>();
        if (functions == nullptr) return;
        const nar_status status = functions->cancel_all(core_->host());
        if (status != NAR_OK) core_->fail<nar_host_prompt>(status, "cancelling");
    }

    // Goes to the end of a stored turn, once this call has returned: NAR_TURN_PREVIOUS undoes the
    // last prompt, NAR_TURN_BEGINNING starts over. NAR_BUSY: a submission runs or waits;
    // NAR_UNSUPPORTED: the session has no store; other statuses: see nar_host_turns. Engine thread.
    nar_status go_to(std::uint64_t turn, std::uint64_t* submission = nullptr) const {
        const auto* functions = core_->find<nar_host_turns>();
        return functions == nullptr ? NAR_UNSUPPORTED
                                    : functions->go_to(core_->host(), turn, submission);
    }

    // Plays a prompt again, by default the last one. Returns as go_to(). Engine thread.
    nar_status again(std::uint64_t turn = NAR_TURN_CURRENT,
                     std::uint64_t* submission = nullptr) const {
        const auto* functions = core_->find<nar_host_turns>();
        return functions == nullptr ? NAR_UNSUPPORTED
                                    : functions->again(core_->host(), turn, submission);
    }

    // Resumes an interrupted prompt, by default the one that follows the current turn. `flags`: 0 or
    // NAR_RESUME_REPEATS. NAR_DECLINED: a tool that must not run twice had already started, and the
    // flag does not allow it. Otherwise returns as go_to(). Engine thread.
    nar_status resume(std::uint64_t turn = NAR_TURN_INTERRUPTED, std::uint32_t flags = 0,
                      std::uint64_t* submission = nullptr) const {
        const auto* functions = core_->find<nar_host_turns>();
        return functions == nullptr ? NAR_UNSUPPORTED
                                    : functions->resume(core_->host(), turn, flags, submission);
    }

    // Appends the last `count` turns up to a stored turn, by default the current one, as a JSON
    // array, the oldest first (narratoria/host_session.h). NAR_TURN_INTERRUPTED: up to the
    // interrupted prompt that follows the current turn, if there is one. Waits for the disk. Returns
    // as go_to(), but not NAR_BUSY. Engine thread.
    nar_status read_turns(std::string& json, std::uint32_t count,
                          std::uint64_t turn = NAR_TURN_CURRENT) const {
        const auto* functions = core_->find<nar_host_turns>();
        return functions == nullptr
                   ? NAR_UNSUPPORTED
                   : functions->read(core_->host(), turn, count, detail::write_to_string, &json);
    }

    // Queues `function()` for the engine thread; queued functions run in order, and their
    // exceptions are logged. From the constructor, it starts a plugin's own work: the function runs
    // once the instance is active. Returns false if the instance is ending and it will not be
    // called. If the instance ends first, the function is destroyed on the engine thread without
    // being called; to detect this, let it own an object with a destructor, or pass `dropped`.
    // Thread-safe.
    template <class Function>
    bool post(Function&& function) const {
        using PostedFunction = detail::PostedFunction<std::decay_t<Function>>;
        std::unique_ptr<PostedFunction> posted(
            new PostedFunction{core_, std::forward<Function>(function)});
        const std::lock_guard lock(core_->ending);
        if (!core_->is_open()) return false;
        const auto* functions = core_->find<nar_host_post>();
        const nar_status status = functions == nullptr
                                      ? NAR_UNSUPPORTED
                                      : functions->post(core_->host(), &PostedFunction::run,
                                                        &PostedFunction::drop, posted.get());
        if (status == NAR_GONE) return false;
        if (status != NAR_OK) {
            core_->fail<nar_host_post>(status, "posting a function");
            return false;
        }
        // The host owns the function now and runs or drops it.
        static_cast<void>(posted.release());
        return true;
    }

    // Like post; calls `dropped()` if `function` will never be called.
    template <class Function, class Dropped>
    bool post(Function&& function, Dropped&& dropped) const {
        struct FunctionOrDropped {
            std::decay_t<Function> function;
            std::decay_t<Dropped> dropped;
            std::shared_ptr<detail::Core> core;
            bool was_posted = false;
            bool ran = false;

            FunctionOrDropped(Function&& one, Dropped&& other, std::shared_ptr<detail::Core> owner)
                : function(std::forward<Function>(one)),
                  dropped(std::forward<Dropped>(other)),
                  core(std::move(owner)) {}
            ~FunctionOrDropped() {
                if (was_posted && !ran)
                    detail::guard(*core, "a drop function", [this] { dropped(); });
            }
        };
        auto task = std::make_shared<FunctionOrDropped>(std::forward<Function>(function),
                                                        std::forward<Dropped>(dropped), core_);
        // Set before the host gets it, because the engine thread may run it immediately.
        task->was_posted = true;
        NARRATORIA_TRY {
            const bool posted = post([task] {
                task->ran = true;
                task->function();
            });
            if (!posted) task->was_posted = false;
            return posted;
        }
        NARRATORIA_CATCH_ALL {
            task->was_posted = false;
            NARRATORIA_RETHROW;
        }
    }

    // The underlying struct, for services that this class does not wrap and to check whether a
    // service exists. NULL after the instance has ended.
    const nar_host* raw() const noexcept { return core_->host(); }

private:
    friend class Context;
    friend class Timer;
    friend class Poll;
    friend class Process;
    friend class Http;

    const nar_host_config* config() const noexcept {
        return core_->is_open() ? core_->find<nar_host_config>() : nullptr;
    }

    std::shared_ptr<detail::Core> core_;
};

}  // namespace narratoria::plugin
