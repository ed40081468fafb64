// SPDX-License-Identifier: Apache-2.0
// Lines do not depend on how the stream is split into reads (spec 000 §2.2), and are those of a
// simple split. Input: the limit, a seed for the sizes of the reads, the stream.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "event/line_framer.hpp"
#include "require.hpp"

using namespace narratoria;

namespace {

struct Framed {
    std::vector<std::string> lines;
    std::vector<uint64_t> offsets;
    std::optional<uint64_t> line_over_limit;

    bool operator==(const Framed&) const = default;
};

Framed simple_split(std::string_view stream, uint64_t limit) {
    Framed framed;
    size_t at = 0;
    while (at < stream.size()) {
        const size_t newline = std::min(stream.find('\n', at), stream.size());
        std::string_view line = stream.substr(at, newline - at);
        const bool ends_with_return = !line.empty() && line.back() == '\r';
        if (line.size() > limit + (ends_with_return ? 1 : 0)) {
            framed.line_over_limit = framed.lines.size() + 1;
            break;
        }
        if (ends_with_return) line.remove_suffix(1);
        framed.lines.emplace_back(line);
        framed.offsets.push_back(at);
        at = newline + 1;
    }
    return framed;
}

// A size derived from `seed`: sometimes one byte, sometimes many.
size_t read_size(uint32_t& seed) {
    seed = seed * 1664525u + 1013904223u;
    const uint32_t random = seed >> 8;
    return 1 + (random & 3 ? random % 7 : random % 200);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    const uint64_t limit = data[0] == 0xFF ? uint64_t{8} * 1024 * 1024 : 1u + data[0];
    uint32_t seed = data[1];
    const bool at_once = seed == 0;
    const std::string_view stream(reinterpret_cast<const char*>(data) + 2, size - 2);

    Framed framed;
    event::LineFramer framer(limit);
    const auto take = [&](const event::Line& line) {
        REQUIRE(line.number == framed.lines.size() + 1);
        REQUIRE(line.text.data()[line.text.size()] == '\0');
        // All of the padding must be readable.
        char padding[json::kPadding];
        std::memcpy(padding, line.text.data() + line.text.size(), sizeof padding);
        REQUIRE(padding[0] == '\0');
        framed.lines.emplace_back(line.text);
        framed.offsets.push_back(line.offset);
        return true;
    };
    std::string_view rest = stream;
    bool going = true;
    while (going && !rest.empty()) {
        const size_t length = at_once ? rest.size() : std::min(read_size(seed), rest.size());
        // A new block for each read: earlier blocks must not be used any more.
        std::unique_ptr<char[]> block(new char[length + json::kPadding]);
        std::memcpy(block.get(), rest.data(), length);
        going = framer.feed(block.get(), length, take);
        rest.remove_prefix(length);
    }
    if (going) REQUIRE(framer.finish(take));
    REQUIRE(going == !framer.over_limit());
    if (framer.over_limit()) {
        framed.line_over_limit = framer.line_number();
        REQUIRE(framer.partial().size() <= limit + 1);
    } else {
        REQUIRE(framer.line_number() == framed.lines.size());
    }
    REQUIRE(framed == simple_split(stream, limit));
    return 0;
}
