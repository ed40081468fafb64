// SPDX-License-Identifier: Apache-2.0
#pragma once
// Puts together from a store what a session was at the end of one of its turns: the nearest snapshot,
// and the patches after it.

#include <cstdint>
#include <optional>
#include <vector>

#include "asset/registry.hpp"
#include "journal/store_file.hpp"
#include "state/store.hpp"
#include "state/tree.hpp"

namespace narratoria::journal {

// All throw StoreError. `at` empty: at the beginning of the session.

// With the digest.
state::Tree state_at(StoreFile& file, int64_t session, std::optional<TurnId> at);

// Puts state and history into a store that is new. `history_limit`: that of the store.
void restore_state(StoreFile& file, int64_t session, std::optional<TurnId> at,
                   uint64_t history_limit, state::Store& into);

// Puts state, history and assets into these, which are new. Returns TurnEnd::rest of the turn, or "".
std::string restore(StoreFile& file, int64_t session, std::optional<TurnId> at,
                    uint64_t history_limit, state::Store& state, asset::Registry& assets);

void restore_assets(StoreFile& file, int64_t session, std::optional<TurnId> at,
                    asset::Registry& into);
// An entry of TurnEnd::assets.
void append_asset(std::string& out, const asset::Asset& asset);

}  // namespace narratoria::journal
