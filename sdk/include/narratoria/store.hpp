// SPDX-License-Identifier: Apache-2.0
#pragma once
// A store of sessions. It can be read while its sessions are being played. narratoria/store.h
// describes the JSON and the errors. SessionOptions::store stores a session.

#include "narratoria/exceptions.hpp"
#include "narratoria/status.hpp"
#include "narratoria/store.h"
#include "narratoria/text.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace narratoria {

// The path of a store. The file is open only during a call. Thread-safe.
class Store {
public:
    explicit Store(std::string path) : path_(std::move(path)) {}

    const std::string& path() const noexcept { return path_; }

    // A JSON array.
    Text sessions() const {
        detail::Check check;
        nar_text* json = nullptr;
        check(nar_store_read_sessions(detail::to_c(path_), &json, check.details()));
        return Text(json);
    }

    // A JSON object with `turns` and `current`. Throws NAR_NOT_FOUND.
    Text turns(std::string_view session) const {
        detail::Check check;
        nar_text* json = nullptr;
        check(nar_store_read_turns(detail::to_c(path_), detail::to_c(session), &json,
                                   check.details()));
        return Text(json);
    }

    // The state at the end of a turn, by default of the session's current turn. Throws
    // NAR_NOT_FOUND.
    Text state(std::string_view session, std::uint64_t turn = NAR_TURN_CURRENT) const {
        detail::Check check;
        nar_text* json = nullptr;
        check(nar_store_read_state(detail::to_c(path_), detail::to_c(session), turn, &json,
                                   check.details()));
        return Text(json);
    }

    // Sets the current turn of a session that is not being played. Throws NAR_NOT_FOUND,
    // NAR_INVALID_ARGUMENT or NAR_BUSY.
    void go_to(std::string_view session, std::uint64_t turn) const {
        detail::Check check;
        check(nar_store_go_to(detail::to_c(path_), detail::to_c(session), turn, check.details()));
    }

    // Removes a turn and its descendants from a session that is not being played. NAR_TURN_CURRENT
    // removes all turns that are not on the path to the current turn, and is refused at the
    // beginning of the session. NAR_TURN_BEGINNING removes the whole session. Returns the number of removed turns. Throws as go_to().
    std::uint64_t prune(std::string_view session, std::uint64_t turn = NAR_TURN_CURRENT) const {
        detail::Check check;
        std::uint64_t removed = 0;
        check(nar_store_prune(detail::to_c(path_), detail::to_c(session), turn, &removed,
                              check.details()));
        return removed;
    }

    // Names a turn, even while the session is being played. If a different turn of the session has
    // the name, it moves to this turn. Throws NAR_NOT_FOUND or NAR_INVALID_ARGUMENT, for example for
    // a name that is a number.
    void set_name(std::string_view session, std::string_view name,
                  std::uint64_t turn = NAR_TURN_CURRENT) const {
        detail::Check check;
        check(nar_store_set_name(detail::to_c(path_), detail::to_c(session), detail::to_c(name),
                                 turn, check.details()));
    }

private:
    std::string path_;
};

}  // namespace narratoria
