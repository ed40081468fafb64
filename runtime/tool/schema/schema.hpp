// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON Schema: drafts 2020-12, 2019-09, 7, 6 and 4 within one document. docs/tool-schemas.md lists
// the keywords that count.

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
    std::string pointer;   // of the violating part, or of the member that is missing
    std::string keyword;   // the violated keyword; empty: the check was given up
    std::string message;   // continues a sentence about that part: "is a string, and must be …"
    uint8_t expected = 0;  // the types that are allowed there, as TypeBits; 0: of no matter
    std::optional<json::Type> received;  // nothing: it is missing
};
using SchemaFaults = std::vector<SchemaFault>;

// The names of the types in `expected`: "an integer or null".
std::string types_for_people(uint8_t types);

// `"/input/city" is missing; "/input/days" is 0, and must be at least 1`, with "/input" as prefix.
std::string describe(const SchemaFaults& faults, std::string_view prefix);

// A compiled schema. Immutable and thread-safe. No schema and no value makes a check crash, recurse
// deeply or take long: whatever exceeds the limits below fails the check with a fault that says so.
class Schema {
public:
    static constexpr size_t kMaxBytes = size_t{1} << 20;
    static constexpr size_t kMaxFaults = 64;
    static constexpr uint32_t kMaxDepth = 512;  // nested rules; they take about 1 MiB of stack
    // Rules applied, characters matched and values compared. Added are 16 for each part of the
    // value and 8 for each of its bytes.
    static constexpr uint64_t kMaxSteps = 4'000'000;

    // Compiles a schema. Returns NULL with all faults if it is none, or if it refers to anything
    // outside of itself.
    static std::shared_ptr<const Schema> compile(std::string_view text, Faults& faults);
    ~Schema();
    Schema(const Schema&) = delete;
    Schema& operator=(const Schema&) = delete;

    bool accepts(json::Value value) const;
    // All faults, up to kMaxFaults; none if the value is accepted.
    SchemaFaults check(json::Value value) const;

    // The members that "properties" and "required" name, in the order of the schema, and what they
    // take at most. For descriptions; check() decides.
    struct Member {
        std::string_view name;
        std::string_view description;
        uint8_t types;  // TypeBits
        bool required;
    };
    std::vector<Member> members() const;
    // What the schema asks of the value at one place of a document. Valid as long as the schema.
    class Part {
    public:
        // True if a member that it does not name has no meaning to it: nothing but "properties" and
        // "required" tells which there are.
        bool lists_its_members() const;
        bool names(std::string_view member) const { return position_of(member).has_value(); }
        // Where "properties" and "required" name a member.
        std::optional<size_t> position_of(std::string_view member) const;
        // Nothing: it asks nothing of it, or what it asks does not follow from the place alone.
        std::optional<Part> of_member(std::string_view name) const;
        std::optional<Part> of_elements() const;

    private:
        friend class Schema;
        Part(const Program& program, uint32_t rule) : program_(&program), rule_(rule) {}
        const Program* program_;
        uint32_t rule_;
    };
    Part root() const;
    // What is asked of an object, if that is only the types of its members and which of them it must
    // have: a short list, for a check without a document. Says nothing about other members. NULL: more
    // is asked.
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

    json::Value document() const;
    // On one line, without white space between tokens.
    const std::string& text() const { return text_; }

private:
    Schema();
    std::unique_ptr<Program> program_;
    std::optional<PlainMembers> plain_;
    std::string text_;
};

}  // namespace narratoria::tool
