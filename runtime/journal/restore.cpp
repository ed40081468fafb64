// SPDX-License-Identifier: Apache-2.0
#include "journal/restore.hpp"

#include <memory>
#include <string>
#include <utility>

#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "journal/records.hpp"

namespace narratoria::journal {
namespace {

[[noreturn]] void fail(const StoreFile& file, TurnId turn, std::string_view what) {
    throw StoreError("STORE_DAMAGED", "the store \"" + file.path() + "\": " + std::string(what) +
                                          " of turn " + std::to_string(turn) + " cannot be read");
}

void parse(json::Document& document, std::string_view text, const StoreFile& file, TurnId turn,
           std::string_view what) {
    json::ParseError error;
    if (!document.parse(text, error, json::kDepthOfOwn)) fail(file, turn, what);
}

void parse_object(json::Document& document, std::string_view text, const StoreFile& file,
                  TurnId turn, std::string_view what) {
    parse(document, text, file, turn, what);
    if (!document.root().is_object()) fail(file, turn, what);
}

// The path from a turn back towards the beginning, as far as it is needed.
struct Path {
    std::vector<Step> steps;  // the latest first
    size_t fresh = 0;         // number of steps after the nearest snapshot
    std::string state;        // the state before the fresh steps, as JSON
};

// Goes back until it has found a snapshot and at least `patches` patches.
Path path_to(StoreFile& file, int64_t session, std::optional<TurnId> at, uint64_t patches) {
    Path path;
    std::optional<TurnId> snapshot;
    uint64_t found = 0;
    while (at && !(snapshot && found >= patches)) {
        const std::optional<Step> step = file.step(session, *at);
        if (!step) fail(file, *at, "the beginning");
        if (step->has_snapshot && !snapshot) snapshot = at;
        if (!snapshot) ++path.fresh;
        found += static_cast<uint64_t>(step->patches);
        path.steps.push_back(*step);
        at = step->parent;
    }
    path.state = snapshot ? file.snapshot(session, *snapshot) : file.initial_state(session);
    return path;
}

void each_record_of(StoreFile& file, int64_t session, TurnId turn,
                    const std::function<void(const Record& record)>& take) {
    file.each_part(session, turn, [&](std::string_view part) {
        if (!each_record(part, take)) fail(file, turn, "a part");
    });
}

}  // namespace

state::Tree state_at(StoreFile& file, int64_t session, std::optional<TurnId> at) {
    const Path path = path_to(file, session, at, 0);
    state::Tree tree;
    json::Document document;
    parse_object(document, path.state, file, at.value_or(0), "the state before a patch");
    tree.assign(document.root());
    tree.keep_digest();
    state::Patch patch;
    for (size_t i = path.fresh; i-- > 0;) {
        const TurnId turn = path.steps[i].turn;
        each_record_of(file, session, turn, [&](const Record& record) {
            if (record.kind != RecordKind::Patch && record.kind != RecordKind::Nulls) return;
            parse_object(document, record.body, file, turn, "a patch");
            if (record.kind == RecordKind::Patch) patch.prepare(document.root());
            else patch.prepare_nulls(document.root());
            tree.merge(patch);
        });
    }
    return tree;
}

void restore_state(StoreFile& file, int64_t session, std::optional<TurnId> at,
                   uint64_t history_limit, state::Store& into) {
    const Path path = path_to(file, session, at, history_limit);
    json::Document document;
    parse_object(document, path.state, file, at.value_or(0), "the state before a patch");
    into.assign(document.root());
    auto by = std::make_shared<const state::HistoryOrigin>();
    for (size_t i = path.steps.size(); i-- > 0;) {
        const TurnId turn = path.steps[i].turn;
        const bool is_fresh = i < path.fresh;
        each_record_of(file, session, turn, [&](const Record& record) {
            if (record.kind == RecordKind::Patch) {
                if (by->plan_id != record.plan_id || by->tool_id != record.tool_id) {
                    by = std::make_shared<const state::HistoryOrigin>(state::HistoryOrigin{
                        std::string(record.plan_id), std::string(record.tool_id)});
                }
                const state::PatchOrigin origin{record.seq, record.time_us, record.attempt, by};
                if (!is_fresh) return into.remember(record.body, origin);
                parse_object(document, record.body, file, turn, "a patch");
                into.fold(document.root(), origin);
            } else if (record.kind == RecordKind::Nulls) {
                if (!is_fresh) return into.remember_nulls(record.body);
                parse_object(document, record.body, file, turn, "a patch");
                into.fold_nulls(document.root());
            }
        });
    }
}

void put_assets(StoreFile& file, const StoreFile::AssetsRow& row, asset::Registry& into) {
    json::Document document;
    parse(document, row.assets, file, row.turn, "the assets");
    if (!document.root().is_array()) fail(file, row.turn, "the assets");
    for (const json::Value entry : document.root().elements()) {
        if (!entry.is_object()) fail(file, row.turn, "an asset");
        auto text = [&](std::string_view name) {
            const json::Value value = entry.find(name);
            return std::string(value && value.is_string() ? value.text() : "");
        };
        auto number = [&](std::string_view name) {
            const json::Value value = entry.find(name);
            return static_cast<uint64_t>(value ? value.integer().value_or(0) : 0);
        };
        const json::Value metadata = entry.find("metadata");
        into.put({text("planId"), text("toolId"), text("assetId"), text("kind"), text("mediaType"),
                  text("path"), std::string(metadata ? metadata.raw() : "{}"), number("execution"),
                  number("seq"), static_cast<uint32_t>(number("attempt"))});
    }
}

void restore_assets(StoreFile& file, int64_t session, std::optional<TurnId> at,
                    asset::Registry& into) {
    std::vector<StoreFile::AssetsRow> turns;
    while (at) {
        std::optional<StoreFile::AssetsRow> found = file.nearest_assets(session, *at);
        if (!found) break;
        at = found->parent;
        turns.push_back(std::move(*found));
    }
    for (size_t i = turns.size(); i-- > 0;) put_assets(file, turns[i], into);
}

std::string restore(StoreFile& file, int64_t session, std::optional<TurnId> at,
                    uint64_t history_limit, state::Store& state, asset::Registry& assets) {
    restore_state(file, session, at, history_limit, state);
    restore_assets(file, session, at, assets);
    return at ? file.rest(session, *at) : std::string();
}

void append_asset(std::string& out, const asset::Asset& asset) {
    json::ObjectWriter(out)
        .string("planId", asset.plan_id)
        .string("toolId", asset.tool_id)
        .string("assetId", asset.asset_id)
        .string("kind", asset.kind)
        .string("mediaType", asset.media_type)
        .string("path", asset.path)
        .raw("metadata", asset.metadata.empty() ? "{}" : asset.metadata)
        .number("execution", static_cast<int64_t>(asset.execution))
        .number("seq", static_cast<int64_t>(asset.seq))
        .number("attempt", asset.attempt)
        .end();
}

}  // namespace narratoria::journal
