// SPDX-License-Identifier: Apache-2.0
// Input: a pattern, a newline, the player's text. A match equals that of an exhaustive search over
// every length of every capture, shortest first; captures are the player's own bytes.

#include <string>
#include <vector>

#include "base/bytes/utf8.hpp"
#include "base/case_fold.hpp"
#include "require.hpp"
#include "session/prompt_pattern.hpp"
#include "session/text_template.hpp"

using namespace narratoria;

namespace {

// The parsed pattern: literals with captures between them.
struct Reference {
    std::vector<std::string> literals;  // one more than captures
    std::string_view text;
    std::vector<std::vector<bool>> failed;  // [capture][begin]

    size_t characters_end(size_t at) const {
        do {
            ++at;
        } while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
        return at;
    }

    bool match(size_t capture, size_t begin, std::vector<std::pair<size_t, size_t>>& found) {
        if (capture + 1 == literals.size()) return begin == text.size();
        if (failed[capture][begin]) return false;
        const std::string& literal = literals[capture + 1];
        for (size_t end = begin; end < text.size();) {
            end = characters_end(end);
            if (text.substr(end, literal.size()) != literal) continue;
            found.push_back({begin, end});
            if (match(capture + 1, end + literal.size(), found)) return true;
            found.pop_back();
        }
        failed[capture][begin] = true;
        return false;
    }
};

std::u32string characters_of(std::string_view text) {
    std::u32string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (utf8::continues(c)) out.back() = out.back() << 6 | (byte & 0x3F);
        else
            out += byte < 0xC0   ? byte
                   : byte < 0xE0 ? byte & 0x1F
                   : byte < 0xF0 ? byte & 0xF
                                 : byte & 7;
    }
    return out;
}

// A literal in the form in which patterns and prompts are compared, by an independent
// implementation.
std::string simplified(std::string_view text, bool first, bool last) {
    const std::u32string_view spaces = U" \t\n\v\f\r\u00A0\u2007\u202F\u3000";
    std::u32string characters = characters_of(text);
    const size_t begin = characters.find_first_not_of(spaces);
    if (first) characters.erase(0, begin);
    const size_t end = characters.find_last_not_of(std::u32string(spaces) + U".!?");
    if (last) characters.resize(end == std::u32string::npos ? 0 : end + 1);
    std::string out;
    for (const char32_t c : characters) {
        if (spaces.find(c) == std::u32string_view::npos) utf8::append(out, case_folded(c));
        else if (out.empty() || out.back() != ' ') out += ' ';
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const size_t newline = input.find('\n');
    if (newline == std::string_view::npos || !utf8::is_valid(input)) return 0;
    const std::string text(input.substr(0, newline));
    const std::string words(input.substr(newline + 1));

    session::TemplateProblem problem;
    const auto parts = session::parse_template(text, problem);
    if (parts) {
        std::string written;  // the template, written again
        for (size_t i = 0; i < parts->size(); ++i) {
            const session::TemplatePart& part = (*parts)[i];
            REQUIRE(!part.text.empty());
            REQUIRE(part.is_name || i == 0 || (*parts)[i - 1].is_name);
            if (part.is_name) {
                written += '{' + part.text + '}';
                continue;
            }
            for (const char c : part.text) written.append(c == '{' || c == '}' ? 2 : 1, c);
        }
        REQUIRE(written == text);
        session::Bindings bindings;
        std::string expected;
        for (const session::TemplatePart& part : *parts) {
            if (part.is_name) bindings.push_back({part.text, words});
            expected += part.is_name ? words : part.text;
        }
        REQUIRE(session::expand_template(text, session::look_up_in(bindings)) == expected);
    } else {
        REQUIRE(problem.byte < text.size() && !problem.message.empty());
        REQUIRE(session::expand_template(text, {}) == text);
    }

    problem = {};
    const auto pattern = session::PromptPattern::compile(text, session::Vocabulary(), problem);
    if (!pattern) {
        REQUIRE(problem.byte <= text.size() && !problem.message.empty());
        return 0;
    }
    REQUIRE(parts);
    const session::NormalizedPrompt prompt(words);
    REQUIRE(prompt.text() == simplified(words, true, true));
    session::Bindings captures;
    const session::PlayerWords player(words, session::Vocabulary());
    pattern->matches(player, captures);
    for (const session::Binding& each : captures) REQUIRE(utf8::is_valid(each.value));
    const bool matched = pattern->matches_exactly(prompt, captures);

    if (prompt.text().size() > 400 || pattern->names().size() > 16) return 0;
    Reference reference;
    reference.text = prompt.text();
    reference.literals.emplace_back();
    for (size_t i = 0; i < parts->size(); ++i) {
        const session::TemplatePart& part = (*parts)[i];
        if (part.is_name) reference.literals.emplace_back();
        else reference.literals.back() = simplified(part.text, i == 0, i + 1 == parts->size());
    }
    reference.failed.assign(reference.literals.size(),
                            std::vector<bool>(prompt.text().size() + 1, false));
    std::vector<std::pair<size_t, size_t>> found;
    const std::string& before = reference.literals.front();
    const bool expected = prompt.text().substr(0, before.size()) == before &&
                          reference.match(0, before.size(), found);
    REQUIRE(matched == expected);
    if (!matched) return 0;
    REQUIRE(captures.size() == found.size());
    for (size_t i = 0; i < found.size(); ++i) {
        REQUIRE(captures[i].name == pattern->names()[i]);
        REQUIRE(captures[i].value == prompt.original(found[i].first, found[i].second));
        REQUIRE(captures[i].value.data() >= words.data() &&
                captures[i].value.data() + captures[i].value.size() <= words.data() + words.size());
        REQUIRE(utf8::is_valid(captures[i].value));
    }
    return 0;
}
