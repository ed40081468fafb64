// SPDX-License-Identifier: Apache-2.0
#pragma once
// The handles by which a plugin answers later: Reply (narrators) and Invocation (tools and tool
// runners). Not for direct use: include narratoria/plugin.hpp.

#include "narratoria/plugin_event.hpp"
#include "narratoria/plugin_host.hpp"

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace narratoria::plugin {

namespace detail {
struct InvocationAccess;
}

// The way back for one request to a narrator. Copy it where you like and answer from any thread, at
// once or later, also after the instance has ended; then nothing happens and the answer is false.
// When the last copy goes without an answer, the request is failed, so that nobody waits in vain.
class Reply {
public:
    Reply(std::shared_ptr<detail::Core> core, std::uint64_t token)
        : asked_(std::make_shared<Asked>(std::move(core), token)) {}

    // Names the request; the same number as in Narrator::cancel_answer.
    std::uint64_t token() const noexcept { return asked_->token(); }

    // False once the answer is not wanted any more: cancelled, timed out, or the instance has ended.
    // Whoever takes long asks now and then.
    bool is_wanted() const noexcept { return !asked_->is_cancelled(); }

    // Answers with Plan JSON, which is copied. False: too late, or not the first. A plan with faults
    // is taken, and comes back with them in the next request.
    bool plan(std::string_view plan) const {
        return answer([&](const nar_host_narrator& host_side, const nar_host* host) {
            return host_side.reply(host, token(), detail::to_c(plan));
        });
    }
    // Says that there will be no plan, and why. False as above.
    bool fail(std::string_view message) const { return asked_->fail(message); }

private:
    struct Asked final : detail::Pending {
        Asked(std::shared_ptr<detail::Core> owner, std::uint64_t number)
            : Pending(std::move(owner), detail::Offer<nar_host_narrator>::id, number) {}
        ~Asked() {
            detail::guard(core(), "a reply",
                          [this] { fail("the narrator gave up its reply without an answer"); });
        }
        bool fail(std::string_view message) {
            if (is_cancelled()) return false;
            return call<nar_host_narrator>(
                true, [&](const nar_host_narrator& host_side, const nar_host* host) {
                    return host_side.fail(host, token(), detail::to_c(message));
                });
        }
    };

    template <class Call>
    bool answer(Call&& function) const {
        return is_wanted() && asked_->call<nar_host_narrator>(true, std::forward<Call>(function));
    }

    std::shared_ptr<Asked> asked_;
};

// How an invocation ended. As it is: as a process that exits with 0.
struct End {
    int exit_status = 0;                     // other than 0: failed, EXIT_STATUS
    std::string_view error_code = {};        // not empty: failed with this code, and …
    std::string_view error = {};             // … this sentence for people
    std::chrono::microseconds user_time{0};  // processor time used; 0: not known
    std::chrono::microseconds system_time{0};
    std::uint64_t resident_kibibytes = 0;  // most memory used; 0: not known
};

// One try of a tool that this plugin runs. What is written to it is what a process would print:
// events of spec 000, one a line; `done` decides. ended() must follow, also after a cancel, exactly
// once; when the last copy goes without it, the invocation fails with PLUGIN_DROPPED. Copy it where
// you like; any thread, at once or later, as with Reply.
class Invocation {
public:
    Invocation(std::shared_ptr<detail::Core> core, std::uint64_t token)
        : running_(std::make_shared<Running>(std::move(core), token)) {}

    // Names the invocation; the same number as in cancel_invocation.
    std::uint64_t token() const noexcept { return running_->token(); }

    // Whether it was asked to end: cancelled, its time is up, its output was no event, or the
    // instance has ended. Whoever takes long asks now and then, and calls ended().
    bool is_cancelled() const noexcept { return running_->is_cancelled(); }

    // Bytes of the tool's output, cut anywhere; copied. False: it has ended.
    bool output(std::string_view bytes) const {
        return call(false, [&](const nar_host_invocation& host_side, const nar_host* host) {
            return host_side.output(host, token(), detail::to_c(bytes));
        });
    }
    // One event: a JSON object on one line, without its newline. False: it has ended.
    bool event(std::string_view object) const {
        std::string line;
        line.reserve(object.size() + 1);
        line += object;
        line += '\n';
        return output(line);
    }
    // Bytes for its diagnostics, what a process writes to stderr; copied. False: it has ended.
    bool diagnostics(std::string_view bytes) const {
        return call(false, [&](const nar_host_invocation& host_side, const nar_host* host) {
            return host_side.diagnostics(host, token(), detail::to_c(bytes));
        });
    }
    // It has ended. False: it had ended already.
    bool ended(const End& end = {}) const { return running_->ended(end); }

    // The last event and the end of most tools: `done`, then ended(). False: it had ended already.
    bool done(bool ok, std::string_view summary = {}) const {
        std::string line = R"({"version":"0","type":"done","ok":)";
        line += ok ? "true" : "false";
        if (!summary.empty()) line += ",\"summary\":" + quoted(summary);
        event(line + '}');
        return ended();
    }

    // Lets the runtime run a process as this invocation, with the request on its stdin; limits, time
    // and ending are its own business. A program without a slash is searched in the PATH of the
    // invocation's environment. Instead of output and ended, and cancel_invocation will not be
    // called. Engine thread. False: it has ended.
    bool run(const std::vector<std::string>& arguments) const {
        std::vector<nar_str> views;
        for (const std::string& one : arguments) views.push_back(detail::to_c(one));
        const nar_command command = {sizeof(nar_command), 0, views.data(), views.size()};
        return call(true, [&](const nar_host_invocation& host_side, const nar_host* host) {
            return host_side.run(host, token(), &command);
        });
    }

private:
    friend struct detail::InvocationAccess;

    struct Running final : detail::Pending {
        Running(std::shared_ptr<detail::Core> owner, std::uint64_t number)
            : Pending(std::move(owner), detail::Offer<nar_host_invocation>::id, number) {}
        ~Running() {
            detail::guard(core(), "an invocation", [this] {
                End end;
                end.error_code = "PLUGIN_DROPPED";
                end.error = "the plugin let go of the invocation without saying how it ended";
                ended(end);
            });
        }
        bool ended(const End& end) {
            const nar_invocation_end told = {
                sizeof(nar_invocation_end),
                end.exit_status,
                detail::to_c(end.error_code),
                detail::to_c(end.error),
                static_cast<std::uint64_t>(end.user_time.count()),
                static_cast<std::uint64_t>(end.system_time.count()),
                end.resident_kibibytes,
            };
            return call<nar_host_invocation>(
                true, [&](const nar_host_invocation& host_side, const nar_host* host) {
                    return host_side.ended(host, token(), &told);
                });
        }
    };

    template <class Call>
    bool call(bool is_answer, Call&& function) const {
        return running_->call<nar_host_invocation>(is_answer, std::forward<Call>(function));
    }

    std::shared_ptr<Running> running_;
};

namespace detail {

// The host takes the token back when a runner refuses to start.
struct InvocationAccess {
    static void forget(const Invocation& invocation) noexcept { invocation.running_->settle(); }
};

}  // namespace detail
}  // namespace narratoria::plugin
