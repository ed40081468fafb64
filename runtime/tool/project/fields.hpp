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

// The fields of one table. Each fault names the file, the position, the owner and the field.
class Fields {
public:
    // `subject`: the owner of the fields in messages, such as `the tool "greeter"`. `pointer`: the
    // JSON Pointer of the table in its file.
    Fields(File& file, const Node& table, std::string subject, std::string pointer)
        : file_(file), table_(table), subject_(std::move(subject)), pointer_(std::move(pointer)) {}

    const Node* find(std::string_view key) const { return table_.find(key); }
    std::string pointer_of(std::string_view key) const;

    // Reports each field that is not one of `known`.
    void allow(KnownKeys known);
    // Reports only fields that are misspellings of `known`. The first word of a known name is not a
    // misspelling: [python] may be a table of another program.
    void refuse_misspelled(KnownKeys known);
    void fault(std::string_view key, const char* rule, std::string message);
    // Warns of a valid field that has no effect.
    void warn_of_no_effect(std::string_view key, std::string message);
    // The position of a field; of the table if the field is missing.
    Fault place_of(std::string_view key) const;

    // Each of the readers below returns nothing if the field is missing or invalid. An invalid
    // field adds a fault.
    // Not empty, without NUL. `is_any_scalar`: also accepts a number, as it is written.
    std::optional<std::string> text(std::string_view key, bool is_any_scalar = false);
    std::optional<std::string> choice(std::string_view key,
                                      std::initializer_list<std::string_view> choices);
    std::optional<bool> boolean(std::string_view key);
    // From 1 to `most`.
    std::optional<uint32_t> positive(std::string_view key, uint32_t most);
    std::optional<std::vector<std::string>> texts(std::string_view key);
    std::optional<std::map<std::string, std::string>> variables(std::string_view key);
    // An http or https URL. The fault does not quote an invalid one: it may contain a password.
    std::optional<std::string> url(std::string_view key);
    // NULL if the field is missing or not a table.
    const Node* table(std::string_view key);

    // Like text(), but a missing field is also a fault.
    std::string required_text(std::string_view key, std::string_view example,
                              bool is_any_scalar = false);

private:
    const Node* of_kind(std::string_view key, Node::Kind kind, std::string_view wanted);
    void wrong(std::string_view key, const Node& node, std::string_view wanted);

    File& file_;
    const Node& table_;
    const std::string subject_;
    const std::string pointer_;
};

}  // namespace narratoria::tool::project
