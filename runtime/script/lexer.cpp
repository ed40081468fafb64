// SPDX-License-Identifier: Apache-2.0
#include "script/lexer.hpp"

#include <array>
#include <charconv>
#include <limits>

#include "base/bytes/utf8.hpp"

namespace narratoria::script {

namespace {

enum Class : uint8_t { Other, Space, Letter, Digit, Quote, Mark };

constexpr std::array<uint8_t, 256> kClasses = [] {
    std::array<uint8_t, 256> classes{};
    for (const char c : {' ', '\t', '\r', '\n'}) classes[static_cast<size_t>(c)] = Space;
    for (size_t c = 'a'; c <= 'z'; ++c) classes[c] = classes[c - 'a' + 'A'] = Letter;
    classes['_'] = Letter;
    for (size_t c = '0'; c <= '9'; ++c) classes[c] = Digit;
    classes['"'] = Quote;
    for (const char c : {'(', ')', '[', ']', '{', '}', ',', ':', '.', '=', '!', '<', '>', '+', '-',
                         '*', '/', '%'}) {
        classes[static_cast<size_t>(c)] = Mark;
    }
    return classes;
}();

// The bytes that end the plain part of a string: quote, backslash, line break, terminating zero.
constexpr std::array<bool, 256> kEndsPlain = [] {
    std::array<bool, 256> ends{};
    for (const char c : {'"', '\\', '\n', '\r', '\0'}) ends[static_cast<size_t>(c)] = true;
    return ends;
}();

constexpr double kPowersOfTen[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

uint8_t class_of(char c) { return kClasses[static_cast<unsigned char>(c)]; }
bool is_name(char c) { return class_of(c) == Letter || class_of(c) == Digit; }

// Returns four hexadecimal digits.
std::string hexadecimal(uint32_t value) {
    std::string out = "0000";
    for (size_t i = 4; i-- > 0; value >>= 4) out[i] = "0123456789abcdef"[value & 15];
    return out;
}

// Returns Identifier if the word is not a keyword.
TokenKind keyword_of(std::string_view word) {
    switch (word.size()) {
        case 2:
            if (word == "IF") return TokenKind::If;
            if (word == "IN") return TokenKind::In;
            if (word == "DO") return TokenKind::Do;
            if (word == "OR") return TokenKind::Or;
            break;
        case 3:
            if (word == "LET") return TokenKind::Let;
            if (word == "END") return TokenKind::EndKeyword;
            if (word == "FOR") return TokenKind::For;
            if (word == "AND") return TokenKind::And;
            if (word == "NOT") return TokenKind::Not;
            break;
        case 4:
            if (word == "CALL") return TokenKind::Call;
            if (word == "THEN") return TokenKind::Then;
            if (word == "ELSE") return TokenKind::Else;
            if (word == "true") return TokenKind::True;
            if (word == "null") return TokenKind::Null;
            break;
        case 5:
            if (word == "false") return TokenKind::False;
            break;
        default: break;
    }
    return TokenKind::Identifier;
}

}  // namespace

bool is_keyword(std::string_view word) { return keyword_of(word) != TokenKind::Identifier; }

Lexer::Lexer(std::string_view source, Symbols& symbols)
    : source_(source), symbols_(symbols), valid_(utf8::valid_prefix(source)) {}

void Lexer::next(Token& token) {
    const char* const text = source_.data();
    size_t at = at_;
    for (;;) {
        while (class_of(text[at]) == Space) ++at;
        if (text[at] != '/' || text[at + 1] != '/') break;
        while (at < source_.size() && text[at] != '\n' && text[at] != '\r') ++at;
    }
    token.begin = static_cast<uint32_t>(at);
    const auto one = [&](TokenKind kind) {
        token.kind = kind;
        ++at;
    };
    // `pair` if "=" follows.
    const auto one_or_pair = [&](TokenKind kind, TokenKind pair) {
        const bool paired = text[at + 1] == '=';
        token.kind = paired ? pair : kind;
        at += paired ? 2 : 1;
    };
    switch (class_of(text[at])) {
        case Letter: {
            const size_t begin = at;
            do ++at;
            while (is_name(text[at]));
            const std::string_view word = source_.substr(begin, at - begin);
            token.kind = keyword_of(word);
            if (token.kind == TokenKind::Identifier) token.symbol = symbols_.intern(word);
            break;
        }
        case Digit:
            at_ = at;
            read_number(token);
            return;
        case Quote:
            at_ = at;
            read_string(token);
            return;
        case Mark:
            switch (text[at]) {
                case '(': one(TokenKind::OpenParenthesis); break;
                case ')': one(TokenKind::CloseParenthesis); break;
                case '[': one(TokenKind::OpenBracket); break;
                case ']': one(TokenKind::CloseBracket); break;
                case '{': one(TokenKind::OpenBrace); break;
                case '}': one(TokenKind::CloseBrace); break;
                case ',': one(TokenKind::Comma); break;
                case ':': one(TokenKind::Colon); break;
                case '.': one(TokenKind::Dot); break;
                case '+': one(TokenKind::Plus); break;
                case '-': one(TokenKind::Minus); break;
                case '*': one(TokenKind::Star); break;
                case '/': one(TokenKind::Slash); break;
                case '%': one(TokenKind::Percent); break;
                case '=': one_or_pair(TokenKind::Assign, TokenKind::Equal); break;
                case '<': one_or_pair(TokenKind::Less, TokenKind::LessEqual); break;
                case '>': one_or_pair(TokenKind::Greater, TokenKind::GreaterEqual); break;
                default:
                    if (text[at + 1] != '=') return fail_at_character(token, at);
                    at += 2;
                    token.kind = TokenKind::NotEqual;
            }
            break;
        default:
            if (at < source_.size()) return fail_at_character(token, at);
            token.kind = TokenKind::End;
    }
    // The text of skipped comments must be valid UTF-8 as well.
    if (at > valid_) return fail_at_character(token, valid_);
    token.end = static_cast<uint32_t>(at);
    at_ = at;
}

void Lexer::read_number(Token& token) {
    const char* const text = source_.data();
    size_t at = at_;
    uint64_t digits = 0;
    const auto read_digits = [&] {
        const size_t first = at;
        while (class_of(text[at]) == Digit) {
            digits = digits * 10 + static_cast<uint64_t>(text[at++] - '0');
        }
        return at - first;
    };
    const size_t whole = read_digits();
    size_t fraction = 0;
    if (text[at] == '.' && class_of(text[at + 1]) == Digit) {
        ++at;
        fraction = read_digits();
    }
    token.kind = TokenKind::Number;
    if (whole + fraction <= 15) {
        // Both numbers are exact, so their quotient is the nearest double.
        token.number = static_cast<double>(digits) / kPowersOfTen[fraction];
    } else {
        const auto [end, failure] = std::from_chars(text + at_, text + at, token.number);
        (void)end;
        if (failure == std::errc::result_out_of_range) {
            const size_t first = source_.find_first_not_of('0', at_);
            token.number = text[first] == '.' ? 0 : std::numeric_limits<double>::infinity();
        }
    }
    token.end = static_cast<uint32_t>(at);
    at_ = at;
}

void Lexer::read_string(Token& token) {
    const char* const text = source_.data();
    const size_t begin = at_ + 1;
    size_t at = begin;
    while (!kEndsPlain[static_cast<unsigned char>(text[at])]) ++at;
    if (text[at] != '"') return read_escaped_string(token, at);
    if (at > valid_) return fail_at_character(token, valid_);
    token.kind = TokenKind::String;
    token.symbol = symbols_.intern(source_.substr(begin, at - begin));
    at_ = at + 1;
    token.end = static_cast<uint32_t>(at_);
}

// `from`: the end of the plain part.
void Lexer::read_escaped_string(Token& token, size_t from) {
    const size_t begin = at_ + 1;
    std::string content(source_.substr(begin, from - begin));
    size_t at = from;
    while (at < source_.size() && source_[at] != '"') {
        const char c = source_[at];
        if (c == '\n' || c == '\r') {
            return fail(token, at, "Line break in a string (write \\n, or close the string)");
        }
        if (c == '\\') {
            const size_t escape = at;
            if (!read_escape(content, at)) {
                const size_t bad = std::min(escape + 1, source_.size());
                const bool is_shown = bad < source_.size() && source_[bad] > ' ';
                return fail(token, escape,
                            is_shown ? std::string("Invalid escape '\\") + source_[bad] + "'"
                                     : std::string("Invalid escape"));
            }
        } else {
            content += c;
            ++at;
        }
    }
    if (at > valid_) return fail_at_character(token, valid_);
    if (at == source_.size()) return fail(token, at_, "String without a closing quote");
    token.kind = TokenKind::String;
    token.symbol = symbols_.intern_copy(content);
    at_ = at + 1;
    token.end = static_cast<uint32_t>(at_);
}

bool Lexer::read_escape(std::string& out, size_t& at) {
    const char c = at + 1 < source_.size() ? source_[at + 1] : '\0';
    at += 2;
    switch (c) {
        case '"':
        case '\\':
        case '/': out += c; return true;
        case 'b': out += '\b'; return true;
        case 'f': out += '\f'; return true;
        case 'n': out += '\n'; return true;
        case 'r': out += '\r'; return true;
        case 't': out += '\t'; return true;
        case 'u': break;
        default: return false;
    }
    uint32_t code;
    if (!read_unicode(code, at)) return false;
    at += 4;
    if (code >= 0xD800 && code < 0xE000) {
        // An unpaired surrogate has no UTF-8 form.
        uint32_t low;
        if (code >= 0xDC00 || source_.substr(at, 2) != "\\u" || !read_unicode(low, at + 2) ||
            low < 0xDC00 || low >= 0xE000) {
            return false;
        }
        at += 6;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    utf8::append(out, code);
    return true;
}

bool Lexer::read_unicode(uint32_t& unit, size_t at) const {
    if (at + 4 > source_.size()) return false;
    const char* const digits = source_.data() + at;
    return std::from_chars(digits, digits + 4, unit, 16).ptr == digits + 4;
}

void Lexer::fail(Token& token, size_t at, std::string message) {
    token.kind = TokenKind::Invalid;
    token.begin = token.end = static_cast<uint32_t>(at);
    error_.name = "LexerError";
    place(error_, source_, at);
    error_.message = std::move(message) + " at line " + std::to_string(error_.line) + ", column " +
                     std::to_string(error_.column);
}

void Lexer::fail_at_character(Token& token, size_t at) {
    if (at >= valid_) return fail(token, valid_, "Invalid UTF-8");
    const auto lead = static_cast<unsigned char>(source_[at]);
    const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    std::string character(source_.substr(at, length));
    if (lead < 0x20 || lead == 0x7F) character = "\\u" + hexadecimal(lead);
    // Escape invisible characters: a byte order mark, a no-break space, a zero-width space.
    if (character == "\xEF\xBB\xBF") character = "\\ufeff";
    if (character == "\xC2\xA0") character = "\\u00a0";
    if (character == "\xE2\x80\x8B") character = "\\u200b";
    fail(token, at, "Unknown character '" + character + "'");
}

std::string describe(const Token& token, std::string_view source) {
    constexpr size_t kShown = 40;
    if (token.kind == TokenKind::End) return "the end of the script";
    std::string_view text = source.substr(token.begin, token.end - token.begin);
    if (text.size() <= kShown) return "'" + std::string(text) + "'";
    text = text.substr(0, kShown);
    return "'" + std::string(text.substr(0, utf8::valid_prefix(text))) + "…'";
}

}  // namespace narratoria::script
