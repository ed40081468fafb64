// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts errors of a store and its turns to statuses (see the table in store.h).

#include <string_view>

#include "journal/store_file.hpp"
#include "narratoria/status.h"

namespace narratoria::journal {

inline nar_status status_of(const StoreError& error) {
    const std::string_view code = error.code();
    if (code == "STORE_UNAVAILABLE" || code == "STORE_NEWER") return NAR_UNSUPPORTED;
    if (code == "STORE_LOCKED") return NAR_BUSY;
    if (code == "STORE_DAMAGED") return NAR_INVALID_DOCUMENT;
    return NAR_IO;
}

inline nar_status status_of(const TurnError& error) {
    const std::string_view code = error.code();
    const bool is_missing = code == "TURN_MISSING" || code == "TOOL_MISSING" || code == "SESSION";
    return is_missing ? NAR_NOT_FOUND : NAR_INVALID_ARGUMENT;
}

}  // namespace narratoria::journal
