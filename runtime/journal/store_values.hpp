// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts between the journal's values and those of narratoria/store.h.

#include <cstdint>
#include <optional>
#include <string_view>

#include "journal/store_file.hpp"
#include "narratoria/status.h"
#include "narratoria/store.h"

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

// Converts a value of `turn` to a turn; nothing means the beginning of the session. `current`: the
// turn from which the session continues.
inline std::optional<TurnId> turn_of(uint64_t given, std::optional<TurnId> current) {
    if (given == NAR_TURN_CURRENT) return current;
    if (given == NAR_TURN_BEGINNING) return std::nullopt;
    return static_cast<TurnId>(given);
}

}  // namespace narratoria::journal
