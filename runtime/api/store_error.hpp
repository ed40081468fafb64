// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts errors of a store to statuses (see the table in store.h).

#include "api/barrier.hpp"
#include "journal/store_file.hpp"

namespace narratoria::api {

inline nar_status status_of(const journal::StoreError& error) {
    const std::string_view code = error.code();
    if (code == "STORE_UNAVAILABLE" || code == "STORE_NEWER") return NAR_UNSUPPORTED;
    if (code == "STORE_LOCKED") return NAR_BUSY;
    if (code == "STORE_DAMAGED") return NAR_INVALID_DOCUMENT;
    return NAR_IO;
}

// Converts a value of `turn` (store.h) to a turn; nothing means the beginning of the session.
// `current`: the turn from which the session continues.
inline std::optional<journal::TurnId> turn_of(uint64_t given,
                                              std::optional<journal::TurnId> current) {
    if (given == NAR_TURN_CURRENT) return current;
    if (given == NAR_TURN_BEGINNING) return std::nullopt;
    return static_cast<journal::TurnId>(given);
}

inline nar_status refuse_current_turn(nar_error* error) {
    return refuse_argument(error,
                           "turn must not be NAR_TURN_CURRENT (0): the session is already there; "
                           "use NAR_TURN_BEGINNING for the beginning");
}

inline nar_status refuse_replay(nar_error* error) {
    return fail(error, NAR_UNSUPPORTED, "REPLAY",
                "the session only replays the turns of its store; create one without `replays` to "
                "play");
}

// Calls a function that uses a store. Returns its status, or that of the exception it threw.
template <typename Use>
nar_status with_store(nar_error* error, Use&& use) {
    try {
        return use();
    } catch (const journal::StoreError& failure) {
        return fail(error, status_of(failure), failure.code(), failure.what());
    } catch (const journal::TurnError& failure) {
        const std::string_view code = failure.code();
        const bool is_missing =
            code == "TURN_MISSING" || code == "TOOL_MISSING" || code == "SESSION";
        return fail(error, is_missing ? NAR_NOT_FOUND : NAR_INVALID_ARGUMENT, failure.code(),
                    failure.what());
    }
}

}  // namespace narratoria::api
