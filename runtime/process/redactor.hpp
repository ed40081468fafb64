// SPDX-License-Identifier: Apache-2.0
#pragma once
// Replaces secrets in what a process writes. Applied where its output enters, so that no log, event,
// result or error can have them.

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria::process {

// What stands in the place of a secret.
inline constexpr std::string_view kRedacted = "***";

// One stream. A secret may be cut anywhere by the reads of a pipe; bytes that may be the start of one
// are held until the next bytes decide.
class Redactor {
public:
    // What the stream is. Lines of JSON stay such lines, whatever the secrets are: only the text of
    // strings is replaced, and whole numbers; the names of the protocol and its own values (`type`,
    // `level`, times and ids) stay. A secret that was printed as it is outside of strings becomes the
    // string "***": if it is no whole value, its line is no JSON any more. A line is text from the
    // first byte that no JSON has, and the next line may be JSON again.
    enum class Kind : bool { Text, Json };

    // In strings of JSON a secret is found in every spelling ("tok\/en", "\u00C4"): what they say is
    // compared. In text it is found as it is, and as writers of JSON escape it by default.
    Redactor(const std::vector<std::string>& secrets, Kind kind);

    // False if the value is too short: to replace it would leave no text readable.
    static bool is_replaced(std::string_view secret) { return secret.size() >= kShortest; }
    static constexpr size_t kShortest = 4;

    // False if there is nothing to look for.
    bool is_needed() const { return !patterns_.empty(); }
    // The text that may be passed on now; valid until the next call.
    std::string& pass(std::string_view data);
    // The rest, at the end of the stream.
    std::string& finish();

private:
    enum class Step : bool { Done, Wait };
    // Each takes what stands at at_, or waits for more.
    Step take_text();
    Step take_in_string();
    Step take_outside();
    Step take_string();
    Step take_word();
    void take(size_t size);
    void replace(size_t size, std::string_view text);
    void begin_line();
    struct Found {
        size_t size = 0;        // of the secret; 0: there is none
        bool may_come = false;  // the next bytes decide
    };
    // The secret that begins there and is longer than so many bytes.
    Found find_at(size_t at, size_t longer_than) const;
    // The same within a string.
    Found find_in_string(size_t at) const;
    bool has_secret(std::string_view text, size_t shortest) const;
    bool is_word_of_protocol(std::string_view text) const;
    void run();

    struct Pattern {
        std::string text;
        bool is_punctuation;  // of JSON only
    };
    std::vector<std::string> secrets_;        // the longest first
    std::vector<Pattern> patterns_;           // their spellings in text, the longest first
    std::array<bool, 256> starts_pattern_{};  // by the first byte
    const Kind kind_;
    std::string held_;
    size_t at_ = 0;  // in held_, while it is looked through
    bool is_at_end_ = false;
    std::string out_;
    // Of JSON:
    bool in_string_ = false;
    bool is_text_line_ = false;  // the rest of the line is no JSON
    size_t depth_ = 0;
    bool top_is_object_ = false;
    bool expects_key_ = false;  // of the object at the top
    std::string key_;           // the last one there, if it is a name of the protocol
};

}  // namespace narratoria::process
