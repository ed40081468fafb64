// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/bytes/utf8.hpp"
#include "event/event.hpp"

namespace narratoria::event {
namespace {

// Must be in the order of Field.
constexpr std::string_view kFieldNames[] = {
    "version", "type",     "requestId", "timestamp", "level",     "message",
    "fields",  "patch",    "nulls",     "assetId",   "kind",      "mediaType",
    "path",    "metadata", "event",     "payload",   "errorCode", "errorMessage",
    "details", "ok",       "summary",   "result",    "retry",
};
static_assert(std::size(kFieldNames) == static_cast<size_t>(Field::Count));

std::string_view name_of(Field field) { return kFieldNames[static_cast<size_t>(field)]; }

// The key must have the length of the name. Comparing with a constant compiles to one or two word
// comparisons.
template <Field kField>
Field is(std::string_view key) {
    constexpr std::string_view kName = kFieldNames[static_cast<size_t>(kField)];
    return std::memcmp(key.data(), kName.data(), kName.size()) == 0 ? kField : Field::Count;
}

// The length and the first byte identify the only candidate.
Field field_of(std::string_view key) {
    switch (key.size()) {
        case 2: return is<Field::Ok>(key);
        case 4:
            if (key[0] == 't') return is<Field::Type>(key);
            return key[0] == 'k' ? is<Field::Kind>(key) : is<Field::Path>(key);
        case 5:
            if (key[0] == 'p') return is<Field::Patch>(key);
            if (key[0] == 'r') return is<Field::Retry>(key);
            if (key[0] == 'n') return is<Field::Nulls>(key);
            return key[0] == 'l' ? is<Field::Level>(key) : is<Field::Event>(key);
        case 6: return key[0] == 'f' ? is<Field::Fields>(key) : is<Field::Result>(key);
        case 7:
            switch (key[0]) {
                case 'v': return is<Field::Version>(key);
                case 'm': return is<Field::Message>(key);
                case 'a': return is<Field::AssetId>(key);
                case 'p': return is<Field::Payload>(key);
                case 'd': return is<Field::Details>(key);
                default: return is<Field::Summary>(key);
            }
        case 8: return is<Field::Metadata>(key);
        case 9:
            if (key[0] == 'r') return is<Field::RequestId>(key);
            if (key[0] == 't') return is<Field::Timestamp>(key);
            return key[0] == 'm' ? is<Field::MediaType>(key) : is<Field::ErrorCode>(key);
        case 12: return is<Field::ErrorMessage>(key);
        default: return Field::Count;
    }
}

enum class Wanted : uint8_t { Text, TextNotEmpty, Object, Boolean, Level, Version };

struct Rule {
    Field field;
    Wanted wanted;
    bool required;
};

constexpr Rule kEnvelope[] = {
    {Field::Version, Wanted::Version, true},
    {Field::RequestId, Wanted::Text, false},
    {Field::Timestamp, Wanted::Text, false},
};
constexpr Rule kLog[] = {
    {Field::Level, Wanted::Level, true},
    {Field::Message, Wanted::TextNotEmpty, true},
    {Field::Fields, Wanted::Object, false},
};
constexpr Rule kStatePatch[] = {
    {Field::Patch, Wanted::Object, true},
    {Field::Nulls, Wanted::Object, false},
};
constexpr Rule kAsset[] = {
    {Field::AssetId, Wanted::TextNotEmpty, true},   {Field::Kind, Wanted::TextNotEmpty, true},
    {Field::MediaType, Wanted::TextNotEmpty, true}, {Field::Path, Wanted::TextNotEmpty, true},
    {Field::Metadata, Wanted::Object, false},
};
constexpr Rule kUiEvent[] = {
    {Field::Event, Wanted::TextNotEmpty, true},
    {Field::Payload, Wanted::Object, false},
};
constexpr Rule kError[] = {
    {Field::ErrorCode, Wanted::TextNotEmpty, true},
    {Field::ErrorMessage, Wanted::TextNotEmpty, true},
    {Field::Details, Wanted::Object, false},
};
constexpr Rule kDone[] = {
    {Field::Ok, Wanted::Boolean, true},
    {Field::Summary, Wanted::Text, false},
};

struct Rules {
    std::string_view type;
    const Rule* begin;
    const Rule* end;
};

// Must be in the order of Type, which starts at 1.
constexpr Rules kTypes[] = {
    {"log", std::begin(kLog), std::end(kLog)},
    {"state_patch", std::begin(kStatePatch), std::end(kStatePatch)},
    {"asset", std::begin(kAsset), std::end(kAsset)},
    {"ui_event", std::begin(kUiEvent), std::end(kUiEvent)},
    {"error", std::begin(kError), std::end(kError)},
    {"done", std::begin(kDone), std::end(kDone)},
};

const Rules* rules_of(std::string_view type) {
    for (const Rules& rules : kTypes) {
        if (type == rules.type) return &rules;
    }
    return nullptr;
}

bool is_level(std::string_view text) {
    return text == "debug" || text == "info" || text == "warn" || text == "error";
}

bool satisfies(json::Value value, Wanted wanted) {
    switch (wanted) {
        case Wanted::Text: return value.is_string();
        case Wanted::TextNotEmpty: return value.is_string() && !value.text().empty();
        case Wanted::Object: return value.is_object();
        case Wanted::Boolean: return value.is_boolean();
        case Wanted::Level: return value.is_string() && is_level(value.text());
        case Wanted::Version: return value.is_string() && value.text() == "0";
    }
    return false;
}

// Sets the rule and the message for a value that does not satisfy `wanted`.
void describe(Fault& fault, const std::string& name, json::Value value, Wanted wanted) {
    auto wrong_type = [&](const char* type) {
        fault.rule = "event-field-type";
        fault.message = name + " must be " + type + ", not " + json::type_name(value.type());
    };
    const std::string shown = value.is_string() ? excerpt(value.text(), 0) : std::string();
    switch (wanted) {
        case Wanted::Object: return wrong_type("an object");
        case Wanted::Boolean: return wrong_type("true or false");
        case Wanted::Text: return wrong_type("a string");
        case Wanted::TextNotEmpty:
            if (!value.is_string()) return wrong_type("a string");
            fault.rule = "event-field-empty";
            fault.message = name + " must not be empty";
            return;
        case Wanted::Level:
            if (!value.is_string()) return wrong_type("a string");
            fault.rule = "event-level";
            fault.message =
                name + " must be \"debug\", \"info\", \"warn\" or \"error\", not \"" + shown + "\"";
            return;
        case Wanted::Version:
            if (!value.is_string()) return wrong_type("the string \"0\"");
            fault.rule = "event-version";
            fault.message = name + " must be \"0\", not \"" + shown + "\"";
            return;
    }
}

}  // namespace

const char* type_name(Type type) { return kTypes[static_cast<size_t>(type) - 1].type.data(); }

bool Decoder::read_event(Event& event) const {
    const json::Value root = tape_.root();
    if (!root.is_object()) return false;
    event.tape = &tape_;
    event.line = root.raw();
    const uint32_t end = tape_.nodes()[0].size;
    std::fill(std::begin(event.fields), std::end(event.fields), 0u);
    const json::Node* const nodes = tape_.nodes();
    for (uint32_t key = 1; key < end; key = tape_.next(key + 1)) {
        const Field field = field_of({nodes[key].begin, nodes[key].size});
        if (field != Field::Count) event.fields[static_cast<size_t>(field)] = key + 1;
    }
    return true;
}

namespace {

// Fast path: only decides if the event is valid. list_faults() applies the same rules to produce
// messages.
bool obeys(const Event& event, const Rule* rule, const Rule* end) {
    for (; rule != end; ++rule) {
        const uint32_t index = event.fields[static_cast<size_t>(rule->field)];
        if (index == 0 ? rule->required : !satisfies({event.tape, index}, rule->wanted)) {
            return false;
        }
    }
    return true;
}

}  // namespace

bool Decoder::is_valid(Event& event) const {
    const uint32_t type = event.fields[static_cast<size_t>(Field::Type)];
    if (type == 0) return false;
    const json::Value value(event.tape, type);
    if (!value.is_string()) return false;
    const Rules* const rules = rules_of(value.text());
    if (rules == nullptr) return false;
    event.type = static_cast<Type>(rules - kTypes + 1);
    return obeys(event, std::begin(kEnvelope), std::end(kEnvelope)) &&
           obeys(event, rules->begin, rules->end);
}

Faults Decoder::list_faults(const Event& event) const {
    const json::Value root = tape_.root();
    const char* const start = tape_.source().data();
    auto byte_of = [&](json::Value value) {
        return static_cast<size_t>(value.raw().data() - start);
    };
    if (!root.is_object()) {
        return {{"event-object", "", byte_of(root),
                 std::string("a line must be a JSON object, not ") + json::type_name(root.type()),
                 ""}};
    }
    Faults faults;
    auto missing = [&](Field field) {
        const std::string name(name_of(field));
        faults.push_back(
            {"event-field-missing", "/" + name, byte_of(root), "\"" + name + "\" is missing", ""});
    };
    auto apply = [&](const Rule* rule, const Rule* end) {
        for (; rule != end; ++rule) {
            const json::Value value = event.field(rule->field);
            if (!value) {
                if (rule->required) missing(rule->field);
                continue;
            }
            if (satisfies(value, rule->wanted)) continue;
            const std::string name(name_of(rule->field));
            Fault fault;
            fault.pointer = "/" + name;
            fault.byte = byte_of(value);
            describe(fault, "\"" + name + "\"", value, rule->wanted);
            faults.push_back(std::move(fault));
        }
    };

    apply(std::begin(kEnvelope), std::end(kEnvelope));
    const json::Value type = event.field(Field::Type);
    if (!type) {
        missing(Field::Type);
    } else if (!type.is_string()) {
        faults.push_back(
            {"event-field-type", "/type", byte_of(type),
             std::string("\"type\" must be a string, not ") + json::type_name(type.type()), ""});
    } else if (const Rules* rules = rules_of(type.text())) {
        apply(rules->begin, rules->end);
    } else {
        faults.push_back({"event-type", "/type", byte_of(type),
                          "\"" + excerpt(type.text(), 0) +
                              "\" is not an event type; use log, state_patch, asset, ui_event, "
                              "error or done",
                          ""});
    }
    return faults;
}

bool Decoder::decode(std::string_view line, Event& event) {
    json::ParseError error;
    if (!tape_.parse(line, error)) {
        fault_ = {json::rule_of(error.kind), "", error.byte, error.message, ""};
        return false;
    }
    if (read_event(event) && is_valid(event)) return true;
    // Slow path: build messages only for an invalid line.
    fault_ = list_faults(event).front();
    return false;
}

Faults Decoder::faults(std::string_view line) {
    json::ParseError error;
    if (!tape_.parse(line, error)) {
        return {{json::rule_of(error.kind), "", error.byte, error.message, ""}};
    }
    Event event;
    read_event(event);
    return list_faults(event);
}

std::string excerpt(std::string_view line, size_t byte) {
    constexpr size_t kBefore = 30, kAfter = 50;
    byte = std::min(byte, line.size());
    size_t from = byte > kBefore ? byte - kBefore : 0;
    size_t to = std::min(line.size(), byte + kAfter);
    // Do not cut a UTF-8 sequence.
    while (from > 0 && from < byte && utf8::continues(line[from])) ++from;
    while (to > byte && to < line.size() && utf8::continues(line[to])) --to;
    std::string text = from > 0 ? "…" : "";
    for (const char c : utf8::repaired(line.substr(from, to - from))) {
        const auto code = static_cast<unsigned char>(c);
        if (code >= 0x20 && code != 0x7F) {
            text += c;
        } else {
            static constexpr const char* kHex = "0123456789ABCDEF";
            text += "\\x";
            text += kHex[code >> 4];
            text += kHex[code & 15];
        }
    }
    if (to < line.size()) text += "…";
    return text;
}

}  // namespace narratoria::event
