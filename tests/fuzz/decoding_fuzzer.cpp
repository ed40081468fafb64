// SPDX-License-Identifier: Apache-2.0
// One line of a tool. Accepting and fault-finding agree; a strict reader understands an accepted
// line the same way; the faults of a refused line can be printed.

#include "base/bytes/utf8.hpp"
#include "base/clock.hpp"
#include "event/event.hpp"
#include "json_reference.hpp"

using namespace narratoria;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const fuzz::PaddedText text(data, size);
    const std::string_view line = text.view();

    event::Decoder decoder;
    event::Event event;
    const bool accepted = decoder.decode(line, event);

    event::Decoder checker;
    const Faults faults = checker.faults(line);
    REQUIRE(accepted == faults.empty());
    for (const Fault& fault : faults) {
        REQUIRE(!fault.rule.empty() && !fault.message.empty());
        REQUIRE(fault.byte <= line.size());
        REQUIRE(utf8::is_valid(fault.message) && utf8::is_valid(fault.pointer));
        REQUIRE(utf8::is_valid(event::excerpt(line, fault.byte)));
    }
    if (!accepted) {
        REQUIRE(decoder.fault().rule == faults.front().rule);
        REQUIRE(decoder.fault().byte == faults.front().byte);
        REQUIRE(decoder.fault().pointer == faults.front().pointer);
        return 0;
    }

    rapidjson::Document document;
    REQUIRE(fuzz::read_reference(document, line));
    REQUIRE(utf8::is_valid(line));
    REQUIRE(fuzz::same(event.tape->root(), document));
    REQUIRE(document.IsObject());

    // The event is the line without surrounding white space.
    const size_t first = line.find_first_not_of(" \t\r\n");
    const size_t last = line.find_last_not_of(" \t\r\n");
    REQUIRE(event.line == line.substr(first, last - first + 1));
    REQUIRE(event.text(event::Field::Version) == "0");
    REQUIRE(event.text(event::Field::Type) == event::type_name(event.type));
    if (const json::Value time = event.field(event::Field::Timestamp)) {
        clock::is_iso8601(time.text());
    }
    return 0;
}
