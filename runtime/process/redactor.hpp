// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replaces secrets in the output of a process. Applied where the output enters the library, so that
// no log, event, result or error can contain them.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::process {

// The replacement for a secret.
inline constexpr std::string_view kRedacted = "***";

// Redacts one stream. The reads of a pipe may split a secret anywhere, so bytes that may be the
// start of one are held until the next bytes decide.
class Redactor {
public:
    // The format of the stream. Lines of JSON stay valid JSON: only the content of strings and
    // whole numbers are replaced. Member names and values of the protocol (`type`, `level`, times
    // and ids) stay. A secret printed verbatim outside of strings becomes the string "***"; if it
    // is not a whole value, the line is no longer valid JSON. A line is treated as text from its
    // first byte that is invalid in JSON; the next line may be JSON again.
    enum class Kind : bool { Text, Json };

    // In JSON strings a secret is found in every spelling ("tok\/en", "\u00C4"), because decoded
    // characters are compared. In text it is found verbatim and in the default escaping of JSON
    // writers.
    Redactor(const std::vector<std::string>& secrets, Kind kind);

    // Returns false if the value is too short: its replacement would make most texts unreadable.
    static bool is_replaced(std::string_view secret) { return secret.size() >= kShortest; }
    static constexpr size_t kShortest = 4;

    bool is_needed() const { return !patterns_.empty(); }
    // Adds data and returns the text that can be passed on now; valid until the next call.
    std::string& pass(std::string_view data);
    // Returns the rest at the end of the stream.
    std::string& finish();

private:
    enum class Step : bool { Done, Wait };
    // Each consumes the next token at at_, or waits for more data.
    Step take_text();
    Step take_in_string();
    Step take_outside();
    Step take_string();
    Step take_word();
    void take(size_t size);
    void replace(size_t size, std::string_view text);
    void begin_line();
    struct Found {
        size_t size = 0;        // of the secret; 0: none
        bool may_come = false;  // the next bytes decide
    };
    // Finds a secret that begins at `at` and is longer than `longer_than` bytes.
    Found find_at(size_t at, size_t longer_than) const;
    // The same within a JSON string.
    Found find_in_string(size_t at) const;
    bool has_secret(std::string_view text, size_t shortest) const;
    bool is_word_of_protocol(std::string_view text) const;
    void run();

    struct Pattern {
        std::string text;
        bool is_punctuation;  // consists only of JSON punctuation
    };
    std::vector<std::string> secrets_;        // the longest first
    std::vector<Pattern> patterns_;           // spellings of the secrets in text, longest first
    std::array<bool, 256> starts_pattern_{};  // by the first byte
    const Kind kind_;
    std::string held_;
    size_t at_ = 0;  // the current position in held_
    bool is_at_end_ = false;
    std::string out_;
    // The state of the JSON scanner:
    bool in_string_ = false;
    bool is_text_line_ = false;  // the rest of the line is not JSON
    size_t depth_ = 0;
    bool top_is_object_ = false;
    bool expects_key_ = false;  // in the top-level object
    std::string key_;           // the last top-level key, if it is a name of the protocol
};

}  // namespace narratoria::process
