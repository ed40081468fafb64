// SPDX-License-Identifier: Apache-2.0
#pragma once
// Patches that set a key to a value (spec 002 setState), instead of merging into it.

#include <string>
#include <string_view>

#include "base/json/tape.hpp"
#include "state/tree.hpp"

namespace narratoria::state {

// What makes the tree's member `key` equal to `value`, two JSON objects on one line. `patch` (RFC
// 7396) removes what an object has now and `value` has not; it cannot write null. `nulls` has the
// nulls of `value` and the way to them, to be merged after it with Patch::prepare_nulls(); it is
// empty if there are none. Those in arrays are written by the patch.
struct Replacement {
    std::string patch;
    std::string nulls;
};
Replacement replacement_of(const Tree& tree, std::string_view key, json::Value value);

// Appends the patch that removes all members of the tree; {} if there are none.
void append_removal_of_all(std::string& patch, const Tree& tree);

}  // namespace narratoria::state
