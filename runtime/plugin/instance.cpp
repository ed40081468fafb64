// SPDX-License-Identifier: Apache-2.0
#include "plugin/instance.hpp"

#include "base/clock.hpp"
#include "plugin/host_functions.hpp"

namespace narratoria::plugin {
namespace {

constexpr uint32_t kMaxReports = 10;

std::unique_ptr<const Library> library_of(const OwnExtension& own) {
    auto library = std::make_unique<Library>();
    library->id = own.id;
    library->name = own.id;
    library->extensions = {own.extension};
    return library;
}

}  // namespace

Instance::Instance(const Library& library, std::string path, SessionAccess& session,
                   std::string settings, const StoryInfo& story)
    : Poster(kMaxPosts),
      library_(library),
      path_(std::move(path)),
      session_(session),
      inbox_(session.inbox()),
      settings_(std::move(settings)),
      story_(&story),
      handle_(make_host(*this)) {}

Instance::Instance(OwnExtension own, SessionAccess& session, const StoryInfo& story)
    : Poster(kMaxPosts),
      own_(std::make_unique<OwnExtension>(std::move(own))),
      own_library_(library_of(*own_)),
      library_(*own_library_),
      session_(session),
      inbox_(session.inbox()),
      settings_("{}"),
      story_(&story),
      handle_(make_host(*this)),
      data_(own_->data),
      phase_(Phase::Active) {}

const void* Instance::extension(std::string_view id) const {
    if (own_) return own_->extension == id ? own_->functions : nullptr;
    return library_.extension(id);
}

const nar_host* Instance::host() const { return host_of(handle_); }

Instance::~Instance() {
    timers.clear();
    polls.clear();
    requests.cancel_all();
    processes.end_all();
    const bool was_active = phase_ == Phase::Active;
    // No thread can post after this, so forget_posts() below drops all remaining posts.
    enter_phase(Phase::Deinit);
    inbox().close_all(this);
    inbox().forget_posts(*this);
    // Call deinit of a disabled plugin as well: it must join its threads.
    if (was_active) {
        call_always("deinit", [&] {
            if (!own_) library_.plugin.deinit(data_);
            else if (own_->released != nullptr) own_->released(data_);
        });
    }
    phase_ = Phase::Over;
    retire_host(handle_);
    // Again: threads may have sent messages until deinit joined them.
    inbox().forget_posts(*this);
}

void Instance::enter_phase(Phase phase) {
    with_host_locked(handle_, [&] { phase_ = phase; });
}

bool Instance::init(std::string& reason, std::string& code) {
    phase_ = Phase::Init;
    nar_failure failure = empty_failure();
    nar_status status = NAR_FAILED;
    if (!call("init", [&] { status = library_.plugin.init(host_of(handle_), &data_, &failure); })) {
        reason = disabled_reason();
        phase_ = Phase::Over;
        return false;
    }
    if (status != NAR_OK) {
        reason = message_of(failure);
        code = code_of(failure);
        if (reason.empty()) reason = "its init failed without giving a reason";
        phase_ = Phase::Over;
        return false;
    }
    phase_ = Phase::Active;
    return true;
}

int64_t Instance::begin_call() {
    ++session_.callback_depth();
    return is_own() ? 0 : clock::steady_ms();
}

void Instance::end_call(const char* what, int64_t start) {
    --session_.callback_depth();
    if (is_own()) return;
    const int64_t took = clock::steady_ms() - start;
    if (took > kCallBudgetMs) {
        // Exclude it, or the stream would report the same time again for its sinks.
        session_.excuse(took);
        // Not reported for a built-in plugin, because users cannot change it.
        if (is_built_in(library_.id)) return;
        report(std::string(what) + " held the engine thread for " + std::to_string(took) +
               " ms; move long work to a thread or a process");
    }
}

void Instance::note_thrown(const char* what, const char* text) noexcept {
    try {
        disable(std::string(what) + " threw an exception: " + text);
    } catch (...) {
        if (!is_shared()) disabled_ = true;
    }
}

void Instance::disable(std::string reason) {
    if (is_shared()) return report(reason);
    if (disabled_.exchange(true, std::memory_order_acq_rel)) return;
    reason_ = std::move(reason);
    requests.cancel_all();
    processes.kill_all();
    // During Init the caller reports the reason. During Deinit a log line is enough. Only for an
    // active plugin the stream gets a warning.
    if (phase_ != Phase::Active) {
        if (phase_ != Phase::Init) {
            session_.log(NAR_LOG_ERROR, "plugin " + library_.id + ": " + reason_);
        }
        return;
    }
    const std::string message =
        "plugin " + library_.id + " is disabled for this session: " + reason_;
    session_.log(NAR_LOG_ERROR, message);
    session_.warn("PLUGIN_DISABLED", message);
    if (on_disabled_) on_disabled_();
}

void Instance::disable_soon(std::string reason) {
    struct Violation {
        Instance* instance;
        std::string reason;
    };
    auto violation = std::make_unique<Violation>(Violation{this, std::move(reason)});
    const Inbox::Post post{[](void* user) {
                               const std::unique_ptr<Violation> its(static_cast<Violation*>(user));
                               its->instance->disable(std::move(its->reason));
                           },
                           [](void* user) { delete static_cast<Violation*>(user); },
                           violation.get()};
    if (inbox().post(*this, post) == NAR_OK) (void)violation.release();
}

void Instance::run_post(const Inbox::Post& post) {
    if (disabled()) return drop_post(post);
    call("a posted function", [&] { post.function(post.user); });
}

void Instance::drop_post(const Inbox::Post& post) {
    if (post.drop) call_always("a drop function", [&] { post.drop(post.user); });
}

void Instance::report(std::string_view message) {
    const uint32_t count = reports_.fetch_add(1);
    if (count >= kMaxReports) return;
    std::string line = "plugin " + library_.id + ": ";
    line += message;
    if (count + 1 == kMaxReports) line += " (further faults of this plugin are not logged)";
    if (session_.on_engine_thread()) session_.log(NAR_LOG_WARN, line);
    else inbox().log(NAR_LOG_WARN, std::move(line), session_.session_id());
}

void Instance::on_sink_threw(const char* what) noexcept { note_thrown("its event sink", what); }

void Instance::on_sink_modified_record() noexcept {
    try {
        disable(
            "its event sink wrote to a record of the host; copy a record before you change it "
            "(the "
            "later sinks received the original record)");
    } catch (...) {
        disabled_ = true;
    }
}

void Instance::on_sink_flooded(size_t dropped) noexcept {
    try {
        report(
            "its event sink causes a new record for each record, for example by patching the "
            "state; " +
            std::to_string(dropped) + " records were dropped (RECORDS_DROPPED)");
    } catch (...) {
        // Out of memory. The stream publishes a warning anyway.
    }
}

void Instance::on_sink_slow(int64_t milliseconds, size_t called) noexcept {
    if (is_own()) return;
    try {
        const std::string time = "held the engine thread for about " +
                                 std::to_string(milliseconds) + " ms; move long work to a thread";
        if (called == 1) report("its event sink " + time);
        else
            report("its event sink, or another of the " + std::to_string(called) +
                   " sinks called together, " + time + " (each sink is timed from now on)");
    } catch (...) {
    }
}

}  // namespace narratoria::plugin
