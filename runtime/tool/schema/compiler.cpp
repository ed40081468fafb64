// SPDX-License-Identifier: Apache-2.0
#include "tool/schema/compiler.hpp"

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>

#include "base/hash.hpp"
#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/near_name.hpp"
#include "base/strict_keys.hpp"
#include "tool/schema/schema.hpp"
#include "tool/schema/schema_compiler.hpp"
#include "tool/schema/uri.hpp"

namespace narratoria::tool {
namespace {

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

}  // namespace

bool Compiler::run() {
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

bool Compiler::full() const { return faults_.size() >= Schema::kMaxFaults; }

void Compiler::fault(Value at, const char* rule, std::string message) {
    if (full()) return;
    const Value root = out_.document.root();
    const auto byte = static_cast<size_t>(at.raw().data() - out_.document.text().data());
    faults_.push_back({rule, json::pointer_to(root, at.index()), byte, std::move(message), ""});
}

void Compiler::fault(Value at, std::string message) {
    fault(at, "schema-keyword", std::move(message));
}

RuleIndex Compiler::rule_of(Value value, Context context) {
    const auto known = rule_at_.find(value.index());
    if (known != rule_at_.end()) return known->second;
    const auto index = static_cast<RuleIndex>(out_.rules.size());
    out_.rules.emplace_back().place = value.index();
    rule_at_.emplace(value.index(), index);
    waiting_.push_back({value, index, context});
    return index;
}

// Not recursive: compile() appends the subschemas to the list.
void Compiler::compile_waiting() {
    while (!waiting_.empty() && !full()) {
        const Waiting next = waiting_.back();
        waiting_.pop_back();
        compile(next);
    }
}

void Compiler::compile(const Waiting& waiting) {
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
void Compiler::identify(Parts& parts, bool is_root) {
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

void Compiler::take_id(Parts& parts, Value id, uint8_t draft, bool is_root) {
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

std::string Compiler::anchor_key(uint32_t resource, std::string_view name) {
    return std::to_string(resource) + "#" + std::string(name);
}

void Compiler::add_anchor(Parts& parts, std::string_view name) {
    anchors_.emplace(anchor_key(parts.context.resource, name), parts.index);
}

void Compiler::warn_if_misspelled(json::Member member) {
    static const std::vector<std::string_view> known = [] {
        std::vector<std::string_view> names = {
            "$anchor",  "$dynamicAnchor", "$id",      "$recursiveAnchor",
            "$schema",  "$vocabulary",    "default",  "id",
            "readOnly", "title",          "writeOnly"};
        for (const Keyword& each : keywords()) names.push_back(each.name);
        return names;
    }();
    // A schema of names without end, which no person has written, must not cost more.
    constexpr size_t kMaxUnknown = 1000;
    if (out_.misspelled.size() >= Schema::kMaxFaults) return;
    if (std::find(known.begin(), known.end(), member.key) != known.end()) return;
    if (++unknown_keywords_ > kMaxUnknown) return;
    const std::string_view near = near_name(member.key, known);
    if (near.empty()) return;
    const Value root = out_.document.root();
    const auto byte = static_cast<size_t>(member.value.raw().data() - out_.document.text().data());
    Fault warning{"schema-keyword-unknown", json::pointer_to(root, member.value.index()), byte,
                  json::quoted(member.key) + " is not a keyword of JSON Schema, and has no effect" +
                      did_you_mean(near),
                  ""};
    warning.is_warning = true;
    out_.misspelled.push_back(std::move(warning));
}

void Compiler::read_keywords(Parts& parts) {
    const bool replaced = (parts.context.draft & kReplacing) != 0 && parts.schema.find("$ref");
    uint64_t seen = 0;
    for (const json::Member member : parts.schema.members()) {
        const auto found = std::lower_bound(
            keywords().begin(), keywords().end(), member.key,
            [](const Keyword& each, std::string_view name) { return each.name < name; });
        if (found == keywords().end() || found->name != member.key) {
            warn_if_misspelled(member);
            continue;
        }
        if ((found->drafts & parts.context.draft) == 0) continue;
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
void Compiler::finish(Parts& parts) {
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

RuleIndex Compiler::part(Parts& parts, Value value) { return rule_of(value, parts.context); }

std::vector<RuleIndex> Compiler::schema_list(Parts& parts, Value value, const char* name) {
    std::vector<RuleIndex> out;
    if (!value.is_array()) {
        fault(value, json::quoted(name) + " must be an array of schemas");
        return out;
    }
    for (const Value each : value.elements()) out.push_back(part(parts, each));
    if (out.empty()) fault(value, json::quoted(name) + " must not be empty");
    return out;
}

bool Compiler::is_object(Value value, const char* name, const char* of) {
    if (value.is_object()) return true;
    fault(value, json::quoted(name) + " must be an object of " + of);
    return false;
}

void Compiler::number_into(std::optional<Decimal>& out, Parts& parts, Value value,
                           const char* name) {
    if (!value.is_number()) {
        fault(value, json::quoted(name) + " must be a number");
        return;
    }
    out = Decimal(value.text());
    parts.has_number = true;
}

// Reads a count, an integer from 0. A count beyond 2^63 is treated as unlimited.
bool Compiler::count_into(uint64_t& out, Value value, const char* name) {
    if (!value.is_number() || !Decimal(value.text()).is_integer() || value.text().front() == '-') {
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

void Compiler::names_into(std::vector<std::string_view>& out, Value value, const char* name) {
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

const Pattern* Compiler::pattern_of(Value at, std::string_view text) {
    auto pattern = std::make_unique<Pattern>();
    std::string problem;
    if (!pattern->compile(text, problem)) {
        fault(at, "schema-pattern",
              "the pattern " + json::quoted(text.substr(0, 200)) + " cannot be used: " + problem);
        return nullptr;
    }
    out_.patterns.push_back(std::move(pattern));
    return out_.patterns.back().get();
}

std::optional<uint8_t> Compiler::type_bits(std::string_view name) {
    if (name == "null") return NullBit;
    if (name == "boolean") return BooleanBit;
    if (name == "number") return NumberBits;
    if (name == "integer") return IntegerBit;
    if (name == "string") return StringBit;
    if (name == "array") return ArrayBit;
    if (name == "object") return ObjectBit;
    return std::nullopt;
}

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
