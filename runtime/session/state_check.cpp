// SPDX-License-Identifier: Apache-2.0
#include "session/state_check.hpp"

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/near_name.hpp"
#include "base/strict_keys.hpp"
#include "session/state_operations.hpp"
#include "tool/registry.hpp"
#include "tool/schema/schema.hpp"

namespace narratoria::session {
namespace {

using Pointers = std::set<std::string, std::less<>>;

// ---- the schema of the state

// Returns what the schema says against the value. `is_whole` false: it is only a part of the state,
// so what it lacks is not a fault.
std::string violations(const tool::Schema& schema, std::string_view value, bool is_whole) {
    json::Document document;
    json::ParseError error;
    if (!document.parse(value, error)) return {};
    tool::SchemaFaults found = schema.check(document.root());
    std::erase_if(found, [&](const tool::SchemaFault& each) {
        return !is_whole && (each.keyword == "required" || each.keyword == "minProperties" ||
                             each.keyword == "minItems" || each.keyword == "dependentRequired");
    });
    return found.empty() ? std::string() : tool::describe(found, "");
}

// What the operation of a use needs.
bool needs_number(const Prompts::StateUse& use) {
    return use.operation == "+" || use.operation.find_first_of("<>") == 0;
}
bool needs_list(const Prompts::StateUse& use) {
    return use.operation == "add" || use.operation == "remove";
}

std::string describe_need(const Prompts::StateUse& use) {
    return ", but " + json::quoted(use.operation) + (use.is_set ? " changes " : " compares ") +
           (needs_list(use) ? "a list" : "numbers");
}

// Returns why the schema allows no value with which the use works, though its value is not known.
std::string misuse(const tool::Schema& schema, const Prompts::StateUse& use) {
    const bool is_number = needs_number(use);
    const bool is_list = needs_list(use);
    if (!use.is_set && !is_number) return {};
    json::Document document;
    json::ParseError error;
    const char* const sample = is_number ? "0" : is_list ? "[]" : "null";
    const std::string pointer = use.pointer.text + (use.is_of_values_below ? "/name" : "");
    if (!document.parse(json::nested(pointer, sample), error)) return {};
    for (const tool::SchemaFault& each : schema.check(document.root())) {
        if (each.expected == 0) continue;
        const std::string must =
            json::quoted(each.pointer) + " must be " + tool::types_for_people(each.expected);
        if (each.pointer == pointer) {
            const uint8_t allowed = is_number ? tool::NumberBits : tool::ArrayBit;
            if ((is_number || is_list) && (each.expected & allowed) == 0) {
                return must + describe_need(use);
            }
        } else if (use.is_set && pointer.starts_with(each.pointer + "/") &&
                   (each.expected & tool::ObjectBit) == 0) {
            return (each.expected & tool::ArrayBit) != 0
                       ? describe_within_list(pointer)
                       : must + ", so " + json::quoted(pointer) + " cannot be set";
        }
    }
    return {};
}

// Returns the part of the pointer that the schema does not name; empty if it allows all of it.
std::string unknown_part(const tool::Schema& schema, std::string_view pointer) {
    std::optional<tool::Schema::Part> part = schema.root();
    std::string_view rest = pointer;
    std::string segment;
    while (part && !rest.empty()) {
        json::take_segment(rest, segment);
        if (part->lists_its_members() && !part->names(segment)) {
            return std::string(pointer.substr(0, pointer.size() - rest.size()));
        }
        part = part->of_member(segment);
    }
    return {};
}

// ---- names of the state

void add_pointers(json::Value value, const std::string& pointer, Pointers& out) {
    if (!pointer.empty()) out.insert(pointer);
    if (!value.is_object()) return;
    for (const json::Member member : value.members()) {
        std::string below = pointer;
        json::append_pointer(below, member.key);
        add_pointers(member.value, below, out);
    }
}

// Appends the names that a JSON Schema gives to members.
void add_names_of_schema(json::Value schema, const std::string& pointer, Pointers& out) {
    const json::Value members = schema.is_object() ? schema.find("properties") : json::Value();
    if (!members || !members.is_object()) return;
    for (const json::Member member : members.members()) {
        std::string below = pointer;
        json::append_pointer(below, member.key);
        out.insert(below);
        add_names_of_schema(member.value, below, out);
    }
}

bool is_at_or_below(std::string_view pointer, std::string_view above) {
    return pointer.starts_with(above) &&
           (pointer.size() == above.size() || pointer[above.size()] == '/');
}

// The places below which names lead, of the uses that set, or of those that read.
Pointers places_of_names(const Prompts& prompts, bool are_set) {
    Pointers out;
    for (const Prompts::StateUse& use : prompts.state_uses) {
        if (use.is_of_values_below && use.is_set == are_set) out.insert(use.pointer.text);
    }
    return out;
}

bool is_below_one(std::string pointer, const Pointers& places) {
    while (!pointer.empty()) {
        pointer.resize(pointer.rfind('/'));
        if (places.contains(pointer)) return true;
    }
    return false;
}

// A story may number its names.
bool differ_in_digits_only(std::string a, std::string b) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    std::erase_if(a, is_digit);
    std::erase_if(b, is_digit);
    return a == b;
}

// A name that a single answer sets and that nothing reads is reported if it is close to a known one:
// `known` are the names that have a value at the beginning.
void check_names_that_are_set(const Story& story, const Prompts& prompts, Pointers known,
                              Faults& faults) {
    json::Document schema;
    json::ParseError error;
    if (schema.parse(story.state_schema, error)) add_names_of_schema(schema.root(), "", known);
    std::map<std::string_view, size_t> sets;
    Pointers reads;
    for (const Prompts::StateUse& use : prompts.state_uses) {
        if (use.is_set) ++sets[use.pointer.text];
        else reads.insert(use.pointer.text);
    }
    // A name that is read and never set may be the misspelled one.
    for (const std::string& read : reads) {
        if (sets.contains(read)) known.insert(read);
    }
    for (const auto& tool : tool::Registry(story.folder + "/tools").list_all()) {
        reads.insert(tool->state.begin(), tool->state.end());
    }
    const std::vector<std::string_view> names(known.begin(), known.end());
    const Pointers read_by_names = places_of_names(prompts, false);
    for (const Prompts::StateUse& use : prompts.state_uses) {
        const std::string& pointer = use.pointer.text;
        if (!use.is_set || sets[pointer] > 1 || known.contains(pointer)) continue;
        if (reads.contains(pointer) || is_below_one(pointer, read_by_names)) continue;
        const auto below = reads.lower_bound(pointer + "/");
        if (below != reads.end() && is_at_or_below(*below, pointer)) continue;
        const std::string near(near_name(pointer, names));
        if (near.empty() || is_at_or_below(near, pointer) || is_at_or_below(pointer, near) ||
            differ_in_digits_only(near, pointer)) {
            continue;
        }
        warn(
            use.pointer, "story-state-unknown",
            json::quoted(pointer) + " is not in [state], and nothing reads it" + did_you_mean(near),
            faults);
    }
}

// Tools may set values that the story does not mention, so only a name that is close to another one
// is reported.
void check_names_of_state(const Story& story, const Prompts& prompts, Faults& faults) {
    Pointers known;
    json::Document state;
    json::ParseError error;
    if (state.parse(story.state, error)) add_pointers(state.root(), "", known);
    check_names_that_are_set(story, prompts, known, faults);
    for (const Prompts::StateUse& use : prompts.state_uses) {
        if (!use.is_set) continue;
        std::string pointer = use.pointer.text;
        for (; !pointer.empty(); pointer.resize(pointer.rfind('/'))) known.insert(pointer);
    }
    const std::vector<std::string_view> names(known.begin(), known.end());
    const Pointers set_by_names = places_of_names(prompts, true);
    for (const Prompts::StateUse& use : prompts.state_uses) {
        const std::string& pointer = use.pointer.text;
        if (use.is_set || known.contains(pointer) || is_below_one(pointer, set_by_names)) continue;
        const std::string_view near = near_name(pointer, names);
        if (near.empty() || near.starts_with(pointer + "/")) continue;
        warn(use.pointer, "story-state-unknown",
             json::quoted(pointer) + " is not in [state], and no answer sets it" +
                 did_you_mean(near),
             faults);
    }
}

// ---- types of the state

enum class Kind { Unknown, Boolean, Number, Text, List, Object };

Kind kind_of(json::Value value) {
    if (!value || value.is_null()) return Kind::Unknown;
    if (value.is_number()) return Kind::Number;
    if (value.is_string()) return Kind::Text;
    if (value.is_array()) return Kind::List;
    return value.is_object() ? Kind::Object : Kind::Boolean;
}

const char* name_of(Kind kind) {
    switch (kind) {
        case Kind::Boolean: return "true or false";
        case Kind::Number: return "a number";
        case Kind::Text: return "a text";
        case Kind::List: return "a list";
        case Kind::Object: return "an object";
        case Kind::Unknown: break;
    }
    return "unknown";
}

// Names lead to the members of an object, or to the elements of a list, which cannot be set.
void check_has_values_below(const Prompts::StateUse& use, json::Value state, Faults& faults) {
    const std::string& pointer = use.pointer.text;
    const Kind kind = kind_of(json::find_pointer(state, pointer));
    if (kind == Kind::Unknown || kind == Kind::Object) return;
    if (kind == Kind::List && !use.is_set) return;
    warn(use.pointer, "story-state-type",
         kind == Kind::List ? describe_within_list(pointer + "/…")
                            : json::quoted(pointer) + " is " + name_of(kind) +
                                  " in [state], but a name can only stand for what is in an object "
                                  "or a list",
         faults);
}

// Without a schema, [state] shows the types. A type that an answer sets and a condition expects, too,
// is meant: then the value has both.
void check_types_of_state(const Story& story, const Prompts& prompts, Faults& faults) {
    json::Document state;
    json::ParseError error;
    if (!state.parse(story.state, error)) return;
    struct Typed {
        const Prompts::StateUse* use;
        Kind kind;
    };
    std::vector<Typed> uses;
    std::set<std::pair<std::string_view, Kind>> set_kinds, compared_kinds;
    json::Document operand;
    for (const Prompts::StateUse& use : prompts.state_uses) {
        if (use.is_of_values_below) {
            check_has_values_below(use, state.root(), faults);
            continue;
        }
        Kind kind = Kind::Unknown;
        if (needs_number(use)) kind = Kind::Number;
        else if (needs_list(use)) kind = Kind::List;
        else if (operand.parse(use.operand, error)) kind = kind_of(operand.root());
        if (use.operation.empty()) {
            (use.is_set ? set_kinds : compared_kinds).emplace(use.pointer.text, kind);
        }
        uses.push_back({&use, kind});
    }
    for (const auto& [use, kind] : uses) {
        const std::string& pointer = use->pointer.text;
        if (use->is_set && is_within_list(state.root(), pointer)) {
            warn(use->pointer, "story-state-type", describe_within_list(pointer), faults);
            continue;
        }
        const Kind at_first = kind_of(json::find_pointer(state.root(), pointer));
        if (kind == Kind::Unknown || at_first == Kind::Unknown || kind == at_first) continue;
        const bool is_plain_set = use->is_set && use->operation.empty();
        const auto& others = is_plain_set ? compared_kinds : set_kinds;
        // A value that is not known may have any type, and one that was removed counts as false.
        if (others.contains({pointer, kind}) ||
            (!is_plain_set && set_kinds.contains({pointer, Kind::Unknown})) ||
            (!use->is_set && use->operand == "false")) {
            continue;
        }
        std::string message = json::quoted(pointer) + " is " + name_of(at_first) + " in [state]";
        if (!use->operation.empty()) {
            message += describe_need(*use);
        } else {
            message += std::string(", but is ") + (use->is_set ? "set to " : "compared with ") +
                       name_of(kind);
            if (kind == Kind::Text && operand.parse(use->operand, error)) {
                json::Document bare;
                if (bare.parse(operand.root().text(), error) && kind_of(bare.root()) == at_first) {
                    message += "; write it without quotes";
                }
            }
        }
        warn(use->pointer, "story-state-type", std::move(message), faults);
    }
}

}  // namespace

void check_state_schema(const Story& story, const Prompts& prompts, std::string_view text,
                        Faults& faults) {
    const size_t first = faults.size();
    const auto schema = tool::Schema::compile(text, faults);
    for (size_t i = first; i < faults.size(); ++i) faults[i].file = kStateSchema;
    place_faults(faults, first, text);
    if (schema == nullptr) return;
    const auto refuse = [&](const Fault& place, const std::string& message) {
        report(place, "story-state-schema", message + " (" + kStateSchema + ")", false, faults);
    };
    if (!story.state.empty()) {
        const std::string message = violations(*schema, story.state, true);
        if (!message.empty()) refuse(story.mentions.state, "[state]: " + message);
    }
    // Stories repeat their values.
    std::unordered_map<std::string, std::string> checked;
    for (const Prompts::StateUse& use : prompts.state_uses) {
        if (const std::string part = unknown_part(*schema, use.pointer.text); !part.empty()) {
            refuse(use.pointer.place, "the state has no " + json::quoted(part));
            continue;
        }
        if (const std::string why = misuse(*schema, use); !why.empty()) {
            refuse(use.pointer.place, why);
            continue;
        }
        if (use.operand.empty()) continue;
        const auto [known, is_new] =
            checked.try_emplace(json::nested(use.pointer.text, use.operand));
        if (is_new) known->second = violations(*schema, known->first, false);
        if (!known->second.empty()) refuse(use.pointer.place, known->second);
    }
}

void check_state_uses(const Story& story, const Prompts& prompts, Faults& faults) {
    check_names_of_state(story, prompts, faults);
    if (story.state_schema.empty()) check_types_of_state(story, prompts, faults);
}

}  // namespace narratoria::session
