// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reconstructs a session at the end of one of its turns from a store: from the nearest snapshot and
// the patches after it.

#include <cstdint>
#include <optional>
#include <vector>

#include "asset/registry.hpp"
#include "journal/store_file.hpp"
#include "state/store.hpp"
#include "state/tree.hpp"

namespace narratoria::journal {

// All functions throw StoreError. `at` empty: the beginning of the session.

// The tree keeps its digest.
state::Tree state_at(StoreFile& file, int64_t session, std::optional<TurnId> at);

// Restores state and history into a new store. `history_limit`: the limit of that store.
void restore_state(StoreFile& file, int64_t session, std::optional<TurnId> at,
                   uint64_t history_limit, state::Store& into);

// Restores state, history and assets into new objects. Returns TurnEnd::rest of the turn, or "".
std::string restore(StoreFile& file, int64_t session, std::optional<TurnId> at,
                    uint64_t history_limit, state::Store& state, asset::Registry& assets);

void restore_assets(StoreFile& file, int64_t session, std::optional<TurnId> at,
                    asset::Registry& into);
// Adds the assets of one turn.
void put_assets(StoreFile& file, const StoreFile::AssetsRow& row, asset::Registry& into);
// Appends an entry of TurnEnd::assets.
void append_asset(std::string& out, const asset::Asset& asset);

}  // namespace narratoria::journal
