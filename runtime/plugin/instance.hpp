// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plugin instance in one session: its host, its lifecycle, and the guard around every call into
// it.

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/foreign_watch.hpp"
#include "base/inbox.hpp"
#include "event/stream.hpp"
#include "narratoria/engine.h"
#include "plugin/http_service.hpp"
#include "plugin/library.hpp"
#include "plugin/process_service.hpp"
#include "plugin/published.hpp"
#include "plugin/session_access.hpp"

namespace narratoria::plugin {

// A call that blocks the engine thread for longer than this is reported.
inline constexpr int64_t kCallBudgetMs = 50;
// The limit of queued posts per plugin. Further posts return NAR_BUSY.
inline constexpr size_t kMaxPosts = 100'000;

struct HostHandle;

// An extension of the host (nar_session_extend), without a library. `functions` must stay valid
// until `released` was called.
struct OwnExtension {
    std::string id;
    std::string extension;
    const void* functions;
    void* data;
    void (*released)(void* data);  // may be NULL
    // Several host functions share the instance, so a violation is only reported and disables none.
    bool is_shared = false;
};

// Lifecycle: Made → Init → Active → Deinit → Over. Created and destroyed on the engine thread.
// Engine thread only, except where a function says otherwise.
class Instance : public event::SinkWatcher, public Inbox::Poster {
public:
    enum class Phase : uint8_t { Made, Init, Active, Deinit, Over };

    // `settings`: a JSON object. `library`, `session` and `story` must outlive the instance.
    Instance(const Library& library, std::string path, SessionAccess& session, std::string settings,
             const StoryInfo& story);
    // Creates the instance of a host's extension. It is active immediately; `released` replaces
    // deinit.
    Instance(OwnExtension own, SessionAccess& session, const StoryInfo& story);
    ~Instance() override;  // calls deinit if init succeeded
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;

    // Returns false and a reason if the plugin cannot serve this session.
    // `code` is for programs and may stay empty.
    bool init(std::string& reason, std::string& code);

    // Calls into the plugin. An exception disables it. Returns false if it threw or is disabled.
    template <typename Call>
    bool call(const char* what, Call&& function) {
        return !disabled() && call_always(what, std::forward<Call>(function));
    }
    // Also calls a disabled plugin; for functions that release its resources.
    template <typename Call>
    bool call_always(const char* what, Call&& function) {
        const int64_t start = begin_call();
        bool threw = true;
        try {
            function();
            threw = false;
        } catch (const std::exception& exception) {
            note_thrown(what, exception.what());
        } catch (...) {
            note_thrown(what, "an exception that is not a std::exception");
        }
        end_call(what, start);
        return !threw;
    }

    // Marks the session's narrator: only this instance may answer questions. is_narrator() is
    // thread-safe.
    void set_narrator() { is_narrator_.store(true); }
    bool is_narrator() const { return is_narrator_.load(); }

    // Disables the plugin after a violation. It receives no more calls, except to release
    // resources. A shared instance only reports the violation.
    void disable(std::string reason);
    void set_on_disabled(std::function<void()> on_disabled) {
        on_disabled_ = std::move(on_disabled);
    }
    // Thread-safe. Disables the plugin in the next iteration of the loop.
    void disable_soon(std::string reason);
    bool disabled() const { return disabled_.load(std::memory_order_acquire); }
    const std::string& disabled_reason() const { return reason_; }

    // Reports a non-fatal violation; rate-limited per instance. Thread-safe.
    void report(std::string_view message);

    void run_post(const Inbox::Post& post) override;
    void drop_post(const Inbox::Post& post) override;

    void on_sink_threw(const char* what) noexcept override;
    void on_sink_modified_record() noexcept override;
    void on_sink_flooded(size_t dropped) noexcept override;
    void on_sink_slow(int64_t milliseconds, size_t called) noexcept override;

    const Library& library() const { return library_; }
    // The struct of an extension, or NULL.
    const void* extension(std::string_view id) const;
    // True for an extension of the host. Its calls have no time budget.
    bool is_own() const { return own_ != nullptr; }
    const nar_host* host() const;
    // For a failed extend(): the host keeps its data, so `released` must not be called.
    void keep_from_release() { own_->released = nullptr; }
    // The path in this session's search; one file may have several paths.
    const std::string& path() const { return path_; }
    void* data() const { return data_; }
    Phase phase() const { return phase_; }
    SessionAccess& session() { return session_; }
    Inbox& inbox() { return inbox_; }  // thread-safe
    const std::string& settings() const { return settings_; }
    const StoryInfo& story() const { return *story_.load(); }  // thread-safe
    // `story` must outlive the instance, and so must the one from before: the plugin may hold views.
    void set_story(const StoryInfo& story) { story_.store(&story); }

    std::map<uint64_t, std::unique_ptr<Timer>> timers;
    std::map<uint64_t, std::unique_ptr<ForeignWatch>> polls;
    ProcessService processes{*this};
    HttpService requests{*this};
    Published published;
    uint64_t last_handle = 0;
    uint64_t last_cancelled = 0;  // submission whose cancellation was logged

private:
    bool is_shared() const { return own_ != nullptr && own_->is_shared; }
    void enter_phase(Phase phase);
    int64_t begin_call();
    void end_call(const char* what, int64_t start);
    void note_thrown(const char* what, const char* text) noexcept;

    const std::unique_ptr<OwnExtension> own_;
    const std::unique_ptr<const Library> own_library_;
    const Library& library_;
    std::string path_;
    SessionAccess& session_;
    Inbox& inbox_;
    std::string settings_;
    std::atomic<const StoryInfo*> story_;
    HostHandle* handle_;
    void* data_ = nullptr;
    std::atomic<Phase> phase_{Phase::Made};
    std::atomic<bool> disabled_{false};
    std::atomic<bool> is_narrator_{false};
    std::atomic<uint32_t> reports_{0};
    std::string reason_;
    std::function<void()> on_disabled_;
};

}  // namespace narratoria::plugin
