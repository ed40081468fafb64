// SPDX-License-Identifier: Apache-2.0
#pragma once
// A store of sessions, which can be read while they are being played; narratoria/store.h has the forms of the
// JSON and the errors. A session is kept with SessionOptions::store.

#include "narratoria/exceptions.hpp"
#include "narratoria/status.hpp"
#include "narratoria/store.h"
#include "narratoria/text.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace narratoria {

// The path of a store. Nothing is opened between two calls. Thread-safe.
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

    // The state at the end of a turn, by default of the one that the session goes on from. Throws
    // NAR_NOT_FOUND.
    Text state(std::string_view session, std::uint64_t turn = NAR_TURN_CURRENT) const {
        detail::Check check;
        nar_text* json = nullptr;
        check(nar_store_read_state(detail::to_c(path_), detail::to_c(session), turn, &json,
                                   check.details()));
        return Text(json);
    }

    // Makes a session that is not being played go on from the end of a turn. Throws NAR_NOT_FOUND,
    // NAR_INVALID_ARGUMENT, NAR_BUSY.
    void go_to(std::string_view session, std::uint64_t turn) const {
        detail::Check check;
        check(nar_store_go_to(detail::to_c(path_), detail::to_c(session), turn, check.details()));
    }

    // Removes turns of a session that is not being played: this one and those that follow it;
    // NAR_TURN_CURRENT: all that do not lead to where it stands. Returns their number. Throws as go_to().
    std::uint64_t prune(std::string_view session, std::uint64_t turn = NAR_TURN_CURRENT) const {
        detail::Check check;
        std::uint64_t removed = 0;
        check(nar_store_prune(detail::to_c(path_), detail::to_c(session), turn, &removed,
                              check.details()));
        return removed;
    }

    // Names a turn, also while the session is being played; a name that another turn of the session
    // has moves. Throws NAR_NOT_FOUND, NAR_INVALID_ARGUMENT.
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
