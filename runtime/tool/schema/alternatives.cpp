// SPDX-License-Identifier: Apache-2.0
#include "tool/schema/alternatives.hpp"

#include <algorithm>

#include "base/json/writer.hpp"

namespace narratoria::tool {

NearAlternatives near_alternatives(const std::vector<SchemaFaults>& faults, std::string_view path) {
    const auto is_other_type = [&](const SchemaFaults& part) {
        return !part.empty() && part[0].keyword == "type" && part[0].pointer == path;
    };
    // A constant member, or a constant value, distinguishes alternatives.
    const auto is_other_constant = [&](const SchemaFaults& part) {
        return std::any_of(part.begin(), part.end(), [&](const SchemaFault& each) {
            return each.keyword == "const" &&
                   each.pointer.find('/', path.size() + 1) == std::string::npos;
        });
    };
    NearAlternatives found;
    for (const SchemaFaults& part : faults) {
        if (is_other_type(part)) found.other_types |= part[0].expected;
        else found.near.push_back(&part);
    }
    if (found.near.size() > 1) {
        std::vector<const SchemaFaults*> nearest;
        for (const SchemaFaults* part : found.near) {
            if (!is_other_constant(*part)) nearest.push_back(part);
        }
        if (nearest.size() == 1) found.near = nearest;
    }
    return found;
}

std::string none_fits(const NearAlternatives& alternatives, size_t count, std::string_view path) {
    std::string out = "fits none of the " + std::to_string(count) + " alternatives";
    size_t shown = 0;
    for (const SchemaFaults* part : alternatives.near) {
        if (part->empty()) continue;
        if (shown++ == 4) return out + "; …";
        const std::string below = (*part)[0].pointer.substr(path.size());
        out += (shown == 1 ? ": " : "; or: ") +
               (below.empty() ? std::string("it") : json::quoted(below)) + " " + (*part)[0].message;
    }
    return out;
}

}  // namespace narratoria::tool
