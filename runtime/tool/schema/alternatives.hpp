// SPDX-License-Identifier: Apache-2.0
#pragma once
// Why a value fits none of the alternatives of "anyOf" or "oneOf".

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tool/schema/schema.hpp"

namespace narratoria::tool {

struct NearAlternatives {
    std::vector<const SchemaFaults*> near;
    uint8_t other_types = 0;  // that the alternatives of a different type allow
};

// Chooses the alternatives that the value was probably meant for: those of its type, or the only one
// of them without a different constant. `faults` has those of each alternative and must outlive the
// result. `path`: the pointer of the value.
NearAlternatives near_alternatives(const std::vector<SchemaFaults>& faults, std::string_view path);

// The message with the first fault of each. `count`: of all alternatives.
std::string none_fits(const NearAlternatives& alternatives, size_t count, std::string_view path);

}  // namespace narratoria::tool
