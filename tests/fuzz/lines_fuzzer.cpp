// SPDX-License-Identifier: Apache-2.0
// The lines of one tool. What they begin with alike is compared, not read; each must be taken, or
// refused, as if it were the first.

#include "event/event.hpp"
#include "json_reference.hpp"

using namespace narratoria;

namespace {

bool same_tape(const json::Tape& a, const json::Tape& b) {
    if (a.node_count() != b.node_count()) return false;
    for (uint32_t i = 0; i < a.node_count(); ++i) {
        const json::Node &x = a.nodes()[i], &y = b.nodes()[i];
        if (x.type != y.type || x.size != y.size || x.escaped != y.escaped) return false;
        // What stands in the text stands at the same place of it; an escaped string, in an arena.
        const bool same =
            x.escaped ? std::string_view(x.begin, x.size) == std::string_view(y.begin, y.size)
                      : x.begin - a.source().data() == y.begin - b.source().data();
        if (!same) return false;
    }
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    event::Decoder decoder;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));

        const fuzz::PaddedText text(line), copy(line);
        event::Event event, first;
        event::Decoder fresh;
        const bool accepted = decoder.decode(text.view(), event);
        REQUIRE(accepted == fresh.decode(copy.view(), first));
        if (!accepted) {
            REQUIRE(decoder.fault().rule == fresh.fault().rule);
            REQUIRE(decoder.fault().byte == fresh.fault().byte);
            REQUIRE(decoder.fault().pointer == fresh.fault().pointer);
            continue;
        }
        REQUIRE(event.type == first.type && event.line == first.line);
        REQUIRE(std::equal(std::begin(event.fields), std::end(event.fields), first.fields));
        REQUIRE(same_tape(*event.tape, *first.tape));
    }
    return 0;
}
