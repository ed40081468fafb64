// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes JSON. No function checks that the result is complete; the caller keeps the order.

#include <cstdint>
#include <string>
#include <string_view>

namespace narratoria::json {

// Appends `text` as a JSON string with quotes. Invalid UTF-8 becomes U+FFFD.
void append_string(std::string& out, std::string_view text);
// Returns `text` as a JSON string with quotes.
std::string quoted(std::string_view text);

void append_number(std::string& out, int64_t value);

// Appends `json` without the white space between its tokens, so that it is one line.
void append_compact(std::string& out, std::string_view json);

// Writes an object member by member: {"a":1,"b":"x"}. `out` must outlive it; end() closes the
// object.
class ObjectWriter {
public:
    explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
    ObjectWriter& string(std::string_view key, std::string_view value);
    ObjectWriter& number(std::string_view key, int64_t value);
    ObjectWriter& boolean(std::string_view key, bool value);
    ObjectWriter& raw(std::string_view key, std::string_view json);
    // Writes the key only; the caller then appends the value to `out`.
    ObjectWriter& key(std::string_view key);
    void end() { out_ += '}'; }

private:
    std::string& out_;
    bool first_ = true;
};

}  // namespace narratoria::json
