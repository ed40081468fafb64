// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "api/barrier.hpp"
#include "api/invalid_document.hpp"
#include "api/store_error.hpp"
#include "api/text.hpp"
#include "base/bytes/utf8.hpp"
#include "narratoria/session.h"

using namespace narratoria;
using namespace narratoria::api;

namespace {

nar_status refuse_without_store(nar_error* error) {
    return fail(error, NAR_UNSUPPORTED, "NO_STORE", "the session has no store; create it with one");
}

nar_status refuse_busy(nar_error* error) {
    return fail(error, NAR_BUSY, "BUSY",
                "a turn is running or waiting; call again when it has ended");
}

nar_status refuse_without_narrator(nar_error* error) {
    return fail(error, NAR_INVALID_ARGUMENT, "NO_NARRATOR",
                "the session has no narrator; give it a story or your own narrator");
}

// Calls `use` with the session. Requires a store, and that no turn is running or waiting.
template <typename Use>
nar_status on_kept_session(nar_session* session, nar_error* error, Use&& use) {
    session::Session* const given = unwrap(session);
    return on_engine(given ? &given->engine() : nullptr, error, Inside::Refused,
                     [&]() -> nar_status {
                         if (given->ending()) return refuse_ending(error);
                         if (given->is_playing()) return refuse_busy(error);
                         if (given->journal() == nullptr) return refuse_without_store(error);
                         return with_store(error, [&] { return use(*given); });
                     });
}

nar_status read_handler(const nar_turn_handler* handler, session::TurnHandler& out,
                        nar_error* error) {
    nar_turn_handler read;
    if (const std::string fault = read_struct(handler, read); !fault.empty()) {
        return refuse_argument(error, "nar_turn_handler " + fault);
    }
    if (read.ended == nullptr) return NAR_OK;
    out = [read](const session::TurnEnd& end) {
        nar_turn turn{};
        turn.size = sizeof turn;
        turn.outcome = static_cast<uint32_t>(end.outcome);
        turn.generations = end.generations;
        turn.narrative = view(end.narrative);
        turn.choices = view(end.choices);
        turn.result = end.result ? new nar_result(end.result) : nullptr;
        turn.id = static_cast<uint64_t>(end.kept.turn);
        turn.durable_seq = end.kept.durable_seq;
        turn.durable = end.kept.is_durable ? 1 : 0;
        turn.usage = view(end.usage);
        read.ended(read.user, &turn);
        nar_result_release(turn.result);
    };
    return NAR_OK;
}

}  // namespace

extern "C" {

nar_status nar_session_read_turns(nar_session* session, nar_text** json, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) {
        return give_text(json, error, [&](std::string& text) -> nar_status {
            if (its.journal() == nullptr) return refuse_without_store(error);
            return with_store(error, [&]() -> nar_status {
                its.journal()->append_turns(text);
                return NAR_OK;
            });
        });
    });
}

nar_status nar_session_read_current(nar_session* session, nar_text** json, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) {
        return give_text(json, error, [&](std::string& text) {
            its.append_current(text);
            return NAR_OK;
        });
    });
}

nar_status nar_session_go_to(nar_session* session, uint64_t turn, nar_error* error) {
    return on_kept_session(session, error, [&](session::Session& its) -> nar_status {
        if (turn == NAR_TURN_CURRENT) return refuse_current_turn(error);
        its.go_to(its.destination_of(turn));
        return NAR_OK;
    });
}

nar_status nar_session_again(nar_session* session, uint64_t turn, nar_str tools,
                             const nar_turn_handler* handler, uint64_t* submission,
                             nar_error* error) {
    return on_kept_session(session, error, [&](session::Session& its) -> nar_status {
        session::TurnHandler on_turn;
        if (const nar_status status = read_handler(handler, on_turn, error)) return status;
        std::set<std::string, std::less<>> names;
        if (!view(tools).empty()) {
            json::Document document;
            json::ParseError fault;
            const bool is_list = document.parse(view(tools), fault) && document.root().is_array();
            if (!is_list) return refuse_argument(error, "tools must be a JSON array of toolIds");
            for (const json::Value name : document.root().elements()) {
                if (!name.is_string()) {
                    return refuse_argument(error, "tools must be a JSON array of toolIds");
                }
                names.emplace(name.text());
            }
            if (names.empty()) return refuse_argument(error, "tools must name at least one tool");
        }
        if (!its.has_narrator()) return refuse_without_narrator(error);
        its.again(turn == NAR_TURN_CURRENT ? its.journal()->last_prompt()
                                           : static_cast<journal::TurnId>(turn),
                  names, std::move(on_turn));
        return submitted(its, submission);
    });
}

nar_status nar_session_resume(nar_session* session, uint64_t turn, uint32_t flags,
                              const nar_turn_handler* handler, uint64_t* submission,
                              nar_error* error) {
    return on_kept_session(session, error, [&](session::Session& its) -> nar_status {
        if ((flags & ~NAR_RESUME_REPEATS) != 0) {
            return refuse_argument(error, "flags has an unknown bit");
        }
        session::TurnHandler on_turn;
        if (const nar_status status = read_handler(handler, on_turn, error)) return status;
        if (!its.has_narrator()) return refuse_without_narrator(error);
        its.resume(turn == NAR_TURN_CURRENT ? its.journal()->last_interrupted()
                                            : static_cast<journal::TurnId>(turn),
                   (flags & NAR_RESUME_REPEATS) != 0, std::move(on_turn));
        return submitted(its, submission);
    });
}

nar_status nar_session_replay(nar_session* session, uint64_t turn,
                              const nar_replay_handler* handler, uint64_t* submission,
                              nar_error* error) {
    session::Session* const given = unwrap(session);
    return on_engine(
        given ? &given->engine() : nullptr, error, Inside::Refused, [&]() -> nar_status {
            if (given->ending()) return refuse_ending(error);
            if (!given->replays()) {
                return fail(error, NAR_UNSUPPORTED, "NO_REPLAY",
                            "the session is not a replay; set `replays` of its options");
            }
            if (given->is_playing()) return refuse_busy(error);
            nar_replay_handler read;
            const std::string fault = read_struct(handler, read);
            if (!fault.empty()) return refuse_argument(error, "nar_replay_handler " + fault);
            if (read.ended == nullptr) {
                return refuse_argument(error, "the handler's ended must be set");
            }
            return with_store(error, [&]() -> nar_status {
                given->replay(static_cast<journal::TurnId>(turn),
                              [read, turn](const session::Session::Replayed& end) {
                                  nar_replayed replayed{};
                                  replayed.size = sizeof replayed;
                                  replayed.is_equal = end.kept == end.now ? 1 : 0;
                                  replayed.turn = turn;
                                  replayed.stored_hash = end.kept;
                                  replayed.hash = end.now;
                                  read.ended(read.user, &replayed);
                              });
                return submitted(*given, submission);
            });
        });
}

nar_status nar_session_prompt(nar_session* session, nar_str text, const nar_turn_handler* handler,
                              uint64_t* submission, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        if (its.ending()) return refuse_ending(error);
        if (its.replays()) return refuse_replay(error);
        session::TurnHandler on_turn;
        if (const nar_status status = read_handler(handler, on_turn, error)) return status;
        const std::string words = copy(text);
        if (words.empty()) return refuse_argument(error, "the prompt must not be empty");
        if (!utf8::is_valid(words)) return refuse_argument(error, "the prompt must be UTF-8");
        if (!its.has_narrator()) return refuse_without_narrator(error);
        if (its.prompt(words, std::move(on_turn))) return submitted(its, submission);
        return fail(error, NAR_BUSY, "BUSY",
                    "a turn is running and a prompt is already waiting; wait until a turn has "
                    "ended");
    });
}

nar_status nar_session_execute(nar_session* session, nar_str plan, nar_str folder,
                               const nar_execution_handler* handler, uint64_t* submission,
                               nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        if (its.ending()) return refuse_ending(error);
        if (its.replays()) return refuse_replay(error);
        nar_execution_handler read;
        if (const std::string fault = read_struct(handler, read); !fault.empty()) {
            return refuse_argument(error, "nar_execution_handler " + fault);
        }
        if (has_nul(folder)) return refuse_argument(error, "the folder contains a NUL character");
        std::string where = copy(folder);
        if (!where.empty() && where.front() != '/')
            where = its.engine().settings().root + "/" + where;
        session::ExecutionHandler on_ended;
        if (read.ended) {
            on_ended = [read](std::shared_ptr<const plan::Result> result) {
                auto* handle = new nar_result(std::move(result));
                read.ended(read.user, handle);
                nar_result_release(handle);
            };
        }
        Faults faults;
        if (its.execute(view(plan), std::move(where), std::move(on_ended), faults)) {
            return submitted(its, submission);
        }
        return invalid_document(error, "PLAN", faults, view(plan), "the plan was refused");
    });
}

uint64_t nar_session_submission(const nar_session* session) {
    const session::Session* const its = unwrap(session);
    if (its == nullptr || !its->engine().on_its_thread()) return 0;
    return its->running_submission();
}

nar_status nar_session_cancel_submission(nar_session* session, uint64_t submission,
                                         nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        if (its.cancel(submission)) return NAR_OK;
        return fail(error, NAR_NOT_FOUND, "SUBMISSION",
                    "submission " + std::to_string(submission) + " has ended or never existed");
    });
}

// Thread-safe and async-signal-safe. Therefore it does not check the thread, fill an error, or
// allocate.
nar_status nar_session_cancel(nar_session* session) {
    if (session == nullptr) return NAR_INVALID_ARGUMENT;
    if (unwrap(session)->engine().forked()) return NAR_FORKED;
    unwrap(session)->request_cancel();
    return NAR_OK;
}

}  // extern "C"
