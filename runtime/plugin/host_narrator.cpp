// SPDX-License-Identifier: Apache-2.0
// Services of narratoria/narrator.h.
#include <functional>
#include <string>

#include "base/view.hpp"
#include "plugin/host_call.hpp"
#include "plugin/host_services.hpp"
#include "plugin/narrator_usage.hpp"

namespace narratoria::plugin {
namespace {

// `did`: what the plugin did to the request, for a message.
nar_status send(const nar_host* host, const char* did,
                const std::function<nar_status(SessionAccess&)>& send) {
    return from_any_thread(host, [&](Instance& instance) -> nar_status {
        if (!is_active(instance)) return NAR_GONE;
        if (!instance.is_narrator()) {
            instance.report(std::string("it ") + did +
                            " a narrator's request, but is not this session's narrator");
            return NAR_GONE;
        }
        const nar_status status = send(instance.session());
        if (status == NAR_STALE) {
            instance.report(std::string("it ") + did +
                            " a request to which it had already replied; the first reply is used");
        } else if (status == NAR_GONE) {
            instance.report(std::string("it ") + did +
                            " a request that had ended or never existed");
        }
        return status;
    });
}

nar_status answer(const nar_host* host, uint64_t token, bool is_plan, nar_str text) {
    return send(host, "replied to", [&](SessionAccess& session) {
        return session.answer(token, is_plan, std::string(given_text(text)));
    });
}

nar_status narrator_delta(const nar_host* host, uint64_t token, nar_str text) {
    return send(host, "sent a piece of narrative for",
                [&](SessionAccess& session) { return session.delta(token, given_text(text)); });
}

nar_status narrator_reply(const nar_host* host, uint64_t token, nar_str plan) {
    return answer(host, token, true, plan);
}

nar_status narrator_fail(const nar_host* host, uint64_t token, nar_str message) {
    return answer(host, token, false, message);
}

nar_status invoke_tool(const nar_host* host, uint64_t token, nar_str invocation,
                       void (*on_outcome)(void*, const nar_invoke_outcome*), void* user,
                       uint64_t* number, nar_failure* failure) {
    if (on_outcome == nullptr) {
        write_failure(failure, "on_outcome must not be NULL");
        return NAR_INVALID_ARGUMENT;
    }
    return on_engine_thread(host, "invoke.invoke", [&](Instance& instance) -> nar_status {
        std::string why = "the plugin is disabled";
        nar_status status = NAR_GONE;
        uint64_t its_number = 0;
        if (!instance.is_narrator()) {
            why = "only this session's narrator may invoke tools";
            instance.report("it invoked a tool, but is not this session's narrator");
        } else if (!instance.disabled()) {
            // The captured instance is valid: instances outlive all questions.
            auto tell = [&instance, on_outcome, user, token](uint64_t its, std::string_view text) {
                const nar_invoke_outcome outcome{
                    sizeof outcome, 0, token, its, {text.data(), text.size()}};
                instance.call("the function for an invocation's outcome",
                              [&] { on_outcome(user, &outcome); });
            };
            status =
                instance.session().invoke(token, given_text(invocation), tell, its_number, why);
        }
        if (status != NAR_OK) write_failure(failure, why);
        else if (number != nullptr) *number = its_number;
        return status;
    });
}

nar_status invoke_cancel(const nar_host* host, uint64_t token, uint64_t number) {
    return on_engine_thread(host, "invoke.cancel", [&](Instance& instance) -> nar_status {
        if (!instance.is_narrator()) return NAR_GONE;
        return instance.session().cancel_invocation(token, number);
    });
}

nar_status narrator_usage(const nar_host* host, uint64_t token, nar_str usage) {
    std::string line;
    const nar_status status = from_any_thread(host, [&](Instance& instance) -> nar_status {
        const std::string why = check_usage(given_text(usage), line);
        if (why.empty()) return NAR_OK;
        instance.report("its report of usage is not valid: " + why);
        return NAR_INVALID_DOCUMENT;
    });
    if (status != NAR_OK) return status;
    return send(host, "reported usage for",
                [&](SessionAccess& session) { return session.usage(token, line); });
}

}  // namespace

const nar_host_narrator narrator_service{
    sizeof(nar_host_narrator), 0, narrator_reply, narrator_fail, narrator_delta, narrator_usage};
const nar_host_invoke invoke_service{sizeof(nar_host_invoke), 0, invoke_tool, invoke_cancel};

}  // namespace narratoria::plugin
