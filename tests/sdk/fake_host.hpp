// SPDX-License-Identifier: Apache-2.0
#pragma once
// A host that implements the plugin contract exactly and records every call.

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "narratoria/asset_renderer.h"
#include "narratoria/host.h"
#include "narratoria/host_http.h"
#include "narratoria/host_loop.h"
#include "narratoria/host_process.h"
#include "narratoria/host_session.h"
#include "narratoria/invocation.h"
#include "narratoria/narrator.h"
#include "narratoria/plugin.h"
#include "narratoria/store.h"

class FakeHost {
public:
    struct Posted {
        void (*function)(void*);
        void (*drop)(void*);
        void* user;
    };
    struct Waiting {
        std::int64_t what;  // milliseconds, or a file descriptor
        void (*function)(void*);
        void* user;
        std::uint32_t events = 0;
        void (*on_ready)(void*, std::uint32_t) = nullptr;
    };
    struct Running {
        std::vector<std::string> arguments;
        std::vector<std::string> environment;
        bool has_environment = false;
        nar_process_events events{};
        void* user = nullptr;
        std::string input;
        bool is_input_closed = false;
        std::int64_t grace_ms = -1;  // as passed to terminate
    };
    struct Requested {
        nar_http_request given;
        std::string url;
        nar_http_events events;
        void* user;
    };
    struct Invoked {
        std::uint64_t token;
        std::string invocation;
        void (*on_outcome)(void*, const nar_invoke_outcome*);
        void* user;
    };
    struct Ended {
        int exit_status;
        std::string code;
        std::string error;
        std::uint64_t resident_bytes;
        bool is_permanent;
    };

    FakeHost()
        : raw_{sizeof(nar_host), NAR_ABI_VERSION, this, &FakeHost::get_extension, NAR_STR("game")} {
    }
    FakeHost(const FakeHost&) = delete;
    FakeHost& operator=(const FakeHost&) = delete;

    const nar_host* raw() const { return &raw_; }

    // ---- settings of the test
    std::set<std::string> missing;    // ids of extensions that are not offered
    std::set<std::string> too_short;  // ids with a struct that ends after two numbers
    std::string settings = "{}";
    std::string story;
    std::string title;
    std::string opening;
    std::string language;
    std::map<std::string, std::string> state;
    bool is_prompt_waiting = false;
    bool is_active = false;             // between init and deinit
    nar_status write_status = NAR_OK;   // result of writing to a process
    std::string start_failure;          // why a process cannot be started
    nar_status output_status = NAR_OK;  // result of a tool's output
    nar_status invoke_status = NAR_OK;
    std::string invoke_failure;

    // ---- recorded calls
    std::vector<std::string> log;  // "error: text"
    std::vector<std::string> patches;
    std::vector<std::string> published;  // "name=value"
    std::vector<std::string> withheld;
    std::vector<std::string> prompts;
    std::vector<std::uint64_t> moves;                // turns that the plugin went to
    std::vector<std::uint64_t> cancelled;            // submissions
    std::map<std::uint64_t, nar_status> renderings;  // by seq
    std::vector<Posted> posted;
    std::map<std::uint64_t, Waiting> timers;
    std::map<std::uint64_t, Waiting> polls;
    std::map<std::uint64_t, Running> processes;
    std::map<std::uint64_t, Requested> requests;
    std::vector<std::int64_t> released;           // the grace period of each released process
    std::map<std::uint64_t, std::string> deltas;  // by token
    std::vector<std::string> usages;
    std::map<std::uint64_t, std::string> plans;     // by token
    std::map<std::uint64_t, std::string> failures;  // by token
    std::map<std::uint64_t, Invoked> invoked;       // by number
    std::vector<std::uint64_t> cancelled_invocations;
    std::map<std::uint64_t, std::string> output;  // by token
    std::map<std::uint64_t, std::string> diagnostics;
    std::map<std::uint64_t, Ended> ended;
    std::map<std::uint64_t, std::vector<std::string>> commands;
    std::map<std::uint64_t, bool> waiting_tools;
    std::set<std::uint64_t> dead;  // tokens that are no longer valid
    int refused_calls = 0;         // STALE or GONE: a host logs it with the plugin's id

    void run_posted() {
        for (const Posted& one : std::exchange(posted, {})) one.function(one.user);
    }
    void drop_posted() {
        for (const Posted& one : std::exchange(posted, {})) {
            if (one.drop != nullptr) one.drop(one.user);
        }
    }
    void fire_timer() {
        const auto first = timers.begin();
        const Waiting waiting = first->second;
        timers.erase(first);
        waiting.function(waiting.user);
    }
    void make_readable() { make_ready(NAR_POLL_READABLE); }
    void make_ready(std::uint32_t events) {
        const Waiting waiting = polls.begin()->second;
        waiting.on_ready(waiting.user, events);
    }
    void end_process(const nar_process_exit& exit) {
        const auto node = processes.extract(processes.begin());
        node.mapped().events.on_exit(node.mapped().user, node.key(), &exit);
    }
    void tell_outcome(std::uint64_t number, std::string_view outcome) {
        const auto node = invoked.extract(number);
        const nar_invoke_outcome given{
            sizeof given, 0, node.mapped().token, number, {outcome.data(), outcome.size()}};
        node.mapped().on_outcome(node.mapped().user, &given);
    }
    // Waits for the invocation to end; another thread may end it.
    Ended wait_for_end(std::uint64_t token) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ended.count(token) != 0; });
        return ended[token];
    }
    bool has_logged(std::string_view text) const {
        return std::any_of(log.begin(), log.end(), [text](const std::string& line) {
            return line.find(text) != std::string::npos;
        });
    }

private:
    static FakeHost& of(const nar_host* host) { return *static_cast<FakeHost*>(host->context); }
    static std::string text(nar_str view) { return std::string(view.data, view.size); }
    static nar_str view(const std::string& text) { return {text.data(), text.size()}; }

    nar_status refuse(nar_status status) {
        ++refused_calls;
        return status;
    }
    bool is_here() const { return std::this_thread::get_id() == engine_thread_; }

    static const void* get_extension(const nar_host* host, nar_str id) {
        FakeHost& self = of(host);
        const std::string name = text(id);
        if (self.missing.count(name) != 0) return nullptr;
        alignas(8) static constexpr std::uint32_t only_numbers[2] = {8, 0};
        if (self.too_short.count(name) != 0) return &only_numbers;
        if (name == NAR_HOST_LOG) return &log_functions;
        if (name == NAR_HOST_CONFIG) return &config_functions;
        if (name == NAR_HOST_THREAD_CHECK) return &thread_functions;
        if (name == NAR_HOST_STATE) return &state_functions;
        if (name == NAR_HOST_ASSETS) return &asset_functions;
        if (name == NAR_HOST_PROMPT) return &prompt_functions;
        if (name == NAR_HOST_TURNS) return &turns_functions;
        if (name == NAR_HOST_RENDER) return &render_functions;
        if (name == NAR_HOST_POST) return &post_functions;
        if (name == NAR_HOST_TIMER) return &timer_functions;
        if (name == NAR_HOST_POLL) return &poll_functions;
        if (name == NAR_HOST_PROCESS) return &process_functions;
        if (name == NAR_HOST_HTTP) return &http_functions;
        if (name == NAR_EXTENSION_NARRATOR) return &narrator_functions;
        if (name == NAR_HOST_INVOKE) return &invoke_functions;
        if (name == NAR_HOST_INVOCATION) return &invocation_functions;
        return nullptr;
    }

    static void write_log(const nar_host* host, std::uint32_t level, nar_str message) {
        static constexpr const char* names[] = {"", "debug: ", "info: ", "warning: ", "error: "};
        const std::lock_guard lock(of(host).mutex_);
        of(host).log.push_back(names[level] + text(message));
    }
    static nar_str read_settings(const nar_host* host) { return view(of(host).settings); }
    static nar_str read_story(const nar_host* host) { return view(of(host).story); }
    static nar_str read_title(const nar_host* host) { return view(of(host).title); }
    static nar_str read_opening(const nar_host* host) { return view(of(host).opening); }
    static nar_str read_language(const nar_host* host) { return view(of(host).language); }
    static nar_status publish(const nar_host* host, nar_str name, nar_str value) {
        if (!of(host).is_active) return of(host).refuse(NAR_GONE);
        if (name.size == 0) return NAR_INVALID_ARGUMENT;
        of(host).published.push_back(text(name) + "=" + text(value));
        return NAR_OK;
    }
    static nar_status withhold(const nar_host* host, nar_str name) {
        of(host).withheld.push_back(text(name));
        return NAR_OK;
    }
    static std::uint32_t is_engine_thread(const nar_host* host) { return of(host).is_here(); }

    static nar_status read_state(const nar_host* host, nar_str pointer, nar_write_fn write,
                                 void* user) {
        FakeHost& self = of(host);
        if (!self.is_active) return self.refuse(NAR_GONE);
        if (!self.is_here()) return self.refuse(NAR_WRONG_THREAD);
        const auto found = self.state.find(text(pointer));
        if (found == self.state.end()) return NAR_NOT_FOUND;
        // Writes two pieces, so a reader must not assume that the first is complete.
        const std::string& json = found->second;
        const nar_status first = write(user, {json.data(), 1});
        return first != NAR_OK ? first : write(user, {json.data() + 1, json.size() - 1});
    }
    static nar_status patch_state(const nar_host* host, nar_str patch) {
        if (patch.size == 0 || patch.data[0] != '{') return NAR_INVALID_DOCUMENT;
        of(host).patches.push_back(text(patch));
        return NAR_OK;
    }
    static nar_status list_assets(const nar_host*, nar_write_fn write, void* user) {
        return write(user, NAR_STR("[]"));
    }
    static nar_status submit_prompt(const nar_host* host, nar_str words,
                                    std::uint64_t* submission) {
        if (of(host).is_prompt_waiting) return NAR_BUSY;
        of(host).prompts.push_back(text(words));
        if (submission != nullptr) *submission = of(host).prompts.size();
        return NAR_OK;
    }
    static std::uint64_t submission(const nar_host* host) { return of(host).prompts.size(); }
    static nar_status cancel(const nar_host* host, std::uint64_t submission) {
        if (submission == 0 || submission > of(host).prompts.size()) return NAR_NOT_FOUND;
        of(host).cancelled.push_back(submission);
        return NAR_OK;
    }
    static nar_status cancel_all(const nar_host* host) {
        of(host).cancelled.push_back(0);
        return NAR_OK;
    }
    static nar_status go_to(const nar_host* host, std::uint64_t turn, std::uint64_t* submission) {
        of(host).moves.push_back(turn);
        if (submission != nullptr) *submission = of(host).moves.size();
        return NAR_OK;
    }
    static nar_status again(const nar_host*, std::uint64_t, std::uint64_t*) { return NAR_BUSY; }
    static nar_status read_turns(const nar_host*, std::uint64_t turn, std::uint32_t count,
                                 nar_write_fn write, void* user) {
        if (turn != NAR_TURN_CURRENT) return NAR_NOT_FOUND;
        const std::string text = "[" + std::to_string(count) + "]";
        return write(user, {text.data(), text.size()});
    }
    static nar_status resume(const nar_host* host, std::uint64_t turn, std::uint32_t flags,
                             std::uint64_t* submission) {
        return flags == 0 ? NAR_DECLINED : go_to(host, turn, submission);
    }
    static nar_status rendered(const nar_host* host, std::uint64_t seq, nar_status status) {
        if (seq == 0) return NAR_NOT_FOUND;
        of(host).renderings[seq] = status;
        return NAR_OK;
    }
    static nar_status post(const nar_host* host, void (*function)(void*), void (*drop)(void*),
                           void* user) {
        FakeHost& self = of(host);
        const std::lock_guard lock(self.mutex_);
        if (!self.is_active) return self.refuse(NAR_GONE);
        self.posted.push_back({function, drop, user});
        return NAR_OK;
    }
    static nar_status start_timer(const nar_host* host, std::uint32_t milliseconds,
                                  void (*function)(void*), void* user, std::uint64_t* timer) {
        FakeHost& self = of(host);
        if (!self.is_active) return self.refuse(NAR_GONE);
        *timer = ++self.last_id_;
        self.timers[*timer] = {milliseconds, function, user};
        return NAR_OK;
    }
    static nar_status stop_timer(const nar_host* host, std::uint64_t timer) {
        return of(host).timers.erase(timer) != 0 ? NAR_OK : of(host).refuse(NAR_NOT_FOUND);
    }
    static nar_status start_poll(const nar_host* host, std::int32_t descriptor,
                                 std::uint32_t events, void (*on_ready)(void*, std::uint32_t),
                                 void* user, std::uint64_t* poll) {
        FakeHost& self = of(host);
        if (descriptor < 0) return NAR_IO;
        *poll = ++self.last_id_;
        self.polls[*poll] = {descriptor, nullptr, user, events, on_ready};
        return NAR_OK;
    }
    static nar_status change_poll(const nar_host* host, std::uint64_t poll, std::uint32_t events) {
        const auto found = of(host).polls.find(poll);
        if (found == of(host).polls.end()) return of(host).refuse(NAR_NOT_FOUND);
        found->second.events = events;
        return NAR_OK;
    }
    static nar_status stop_poll(const nar_host* host, std::uint64_t poll) {
        return of(host).polls.erase(poll) != 0 ? NAR_OK : of(host).refuse(NAR_NOT_FOUND);
    }

    static nar_status start_http(const nar_host* host, const nar_http_request* request,
                                 const nar_http_events* events, void* user, std::uint64_t* number,
                                 nar_failure* failure) {
        FakeHost& self = of(host);
        if (!self.start_failure.empty()) {
            self.start_failure.copy(failure->message, sizeof failure->message - 1);
            return NAR_INVALID_ARGUMENT;
        }
        *number = ++self.last_id_;
        self.requests[*number] = {*request, text(request->url), *events, user};
        return NAR_OK;
    }
    static nar_status cancel_http(const nar_host* host, std::uint64_t number) {
        return of(host).requests.erase(number) != 0 ? NAR_OK : of(host).refuse(NAR_NOT_FOUND);
    }

    static nar_status start_process(const nar_host* host, const nar_program* program,
                                    const nar_process_events* events, void* user,
                                    std::uint64_t* process, nar_failure* failure) {
        FakeHost& self = of(host);
        if (!self.is_active) return self.refuse(NAR_GONE);
        if (!self.start_failure.empty()) {
            self.start_failure.copy(failure->message, sizeof failure->message - 1);
            return NAR_NOT_FOUND;
        }
        Running running;
        for (std::uint64_t at = 0; at < program->argument_count; ++at) {
            running.arguments.push_back(text(program->arguments[at]));
        }
        running.has_environment = program->environment != nullptr;
        for (std::uint64_t at = 0; at < program->environment_count; ++at) {
            running.environment.push_back(text(program->environment[at]));
        }
        running.events = *events;
        running.user = user;
        *process = ++self.last_id_;
        self.processes[*process] = running;
        return NAR_OK;
    }
    static nar_status write_process(const nar_host* host, std::uint64_t process, nar_str bytes) {
        FakeHost& self = of(host);
        if (self.processes.count(process) == 0) return self.refuse(NAR_GONE);
        if (self.write_status == NAR_OK) self.processes[process].input += text(bytes);
        return self.write_status;
    }
    static nar_status close_process_input(const nar_host* host, std::uint64_t process) {
        FakeHost& self = of(host);
        if (self.processes.count(process) == 0) return self.refuse(NAR_GONE);
        self.processes[process].is_input_closed = true;
        return NAR_OK;
    }
    static nar_status terminate_process(const nar_host* host, std::uint64_t process,
                                        std::uint32_t grace_ms) {
        FakeHost& self = of(host);
        if (self.processes.count(process) == 0) return self.refuse(NAR_GONE);
        self.processes[process].grace_ms = grace_ms;
        return NAR_OK;
    }
    static nar_status release_process(const nar_host* host, std::uint64_t process,
                                      std::uint32_t grace_ms) {
        FakeHost& self = of(host);
        if (self.processes.erase(process) == 0) return self.refuse(NAR_GONE);
        self.released.push_back(grace_ms);
        return NAR_OK;
    }

    static nar_status reply(const nar_host* host, std::uint64_t token, nar_str plan) {
        return of(host).answer(of(host).plans, token, plan);
    }
    static nar_status delta(const nar_host* host, std::uint64_t token, nar_str piece) {
        std::map<std::uint64_t, std::string> one;
        const nar_status status = of(host).answer(one, token, piece);
        if (status == NAR_OK) of(host).deltas[token] += one[token];
        return status;
    }
    static nar_status usage(const nar_host* host, std::uint64_t token, nar_str report) {
        std::map<std::uint64_t, std::string> one;
        const nar_status status = of(host).answer(one, token, report);
        if (status == NAR_OK) of(host).usages.push_back(one[token]);
        return status;
    }
    static nar_status fail(const nar_host* host, std::uint64_t token, nar_str message) {
        return of(host).answer(of(host).failures, token, message);
    }
    static nar_status invoke(const nar_host* host, std::uint64_t token, nar_str invocation,
                             void (*on_outcome)(void*, const nar_invoke_outcome*), void* user,
                             std::uint64_t* number, nar_failure* failure) {
        FakeHost& self = of(host);
        if (self.invoke_status != NAR_OK) {
            self.invoke_failure.copy(failure->message, sizeof failure->message - 1);
            return self.invoke_status;
        }
        *number = ++self.last_id_;
        self.invoked[*number] = {token, text(invocation), on_outcome, user};
        return NAR_OK;
    }
    static nar_status cancel_invocation(const nar_host* host, std::uint64_t, std::uint64_t number) {
        if (of(host).invoked.count(number) == 0) return NAR_NOT_FOUND;
        of(host).cancelled_invocations.push_back(number);
        return NAR_OK;
    }
    nar_status answer(std::map<std::uint64_t, std::string>& answers, std::uint64_t token,
                      nar_str said) {
        const std::lock_guard lock(mutex_);
        if (!is_active || dead.count(token) != 0) return refuse(NAR_GONE);
        if (plans.count(token) + failures.count(token) != 0) return refuse(NAR_STALE);
        answers[token] = text(said);
        return NAR_OK;
    }

    static nar_status take_output(const nar_host* host, std::uint64_t token, nar_str bytes) {
        if (of(host).output_status != NAR_OK) return of(host).output_status;
        return of(host).take(of(host).output, token, bytes);
    }
    static nar_status take_diagnostics(const nar_host* host, std::uint64_t token, nar_str bytes) {
        return of(host).take(of(host).diagnostics, token, bytes);
    }
    nar_status take(std::map<std::uint64_t, std::string>& all, std::uint64_t token, nar_str bytes) {
        const std::lock_guard lock(mutex_);
        if (!is_active || dead.count(token) + ended.count(token) != 0) return refuse(NAR_GONE);
        all[token] += text(bytes);
        return NAR_OK;
    }
    static nar_status end_invocation(const nar_host* host, std::uint64_t token,
                                     const nar_invocation_end* end) {
        FakeHost& self = of(host);
        const std::lock_guard lock(self.mutex_);
        if (!self.is_active || self.dead.count(token) != 0) return self.refuse(NAR_GONE);
        if (self.ended.count(token) != 0) return self.refuse(NAR_STALE);
        Ended one{};
        if (end != nullptr) {
            self.output[token] += text(end->last_output);
            one = {end->exit_status, text(end->error_code), text(end->error), end->resident_bytes,
                   (end->flags & NAR_END_PERMANENT) != 0};
        }
        self.ended[token] = one;
        self.changed_.notify_all();
        return NAR_OK;
    }
    static nar_status set_waiting(const nar_host* host, std::uint64_t token, std::uint32_t waits) {
        if (!of(host).is_here()) return NAR_WRONG_THREAD;
        of(host).waiting_tools[token] = waits != 0;
        return NAR_OK;
    }
    static nar_status run_command(const nar_host* host, std::uint64_t token,
                                  const nar_command* command) {
        if (!of(host).is_here()) return NAR_WRONG_THREAD;
        for (std::uint64_t at = 0; at < command->argument_count; ++at) {
            of(host).commands[token].push_back(text(command->arguments[at]));
        }
        return NAR_OK;
    }

    static constexpr nar_host_log log_functions = {sizeof(nar_host_log), 0, &write_log};
    static constexpr nar_host_config config_functions = {
        sizeof(nar_host_config), 0,        &read_settings, &read_story, &read_title, &read_opening,
        &read_language,          &publish, &withhold};
    static constexpr nar_host_thread_check thread_functions = {sizeof(nar_host_thread_check), 0,
                                                               &is_engine_thread};
    static constexpr nar_host_state state_functions = {sizeof(nar_host_state), 0, &read_state,
                                                       &patch_state};
    static constexpr nar_host_assets asset_functions = {sizeof(nar_host_assets), 0, &list_assets};
    static constexpr nar_host_prompt prompt_functions = {
        sizeof(nar_host_prompt), 0, &submit_prompt, &submission, &cancel, &cancel_all};
    static constexpr nar_host_turns turns_functions = {
        sizeof(nar_host_turns), 0, &go_to, &again, &read_turns, &resume};
    static constexpr nar_host_render render_functions = {sizeof(nar_host_render), 0, &rendered};
    static constexpr nar_host_post post_functions = {sizeof(nar_host_post), 0, &post};
    static constexpr nar_host_timer timer_functions = {sizeof(nar_host_timer), 0, &start_timer,
                                                       &stop_timer};
    static constexpr nar_host_poll poll_functions = {sizeof(nar_host_poll), 0, &start_poll,
                                                     &change_poll, &stop_poll};
    static constexpr nar_host_http http_functions = {sizeof(nar_host_http), 0, &start_http,
                                                     &cancel_http};
    static constexpr nar_host_process process_functions = {
        sizeof(nar_host_process), 0,
        &start_process,           &write_process,
        &close_process_input,     &terminate_process,
        &release_process};
    static constexpr nar_host_narrator narrator_functions = {
        sizeof(nar_host_narrator), 0, &reply, &fail, &delta, &usage};
    static constexpr nar_host_invoke invoke_functions = {sizeof(nar_host_invoke), 0, &invoke,
                                                         &cancel_invocation};
    static constexpr nar_host_invocation invocation_functions = {sizeof(nar_host_invocation),
                                                                 0,
                                                                 &take_output,
                                                                 &take_diagnostics,
                                                                 &end_invocation,
                                                                 &run_command,
                                                                 &set_waiting};

    const nar_host raw_;
    const std::thread::id engine_thread_ = std::this_thread::get_id();
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t last_id_ = 0;
};
