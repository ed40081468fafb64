// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/strict_keys.hpp"
#include "tool/project/tree.hpp"

namespace narratoria::tool::project {

// The fields of one table. Each fault names the file, the place, whose the field is, and the field.
class Fields {
public:
    // `whose`, for people: `the tool "greeter"`. `pointer`: of the table in its file.
    Fields(File& file, const Node& table, std::string whose, std::string pointer)
        : file_(file), table_(table), whose_(std::move(whose)), pointer_(std::move(pointer)) {}

    const Node* find(std::string_view key) const { return table_.find(key); }
    std::string pointer_of(std::string_view key) const;

    // A fault for each field that is not one of these.
    void allow(KnownKeys known);
    // The same only for one that is a misspelling of these. Their first words are none: [python] may
    // be a table of something else.
    void refuse_misspelled(KnownKeys known);
    void fault(std::string_view key, const char* rule, std::string message);
    // A field that is understood, and changes nothing.
    void warn_of_no_effect(std::string_view key, std::string message);
    // The place of a field that is there.
    Fault place_of(std::string_view key) const;

    // Each is nothing, if the field is missing or wrong; wrong adds a fault.
    // Not empty, without NUL. `is_any_scalar`: takes a number as the text that it is written as.
    std::optional<std::string> text(std::string_view key, bool is_any_scalar = false);
    std::optional<std::string> choice(std::string_view key,
                                      std::initializer_list<std::string_view> choices);
    std::optional<bool> boolean(std::string_view key);
    // From 1 to `most`.
    std::optional<uint32_t> positive(std::string_view key, uint32_t most);
    std::optional<std::vector<std::string>> texts(std::string_view key);
    std::optional<std::map<std::string, std::string>> variables(std::string_view key);
    // An address of http or https. The text of a wrong one is not repeated: it may hold a password.
    std::optional<std::string> url(std::string_view key);
    // NULL if it is missing or no table.
    const Node* table(std::string_view key);

    // As above, and missing is a fault, too.
    std::string required_text(std::string_view key, std::string_view example,
                              bool is_any_scalar = false);

private:
    const Node* of_kind(std::string_view key, Node::Kind kind, std::string_view wanted);
    void wrong(std::string_view key, const Node& node, std::string_view wanted);

    File& file_;
    const Node& table_;
    const std::string whose_;
    const std::string pointer_;
};

}  // namespace narratoria::tool::project
