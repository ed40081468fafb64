// SPDX-License-Identifier: Apache-2.0
#include "story/unstored_turns.hpp"

#include <fmt/core.h>

#include <string>

#include "io/message.hpp"

namespace narratoria::command::story {

int UnstoredTurns::report(Session& session, int status) {
    if (count_ == 0) return status;
    try {
        static_cast<void>(session.turns());
        return status;
    } catch (const Error&) {
        // The log has the reason.
    }
    if (was_removed_) complain("the game is lost: its store was removed");
    else
        complain(fmt::format(
            "the last {} not stored; the game continues from the turn before",
            count_ == 1 ? std::string("turn is") : fmt::format("{} turns are", count_)));
    return status == kExitSuccess ? kExitFailure : status;
}

}  // namespace narratoria::command::story
