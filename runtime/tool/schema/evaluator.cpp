// SPDX-License-Identifier: Apache-2.0
#include "tool/schema/evaluator.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes/utf8.hpp"
#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "tool/schema/alternatives.hpp"
#include "tool/schema/evaluated.hpp"
#include "tool/schema/fault_text.hpp"
#include "tool/schema/same_value.hpp"
#include "tool/schema/unknown_member.hpp"

namespace narratoria::tool {
namespace {

using json::Value;

// Larger lists of strings use binary search.
constexpr size_t kFewTexts = 8;
// Comparing this many names is faster than computing a hash.
constexpr size_t kFewProperties = 4;
// At most this number of alternatives is checked to explain why none fits.
constexpr size_t kExplained = 16;

// Instantiated twice: one only decides whether a value fits, the other one collects faults.
template <bool kCollects>
class Evaluator {
public:
    Evaluator(const Program& program, Value value, SchemaFaults* faults)
        : program_(program), faults_(faults) {
        const uint64_t nodes = value.tape().next(value.index()) - value.index();
        steps_ = Schema::kMaxSteps + 16 * nodes + 8 * uint64_t{value.raw().size()};
    }

    bool run(Value value) {
        const bool fits = this->fits(program_.root, value, nullptr);
        if (given_up_.empty() && steps_ > 0) return fits;
        // Faults found before the check was given up are valid and more useful.
        if (collects() && faults_->empty()) {
            faults_->push_back(
                {"", "",
                 given_up_.empty() ? "takes too long to check against this schema" : given_up_, 0,
                 value.type()});
        }
        return false;
    }

private:
    // Suppresses faults during its lifetime.
    class Silence {
    public:
        explicit Silence(Evaluator& evaluator)
            : place_(evaluator.faults_), before_(std::exchange(place_, nullptr)) {}
        ~Silence() { place_ = before_; }
        Silence(const Silence&) = delete;
        Silence& operator=(const Silence&) = delete;

    private:
        SchemaFaults*& place_;
        SchemaFaults* before_;
    };

    // Extends the pointer of faults during its lifetime.
    class Below {
    public:
        template <typename Segment>
        Below(Evaluator& evaluator, Segment segment) : path_(evaluator.path_) {
            if constexpr (kCollects) {
                size_ = path_.size();
                if (evaluator.collects()) json::append_pointer(path_, segment);
            }
        }
        ~Below() {
            if constexpr (kCollects) path_.resize(size_);
        }
        Below(const Below&) = delete;
        Below& operator=(const Below&) = delete;

    private:
        std::string& path_;
        size_t size_ = 0;
    };

    bool collects() const { return kCollects && faults_ != nullptr; }

    bool spend(uint64_t steps) {
        if (steps_ <= steps) {
            steps_ = 0;
            return false;
        }
        steps_ -= steps;
        return true;
    }

    template <typename Message>
    bool fail(Value value, std::string_view keyword, Message message) {
        // Without steps left, a negative result does not mean that the value violates the schema.
        if (collects() && steps_ > 0 && faults_->size() < Schema::kMaxFaults) {
            faults_->push_back({path_, std::string(keyword), message(), 0, value.type()});
        }
        return false;
    }

    // True if the rest of a rule can be skipped after a failure.
    bool quick() const { return !collects() || steps_ == 0; }

    [[gnu::always_inline]] bool fits(RuleIndex index, Value value, Evaluated* seen) {
        if (!spend(1)) return false;
        const Rule& rule = program_.rules[index];
        if (rule.types != AllTypes && !has_type(rule.types, value)) {
            return wrong_type(rule.types, value);
        }
        if (rule.plain) {
            if (!rule.never) return true;
            return fail(value, "false", [] { return "is not allowed here"; });
        }
        return fits_parts(rule, value, seen);
    }

    static bool has_type(uint8_t types, Value value) {
        switch (value.type()) {
            case json::Type::Null: return (types & NullBit) != 0;
            case json::Type::False:
            case json::Type::True: return (types & BooleanBit) != 0;
            case json::Type::String: return (types & StringBit) != 0;
            case json::Type::Array: return (types & ArrayBit) != 0;
            case json::Type::Object: return (types & ObjectBit) != 0;
            case json::Type::Number: break;
        }
        const auto numbers = static_cast<uint8_t>(types & NumberBits);
        if (numbers == 0 || numbers == NumberBits) return numbers != 0;
        return is_integer_text(value.text());
    }

    bool wrong_type(uint8_t types, Value value) {
        if (!collects() || faults_->size() >= Schema::kMaxFaults) return false;
        fail(value, "type", [&] {
            return "is " + types_for_people(type_bit(value)) + " but must be " +
                   types_for_people(types);
        });
        if (steps_ > 0) faults_->back().expected = types;
        return false;
    }

    [[gnu::noinline]] bool fits_parts(const Rule& rule, Value value, Evaluated* seen) {
        if (depth_ == Schema::kMaxDepth) {
            given_up_ = "is nested too deeply for this schema";
            steps_ = 0;
            return false;
        }
        ++depth_;
        const bool enters =
            program_.is_dynamic && (scope_.empty() || scope_.back() != rule.resource);
        if (enters) scope_.push_back(rule.resource);
        const bool fits = rule.general == kNoRule
                              ? fits_kind(rule, value, seen)
                              : fits_all(rule, program_.generals[rule.general], value, seen);
        if (enters) scope_.pop_back();
        --depth_;
        return fits;
    }

    bool fits_kind(const Rule& rule, Value value, Evaluated* seen) {
        switch (value.type()) {
            case json::Type::Number:
                return rule.number == kNoRule || fits_number(program_.numbers[rule.number], value);
            case json::Type::String:
                return rule.string == kNoRule || fits_string(program_.strings[rule.string], value);
            case json::Type::Array:
                return rule.array == kNoRule ||
                       fits_array(program_.arrays[rule.array], value, seen);
            case json::Type::Object:
                return rule.object == kNoRule ||
                       fits_object(program_.objects[rule.object], value, seen);
            default: return true;
        }
    }

    bool fits_all(const Rule& rule, const GeneralRules& general, Value value, Evaluated* outer) {
        const RuleIndex unevaluated = value.is_object()  ? general.unevaluated_members
                                      : value.is_array() ? general.unevaluated_items
                                                         : kNoRule;
        if (unevaluated == kNoRule) return fits_general(rule, general, value, outer);
        Evaluated own;
        if (!fits_general(rule, general, value, &own)) return false;
        const bool fits = value.is_object() ? fits_unevaluated_members(unevaluated, value, own)
                                            : fits_unevaluated_items(unevaluated, value, own);
        if (fits && outer != nullptr) {
            own.all = true;
            outer->add(own);
        }
        return fits;
    }

    bool fits_general(const Rule& rule, const GeneralRules& general, Value value, Evaluated* seen) {
        bool fits = true;
        // Returns false once the result is known and no more faults are needed.
        const auto goes_on = [&](bool part) {
            fits = fits && part;
            return fits || !quick();
        };
        if (!goes_on(fits_kind(rule, value, seen))) return false;
        if (general.constant && !goes_on(is_constant(general, value))) return false;
        if (general.has_allowed && !goes_on(is_allowed(general, value))) return false;
        if (general.reference != kNoRule && !goes_on(this->fits(general.reference, value, seen))) {
            return false;
        }
        if (general.dynamic != kNoRule &&
            !goes_on(this->fits(dynamic_target(general), value, seen))) {
            return false;
        }
        for (const RuleIndex each : general.all_of) {
            if (!goes_on(this->fits(each, value, seen))) return false;
        }
        if (!general.any_of.empty() && !goes_on(fits_any(general, value, seen))) return false;
        if (!general.one_of.empty() && !goes_on(fits_one(general, value, seen))) return false;
        if (general.negated != kNoRule && !goes_on(fits_not(general, value))) return false;
        if (general.condition != kNoRule && !goes_on(fits_condition(general, value, seen))) {
            return false;
        }
        return fits;
    }

    // Returns the target in the outermost resource on the path that has the anchor.
    RuleIndex dynamic_target(const GeneralRules& general) const {
        for (const uint32_t each : scope_) {
            const Resource& resource = program_.resources[each];
            if (general.dynamic_anchor.empty()) {
                if (resource.recursive_anchor) return resource.root;
                continue;
            }
            const auto found = resource.dynamic_anchors.find(general.dynamic_anchor);
            if (found != resource.dynamic_anchors.end()) return found->second;
        }
        return general.dynamic;
    }

    // ------------------------------------------------------------ numbers, strings

    // Fast path: usually both the number and the limits are short integers.
    static std::optional<int64_t> short_integer(std::string_view text) {
        if (text.size() > 18) return std::nullopt;
        const bool negative = text[0] == '-';
        int64_t out = 0;
        for (const char c : text.substr(negative ? 1 : 0)) {
            if (c < '0' || c > '9') return std::nullopt;
            out = out * 10 + (c - '0');
        }
        return negative ? -out : out;
    }

    bool fits_number(const NumberRules& rules, Value value) {
        if (rules.has_range) {
            const auto integer = short_integer(value.text());
            if (integer && *integer >= rules.least && *integer <= rules.most) return true;
        }
        const Decimal number(value.text());
        bool fits = true;
        const auto require = [&](bool holds, const char* keyword, const char* relation,
                                 const Decimal& limit) {
            if (holds) return;
            fits = fail(value, keyword, [&] {
                return "is " + excerpt(value) + " but must be " + relation + " " +
                       std::string(limit.text());
            });
        };
        if (rules.minimum) {
            require(number.compare(*rules.minimum) >= 0, "minimum", "at least", *rules.minimum);
        }
        if (rules.maximum) {
            require(number.compare(*rules.maximum) <= 0, "maximum", "at most", *rules.maximum);
        }
        if (rules.above) {
            require(number.compare(*rules.above) > 0, "exclusiveMinimum", "above", *rules.above);
        }
        if (rules.below) {
            require(number.compare(*rules.below) < 0, "exclusiveMaximum", "below", *rules.below);
        }
        if (rules.step) {
            require(number.is_multiple_of(*rules.step), "multipleOf", "a multiple of", *rules.step);
        }
        return fits;
    }

    static uint64_t length_of(std::string_view text) {
        uint64_t length = 0;
        for (const char c : text) length += !utf8::continues(c);
        return length;
    }

    bool fits_string(const StringRules& rules, Value value) {
        const std::string_view text = value.text();
        bool fits = true;
        // A character has one to four bytes, so most strings need no exact count.
        if (text.size() > rules.most || (text.size() + 3) / 4 < rules.least) {
            const uint64_t length = length_of(text);
            if (length > rules.most) {
                fits = fail(value, "maxLength", [&] {
                    return "has " + counted(length, "character", "characters") +
                           " but must not have more than " + std::to_string(rules.most);
                });
            }
            if (length < rules.least) fits = too_short(rules, value, length);
        }
        if (rules.pattern != nullptr && (fits || !quick())) {
            const bool found = rules.pattern->search(text, steps_);
            if (!found) {
                fits = fail(value, "pattern", [&] {
                    return "is " + excerpt(value) + " but must match the pattern " +
                           json::quoted(cut(rules.pattern_text, 2 * kExcerpt));
                });
            }
        }
        return fits;
    }

    bool too_short(const StringRules& rules, Value value, uint64_t length) {
        return fail(value, "minLength", [&] {
            if (rules.least == 1) return std::string("must not be empty");
            return "has " + counted(length, "character", "characters") +
                   " but must have at least " + std::to_string(rules.least);
        });
    }

    // ------------------------------------------------------------ arrays

    bool fits_array(const ArrayRules& rules, Value value, Evaluated* seen) {
        bool fits = true;
        size_t at = 0;
        if (!rules.prefix.empty() || rules.rest != kNoRule) {
            for (const Value element : value.elements()) {
                const RuleIndex rule = at < rules.prefix.size() ? rules.prefix[at] : rules.rest;
                if (rule == kNoRule) break;
                const Below below(*this, at);
                if (!fits_element(rules, rule, at, element)) {
                    fits = false;
                    if (quick()) return false;
                }
                if (seen != nullptr) seen->set(at);
                ++at;
            }
            if (seen != nullptr && rules.rest != kNoRule) seen->all = true;
        }
        if (rules.least == 0 && rules.most == UINT64_MAX && !rules.unique &&
            rules.contains == kNoRule) {
            return fits;
        }
        uint64_t count = 0;
        for ([[maybe_unused]] const Value element : value.elements()) ++count;
        if (count < rules.least) {
            fits = fail(value, "minItems", [&] {
                return "has " + counted(count, "element", "elements") + " but must have at least " +
                       std::to_string(rules.least);
            });
        }
        if (count > rules.most) {
            fits = fail(value, "maxItems", [&] {
                return "has " + counted(count, "element", "elements") +
                       " but must not have more than " + std::to_string(rules.most);
            });
        }
        if (rules.unique && (fits || !quick()) && !is_unique(value, count)) fits = false;
        if (rules.contains != kNoRule && (fits || !quick()) && !contains(rules, value, seen)) {
            fits = false;
        }
        return fits;
    }

    bool fits_element(const ArrayRules& rules, RuleIndex rule, size_t at, Value element) {
        if (at >= rules.prefix.size() && program_.rules[rule].never) {
            return fail(element, rules.rest_keyword, [&] {
                return "is one element too many; the array must not have more than " +
                       counted(rules.prefix.size(), "element", "elements");
            });
        }
        return this->fits(rule, element, nullptr);
    }

    bool is_unique(Value value, uint64_t count) {
        if (count < 2) return true;
        const auto repeated = find_repeated(value, count, steps_);
        if (!repeated) return steps_ > 0;
        return fail(value, "uniqueItems", [&] {
            return "repeats an element: those at " + std::to_string(repeated->first) + " and " +
                   std::to_string(repeated->second) + " are equal";
        });
    }

    bool contains(const ArrayRules& rules, Value value, Evaluated* seen) {
        uint64_t found = 0;
        {
            const Silence silence(*this);
            size_t at = 0;
            for (const Value element : value.elements()) {
                if (this->fits(rules.contains, element, nullptr)) {
                    ++found;
                    if (seen != nullptr && rules.contains_evaluates) seen->set(at);
                }
                if (steps_ == 0) return false;
                ++at;
            }
        }
        if (found < rules.contains_least) {
            return fail(value, rules.contains_least == 1 ? "contains" : "minContains", [&] {
                return "has " + counted(found, "element", "elements") +
                       " that match \"contains\" but must have at least " +
                       std::to_string(rules.contains_least);
            });
        }
        if (found > rules.contains_most) {
            return fail(value, "maxContains", [&] {
                return "has " + counted(found, "element", "elements") +
                       " that match \"contains\" but must not have more than " +
                       std::to_string(rules.contains_most);
            });
        }
        return true;
    }

    bool fits_unevaluated_items(RuleIndex rule, Value value, const Evaluated& own) {
        bool fits = true;
        size_t at = 0;
        for (const Value element : value.elements()) {
            const size_t here = at++;
            if (own.has(here)) continue;
            const Below below(*this, here);
            const bool part =
                program_.rules[rule].never
                    ? fail(element, "unevaluatedItems", [] { return "is one element too many"; })
                    : this->fits(rule, element, nullptr);
            fits = fits && part;
            if (!fits && quick()) return false;
        }
        return fits;
    }

    // ------------------------------------------------------------ objects

    const Property* find_property(const ObjectRules& rules, std::string_view name,
                                  size_t& next) const {
        const auto same = [name](const Property& each) {
            return each.name.size() == name.size() &&
                   std::memcmp(each.name.data(), name.data(), name.size()) == 0;
        };
        const std::vector<Property>& all = rules.properties;
        // Members usually come in the order of the schema.
        if (next < all.size() && same(all[next])) return &all[next++];
        const Property* const end = all.data() + all.size();
        const Property* const found =
            all.size() > kFewProperties ? rules.find(name) : std::find_if(all.data(), end, same);
        if (found == nullptr || found == end) return nullptr;
        next = static_cast<size_t>(found - all.data()) + 1;
        return found;
    }

    bool fits_object(const ObjectRules& rules, Value value, Evaluated* seen) {
        bool fits = true;
        Bits present;
        uint32_t present_count = 0;
        uint64_t count = 0;
        size_t next = 0;
        for (const json::Member member : value.members()) {
            const size_t at = count++;
            bool known = false;
            const Property* property = find_property(rules, member.key, next);
            if (property != nullptr && property->required != UINT32_MAX &&
                !present.has(property->required)) {
                present.set(property->required);
                ++present_count;
            }
            const auto apply = [&](RuleIndex rule) {
                known = true;
                const Below below(*this, member.key);
                fits = this->fits(rule, member.value, nullptr) && fits;
            };
            if (property != nullptr && property->rule != kNoRule) apply(property->rule);
            for (const auto& each : rules.patterns) {
                if (each.pattern->search(member.key, steps_)) apply(each.rule);
            }
            if (!known && rules.additional != kNoRule) {
                if (program_.rules[rules.additional].never) {
                    const Below below(*this, member.key);
                    fits = fail_unknown(rules, value, member);
                } else {
                    apply(rules.additional);
                }
                known = true;
            }
            if (known && seen != nullptr) seen->set(at);
            if (rules.names != kNoRule && !fits_name(rules.names, value, member)) fits = false;
            if (!fits && quick()) return false;
        }
        if (present_count < rules.required_count) fits = fail_required(rules, present);
        if (count < rules.least) {
            fits = fail(value, "minProperties", [&] {
                return "has " + counted(count, "member", "members") + " but must have at least " +
                       std::to_string(rules.least);
            });
        }
        if (count > rules.most) {
            fits = fail(value, "maxProperties", [&] {
                return "has " + counted(count, "member", "members") +
                       " but must not have more than " + std::to_string(rules.most);
            });
        }
        if (!fits && quick()) return false;
        return fits_dependents(rules, value, seen) && fits;
    }

    bool fail_unknown(const ObjectRules& rules, json::Value object, const json::Member& member) {
        return fail(member.value, "additionalProperties",
                    [&] { return unknown_member(rules, object, member.key); });
    }

    bool fail_required(const ObjectRules& rules, const Bits& present) {
        if (!collects()) return false;
        for (const Property& each : rules.properties) {
            if (each.required == UINT32_MAX || present.has(each.required)) continue;
            if (faults_->size() >= Schema::kMaxFaults) break;
            const Below below(*this, each.name);
            const uint8_t types =
                each.rule == kNoRule ? uint8_t{0} : program_.rules[each.rule].types;
            faults_->push_back({path_, "required", "is missing",
                                types == AllTypes ? uint8_t{0} : types, std::nullopt});
        }
        return false;
    }

    // The tape has no value for a member's name, but the name's node has the form of a string.
    bool fits_name(RuleIndex rule, Value object, json::Member member) {
        const Value name(&object.tape(), member.value.index() - 1);
        {
            const Silence silence(*this);
            if (this->fits(rule, name, nullptr)) return true;
        }
        const Below below(*this, member.key);
        return fail(member.value, "propertyNames", [] { return "has a name that is not allowed"; });
    }

    bool fits_dependents(const ObjectRules& rules, Value value, Evaluated* seen) {
        bool fits = true;
        for (const auto& each : rules.dependent_names) {
            if (!spend_find(value) || !value.find(each.name)) continue;
            for (const std::string_view needed : each.needs) {
                if (!spend_find(value) || value.find(needed)) continue;
                const Below below(*this, needed);
                fits = fail(value, rules.dependent_names_keyword,
                            [&] { return "is missing; " + json::quoted(each.name) + " needs it"; });
                if (collects() && !faults_->empty() && faults_->back().pointer == path_) {
                    faults_->back().received.reset();
                }
            }
        }
        for (const auto& each : rules.dependent_rules) {
            if (!spend_find(value) || !value.find(each.name)) continue;
            fits = this->fits(each.rule, value, seen) && fits;
            if (!fits && quick()) return false;
        }
        return fits && steps_ > 0;
    }

    bool spend_find(Value object) {
        return spend((object.tape().next(object.index()) - object.index()) / 8);
    }

    bool fits_unevaluated_members(RuleIndex rule, Value value, const Evaluated& own) {
        bool fits = true;
        size_t at = 0;
        for (const json::Member member : value.members()) {
            if (own.has(at++)) continue;
            const Below below(*this, member.key);
            const bool part =
                program_.rules[rule].never
                    ? fail(member.value, "unevaluatedProperties", [] { return "is unknown"; })
                    : this->fits(rule, member.value, nullptr);
            fits = fits && part;
            if (!fits && quick()) return false;
        }
        return fits;
    }

    // ------------------------------------------------------------ any value

    bool is_constant(const GeneralRules& general, Value value) {
        if (same_value(general.constant, value, steps_)) return true;
        return fail(value, "const", [&] {
            return "is " + excerpt(value) + " but must be " + excerpt(general.constant);
        });
    }

    static bool is_listed(const std::vector<std::string_view>& sorted, std::string_view text) {
        if (sorted.size() > kFewTexts) {
            return std::binary_search(sorted.begin(), sorted.end(), text);
        }
        return std::find(sorted.begin(), sorted.end(), text) != sorted.end();
    }

    bool is_allowed(const GeneralRules& general, Value value) {
        if (!general.texts.empty()) {
            if (value.is_string() && is_listed(general.texts, value.text())) return true;
        } else {
            for (const Value each : general.allowed) {
                if (same_value(each, value, steps_)) return true;
                if (steps_ == 0) return false;
            }
        }
        return fail(value, "enum", [&] {
            return "is " + excerpt(value) + " but must be one of " +
                   listed(general.allowed, [](Value each) { return excerpt(each); });
        });
    }

    bool fits_any(const GeneralRules& general, Value value, Evaluated* seen) {
        bool found = false;
        {
            const Silence silence(*this);
            for (const RuleIndex each : general.any_of) {
                Evaluated part;
                if (!this->fits(each, value, seen != nullptr ? &part : nullptr)) continue;
                found = true;
                if (seen == nullptr) break;
                seen->add(part);
            }
        }
        if (!found && collects()) explain(general.any_of, value, "anyOf");
        return found;
    }

    bool fits_one(const GeneralRules& general, Value value, Evaluated* seen) {
        std::vector<size_t> found;
        {
            const Silence silence(*this);
            Evaluated whole;
            for (size_t i = 0; i < general.one_of.size() && found.size() < 2; ++i) {
                Evaluated part;
                if (!this->fits(general.one_of[i], value, seen != nullptr ? &part : nullptr)) {
                    continue;
                }
                found.push_back(i + 1);
                if (seen != nullptr) whole.add(part);
            }
            if (found.size() == 1 && seen != nullptr) seen->add(whole);
        }
        if (found.size() > 1) {
            return fail(value, "oneOf", [&] {
                return "fits the alternatives " + std::to_string(found[0]) + " and " +
                       std::to_string(found[1]) + " of " + std::to_string(general.one_of.size()) +
                       " but must fit exactly one";
            });
        }
        if (found.empty() && collects()) explain(general.one_of, value, "oneOf");
        return found.size() == 1;
    }

    bool fits_not(const GeneralRules& general, Value value) {
        {
            const Silence silence(*this);
            if (!this->fits(general.negated, value, nullptr)) return true;
        }
        return fail(value, "not", [] { return "is an excluded value"; });
    }

    bool fits_condition(const GeneralRules& general, Value value, Evaluated* seen) {
        bool holds = false;
        {
            const Silence silence(*this);
            Evaluated part;
            holds = this->fits(general.condition, value, seen != nullptr ? &part : nullptr);
            if (holds && seen != nullptr) seen->add(part);
        }
        const RuleIndex then = holds ? general.then : general.otherwise;
        return then == kNoRule || this->fits(then, value, seen);
    }

    // Reports why no alternative fits: the faults of the only alternative of the value's type, the
    // types that the alternatives allow, or the first fault of each.
    void explain(const std::vector<RuleIndex>& alternatives, Value value, const char* keyword) {
        std::vector<SchemaFaults> all;
        for (size_t i = 0; i < alternatives.size() && i < kExplained && steps_ > 0; ++i) {
            SchemaFaults part;
            SchemaFaults* const before = std::exchange(faults_, &part);
            fits(alternatives[i], value, nullptr);
            faults_ = before;
            all.push_back(std::move(part));
        }
        if (steps_ == 0) return;
        const NearAlternatives found = near_alternatives(all, path_);
        if (all.size() == alternatives.size() && found.near.empty()) {
            wrong_type(found.other_types, value);
            return;
        }
        if (found.near.size() == 1) {
            for (const SchemaFault& each : *found.near[0]) {
                if (faults_->size() < Schema::kMaxFaults) faults_->push_back(each);
            }
            return;
        }
        fail(value, keyword, [&] { return none_fits(found, alternatives.size(), path_); });
    }

    const Program& program_;
    SchemaFaults* faults_;
    uint64_t steps_ = 0;
    uint32_t depth_ = 0;
    std::string given_up_;
    std::string path_;
    std::vector<uint32_t> scope_;  // resources on the path, if a dynamic reference needs them
};

}  // namespace

bool evaluate(const Program& program, Value value, SchemaFaults* faults) {
    if (faults == nullptr) return Evaluator<false>(program, value, nullptr).run(value);
    return Evaluator<true>(program, value, faults).run(value);
}

}  // namespace narratoria::tool
