// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/fake_host.hpp"

#include <cxxabi.h>
#include <fmt/core.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "io/message.hpp"
#include "json.hpp"
#include "plugin_check/containment.hpp"
#include "plugin_check/library_file.hpp"
#include "plugin_check/process_state.hpp"

namespace narratoria::command::plugin_check {
namespace {

// The existing hosts, and the one whose plugin call the engine thread is in. A plugin may pass any
// address as its nar_host: it is looked up here before it is dereferenced.
struct Registry {
    std::mutex mutex;
    std::map<const nar_host*, PluginCheckHost*> hosts;
    // The most recently destroyed hosts (ring buffer).
    std::array<const nar_host*, 64> ended{};
    std::size_t ended_count = 0;
};
Registry& registry() {
    static Registry one;
    return one;
}
PluginCheckHost* current = nullptr;
TrialReport* current_report = nullptr;

// Engine thread only: the number of instances, and the threads that existed before the first.
unsigned living_instances = 0;
std::map<int, std::string> threads_before;

void count_instance() {
    if (living_instances++ == 0) threads_before = running_threads();
}

void forget_instance() {
    if (--living_instances > 0) return;
    for (const auto& [thread, name] : running_threads()) {
        if (!threads_before.contains(thread)) mark_unjoined_thread(thread);
    }
}

}  // namespace

PluginCheckHost::PluginCheckHost(TrialReport& report, CallTimes& times,
                                 PluginCheckHostOptions options)
    : report_(report),
      times_(times),
      options_(std::move(options)),
      loan_(options_.memory == LentMemory::Roomy ? LentMemory::Table : options_.memory),
      engine_thread_(gettid()),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    nar_host host{};
    host.size = sizeof host;
    host.abi_version = NAR_ABI_VERSION;
    host.get_extension = host_get_extension;
    host.context = this;
    host.session_id = NAR_STR("plugin-check");
    host_ = loan_.object(host, "its nar_host");
    settings_.data = static_cast<const char*>(
        loan_.bytes(options_.settings.data(), options_.settings.size(), "its settings"));
    settings_.size = options_.settings.size();
    if (!options_.lacks_extensions) publish_extensions();
    const std::lock_guard lock(registry().mutex);
    registry().hosts[host_] = this;
    current_report = &report_;
}

PluginCheckHost::~PluginCheckHost() {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    all.hosts.erase(host_);
    all.ended[all.ended_count++ % all.ended.size()] = host_;
}

template <typename Extension>
void PluginCheckHost::publish(const char* id, const Extension& functions) {
    Extension whole = functions;
    whole.size = sizeof whole;
    extensions_[id] = loan_.bytes(&whole, whole.size, id);
}

void PluginCheckHost::publish_extensions() {
    publish(NAR_HOST_LOG, nar_host_log{0, 0, log_write});
    publish(NAR_HOST_CONFIG,
            nar_host_config{0, 0, config_settings, config_story, config_title, config_opening,
                            config_language, config_publish, config_withhold});
    publish(NAR_HOST_THREAD_CHECK, nar_host_thread_check{0, 0, thread_check_is_engine_thread});
    publish(NAR_HOST_STATE, nar_host_state{0, 0, state_read, state_patch});
    publish(NAR_HOST_CONTEXT,
            nar_host_context{0, 0, context_set_state, context_get_state_value, context_has_state,
                             context_get_all_state, context_clear_state, context_get_state_metadata,
                             context_get_all_state_metadata, context_register_state_metadata,
                             context_format_state_for_prompt, context_deliver_output});
    publish(NAR_HOST_ASSETS, nar_host_assets{0, 0, assets_list});
    publish(NAR_HOST_HTTP, nar_host_http{0, 0, http_start, http_cancel});
    publish(NAR_HOST_RENDER, nar_host_render{0, 0, render_rendered});
    publish(NAR_HOST_PROMPT, nar_host_prompt{0, 0, prompt_submit, prompt_submission, prompt_cancel,
                                             prompt_cancel_all});
    publish(NAR_HOST_TURNS,
            nar_host_turns{0, 0, turns_go_to, turns_again, turns_read, turns_resume});
    publish(NAR_HOST_POST, nar_host_post{0, 0, post_post});
    publish(NAR_HOST_TIMER, nar_host_timer{0, 0, timer_start, timer_stop});
    publish(NAR_HOST_POLL, nar_host_poll{0, 0, poll_start, poll_change, poll_stop});
    publish(NAR_HOST_PROCESS,
            nar_host_process{0, 0, process_start, process_write, process_close_input,
                             process_terminate, process_release});
    publish(NAR_EXTENSION_NARRATOR,
            nar_host_narrator{0, 0, narrator_reply, narrator_fail, narrator_delta, narrator_usage});
    publish(NAR_HOST_INVOKE, nar_host_invoke{0, 0, invoke_tool, invoke_cancel});
    publish(NAR_HOST_INVOCATION,
            nar_host_invocation{0, 0, invocation_output, invocation_diagnostics, invocation_ended,
                                invocation_run, invocation_set_waiting});
}

bool PluginCheckHost::is_engine_thread() const { return gettid() == engine_thread_; }

void PluginCheckHost::wake() {
    const std::uint64_t one = 1;
    static_cast<void>(!write(wake_.get(), &one, sizeof one));
}

bool PluginCheckHost::call(const std::string& doing, const std::string& function,
                           const std::function<void()>& ask) {
    PluginCheckHost* const before = current;
    current = this;
    Blame blame = options_.blame;
    if (function == "deinit") blame.hang_rule = "P19";
    report_.begin_call(blame, doing);
    const Clock::time_point began = Clock::now();
    bool returned = true;
    try {
        ask();
    } catch (const abi::__forced_unwind&) {
        report_.add_finding("P25",
                            fmt::format("{} ended the engine's thread (pthread_exit)", doing));
        throw;
    } catch (const std::bad_alloc& error) {
        returned = false;
        report_.add_finding(memory_is_used_up() ? "P42" : "P24",
                            fmt::format("{} threw an exception: {}", doing, error.what()));
    } catch (const std::exception& error) {
        returned = false;
        report_.add_finding("P24", fmt::format("{} threw an exception: {}", doing, error.what()));
    } catch (...) {
        returned = false;
        report_.add_finding(
            "P24", fmt::format("{} threw an exception that is not a std::exception", doing));
    }
    times_.record(function, seconds_since(began));
    report_.end_call();
    current = before;
    return returned;
}

std::string PluginCheckHost::reason_in(TrialReport& report, const nar_failure& failure,
                                       std::string_view who) {
    constexpr std::size_t kRoom = sizeof failure.message;
    const char* end = static_cast<const char*>(std::memchr(failure.message, '\0', kRoom));
    if (end == nullptr || std::memchr(failure.code, '\0', sizeof failure.code) == nullptr) {
        report.add_finding("P9",
                           fmt::format("{} refused with a text that does not end with a NUL", who));
        return std::string(failure.message, ::strnlen(failure.message, kRoom));
    }
    std::string text(failure.message, end);
    if (text.empty()) {
        report.add_finding("P9", fmt::format("{} refused without a reason; write it to "
                                             "failure->message",
                                             who));
    } else if (!is_plain_utf8(text)) {
        report.add_finding("P9", fmt::format("{} refused with a reason that is not UTF-8", who));
    }
    return text;
}

nar_status PluginCheckHost::init(const nar_plugin& plugin, void** instance, std::string* refusal) {
    {
        const std::lock_guard lock(mutex_);
        life_ = Life::Init;
    }
    Loan loan(options_.memory);
    nar_failure* const failure = loan.failure();
    nar_status status = NAR_FAILED;
    *instance = nullptr;
    count_instance();
    const bool returned =
        call("init", "init", [&] { status = plugin.init(host_, instance, failure); });
    judge_use();
    if (returned && status != NAR_OK) {
        *refusal = reason_in(report_, *failure, "init");
    } else if (!returned) {
        *refusal = "it threw an exception";
        status = NAR_FAILED;
    }
    // Posts of init run when the instance is active. If init fails, they are dropped.
    if (status != NAR_OK) {
        stop_loop();
        forget_instance();
    }
    const std::lock_guard lock(mutex_);
    life_ = status == NAR_OK ? Life::Active : Life::Ended;
    return status;
}

void PluginCheckHost::deinit(const nar_plugin& plugin, void* instance) {
    stop_loop();
    {
        const std::lock_guard lock(mutex_);
        life_ = Life::Deinit;
    }
    call("deinit", "deinit", [&] { plugin.deinit(instance); });
    forget_instance();
    const std::lock_guard lock(mutex_);
    life_ = Life::Ended;
}

void PluginCheckHost::judge_use() {
    const std::string more = excess(use_of(getpid()));
    if (!more.empty()) report_.add_finding("P42", more);
}

bool PluginCheckHost::owns(const void* address) const {
    if (address == host_) return true;
    return std::any_of(extensions_.begin(), extensions_.end(),
                       [&](const auto& one) { return one.second == address; });
}

PluginCheckHost* PluginCheckHost::entered(const nar_host* host, const char* function,
                                          unsigned allowed, bool belongs_to_engine_thread,
                                          nar_status* status) {
    PluginCheckHost* self = nullptr;
    bool was_there = false;
    {
        Registry& all = registry();
        const std::lock_guard lock(all.mutex);
        const auto found = all.hosts.find(host);
        if (found != all.hosts.end()) self = found->second;
        was_there = std::find(all.ended.begin(), all.ended.end(), host) != all.ended.end();
    }
    if (self == nullptr) {
        *status = NAR_INVALID_ARGUMENT;
        if (current_report != nullptr && was_there && host != nullptr) {
            current_report->add_finding(
                "P20", fmt::format("{} was called after deinit had returned", function));
        } else if (current_report != nullptr) {
            current_report->add_finding(
                "P34", fmt::format("{} was called with a nar_host that does not exist", function));
        }
        return nullptr;
    }
    TrialReport& report = self->report_;
    const bool on_engine_thread = self->is_engine_thread();
    if (belongs_to_engine_thread && !on_engine_thread) {
        report.add_finding(
            "P22",
            fmt::format("{} was called on a thread other than the engine's; use narratoria.post/1",
                        function));
        *status = NAR_WRONG_THREAD;
        return nullptr;
    }
    if (on_engine_thread && current != nullptr && current != self) {
        report.add_finding("P21",
                           fmt::format("{} was called with the nar_host of {} during a call of {}",
                                       function, self->options_.name, current->options_.name));
    }
    const std::lock_guard lock(self->mutex_);
    *status = NAR_GONE;
    switch (self->life_) {
        case Life::Active: break;
        case Life::Init:
            if ((allowed & kInInit) != 0) break;
            report.add_finding("P18", fmt::format("{} was called in init", function));
            return nullptr;
        case Life::Deinit:
            if ((allowed & kInDeinit) != 0) break;
            // A thread that deinit is joining cannot know that deinit has begun, so allow its call.
            if (on_engine_thread) {
                report.add_finding("P18", fmt::format("{} was called in deinit", function));
            }
            return nullptr;
        case Life::ProcessSnapshot:
        case Life::Ended:
            report.add_finding("P20",
                               fmt::format("{} was called after deinit had returned", function));
            return nullptr;
    }
    *status = NAR_OK;
    return self;
}

bool PluginCheckHost::is_readable(nar_str text, const char* function, const char* what) {
    if (text.data == nullptr && text.size > 0) {
        report_.add_finding("P34",
                            fmt::format("{}: {} is NULL with {} bytes", function, what, text.size));
        return false;
    }
    if (text.size > kMaxTrialMemory) {
        report_.add_finding("P34", fmt::format("{}: the size of {} is {}, more than the process "
                                               "has memory",
                                               function, what, text.size));
        return false;
    }
    return true;
}

bool PluginCheckHost::text_is_good(nar_str text, const char* function, const char* what) {
    if (!is_readable(text, function, what)) return false;
    if (!is_plain_utf8(to_view(text))) {
        if (options_.gives_odd_data) return false;
        report_.add_finding("P34", fmt::format("{}: {} is not UTF-8", function, what));
        return false;
    }
    return true;
}

bool PluginCheckHost::object_is_good(nar_str text, const char* function) {
    if (!text_is_good(text, function, "the JSON")) return false;
    const auto error = json::object_error(to_view(text));
    if (!error) return true;
    if (options_.gives_odd_data) return false;
    report_.add_finding("P34", fmt::format("{}: not a JSON object: {}", function, error->message));
    return false;
}

const void* PluginCheckHost::host_get_extension(const nar_host* host, nar_str id) {
    nar_status status;
    PluginCheckHost* self =
        entered(host, "get_extension", kInInit | kInActive | kInDeinit, false, &status);
    if (self == nullptr || !self->text_is_good(id, "get_extension", "the id")) return nullptr;
    const auto found = self->extensions_.find(to_view(id));
    return found != self->extensions_.end() ? found->second : nullptr;
}

}  // namespace narratoria::command::plugin_check
