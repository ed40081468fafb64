// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/json/writer.hpp"
#include "tool/schema/schema_compiler.hpp"
#include "tool/schema/uri.hpp"

namespace narratoria::tool {
namespace {

// Larger objects (in nodes of the tape) get an index when a reference looks up a member.
constexpr uint32_t kManyNodes = 256;

}  // namespace

void Compiler::resolve(Reference reference) {
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

RuleIndex Compiler::target_of(uint32_t resource, const std::string& fragment) {
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

Value Compiler::member_of(Value object, std::string_view name) {
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

Value Compiler::step(Value at, std::string segment) {
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

// Reports schemas that refer back to themselves for the same value: their check would never
// end.
void Compiler::refuse_loops() {
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
void Compiler::settle_dynamic_references() {
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
void Compiler::shorten_references() {
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

}  // namespace narratoria::tool
