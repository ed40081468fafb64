// SPDX-License-Identifier: Apache-2.0
#include "tool/schema/unknown_member.hpp"

#include <vector>

#include "base/json/writer.hpp"
#include "base/near_name.hpp"
#include "tool/schema/fault_text.hpp"

namespace narratoria::tool {
namespace {

// Similar names are only looked for in shorter lists, which bounds the work.
constexpr size_t kMostNames = 200;

}  // namespace

std::string unknown_member(const ObjectRules& rules, json::Value object, std::string_view name) {
    std::vector<std::string_view> names, absent;
    for (const Property& each : rules.properties) {
        if (each.rule == kNoRule) continue;
        names.push_back(each.name);
        if (names.size() <= kMostNames && !object.find(each.name)) absent.push_back(each.name);
    }
    if (names.empty()) return "is unknown; no members are allowed";
    const std::string_view meant = names.size() > kMostNames ? "" : near_name(name, absent);
    if (!meant.empty()) return "is unknown; did you mean " + json::quoted(meant) + "?";
    return "is unknown; allowed members are " +
           listed(names, [](auto each) { return json::quoted(each); });
}

}  // namespace narratoria::tool
