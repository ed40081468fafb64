// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the files of a project say, whether in YAML or in TOML: a tree of values with their places.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fault.hpp"
#include "base/json/error.hpp"

namespace narratoria::tool::project {

struct Entry;
struct Node {
    enum class Kind : uint8_t { Null, Boolean, Integer, Text, Other, List, Map };
    Kind kind = Kind::Null;
    std::string text;  // of a scalar, as it is written; of a text, its content
    size_t byte = 0;   // where it begins
    std::vector<Node> items;
    // In the order of the file. No two keys are equal.
    std::vector<Entry> members;

    const Node* find(std::string_view key) const;
};
struct Entry {
    Node key;
    Node value;
};
// For people: "a list", "a number".
std::string_view describe(const Node& node);

// One file of a project and what is wrong with it.
class File {
public:
    // `name` is relative to the project.
    File(std::string name, std::string_view text, Faults& faults)
        : name_(std::move(name)), text_(text), faults_(faults) {}

    const std::string& name() const { return name_; }
    std::string_view text() const { return text_; }
    // Of the byte order mark that the text begins with, or 0. It is no column.
    size_t mark_size() const { return text_.starts_with("\xEF\xBB\xBF") ? 3 : 0; }

    // Past a hundred, faults of a file are counted and not listed.
    void fault(size_t byte, const char* rule, std::string pointer, std::string message);
    void warn(size_t byte, const char* rule, std::string pointer, std::string message);
    // How many there were that are no warnings, those that are not listed too.
    size_t errors() const { return errors_; }
    // The number of faults in the list, of all files.
    size_t listed() const { return faults_.size(); }
    // A fault that has a place only.
    Fault place_of(size_t byte, std::string pointer) const;

private:
    void add(size_t byte, const char* rule, std::string pointer, std::string message,
             bool is_warning);

    std::string name_;
    std::string_view text_;
    Faults& faults_;
    // The last position that was asked for, so that places in the order of the file cost one scan.
    mutable size_t at_ = 0;
    mutable json::Position position_{1, 1};
    size_t count_ = 0;
    size_t errors_ = 0;
};

// What a file holds at most. Beyond this the readers refuse it unread.
inline constexpr size_t kMaxFileBytes = size_t{256} * 1024;
inline constexpr size_t kMaxDepth = 16;

// The rule of warnings of what is understood, and changes nothing.
inline constexpr const char* kNoEffect = "project-no-effect";

// Reads one YAML document. Refuses anchors, aliases and tags: nothing in a project needs them, and a
// file of aliases can stand for more than memory holds. Nothing is returned if it is not valid.
std::optional<Node> parse_yaml(File& file);
// The same for TOML.
std::optional<Node> parse_toml(File& file);

}  // namespace narratoria::tool::project
