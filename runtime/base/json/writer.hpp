// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writing JSON.

#include <cstdint>
#include <string>
#include <string_view>

namespace narratoria::json {

// Appends `text` as a JSON string, quotes included. Invalid UTF-8 becomes U+FFFD.
void append_string(std::string& out, std::string_view text);
// `text` as a JSON string.
std::string quoted(std::string_view text);

void append_number(std::string& out, int64_t value);

// Appends a text with the white space between its tokens removed, so that it is one line.
void append_compact(std::string& out, std::string_view json);

// Builds an object member by member: {"a":1,"b":"x"}.
class ObjectWriter {
public:
    explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
    ObjectWriter& string(std::string_view key, std::string_view value);
    ObjectWriter& number(std::string_view key, int64_t value);
    ObjectWriter& boolean(std::string_view key, bool value);
    ObjectWriter& raw(std::string_view key, std::string_view json);
    // Writes the key; the caller appends the value to `out` itself.
    ObjectWriter& key(std::string_view key);
    void end() { out_ += '}'; }

private:
    std::string& out_;
    bool first_ = true;
};

}  // namespace narratoria::json
