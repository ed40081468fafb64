// SPDX-License-Identifier: Apache-2.0
// Reading the state by JSON Pointer (RFC 6901). Input: the pointer, a newline, the state. The tree
// must return what a walk through the document finds.

#include <optional>
#include <string>
#include <vector>

#include "require.hpp"
#include "state/tree.hpp"

using namespace narratoria;

namespace {

// The pointer's segments, or nothing if it is malformed.
std::optional<std::vector<std::string>> segments_of(std::string_view pointer) {
    std::vector<std::string> segments;
    for (size_t at = 0; at < pointer.size(); ++at) {
        if (at == 0 && pointer[0] != '/') return std::nullopt;
        if (pointer[at] == '/') {
            segments.emplace_back();
        } else if (pointer[at] == '~') {
            ++at;
            if (at == pointer.size() || (pointer[at] != '0' && pointer[at] != '1')) {
                return std::nullopt;
            }
            segments.back() += pointer[at] == '0' ? '~' : '/';
        } else {
            segments.back() += pointer[at];
        }
    }
    return segments;
}

json::Value step(json::Value value, const std::string& segment) {
    if (value.is_object()) return value.find(segment);
    if (!value.is_array()) return {};
    size_t position = 0;
    for (const json::Value element : value.elements()) {
        if (std::to_string(position++) == segment) return element;
    }
    return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const size_t newline = input.find('\n');
    if (newline == std::string_view::npos) return 0;
    const std::string pointer(input.substr(0, newline));
    const fuzz::PaddedText text(input.substr(newline + 1));
    json::Tape tape;
    json::ParseError error;
    if (!tape.parse(text.view(), error) || !tape.root().is_object()) return 0;

    state::Tree tree;
    tree.assign(tape.root());
    std::string answer;
    bool malformed = false;
    const bool found = tree.read(pointer, answer, malformed);

    const auto segments = segments_of(pointer);
    REQUIRE(malformed == !segments);
    if (!segments) {
        REQUIRE(!found);
        return 0;
    }
    json::Value expected = tape.root();
    for (const std::string& segment : *segments) {
        expected = step(expected, segment);
        if (!expected) break;
    }
    REQUIRE(found == static_cast<bool>(expected));
    if (!found) return 0;

    // Compares values by reading both from a tree of their own.
    const auto settled = [](std::string_view value) {
        const fuzz::PaddedText wrapped("{\"value\":" + std::string(value) + "}");
        json::Tape read;
        json::ParseError problem;
        REQUIRE(read.parse(wrapped.view(), problem));
        state::Tree again;
        again.assign(read.root());
        std::string out;
        again.append_json(out);
        return out;
    };
    REQUIRE(settled(answer) == settled(expected.raw()));
    return 0;
}
