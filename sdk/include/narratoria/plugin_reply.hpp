// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handles with which a plugin replies later: Reply (narrators) and Invocation (tools and tool
// runners). Not for direct use: include narratoria/plugin.hpp.

#include "narratoria/exceptions.hpp"
#include "narratoria/plugin_context.hpp"
#include "narratoria/plugin_event.hpp"
#include "narratoria/plugin_host.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace narratoria::plugin {

namespace detail {

struct InvocationAccess;

// Carries the function for an outcome through C's `void *user`.
template <class Function>
class OutcomeCallback final : public OwnedCallback {
public:
    OutcomeCallback(std::shared_ptr<Core> core, Function function)
        : core_(std::move(core)), function_(std::move(function)) {}

    static void run(void* user, const nar_invoke_outcome* outcome) noexcept {
        auto& self = *static_cast<OutcomeCallback*>(user);
        // extract() keeps the function alive during the call and destroys it afterwards.
        const std::shared_ptr<Core> core = self.core_;
        const auto node = core->outcome_callbacks.extract(user);
        guard(*core, "the function for an invocation's outcome",
              [&] { self.function_(outcome->number, to_view(outcome->json)); });
    }

private:
    std::shared_ptr<Core> core_;
    Function function_;
};

}  // namespace detail

// The handle by which a narrator replies to one request. It can be copied and used on any thread,
// immediately or later. After the instance has ended, a reply does nothing and returns false. If
// the last copy is destroyed without a reply, the request fails, so that the session does not wait
// forever.
class Reply {
public:
    Reply(std::shared_ptr<detail::Core> core, const nar_narrator_request& request)
        : request_(std::make_shared<Request>(std::move(core), request.token)),
          timeout_(narratoria::detail::to_duration(request.timeout_ms)) {}

    // Identifies the request; the same number is passed to Narrator::cancel_reply.
    std::uint64_t token() const noexcept { return request_->token(); }

    // The time for the reply, from the call of generate on, without the time in which an invoked
    // tool runs; nothing: unlimited.
    std::optional<std::chrono::milliseconds> timeout() const noexcept { return timeout_; }

    // False once the reply is no longer needed: cancelled, timed out, or the instance has ended.
    // Check it from time to time during long work.
    bool is_wanted() const noexcept { return !request_->is_cancelled(); }

    // Tells the next piece of the narrative before the reply: sinks receive NarrativeDelta. If the
    // plan has no "narrative", the pieces are its narrative; otherwise its text replaces them. A
    // piece may end within a character. Returns false if the request has ended. Other failures, such
    // as NAR_BUSY with 16 MiB of pieces waiting for the loop, are handled as in plan().
    bool delta(std::string_view text) const {
        return send("delta", false, [&](const nar_host_narrator& host_side, const nar_host* host) {
            return host_side.delta(host, token(), detail::to_c(text));
        });
    }
    // Reports what the reply takes, before it: a JSON object (narrator-usage-1.schema.json) such as
    // {"inputTokens": 900, "outputTokens": 120}. Returns false if the request has ended. A report
    // that is not valid is handled like other failures, as in plan().
    bool usage(std::string_view usage) const {
        return send("usage", false, [&](const nar_host_narrator& host_side, const nar_host* host) {
            return host_side.usage(host, token(), detail::to_c(usage));
        });
    }
    // Replies with Plan JSON, which is copied. Returns false if the reply is late or not the first.
    // Another failure throws Error on the engine thread, and is logged on other threads.
    // A plan with faults is accepted here, and its faults are in the next request.
    bool plan(std::string_view plan) const {
        return send("plan", true, [&](const nar_host_narrator& host_side, const nar_host* host) {
            return host_side.reply(host, token(), detail::to_c(plan));
        });
    }
    // Replies without a plan and gives the reason. Returns false like plan().
    bool fail(std::string_view message) const { return request_->fail(message); }

    // Runs a tool before the reply (narratoria.invoke/1). `invocation` is {"tool":"…","input":{…}}
    // (abi/schemas/narrator-invocation-1.schema.json) and is copied. `on_outcome(number, outcome)`
    // is called once, in a later round of the loop, with the number that this function returned and
    // a JSON object (narrator-outcome-1), a view that is valid during the call. It may invoke
    // further tools and reply; its exceptions are logged. If the request has ended, this function
    // returns 0 and calls nothing. Throws if the invocation is not valid, or if the host does not
    // offer the service. Engine thread.
    template <class Function>
    std::uint64_t invoke(std::string_view invocation, Function&& on_outcome) const {
        using Callback = detail::OutcomeCallback<std::decay_t<Function>>;
        detail::Core& core = request_->core();
        if (!is_wanted() || !core.is_open()) return 0;
        const auto* functions = core.find_or_fail<nar_host_invoke>();
        if (functions == nullptr) return 0;
        // Before the callbacks are touched, which belong to the engine thread.
        if (!core.is_engine_thread()) {
            core.fail<nar_host_invoke>(NAR_WRONG_THREAD, "invoking a tool");
            return 0;
        }
        auto callback =
            std::make_unique<Callback>(request_->shared_core(), std::forward<Function>(on_outcome));
        void* const user = callback.get();
        core.outcome_callbacks.emplace(user, std::move(callback));
        std::uint64_t number = 0;
        nar_failure failure{};
        failure.size = sizeof failure;
        const nar_status status = functions->invoke(core.host(), token(), detail::to_c(invocation),
                                                    &Callback::run, user, &number, &failure);
        if (status == NAR_OK) return number;
        core.outcome_callbacks.erase(user);
        if (status == NAR_GONE) return 0;
        if (failure.message[0] != '\0') {
            NARRATORIA_THROW(Error(status, {}, failure.message, {}));
        }
        core.fail<nar_host_invoke>(status, "invoking a tool");
        return 0;
    }

    // Ends one invocation as cancelled; its outcome follows. Returns false if it has settled, or if
    // the request has ended. Engine thread.
    bool cancel_invocation(std::uint64_t number) const {
        detail::Core& core = request_->core();
        if (!is_wanted() || !core.is_open()) return false;
        const auto* functions = core.find_or_fail<nar_host_invoke>();
        if (functions == nullptr) return false;
        const nar_status status = functions->cancel(core.host(), token(), number);
        if (status == NAR_OK) return true;
        if (status != NAR_NOT_FOUND && status != NAR_GONE) {
            core.fail<nar_host_invoke>(status, "cancelling an invocation");
        }
        return false;
    }

private:
    struct Request final : detail::Pending {
        Request(std::shared_ptr<detail::Core> owner, std::uint64_t number)
            : Pending(std::move(owner), detail::ServiceTraits<nar_host_narrator>::id, number) {}
        ~Request() {
            detail::guard(core(), "a reply",
                          [this] { fail("the narrator dropped the request without a reply"); });
        }
        bool fail(std::string_view message) {
            if (is_cancelled()) return false;
            return call<nar_host_narrator>(
                "fail", true, [&](const nar_host_narrator& host_side, const nar_host* host) {
                    return host_side.fail(host, token(), detail::to_c(message));
                });
        }
    };

    template <class Call>
    bool send(const char* what, bool is_final, Call&& function) const {
        return is_wanted() &&
               request_->call<nar_host_narrator>(what, is_final, std::forward<Call>(function));
    }

    std::shared_ptr<Request> request_;
    std::optional<std::chrono::milliseconds> timeout_;
};

// How an attempt ended. The default: like a process with exit status 0.
struct End {
    int exit_status = 0;                     // not 0: failed with EXIT_STATUS
    std::string_view error_code = {};        // not empty: failed with this code
    std::string_view error = {};             // the message for `error_code`
    std::chrono::microseconds user_time{0};  // processor time; 0: unknown
    std::chrono::microseconds system_time{0};
    std::uint64_t resident_bytes = 0;  // largest resident memory; 0: unknown
    std::string_view details = {};     // a JSON object for the attempt's result, or empty
    // Appended to the output; never refused as NAR_BUSY.
    std::string_view last_output = {};
    bool is_permanent = false;  // if it failed, no later attempt can succeed: it is not retried
};

// One attempt of a tool that this plugin runs. The plugin writes the output that a process would
// print: events of spec 000, one per line; `done` decides the outcome. Call ended() exactly once,
// even after a cancellation. If the last copy is destroyed before that, the attempt fails with
// PLUGIN_DROPPED (for a function of the host: TOOL_DROPPED). Like Reply, it can be copied and used
// on any thread.
class Invocation {
public:
    // `is_of_host` is true for a function of the host, false for a plugin.
    Invocation(std::shared_ptr<detail::Core> core, std::uint64_t token, bool is_of_host = false)
        : running_(std::make_shared<Running>(std::move(core), token, is_of_host)) {}

    // Identifies the attempt; the same number is passed to cancel_invocation.
    std::uint64_t token() const noexcept { return running_->token(); }

    // True if the attempt should end: cancelled, timed out, its output was invalid, or the
    // instance has ended. Check it from time to time during long work, and then call ended().
    bool is_cancelled() const noexcept { return running_->is_cancelled(); }

    // The session's state (spec 002 ToolContext). Writes of this tool take effect immediately. The
    // Context does not keep the attempt open. Engine thread.
    Context context() const { return Context(running_->shared_core(), token()); }

    // Appends bytes to the tool's output; any split is allowed, and they are copied. Returns false
    // if the attempt has ended. Another failure of this function or the following ones throws Error
    // on the engine thread; on other threads it is logged, and they return false.
    bool output(std::string_view bytes) const {
        return call("output", false,
                    [&](const nar_host_invocation& host_side, const nar_host* host) {
                        return host_side.output(host, token(), detail::to_c(bytes));
                    });
    }
    // The same for tools that may write faster than the engine reads. NAR_BUSY: 16 MiB are unread,
    // and nothing was written; call it again later. NAR_GONE: the attempt has ended. Nothing is
    // reported.
    nar_status try_output(std::string_view bytes) const {
        return running_->attempt<nar_host_invocation>(
            false, [&](const nar_host_invocation& host_side, const nar_host* host) {
                return host_side.output(host, token(), detail::to_c(bytes));
            });
    }
    // Writes one event: a JSON object on one line, without the newline. Returns false like
    // output().
    bool event(std::string_view object) const {
        std::string line;
        line.reserve(object.size() + 1);
        line += object;
        line += '\n';
        return output(line);
    }
    // Appends bytes to the tool's diagnostics, the equivalent of stderr. Returns false like
    // output().
    bool diagnostics(std::string_view bytes) const {
        return call("diagnostics", false,
                    [&](const nar_host_invocation& host_side, const nar_host* host) {
                        return host_side.diagnostics(host, token(), detail::to_c(bytes));
                    });
    }
    // True: the tool waits for a place to run, for example in the queue of a cluster, and its
    // timeout is paused. False: it runs, as at its beginning. Returns false if the attempt has
    // ended. Engine thread.
    bool set_waiting(bool waits) const {
        return call("set_waiting", false,
                    [&](const nar_host_invocation& host_side, const nar_host* host) {
                        return host_side.set_waiting(host, token(), waits ? 1u : 0u);
                    });
    }
    // Reports the end. Returns false if it was reported before.
    bool ended(const End& end = {}) const { return running_->ended(end); }

    // Ends a typical tool: writes `done`, however much output is unread, and ends. Returns false if
    // the attempt has already ended. `summary` must be UTF-8; otherwise the attempt fails with
    // PROTOCOL_ERROR.
    bool done(bool ok, std::string_view summary = {}) const {
        std::string line = R"({"version":"0","type":"done","ok":)";
        line += ok ? "true" : "false";
        if (!summary.empty()) line += ",\"summary\":" + quoted(summary);
        return ended_after(line);
    }

    // Ends a tool that succeeded: `done` with a result, which is JSON, on any number of lines.
    // Returns false like done().
    bool result(std::string_view json) const {
        std::string line = R"({"version":"0","type":"done","ok":true,"result":)";
        line += json;
        // Strings of JSON have no newlines: these are white space.
        std::replace(line.begin(), line.end(), '\n', ' ');
        return ended_after(line);
    }

    // Hands the attempt over to a process. The runtime starts it with the request on its stdin,
    // and limits, times and ends it like any tool. A program without a slash is looked up in the
    // PATH of the attempt's environment. Call it instead of output and ended; cancel_invocation
    // is not called afterwards. Returns false if the attempt has ended. Engine thread.
    bool run(const std::vector<std::string>& arguments) const {
        std::vector<nar_str> views;
        for (const std::string& one : arguments) views.push_back(detail::to_c(one));
        const nar_command command = {sizeof(nar_command), 0, views.data(), views.size()};
        return call("run", true, [&](const nar_host_invocation& host_side, const nar_host* host) {
            return host_side.run(host, token(), &command);
        });
    }

private:
    friend struct detail::InvocationAccess;

    struct Running final : detail::Pending {
        Running(std::shared_ptr<detail::Core> owner, std::uint64_t number, bool is_of_host)
            : Pending(std::move(owner), detail::ServiceTraits<nar_host_invocation>::id, number),
              is_of_host_(is_of_host) {}
        ~Running() {
            detail::guard(core(), "an invocation", [this] {
                End end;
                end.error_code = is_of_host_ ? "TOOL_DROPPED" : "PLUGIN_DROPPED";
                end.error = is_of_host_
                                ? "the function dropped the invocation without reporting its end"
                                : "the plugin dropped the invocation without reporting its end";
                ended(end);
            });
        }
        bool ended(const End& end) {
            const nar_invocation_end c_end = {
                sizeof(nar_invocation_end),
                end.exit_status,
                detail::to_c(end.error_code),
                detail::to_c(end.error),
                static_cast<std::uint64_t>(end.user_time.count()),
                static_cast<std::uint64_t>(end.system_time.count()),
                end.resident_bytes,
                detail::to_c(end.last_output),
                detail::to_c(end.details),
                end.is_permanent ? NAR_END_PERMANENT : 0,
                0,
            };
            return call<nar_host_invocation>(
                "ended", true, [&](const nar_host_invocation& host_side, const nar_host* host) {
                    return host_side.ended(host, token(), &c_end);
                });
        }

    private:
        const bool is_of_host_;
    };

    // `done` is without its last brace.
    bool ended_after(std::string& done) const {
        done += "}\n";
        End end;
        end.last_output = done;
        return ended(end);
    }

    template <class Call>
    bool call(const char* what, bool is_final, Call&& function) const {
        return running_->call<nar_host_invocation>(what, is_final, std::forward<Call>(function));
    }

    std::shared_ptr<Running> running_;
};

namespace detail {

// If a runner refuses to start, the token becomes invalid, and nothing may be reported for it.
struct InvocationAccess {
    static void forget(const Invocation& invocation) noexcept { invocation.running_->settle(); }
};

}  // namespace detail
}  // namespace narratoria::plugin
