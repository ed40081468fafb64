// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/fault.hpp"
#include "base/json/tape.hpp"

namespace narratoria::json {

// Returns a warning (rule "json-key-unique") for each member with the key of an earlier member of
// its object: the last of duplicate keys wins. The warnings are sorted by position. `byte` refers
// to the text of the tape.
Faults duplicate_keys(Value root);

}  // namespace narratoria::json
