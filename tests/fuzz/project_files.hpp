// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared code of the fuzz targets for project files.

#include <optional>
#include <set>
#include <string>

#include "base/bytes/utf8.hpp"
#include "require.hpp"
#include "tool/project/tree.hpp"

namespace narratoria::fuzz {

inline void check_node(const tool::project::Node& node, size_t size, size_t levels) {
    REQUIRE(levels > 0);
    REQUIRE(node.byte <= size);
    REQUIRE(utf8::is_valid(node.text));
    for (const tool::project::Node& each : node.items) check_node(each, size, levels - 1);
    std::set<std::string> keys;
    for (const auto& [key, value] : node.members) {
        REQUIRE(keys.insert(key.text).second);
        REQUIRE(node.find(key.text) == &value);
        check_node(key, size, levels - 1);
        check_node(value, size, levels - 1);
    }
}

inline void check_faults(const Faults& faults, const std::string& text) {
    for (const Fault& fault : faults) {
        REQUIRE(!fault.rule.empty() && !fault.message.empty());
        REQUIRE(fault.byte <= text.size());
        REQUIRE(fault.line > 0 && fault.column > 0);
        REQUIRE(utf8::is_valid(fault.message) && utf8::is_valid(fault.pointer));
    }
    std::string told;
    append_faults(told, faults, text);
    json::Document document;
    json::ParseError error;
    REQUIRE(document.parse(told, error));
}

// The result is either a tree or at least one fault that is not a warning.
template <typename Parse>
void check_tree(const std::string& text, Parse&& parse) {
    Faults faults;
    tool::project::File file("file", text, faults);
    const std::optional<tool::project::Node> root = parse(file);
    REQUIRE(root.has_value() == faults.empty());
    check_faults(faults, text);
    // The TOML reader has the higher limit of the two readers.
    if (root) check_node(*root, text.size(), 130);
}

}  // namespace narratoria::fuzz
