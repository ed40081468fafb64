// SPDX-License-Identifier: Apache-2.0
#pragma once
// A host for one instance that follows the ABI and records what the plugin does with it. It does
// not use the runtime, which would tolerate violations; this host reports them as findings.

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.hpp"
#include "narratoria/asset_renderer.h"
#include "narratoria/context.h"
#include "narratoria/event_sink.h"
#include "narratoria/host_http.h"
#include "narratoria/host_loop.h"
#include "narratoria/host_process.h"
#include "narratoria/host_session.h"
#include "narratoria/narrator.h"
#include "narratoria/status.hpp"
#include "narratoria/tool.h"
#include "narratoria/tool_runner.h"
#include "narratoria/ui_handler.h"
#include "plugin_check/call_times.hpp"
#include "plugin_check/child.hpp"
#include "plugin_check/fake_processes.hpp"

namespace narratoria::command::plugin_check {

// A larger size in a struct is invalid: no later version is expected to grow that much.
inline constexpr std::uint32_t kMaxStructSize = 64 * 1024;

using detail::to_c;
using detail::to_view;

struct PluginCheckHostOptions {
    std::string name = "the instance";
    std::string settings = "{}";
    LentMemory memory = LentMemory::Roomy;
    bool lacks_extensions = false;  // get_extension returns NULL for every id
    bool gives_odd_data = false;    // do not judge texts that the plugin may have passed on
    Blame blame;                    // if the plugin does not return from an ordinary call
};

// The replies of a plugin to a narrator's request.
struct NarratorRequest {
    unsigned answers = 0;
    bool has_plan = false;
    std::string plan;
    std::string message;
    bool is_cancelled = false;
    bool was_notified = false;  // the plugin's cancel was called
    Clock::time_point cancelled_at;
};

// The calls of a plugin for one attempt of a tool.
struct ObservedInvocation {
    std::string output;
    std::size_t unread = 0;  // bytes of output since the loop last ran
    bool is_cut = false;     // output beyond the limit was dropped
    unsigned ends = 0;
    bool is_cancelled = false;
    bool is_handed_over = false;
    bool has_refused_end = false;  // ended was called, and refused
    bool is_refused = false;       // start did not return NAR_OK: the token is invalid
    std::int32_t exit_status = 0;
    std::string error_code;
    Clock::time_point cancelled_at;
    Clock::time_point ended_at;
};

class PluginCheckHost {
public:
    PluginCheckHost(TrialReport& report, CallTimes& times, PluginCheckHostOptions options);
    PluginCheckHost(PluginCheckHost&&) = delete;
    ~PluginCheckHost();

    const nar_host* host() const { return host_; }
    const PluginCheckHostOptions& options() const { return options_; }
    TrialReport& report() { return report_; }

    // Calls the plugin on the engine thread. False if it threw an exception.
    bool call(const std::string& doing, const std::string& function,
              const std::function<void()>& ask);

    // Create and destroy the instance. Deinit first removes timers, polls and posts, as hosts do.
    nar_status init(const nar_plugin& plugin, void** instance, std::string* refusal);
    void deinit(const nar_plugin& plugin, void* instance);

    // Runs posts, timers and polls until `is_enough` returns true, for at most `seconds`. Returns
    // the last value of `is_enough`.
    bool run_loop(double seconds, const std::function<bool()>& is_enough);

    std::uint64_t new_request();
    std::uint64_t new_invocation();
    void will_cancel_request(std::uint64_t token, bool was_notified);
    void will_cancel_invocation(std::uint64_t token);
    void forget_refused(std::uint64_t token);
    NarratorRequest request(std::uint64_t token);
    ObservedInvocation invocation(std::uint64_t token);

    // Reads the reason for a refusal from `failure`. A
    // missing or invalid reason is a finding of P9.
    static std::string reason_in(TrialReport& report, const nar_failure& failure,
                                 std::string_view who);

    // Writes the reason for a refused call to `failure`, unless it is NULL or too small.
    static void write_reason(nar_failure* failure, std::string_view why);

    // True if the plugin submitted a prompt since the last call of this function.
    bool consume_prompt();
    // render.rendered must follow for this asset.
    void expect_rendering(std::uint64_t seq);
    std::size_t pending_renderings() const;

    // Reports a finding if more processes or threads exist than a plugin may have.
    void judge_use();

    // True if the address is one of this host's or its extensions'. Finds hosts in global
    // variables.
    bool owns(const void* address) const;

private:
    enum class Life { ProcessSnapshot, Init, Active, Deinit, Ended };
    static constexpr unsigned kInInit = 1, kInActive = 2, kInDeinit = 4;

    // The number of callbacks that led to this one without a pause.
    using ChainLength = unsigned;
    struct Post {
        void (*function)(void*);
        void (*drop)(void*);
        void* user;
        ChainLength chain;
    };
    struct Timer {
        Clock::time_point due;
        void (*on_time)(void*);
        void* user;
        ChainLength chain;
    };
    struct Poll {
        int descriptor;
        dev_t device;  // of the polled file, to detect that the descriptor was closed
        ino_t inode;
        std::uint32_t events;
        void (*on_ready)(void*, std::uint32_t);
        void* user;
        unsigned ready_rounds = 0;  // consecutive rounds of the loop in which it was ready
    };

    // The host that a call is for, or null and the status to return.
    static PluginCheckHost* entered(const nar_host* host, const char* function, unsigned allowed,
                                    bool belongs_to_engine_thread, nar_status* status);
    bool read_end(const nar_invocation_end& end, nar_invocation_end& read);
    // Each reports a finding if it returns false.
    bool is_readable(nar_str text, const char* function, const char* what);
    bool text_is_good(nar_str text, const char* function, const char* what);
    bool object_is_good(nar_str text, const char* function);
    bool is_engine_thread() const;
    void wake();
    template <typename Extension>
    void publish(const char* id, const Extension& functions);
    void publish_extensions();
    NarratorRequest* open_request(std::uint64_t token, const char* function, nar_status& status);
    nar_status answer(std::uint64_t token, const char* function, nar_str text, bool is_plan);
    void stop_loop();

    static const void* host_get_extension(const nar_host* host, nar_str id);
    static void log_write(const nar_host* host, std::uint32_t level, nar_str message);
    static nar_str config_settings(const nar_host* host);
    static nar_str config_story(const nar_host* host);
    static nar_str config_title(const nar_host* host);
    static nar_str config_opening(const nar_host* host);
    static nar_str config_language(const nar_host* host);
    static nar_status config_withhold(const nar_host* host, nar_str name);
    static nar_status config_publish(const nar_host* host, nar_str name, nar_str value);
    static std::uint32_t thread_check_is_engine_thread(const nar_host* host);
    static nar_status state_read(const nar_host* host, nar_str pointer, nar_write_fn write,
                                 void* user);
    static nar_status state_patch(const nar_host* host, nar_str patch);
    static nar_status context_set_state(const nar_host* host, std::uint64_t token, nar_str key,
                                        nar_str value, const nar_state_metadata* metadata,
                                        nar_failure* failure);
    static nar_status context_get_state_value(const nar_host* host, nar_str key, nar_write_fn write,
                                              void* user);
    static nar_status context_has_state(const nar_host* host, nar_str key);
    static nar_status context_get_all_state(const nar_host* host, nar_write_fn write, void* user);
    static nar_status context_clear_state(const nar_host* host, std::uint64_t token,
                                          nar_failure* failure);
    static nar_status context_get_state_metadata(const nar_host* host, nar_str key,
                                                 nar_write_fn write, void* user);
    static nar_status context_get_all_state_metadata(const nar_host* host, nar_write_fn write,
                                                     void* user);
    static nar_status context_register_state_metadata(const nar_host* host, nar_str key,
                                                      const nar_state_metadata* metadata,
                                                      nar_failure* failure);
    static nar_status context_format_state_for_prompt(const nar_host* host, nar_write_fn write,
                                                      void* user);
    static nar_status context_deliver_output(const nar_host* host, std::uint64_t token);
    bool has_open_invocation(std::uint64_t token);
    // Reads the metadata and calls its formatter, as a host does. False, and a finding, if its size
    // is invalid.
    bool use(const nar_state_metadata* metadata, const char* function, nar_failure* failure);
    static nar_status assets_list(const nar_host* host, nar_write_fn write, void* user);
    static nar_status http_start(const nar_host* host, const nar_http_request* given,
                                 const nar_http_events* events, void* user, std::uint64_t* request,
                                 nar_failure* failure);
    static nar_status http_cancel(const nar_host* host, std::uint64_t request);
    static nar_status render_rendered(const nar_host* host, std::uint64_t seq, nar_status status);
    static nar_status prompt_submit(const nar_host* host, nar_str text, std::uint64_t* submission);
    static std::uint64_t prompt_submission(const nar_host* host);
    static nar_status prompt_cancel(const nar_host* host, std::uint64_t submission);
    static nar_status prompt_cancel_all(const nar_host* host);
    static nar_status turns_go_to(const nar_host* host, std::uint64_t turn,
                                  std::uint64_t* submission);
    static nar_status turns_again(const nar_host* host, std::uint64_t turn,
                                  std::uint64_t* submission);
    static nar_status turns_read(const nar_host* host, std::uint64_t turn, std::uint32_t count,
                                 nar_write_fn write, void* user);
    static nar_status turns_resume(const nar_host* host, std::uint64_t turn, std::uint32_t flags,
                                   std::uint64_t* submission);
    static nar_status post_post(const nar_host* host, void (*function)(void*), void (*drop)(void*),
                                void* user);
    static nar_status timer_start(const nar_host* host, std::uint32_t milliseconds,
                                  void (*on_time)(void*), void* user, std::uint64_t* timer);
    static nar_status timer_stop(const nar_host* host, std::uint64_t timer);
    static nar_status poll_stop(const nar_host* host, std::uint64_t poll);
    static nar_status poll_start(const nar_host* host, std::int32_t descriptor,
                                 std::uint32_t events, void (*on_ready)(void*, std::uint32_t),
                                 void* user, std::uint64_t* poll);
    static nar_status poll_change(const nar_host* host, std::uint64_t poll, std::uint32_t events);
    static nar_status process_start(const nar_host* host, const nar_program* program,
                                    const nar_process_events* events, void* user,
                                    std::uint64_t* process, nar_failure* failure);
    static nar_status process_write(const nar_host* host, std::uint64_t process, nar_str bytes);
    static nar_status process_close_input(const nar_host* host, std::uint64_t process);
    static nar_status process_terminate(const nar_host* host, std::uint64_t process,
                                        std::uint32_t grace_ms);
    static nar_status process_release(const nar_host* host, std::uint64_t process,
                                      std::uint32_t grace_ms);
    // False, and a finding, if the plugin closed the descriptor while it was polled.
    bool is_still_open(const Poll& poll);
    bool nothing_can_happen() const;
    void run_chained(ChainLength chain, const char* name, const std::function<void()>& ask);
    static nar_status narrator_reply(const nar_host* host, std::uint64_t token, nar_str plan);
    static nar_status narrator_delta(const nar_host* host, std::uint64_t token, nar_str text);
    static nar_status narrator_usage(const nar_host* host, std::uint64_t token, nar_str usage);
    static nar_status narrator_fail(const nar_host* host, std::uint64_t token, nar_str message);
    static nar_status invoke_tool(const nar_host* host, std::uint64_t token, nar_str invocation,
                                  void (*on_outcome)(void*, const nar_invoke_outcome*), void* user,
                                  std::uint64_t* number, nar_failure* failure);
    static nar_status invoke_cancel(const nar_host* host, std::uint64_t token,
                                    std::uint64_t number);
    static nar_status invocation_output(const nar_host* host, std::uint64_t token, nar_str bytes);
    static nar_status invocation_diagnostics(const nar_host* host, std::uint64_t token,
                                             nar_str bytes);
    static nar_status invocation_ended(const nar_host* host, std::uint64_t token,
                                       const nar_invocation_end* end);
    static nar_status invocation_run(const nar_host* host, std::uint64_t token,
                                     const nar_command* command);
    static nar_status invocation_set_waiting(const nar_host* host, std::uint64_t token,
                                             std::uint32_t waits);

    TrialReport& report_;
    CallTimes& times_;
    const PluginCheckHostOptions options_;
    Loan loan_;  // the nar_host and its extensions
    nar_host* host_ = nullptr;
    nar_str settings_{};
    pid_t engine_thread_;
    Descriptor wake_;
    FakeProcesses processes_;  // engine thread only

    mutable std::mutex mutex_;  // guards all members below
    Life life_ = Life::ProcessSnapshot;
    std::map<std::string, void*, std::less<>> extensions_;
    std::uint64_t submission_ = 0;        // of the last prompt
    std::set<std::uint64_t> renderings_;  // assets whose renderer returned NAR_PENDING
    std::set<std::uint64_t> requested_;   // HTTP requests that have not ended
    std::deque<Post> posts_;
    std::map<std::uint64_t, Timer> timers_;
    std::map<std::uint64_t, Poll> polls_;
    std::map<std::uint64_t, NarratorRequest> requests_;
    std::map<std::uint64_t, ObservedInvocation> invocations_;
    std::set<std::string, std::less<>> published_;  // the names that have a value
    bool prompt_pending_ = false;
    ChainLength chain_ = 0;  // of the running callback; engine thread only
};

}  // namespace narratoria::command::plugin_check
