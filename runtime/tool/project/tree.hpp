// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parsed form of a project's YAML and TOML files: a tree of values with their positions.

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
    std::string text;  // of a scalar, as written in the file; of a string, its content
    size_t byte = 0;   // offset of its first byte in the file
    std::vector<Node> items;
    // In the order of the file. Keys are unique.
    std::vector<Entry> members;

    const Node* find(std::string_view key) const;
};
struct Entry {
    Node key;
    Node value;
};
// Returns the kind for messages, such as "a list".
std::string_view describe(const Node& node);

// One file of a project. Appends its faults to the list of the project.
class File {
public:
    // `name` is relative to the project.
    File(std::string name, std::string_view text, Faults& faults)
        : name_(std::move(name)), text_(text), faults_(faults) {}

    const std::string& name() const { return name_; }
    std::string_view text() const { return text_; }
    // The size of the leading byte order mark, or 0. The mark does not count as a column.
    size_t mark_size() const { return text_.starts_with("\xEF\xBB\xBF") ? 3 : 0; }

    // Lists at most a hundred faults of a file; the others are only counted.
    void fault(size_t byte, const char* rule, std::string pointer, std::string message);
    void warn(size_t byte, const char* rule, std::string pointer, std::string message);
    // The number of faults that are not warnings, including unlisted ones.
    size_t errors() const { return errors_; }
    // The length of the list, which has the faults of all files.
    size_t listed() const { return faults_.size(); }
    // Returns a fault with a position and without rule and message.
    Fault place_of(size_t byte, std::string pointer) const;

private:
    void add(size_t byte, const char* rule, std::string pointer, std::string message,
             bool is_warning);

    std::string name_;
    std::string_view text_;
    Faults& faults_;
    // The last position that was looked up: positions in the order of the file cost one scan.
    mutable size_t at_ = 0;
    mutable json::Position position_{1, 1};
    size_t count_ = 0;
    size_t errors_ = 0;
};

// The size limit of a file. The readers refuse a larger one without reading it.
inline constexpr size_t kMaxFileBytes = size_t{256} * 1024;
inline constexpr size_t kMaxDepth = 16;

// The rule of warnings about valid fields that have no effect.
inline constexpr const char* kNoEffect = "project-no-effect";

// Parses one YAML document. Refuses anchors, aliases and tags: no project needs them, and aliases
// can expand to more than fits into memory. Adds a fault and returns nothing if it is invalid.
std::optional<Node> parse_yaml(File& file);
// The same for TOML.
std::optional<Node> parse_toml(File& file);

}  // namespace narratoria::tool::project
