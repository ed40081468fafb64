// SPDX-License-Identifier: Apache-2.0
#include "script/error.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/bytes/utf8.hpp"
#include "base/json/error.hpp"
#include "base/near_name.hpp"

namespace narratoria::script {

namespace {

// The characters shown before and after the column of a longer line.
constexpr size_t kShownBefore = 80;
constexpr size_t kShownAfter = 40;

constexpr std::array<std::string_view, 5> kFunctions{"FORMAT", "GET", "HAS", "NOW", "PRINT"};
constexpr std::array<std::string_view, 12> kKeywords{"AND", "CALL", "DO",  "ELSE", "END", "FOR",
                                                     "IF",  "IN",   "LET", "NOT",  "OR",  "THEN"};

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

bool is_word(char byte) {
    return is_digit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           byte == '_';
}

std::string_view word_at(std::string_view text) {
    return text.substr(
        0, static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_word) - text.begin()));
}

std::string_view trimmed(std::string_view text) {
    const auto is_space = [](char byte) { return byte == ' ' || byte == '\t'; };
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

std::string upper(std::string_view word) {
    std::string out(word);
    for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return out;
}

// `rest` begins with a character that no word of the language contains.
std::string hint_about_character(std::string_view rest) {
    if (rest.starts_with("\xEF\xBB\xBF")) {
        return "a byte order mark, which editors do not show; save the script as UTF-8 without one";
    }
    if (rest.starts_with("&&")) return "write AND instead of &&";
    if (rest.starts_with("||")) return "write OR instead of ||";
    if (rest.starts_with("\xC2\xA0")) {
        return "a no-break space, which looks like a space; replace it by one";
    }
    for (const std::string_view quote : {"“", "”", "„", "‘", "’"}) {
        if (rest.starts_with(quote)) return "write texts in straight double quotes: \"…\"";
    }
    if (!rest.empty() && (rest.front() & 0x80) != 0 && utf8::valid_prefix(rest) > 0) {
        return "names consist of the letters A to Z and a to z, digits and _";
    }
    switch (rest.empty() ? '\0' : rest.front()) {
        case '!': return "write NOT instead of !";
        case '\'': return "write texts in double quotes: \"…\"";
        case '#': return "a comment begins with //";
        case ';': return "no character ends a statement; leave the ; out";
        default: return {};
    }
}

// `before`: the text of the line before a "=" that the parser did not expect.
std::string hint_about_assignment(std::string_view before) {
    const std::string_view first = word_at(before);
    const std::string_view second = trimmed(before.substr(first.size()));
    if (first.empty() || first == "true" || first == "false" || first == "null") return {};
    if (second.empty()) return "to set a variable, write LET " + std::string(first) + " = …";
    if (word_at(second) == second) {
        const std::string name = upper(first);
        if (name == "LET" || name == "VAR" || name == "CONST") {
            return "to set a variable, write LET " + std::string(second) + " = …";
        }
    }
    return "to compare two values, write ==; a statement that sets a variable begins with LET";
}

// What this language has instead of a word of others.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kOtherWords{{
    {"WHILE", "there is no WHILE; FOR name IN list DO … END runs a block for each element"},
    {"ELSEIF", "write ELSE IF … THEN … END END; each IF has its own END"},
    {"ELIF", "write ELSE IF … THEN … END END; each IF has its own END"},
    {"RETURN", "a script has no RETURN; it ends after its last statement"},
    {"BREAK", "there is no BREAK; FOR runs its block for each element of the list"},
    {"CONTINUE", "there is no CONTINUE; put the rest of the block into an IF"},
    {"FUNCTION", "a script has no functions of its own; let a tool do it"},
    {"TRY", "there is no TRY; an error ends the script"},
    {"SET", "to set a variable, write LET name = …"},
    {"VAR", "to set a variable, write LET name = …"},
    {"CONST", "to set a variable, write LET name = …"},
}};

// `rest` is the text of the line after the name.
std::string hint_about_variable(std::string_view name, std::string_view rest) {
    const std::string large = upper(name);
    if (large == "TRUE" || large == "FALSE" || large == "NULL") {
        std::string small = large;
        for (char& c : small) c = static_cast<char>(c - 'A' + 'a');
        return "write " + small + " in small letters";
    }
    if (large == "NONE" || large == "NIL" || large == "UNDEFINED") return "write null";
    if (std::find(kKeywords.begin(), kKeywords.end(), large) != kKeywords.end()) {
        return "write the keyword in capital letters: " + large;
    }
    if (std::find(kFunctions.begin(), kFunctions.end(), large) != kFunctions.end()) {
        return "a function has its arguments in parentheses: " + large + "(…)";
    }
    const auto other = std::find_if(kOtherWords.begin(), kOtherWords.end(),
                                    [&](const auto& word) { return word.first == large; });
    if (other != kOtherWords.end()) return std::string(other->second);
    if (trimmed(rest).starts_with('{')) {
        return "to call a tool, write CALL " + std::string(name) + " { … }";
    }
    return {};
}

// `before` and `rest`: the line before and after a place that the parser did not expect.
std::string hint_about_call(std::string_view before, std::string_view rest) {
    if (rest.starts_with('}') && before.ends_with(',')) {
        return "no comma follows the last argument";
    }
    std::string_view name = before;
    while (!name.empty() && is_word(name.back())) name.remove_suffix(1);
    const std::string_view tool = before.substr(name.size());
    if (tool.empty() || !trimmed(name).ends_with("CALL")) return {};
    if (rest.starts_with('(')) {
        return "the arguments of a CALL are in braces: CALL " + std::string(tool) +
               " { name: value }";
    }
    if (!rest.starts_with('-') && !rest.starts_with('.')) return {};
    std::string written(tool);
    for (const char c : rest) {
        if (!is_word(c) && c != '-') break;  // no extension either
        written += is_word(c) ? c : '_';
    }
    return "in a script, a tool's name has _ for each other character, and no extension: CALL " +
           written;
}

std::string hint_about_limit(const Error& error) {
    struct Limit {
        std::string_view error;
        std::string_view limit;
        std::string_view option;
    };
    constexpr std::array<Limit, 7> kLimits{{
        {"StepLimitError", "steps", "steps"},
        {"CallLimitError", "calls", "calls"},
        {"MemoryLimitError", "memory_bytes", "memory"},
        {"OutputLimitError", "output_bytes", "output"},
        {"TimeLimitError", "time_ms", "time"},
        {"SizeLimitError", "value_bytes", "value"},
        {"", "source_bytes", "source"},
    }};
    const bool is_of_source = error.message.starts_with("The script has ");
    const auto found = std::find_if(kLimits.begin(), kLimits.end(), [&](const Limit& each) {
        return each.error == (is_of_source ? std::string_view() : std::string_view(error.name));
    });
    if (found == kLimits.end()) return {};
    return "the limit is script_" + std::string(found->limit) +
           " in [limits] of story.toml and in the host's limits, and --max-" +
           std::string(found->option);
}

// Returns advice that the message does not give; may be empty. The error is at line[at].
std::string hint_at(const Error& error, std::string_view line, size_t at) {
    std::string_view rest = line.substr(at);
    const std::string_view message = error.message;
    constexpr std::string_view kUnknownFunction = "Unknown function called: ";
    if (error.name == "LexerError" || rest.starts_with("\xEF\xBB\xBF")) {
        return hint_about_character(rest);
    }
    if (error.name == "UndefinedVariableError") {
        const std::string_view name = word_at(rest);
        return hint_about_variable(name, rest.substr(name.size()));
    }
    if (error.name == "RuntimeError" && message.starts_with(kUnknownFunction)) {
        const std::string_view near =
            near_name(message.substr(kUnknownFunction.size()), kFunctions);
        if (near.empty())
            return "the functions are FORMAT, GET, HAS, NOW and PRINT; CALL calls a tool";
        return "did you mean " + std::string(near) + "?";
    }
    if (error.name == "TypeError" && message.starts_with("Arithmetic operator '+'") &&
        message.find("string") != std::string_view::npos) {
        return R"(+ adds numbers; to join texts, write FORMAT("{a}{b}", { a: …, b: … }))";
    }
    if (error.name != "ParserError") return {};
    if (rest.starts_with('=') && !rest.starts_with("==")) {
        return hint_about_assignment(trimmed(line.substr(0, at)));
    }
    const std::string about_call = hint_about_call(trimmed(line.substr(0, at)), rest);
    if (!about_call.empty()) return about_call;
    // The lexer reads an exponent as a name after a number.
    if (at == 0 || !is_digit(line[at - 1]) || !(rest.starts_with('e') || rest.starts_with('E'))) {
        return {};
    }
    rest.remove_prefix(1);
    if (rest.starts_with('+') || rest.starts_with('-')) rest.remove_prefix(1);
    if (rest.empty() || !is_digit(rest.front())) return {};
    return "numbers have no exponent; write all digits";
}

// Returns the line of the error; sets `at` to the offset of its column.
std::string_view line_of(const Error& error, std::string_view source, size_t& at) {
    for (uint32_t line = 1; line < error.line; ++line) {
        source.remove_prefix(std::min(source.find('\n'), source.size() - 1) + 1);
    }
    source = source.substr(0, source.find('\n'));
    if (source.ends_with('\r')) source.remove_suffix(1);
    at = 0;
    for (uint32_t column = 1; column < error.column && at < source.size(); ++column) {
        at = utf8::next(source, at);
    }
    return source;
}

}  // namespace

void place(Error& error, std::string_view source, size_t byte) {
    const json::Position position = json::position_of(source, byte);
    error.line = static_cast<uint32_t>(position.line);
    error.column = static_cast<uint32_t>(position.column);
}

std::string undefined_variable(std::string_view name) {
    return "Variable '" + std::string(name) + "' not defined.";
}

std::string missing_tool(std::string_view name) {
    return "Tool '" + std::string(name) + "' not found.";
}

std::string function_fault(std::string_view name, uint32_t arguments) {
    const auto expects = [&](uint32_t count, const char* before, const char* wanted) {
        if (arguments == count) return std::string();
        return before + std::string(" expects ") + wanted + ", got " + std::to_string(arguments);
    };
    if (name == "NOW") return {};  // the parser has checked it
    if (name == "PRINT") return expects(1, "Function PRINT()", "exactly 1 argument");
    if (name == "FORMAT") {
        return expects(2, "FORMAT function", "2 arguments (template string, values object)");
    }
    if (name == "HAS") return expects(2, "Function HAS()", "2 arguments (object, path)");
    if (name == "GET") return expects(3, "Function GET()", "3 arguments (object, path, default)");
    return "Unknown function called: " + std::string(name);
}

std::string hint_of(const Error& error, std::string_view source) {
    if (!error.hint.empty()) return error.hint;
    if (std::string hint = hint_about_limit(error); !hint.empty() || error.line == 0) return hint;
    size_t at = 0;
    const std::string_view line = line_of(error, source, at);
    return hint_at(error, line, at);
}

std::string describe(const Error& error, std::string_view source) {
    std::string out = error.name + ": " + error.message + "\n";
    const std::string hint = hint_of(error, source);
    const auto add_hint = [&] {
        if (!hint.empty()) out.append("  hint: ").append(hint).append("\n");
    };
    if (error.line == 0) {
        add_hint();
        return out;
    }
    size_t at = 0;
    source = line_of(error, source, at);
    size_t begin = at > kShownBefore ? at - kShownBefore : 0;
    while (begin < at && utf8::continues(source[begin])) ++begin;
    size_t end = std::min(source.size(), at + kShownAfter);
    while (end < source.size() && utf8::continues(source[end])) ++end;

    const std::string number = std::to_string(error.line);
    out += "  " + number + " | ";
    out += begin > 0 ? "…" : "";
    // A carriage return does not end a line here, but would move the terminal's cursor.
    std::string shown = utf8::repaired(source.substr(begin, end - begin));
    std::replace(shown.begin(), shown.end(), '\r', ' ');
    out += shown;
    out += end < source.size() ? "…\n" : "\n";
    out += "  " + std::string(number.size(), ' ') + " | ";
    if (begin > 0) out += ' ';
    // Keep tabs, so that the caret is below its character.
    for (size_t i = begin; i < at; ++i) {
        if (!utf8::continues(source[i])) out += source[i] == '\t' ? '\t' : ' ';
    }
    out += "^\n";
    add_hint();
    return out;
}

}  // namespace narratoria::script
