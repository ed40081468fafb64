// SPDX-License-Identifier: Apache-2.0
#include "tool/schema/compiler.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "base/hash.hpp"
#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "tool/schema/schema.hpp"
#include "tool/schema/uri.hpp"

namespace narratoria::tool {
namespace {

using json::Value;

// Bits, so that a keyword can list its drafts. OpenDraft is for schemas without "$schema": 2020-12
// with the additional keywords of older drafts.
enum Draft : uint8_t {
    Draft4 = 1,
    Draft6 = 2,
    Draft7 = 4,
    Draft2019 = 8,
    Draft2020 = 16,
    OpenDraft = 32,
};
constexpr uint8_t kEvery = 63;
constexpr uint8_t kSince6 = kEvery & ~Draft4;
constexpr uint8_t kSince7 = kSince6 & ~Draft6;
constexpr uint8_t kSince2019 = kSince7 & ~Draft7;
constexpr uint8_t kSince2020 = Draft2020 | OpenDraft;
// Before 2019-09 a "$ref" replaces the schema that contains it.
constexpr uint8_t kReplacing = Draft4 | Draft6 | Draft7;

// Returns 0 for an unknown draft.
uint8_t draft_of(std::string_view uri) {
    if (uri.ends_with('#')) uri.remove_suffix(1);
    for (const std::string_view scheme : {"https://", "http://"}) {
        if (uri.starts_with(scheme)) uri.remove_prefix(scheme.size());
    }
    if (uri == "json-schema.org/draft/2020-12/schema") return Draft2020;
    if (uri == "json-schema.org/draft/2019-09/schema") return Draft2019;
    if (uri == "json-schema.org/draft-07/schema") return Draft7;
    if (uri == "json-schema.org/draft-06/schema") return Draft6;
    if (uri == "json-schema.org/draft-04/schema") return Draft4;
    if (uri == "json-schema.org/schema") return OpenDraft;
    return 0;
}

// Every reference is resolved against an id, so a long id would be copied many times.
constexpr size_t kMaxUri = 2048;
// Larger objects (in nodes of the tape) get an index when a reference looks up a member.
constexpr uint32_t kManyNodes = 256;
// Objects with more properties get a hash table.
constexpr size_t kFewProperties = 4;

class Compiler {
public:
    Compiler(Program& out, Faults& faults) : out_(out), faults_(faults) {}

    bool run() {
        const size_t before = faults_.size();
        rule_of(out_.document.root(), {kNoResource, OpenDraft});
        compile_waiting();
        // A reference may lead to a schema below an unknown keyword, which may have more
        // references.
        for (size_t i = 0; i < references_.size() && !full(); ++i) {
            resolve(references_[i]);
            compile_waiting();
        }
        if (faults_.size() != before) return false;
        if (out_.resources.size() == 1) settle_dynamic_references();
        refuse_loops();
        if (faults_.size() != before) return false;
        if (!out_.is_dynamic) shorten_references();
        return true;
    }

private:
    static constexpr uint32_t kNoResource = UINT32_MAX;

    struct Context {
        uint32_t resource;
        uint8_t draft;
    };
    struct Waiting {
        Value value;
        RuleIndex rule;
        Context context;
    };
    enum class ReferenceKind : uint8_t { Plain, Dynamic, Recursive };
    struct Reference {
        ReferenceKind kind;
        RuleIndex rule;
        Value text;
        Context context;
    };
    // The combined keywords of a schema.
    struct Parts {
        Rule rule;
        Context context{};
        RuleIndex index = 0;
        Value schema;
        NumberRules number;
        StringRules string;
        ArrayRules array;
        ObjectRules object;
        GeneralRules general;
        bool has_number = false, has_string = false, has_array = false, has_object = false;
        bool has_general = false;
        Value items, additional_items, prefix_items, required, exclusive_minimum, exclusive_maximum;
        RuleIndex then = kNoRule, otherwise = kNoRule;
    };
    using Handler = void (Compiler::*)(Parts&, Value);
    struct Keyword {
        std::string_view name;
        uint8_t drafts;
        Handler handler;
    };

    // ------------------------------------------------------------ faults

    bool full() const { return faults_.size() >= Schema::kMaxFaults; }

    void fault(Value at, const char* rule, std::string message) {
        if (full()) return;
        const Value root = out_.document.root();
        const auto byte = static_cast<size_t>(at.raw().data() - out_.document.text().data());
        faults_.push_back({rule, json::pointer_to(root, at.index()), byte, std::move(message), ""});
    }
    void fault(Value at, std::string message) { fault(at, "schema-keyword", std::move(message)); }

    // ------------------------------------------------------------ schemas

    RuleIndex rule_of(Value value, Context context) {
        const auto known = rule_at_.find(value.index());
        if (known != rule_at_.end()) return known->second;
        const auto index = static_cast<RuleIndex>(out_.rules.size());
        out_.rules.emplace_back().place = value.index();
        rule_at_.emplace(value.index(), index);
        waiting_.push_back({value, index, context});
        return index;
    }

    // Not recursive: compile() appends the subschemas to the list.
    void compile_waiting() {
        while (!waiting_.empty() && !full()) {
            const Waiting next = waiting_.back();
            waiting_.pop_back();
            compile(next);
        }
    }

    void compile(const Waiting& waiting) {
        Parts parts;
        parts.schema = waiting.value;
        parts.index = waiting.rule;
        parts.rule.place = waiting.value.index();
        parts.context = waiting.context;
        const bool is_root = waiting.context.resource == kNoResource;
        if (is_root) {
            parts.context.resource = 0;
            out_.resources.emplace_back().root = waiting.rule;
            draft_of_resource_.push_back(OpenDraft);
            resource_at_.emplace(waiting.value.index(), 0);
            resource_of_uri_.emplace("", 0);
        }
        if (waiting.value.is_object()) {
            identify(parts, is_root);
            read_keywords(parts);
        } else if (waiting.value.is_boolean()) {
            parts.rule.never = !waiting.value.boolean();
        } else {
            fault(waiting.value, "schema-object",
                  std::string("a schema must be an object, true or false, not ") +
                      json::type_name(waiting.value.type()));
        }
        finish(parts);
    }

    // Reads "$schema", "$id" and anchors, which determine how the rest is read.
    void identify(Parts& parts, bool is_root) {
        const Value schema = parts.schema;
        const Value dialect = schema.find("$schema");
        uint8_t draft = parts.context.draft;
        if (dialect && !dialect.is_string()) {
            fault(dialect, "\"$schema\" must be a string");
        } else if (dialect && draft_of(dialect.text()) != 0) {
            draft = draft_of(dialect.text());
        } else if (dialect) {
            fault(dialect, "schema-draft",
                  json::quoted(dialect.text()) +
                      " is not a known draft; the newest is "
                      "\"https://json-schema.org/draft/2020-12/schema\"");
        }
        const Value id = schema.find(draft == Draft4 ? "id" : "$id");
        const bool replaced = (draft & kReplacing) != 0 && schema.find("$ref");
        if (id && !id.is_string()) fault(id, "an id must be a string");
        if (id && id.is_string() && !replaced) take_id(parts, id, draft, is_root);
        if (is_root) {
            parts.context.draft = draft;
            draft_of_resource_[0] = draft;
        }
        if ((parts.context.draft & kSince2019) != 0) {
            for (const char* name : {"$anchor", "$dynamicAnchor"}) {
                if (name[1] == 'd' && (parts.context.draft & kSince2020) == 0) continue;
                const Value anchor = schema.find(name);
                if (!anchor) continue;
                if (!anchor.is_string() || anchor.text().empty() ||
                    anchor.text().find_first_of("#/ ") != std::string_view::npos) {
                    fault(anchor, "an anchor must be a name, without # and /");
                    continue;
                }
                add_anchor(parts, anchor.text());
                if (name[1] == 'd') {
                    out_.resources[parts.context.resource].dynamic_anchors.emplace(anchor.text(),
                                                                                   parts.index);
                }
            }
        }
        if (parts.context.draft == Draft2019) {
            const Value anchor = schema.find("$recursiveAnchor");
            if (anchor && !anchor.is_boolean()) {
                fault(anchor, "\"$recursiveAnchor\" must be true or false");
            } else if (anchor && anchor.boolean() &&
                       out_.resources[parts.context.resource].root == parts.index) {
                out_.resources[parts.context.resource].recursive_anchor = true;
            }
        }
    }

    void take_id(Parts& parts, Value id, uint8_t draft, bool is_root) {
        std::string_view text = id.text();
        std::string_view fragment;
        if (const size_t at = text.find('#'); at != std::string_view::npos) {
            fragment = text.substr(at + 1);
            text = text.substr(0, at);
        }
        if (!fragment.empty() && (draft & (kReplacing | OpenDraft)) == 0) {
            fault(id, "\"$id\" must not have a fragment; use \"$anchor\"");
            return;
        }
        if (!text.empty()) {
            const std::string base =
                is_root ? std::string() : out_.resources[parts.context.resource].uri;
            std::string uri = resolve_uri(base, text);
            if (uri.size() > kMaxUri) {
                fault(id, "an id must not be longer than " + std::to_string(kMaxUri) + " bytes");
                return;
            }
            uint32_t resource = 0;
            if (!is_root) {
                resource = static_cast<uint32_t>(out_.resources.size());
                out_.resources.emplace_back().root = parts.index;
                draft_of_resource_.push_back(draft);
                resource_at_.emplace(parts.schema.index(), resource);
            }
            if (!resource_of_uri_.emplace(uri, resource).second) {
                fault(id, "schema-id-unique", "another schema has the id " + json::quoted(uri));
            }
            out_.resources[resource].uri = std::move(uri);
            parts.context = {resource, draft};
        }
        if (!fragment.empty()) add_anchor(parts, fragment);
    }

    static std::string anchor_key(uint32_t resource, std::string_view name) {
        return std::to_string(resource) + "#" + std::string(name);
    }
    void add_anchor(Parts& parts, std::string_view name) {
        anchors_.emplace(anchor_key(parts.context.resource, name), parts.index);
    }

    void read_keywords(Parts& parts) {
        const bool replaced = (parts.context.draft & kReplacing) != 0 && parts.schema.find("$ref");
        uint64_t seen = 0;
        for (const json::Member member : parts.schema.members()) {
            const auto found = std::lower_bound(
                keywords().begin(), keywords().end(), member.key,
                [](const Keyword& each, std::string_view name) { return each.name < name; });
            if (found == keywords().end() || found->name != member.key ||
                (found->drafts & parts.context.draft) == 0) {
                continue;
            }
            if (replaced && member.key != "$ref" && member.key != "definitions") continue;
            const uint64_t bit = uint64_t{1} << (found - keywords().begin());
            if ((seen & bit) != 0) {
                fault(member.value, "schema-keyword-unique",
                      json::quoted(member.key) + " is set twice; remove one");
                continue;
            }
            seen |= bit;
            (this->*found->handler)(parts, member.value);
        }
    }

    // Combines keywords that depend on each other, and stores the rule.
    void finish(Parts& parts) {
        join_numbers(parts);
        join_items(parts);
        join_members(parts);
        if (parts.general.condition != kNoRule) {
            parts.general.then = parts.then;
            parts.general.otherwise = parts.otherwise;
        }
        Rule& rule = parts.rule;
        rule.resource = parts.context.resource;
        const auto store = [&rule](bool has, auto& list, auto& part, uint32_t& index) {
            if (!has) return;
            index = static_cast<uint32_t>(list.size());
            list.push_back(std::move(part));
            rule.plain = false;
        };
        store(parts.has_number, out_.numbers, parts.number, rule.number);
        store(parts.has_string, out_.strings, parts.string, rule.string);
        store(parts.has_array, out_.arrays, parts.array, rule.array);
        store(parts.has_object, out_.objects, parts.object, rule.object);
        store(parts.has_general, out_.generals, parts.general, rule.general);
        out_.rules[parts.index] = rule;
    }

    // ------------------------------------------------------------ kinds of values

    RuleIndex part(Parts& parts, Value value) { return rule_of(value, parts.context); }

    std::vector<RuleIndex> schema_list(Parts& parts, Value value, const char* name) {
        std::vector<RuleIndex> out;
        if (!value.is_array()) {
            fault(value, json::quoted(name) + " must be an array of schemas");
            return out;
        }
        for (const Value each : value.elements()) out.push_back(part(parts, each));
        if (out.empty()) fault(value, json::quoted(name) + " must not be empty");
        return out;
    }

    bool is_object(Value value, const char* name, const char* of) {
        if (value.is_object()) return true;
        fault(value, json::quoted(name) + " must be an object of " + of);
        return false;
    }

    void number_into(std::optional<Decimal>& out, Parts& parts, Value value, const char* name) {
        if (!value.is_number()) {
            fault(value, json::quoted(name) + " must be a number");
            return;
        }
        out = Decimal(value.text());
        parts.has_number = true;
    }

    // Reads a count, an integer from 0. A count beyond 2^63 is treated as unlimited.
    bool count_into(uint64_t& out, Value value, const char* name) {
        if (!value.is_number() || !Decimal(value.text()).is_integer() ||
            value.text().front() == '-') {
            if (value.is_number() && Decimal(value.text()).compare(Decimal("0")) == 0) {
                out = 0;
                return true;
            }
            fault(value, json::quoted(name) + " must be a whole number from 0");
            return false;
        }
        const auto integer = value.integer();
        out = integer ? static_cast<uint64_t>(*integer) : UINT64_MAX;
        return true;
    }

    void names_into(std::vector<std::string_view>& out, Value value, const char* name) {
        if (!value.is_array()) {
            fault(value, json::quoted(name) + " must be an array of names");
            return;
        }
        std::unordered_set<std::string_view> seen;
        for (const Value each : value.elements()) {
            if (!each.is_string()) {
                fault(each, "a name must be a string");
            } else if (!seen.insert(each.text()).second) {
                fault(each, json::quoted(each.text()) + " is listed twice; remove one");
            } else {
                out.push_back(each.text());
            }
        }
    }

    // Returns NULL after a fault.
    const Pattern* pattern_of(Value at, std::string_view text) {
        auto pattern = std::make_unique<Pattern>();
        std::string problem;
        if (!pattern->compile(text, problem)) {
            fault(
                at, "schema-pattern",
                "the pattern " + json::quoted(text.substr(0, 200)) + " cannot be used: " + problem);
            return nullptr;
        }
        out_.patterns.push_back(std::move(pattern));
        return out_.patterns.back().get();
    }

    static std::optional<uint8_t> type_bits(std::string_view name) {
        if (name == "null") return NullBit;
        if (name == "boolean") return BooleanBit;
        if (name == "number") return NumberBits;
        if (name == "integer") return IntegerBit;
        if (name == "string") return StringBit;
        if (name == "array") return ArrayBit;
        if (name == "object") return ObjectBit;
        return std::nullopt;
    }

    // ------------------------------------------------------------ keywords

    void read_type(Parts& parts, Value value) {
        uint8_t types = 0;
        std::unordered_set<std::string_view> seen;
        const auto add = [&](Value name) {
            const auto bits = name.is_string() ? type_bits(name.text()) : std::nullopt;
            if (!bits) {
                fault(name,
                      "a type must be \"null\", \"boolean\", \"number\", \"integer\", \"string\", "
                      "\"array\" or \"object\"");
            } else if (!seen.insert(name.text()).second) {
                fault(name, json::quoted(name.text()) + " is listed twice; remove one");
            } else {
                types |= *bits;
            }
        };
        if (value.is_array()) {
            if (value.empty()) fault(value, "\"type\" must not be empty");
            for (const Value each : value.elements()) add(each);
        } else {
            add(value);
        }
        parts.rule.types = types;
    }

    void read_enum(Parts& parts, Value value) {
        if (!value.is_array()) {
            fault(value, "\"enum\" must be an array of the allowed values");
            return;
        }
        GeneralRules& general = parts.general;
        bool all_texts = true;
        for (const Value each : value.elements()) {
            general.allowed.push_back(each);
            all_texts = all_texts && each.is_string();
        }
        if (all_texts) {
            for (const Value each : general.allowed) general.texts.push_back(each.text());
            std::sort(general.texts.begin(), general.texts.end());
        }
        general.has_allowed = parts.has_general = true;
    }

    void read_const(Parts& parts, Value value) {
        parts.general.constant = value;
        parts.has_general = true;
    }

    void read_multiple_of(Parts& parts, Value value) {
        number_into(parts.number.step, parts, value, "multipleOf");
        if (value.is_number() && !Decimal(value.text()).is_positive()) {
            fault(value, "\"multipleOf\" must be above 0");
        }
    }
    void read_minimum(Parts& parts, Value value) {
        number_into(parts.number.minimum, parts, value, "minimum");
    }
    void read_maximum(Parts& parts, Value value) {
        number_into(parts.number.maximum, parts, value, "maximum");
    }
    void read_exclusive_minimum(Parts& parts, Value value) {
        if (value.is_boolean() && (parts.context.draft & (Draft4 | OpenDraft)) != 0) {
            parts.exclusive_minimum = value;
        } else if (parts.context.draft == Draft4) {
            fault(value, "\"exclusiveMinimum\" must be true or false in draft 4");
        } else {
            number_into(parts.number.above, parts, value, "exclusiveMinimum");
        }
    }
    void read_exclusive_maximum(Parts& parts, Value value) {
        if (value.is_boolean() && (parts.context.draft & (Draft4 | OpenDraft)) != 0) {
            parts.exclusive_maximum = value;
        } else if (parts.context.draft == Draft4) {
            fault(value, "\"exclusiveMaximum\" must be true or false in draft 4");
        } else {
            number_into(parts.number.below, parts, value, "exclusiveMaximum");
        }
    }
    // Draft 4 has booleans that turn the limits into exclusive ones.
    void join_numbers(Parts& parts) {
        NumberRules& number = parts.number;
        if (parts.exclusive_minimum && parts.exclusive_minimum.boolean()) {
            number.above = number.minimum;
            number.minimum.reset();
        }
        if (parts.exclusive_maximum && parts.exclusive_maximum.boolean()) {
            number.below = number.maximum;
            number.maximum.reset();
        }
        if (number.step) return;
        const auto integer = [](const std::optional<Decimal>& limit, int64_t otherwise) {
            return limit ? limit->integer() : std::optional<int64_t>(otherwise);
        };
        const auto least = integer(number.minimum, INT64_MIN);
        const auto most = integer(number.maximum, INT64_MAX);
        const auto above = integer(number.above, INT64_MIN);
        const auto below = integer(number.below, INT64_MAX);
        if (!least || !most || !above || !below) return;
        number.has_range = true;
        number.least = number.above ? std::max(*least, *above + 1) : *least;
        number.most = number.below ? std::min(*most, *below - 1) : *most;
    }

    void read_min_length(Parts& parts, Value value) {
        parts.has_string |= count_into(parts.string.least, value, "minLength");
    }
    void read_max_length(Parts& parts, Value value) {
        parts.has_string |= count_into(parts.string.most, value, "maxLength");
    }
    void read_pattern(Parts& parts, Value value) {
        if (!value.is_string()) {
            fault(value, "\"pattern\" must be a string");
            return;
        }
        parts.string.pattern = pattern_of(value, value.text());
        parts.string.pattern_text = value.text();
        parts.has_string = true;
    }

    void read_items(Parts& parts, Value value) {
        if (value.is_array() && (parts.context.draft & Draft2020) != 0) {
            fault(value,
                  "\"items\" must be a schema in draft 2020-12; use \"prefixItems\" for a list");
            return;
        }
        parts.items = value;
    }
    void read_additional_items(Parts& parts, Value value) { parts.additional_items = value; }
    void read_prefix_items(Parts& parts, Value value) { parts.prefix_items = value; }
    void join_items(Parts& parts) {
        ArrayRules& array = parts.array;
        Value rest = parts.items;
        array.rest_keyword = "items";
        array.prefix_keyword = "prefixItems";
        if (parts.prefix_items) {
            array.prefix = schema_list(parts, parts.prefix_items, "prefixItems");
            parts.has_array = true;
        }
        if (parts.items && parts.items.is_array()) {
            if (parts.prefix_items) {
                fault(parts.items, "\"items\" must be a schema if \"prefixItems\" is used");
                return;
            }
            array.prefix_keyword = "items";
            array.rest_keyword = "additionalItems";
            for (const Value each : parts.items.elements()) {
                array.prefix.push_back(part(parts, each));
            }
            parts.has_array = true;
            rest = parts.additional_items;
        } else if (parts.additional_items) {
            part(parts, parts.additional_items);  // has no effect, but must be a valid schema
        }
        if (rest) {
            array.rest = part(parts, rest);
            parts.has_array = true;
        }
    }
    void read_min_items(Parts& parts, Value value) {
        parts.has_array |= count_into(parts.array.least, value, "minItems");
    }
    void read_max_items(Parts& parts, Value value) {
        parts.has_array |= count_into(parts.array.most, value, "maxItems");
    }
    void read_unique_items(Parts& parts, Value value) {
        if (!value.is_boolean()) {
            fault(value, "\"uniqueItems\" must be true or false");
        } else if (value.boolean()) {
            parts.array.unique = parts.has_array = true;
        }
    }
    void read_contains(Parts& parts, Value value) {
        parts.array.contains = part(parts, value);
        parts.array.contains_evaluates = (parts.context.draft & kSince2020) != 0;
        parts.has_array = true;
    }
    void read_min_contains(Parts& parts, Value value) {
        count_into(parts.array.contains_least, value, "minContains");
    }
    void read_max_contains(Parts& parts, Value value) {
        count_into(parts.array.contains_most, value, "maxContains");
    }

    void read_properties(Parts& parts, Value value) {
        if (!is_object(value, "properties", "schemas")) return;
        std::unordered_map<std::string_view, size_t> known;
        for (const json::Member member : value.members()) {
            const RuleIndex rule = part(parts, member.value);
            if (!known.emplace(member.key, parts.object.properties.size()).second) {
                fault(member.value, "schema-keyword-unique",
                      json::quoted(member.key) + " is set twice; remove one");
                continue;
            }
            parts.object.properties.push_back({member.key, rule});
        }
        parts.has_object = true;
    }
    void read_pattern_properties(Parts& parts, Value value) {
        if (!is_object(value, "patternProperties", "schemas")) return;
        for (const json::Member member : value.members()) {
            const Pattern* pattern = pattern_of(member.value, member.key);
            parts.object.patterns.push_back({pattern, part(parts, member.value)});
        }
        parts.has_object = true;
    }
    void read_additional_properties(Parts& parts, Value value) {
        parts.object.additional = part(parts, value);
        parts.has_object = true;
    }
    void read_property_names(Parts& parts, Value value) {
        parts.object.names = part(parts, value);
        parts.has_object = true;
    }
    void read_min_properties(Parts& parts, Value value) {
        parts.has_object |= count_into(parts.object.least, value, "minProperties");
    }
    void read_max_properties(Parts& parts, Value value) {
        parts.has_object |= count_into(parts.object.most, value, "maxProperties");
    }
    void read_required(Parts& parts, Value value) {
        parts.required = value;
        parts.has_object = true;
    }
    void join_members(Parts& parts) {
        ObjectRules& object = parts.object;
        if (parts.required) {
            std::vector<std::string_view> names;
            names_into(names, parts.required, "required");
            std::unordered_map<std::string_view, size_t> places;
            for (size_t i = 0; i < object.properties.size(); ++i) {
                places.emplace(object.properties[i].name, i);
            }
            for (const std::string_view name : names) {
                const auto [place, is_new] = places.emplace(name, object.properties.size());
                if (is_new) object.properties.push_back({name});
                object.properties[place->second].required = object.required_count++;
            }
        }
        if (object.properties.size() <= kFewProperties) return;
        size_t size = 8;
        while (size < 2 * object.properties.size()) size *= 2;
        object.slots.assign(size, UINT32_MAX);
        for (uint32_t i = 0; i < object.properties.size(); ++i) {
            size_t slot = hash_text(object.properties[i].name, out_.seed) & (size - 1);
            while (object.slots[slot] != UINT32_MAX) slot = (slot + 1) & (size - 1);
            object.slots[slot] = i;
        }
    }
    void read_dependent_required(Parts& parts, Value value) {
        if (!is_object(value, "dependentRequired", "arrays of names")) return;
        for (const json::Member member : value.members()) {
            add_dependent_names(parts, member, "dependentRequired");
        }
    }
    void add_dependent_names(Parts& parts, json::Member member, const char* keyword) {
        ObjectRules::DependentNames& made = parts.object.dependent_names.emplace_back();
        made.name = member.key;
        names_into(made.needs, member.value, keyword);
        parts.object.dependent_names_keyword = keyword;
        parts.has_object = true;
    }
    void read_dependent_schemas(Parts& parts, Value value) {
        if (!is_object(value, "dependentSchemas", "schemas")) return;
        for (const json::Member member : value.members()) {
            add_dependent_rule(parts, member, "dependentSchemas");
        }
    }
    void add_dependent_rule(Parts& parts, json::Member member, const char* keyword) {
        parts.object.dependent_rules.push_back({member.key, part(parts, member.value)});
        parts.object.dependent_rules_keyword = keyword;
        parts.has_object = true;
    }
    void read_dependencies(Parts& parts, Value value) {
        if (!is_object(value, "dependencies", "schemas or arrays of names")) return;
        for (const json::Member member : value.members()) {
            if (member.value.is_array()) add_dependent_names(parts, member, "dependencies");
            else add_dependent_rule(parts, member, "dependencies");
        }
    }

    void read_all_of(Parts& parts, Value value) {
        parts.general.all_of = schema_list(parts, value, "allOf");
        parts.has_general = true;
    }
    void read_any_of(Parts& parts, Value value) {
        parts.general.any_of = schema_list(parts, value, "anyOf");
        parts.has_general = true;
    }
    void read_one_of(Parts& parts, Value value) {
        parts.general.one_of = schema_list(parts, value, "oneOf");
        parts.has_general = true;
    }
    void read_not(Parts& parts, Value value) {
        parts.general.negated = part(parts, value);
        parts.has_general = true;
    }
    void read_if(Parts& parts, Value value) {
        parts.general.condition = part(parts, value);
        parts.has_general = true;
    }
    void read_then(Parts& parts, Value value) { parts.then = part(parts, value); }
    void read_else(Parts& parts, Value value) { parts.otherwise = part(parts, value); }

    void read_unevaluated_items(Parts& parts, Value value) {
        parts.general.unevaluated_items = part(parts, value);
        parts.has_general = true;
    }
    void read_unevaluated_properties(Parts& parts, Value value) {
        parts.general.unevaluated_members = part(parts, value);
        parts.has_general = true;
    }

    void read_reference(Parts& parts, Value value) {
        refer(parts, value, ReferenceKind::Plain, "$ref");
    }
    void read_dynamic_reference(Parts& parts, Value value) {
        refer(parts, value, ReferenceKind::Dynamic, "$dynamicRef");
    }
    void read_recursive_reference(Parts& parts, Value value) {
        if (value.is_string() && value.text() != "#") {
            fault(value, "\"$recursiveRef\" must be \"#\"");
            return;
        }
        refer(parts, value, ReferenceKind::Recursive, "$recursiveRef");
    }
    void refer(Parts& parts, Value value, ReferenceKind kind, const char* name) {
        if (!value.is_string()) {
            fault(value, json::quoted(name) + " must be a string");
            return;
        }
        references_.push_back({kind, parts.index, value, parts.context});
        parts.has_general = true;
    }

    void read_definitions(Parts& parts, Value value) {
        if (!is_object(value, "$defs", "schemas")) return;
        for (const json::Member member : value.members()) {
            part(parts, member.value);
        }
    }
    void read_content_schema(Parts& parts, Value value) { part(parts, value); }
    void read_text(Parts&, Value value) {
        if (!value.is_string()) fault(value, "must be a string");
    }
    void read_flag(Parts&, Value value) {
        if (!value.is_boolean()) fault(value, "must be true or false");
    }
    void read_list(Parts&, Value value) {
        if (!value.is_array()) fault(value, "must be an array");
    }

    // Sorted by name.
    using C = Compiler;
    static constexpr size_t kKeywordCount = 53;
    static const std::array<Keyword, kKeywordCount>& keywords() {
        static const std::array<Keyword, kKeywordCount> table = {{
            {"$comment", kSince7, &C::read_text},
            {"$defs", kSince2019, &C::read_definitions},
            {"$dynamicRef", kSince2020, &C::read_dynamic_reference},
            {"$recursiveRef", Draft2019, &C::read_recursive_reference},
            {"$ref", kEvery, &C::read_reference},
            {"additionalItems", kEvery & ~Draft2020, &C::read_additional_items},
            {"additionalProperties", kEvery, &C::read_additional_properties},
            {"allOf", kEvery, &C::read_all_of},
            {"anyOf", kEvery, &C::read_any_of},
            {"const", kSince6, &C::read_const},
            {"contains", kSince6, &C::read_contains},
            {"contentEncoding", kSince7, &C::read_text},
            {"contentMediaType", kSince7, &C::read_text},
            {"contentSchema", kSince2019, &C::read_content_schema},
            {"definitions", kEvery, &C::read_definitions},
            {"dependencies", kEvery, &C::read_dependencies},
            {"dependentRequired", kSince2019, &C::read_dependent_required},
            {"dependentSchemas", kSince2019, &C::read_dependent_schemas},
            {"deprecated", kSince2019, &C::read_flag},
            {"description", kEvery, &C::read_text},
            {"else", kSince7, &C::read_else},
            {"enum", kEvery, &C::read_enum},
            {"examples", kSince6, &C::read_list},
            {"exclusiveMaximum", kEvery, &C::read_exclusive_maximum},
            {"exclusiveMinimum", kEvery, &C::read_exclusive_minimum},
            {"format", kEvery, &C::read_text},
            {"if", kSince7, &C::read_if},
            {"items", kEvery, &C::read_items},
            {"maxContains", kSince2019, &C::read_max_contains},
            {"maxItems", kEvery, &C::read_max_items},
            {"maxLength", kEvery, &C::read_max_length},
            {"maxProperties", kEvery, &C::read_max_properties},
            {"maximum", kEvery, &C::read_maximum},
            {"minContains", kSince2019, &C::read_min_contains},
            {"minItems", kEvery, &C::read_min_items},
            {"minLength", kEvery, &C::read_min_length},
            {"minProperties", kEvery, &C::read_min_properties},
            {"minimum", kEvery, &C::read_minimum},
            {"multipleOf", kEvery, &C::read_multiple_of},
            {"not", kEvery, &C::read_not},
            {"oneOf", kEvery, &C::read_one_of},
            {"pattern", kEvery, &C::read_pattern},
            {"patternProperties", kEvery, &C::read_pattern_properties},
            {"prefixItems", kSince2020, &C::read_prefix_items},
            {"properties", kEvery, &C::read_properties},
            {"propertyNames", kSince6, &C::read_property_names},
            {"required", kEvery, &C::read_required},
            {"then", kSince7, &C::read_then},
            {"title", kEvery, &C::read_text},
            {"type", kEvery, &C::read_type},
            {"unevaluatedItems", kSince2019, &C::read_unevaluated_items},
            {"unevaluatedProperties", kSince2019, &C::read_unevaluated_properties},
            {"uniqueItems", kEvery, &C::read_unique_items},
        }};
        return table;
    }

    // ------------------------------------------------------------ references

    void resolve(Reference reference) {
        const std::string_view text = reference.text.text();
        const std::string full = resolve_uri(out_.resources[reference.context.resource].uri, text);
        const size_t hash = full.find('#');
        const std::string uri = full.substr(0, hash);
        const std::string fragment =
            hash == std::string::npos ? std::string() : percent_decoded(full.substr(hash + 1));
        const auto found = resource_of_uri_.find(uri);
        if (found == resource_of_uri_.end()) {
            fault(reference.text, "schema-reference",
                  json::quoted(text) +
                      " is outside of this document and is not fetched; copy it into \"$defs\"");
            return;
        }
        const RuleIndex target = target_of(found->second, fragment);
        if (target == kNoRule) {
            fault(reference.text, "schema-reference",
                  json::quoted(text) + " does not name a schema of this document");
            return;
        }
        GeneralRules& general = out_.generals[out_.rules[reference.rule].general];
        const Resource& resource = out_.resources[out_.rules[target].resource];
        bool moves = false;
        if (reference.kind == ReferenceKind::Recursive) {
            moves = resource.recursive_anchor && resource.root == target;
        } else if (reference.kind == ReferenceKind::Dynamic) {
            const auto anchor = resource.dynamic_anchors.find(fragment);
            moves = anchor != resource.dynamic_anchors.end() && anchor->second == target;
            if (moves) general.dynamic_anchor = anchor->first;
        }
        if (moves) {
            general.dynamic = target;
            out_.is_dynamic = true;
        } else if (general.reference == kNoRule) {
            general.reference = target;
        } else {
            general.all_of.push_back(target);  // "$ref" and "$dynamicRef" in one schema
        }
    }

    RuleIndex target_of(uint32_t resource, const std::string& fragment) {
        const RuleIndex root = out_.resources[resource].root;
        if (fragment.empty()) return root;
        if (fragment[0] != '/') {
            const auto anchor = anchors_.find(anchor_key(resource, fragment));
            return anchor == anchors_.end() ? kNoRule : anchor->second;
        }
        Value at(&out_.document.root().tape(), out_.rules[root].place);
        Context context{resource, draft_of_resource_[resource]};
        size_t begin = 1;
        while (begin <= fragment.size()) {
            size_t end = fragment.find('/', begin);
            if (end == std::string::npos) end = fragment.size();
            at = step(at, fragment.substr(begin, end - begin));
            if (!at) return kNoRule;
            if (const auto own = resource_at_.find(at.index()); own != resource_at_.end()) {
                context = {own->second, draft_of_resource_[own->second]};
            }
            begin = end + 1;
        }
        if (!at.is_object() && !at.is_boolean()) return kNoRule;
        const RuleIndex index = rule_of(at, context);
        compile_waiting();
        return index;
    }

    Value member_of(Value object, std::string_view name) {
        if (out_.document.root().tape().next(object.index()) - object.index() < kManyNodes) {
            return object.find(name);
        }
        auto& index = members_of_[object.index()];
        if (index.empty()) {
            for (const json::Member member : object.members()) index[member.key] = member.value;
        }
        const auto found = index.find(name);
        return found == index.end() ? Value() : found->second;
    }

    Value step(Value at, std::string segment) {
        for (size_t tilde = 0; (tilde = segment.find('~', tilde)) != std::string::npos; ++tilde) {
            if (segment.compare(tilde, 2, "~1") == 0) segment.replace(tilde, 2, "/");
            else if (segment.compare(tilde, 2, "~0") == 0) segment.replace(tilde, 2, "~");
        }
        if (at.is_object()) return member_of(at, segment);
        if (!at.is_array() || segment.empty() || segment.size() > 9 ||
            segment.find_first_not_of("0123456789") != std::string::npos ||
            (segment[0] == '0' && segment.size() > 1)) {
            return {};
        }
        size_t left = std::stoul(segment);
        for (const Value each : at.elements()) {
            if (left-- == 0) return each;
        }
        return {};
    }

    // Calls `use` for each link to a rule that applies to the same value.
    template <typename Use>
    void for_each_same_value(const Rule& rule, Use use) {
        if (rule.object != kNoRule) {
            for (auto& each : out_.objects[rule.object].dependent_rules) use(each.rule);
        }
        if (rule.general == kNoRule) return;
        GeneralRules& general = out_.generals[rule.general];
        for (auto* list : {&general.all_of, &general.any_of, &general.one_of}) {
            for (RuleIndex& each : *list) use(each);
        }
        for (RuleIndex* each : {&general.negated, &general.condition, &general.then,
                                &general.otherwise, &general.reference, &general.dynamic}) {
            if (*each != kNoRule) use(*each);
        }
    }

    // Calls `use` for each link to a rule that applies to a part of the value.
    template <typename Use>
    void each_below(const Rule& rule, Use use) {
        const auto maybe = [&use](RuleIndex& link) {
            if (link != kNoRule) use(link);
        };
        if (rule.array != kNoRule) {
            ArrayRules& array = out_.arrays[rule.array];
            for (RuleIndex& each : array.prefix) use(each);
            maybe(array.rest);
            maybe(array.contains);
        }
        if (rule.object != kNoRule) {
            ObjectRules& object = out_.objects[rule.object];
            for (Property& each : object.properties) maybe(each.rule);
            for (auto& each : object.patterns) use(each.rule);
            maybe(object.additional);
            maybe(object.names);
        }
        if (rule.general != kNoRule) {
            maybe(out_.generals[rule.general].unevaluated_items);
            maybe(out_.generals[rule.general].unevaluated_members);
        }
    }

    // Reports schemas that refer back to themselves for the same value: their check would never
    // end.
    void refuse_loops() {
        enum : uint8_t { Unseen, Open, Done };
        std::vector<uint8_t> state(out_.rules.size(), Unseen);
        std::vector<std::pair<RuleIndex, bool>> stack;
        for (RuleIndex start = 0; start < out_.rules.size(); ++start) {
            stack.emplace_back(start, false);
            while (!stack.empty()) {
                // Not structured bindings: in clang 14 a lambda cannot capture them.
                const RuleIndex rule = stack.back().first;
                const bool is_left = stack.back().second;
                stack.pop_back();
                if (is_left) {
                    state[rule] = Done;
                    continue;
                }
                if (state[rule] != Unseen) continue;
                state[rule] = Open;
                stack.emplace_back(rule, true);
                for_each_same_value(out_.rules[rule], [&](RuleIndex to) {
                    if (state[to] == Unseen) {
                        stack.emplace_back(to, false);
                    } else if (state[to] == Open) {
                        fault(Value(&out_.document.root().tape(), out_.rules[rule].place),
                              "schema-loop",
                              "the schema refers back to itself for the same value, so its check "
                              "would never end");
                    }
                });
            }
        }
    }

    // With a single resource no anchor can override a target, so dynamic references become plain.
    void settle_dynamic_references() {
        for (GeneralRules& general : out_.generals) {
            const RuleIndex target = std::exchange(general.dynamic, kNoRule);
            if (target == kNoRule) continue;
            if (general.reference == kNoRule) general.reference = target;
            else general.all_of.push_back(target);
        }
        out_.is_dynamic = false;
    }

    // Replaces links to schemas that consist only of a reference by links to their targets.
    // refuse_loops() has excluded loops.
    void shorten_references() {
        std::vector<RuleIndex> target(out_.rules.size(), kNoRule);
        for (RuleIndex i = 0; i < out_.rules.size(); ++i) {
            const Rule& rule = out_.rules[i];
            if (rule.general == kNoRule || rule.types != AllTypes || rule.number != kNoRule ||
                rule.string != kNoRule || rule.array != kNoRule || rule.object != kNoRule) {
                continue;
            }
            const GeneralRules& general = out_.generals[rule.general];
            size_t links = 0;
            for_each_same_value(rule, [&](RuleIndex) { ++links; });
            each_below(rule, [&](RuleIndex) { ++links; });
            if (links == 1 && general.reference != kNoRule && !general.has_allowed &&
                !general.constant) {
                target[i] = general.reference;
            }
        }
        const auto shorten = [&](RuleIndex& link) {
            RuleIndex end = link;
            while (target[end] != kNoRule) end = target[end];
            // Path compression: each chain is walked once.
            while (target[link] != kNoRule) link = std::exchange(target[link], end);
            link = end;
        };
        shorten(out_.root);
        for (const Rule& rule : out_.rules) {
            for_each_same_value(rule, shorten);
            each_below(rule, shorten);
        }
    }

    Program& out_;
    Faults& faults_;
    std::vector<Waiting> waiting_;
    std::vector<Reference> references_;
    std::unordered_map<uint32_t, RuleIndex> rule_at_;     // by index on the tape
    std::unordered_map<uint32_t, uint32_t> resource_at_;  // by index on the tape
    std::unordered_map<std::string, uint32_t> resource_of_uri_;
    std::unordered_map<std::string, RuleIndex> anchors_;
    std::vector<uint8_t> draft_of_resource_;
    std::unordered_map<uint32_t, std::unordered_map<std::string_view, Value>> members_of_;
};

}  // namespace

bool compile_schema(std::string_view text, Program& program, Faults& faults) {
    if (text.size() > Schema::kMaxBytes) {
        faults.push_back(
            {"schema-size", "", 0,
             "the schema is longer than " + std::to_string(Schema::kMaxBytes) + " bytes", ""});
        return false;
    }
    json::ParseError error;
    if (!program.document.parse(text, error)) {
        faults.push_back({json::rule_of(error.kind), "", error.byte, error.message, ""});
        return false;
    }
    return Compiler(program, faults).run();
}

}  // namespace narratoria::tool
