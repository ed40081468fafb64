// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gives the host a text, which the host releases.

#include <memory>

#include "api/barrier.hpp"

namespace narratoria::api {

// Calls `fill` with the string of a new text. Sets `place` to it if `fill` succeeds.
template <typename Fill>
nar_status give_text(nar_text** place, nar_error* error, Fill&& fill) {
    if (place == nullptr) return refuse_argument(error, "the text pointer must not be NULL");
    auto text = std::make_unique<nar_text>();
    const nar_status status = fill(text->text);
    if (status == NAR_OK) *place = text.release();
    return status;
}

}  // namespace narratoria::api
