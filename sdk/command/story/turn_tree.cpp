// SPDX-License-Identifier: Apache-2.0
#include "story/turn_tree.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "display.hpp"
#include "story/player_input.hpp"

namespace narratoria::command::story {
namespace {

// The maximum width of a prompt in a list of turns.
constexpr std::size_t kHeading = 72;

}  // namespace

TurnTree::TurnTree(std::string_view turns) : read_(json::read(turns)) {
    for (const json::Value& turn : json::member(read_, "turns")->GetArray()) {
        by_id_[json::count(turn, "id")] = &turn;
    }
}

const json::Value* TurnTree::find(std::uint64_t id) const {
    const auto found = by_id_.find(id);
    return found != by_id_.end() ? found->second : nullptr;
}

const json::Value* TurnTree::find(std::string_view name) const {
    for (const auto& [id, turn] : by_id_) {
        for (const json::Value& each : json::member(*turn, "names")->GetArray()) {
            if (name == std::string_view(each.GetString(), each.GetStringLength())) return turn;
        }
    }
    return nullptr;
}

std::vector<std::string> TurnTree::names() const {
    std::vector<std::string> names;
    for (const auto& [id, turn] : by_id_) {
        for (const json::Value& each : json::member(*turn, "names")->GetArray()) {
            names.emplace_back(each.GetString(), each.GetStringLength());
        }
    }
    return names;
}

std::optional<std::uint64_t> TurnTree::number_of(const std::string& text) const {
    const std::optional<std::uint64_t> number = number_in(text);
    // Larger ones have a meaning in the ABI (NAR_TURN_BEGINNING).
    if (number && *number <= INT64_MAX) return number;
    const json::Value* const turn = find(std::string_view(text));
    return turn != nullptr ? std::optional(json::count(*turn, "id")) : std::nullopt;
}

std::vector<const json::Value*> TurnTree::path_to(std::uint64_t id) const {
    std::vector<const json::Value*> path;
    const json::Value* turn = find(id);
    for (; turn != nullptr; turn = find(json::count(*turn, "parent"))) path.push_back(turn);
    std::reverse(path.begin(), path.end());
    return path;
}

std::vector<const json::Value*> TurnTree::prompts_to(std::uint64_t id) const {
    std::vector<const json::Value*> turns = path_to(id);
    std::erase_if(turns,
                  [](const json::Value* turn) { return json::text(*turn, "kind") != "prompt"; });
    return turns;
}

const json::Value* TurnTree::interrupted() const {
    // Skip "host" turns: a prompt also counts as interrupted here if only patches of the host are
    // between it and the current turn.
    const auto skip_host = [&](std::uint64_t id) {
        for (const json::Value* turn = find(id); turn && json::text(*turn, "kind") == "host";
             turn = find(id)) {
            id = json::count(*turn, "parent");
        }
        return id;
    };
    for (auto each = by_id_.rbegin(); each != by_id_.rend(); ++each) {
        const json::Value& turn = *each->second;
        const std::string_view kind = json::text(turn, "kind");
        if (kind == "host") continue;
        const bool is_interrupted = kind == "prompt" && json::text(turn, "status") == "interrupted";
        const bool is_here = skip_host(json::count(turn, "parent")) == skip_host(current());
        return is_interrupted && is_here ? &turn : nullptr;
    }
    return nullptr;
}

std::string TurnTree::draw(const Style& style) const {
    std::map<std::uint64_t, std::vector<const json::Value*>> children;
    for (const auto& [id, turn] : by_id_) children[json::count(*turn, "parent")].push_back(turn);
    std::set<const json::Value*> on_path;
    for (const json::Value* turn : path()) on_path.insert(turn);
    // At a fork, the branch with the current turn, or else the latest one, continues straight down;
    // the others are indented.
    struct Entry {
        const json::Value* turn;
        std::string left;   // printed to the left of its number
        std::string below;  // printed to the left of its descendants
    };
    std::vector<Entry> waiting;
    const auto push_children = [&](std::uint64_t id, const std::string& left) {
        std::vector<const json::Value*>& own = children[id];
        std::stable_partition(own.begin(), own.end(),
                              [&](const json::Value* turn) { return !on_path.contains(turn); });
        for (std::size_t i = own.size(); i-- > 0;) {
            const bool is_straight = i + 1 == own.size();
            waiting.push_back(
                {own[i], left + (is_straight ? "" : "├─ "), left + (is_straight ? "" : "│  ")});
        }
    };
    std::string out;
    push_children(0, "");
    while (!waiting.empty()) {
        const Entry entry = std::move(waiting.back());
        waiting.pop_back();
        const std::uint64_t id = json::count(*entry.turn, "id");
        out += fmt::format("{} {}{} {}{}{}\n", id == current() ? "*" : " ", entry.left, id,
                           cut(heading(*entry.turn), kHeading), style.cyan(names_of(*entry.turn)),
                           style.dim(status_of(*entry.turn)));
        push_children(id, entry.below);
    }
    return out.empty() ? "the session has no turns\n" : out;
}

std::string heading(const json::Value& turn) {
    const std::string_view kind = json::text(turn, "kind");
    if (kind == "prompt") return printable(json::text(turn, "prompt"));
    if (kind == "host") return "(the host changed the state)";
    return fmt::format("(a {})", kind);
}

std::string status_of(const json::Value& turn) {
    const std::string_view status = json::text(turn, "status");
    return status == "completed" ? std::string() : fmt::format(" ({})", status);
}

std::string names_of(const json::Value& turn) {
    std::string names;
    for (const json::Value& name : json::member(turn, "names")->GetArray()) {
        names += fmt::format(" [{}]", printable({name.GetString(), name.GetStringLength()}));
    }
    return names;
}

}  // namespace narratoria::command::story
