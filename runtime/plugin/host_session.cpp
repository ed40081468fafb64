// SPDX-License-Identifier: Apache-2.0
// Services of narratoria/host_session.h.
#include <utility>

#include "base/view.hpp"
#include "narratoria/store.h"
#include "plugin/host_call.hpp"
#include "plugin/host_services.hpp"

namespace narratoria::plugin {
namespace {

nar_status state_read(const nar_host* host, nar_str pointer, nar_write_fn write, void* user) {
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "state.read", [&](Instance& instance) {
        std::string text;
        const nar_status status = instance.session().read_state(given_text(pointer), text);
        return status == NAR_OK ? write_out(instance, text, write, user) : status;
    });
}

nar_status state_patch(const nar_host* host, nar_str patch) {
    return on_engine_thread(host, "state.patch", [&](Instance& instance) {
        return instance.session().patch_state(given_text(patch), instance.library().id);
    });
}

nar_status assets_list(const nar_host* host, nar_write_fn write, void* user) {
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "assets.list", [&](Instance& instance) {
        std::string text;
        instance.session().list_assets(text);
        return write_out(instance, text, write, user);
    });
}

nar_status prompt_submit(const nar_host* host, nar_str text, uint64_t* submission) {
    return on_engine_thread(host, "prompt.submit", [&](Instance& instance) {
        uint64_t number = 0;
        const nar_status status =
            instance.session().submit_prompt(given_text(text), instance.library().id, number);
        if (status == NAR_OK && submission != nullptr) *submission = number;
        return status;
    });
}

uint64_t prompt_submission(const nar_host* host) {
    uint64_t number = 0;
    on_engine_thread(host, "prompt.submission", [&](Instance& instance) {
        number = instance.session().running_submission();
        return NAR_OK;
    });
    return number;
}

nar_status prompt_cancel(const nar_host* host, uint64_t submission) {
    return on_engine_thread(host, "prompt.cancel", [&](Instance& instance) {
        return instance.session().cancel(submission) ? NAR_OK : NAR_NOT_FOUND;
    });
}

nar_status prompt_cancel_all(const nar_host* host) {
    return on_engine_thread(host, "prompt.cancel_all", [&](Instance& instance) {
        SessionAccess& session = instance.session();
        // Once per submission: a sink that cancels at each record must not fill the log.
        const uint64_t submission = session.running_submission();
        if (submission != 0 && std::exchange(instance.last_cancelled, submission) != submission) {
            session.log(session.is_publishing() ? NAR_LOG_WARN : NAR_LOG_INFO,
                        "plugin " + instance.library().id + ": cancelled the turn");
        }
        session.cancel_all();
        return NAR_OK;
    });
}

// `submit` submits a move of the session and sets its number.
template <typename Submit>
nar_status submit_move(const nar_host* host, const char* name, uint64_t* submission,
                       Submit&& submit) {
    return on_engine_thread(host, name, [&](Instance& instance) {
        uint64_t number = 0;
        const nar_status status = submit(instance.session(), instance.library().id, number);
        if (status == NAR_OK && submission != nullptr) *submission = number;
        return status;
    });
}

nar_status turns_go_to(const nar_host* host, uint64_t turn, uint64_t* submission) {
    return submit_move(host, "turns.go_to", submission,
                       [&](SessionAccess& session, const std::string& by, uint64_t& number) {
                           return session.submit_go_to(turn, by, number);
                       });
}

nar_status turns_again(const nar_host* host, uint64_t turn, uint64_t* submission) {
    return submit_move(host, "turns.again", submission,
                       [&](SessionAccess& session, const std::string& by, uint64_t& number) {
                           return session.submit_again(turn, by, number);
                       });
}

nar_status turns_resume(const nar_host* host, uint64_t turn, uint32_t flags, uint64_t* submission) {
    return submit_move(
        host, "turns.resume", submission,
        [&](SessionAccess& session, const std::string& by, uint64_t& number) -> nar_status {
            if ((flags & ~NAR_RESUME_REPEATS) != 0) return NAR_INVALID_ARGUMENT;
            return session.submit_resume(turn, flags != 0, by, number);
        });
}

nar_status turns_read(const nar_host* host, uint64_t turn, uint32_t count, nar_write_fn write,
                      void* user) {
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "turns.read", [&](Instance& instance) {
        std::string text;
        const nar_status status =
            instance.session().read_turns(turn, count, instance.library().id, text);
        return status == NAR_OK ? write_out(instance, text, write, user) : status;
    });
}

}  // namespace

const nar_host_state state_service{sizeof(nar_host_state), 0, state_read, state_patch};
const nar_host_assets assets_service{sizeof(nar_host_assets), 0, assets_list};
const nar_host_prompt prompt_service{
    sizeof(nar_host_prompt), 0, prompt_submit, prompt_submission, prompt_cancel, prompt_cancel_all};
const nar_host_turns turns_service{
    sizeof(nar_host_turns), 0, turns_go_to, turns_again, turns_read, turns_resume};

}  // namespace narratoria::plugin
