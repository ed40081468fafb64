// SPDX-License-Identifier: Apache-2.0
#pragma once
// Patches that set a key to a value (spec 002 setState), instead of merging into it.

#include <string>
#include <string_view>

#include "base/json/tape.hpp"
#include "state/tree.hpp"

namespace narratoria::state {

// Appends a merge patch (RFC 7396), on one line, after which the tree's member `key` equals `value`.
// The patch removes what an object has now and `value` has not. A patch cannot write null, so null
// removes the key, and members of objects that are null are left out.
void append_replacement(std::string& patch, const Tree& tree, std::string_view key,
                        json::Value value);

// Appends the patch that removes all members of the tree; {} if there are none.
void append_removal_of_all(std::string& patch, const Tree& tree);

}  // namespace narratoria::state
