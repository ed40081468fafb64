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

constexpr std::string_view kNames = Prompts::StateUse::kNames;

// Of a pattern.
constexpr size_t kMostPlaces = 1000;

constexpr const char* kButNames = ", but a name stands for a key of an object or a text of a list";

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
// A list or an object.
bool needs_members(const Prompts::StateUse& use) {
    return use.operation == kNames || use.operation == "count";
}
const char* describe_members(const Prompts::StateUse& use) {
    return use.operation == "count"
               ? ", but \"count\" is the number of keys of an object or of elements of a list"
               : kButNames;
}

std::string describe_need(const Prompts::StateUse& use) {
    return ", but " + json::quoted(use.operation) + (use.is_set ? " changes " : " compares ") +
           (needs_list(use) ? "a list" : "numbers");
}

// Returns why the schema allows no value with which the use works, though its value is not known.
std::string misuse(const tool::Schema& schema, const Prompts::StateUse& use,
                   const std::string& pointer) {
    const bool is_number = needs_number(use);
    const bool is_list = needs_list(use);
    if (!use.is_set && !is_number && !needs_members(use)) return {};
    json::Document document;
    json::ParseError error;
    const char* const sample = is_number ? "0" : is_list ? "[]" : "null";
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
            if (needs_members(use) && (each.expected & (tool::ObjectBit | tool::ArrayBit)) == 0) {
                return must + describe_members(use);
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

// Returns which part of the pointer the schema does not name; empty if it allows all of it.
std::string unknown_part(const tool::Schema& schema, std::string_view pointer) {
    std::optional<tool::Schema::Part> part = schema.root();
    std::string_view rest = pointer;
    std::string segment;
    while (part && !rest.empty()) {
        json::take_segment(rest, segment);
        if (part->lists_its_members() && !part->names(segment)) {
            return "the state has no " +
                   json::quoted(pointer.substr(0, pointer.size() - rest.size()));
        }
        part = part->of_member(segment);
    }
    return {};
}

// Returns what the schema says against a use at one of its places.
std::string fault_of(const tool::Schema& schema, const Prompts::StateUse& use,
                     const std::string& pointer,
                     std::unordered_map<std::string, std::string>& checked) {
    if (std::string why = unknown_part(schema, pointer); !why.empty()) return why;
    if (std::string why = misuse(schema, use, pointer); !why.empty()) return why;
    if (use.operand.empty()) return {};
    const auto [known, is_new] = checked.try_emplace(json::nested(pointer, use.operand));
    if (is_new) known->second = violations(schema, known->first, false);
    return known->second;
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

// True if the pointer may be a place of one of the patterns, or below one.
bool is_like_one(std::string_view pointer, const Pointers& patterns) {
    return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) {
        std::string_view rest = pointer;
        while (!pattern.empty()) {
            if (rest.empty()) return false;
            const size_t end = std::min(pattern.find('/', 1), pattern.size());
            const size_t its_end = std::min(rest.find('/', 1), rest.size());
            const std::string_view segment = pattern.substr(1, end - 1);
            if (segment != std::string_view(&kAnySegment, 1) &&
                segment != rest.substr(1, its_end - 1))
                return false;
            pattern.remove_prefix(end);
            rest.remove_prefix(its_end);
        }
        return true;
    });
}

// A use of the state, and the places that its pointer may lead to.
struct Use {
    Use(const Prompts::StateUse& given, json::Value state)
        : use(&given), pointers(places_like(state, given.pointer.text)) {
        if (!pointers.empty()) return;
        is_before_name = true;
        pointers.push_back(pattern().substr(0, pattern().find(kAnySegment) - 1));
        if (pointers.front().empty()) pointers.clear();
    }

    const std::string& pattern() const { return use->pointer.text; }
    bool has_names() const { return pattern().find(kAnySegment) != std::string::npos; }
    bool is_set() const { return use->is_set; }
    // A capture takes the names that are there.
    bool needs_names() const { return use->operation == kNames; }

    // Warns if the use is wrong at all its places; `judge` returns why, or an empty text.
    template <typename Judge>
    void warn_if_all(const char* rule, Faults& faults, Judge&& judge) const {
        std::string first;
        for (const std::string& pointer : pointers) {
            std::string why = judge(pointer);
            if (why.empty()) return;
            if (first.empty()) first = std::move(why);
        }
        const bool is_known = !faults.empty() && faults.back().message == first &&
                              faults.back().byte == use->pointer.place.byte;
        if (!first.empty() && !is_known) warn(use->pointer, rule, std::move(first), faults);
    }

    const Prompts::StateUse* use;
    std::vector<std::string> pointers;
    // A name stands for nothing at the beginning: the pointer is the one of the place before it.
    bool is_before_name = false;
};

// A story may number its names.
bool differ_in_digits_only(std::string a, std::string b) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    std::erase_if(a, is_digit);
    std::erase_if(b, is_digit);
    return a == b;
}

// A name that a single answer sets and that nothing reads is reported if it is close to a known one:
// `known` are the names that have a value at the beginning.
void check_names_that_are_set(const Story& story, const std::vector<Use>& uses, Pointers known,
                              Faults& faults) {
    json::Document schema;
    json::ParseError error;
    if (schema.parse(story.state_schema, error)) add_names_of_schema(schema.root(), "", known);
    std::map<std::string_view, size_t> sets;
    Pointers reads, read_patterns;
    for (const Use& use : uses) {
        for (const std::string& pointer : use.pointers) {
            if (use.is_set()) ++sets[pointer];
            else reads.insert(pointer);
        }
        if (!use.is_set() && use.has_names()) read_patterns.insert(use.pattern());
    }
    // A name that is read and never set may be the misspelled one.
    for (const std::string& read : reads) {
        if (sets.contains(read)) known.insert(read);
    }
    for (const auto& tool : tool::Registry(story.folder + "/tools").list_all()) {
        reads.insert(tool->state.begin(), tool->state.end());
    }
    const std::vector<std::string_view> names(known.begin(), known.end());
    for (const Use& use : uses) {
        if (!use.is_set()) continue;
        use.warn_if_all("story-state-unknown", faults, [&](const std::string& pointer) {
            const auto below = reads.lower_bound(pointer + "/");
            const bool is_read = reads.contains(pointer) || is_like_one(pointer, read_patterns) ||
                                 (below != reads.end() && is_at_or_below(*below, pointer));
            if (is_read || sets[pointer] > 1 || known.contains(pointer)) return std::string();
            const std::string near(near_name(pointer, names));
            if (near.empty() || is_at_or_below(near, pointer) || is_at_or_below(pointer, near) ||
                differ_in_digits_only(near, pointer)) {
                return std::string();
            }
            return json::quoted(pointer) + " is not in [state], and nothing reads it" +
                   did_you_mean(near);
        });
    }
}

// Tools may set values that the story does not mention, so a name is reported if it is close to
// another one, or if names stand for what is there and the story has no tools.
void check_names_of_state(const Story& story, const StateView& state, const std::vector<Use>& uses,
                          Faults& faults) {
    Pointers known, set_patterns;
    add_pointers(state.at(""), "", known);
    check_names_that_are_set(story, uses, known, faults);
    for (const Use& use : uses) {
        if (!use.is_set()) continue;
        if (use.has_names()) set_patterns.insert(use.pattern());
        for (std::string pointer : use.pointers) {
            for (; !pointer.empty(); pointer.resize(pointer.rfind('/'))) known.insert(pointer);
        }
    }
    const std::vector<std::string_view> names(known.begin(), known.end());
    const bool has_tools = !tool::Registry(story.folder + "/tools").list_all().empty();
    for (const Use& use : uses) {
        if (use.is_set()) continue;
        use.warn_if_all("story-state-unknown", faults, [&](const std::string& pointer) {
            if (known.contains(pointer) || is_like_one(pointer, set_patterns) ||
                state.is_within_list(pointer)) {
                return std::string();
            }
            const std::string_view near = near_name(pointer, names);
            if (near.starts_with(pointer + "/")) return std::string();
            const bool must_be_there = use.is_before_name || use.needs_names();
            if (near.empty() && (has_tools || !must_be_there || story.state.empty())) {
                return std::string();
            }
            return json::quoted(pointer) + " is not in [state], and no answer sets it" +
                   did_you_mean(near);
        });
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

// Without a schema, [state] shows the types. A type that an answer sets and a condition expects, too,
// is meant: then the value has both.
void check_types_of_state(const StateView& state, const std::vector<Use>& uses, Faults& faults) {
    json::Document operand;
    json::ParseError error;
    const auto kind_of_use = [&](const Prompts::StateUse& use) {
        if (needs_number(use)) return Kind::Number;
        if (needs_list(use)) return Kind::List;
        return operand.parse(use.operand, error) ? kind_of(operand.root()) : Kind::Unknown;
    };
    std::set<std::pair<std::string_view, Kind>> set_kinds, compared_kinds;
    for (const Use& use : uses) {
        if (!use.use->operation.empty()) continue;
        for (const std::string& pointer : use.pointers) {
            (use.is_set() ? set_kinds : compared_kinds).emplace(pointer, kind_of_use(*use.use));
        }
    }
    for (const Use& each : uses) {
        const Prompts::StateUse& use = *each.use;
        const Kind kind = kind_of_use(use);
        const bool is_plain_set = use.is_set && use.operation.empty();
        const auto& others = is_plain_set ? compared_kinds : set_kinds;
        each.warn_if_all("story-state-type", faults, [&](const std::string& pointer) {
            if (use.is_set && state.is_within_list(pointer)) return describe_within_list(pointer);
            const Kind at_first = kind_of(state.at(pointer));
            const std::string is_first =
                json::quoted(pointer) + " is " + name_of(at_first) + " in [state]";
            if (needs_members(use) || each.is_before_name) {
                return at_first == Kind::Unknown || at_first == Kind::Object ||
                               at_first == Kind::List
                           ? std::string()
                           : is_first + describe_members(use);
            }
            if (kind == Kind::Unknown || at_first == Kind::Unknown || kind == at_first) {
                return std::string();
            }
            // A value that is not known may have any type, and one that was removed counts as false.
            if (others.contains({pointer, kind}) ||
                (!is_plain_set && set_kinds.contains({pointer, Kind::Unknown})) ||
                (!use.is_set && use.operand == "false")) {
                return std::string();
            }
            if (!use.operation.empty()) return is_first + describe_need(use);
            std::string message = is_first + ", but is " +
                                  (use.is_set ? "set to " : "compared with ") + name_of(kind);
            if (kind == Kind::Text && operand.parse(use.operand, error)) {
                json::Document bare;
                if (bare.parse(operand.root().text(), error) && kind_of(bare.root()) == at_first) {
                    message += "; write it without quotes";
                }
            }
            return message;
        });
    }
}

// The uses of a story's state.
std::vector<Use> uses_of(const Prompts& prompts, json::Value state) {
    std::vector<Use> uses;
    for (const Prompts::StateUse& use : prompts.state_uses) uses.emplace_back(use, state);
    return uses;
}

// Appends the places below `before`, which has the value, to which the rest of a pattern leads.
void add_places(json::Value value, const std::string& before, std::string_view rest,
                std::vector<std::string>& out) {
    if (out.size() == kMostPlaces) return;
    if (rest.empty()) return out.push_back(before);
    const size_t end = std::min(rest.find('/', 1), rest.size());
    const std::string_view segment = rest.substr(0, end);
    rest.remove_prefix(end);
    if (segment.substr(1) != std::string_view(&kAnySegment, 1)) {
        const json::Value next = value ? json::find_pointer(value, segment) : json::Value();
        return add_places(next, before + std::string(segment), rest, out);
    }
    const auto add = [&](json::Value next, std::string_view name) {
        if (out.size() == kMostPlaces) return;
        std::string pointer = before;
        json::append_pointer(pointer, name);
        add_places(next, pointer, rest, out);
    };
    if (value && value.is_object()) {
        for (const json::Member member : value.members()) add(member.value, member.key);
    } else if (value && value.is_array()) {
        size_t number = 0;
        for (const json::Value element : value.elements()) add(element, std::to_string(number++));
    }
}

}  // namespace

std::vector<std::string> places_like(json::Value state, std::string_view pattern) {
    std::vector<std::string> out;
    if (pattern.find(kAnySegment) == std::string_view::npos) out.emplace_back(pattern);
    else add_places(state, "", pattern, out);
    return out;
}

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
    json::Document state;
    json::ParseError error;
    if (!state.parse(story.state.empty() ? "{}" : story.state, error)) return;
    // Stories repeat their values.
    std::unordered_map<std::string, std::string> checked;
    for (const Use& each : uses_of(prompts, state.root())) {
        const Prompts::StateUse& use = *each.use;
        std::string message;
        for (const std::string& pointer : each.pointers) {
            std::string why = each.is_before_name ? unknown_part(*schema, pointer)
                                                  : fault_of(*schema, use, pointer, checked);
            if (why.empty()) {
                message.clear();
                break;
            }
            if (message.empty()) message = std::move(why);
        }
        if (!message.empty()) refuse(use.pointer.place, message);
    }
}

void check_state_uses(const Story& story, const Prompts& prompts, Faults& faults) {
    json::Document state;
    json::ParseError error;
    if (!state.parse(story.state.empty() ? "{}" : story.state, error)) return;
    const std::vector<Use> uses = uses_of(prompts, state.root());
    state::Tree tree;
    tree.assign(state.root());
    const StateView view(tree);
    check_names_of_state(story, view, uses, faults);
    if (story.state_schema.empty()) check_types_of_state(view, uses, faults);
}

}  // namespace narratoria::session
