// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "narratoria/session.hpp"

namespace narratoria::command::story {

// Counts the turns of a saved game that could not be stored.
class UnstoredTurns {
public:
    void on_turn(bool is_durable) noexcept { count_ = is_durable ? 0 : count_ + 1; }
    // A listing of the turns also stores what is missing.
    void on_listing() noexcept { count_ = 0; }
    // `code`: of a log line.
    void on_log(std::string_view code) noexcept {
        was_removed_ = was_removed_ || code == "STORE_REMOVED";
    }

    // Tries once more to store them, and tells the player how many are lost. Returns the exit status
    // of a command that ended with `status`: a game that was lost is a failure.
    int report(Session& session, int status);

private:
    std::uint64_t count_ = 0;
    bool was_removed_ = false;
};

}  // namespace narratoria::command::story
