// SPDX-License-Identifier: Apache-2.0
#include "journal/listing.hpp"

#include <cinttypes>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "base/near_name.hpp"
#include "base/strict_keys.hpp"
#include "journal/restore.hpp"

namespace narratoria::journal {
namespace {

void add_number(json::ObjectWriter& writer, std::string_view key, std::optional<int64_t> value) {
    if (value) writer.number(key, *value);
    else writer.raw(key, "null");
}

void add_time(json::ObjectWriter& writer, std::string_view key, std::optional<int64_t> time_ms) {
    if (time_ms) writer.string(key, clock::to_iso8601(*time_ms * 1000));
    else writer.raw(key, "null");
}

std::string in_hexadecimal(uint64_t digest) {
    char text[17];
    std::snprintf(text, sizeof text, "%016" PRIx64, digest);
    return text;
}

using Names = std::multimap<TurnId, std::string>;

// Adds the members of a turn (store.h).
void add_turn(json::ObjectWriter& writer, StoreFile& file, int64_t session, const TurnRow& turn,
              const Names& names) {
    writer.number("id", turn.id);
    add_number(writer, "parent", turn.parent);
    writer.string("kind", name_of(turn.kind))
        .string("prompt", turn.prompt)
        .string("status", name_of(turn.status))
        .boolean("durable", turn.state_digest.has_value());
    if (turn.state_digest) writer.string("stateHash", in_hexadecimal(*turn.state_digest));
    else writer.raw("stateHash", "null");
    add_time(writer, "began", turn.began_ms);
    add_time(writer, "ended", turn.ended_ms);
    json::Document document;
    json::ParseError error;
    const bool has_rest = turn.ended_ms &&
                          document.parse(file.rest(session, turn.id), error, json::kDepthOfOwn) &&
                          document.root().is_object();
    for (const std::string_view key : {"narrative", "choices", "ending"}) {
        const json::Value value = has_rest ? document.root().find(key) : json::Value();
        writer.raw(key, value ? value.raw() : "null");
    }
    std::string own_names;
    const auto [first, last] = names.equal_range(turn.id);
    for (auto name = first; name != last; ++name) {
        own_names += (own_names.empty() ? "[" : ",") + json::quoted(name->second);
    }
    writer.raw("names", own_names.empty() ? "[]" : own_names + "]");
}

}  // namespace

std::string missing_session(StoreFile& file, std::string_view path, std::string_view name) {
    constexpr size_t kListed = 5;
    const std::vector<SessionRow> rows = file.sessions();
    std::vector<std::string_view> names;
    for (const SessionRow& row : rows) names.push_back(row.name);
    std::string out =
        "the store \"" + std::string(path) + "\" has no session " + json::quoted(name);
    const std::string_view near = near_name(name, names);
    if (!near.empty() || names.empty()) return out + did_you_mean(near);
    for (size_t i = 0; i < names.size() && i < kListed; ++i) {
        out += (i == 0 ? "; it has " : ", ") + json::quoted(names[i]);
    }
    return out + (names.size() > kListed ? ", …" : "");
}

void append_sessions(std::string& out, StoreFile& file) {
    out += '[';
    const char* separator = "";
    for (const SessionRow& session : file.sessions()) {
        out += separator;
        separator = ",";
        json::ObjectWriter writer(out);
        writer.string("id", session.name);
        add_time(writer, "created", session.created_ms);
        writer.raw("about", session.about);
        writer.number("turns", file.last_turn(session.id));
        add_number(writer, "current", session.current);
        writer.end();
    }
    out += ']';
}

void append_turns(std::string& out, StoreFile& file, const SessionRow& session) {
    out += R"({"turns":[)";
    // If the session has no writer, none of its turns is running.
    const bool is_played = file.is_locked(session.id);
    const Names names = file.names(session.id);
    const char* separator = "";
    for (TurnRow& turn : file.turns(session.id)) {
        out += std::exchange(separator, ",");
        if (turn.status == TurnStatus::Running && !is_played) {
            turn.status =
                turn.kind == TurnKind::Host ? TurnStatus::Completed : TurnStatus::Interrupted;
        }
        json::ObjectWriter writer(out);
        add_turn(writer, file, session.id, turn, names);
        writer.end();
    }
    out += R"(],"current":)";
    out += session.current ? std::to_string(*session.current) : "null";
    out += '}';
}

void append_last_turns(std::string& out, StoreFile& file, int64_t session,
                       std::optional<TurnId> last, uint32_t count) {
    std::vector<TurnRow> turns;
    while (last && turns.size() < count) {
        TurnRow turn = file.require_turn(session, *last);
        last = turn.parent;
        if (turn.kind != TurnKind::Host) turns.push_back(std::move(turn));
    }
    const Names names = file.names(session);
    const char* separator = "";
    std::string text = "[";
    for (auto turn = turns.rbegin(); turn != turns.rend(); ++turn) {
        text += std::exchange(separator, ",");
        json::ObjectWriter writer(text);
        add_turn(writer, file, session, *turn, names);
        const auto assets = file.nearest_assets(session, turn->id);
        // Without those that a later attempt of a tool replaced.
        asset::Registry registry("");
        if (assets && assets->turn == turn->id) put_assets(file, *assets, registry);
        writer.key("assets");
        registry.append_json(text);
        writer.end();
    }
    // Tools may have written line breaks into the metadata of assets.
    json::append_compact(out, text + "]");
}

}  // namespace narratoria::journal
