// SPDX-License-Identifier: Apache-2.0
#include "event/document.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "asset/media_type.hpp"
#include "base/clock.hpp"
#include "event/event.hpp"
#include "event/line_framer.hpp"

namespace narratoria::event {
namespace {

// Returns the faults of one event, sorted by position. Sets `is_done` for a "done".
Faults check_event(Decoder& decoder, std::string_view text, bool& is_done) {
    Event event;
    Faults faults;
    if (!decoder.decode(text, event)) faults = decoder.faults(text);
    is_done = event.tape != nullptr && event.type == Type::Done;
    // At run time an invalid media type only refuses the asset. In a document check it is a fault.
    const bool is_asset = event.tape != nullptr && event.type == Type::Asset;
    if (const json::Value value = is_asset ? event.field(Field::MediaType) : json::Value();
        value && value.is_string() && !value.text().empty() &&
        !asset::is_media_type(value.text())) {
        faults.push_back(
            {"event-media-type", "/mediaType",
             static_cast<size_t>(value.raw().data() - text.data()),
             "\"" + excerpt(value.text(), 0) + "\" is not a MIME type; write it like image/png",
             ""});
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
    std::optional<size_t> done;     // number of the first "done" event, from 1
    size_t last_byte = 0;           // offset of the last event
    size_t byte_after_done = 0;     // offset of the first event after "done"
    bool first_ends_early = false;  // the first line is the incomplete beginning of a value
    bool any_is_object = false;
};

Lines check_lines(std::string padded, size_t size) {
    Lines lines;
    Decoder decoder;
    auto take = [&](const Line& line) {
        if (is_blank(line.text)) return true;
        bool is_done = false;
        Faults faults = check_event(decoder, line.text, is_done);
        const bool is_json = faults.empty() || faults[0].rule.rfind("json-", 0) != 0;
        lines.any_is_object |= is_json;
        lines.last_byte = line.offset;
        if (lines.done == lines.events) lines.byte_after_done = line.offset;
        if (is_done && !lines.done) lines.done = lines.events + 1;
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

// Checks the "done" of the whole output. Only warns, because the text may be a part of an output.
void check_done(Lines& lines) {
    Fault warning;
    if (!lines.done) {
        warning = {"event-done-missing", "", lines.last_byte,
                   "\"done\" is missing, and a tool that ends without it fails; print "
                   "{\"version\":\"0\",\"type\":\"done\",\"ok\":true} as the last line",
                   ""};
    } else if (const size_t after = lines.events - *lines.done; after > 0) {
        warning = {
            "event-after-done", "", lines.byte_after_done,
            (after == 1 ? std::string("one event comes") : std::to_string(after) + " events come") +
                " after the first \"done\" and would not be accepted; print \"done\" once, as the "
                "last line",
            ""};
    } else {
        return;
    }
    warning.is_warning = true;
    const auto place =
        std::upper_bound(lines.faults.begin(), lines.faults.end(), warning,
                         [](const Fault& a, const Fault& b) { return a.byte < b.byte; });
    lines.faults.insert(place, std::move(warning));
}

}  // namespace

Faults check_document(std::string_view text) {
    if (is_blank(text)) {
        return {{"event-none", "", 0,
                 "there is no event; print one JSON object per line, and \"done\" last", ""}};
    }
    std::string padded;
    padded.reserve(text.size() + json::kPadding);
    padded.append(text);
    padded.append(json::kPadding, '\0');
    Decoder decoder;
    bool is_done = false;
    Faults whole = check_event(decoder, {padded.data(), text.size()}, is_done);
    const bool is_one_value = whole.empty() || whole[0].rule.rfind("json-", 0) != 0;
    if (is_one_value) return whole;

    Lines lines = check_lines(std::move(padded), text.size());
    // A broken event that spans lines: report the one real position instead of a fault for each
    // line.
    const char first = text[text.find_first_not_of(" \t\r\n")];
    if (first == '{' && lines.first_ends_early && !lines.any_is_object) return whole;
    check_done(lines);
    return std::move(lines.faults);
}

}  // namespace narratoria::event
