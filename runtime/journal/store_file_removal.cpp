// SPDX-License-Identifier: Apache-2.0
// Removes turns and sessions from a store.
#include <array>
#include <map>
#include <set>

#include "journal/rows.hpp"
#include "journal/store_file.hpp"

namespace narratoria::journal {

int64_t StoreFile::prune(int64_t session, std::optional<TurnId> turn) {
    const std::vector<TurnRow> all = turns(session);
    std::map<TurnId, std::optional<TurnId>> parents;
    for (const TurnRow& each : all) parents[each.id] = each.parent;
    std::set<TurnId> path;
    Statement current(*connection_, "SELECT current FROM session WHERE id = ?");
    const auto current_turn = first_of(current.number(0, session),
                                       [](const Statement& row) { return row.optional_number(0); });
    std::optional<TurnId> at;
    if (current_turn) at = *current_turn;
    for (; at; at = parents.at(*at)) path.insert(*at);
    if (turn) require_turn(session, *turn);
    if (!turn && !current_turn) {
        throw TurnError(
            "TURN_REQUIRED",
            "the session is at its beginning, so all its turns would be removed; name a "
            "turn, which is removed with those that follow it");
    }
    if (turn && path.contains(*turn)) {
        throw TurnError("TURN_CURRENT",
                        "the session is at the end of turn " + std::to_string(*turn) +
                            " or of one that follows it; go to a different turn first");
    }
    // Parents come before their children.
    std::set<TurnId> removed;
    for (const TurnRow& each : all) {
        const bool follows = each.parent && removed.contains(*each.parent);
        if (turn ? each.id == *turn || follows : !path.contains(each.id)) removed.insert(each.id);
    }
    const std::string of_turn =
        " WHERE turn = (SELECT id FROM turn WHERE session = ? AND number = ?)";
    std::array<Statement, 4> statements{
        Statement(*connection_, "DELETE FROM part" + of_turn),
        Statement(*connection_, "DELETE FROM snapshot" + of_turn),
        Statement(*connection_, "DELETE FROM name WHERE session = ? AND turn = ?"),
        Statement(*connection_, "DELETE FROM turn WHERE session = ? AND number = ?")};
    for (const TurnId each : removed) {
        for (Statement& statement : statements) {
            statement.number(0, session).number(1, each).run();
        }
    }
    return static_cast<int64_t>(removed.size());
}

int64_t StoreFile::remove_session(int64_t session) {
    const auto count = static_cast<int64_t>(turns(session).size());
    const std::string of_turns = " WHERE turn IN (SELECT id FROM turn WHERE session = ?)";
    for (const std::string& each :
         {"part" + of_turns, "snapshot" + of_turns, std::string("name WHERE session = ?"),
          std::string("turn WHERE session = ?"), std::string("beginning WHERE session = ?"),
          std::string("session WHERE id = ?")}) {
        Statement(*connection_, "DELETE FROM " + each).number(0, session).run();
    }
    return count;
}

}  // namespace narratoria::journal
