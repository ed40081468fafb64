// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the narrative out of a model's answer while the answer is being written: the text of the
// member "narrative" of a JSON object, or all of an answer that is not JSON.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace narratoria::llm {

class NarrativeReader {
public:
    // Returns the part of the narrative that these bytes add. They may be split anywhere.
    std::string feed(std::string_view bytes);
    // The narrative so far.
    const std::string& text() const { return text_; }
    // The answer is not a JSON object.
    bool is_prose() const { return kind_ == Kind::Prose; }

private:
    enum class Kind : std::uint8_t { Unknown, Object, Prose };

    void take(char byte, std::string& out);
    void take_in_string(char byte, std::string& out);
    void take_hexadecimal(char byte, std::string& out);
    void put(char byte, std::string& out);
    void put_code(std::uint32_t code, std::string& out);

    Kind kind_ = Kind::Unknown;
    std::string beginning_;  // while it is unknown whether the answer is JSON
    std::string text_;
    std::size_t depth_ = 0;
    bool in_string_ = false;
    bool is_key_ = true;        // the next string at depth 1 is a name
    bool is_escape_ = false;    // the byte before was a backslash
    std::uint32_t digits_ = 0;  // left of a \u escape
    std::uint32_t code_ = 0;
    std::uint32_t high_ = 0;     // the first half of a surrogate pair
    std::string name_;           // of the member at depth 1
    bool is_narrative_ = false;  // this string is the narrative
    bool is_done_ = false;
};

}  // namespace narratoria::llm
