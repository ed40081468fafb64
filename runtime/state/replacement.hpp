// SPDX-License-Identifier: Apache-2.0
#pragma once
// Patches that set a key to a value (spec 002 setState), instead of merging into it.

#include <string>
#include <string_view>

#include "base/json/tape.hpp"
#include "state/tree.hpp"

namespace narratoria::state {

// Two JSON objects, each on one line, that set the tree's member `key` to `value`. `patch` (RFC
// 7396) also removes members that `value` does not have; it cannot write null, except in arrays.
// `nulls` holds the other nulls of `value` in their objects; merge it after the patch, with
// Patch::prepare_nulls(). It is empty if there are none.
struct Replacement {
    std::string patch;
    std::string nulls;
};
Replacement replacement_of(const Tree& tree, std::string_view key, json::Value value);

// Appends the patch that removes all members of the tree; {} if there are none.
void append_removal_of_all(std::string& patch, const Tree& tree);

}  // namespace narratoria::state
