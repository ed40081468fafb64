// SPDX-License-Identifier: Apache-2.0
#include "journal/listing.hpp"

#include <cinttypes>
#include <cstdio>
#include <optional>

#include "base/clock.hpp"
#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "base/near_name.hpp"
#include "base/strict_keys.hpp"

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
    json::Document document;
    json::ParseError error;
    const auto names = file.names(session.id);
    const char* separator = "";
    for (const TurnRow& turn : file.turns(session.id)) {
        out += separator;
        separator = ",";
        TurnStatus status = turn.status;
        if (status == TurnStatus::Running && !is_played) {
            status = turn.kind == TurnKind::Host ? TurnStatus::Completed : TurnStatus::Interrupted;
        }
        json::ObjectWriter writer(out);
        writer.number("id", turn.id);
        add_number(writer, "parent", turn.parent);
        writer.string("kind", name_of(turn.kind))
            .string("prompt", turn.prompt)
            .string("status", name_of(status))
            .boolean("durable", turn.state_digest.has_value());
        if (turn.state_digest) writer.string("stateHash", in_hexadecimal(*turn.state_digest));
        else writer.raw("stateHash", "null");
        add_time(writer, "began", turn.began_ms);
        add_time(writer, "ended", turn.ended_ms);
        const bool has_rest = turn.ended_ms && document.parse(file.rest(session.id, turn.id), error,
                                                              json::kDepthOfOwn);
        for (const std::string_view key : {"narrative", "choices", "ending"}) {
            const json::Value value =
                has_rest && document.root().is_object() ? document.root().find(key) : json::Value();
            writer.raw(key, value ? value.raw() : "null");
        }
        std::string own_names;
        const auto [first, last] = names.equal_range(turn.id);
        for (auto name = first; name != last; ++name) {
            own_names += (own_names.empty() ? "[" : ",") + json::quoted(name->second);
        }
        writer.raw("names", own_names.empty() ? "[]" : own_names + "]");
        writer.end();
    }
    out += R"(],"current":)";
    out += session.current ? std::to_string(*session.current) : "null";
    out += '}';
}

}  // namespace narratoria::journal
