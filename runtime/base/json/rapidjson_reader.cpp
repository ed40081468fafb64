// SPDX-License-Identifier: Apache-2.0
// Reads any JSON with RapidJSON and reports errors.

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>
#include <string>

#define RAPIDJSON_ASSERT(x) assert(x)
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include "base/bytes/typographic_quote.hpp"
#include "base/bytes/utf8.hpp"
#include "base/json/string_scan.hpp"
#include "base/json/tape.hpp"

namespace narratoria::json {
namespace {

// The stream for RapidJSON's reader. The reader runs in in-situ mode, in which the stream stores
// strings. This stream does not modify the text. It skips the plain part of a string in one step
// and decodes only strings with escapes, into the arena.
class TextStream {
public:
    using Ch = char;

    TextStream(const char* text, char* arena) : begin_(text), at_(text), arena_(arena) {}

    Ch Peek() const { return *at_; }
    Ch Take() { return *at_++; }
    size_t Tell() const { return static_cast<size_t>(at_ - begin_); }
    void Flush() {}

    Ch* PutBegin() {
        string_begin_ = at_;
        decoded_ = nullptr;
        bool high = false;
        at_ = skip_plain(at_, high);
        if (high) check_utf8(string_begin_, at_);
        return nullptr;
    }

    void Put(Ch c) {
        // The reader ends each string with a Put of zero. Only in that case is the last byte taken
        // a bare quote.
        if (c == '\0' && at_[-1] == '"') {
            string_end_ = at_ - 1;
            return;
        }
        if (decoded_ == nullptr) begin_decoding();
        *arena_++ = c;
        // The byte is unescaped in the text: also copy the plain run after it. A byte above 0x7F
        // from a \u escape never equals the hexadecimal digit before at_. The byte may begin a
        // character, so the UTF-8 check includes it.
        if (c == at_[-1]) {
            const char* run = at_;
            bool high = static_cast<unsigned char>(c) >= 0x80;
            at_ = skip_plain(at_, high);
            if (high) check_utf8(run - 1, at_);
            const auto length = static_cast<size_t>(at_ - run);
            std::memcpy(arena_, run, length);
            arena_ += length;
        }
    }

    size_t PutEnd(Ch*) {
        if (decoded_ == nullptr) return 1;
        // RapidJSON accepts a lone \uDC00, but its encoding is not valid UTF-8.
        if (fault_ == nullptr && !utf8::is_valid(string())) {
            fault_ = find_low_surrogate();
            fault_is_surrogate_ = true;
            fault_is_escape_ = true;
        }
        return 1;
    }

    // The content of the last string.
    std::string_view string() const {
        if (decoded_ != nullptr) return {decoded_, static_cast<size_t>(arena_ - decoded_)};
        return {string_begin_, static_cast<size_t>(string_end_ - string_begin_)};
    }
    bool string_was_escaped() const { return decoded_ != nullptr; }

    void skip_white_space() {
        // One comparison in the common case: lines rarely have white space between their tokens.
        while (static_cast<unsigned char>(*at_) <= ' ' &&
               (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) {
            ++at_;
        }
    }

    const char* position() const { return at_; }
    bool has_fault() const { return fault_ != nullptr; }
    size_t fault_byte() const { return static_cast<size_t>(fault_ - begin_); }
    bool fault_is_surrogate() const { return fault_is_surrogate_; }
    bool fault_is_escape() const { return fault_is_escape_; }

private:
    void begin_decoding() {
        const auto place = static_cast<uint32_t>(string_begin_ - begin_);
        std::memcpy(arena_, &place, kPlaceSize);
        arena_ += kPlaceSize;
        decoded_ = arena_;
        // The plain part before the first escape ends at the backslash.
        const char* escape = string_begin_;
        while (*escape != '\\') ++escape;
        const auto length = static_cast<size_t>(escape - string_begin_);
        std::memcpy(arena_, string_begin_, length);
        arena_ += length;
    }

    // Finds the first \uDC00…\uDFFF without a high surrogate. The string is complete, and RapidJSON
    // has checked that a low surrogate follows each high one.
    const char* find_low_surrogate() const {
        auto is_escape = [](const char* at, std::string_view thirds) {
            return at[0] == '\\' && at[1] == 'u' && (at[2] == 'd' || at[2] == 'D') &&
                   thirds.find(at[3]) != std::string_view::npos;
        };
        for (const char* at = string_begin_; at < at_; at += *at == '\\' ? 2 : 1) {
            if (is_escape(at, "89abAB")) at += 10;  // with the two of the loop, skips the pair
            else if (is_escape(at, "cdefCDEF")) return at;
        }
        return string_begin_;
    }

    void check_utf8(const char* from, const char* to) {
        if (fault_ != nullptr) return;
        const std::string_view run(from, static_cast<size_t>(to - from));
        const size_t valid = utf8::valid_prefix(run);
        if (valid == run.size()) return;
        fault_ = from + valid;
        fault_is_surrogate_ = utf8::is_surrogate(run.substr(valid));
    }

    const char* begin_;
    const char* at_;
    char* arena_;
    const char* string_begin_ = nullptr;
    const char* string_end_ = nullptr;
    const char* decoded_ = nullptr;
    const char* fault_ = nullptr;
    bool fault_is_surrogate_ = false;
    bool fault_is_escape_ = false;
};

// RapidJSON finds this overload instead of its own, which compares each byte with four others.
inline void SkipWhitespace(TextStream& stream) { stream.skip_white_space(); }

}  // namespace

class Builder {
public:
    Builder(Tape& tape, TextStream& stream, uint32_t depth)
        : tape_(tape), stream_(stream), most_(depth) {}

    bool Null() { return scalar(Type::Null, 4); }
    bool Bool(bool value) { return value ? scalar(Type::True, 4) : scalar(Type::False, 5); }
    bool Int(int) { return number(); }
    bool Uint(unsigned) { return number(); }
    bool Int64(int64_t) { return number(); }
    bool Uint64(uint64_t) { return number(); }
    bool Double(double value) {
        // RapidJSON accepts some numbers that overflow to infinity, and near the limit its result
        // may be off by one bit. So numbers near the limit are parsed again exactly.
        constexpr double kNearTheEnd = 1.79e308;
        if (value > kNearTheEnd || value < -kNearTheEnd) return number() && is_finite_for_sure();
        return number();
    }
    bool RawNumber(const char*, rapidjson::SizeType, bool) { return number(); }
    bool Key(const char*, rapidjson::SizeType, bool) { return string(); }
    bool String(const char*, rapidjson::SizeType, bool) { return string(); }
    bool StartObject() { return open(Type::Object); }
    bool StartArray() { return open(Type::Array); }
    bool EndObject(rapidjson::SizeType) { return close(Type::Object); }
    bool EndArray(rapidjson::SizeType) { return close(Type::Array); }

    bool too_deep() const { return depth_ > most_; }
    bool number_too_big() const { return number_too_big_; }

private:
    Node& append() {
        tape_.reserve(tape_.count_ + 1);
        return tape_.nodes_[tape_.count_++];
    }

    bool scalar(Type type, uint32_t length) {
        append() = {stream_.position() - length, length, type, 0, 0};
        return true;
    }

    bool number() {
        // The reader passes the value, not its position. The number's text ends here; find its
        // start backwards. The byte before a number cannot be a part of a number.
        const char* end = stream_.position();
        const char* begin = end - 1;
        while (begin > tape_.text_.data() && belongs_to_number(begin[-1])) --begin;
        append() = {begin, static_cast<uint32_t>(end - begin), Type::Number, 0, 0};
        return true;
    }

    bool is_finite_for_sure() {
        double exact = 0;
        const Node& node = tape_.nodes_[tape_.count_ - 1];
        const auto [end, failure] = std::from_chars(node.begin, node.begin + node.size, exact);
        (void)end;
        number_too_big_ = failure == std::errc::result_out_of_range;
        return !number_too_big_;
    }

    static bool belongs_to_number(char c) {
        return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
    }

    bool string() {
        if (stream_.has_fault()) return false;
        const std::string_view content = stream_.string();
        append() = {content.data(), static_cast<uint32_t>(content.size()), Type::String,
                    stream_.string_was_escaped(), 0};
        return true;
    }

    bool open(Type type) {
        if (++depth_ > most_) return false;
        open_[depth_ - 1] = tape_.count_;
        append() = {stream_.position() - 1, 0, type, 0, 0};
        return true;
    }

    bool close(Type type) {
        tape_.nodes_[open_[--depth_]].size = tape_.count_;
        append() = {stream_.position(), 0, type, 0, 0};
        return true;
    }

    Tape& tape_;
    TextStream& stream_;
    bool number_too_big_ = false;
    uint32_t depth_ = 0;
    const uint32_t most_;
    uint32_t open_[kDepthOfOwn];
};

namespace {

constexpr const char* kHalfASurrogatePair = "a \\u escape is a lone surrogate";

// Returns what is wrong with a text that people often write in place of JSON; empty if it is something
// else.
std::string_view common_mistake(std::string_view rest, rapidjson::ParseErrorCode code) {
    const bool needs_value =
        code == rapidjson::kParseErrorValueInvalid || code == rapidjson::kParseErrorObjectMissName;
    const bool is_between = needs_value || code == rapidjson::kParseErrorObjectMissColon ||
                            code == rapidjson::kParseErrorObjectMissCommaOrCurlyBracket ||
                            code == rapidjson::kParseErrorArrayMissCommaOrSquareBracket ||
                            code == rapidjson::kParseErrorDocumentRootNotSingular;
    if (is_between && (rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#'))) {
        return "JSON has no comments; remove this one";
    }
    if (!needs_value) return {};
    if (rest.starts_with('\'')) {
        return "this is a single quote; JSON needs double quotes (\") around texts and names";
    }
    return begins_with_typographic_quote(rest) ? kTypographicQuote : std::string_view();
}

ParseError describe(std::string_view text, const rapidjson::ParseResult& result) {
    ParseError error;
    error.byte = result.Offset();
    const std::string_view rest = text.substr(std::min(error.byte, text.size()));
    switch (result.Code()) {
        case rapidjson::kParseErrorDocumentEmpty:
            if (!rest.empty()) break;  // the reader treats a NUL as the end of the text
            error.kind = ParseError::Kind::Empty;
            error.message = "there is no JSON value";
            break;
        case rapidjson::kParseErrorDocumentRootNotSingular:
            error.kind = ParseError::Kind::TrailingContent;
            error.message = common_mistake(rest, result.Code());
            if (!error.message.empty()) break;
            error.message = "extra content follows the JSON value; write only one value";
            break;
        case rapidjson::kParseErrorNumberTooBig:
            error.kind = ParseError::Kind::NumberTooBig;
            error.message = "the number is outside the range of a double";
            break;
        case rapidjson::kParseErrorStringUnicodeSurrogateInvalid:
            error.kind = ParseError::Kind::LoneSurrogate;
            error.message = kHalfASurrogatePair;
            break;
        default:
            error.message = common_mistake(rest, result.Code());
            if (!error.message.empty()) break;
            // RapidJSON's message does not help with an extra comma.
            if (!rest.empty() && (rest[0] == ',' || rest[0] == ']' || rest[0] == '}') &&
                (result.Code() == rapidjson::kParseErrorValueInvalid ||
                 result.Code() == rapidjson::kParseErrorObjectMissName)) {
                error.message = "a value or a member is missing here, or there is an extra comma";
                break;
            }
            if (result.Code() == rapidjson::kParseErrorObjectMissName) {
                error.message = "a member's name is missing here; write it in double quotes";
                break;
            }
            error.message = rapidjson::GetParseError_En(result.Code());
            if (!error.message.empty() && error.message.back() == '.') error.message.pop_back();
    }
    if (error.kind == ParseError::Kind::Syntax) {
        if (rest.empty() || rest == "\\") {
            error.byte = text.size();
            error.message = "the text ends in the middle of a value";
        } else if (rest[0] == '\0') {
            error.message = "the text contains a NUL character";
        } else if (static_cast<unsigned char>(rest[0]) < 0x20 && rest[0] != '\n' &&
                   rest[0] != '\r' && rest[0] != '\t') {
            error.message =
                "the text contains a control character; in a string, write it as \\u00XX";
        } else if (static_cast<unsigned char>(rest[0]) < 0x20 &&
                   result.Code() == rapidjson::kParseErrorStringEscapeInvalid) {
            error.message = "a string contains a line break or tab; write it as \\n, \\r or \\t";
        } else if (static_cast<unsigned char>(rest[0]) >= 0x80 &&
                   utf8::valid_prefix(rest.substr(0, 4)) == 0) {
            error.kind = ParseError::Kind::InvalidUtf8;
            error.message = "the bytes are not UTF-8";
        }
    }
    return error;
}

}  // namespace

bool Tape::read_any(uint32_t depth, ParseError& error) {
    const std::string_view text = text_;
    count_ = 0;
    if (arena_capacity_ < text.size() + 1 + kPadding) {
        arena_capacity_ = text.size() + text.size() / 2 + 256;
        arena_.reset(new char[arena_capacity_]);
    }
    TextStream stream(text.data(), arena_.get());
    Builder builder(*this, stream, depth);
    rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>> reader;
    rapidjson::ParseResult result = reader.Parse<rapidjson::kParseInsituFlag>(stream, builder);

    if (!result.IsError()) {
        // The reader treats a NUL byte as the end of the text.
        if (stream.Tell() == text.size()) return true;
        error = describe(text, rapidjson::ParseResult(rapidjson::kParseErrorDocumentRootNotSingular,
                                                      stream.Tell()));
        count_ = 0;
        return false;
    }
    if (builder.too_deep()) {
        // - 1: the reader has already consumed the bracket.
        error = {ParseError::Kind::TooDeep, result.Offset() - 1,
                 "the value is nested deeper than " + std::to_string(depth) + " levels"};
    } else if (stream.has_fault()) {
        error = {stream.fault_is_surrogate() ? ParseError::Kind::LoneSurrogate
                                             : ParseError::Kind::InvalidUtf8,
                 stream.fault_byte(),
                 stream.fault_is_escape()      ? kHalfASurrogatePair
                 : stream.fault_is_surrogate() ? "the string contains a lone surrogate"
                                               : "the bytes are not UTF-8"};
    } else if (builder.number_too_big()) {
        error = describe(
            text, rapidjson::ParseResult(rapidjson::kParseErrorNumberTooBig, result.Offset()));
    } else {
        error = describe(text, result);
    }
    count_ = 0;
    return false;
}

}  // namespace narratoria::json
