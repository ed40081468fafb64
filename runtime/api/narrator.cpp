// SPDX-License-Identifier: Apache-2.0
#include "narratoria/narrator.h"

#include "api/barrier.hpp"
#include "plugin/narrator_usage.hpp"

using namespace narratoria;
using namespace narratoria::api;

namespace {

// Sends something of a narrator's with `send`, and describes its status.
template <typename Send>
nar_status send_of_narrator(nar_engine* engine, nar_error* error, const Send& send) {
    if (engine == nullptr) return refuse_argument(error, "engine must not be NULL");
    if (engine->engine.forked()) {
        return fail(error, NAR_FORKED, "FORKED",
                    "the engine was created before a fork; create a new one in the child");
    }
    const nar_status status = send(engine->engine.inbox());
    if (status == NAR_OK) return NAR_OK;
    if (status == NAR_STALE) {
        return fail(error, NAR_STALE, "STALE", "the request already has a reply");
    }
    if (status == NAR_BUSY) {
        return fail(
            error, NAR_BUSY, "BUSY",
            "16 MiB are waiting for the engine's loop; drive the engine before the next call");
    }
    return fail(error, NAR_GONE, "GONE", "the request was cancelled, timed out, or never existed");
}

nar_status answer(nar_engine* engine, uint64_t token, bool is_plan, nar_str text,
                  nar_error* error) {
    return send_of_narrator(engine, error, [&](Inbox& inbox) {
        return inbox.send_end(nullptr, token, session::NarratorAnswer{is_plan, copy(text)});
    });
}

}  // namespace

extern "C" {

nar_status nar_narrator_reply(nar_engine* engine, uint64_t token, nar_str plan, nar_error* error) {
    return guarded(error, [&] { return answer(engine, token, true, plan, error); });
}

nar_status nar_narrator_delta(nar_engine* engine, uint64_t token, nar_str text, nar_error* error) {
    return guarded(error, [&] {
        return send_of_narrator(engine, error, [&](Inbox& inbox) {
            return inbox.send_output(nullptr, token, view(text), &typeid(session::NarratorAnswer));
        });
    });
}

nar_status nar_narrator_usage(nar_engine* engine, uint64_t token, nar_str usage, nar_error* error) {
    return guarded(error, [&] {
        std::string line;
        if (const std::string why = plugin::check_usage(view(usage), line); !why.empty()) {
            return fail(error, NAR_INVALID_DOCUMENT, "USAGE", "the usage is not valid: " + why);
        }
        return send_of_narrator(engine, error, [&](Inbox& inbox) {
            return inbox.send_diagnostics(nullptr, token, line + '\n',
                                          &typeid(session::NarratorAnswer));
        });
    });
}

nar_status nar_narrator_fail(nar_engine* engine, uint64_t token, nar_str message,
                             nar_error* error) {
    return guarded(error, [&] { return answer(engine, token, false, message, error); });
}

}  // extern "C"
