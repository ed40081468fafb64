// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/fake_host.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <rapidjson/pointer.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <set>
#include <utility>

#include "display.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "plugin_check/library_file.hpp"
#include "plugin_check/process_state.hpp"

namespace narratoria::command {
namespace {

constexpr double kCallBudget = 0.1;
constexpr double kInitBudget = 1;
constexpr double kDeinitBudget = 2;
// An answer that crosses with a cancel is nobody's fault.
constexpr double kCrossing = 0.15;
constexpr std::size_t kMaxUnread = std::size_t{16} << 20;
constexpr std::size_t kMaxOutput = std::size_t{64} << 20;
// Timers of 0 ms and posts that start each other: work that is split ends before.
constexpr unsigned kMaxChain = 250;
// A chain of this length is followed for some time longer than the loop was to run.
constexpr unsigned kSuspiciousChain = 16;
constexpr double kChainSeconds = 2;
constexpr std::string_view kState =
    R"({"inventory":{"torch":{"lit":true}},"visits":3,"name":"Ada \u00e9","nothing":null})";

// Which hosts there are, and which of them the engine thread is in. The plugin may hand back any
// address: it is looked for here before it is looked at.
struct Registry {
    std::mutex mutex;
    std::map<const nar_host*, PluginCheckHost*> hosts;
    std::set<std::uint64_t> tokens;  // of all hosts
};
Registry& registry() {
    static Registry one;
    return one;
}
PluginCheckHost* current = nullptr;
TrialReport* current_report = nullptr;
// Tokens are never small and never the same in two hosts, so that a mistaken one is seen.
std::uint64_t next_token = 0x5EED'0000'0001;

// NAR_POLL_… as poll(2) has them, and back; an error condition is all that is waited for.
short to_poll(std::uint32_t events) {
    return static_cast<short>(((events & NAR_POLL_READABLE) != 0 ? POLLIN | POLLRDHUP : 0) |
                              ((events & NAR_POLL_WRITABLE) != 0 ? POLLOUT : 0));
}
std::uint32_t from_poll(short revents, std::uint32_t events) {
    if ((revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) return events;
    return ((revents & (POLLIN | POLLRDHUP)) != 0 ? events & NAR_POLL_READABLE : 0) |
           ((revents & POLLOUT) != 0 ? events & NAR_POLL_WRITABLE : 0);
}

std::uint64_t fresh_token() {
    const std::lock_guard lock(registry().mutex);
    registry().tokens.insert(next_token);
    return next_token++;
}

// A token that this host did not give is another instance's, or was never given.
void tell_unknown_token(TrialReport& report, const char* function, std::uint64_t token) {
    const std::lock_guard lock(registry().mutex);
    if (registry().tokens.contains(token)) {
        report.finding("P21", fmt::format("{}: the token belongs to another instance", function));
    } else {
        report.finding("P34", fmt::format("{}: there is no such token", function));
    }
}

}  // namespace

// ---------------------------------------------------------------- CallTimes

void CallTimes::took(const std::string& function, double seconds) {
    const auto [found, is_new] = least_.emplace(function, seconds);
    if (!is_new) found->second = std::min(found->second, seconds);
}

void CallTimes::judge(TrialReport& report) const {
    for (const auto& [function, seconds] : least_) {
        const bool is_deinit = function == "deinit";
        const double budget = is_deinit                                   ? kDeinitBudget
                              : function == "init" || function == "entry" ? kInitBudget
                                                                          : kCallBudget;
        if (seconds <= budget) continue;
        report.finding(is_deinit ? "P19" : "P23",
                       fmt::format("{} took at least {:.0f} ms; the limit is {:.0f} ms", function,
                                   seconds * 1000, budget * 1000));
    }
}

// ---------------------------------------------------------------- PluginCheckHost

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
    const std::lock_guard lock(registry().mutex);
    registry().hosts.erase(host_);
}

template <typename Extension>
void PluginCheckHost::publish(const char* id, const Extension& functions) {
    Extension whole = functions;
    whole.size = options_.is_cut_short ? 2 * sizeof(std::uint32_t) : sizeof whole;
    // A struct that is cut short ends there in memory too.
    extensions_[id] = loan_.bytes(&whole, whole.size, id);
}

void PluginCheckHost::publish_extensions() {
    publish(NAR_HOST_LOG, nar_host_log{0, 0, log_write});
    publish(NAR_HOST_CONFIG,
            nar_host_config{0, 0, config_settings, config_story, config_title, config_opening});
    publish(NAR_HOST_THREAD_CHECK, nar_host_thread_check{0, 0, thread_check_is_engine_thread});
    publish(NAR_HOST_STATE, nar_host_state{0, 0, state_read, state_patch});
    publish(NAR_HOST_ASSETS, nar_host_assets{0, 0, assets_list});
    publish(NAR_HOST_PROMPT, nar_host_prompt{0, 0, prompt_submit, prompt_cancel});
    publish(NAR_HOST_POST, nar_host_post{0, 0, post_post});
    publish(NAR_HOST_TIMER, nar_host_timer{0, 0, timer_start, timer_stop});
    publish(NAR_HOST_POLL, nar_host_poll{0, 0, poll_start, poll_stop, poll_watch, poll_change});
    publish(NAR_HOST_PROCESS,
            nar_host_process{0, 0, process_start, process_write, process_close_input,
                             process_terminate, process_release});
    publish(NAR_EXTENSION_NARRATOR, nar_host_narrator{0, 0, narrator_reply, narrator_fail});
    publish(NAR_HOST_INVOCATION,
            nar_host_invocation{0, 0, invocation_output, invocation_diagnostics, invocation_ended,
                                invocation_run});
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
    if (function == "deinit") blame.hang = "P19";
    report_.begins(blame, doing);
    const Clock::time_point began = Clock::now();
    bool came_back = true;
    try {
        ask();
    } catch (const std::bad_alloc& error) {
        came_back = false;
        report_.finding(memory_is_used_up() ? "P42" : "P24",
                        fmt::format("{} threw an exception: {}", doing, error.what()));
    } catch (const std::exception& error) {
        came_back = false;
        report_.finding("P24", fmt::format("{} threw an exception: {}", doing, error.what()));
    } catch (...) {
        came_back = false;
        report_.finding("P24",
                        fmt::format("{} threw an exception that is not a std::exception", doing));
    }
    times_.took(function, seconds_since(began));
    report_.ends();
    current = before;
    return came_back;
}

std::string PluginCheckHost::reason_in(TrialReport& report, const nar_failure& failure,
                                       std::size_t room, std::string_view who) {
    const char* end = static_cast<const char*>(std::memchr(failure.message, '\0', room));
    if (end == nullptr) {
        report.finding("P9",
                       fmt::format("{} refused with a reason that does not end with a NUL", who));
        return std::string(failure.message, room);
    }
    std::string text(failure.message, end);
    if (text.empty()) {
        report.finding("P9", fmt::format("{} refused without a reason; write it to "
                                         "failure->message",
                                         who));
    } else if (!is_plain_utf8(text)) {
        report.finding("P9", fmt::format("{} refused with a reason that is not UTF-8", who));
    }
    return text;
}

nar_status PluginCheckHost::init(const nar_plugin& plugin, void** instance, std::string* why_not) {
    {
        const std::lock_guard lock(mutex_);
        life_ = Life::Init;
    }
    Loan loan(options_.memory);
    // The least that the contract promises: 256 bytes of message.
    constexpr std::size_t kRoom = 256;
    nar_failure* const failure = loan.failure(kRoom);
    nar_status status = NAR_FAILED;
    *instance = nullptr;
    const bool came_back =
        call("init", "init", [&] { status = plugin.init(host_, instance, failure); });
    judge_use();
    if (came_back && status != NAR_OK) {
        *why_not = reason_in(report_, *failure, kRoom, "init");
    } else if (!came_back) {
        *why_not = "it threw an exception";
        status = NAR_FAILED;
    }
    // What init posted is called when the instance is active, or dropped.
    if (status != NAR_OK) take_loop_away();
    const std::lock_guard lock(mutex_);
    life_ = status == NAR_OK ? Life::Active : Life::Ended;
    return status;
}

void PluginCheckHost::take_loop_away() {
    processes_.end_all();
    std::deque<Post> dropped;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [name, one] : polls_) is_still_open(one);
        timers_.clear();
        polls_.clear();
        dropped.swap(posts_);
    }
    for (const Post& post : dropped) {
        if (post.drop == nullptr) continue;
        call("the drop function of a post", "drop", [&] { post.drop(post.user); });
    }
}

void PluginCheckHost::deinit(const nar_plugin& plugin, void* instance) {
    take_loop_away();
    {
        const std::lock_guard lock(mutex_);
        life_ = Life::Deinit;
    }
    call("deinit", "deinit", [&] { plugin.deinit(instance); });
    const std::lock_guard lock(mutex_);
    life_ = Life::Ended;
}

bool PluginCheckHost::run_loop(double seconds, const std::function<bool()>& is_enough) {
    const Clock::time_point began = Clock::now();
    for (;;) {
        report_.lives();
        if (is_enough()) {
            chain_ = 0;
            return true;
        }
        double left = seconds - seconds_since(began);
        if (left <= 0) {
            // One that has no end is followed until that is certain.
            if (chain_ < kSuspiciousChain || chain_ > kMaxChain || left < -kChainSeconds) {
                chain_ = 0;
                return false;
            }
            left = 0;
        }

        std::vector<pollfd> waiting{{wake_.get(), POLLIN, 0}};
        std::vector<std::uint64_t> names{0};
        double wait = std::min(left, 0.05);
        {
            const std::lock_guard lock(mutex_);
            for (auto& [token, one] : invocations_) one.unread = 0;
            for (const auto& [name, one] : polls_) {
                // A negative descriptor is passed over.
                waiting.push_back({one.events != 0 ? one.descriptor : -1, to_poll(one.events), 0});
                names.push_back(name);
            }
            for (const auto& [name, timer] : timers_) {
                wait = std::min(wait, -seconds_since(timer.due));
            }
            if (!posts_.empty()) wait = 0;
        }
        const std::size_t poll_count = waiting.size();
        processes_.add_to(waiting);
        if (waiting.size() == 1 && wait > 0 && nothing_can_happen()) return false;
        poll(waiting.data(), waiting.size(), wait <= 0 ? 0 : static_cast<int>(wait * 1000) + 1);
        std::uint64_t count = 0;
        static_cast<void>(!read(wake_.get(), &count, sizeof count));

        std::deque<Post> posts;
        std::vector<Timer> due;
        {
            const std::lock_guard lock(mutex_);
            posts.swap(posts_);
            for (auto at = timers_.begin(); at != timers_.end();) {
                if (seconds_since(at->second.due) < 0) {
                    ++at;
                    continue;
                }
                due.push_back(at->second);
                at = timers_.erase(at);
            }
        }
        ChainLength longest = 0;
        for (const Post& post : posts) {
            longest = std::max(longest, post.chain);
            run_chained(post.chain, "a posted function", [&] { post.function(post.user); });
        }
        for (const Timer& timer : due) {
            longest = std::max(longest, timer.chain);
            run_chained(timer.chain, "a timer's on_time", [&] { timer.on_time(timer.user); });
        }
        chain_ = 0;
        processes_.run(
            [this](const char* name, const std::function<void()>& ask) { call(name, name, ask); });
        for (std::size_t index = 1; index < poll_count; ++index) {
            if (waiting[index].revents == 0) continue;
            std::unique_lock lock(mutex_);
            const auto found = polls_.find(names[index]);
            if (found == polls_.end()) continue;  // stopped meanwhile
            const Poll one = found->second;
            if (!is_still_open(one)) {
                polls_.erase(found);
                continue;
            }
            lock.unlock();
            if (one.on_readable != nullptr) {
                call("a poll's on_readable", "a poll's on_readable",
                     [&] { one.on_readable(one.user); });
                continue;
            }
            const std::uint32_t ready = from_poll(waiting[index].revents, one.events);
            if (ready == 0) continue;
            call("a poll's on_ready", "a poll's on_ready", [&] { one.on_ready(one.user, ready); });
        }
        chain_ = longest;
    }
}

// Nothing waits, and there is no thread that could start something: waiting would change nothing.
bool PluginCheckHost::nothing_can_happen() const {
    const std::lock_guard lock(mutex_);
    return timers_.empty() && polls_.empty() && posts_.empty() && processes_.is_empty() &&
           running_threads().size() == 1;
}

void PluginCheckHost::run_chained(ChainLength chain, const char* name,
                                  const std::function<void()>& ask) {
    chain_ = chain;
    if (chain > kMaxChain) {
        report_.finding("P43", fmt::format("{} starts itself again each time, {} times without a "
                                           "pause: the host's loop never rests",
                                           name, kMaxChain));
    }
    call(name, name, ask);
}

bool PluginCheckHost::is_still_open(const Poll& poll) {
    struct stat now {};
    if (fstat(poll.descriptor, &now) == 0 && now.st_dev == poll.device &&
        now.st_ino == poll.inode) {
        return true;
    }
    report_.finding("P44", fmt::format("descriptor {} was closed while it was polled; call "
                                       "poll.stop before close",
                                       poll.descriptor));
    return false;
}

bool PluginCheckHost::take_prompt() {
    const std::lock_guard lock(mutex_);
    return std::exchange(a_prompt_waits_, false);
}

void PluginCheckHost::judge_use() {
    const std::string more = excess(use_of(getpid()));
    if (!more.empty()) report_.finding("P42", more);
}

std::uint64_t PluginCheckHost::new_request() {
    const std::lock_guard lock(mutex_);
    const std::uint64_t token = fresh_token();
    requests_[token];
    return token;
}

std::uint64_t PluginCheckHost::new_invocation() {
    const std::lock_guard lock(mutex_);
    const std::uint64_t token = fresh_token();
    invocations_[token];
    return token;
}

void PluginCheckHost::will_cancel_request(std::uint64_t token, bool is_told) {
    const std::lock_guard lock(mutex_);
    NarratorRequest& request = requests_[token];
    request.is_cancelled = true;
    request.is_told = is_told;
    request.cancelled_at = Clock::now();
}

void PluginCheckHost::will_cancel_invocation(std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    ObservedInvocation& invocation = invocations_[token];
    invocation.is_cancelled = true;
    invocation.cancelled_at = Clock::now();
}

void PluginCheckHost::forget_refused(std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    ObservedInvocation& invocation = invocations_[token];
    invocation.is_refused = true;
    if (invocation.ends > 0) {
        report_.finding("P39", "start refused an invocation for which ended had been called");
    }
}

NarratorRequest PluginCheckHost::request(std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    return requests_[token];
}

ObservedInvocation PluginCheckHost::invocation(std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    return invocations_[token];
}

bool PluginCheckHost::owns(const void* address) const {
    if (address == host_) return true;
    return std::any_of(extensions_.begin(), extensions_.end(),
                       [&](const auto& one) { return one.second == address; });
}

// ---------------------------------------------------------------- what the plugin calls

PluginCheckHost* PluginCheckHost::entered(const nar_host* host, const char* function,
                                          unsigned allowed, bool belongs_to_engine_thread,
                                          nar_status* status) {
    PluginCheckHost* self = nullptr;
    {
        const std::lock_guard lock(registry().mutex);
        const auto found = registry().hosts.find(host);
        if (found != registry().hosts.end()) self = found->second;
    }
    if (self == nullptr) {
        *status = NAR_INVALID_ARGUMENT;
        if (current_report != nullptr) {
            current_report->finding(
                "P34", fmt::format("{} was called with a nar_host that does not exist (any more)",
                                   function));
        }
        return nullptr;
    }
    TrialReport& report = self->report_;
    const bool on_engine_thread = self->is_engine_thread();
    if (belongs_to_engine_thread && !on_engine_thread) {
        report.finding(
            "P22",
            fmt::format("{} was called on another thread than the engine's: use narratoria.post/1",
                        function));
        *status = NAR_WRONG_THREAD;
        return nullptr;
    }
    if (on_engine_thread && current != nullptr && current != self) {
        report.finding("P21",
                       fmt::format("{} was called with the nar_host of {} during a call of {}",
                                   function, self->options_.name, current->options_.name));
    }
    const std::lock_guard lock(self->mutex_);
    *status = NAR_GONE;
    switch (self->life_) {
        case Life::Active: break;
        case Life::Init:
            if ((allowed & kInInit) != 0) break;
            report.finding("P18", fmt::format("{} was called in init", function));
            return nullptr;
        case Life::Deinit:
            if ((allowed & kInDeinit) != 0) break;
            // A thread that is being joined cannot know that deinit has begun.
            if (on_engine_thread) {
                report.finding("P18", fmt::format("{} was called in deinit", function));
            }
            return nullptr;
        case Life::Before:
        case Life::Ended:
            report.finding("P20", fmt::format("{} was called after deinit had returned", function));
            return nullptr;
    }
    *status = NAR_OK;
    return self;
}

bool PluginCheckHost::text_is_good(nar_str text, const char* function, const char* what) {
    if (text.data == nullptr && text.size > 0) {
        report_.finding("P34",
                        fmt::format("{}: {} is NULL with {} bytes", function, what, text.size));
        return false;
    }
    if (!is_plain_utf8(view(text))) {
        if (options_.gives_odd_data) return false;
        report_.finding("P34", fmt::format("{}: {} is not UTF-8", function, what));
        return false;
    }
    return true;
}

bool PluginCheckHost::object_is_good(nar_str text, const char* function) {
    if (!text_is_good(text, function, "the JSON")) return false;
    const auto mistake = json::mistake_in_object(view(text));
    if (!mistake) return true;
    if (options_.gives_odd_data) return false;
    report_.finding("P34", fmt::format("{}: not a JSON object: {}", function, mistake->message));
    return false;
}

const void* PluginCheckHost::host_get_extension(const nar_host* host, nar_str id) {
    nar_status status;
    PluginCheckHost* self =
        entered(host, "get_extension", kInInit | kInActive | kInDeinit, false, &status);
    if (self == nullptr || !self->text_is_good(id, "get_extension", "the id")) return nullptr;
    const auto found = self->extensions_.find(view(id));
    return found != self->extensions_.end() ? found->second : nullptr;
}

void PluginCheckHost::log_write(const nar_host* host, std::uint32_t level, nar_str message) {
    nar_status status;
    PluginCheckHost* self =
        entered(host, "log.write", kInInit | kInActive | kInDeinit, false, &status);
    if (self == nullptr) return;
    if (level < 1 || level > 4) {
        self->report_.finding(
            "P34",
            fmt::format("log.write: the level is {}; valid are 1 debug, 2 info, 3 warning, 4 error",
                        level));
    }
    if (!self->text_is_good(message, "log.write", "the message")) return;
    const std::string line = fmt::format("log {}: {}\n", level, printable(view(message)));
    write_all(STDERR_FILENO, line);
}

nar_str PluginCheckHost::config_settings(const nar_host* host) {
    nar_status status;
    PluginCheckHost* self = entered(host, "config.settings", kInInit | kInActive, false, &status);
    return self != nullptr ? self->settings_ : NAR_STR("{}");
}

nar_str PluginCheckHost::config_story(const nar_host* host) {
    nar_status status;
    entered(host, "config.story", kInInit | kInActive, false, &status);
    return nar_str{nullptr, 0};
}

nar_str PluginCheckHost::config_title(const nar_host* host) {
    nar_status status;
    entered(host, "config.title", kInInit | kInActive, false, &status);
    return nar_str{nullptr, 0};
}

nar_str PluginCheckHost::config_opening(const nar_host* host) {
    nar_status status;
    entered(host, "config.opening", kInInit | kInActive, false, &status);
    return nar_str{nullptr, 0};
}

std::uint32_t PluginCheckHost::thread_check_is_engine_thread(const nar_host* host) {
    nar_status status;
    PluginCheckHost* self = entered(host, "thread_check.is_engine_thread",
                                    kInInit | kInActive | kInDeinit, false, &status);
    return self != nullptr && self->is_engine_thread() ? 1 : 0;
}

nar_status PluginCheckHost::state_read(const nar_host* host, nar_str pointer, nar_write_fn write,
                                       void* user) {
    nar_status status;
    PluginCheckHost* self = entered(host, "state.read", kInActive, true, &status);
    if (self == nullptr) return status;
    if (write == nullptr || !self->text_is_good(pointer, "state.read", "the pointer")) {
        return NAR_INVALID_ARGUMENT;
    }
    const rapidjson::Pointer path(pointer.data != nullptr ? pointer.data : "", pointer.size);
    if (!path.IsValid()) {
        self->report_.finding("P34",
                              fmt::format("state.read: {} is not a JSON Pointer", view(pointer)));
        return NAR_INVALID_ARGUMENT;
    }
    const json::Document state = json::read(kState);
    const json::Value* found = path.Get(state);
    if (found == nullptr) return NAR_NOT_FOUND;
    // In two pieces: nobody promised one.
    const std::string text = json::line(*found);
    const std::string_view whole = text;
    const nar_status first = write(user, to_c(whole.substr(0, whole.size() / 2)));
    if (first != NAR_OK) return first;
    return write(user, to_c(whole.substr(whole.size() / 2)));
}

nar_status PluginCheckHost::state_patch(const nar_host* host, nar_str patch) {
    nar_status status;
    PluginCheckHost* self = entered(host, "state.patch", kInActive, true, &status);
    if (self == nullptr) return status;
    return self->object_is_good(patch, "state.patch") ? NAR_OK : NAR_INVALID_DOCUMENT;
}

nar_status PluginCheckHost::assets_list(const nar_host* host, nar_write_fn write, void* user) {
    nar_status status;
    PluginCheckHost* self = entered(host, "assets.list", kInActive, true, &status);
    if (self == nullptr) return status;
    return write != nullptr ? write(user, NAR_STR("[]")) : NAR_INVALID_ARGUMENT;
}

nar_status PluginCheckHost::prompt_cancel(const nar_host* host) {
    nar_status status;
    PluginCheckHost* self = entered(host, "prompt.cancel", kInActive, true, &status);
    if (self == nullptr) return status;
    const std::lock_guard lock(self->mutex_);
    self->a_prompt_waits_ = false;
    return NAR_OK;
}

nar_status PluginCheckHost::prompt_submit(const nar_host* host, nar_str text) {
    nar_status status;
    PluginCheckHost* self = entered(host, "prompt.submit", kInActive, true, &status);
    if (self == nullptr) return status;
    if (!self->text_is_good(text, "prompt.submit", "the text")) return NAR_INVALID_ARGUMENT;
    const std::lock_guard lock(self->mutex_);
    if (self->a_prompt_waits_) return NAR_BUSY;
    self->a_prompt_waits_ = true;
    return NAR_OK;
}

nar_status PluginCheckHost::post_post(const nar_host* host, void (*function)(void*),
                                      void (*drop)(void*), void* user) {
    nar_status status;
    PluginCheckHost* self = entered(host, "post", kInInit | kInActive, false, &status);
    if (self == nullptr) return status;
    if (function == nullptr) {
        self->report_.finding("P34", "post: the function is NULL");
        return NAR_INVALID_ARGUMENT;
    }
    {
        const std::lock_guard lock(self->mutex_);
        if (self->life_ != Life::Active && self->life_ != Life::Init) return NAR_GONE;
        const ChainLength chain = self->is_engine_thread() ? self->chain_ + 1 : 0;
        self->posts_.push_back({function, drop, user, chain});
    }
    self->wake();
    return NAR_OK;
}

nar_status PluginCheckHost::timer_start(const nar_host* host, std::uint32_t milliseconds,
                                        void (*on_time)(void*), void* user, std::uint64_t* timer) {
    nar_status status;
    PluginCheckHost* self = entered(host, "timer.start", kInActive, true, &status);
    if (self == nullptr) return status;
    if (on_time == nullptr || timer == nullptr) {
        self->report_.finding("P34", "timer.start: on_time or timer is NULL");
        return NAR_INVALID_ARGUMENT;
    }
    const std::lock_guard lock(self->mutex_);
    *timer = fresh_token();
    self->timers_[*timer] = {Clock::now() + std::chrono::milliseconds(milliseconds), on_time, user,
                             milliseconds == 0 ? self->chain_ + 1 : 0};
    return NAR_OK;
}

nar_status PluginCheckHost::timer_stop(const nar_host* host, std::uint64_t timer) {
    nar_status status;
    PluginCheckHost* self = entered(host, "timer.stop", kInActive, true, &status);
    if (self == nullptr) return status;
    const std::lock_guard lock(self->mutex_);
    return self->timers_.erase(timer) > 0 ? NAR_OK : NAR_NOT_FOUND;
}

nar_status PluginCheckHost::add_poll(const char* function, Poll one, std::uint64_t* poll) {
    struct stat information {};
    if ((one.on_readable == nullptr && one.on_ready == nullptr) || poll == nullptr ||
        fstat(one.descriptor, &information) != 0) {
        report_.finding("P34", fmt::format("{}: the function or poll is NULL, or the descriptor "
                                           "is invalid",
                                           function));
        return NAR_INVALID_ARGUMENT;
    }
    if ((one.events & ~(NAR_POLL_READABLE | NAR_POLL_WRITABLE)) != 0) {
        report_.finding("P34", fmt::format("{}: events has bits that are not defined", function));
        return NAR_INVALID_ARGUMENT;
    }
    if (S_ISREG(information.st_mode)) return NAR_IO;
    one.device = information.st_dev;
    one.inode = information.st_ino;
    const std::lock_guard lock(mutex_);
    *poll = fresh_token();
    polls_[*poll] = one;
    return NAR_OK;
}

nar_status PluginCheckHost::poll_start(const nar_host* host, std::int32_t descriptor,
                                       void (*on_readable)(void*), void* user,
                                       std::uint64_t* poll) {
    nar_status status;
    PluginCheckHost* self = entered(host, "poll.start", kInActive, true, &status);
    if (self == nullptr) return status;
    return self->add_poll("poll.start",
                          {descriptor, 0, 0, NAR_POLL_READABLE, on_readable, nullptr, user}, poll);
}

nar_status PluginCheckHost::poll_watch(const nar_host* host, std::int32_t descriptor,
                                       std::uint32_t events, void (*on_ready)(void*, std::uint32_t),
                                       void* user, std::uint64_t* poll) {
    nar_status status;
    PluginCheckHost* self = entered(host, "poll.watch", kInActive, true, &status);
    if (self == nullptr) return status;
    return self->add_poll("poll.watch", {descriptor, 0, 0, events, nullptr, on_ready, user}, poll);
}

nar_status PluginCheckHost::poll_change(const nar_host* host, std::uint64_t poll,
                                        std::uint32_t events) {
    nar_status status;
    PluginCheckHost* self = entered(host, "poll.change", kInActive, true, &status);
    if (self == nullptr) return status;
    if ((events & ~(NAR_POLL_READABLE | NAR_POLL_WRITABLE)) != 0) {
        self->report_.finding("P34", "poll.change: events has bits that are not defined");
        return NAR_INVALID_ARGUMENT;
    }
    const std::lock_guard lock(self->mutex_);
    const auto found = self->polls_.find(poll);
    if (found == self->polls_.end()) return NAR_NOT_FOUND;
    found->second.events = events;
    return NAR_OK;
}

nar_status PluginCheckHost::poll_stop(const nar_host* host, std::uint64_t poll) {
    nar_status status;
    PluginCheckHost* self = entered(host, "poll.stop", kInActive, true, &status);
    if (self == nullptr) return status;
    const std::lock_guard lock(self->mutex_);
    const auto found = self->polls_.find(poll);
    if (found == self->polls_.end()) return NAR_NOT_FOUND;
    self->is_still_open(found->second);
    self->polls_.erase(found);
    return NAR_OK;
}

nar_status PluginCheckHost::process_start(const nar_host* host, const nar_program* program,
                                          const nar_process_events* events, void* user,
                                          std::uint64_t* process, nar_failure* failure) {
    nar_status status;
    PluginCheckHost* self = entered(host, "process.start", kInActive, true, &status);
    if (self == nullptr) return status;
    const auto refuse = [&](nar_status answer, const std::string& why) {
        if (failure != nullptr && failure->size > offsetof(nar_failure, message)) {
            const std::size_t room = std::min<std::size_t>(failure->size, sizeof *failure) -
                                     offsetof(nar_failure, message) - 1;
            failure->message[why.copy(failure->message, room)] = '\0';
        }
        return answer;
    };
    nar_program what{};
    nar_process_events callbacks{};
    const auto is_size = [](std::uint32_t size) {
        return size >= sizeof size && size <= kMaxStructSize;
    };
    const bool has_sizes = program != nullptr && is_size(program->size) &&
                           (events == nullptr || is_size(events->size));
    if (has_sizes) {
        std::memcpy(&what, program, std::min<std::size_t>(program->size, sizeof what));
        if (events != nullptr) {
            std::memcpy(&callbacks, events, std::min<std::size_t>(events->size, sizeof callbacks));
        }
    }
    if (!has_sizes || process == nullptr || what.arguments == nullptr || what.argument_count == 0 ||
        what.arguments[0].size == 0 ||
        (what.environment == nullptr && what.environment_count > 0) ||
        (what.folder.size > 0 && what.folder.data[0] != '/')) {
        self->report_.finding(
            "P34",
            "process.start: a struct or its size is missing or wrong, there is no program "
            "in nar_program, or its folder is not absolute");
        return refuse(NAR_INVALID_ARGUMENT, "an argument is missing or out of range");
    }
    std::vector<std::string> arguments, environment;
    for (std::uint64_t at = 0; at < what.argument_count; ++at) {
        arguments.emplace_back(view(what.arguments[at]));
    }
    for (std::uint64_t at = 0; at < what.environment_count; ++at) {
        environment.emplace_back(view(what.environment[at]));
    }
    if (what.environment == nullptr) {
        const char* const path = getenv("PATH");
        environment.push_back(std::string("PATH=") + (path != nullptr ? path : "/usr/bin:/bin"));
    }
    const std::uint64_t handle = fresh_token();
    std::string why;
    if (!self->processes_.start(handle, std::move(arguments), std::move(environment),
                                std::string(view(what.folder)), callbacks, user, why)) {
        return refuse(NAR_IO, why);
    }
    *process = handle;
    return NAR_OK;
}

nar_status PluginCheckHost::process_write(const nar_host* host, std::uint64_t process,
                                          nar_str bytes) {
    nar_status status;
    PluginCheckHost* self = entered(host, "process.write", kInActive, true, &status);
    if (self == nullptr) return status;
    if (bytes.data == nullptr && bytes.size > 0) {
        self->report_.finding("P34", "process.write: bytes is NULL");
        return NAR_INVALID_ARGUMENT;
    }
    return self->processes_.write(process, view(bytes));
}

nar_status PluginCheckHost::process_close_input(const nar_host* host, std::uint64_t process) {
    nar_status status;
    PluginCheckHost* self = entered(host, "process.close_input", kInActive, true, &status);
    return self != nullptr ? self->processes_.close_input(process) : status;
}

nar_status PluginCheckHost::process_terminate(const nar_host* host, std::uint64_t process,
                                              std::uint32_t grace_ms) {
    nar_status status;
    PluginCheckHost* self = entered(host, "process.terminate", kInActive, true, &status);
    return self != nullptr ? self->processes_.terminate(process, grace_ms) : status;
}

nar_status PluginCheckHost::process_release(const nar_host* host, std::uint64_t process,
                                            std::uint32_t) {
    nar_status status;
    PluginCheckHost* self = entered(host, "process.release", kInActive, true, &status);
    return self != nullptr ? self->processes_.release(process) : status;
}

nar_status PluginCheckHost::answer(std::uint64_t token, const char* function, nar_str text,
                                   bool is_plan) {
    if (!text_is_good(text, function, is_plan ? "the plan" : "the message")) {
        return NAR_INVALID_ARGUMENT;
    }
    const std::lock_guard lock(mutex_);
    const auto found = requests_.find(token);
    if (found == requests_.end()) {
        tell_unknown_token(report_, function, token);
        return NAR_GONE;
    }
    NarratorRequest& request = found->second;
    if (request.answers++ > 0) {
        report_.finding("P36", fmt::format("{}: this request already has a reply", function));
        return NAR_STALE;
    }
    if (request.is_cancelled) {
        if (request.is_told &&
            (is_engine_thread() || seconds_since(request.cancelled_at) > kCrossing)) {
            report_.finding("P37", fmt::format("{}: this request was cancelled", function));
        }
        return NAR_GONE;
    }
    request.has_plan = is_plan;
    (is_plan ? request.plan : request.message) = view(text);
    wake();
    return NAR_OK;
}

nar_status PluginCheckHost::narrator_reply(const nar_host* host, std::uint64_t token,
                                           nar_str plan) {
    nar_status status;
    PluginCheckHost* self = entered(host, "narrator.reply", kInActive, false, &status);
    return self != nullptr ? self->answer(token, "narrator.reply", plan, true) : status;
}

nar_status PluginCheckHost::narrator_fail(const nar_host* host, std::uint64_t token,
                                          nar_str message) {
    nar_status status;
    PluginCheckHost* self = entered(host, "narrator.fail", kInActive, false, &status);
    return self != nullptr ? self->answer(token, "narrator.fail", message, false) : status;
}

nar_status PluginCheckHost::invocation_output(const nar_host* host, std::uint64_t token,
                                              nar_str bytes) {
    nar_status status;
    PluginCheckHost* self = entered(host, "invocation.output", kInActive, false, &status);
    if (self == nullptr) return status;
    if (bytes.data == nullptr && bytes.size > 0) {
        self->report_.finding("P34", "invocation.output: bytes is NULL");
        return NAR_INVALID_ARGUMENT;
    }
    const std::lock_guard lock(self->mutex_);
    const auto found = self->invocations_.find(token);
    if (found == self->invocations_.end()) {
        tell_unknown_token(self->report_, "invocation.output", token);
        return NAR_GONE;
    }
    ObservedInvocation& one = found->second;
    if (one.ends > 0 || one.is_handed_over || one.is_refused) {
        self->report_.finding("P39", fmt::format("invocation.output was called after {}",
                                                 one.ends > 0         ? "ended"
                                                 : one.is_handed_over ? "run"
                                                                      : "start had refused"));
        return NAR_GONE;
    }
    if (one.unread > 0 && one.unread + bytes.size > kMaxUnread) return NAR_BUSY;
    one.unread += bytes.size;
    one.is_cut |= one.output.size() >= kMaxOutput;
    if (!one.is_cut) one.output += view(bytes);
    return NAR_OK;
}

nar_status PluginCheckHost::invocation_diagnostics(const nar_host* host, std::uint64_t token,
                                                   nar_str bytes) {
    nar_status status;
    PluginCheckHost* self = entered(host, "invocation.diagnostics", kInActive, false, &status);
    if (self == nullptr) return status;
    const std::lock_guard lock(self->mutex_);
    const auto found = self->invocations_.find(token);
    if (found == self->invocations_.end()) {
        tell_unknown_token(self->report_, "invocation.diagnostics", token);
        return NAR_GONE;
    }
    if (bytes.data == nullptr && bytes.size > 0) {
        self->report_.finding("P34", "invocation.diagnostics: bytes is NULL");
        return NAR_INVALID_ARGUMENT;
    }
    if (found->second.ends > 0) {
        self->report_.finding("P39", "invocation.diagnostics was called after ended");
        return NAR_GONE;
    }
    return NAR_OK;
}

nar_status PluginCheckHost::invocation_ended(const nar_host* host, std::uint64_t token,
                                             const nar_invocation_end* end) {
    nar_status status;
    PluginCheckHost* self = entered(host, "invocation.ended", kInActive, false, &status);
    if (self == nullptr) return status;
    nar_invocation_end read{};
    if (end != nullptr) {
        if (end->size < 2 * sizeof(std::uint32_t) || end->size > kMaxStructSize) {
            self->report_.finding(
                "P34", fmt::format("invocation.ended: size is {} in the struct", end->size));
            return NAR_INVALID_ARGUMENT;
        }
        std::memcpy(&read, end, std::min<std::size_t>(end->size, sizeof read));
        if (!self->text_is_good(read.error_code, "invocation.ended", "error_code") ||
            !self->text_is_good(read.error, "invocation.ended", "error")) {
            return NAR_INVALID_ARGUMENT;
        }
    }
    const std::lock_guard lock(self->mutex_);
    const auto found = self->invocations_.find(token);
    if (found == self->invocations_.end()) {
        tell_unknown_token(self->report_, "invocation.ended", token);
        return NAR_GONE;
    }
    ObservedInvocation& one = found->second;
    if (one.ends++ > 0) {
        self->report_.finding("P39", "invocation.ended was called a second time");
        return NAR_STALE;
    }
    if (one.is_handed_over || one.is_refused) {
        self->report_.finding("P39", fmt::format("invocation.ended was called after {}",
                                                 one.is_refused ? "start had refused" : "run"));
        return NAR_GONE;
    }
    one.ended_at = Clock::now();
    one.exit_status = read.exit_status;
    one.error_code = view(read.error_code);
    self->wake();
    return NAR_OK;
}

nar_status PluginCheckHost::invocation_run(const nar_host* host, std::uint64_t token,
                                           const nar_command* command) {
    nar_status status;
    PluginCheckHost* self = entered(host, "invocation.run", kInActive, true, &status);
    if (self == nullptr) return status;
    const std::lock_guard lock(self->mutex_);
    const auto found = self->invocations_.find(token);
    if (found == self->invocations_.end()) {
        tell_unknown_token(self->report_, "invocation.run", token);
        return NAR_GONE;
    }
    if (command == nullptr || command->size < sizeof(nar_command) ||
        command->size > kMaxStructSize || command->argument_count == 0 ||
        command->arguments == nullptr) {
        self->report_.finding("P34", "invocation.run: there is no program in the nar_command");
        return NAR_INVALID_ARGUMENT;
    }
    ObservedInvocation& one = found->second;
    if (one.ends > 0 || !one.output.empty() || one.is_handed_over) {
        self->report_.finding("P39", "invocation.run was called after output, ended or run");
        return NAR_GONE;
    }
    one.is_handed_over = true;
    self->wake();
    return NAR_OK;
}

}  // namespace narratoria::command
