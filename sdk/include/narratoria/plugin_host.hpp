// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a plugin may ask of its host: log, settings, state, assets, the next prompt, and the engine's
// loop. Not for direct use: include narratoria/plugin.hpp.

#include "narratoria/host.h"
#include "narratoria/host_loop.h"
#include "narratoria/host_session.h"
#include "narratoria/invocation.h"
#include "narratoria/narrator.h"
#include "narratoria/plugin.h"
#include "narratoria/status.hpp"

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

// The levels of a line in the log.
enum class Level : std::uint32_t { kDebug = 1, kInfo = 2, kWarning = 3, kError = 4 };

namespace detail {

using narratoria::detail::to_c;
using narratoria::detail::to_view;

// A plugin links nothing, so it cannot ask nar_status_text.
inline const char* sentence(nar_status status) noexcept {
    switch (status) {
#define NARRATORIA_SENTENCE(name, value, text) \
    case value: return text;
        NAR_STATUS_LIST(NARRATORIA_SENTENCE)
#undef NARRATORIA_SENTENCE
        default: return "the host answered with a status of a later version";
    }
}

// The most of a text that fits into `room` bytes without cutting a letter of UTF-8 in two.
inline std::size_t whole_letters(std::string_view text, std::size_t room) noexcept {
    if (text.size() <= room) return text.size();
    while (room > 0 && (static_cast<unsigned char>(text[room]) & 0xC0u) == 0x80u) --room;
    return room;
}

inline void tell(nar_failure* failure, std::string_view message) noexcept {
    if (failure == nullptr || failure->size <= offsetof(nar_failure, message)) return;
    const std::size_t room = failure->size - offsetof(nar_failure, message) - 1;
    const std::size_t length = whole_letters(message, room);
    for (std::size_t at = 0; at < length; ++at) failure->message[at] = message[at];
    failure->message[length] = '\0';
}

// What the exception that is being handled says.
inline std::string what_was_thrown() {
    try {
        throw;
    } catch (const std::exception& error) {
        return error.what();
    } catch (...) {
        return "something that is no std::exception was thrown";
    }
}

// What the host may offer: the struct of its functions, the id that asks for it, and the size that the
// struct had when the id was new. A struct that has grown since keeps its first size here, and who
// calls what came later looks at `size` first.
template <class Functions>
struct Offer;
#define NARRATORIA_OFFER(Functions, text)                            \
    template <>                                                      \
    struct Offer<Functions> {                                        \
        static constexpr std::string_view id = text;                 \
        static constexpr std::size_t first_size = sizeof(Functions); \
    };
NARRATORIA_OFFER(nar_host_log, NAR_HOST_LOG)
NARRATORIA_OFFER(nar_host_config, NAR_HOST_CONFIG)
NARRATORIA_OFFER(nar_host_thread_check, NAR_HOST_THREAD_CHECK)
NARRATORIA_OFFER(nar_host_state, NAR_HOST_STATE)
NARRATORIA_OFFER(nar_host_assets, NAR_HOST_ASSETS)
NARRATORIA_OFFER(nar_host_post, NAR_HOST_POST)
NARRATORIA_OFFER(nar_host_timer, NAR_HOST_TIMER)
NARRATORIA_OFFER(nar_host_poll, NAR_HOST_POLL)
NARRATORIA_OFFER(nar_host_narrator, NAR_EXTENSION_NARRATOR)
NARRATORIA_OFFER(nar_host_invocation, NAR_HOST_INVOCATION)
#undef NARRATORIA_OFFER
template <>
struct Offer<nar_host_prompt> {
    static constexpr std::string_view id = NAR_HOST_PROMPT;
    static constexpr std::size_t first_size = offsetof(nar_host_prompt, cancel);
};

template <class Functions>
const Functions* offered_by(const nar_host* host) noexcept {
    const auto id = Offer<Functions>::id;
    const auto* found = static_cast<const Functions*>(host->get_extension(host, to_c(id)));
    return found != nullptr && found->size >= Offer<Functions>::first_size ? found : nullptr;
}

class Pending;

// One per instance; Host, Reply, Invocation, Timer and Poll share it. When the instance ends it
// loses the host, so that whoever is late does nothing instead of using a pointer that has died.
class Core {
public:
    explicit Core(const nar_host* host) noexcept
        : host_(host),
          offers_(offered_by<nar_host_log>(host), offered_by<nar_host_config>(host),
                  offered_by<nar_host_thread_check>(host), offered_by<nar_host_state>(host),
                  offered_by<nar_host_assets>(host), offered_by<nar_host_prompt>(host),
                  offered_by<nar_host_post>(host), offered_by<nar_host_timer>(host),
                  offered_by<nar_host_poll>(host), offered_by<nar_host_narrator>(host),
                  offered_by<nar_host_invocation>(host)) {}

    // The host while the instance lives, else NULL. Threads other than the engine's hold `ending`
    // from asking for it until they are done with it.
    const nar_host* host() const noexcept { return host_.load(std::memory_order_acquire); }
    // False in deinit and afterwards: only log and thread_check work then.
    bool is_open() const noexcept { return life_.load(std::memory_order_acquire) != Life::kEnded; }
    // The constructor of the author's class has returned.
    void activate() noexcept { life_.store(Life::kActive, std::memory_order_release); }

    template <class Functions>
    const Functions* find() const noexcept {
        return host() == nullptr ? nullptr : std::get<const Functions*>(offers_);
    }
    // Throws when the host does not offer it, or when the instance has ended.
    template <class Functions>
    const Functions& require() const {
        if (!is_open()) check<Functions>(NAR_GONE, "a call");
        const Functions* found = find<Functions>();
        if (found == nullptr) {
            throw Error(NAR_UNSUPPORTED, {},
                        "the host does not offer " + std::string(Offer<Functions>::id), {});
        }
        return *found;
    }
    // Throws for anything but NAR_OK.
    template <class Functions>
    void check(nar_status status, std::string_view what) const {
        if (status == NAR_OK) return;
        std::string why = sentence(status);
        if (status == NAR_GONE) {
            why = is_open()
                      ? "it works only after the constructor of the plugin's class has returned"
                      : "the instance has ended";
        }
        throw Error(
            status, {},
            std::string(what) + " (" + std::string(Offer<Functions>::id) + ") failed: " + why, {});
    }

    void log(Level level, std::string_view message) noexcept {
        const std::lock_guard lock(ending);
        const auto* functions = find<nar_host_log>();
        if (functions == nullptr) return;
        functions->write(host(), static_cast<std::uint32_t>(level), to_c(message));
    }

    // Logs the exception that is being handled.
    void log_thrown(std::string_view where) noexcept {
        try {
            log(Level::kError, std::string(where) + " threw: " + what_was_thrown());
        } catch (...) {
            log(Level::kError, "something was thrown, and memory ran out when it was to be told");
        }
    }

    // Nothing but log works from here on; what is unanswered stays so.
    inline void close() noexcept;
    // The host's pointer dies.
    void end() noexcept {
        const std::lock_guard lock(ending);
        host_.store(nullptr, std::memory_order_release);
    }

    // Orders calls of other threads before or after the instance's end. Recursive, because the host
    // may call back while it takes an answer.
    std::recursive_mutex ending;

    // What the host waits for, by the id of what is answered with. Under `ending`.
    std::map<std::pair<std::string_view, std::uint64_t>, Pending*> pending;

private:
    enum class Life { kBegins, kActive, kEnded };

    std::atomic<const nar_host*> host_;
    std::atomic<Life> life_{Life::kBegins};
    const std::tuple<const nar_host_log*, const nar_host_config*, const nar_host_thread_check*,
                     const nar_host_state*, const nar_host_assets*, const nar_host_prompt*,
                     const nar_host_post*, const nar_host_timer*, const nar_host_poll*,
                     const nar_host_narrator*, const nar_host_invocation*>
        offers_;
};

// Something that the host waits for: an answer, or the end of an invocation. It lives as long as
// there is a handle on it, and Core knows it by its token, so that a cancel reaches it.
class Pending {
public:
    Pending(std::shared_ptr<Core> core, std::string_view answered_with, std::uint64_t token)
        : core_(std::move(core)), answered_with_(answered_with), token_(token) {
        const std::lock_guard lock(core_->ending);
        core_->pending[{answered_with_, token_}] = this;
    }
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;

    std::uint64_t token() const noexcept { return token_; }
    Core& core() const noexcept { return *core_; }
    bool is_cancelled() const noexcept { return cancelled_.load(std::memory_order_acquire); }
    void cancel() noexcept { cancelled_.store(true, std::memory_order_release); }

    // Calls the host unless it has been answered or the instance has ended. False: too late.
    template <class Functions, class Call>
    bool call(bool is_answer, Call&& function) {
        const std::lock_guard lock(core_->ending);
        if (answered_ || !core_->is_open()) return false;
        const Functions& functions = core_->require<Functions>();
        // Before the call: the host may call back, and what is called may answer again.
        if (is_answer) answered_ = true;
        const nar_status status = function(functions, core_->host());
        if (status == NAR_GONE || status == NAR_STALE) {
            answered_ = true;
            return false;
        }
        if (status != NAR_OK && is_answer) answered_ = false;
        core_->check<Functions>(status, "an answer");
        return true;
    }
    // Nothing more will be told.
    void settle() noexcept {
        const std::lock_guard lock(core_->ending);
        answered_ = true;
    }

protected:
    ~Pending() {
        const std::lock_guard lock(core_->ending);
        const auto known = core_->pending.find({answered_with_, token_});
        // The host may have given the token a second time.
        if (known != core_->pending.end() && known->second == this) core_->pending.erase(known);
    }

private:
    const std::shared_ptr<Core> core_;
    const std::string_view answered_with_;
    const std::uint64_t token_;
    bool answered_ = false;  // under core_->ending
    std::atomic<bool> cancelled_{false};
};

void Core::close() noexcept {
    const std::lock_guard lock(ending);
    life_.store(Life::kEnded, std::memory_order_release);
    for (const auto& [name, one] : pending) one->cancel();
}

// Marks what is waited for as no longer wanted; its handles see it.
inline void cancel(Core& core, std::string_view answered_with, std::uint64_t token) noexcept {
    const std::lock_guard lock(core.ending);
    const auto known = core.pending.find({answered_with, token});
    if (known != core.pending.end()) known->second->cancel();
}

// Runs what the author wrote so that nothing it throws reaches the C code that called it. What is
// noexcept costs nothing here.
template <class Callback>
void guard(Core& core, std::string_view where, Callback&& callback) noexcept {
    if constexpr (noexcept(callback())) {
        callback();
    } else {
        try {
            callback();
        } catch (...) {
            core.log_thrown(where);
        }
    }
}

inline nar_status write_to_string(void* user, nar_str piece) noexcept {
    try {
        static_cast<std::string*>(user)->append(to_view(piece));
        return NAR_OK;
    } catch (...) {
        return NAR_OUT_OF_MEMORY;
    }
}

// A callable on its way through C's `void *user`; freed by the one call that C promises to make.
template <class Function>
struct Parcel {
    std::shared_ptr<Core> core;
    Function function;

    static void run(void* user) noexcept {
        const std::unique_ptr<Parcel> parcel(static_cast<Parcel*>(user));
        guard(*parcel->core, "a posted function",
              [&]() noexcept(noexcept(parcel->function())) { parcel->function(); });
    }
    static void drop(void* user) noexcept { delete static_cast<Parcel*>(user); }
};

}  // namespace detail

// The host, as one instance sees it. A copy is cheap, and all are safe to keep: after the instance
// has ended they do nothing, or throw Error with NAR_GONE.
//
// In the constructor of the plugin's class only log, settings, story, post and is_engine_thread work;
// in its destructor only log and is_engine_thread. Functions that fail throw narratoria::Error:
// NAR_UNSUPPORTED when the host does not offer it, NAR_WRONG_THREAD outside of the engine thread,
// NAR_GONE outside of the instance's active life.
class Host {
public:
    explicit Host(std::shared_ptr<detail::Core> core) noexcept : core_(std::move(core)) {}

    // One line for people; the host puts the plugin's id in front. Any thread.
    void log(Level level, std::string_view message) const noexcept { core_->log(level, message); }

    // The settings of this plugin, [plugins."ID"] of story.toml: a JSON object. A view that lives as
    // long as the instance. Any thread of the instance.
    std::string_view settings() const {
        const auto& functions = core_->require<nar_host_config>();
        return detail::to_view(functions.settings(core_->host()));
    }
    // The story's folder; empty when there is no story. As settings.
    std::string_view story() const {
        const auto& functions = core_->require<nar_host_config>();
        return detail::to_view(functions.story(core_->host()));
    }

    // Any thread. False too when the host cannot tell, or the instance has ended.
    bool is_engine_thread() const noexcept {
        const std::lock_guard lock(core_->ending);
        const auto* functions = core_->find<nar_host_thread_check>();
        return functions != nullptr && functions->is_engine_thread(core_->host()) != 0;
    }

    // The state at a JSON Pointer ("" is all of it), as JSON; nothing when there is nothing. Engine
    // thread.
    std::optional<std::string> read_state(std::string_view pointer = {}) const {
        const auto& functions = core_->require<nar_host_state>();
        std::string text;
        const nar_status status =
            functions.read(core_->host(), detail::to_c(pointer), detail::write_to_string, &text);
        if (status == NAR_NOT_FOUND) return std::nullopt;
        if (status != NAR_OK) {
            core_->check<nar_host_state>(status,
                                         "reading the state at \"" + std::string(pointer) + "\"");
        }
        return text;
    }

    // Merges a JSON object into the state (RFC 7396). Engine thread.
    void patch_state(std::string_view patch) const {
        const auto& functions = core_->require<nar_host_state>();
        core_->check<nar_host_state>(functions.patch(core_->host(), detail::to_c(patch)),
                                     "patching the state");
    }

    // The registry of assets as a JSON array, oldest first (narratoria/host_session.h). Engine
    // thread.
    std::string assets() const {
        const auto& functions = core_->require<nar_host_assets>();
        std::string text;
        core_->check<nar_host_assets>(functions.list(core_->host(), detail::write_to_string, &text),
                                      "listing the assets");
        return text;
    }

    // The player's next words; the turn begins when the running one has ended. False when one waits
    // already. Engine thread.
    bool submit_prompt(std::string_view text) const {
        const auto& functions = core_->require<nar_host_prompt>();
        const nar_status status = functions.submit(core_->host(), detail::to_c(text));
        if (status == NAR_BUSY) return false;
        core_->check<nar_host_prompt>(status, "submitting a prompt");
        return true;
    }

    // Ends the turn or plan that runs and drops what waits. Throws NAR_UNSUPPORTED where the host is
    // older than this. Engine thread.
    void cancel() const {
        const auto& functions = core_->require<nar_host_prompt>();
        if (functions.size < offsetof(nar_host_prompt, cancel) + sizeof functions.cancel) {
            throw Error(NAR_UNSUPPORTED, {}, "the host is older than narratoria.prompt/1's cancel",
                        {});
        }
        core_->check<nar_host_prompt>(functions.cancel(core_->host()), "cancelling");
    }

    // Calls `function()` on the engine thread, in the order of posting; an exception of it is
    // logged. In the constructor it is the way to begin something by oneself: the function is called
    // when the instance is made. False: it will not be called, because the instance ends. When the
    // instance ends before it was called it is destroyed uncalled, on the engine thread; so whoever
    // must know owns something in it whose destructor tells. Any thread.
    template <class Function>
    bool post(Function&& function) const {
        using Parcel = detail::Parcel<std::decay_t<Function>>;
        std::unique_ptr<Parcel> parcel(new Parcel{core_, std::forward<Function>(function)});
        const std::lock_guard lock(core_->ending);
        if (!core_->is_open()) return false;
        const auto& functions = core_->require<nar_host_post>();
        const nar_status status =
            functions.post(core_->host(), &Parcel::run, &Parcel::drop, parcel.get());
        if (status == NAR_GONE) return false;
        core_->check<nar_host_post>(status, "posting a function");
        // From here on it is the host's, which runs or drops it.
        static_cast<void>(parcel.release());
        return true;
    }

    // As post; `dropped()` is called instead when `function` never will be.
    template <class Function, class Dropped>
    bool post(Function&& function, Dropped&& dropped) const {
        struct Either {
            std::decay_t<Function> function;
            std::decay_t<Dropped> dropped;
            std::shared_ptr<detail::Core> core;
            bool taken = false;
            bool ran = false;

            Either(Function&& one, Dropped&& other, std::shared_ptr<detail::Core> owner)
                : function(std::forward<Function>(one)),
                  dropped(std::forward<Dropped>(other)),
                  core(std::move(owner)) {}
            ~Either() {
                if (taken && !ran) detail::guard(*core, "a drop function", [this] { dropped(); });
            }
        };
        auto either = std::make_shared<Either>(std::forward<Function>(function),
                                               std::forward<Dropped>(dropped), core_);
        // Set before the host has it, because it may run at once on another thread.
        either->taken = true;
        try {
            const bool posted = post([either] {
                either->ran = true;
                either->function();
            });
            if (!posted) either->taken = false;
            return posted;
        } catch (...) {
            either->taken = false;
            throw;
        }
    }

    // The host's struct behind it, for extensions that this class does not wrap, and to ask whether
    // there is one; NULL after the instance has ended.
    const nar_host* raw() const noexcept { return core_->host(); }

private:
    friend class Timer;
    friend class Poll;

    std::shared_ptr<detail::Core> core_;
};

}  // namespace narratoria::plugin
