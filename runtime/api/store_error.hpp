// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reports errors of a store and its turns.

#include "api/barrier.hpp"
#include "journal/store_values.hpp"

namespace narratoria::api {

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
        return fail(error, status_of(failure), failure.code(), failure.what());
    }
}

}  // namespace narratoria::api
