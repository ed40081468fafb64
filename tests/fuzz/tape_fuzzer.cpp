// SPDX-License-Identifier: Apache-2.0
// Any JSON text. It is accepted if a strict reader accepts it; every value's own bytes are a JSON
// text with the same meaning, and so is the output of our writers.

#include <algorithm>
#include <cmath>

#include "base/bytes/utf8.hpp"
#include "base/json/writer.hpp"
#include "json_reference.hpp"

using namespace narratoria;

namespace {

bool same(json::Value a, json::Value b) {
    if (a.type() != b.type()) return false;
    switch (a.type()) {
        case json::Type::Number:
        case json::Type::String: return a.text() == b.text();
        case json::Type::Array: {
            auto left = a.elements();
            auto right = b.elements();
            auto i = left.begin(), j = right.begin();
            for (; i != left.end() && j != right.end(); ++i, ++j) {
                if (!same(*i, *j)) return false;
            }
            return !(i != left.end()) && !(j != right.end());
        }
        case json::Type::Object: {
            auto left = a.members();
            auto right = b.members();
            auto i = left.begin(), j = right.begin();
            for (; i != left.end() && j != right.end(); ++i, ++j) {
                if ((*i).key != (*j).key || !same((*i).value, (*j).value)) return false;
            }
            return !(i != left.end()) && !(j != right.end());
        }
        default: return true;
    }
}

void require_means(std::string_view text, json::Value value) {
    const fuzz::PaddedText copy(text);
    json::Tape tape;
    json::ParseError error;
    REQUIRE(tape.parse(copy.view(), error));
    REQUIRE(same(tape.root(), value));
}

// The reader and RapidJSON differ by design in these cases only.
bool may_differ(std::string_view text) {
    return text.find('\0') != std::string_view::npos ||   // the end of the text to RapidJSON
           text.find("\\u") != std::string_view::npos ||  // RapidJSON accepts half a surrogate pair
           std::count(text.begin(), text.end(), '[') + std::count(text.begin(), text.end(), '{') >
               static_cast<ptrdiff_t>(json::kMaximumDepth);
}

// A number outside the range of a double; RapidJSON accepts some of them.
bool has_too_big_number(std::string_view text) {
    constexpr std::string_view kOfNumbers = "0123456789+-.eE";
    for (size_t at = 0; at < text.size();) {
        const size_t begin = std::min(text.find_first_of(kOfNumbers, at), text.size());
        at = std::min(text.find_first_not_of(kOfNumbers, begin), text.size());
        if (std::isinf(std::strtod(std::string(text.substr(begin, at - begin)).c_str(), nullptr))) {
            return true;
        }
    }
    return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const fuzz::PaddedText text(data, size);
    json::Tape tape;
    json::ParseError error;
    const bool accepted = tape.parse(text.view(), error);

    rapidjson::Document document;
    const bool reference = fuzz::read_reference(document, text.view());
    if (!accepted) {
        REQUIRE(error.byte <= size);
        REQUIRE(!error.message.empty() && utf8::is_valid(error.message));
        REQUIRE(!reference || may_differ(text.view()) ||
                (error.kind == json::ParseError::Kind::NumberTooBig &&
                 has_too_big_number(text.view())));
        return 0;
    }
    REQUIRE(reference);
    REQUIRE(utf8::is_valid(text.view()));
    REQUIRE(fuzz::same(tape.root(), document));

    // Quadratic in the depth, so only the first values of a large text are checked.
    uint32_t budget = 200;
    for (uint32_t at = 0; at < tape.node_count() && budget > 0; ++at) {
        const json::Node& node = tape.nodes()[at];
        const bool is_end = at > 0 && node.type >= json::Type::Array && node.size == 0;
        if (is_end) continue;
        --budget;
        const json::Value value(&tape, at);
        require_means(value.raw(), value);
        if (value.is_string()) {
            std::string written;
            json::append_string(written, value.text());
            require_means(written, value);
        }
    }
    // JSON without escapes has its own reader; after an escape, RapidJSON reads the same text.
    std::string behind_escape = "[\"\\n\",";
    behind_escape.append(text.view());
    behind_escape += ']';
    const fuzz::PaddedText copy(behind_escape);
    json::Tape other;
    if (other.parse(copy.view(), error)) {  // may now be one level too deep
        const auto elements = other.root().elements();
        auto second = elements.begin();
        ++second;
        REQUIRE(same(tape.root(), *second) && tape.root().raw() == (*second).raw());
    }

    std::string compact;
    json::append_compact(compact, tape.root().raw());
    require_means(compact, tape.root());
    return 0;
}
