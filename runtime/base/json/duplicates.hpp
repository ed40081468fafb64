// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/fault.hpp"
#include "base/json/tape.hpp"

namespace narratoria::json {

// A warning (rule "json-key-unique") for each member whose key an earlier member of its object has:
// of duplicate keys the last one counts. In the order of the text. `byte` refers to the text of the
// tape.
Faults duplicate_keys(Value root);

}  // namespace narratoria::json
