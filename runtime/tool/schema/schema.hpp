// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON Schema: drafts 2020-12, 2019-09, 7, 6 and 4, references only within one document.
// docs/tool-schemas.md lists the supported keywords.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.hpp"
#include "base/json/tape.hpp"

namespace narratoria::tool {

struct Program;

// Types as bits. An integer is also a number, so a rule that allows numbers allows both.
enum TypeBit : uint8_t {
    NullBit = 1,
    BooleanBit = 2,
    FractionBit = 4,
    IntegerBit = 8,
    StringBit = 16,
    ArrayBit = 32,
    ObjectBit = 64,
    NumberBits = FractionBit | IntegerBit,
    AllTypes = 127,
};

// How a value violates a schema.
struct SchemaFault {
    std::string pointer;   // of the violating part or of the missing member
    std::string keyword;   // the violated keyword; empty: the check was given up
    std::string message;   // a predicate for that part: "is a string but must be …"
    uint8_t expected = 0;  // the allowed types as TypeBits; 0: the types do not matter
    std::optional<json::Type> received;  // nothing: the member is missing
};
using SchemaFaults = std::vector<SchemaFault>;

// Returns the names of types for messages: "an integer or null".
std::string types_for_people(uint8_t types);

// Returns one message for all faults: `"/input/city" is missing; "/input/days" is 0 but must be at
// least 1`, with "/input" as prefix.
std::string describe(const SchemaFaults& faults, std::string_view prefix);

// A compiled schema. Immutable and thread-safe. Hostile schemas and values cannot make a check
// crash, recurse deeply or take long: a check that exceeds the limits below fails with a fault
// about it.
class Schema {
public:
    static constexpr size_t kMaxBytes = size_t{1} << 20;
    static constexpr size_t kMaxFaults = 64;
    static constexpr uint32_t kMaxDepth = 512;  // nested rules; needs about 1 MiB of stack
    // Rules applied, characters matched and values compared. The limit grows by 16 for each part of
    // the value and by 8 for each of its bytes.
    static constexpr uint64_t kMaxSteps = 4'000'000;

    // Compiles a schema. Returns NULL and appends all faults if it is not valid, or if it refers to
    // other documents.
    static std::shared_ptr<const Schema> compile(std::string_view text, Faults& faults);
    ~Schema();
    Schema(const Schema&) = delete;
    Schema& operator=(const Schema&) = delete;

    bool accepts(json::Value value) const;
    // Returns all faults, up to kMaxFaults; none if the value is accepted.
    SchemaFaults check(json::Value value) const;

    // The members in "properties" and "required", in the order of the schema. `types` may include
    // types that check() refuses: it is for descriptions only.
    struct Member {
        std::string_view name;
        std::string_view description;
        uint8_t types;  // TypeBits
        bool required;
    };
    std::vector<Member> members() const;
    // The part of the schema for one place of a document. The schema must outlive it.
    class Part {
    public:
        // True if "properties" and "required" name all members that have a meaning.
        bool lists_its_members() const;
        bool names(std::string_view member) const { return position_of(member).has_value(); }
        // Returns the position of a member in "properties" and "required".
        std::optional<size_t> position_of(std::string_view member) const;
        // Return the part for a member or for all elements. Nothing if there is none, or if it
        // depends on more than the place.
        std::optional<Part> of_member(std::string_view name) const;
        std::optional<Part> of_elements() const;

    private:
        friend class Schema;
        Part(const Program& program, uint32_t rule) : program_(&program), rule_(rule) {}
        const Program* program_;
        uint32_t rule_;
    };
    Part root() const;
    // The requirements for an object if they are only types of members and required members. The
    // list is short, for a check without a document. It does not cover other members. NULL if the
    // schema requires more.
    struct PlainMembers {
        struct Member {
            std::string_view name;
            uint8_t types;  // TypeBits
            bool required;
        };
        std::vector<Member> members;
        uint32_t required_count = 0;
    };
    const PlainMembers* plain_members() const { return plain_ ? &*plain_ : nullptr; }
    uint8_t types() const;  // of the value itself

    // Warnings about unknown keywords that are similar to known ones.
    const Faults& misspelled() const;
    json::Value document() const;
    // The schema on one line, without white space between tokens.
    const std::string& text() const { return text_; }

private:
    Schema();
    std::unique_ptr<Program> program_;
    std::optional<PlainMembers> plain_;
    std::string text_;
};

}  // namespace narratoria::tool
