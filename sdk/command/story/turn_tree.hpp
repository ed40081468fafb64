// SPDX-License-Identifier: Apache-2.0
#pragma once
// The turns of a stored session, for the commands that show them or go to one.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json.hpp"
#include "style.hpp"

namespace narratoria::command::story {

using namespace terminal;

// Owns the values that it returns.
class TurnTree {
public:
    // `turns`: what nar_store_read_turns returns.
    explicit TurnTree(std::string_view turns);

    // The turn from which the session continues; 0: its beginning.
    std::uint64_t current() const { return json::count(read_, "current"); }
    bool empty() const { return by_id_.empty(); }
    // Null if there is no such turn.
    const json::Value* find(std::uint64_t id) const;
    const json::Value* find(std::string_view name) const;
    std::vector<std::string> names() const;
    // The turn that a player names by its number, as it is, or by its name; 0: the beginning.
    // Nothing if no turn has the name.
    std::optional<std::uint64_t> number_of(const std::string& text) const;
    // The turns from the session's beginning to this one, which is the last.
    std::vector<const json::Value*> path_to(std::uint64_t id) const;
    std::vector<const json::Value*> path() const { return path_to(current()); }
    // The prompts of such a path.
    std::vector<const json::Value*> prompts_to(std::uint64_t id) const;
    std::vector<const json::Value*> prompts() const { return prompts_to(current()); }
    // The newest turn, if it is an interrupted prompt that follows the current turn; otherwise
    // null.
    const json::Value* interrupted() const;

    // One line for each turn, indented where a branch begins; the current turn is marked.
    std::string draw(const Style& style) const;

private:
    json::Document read_;
    std::map<std::uint64_t, const json::Value*> by_id_;
};

// The prompt of the turn; for a turn of a different kind, a description of the kind.
std::string heading(const json::Value& turn);
// " (cancelled)"; empty for a completed turn.
std::string status_of(const json::Value& turn);
// " [name] [another]"
std::string names_of(const json::Value& turn);

}  // namespace narratoria::command::story
