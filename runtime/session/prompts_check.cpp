// SPDX-License-Identifier: Apache-2.0
#include "session/prompts_check.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "session/state_check.hpp"
#include "tool/registry.hpp"

namespace narratoria::session {
namespace {

// ---- patterns and answers

// Appends the keys and texts of a value as elements of a JSON array.
void append_names(json::Value value, std::string& out) {
    const auto add = [&](std::string_view name) {
        if (out.size() > 1) out += ',';
        json::append_string(out, name);
    };
    if (value.is_string()) add(value.text());
    if (value.is_array()) {
        for (const json::Value element : value.elements()) append_names(element, out);
    } else if (value.is_object()) {
        for (const json::Member member : value.members()) {
            add(member.key);
            append_names(member.value, out);
        }
    }
}

// All that may be a name at a place of the state: the keys and texts of [state], and those that
// answers set; as a JSON array.
std::string names_of(const Story& story, const Prompts& prompts) {
    std::string out = "[";
    const auto add = [&](std::string_view text) {
        json::Document document;
        json::ParseError error;
        if (document.parse(text, error)) append_names(document.root(), out);
    };
    add(story.state);
    for (const Prompts::StateUse& use : prompts.state_uses) {
        if (use.is_set)
            add(json::nested(use.pointer.text, use.operand.empty() ? "0" : use.operand));
    }
    out += ']';
    return out;
}

void check_choices(const Story& story, const Prompts& prompts, Faults& faults) {
    std::vector<Mention> choices = story.mentions.choices;
    choices.insert(choices.end(), prompts.choices.begin(), prompts.choices.end());
    json::Document names;
    json::ParseError error;
    names.parse(names_of(story, prompts), error);
    PlaceNames place_names(prompts.vocabulary, [&](std::string_view) { return names.root(); });
    // A host, or a tool, may give a state that the story does not show.
    const bool are_known =
        !story.state.empty() && tool::Registry(story.folder + "/tools").list_all().empty();
    for (const Mention& mention : choices) {
        const PlayerWords words(mention.text, prompts.vocabulary,
                                are_known ? &place_names : nullptr);
        Bindings captures;
        const bool is_matched = std::any_of(
            prompts.entries.begin(), prompts.entries.end(), [&](const PromptEntry& entry) {
                return std::any_of(entry.patterns.begin(), entry.patterns.end(),
                                   [&](const PromptPattern& pattern) {
                                       // With a condition, a pattern for anything is for an event.
                                       return !(entry.when && pattern.takes_anything()) &&
                                              pattern.matches(words, captures);
                                   });
            });
        if (is_matched) continue;
        warn(mention, "story-choice-unmatched",
             "no pattern in prompts.json matches the choice " + json::quoted(mention.text) +
                 ", so a player who chooses it " +
                 (prompts.unmatched.empty() ? "reads that nothing matches"
                                            : "gets the answer of \"unmatched\""),
             faults);
    }
}

bool always_answers(const PromptEntry& entry) {
    return !entry.when &&
           std::any_of(entry.answers.begin(), entry.answers.end(), [](const PromptAnswer& each) {
               return !each.when && (!each.has_tools() || each.failure);
           });
}

std::string with_places(const PromptPattern& pattern) {
    std::string key = pattern.reduced();
    for (const std::string& place : pattern.places()) key += '\n' + place;
    return key;
}

// A pattern is never used if an earlier one matches every prompt that it matches, and is of the same
// entry or of one that always has an answer. That is so if it matches the pattern's own text, with a character in place of
// each name that no pattern contains. Whether a name at a place of the state matches is not known.
void check_shadows(const Prompts& prompts, Faults& faults) {
    struct Earlier {
        const PromptPattern* pattern;
        const Mention* mention;
    };
    std::vector<Earlier> with_captures;
    std::unordered_map<std::string, const Mention*> without;  // by PromptPattern::reduced()
    Bindings captures;
    for (const PromptEntry& entry : prompts.entries) {
        const size_t of_other_entries = with_captures.size();
        for (size_t i = 0; i < entry.patterns.size(); ++i) {
            const Mention& mention = entry.mentions[i];
            TemplateProblem problem;
            const auto parts = parse_template(mention.text, problem);
            if (!parts) continue;
            std::string sample;
            for (const TemplatePart& part : *parts) sample += part.is_name ? "\x01" : part.text;
            const PlayerWords words(sample, prompts.vocabulary);
            const Mention* by = nullptr;
            const std::string key = entry.patterns[i].has_places()
                                        ? with_places(entry.patterns[i])
                                        : std::string(words.reduced.text());
            if (const auto same = without.find(key); same != without.end()) by = same->second;
            for (const Earlier& each : with_captures) {
                if (by != nullptr) break;
                if (each.pattern->matches(words, captures)) by = each.mention;
            }
            if (!entry.patterns[i].has_places() && !entry.patterns[i].names().empty()) {
                with_captures.push_back({&entry.patterns[i], &mention});
            }
            if (by == nullptr) continue;
            warn(mention, "story-pattern-shadowed",
                 json::quoted(mention.text) + " is never used, because the pattern " +
                     json::quoted(by->text) + " in line " + std::to_string(by->place.line) +
                     " matches the same prompts first; move it up, or give the other one a "
                     "condition",
                 faults);
        }
        if (!always_answers(entry)) {
            with_captures.resize(of_other_entries);
            continue;
        }
        for (size_t i = 0; i < entry.patterns.size(); ++i) {
            const Mention& mention = entry.mentions[i];
            if (entry.patterns[i].has_places()) {
                // Only the same places have the same names.
                if (!entry.patterns[i].reduced().empty()) {
                    without.emplace(with_places(entry.patterns[i]), &mention);
                }
                continue;
            }
            if (entry.patterns[i].names().empty() && !entry.patterns[i].reduced().empty()) {
                without.emplace(entry.patterns[i].reduced(), &mention);
            }
        }
    }
}

void check_answers(const std::vector<PromptAnswer>& answers, Faults& faults) {
    const auto last = std::find_if(answers.begin(), answers.end(), [](const PromptAnswer& each) {
        return !each.when && !each.has_tools();
    });
    if (last == answers.end()) return;
    for (auto each = last + 1; each != answers.end(); ++each) {
        report(each->place, "story-answer-unreached",
               "this answer is never given, because an answer before it has no condition and no "
               "tools that could fail; move it up, or remove it",
               true, faults);
    }
}

void check_rules(const std::vector<PromptAnswer>& rules, Faults& faults) {
    const auto last = std::find_if(rules.begin(), rules.end(), [](const PromptAnswer& each) {
        return !each.when && each.ending;
    });
    if (last == rules.end()) return;
    for (auto each = last + 1; each != rules.end(); ++each) {
        report(each->place, "story-answer-unreached",
               "this rule is never applied, because a rule before it always ends the story; move "
               "it up, or give the other one a condition",
               true, faults);
    }
}

// ---- dead ends

// Warns of answers after which a player, who was offered choices so far, has none.
void check_dead_ends(const Prompts& prompts, Faults& faults) {
    const bool a_rule_offers = std::any_of(prompts.after.begin(), prompts.after.end(),
                                           [](const PromptAnswer& each) { return !!each.choices; });
    if (prompts.always || a_rule_offers) return;
    std::vector<const PromptAnswer*> answers;
    for (const PromptEntry& entry : prompts.entries) {
        for (const PromptAnswer& each : entry.answers) answers.push_back(&each);
    }
    // Choices of the opening alone only show how to begin.
    const bool offers = std::any_of(answers.begin(), answers.end(),
                                    [](const PromptAnswer* each) { return !!each->choices; });
    if (!offers) return;
    for (const PromptAnswer* each : answers) {
        if (each->choices || each->ending || each->has_tools()) continue;
        report(each->place, "story-dead-end",
               "after this answer the player is offered nothing; give it \"choices\", or an "
               "\"ending\" if the story ends here",
               true, faults);
    }
}

// Warns of names that a capture with a place cannot take: without a word, or in the same words as
// another one.
void check_names(const Story& story, const Prompts& prompts, Faults& faults) {
    json::Document state;
    json::ParseError error;
    if (!state.parse(story.state, error)) return;
    std::set<std::string> checked;
    const auto check = [&](const std::string& place, const Mention& mention) {
        if (!checked.insert(place).second) return;
        std::unordered_map<std::string, std::string_view> known;  // by their words
        each_name_at(json::find_pointer(state.root(), place), [&](std::string_view name) {
            std::string words(NormalizedPrompt(name).text());
            const auto [other, is_new] = known.try_emplace(words, name);
            if (!words.empty() && (is_new || other->second == name)) return;
            warn(mention, "story-name-hidden",
                 "the name " + json::quoted(name) + " at " + json::quoted(place) +
                     (words.empty() ? " has no word that a player could write"
                                    : " has the same words as " + json::quoted(other->second) +
                                          "; rename one of them"),
                 faults);
        });
    };
    for (const PromptEntry& entry : prompts.entries) {
        for (size_t i = 0; i < entry.patterns.size(); ++i) {
            for (const std::string& pointer : entry.patterns[i].places()) {
                if (pointer.empty()) continue;
                for (const std::string& place :
                     places_like(state.root(), pattern_of_pointer(pointer))) {
                    check(place, entry.mentions[i]);
                }
            }
        }
    }
}

}  // namespace

void check_prompts(const Story& story, const Prompts& prompts, Faults& faults) {
    check_choices(story, prompts, faults);
    check_shadows(prompts, faults);
    check_names(story, prompts, faults);
    for (const PromptEntry& entry : prompts.entries) check_answers(entry.answers, faults);
    check_answers(prompts.unmatched, faults);
    check_rules(prompts.after, faults);
    check_dead_ends(prompts, faults);
    check_state_uses(story, prompts, faults);
}

}  // namespace narratoria::session
