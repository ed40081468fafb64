// SPDX-License-Identifier: Apache-2.0
#include "event/document.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "asset/media_type.hpp"
#include "base/clock.hpp"
#include "event/event.hpp"
#include "event/line_framer.hpp"

namespace narratoria::event {
namespace {

// Returns the faults of one event in the order of its text.
Faults check_event(Decoder& decoder, std::string_view text) {
    Event event;
    Faults faults;
    if (!decoder.decode(text, event)) faults = decoder.faults(text);
    // At run time an invalid media type only refuses the asset. In a document check it is a fault.
    const bool is_asset = event.tape != nullptr && event.type == Type::Asset;
    if (const json::Value value = is_asset ? event.field(Field::MediaType) : json::Value();
        value && value.is_string() && !value.text().empty() &&
        !asset::is_media_type(value.text())) {
        faults.push_back(
            {"event-media-type", "/mediaType",
             static_cast<size_t>(value.raw().data() - text.data()),
             "\"" + excerpt(value.text(), 0) + "\" is no MIME type; write it like image/png", ""});
    }
    const json::Value time = event.tape != nullptr ? event.field(Field::Timestamp) : json::Value();
    if (time && time.is_string() && !clock::is_iso8601(time.text())) {
        Fault warning{"event-timestamp", "/timestamp",
                      static_cast<size_t>(time.raw().data() - text.data()),
                      "\"" + excerpt(time.text(), 0) +
                          "\" is not an ISO-8601 date and time; write it like "
                          "2026-01-24T18:30:00Z",
                      ""};
        warning.is_warning = true;
        faults.push_back(std::move(warning));
    }
    std::stable_sort(faults.begin(), faults.end(),
                     [](const Fault& a, const Fault& b) { return a.byte < b.byte; });
    return faults;
}

struct Lines {
    Faults faults;
    size_t events = 0;
    bool first_ends_early = false;  // the first line is the incomplete beginning of a value
    bool any_is_object = false;
};

Lines check_lines(std::string padded, size_t size) {
    Lines lines;
    Decoder decoder;
    auto take = [&](const Line& line) {
        if (is_blank(line.text)) return true;
        Faults faults = check_event(decoder, line.text);
        const bool is_json = faults.empty() || faults[0].rule.rfind("json-", 0) != 0;
        lines.any_is_object |= is_json;
        if (lines.events++ == 0 && !is_json) {
            lines.first_ends_early = faults[0].byte == line.text.size();
        }
        for (Fault& fault : faults) {
            fault.byte += line.offset;
            lines.faults.push_back(std::move(fault));
        }
        return true;
    };
    LineFramer framer(UINT64_MAX / 2);
    framer.feed(padded.data(), size, take);
    framer.finish(take);
    return lines;
}

}  // namespace

Faults check_document(std::string_view text) {
    if (is_blank(text)) {
        return {{"event-none", "", 0,
                 "there is no event; a tool prints one JSON object a line, and \"done\" last", ""}};
    }
    std::string padded;
    padded.reserve(text.size() + json::kPadding);
    padded.append(text);
    padded.append(json::kPadding, '\0');
    Decoder decoder;
    Faults whole = check_event(decoder, {padded.data(), text.size()});
    const bool is_one_value = whole.empty() || whole[0].rule.rfind("json-", 0) != 0;
    if (is_one_value) return whole;

    Lines lines = check_lines(std::move(padded), text.size());
    // A broken event that spans lines: each of its lines would be a fault, and none would name the
    // real position.
    const char first = text[text.find_first_not_of(" \t\r\n")];
    if (first == '{' && lines.first_ends_early && !lines.any_is_object) return whole;
    return std::move(lines.faults);
}

}  // namespace narratoria::event
