// SPDX-License-Identifier: Apache-2.0
#include "session/prompts_reader.hpp"

#include <algorithm>
#include <optional>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "plan/plan.hpp"
#include "session/condition.hpp"
#include "session/state_operations.hpp"
#include "session/text_template.hpp"

namespace narratoria::session {
namespace {

std::string_view key_of(json::Value member) {
    return json::Value(&member.tape(), member.index() - 1).text();
}

constexpr const char* kTooManyWords = "a synonym has at most 8 words that are not ignored";

}  // namespace

void PromptsReader::read(json::Value root) {
    if (!is(root, "", json::Type::Object, "prompts.json must contain an object")) return;
    allow_keys(
        root, "",
        {"prompts", "unmatched", "after", "conditions", "always", "hints", "synonyms", "ignore"});
    if (const json::Value conditions = root.find("conditions")) read_conditions(conditions);
    if (const json::Value ignored = root.find("ignore")) read_ignored(ignored);
    if (const json::Value synonyms = root.find("synonyms")) read_synonyms(synonyms);
    if (const json::Value unmatched = root.find("unmatched")) read_unmatched(unmatched);
    if (const json::Value after = root.find("after")) read_after(after);
    if (const json::Value always = root.find("always")) {
        prompts_.always = read_choices(always, "/always", {});
    }
    if (const json::Value hints = root.find("hints")) {
        prompts_.hints = read_choices(hints, "/hints", {});
    }
    const json::Value list = root.find("prompts");
    if (!list) {
        fault(root, "/prompts", "prompts-missing", "\"prompts\" is missing");
        return;
    }
    if (!is(list, "/prompts", json::Type::Array, "\"prompts\" must be an array")) return;
    size_t position = 0;
    for (const json::Value entry : list.elements()) {
        std::string pointer = "/prompts";
        json::append_pointer(pointer, position++);
        read_entry(entry, pointer);
    }
}

void PromptsReader::fault(json::Value at, std::string pointer, const char* rule,
                          std::string message) {
    const size_t byte = byte_of(at);
    // A text may use a name twice.
    if (!faults_.empty() && faults_.back().byte == byte && faults_.back().message == message)
        return;
    faults_.push_back({rule, std::move(pointer), byte, std::move(message), kPromptsJson});
}

std::string PromptsReader::pointer_of(json::Value at) {
    return json::pointer_to(at.tape().root(), at.index());
}

size_t PromptsReader::byte_of(json::Value value) const {
    return static_cast<size_t>(value.raw().data() - text_.data());
}

bool PromptsReader::is(json::Value value, const std::string& pointer, json::Type type,
                       const char* rule) {
    if (value.type() == type) return true;
    fault(value, pointer, "prompts-type",
          std::string(rule) + ", not " + json::type_name(value.type()));
    return false;
}

void PromptsReader::allow_keys(json::Value object, const std::string& pointer, KnownKeys allowed) {
    for (const json::Member member : object.members()) {
        if (allowed.has(member.key)) continue;
        std::string at = pointer;
        json::append_pointer(at, member.key);
        fault(json::Value(&object.tape(), member.value.index() - 1), std::move(at), "prompts-key",
              json::quoted(member.key) + " is not a key here" +
                  allowed.suggestion_or_list(member.key));
    }
}

void PromptsReader::read_ignored(json::Value list) {
    if (!is(list, "/ignore", json::Type::Array, "\"ignore\" must be a list of words")) return;
    std::vector<std::string> words;
    each_element(list, "/ignore", [&](json::Value word, const std::string& place) {
        if (is(word, place, json::Type::String, "a word must be a string")) {
            words.emplace_back(word.text());
        }
    });
    prompts_.vocabulary.ignore(words);
}

void PromptsReader::read_synonyms(json::Value table) {
    if (!is(table, "/synonyms", json::Type::Object,
            "\"synonyms\" must be an object such as {\"take\": [\"get\", \"pick up\"]}")) {
        return;
    }
    for (const json::Member member : table.members()) {
        std::string place = "/synonyms";
        json::append_pointer(place, member.key);
        if (prompts_.vocabulary.count_words(member.key) > Vocabulary::kMostWords) {
            fault(member.value, place, "prompts-synonym", kTooManyWords);
            continue;
        }
        if (prompts_.vocabulary.count_words(member.key) == 0) {
            fault(member.value, place, "prompts-empty",
                  "synonyms need a word that they mean, and that is not ignored");
            continue;
        }
        if (!is(member.value, place, json::Type::Array, "synonyms must be a list of texts")) {
            continue;
        }
        each_element(member.value, place, [&](json::Value synonym, const std::string& at) {
            if (!has_words(synonym, at)) return;
            if (prompts_.vocabulary.count_words(synonym.text()) > Vocabulary::kMostWords) {
                return fault(synonym, at, "prompts-synonym", kTooManyWords);
            }
            if (prompts_.vocabulary.add_synonym(synonym.text(), member.key)) {
                return;
            }
            fault(synonym, at, "prompts-synonym",
                  json::quoted(synonym.text()) + " is a synonym of something else already");
        });
    }
}

bool PromptsReader::has_words(json::Value text, const std::string& place) {
    if (!is(text, place, json::Type::String, "it must be a string")) return false;
    if (prompts_.vocabulary.count_words(text.text()) > 0) return true;
    fault(text, place, "prompts-empty",
          json::quoted(text.text()) +
              " has no word that is not ignored; \"ignore\" replaces the list of ignored words");
    return false;
}

void PromptsReader::read_conditions(json::Value table) {
    if (!is(table, "/conditions", json::Type::Object,
            "\"conditions\" must be an object such as {\"dark\": {\"/torch/lit\": false}}")) {
        return;
    }
    conditions_ = table;
    bool is_valid = true;
    for (const json::Member member : table.members()) {
        std::string place = "/conditions";
        json::append_pointer(place, member.key);
        Known known;
        known.needed = &needed_names_[member.key];
        if (!check_condition(member.value, place, known)) is_valid = false;
        if (!known.needed->empty()) prompts_.capturing_conditions.push_back(member);
        condition_names_.push_back(member.key);
    }
    if (is_valid) prompts_.conditions = table;
    else prompts_.capturing_conditions.clear();
}

void PromptsReader::read_after(json::Value list) {
    if (!is(list, "/after", json::Type::Array, "\"after\" must be a list of rules")) return;
    each_element(list, "/after", [&](json::Value value, const std::string& pointer) {
        PromptAnswer rule;
        rule.pointer = pointer;
        rule.place = mention_of(value, pointer).place;
        if (!is(value, pointer, json::Type::Object,
                "a rule must be an object such as {\"set\": {\"/minutes\": {\"+\": 5}}}")) {
            return;
        }
        allow_keys(value, pointer, {"when", "narrative", "set", "choices", "ending"});
        rule.when = read_condition(value, pointer, {});
        rule.narrative = value.find("narrative");
        if (!rule.narrative && !value.find("set") && !value.find("choices") &&
            !value.find("ending")) {
            fault(value, pointer, "prompts-answer",
                  "a rule needs \"narrative\", \"set\", \"choices\" or \"ending\"");
        }
        read_what_is_told(value, pointer, {}, {}, rule);
        prompts_.after.push_back(std::move(rule));
    });
}

void PromptsReader::read_unmatched(json::Value unmatched) {
    if (!unmatched.is_array()) {
        prompts_.unmatched.push_back(read_answer(unmatched, "/unmatched", {}));
        return;
    }
    size_t position = 0;
    for (const json::Value answer : unmatched.elements()) {
        std::string pointer = "/unmatched";
        json::append_pointer(pointer, position++);
        prompts_.unmatched.push_back(read_answer(answer, pointer, {}));
    }
}

void PromptsReader::read_entry(json::Value value, const std::string& pointer) {
    if (!is(value, pointer, json::Type::Object,
            "an entry must be an object with \"patterns\" and \"answers\"")) {
        return;
    }
    allow_keys(value, pointer, {"patterns", "when", "answers"});
    PromptEntry entry;
    // An answer may use only names that all patterns capture, because any of them may match.
    std::optional<std::vector<std::string>> names;
    bool patterns_are_known = true;
    const bool has_patterns =
        read_list(value, pointer, "patterns", [&](json::Value each, const std::string& place) {
            std::optional<PromptPattern> pattern = read_pattern(each, place);
            if (!pattern) {
                patterns_are_known = false;
                return;
            }
            if (!names) {
                names = pattern->names();
            } else {
                std::erase_if(*names, [&](const std::string& name) {
                    return std::find(pattern->names().begin(), pattern->names().end(), name) ==
                           pattern->names().end();
                });
            }
            entry.patterns.push_back(std::move(*pattern));
            entry.mentions.push_back(mention_of(each, place));
        });
    Known known;
    known.is_of_entry = true;
    // Names cannot be checked if a pattern is invalid.
    known.are_names_known = has_patterns && patterns_are_known;
    known.names = names.value_or(std::vector<std::string>());
    entry.when = read_condition(value, pointer, known);
    read_list(value, pointer, "answers", [&](json::Value each, const std::string& place) {
        entry.answers.push_back(read_answer(each, place, known));
    });
    prompts_.entries.push_back(std::move(entry));
}

template <typename Read>
bool PromptsReader::read_list(json::Value entry, const std::string& pointer, const char* key,
                              Read&& read) {
    const json::Value list = entry.find(key);
    const std::string place = pointer + "/" + key;
    if (!list) {
        fault(entry, place, "prompts-missing", json::quoted(key) + " is missing");
        return false;
    }
    if (!is(list, place, json::Type::Array, (json::quoted(key) + " must be an array").c_str())) {
        return false;
    }
    if (list.empty()) {
        fault(list, place, "prompts-empty", json::quoted(key) + " must not be empty");
        return false;
    }
    size_t position = 0;
    for (const json::Value each : list.elements()) {
        std::string at = place;
        json::append_pointer(at, position++);
        read(each, at);
    }
    return true;
}

std::optional<PromptPattern> PromptsReader::read_pattern(json::Value value,
                                                         const std::string& pointer) {
    if (!is(value, pointer, json::Type::String, "a pattern must be a string")) {
        return std::nullopt;
    }
    TemplateProblem problem;
    std::optional<PromptPattern> pattern =
        PromptPattern::compile(value.text(), prompts_.vocabulary, problem);
    if (!pattern) {
        fault(value, pointer, "prompts-pattern",
              "in the pattern " + json::quoted(value.text()) + ": " + problem.message);
        return pattern;
    }
    for (const std::string& place : pattern->places()) {
        if (!place.empty()) note_names(value, place, pointer, {});
    }
    if (value.text().find(".*") != std::string_view::npos) {
        warn(mention_of(value, pointer), "prompts-pattern",
             json::quoted(value.text()) +
                 " is compared as plain text, not as a regular expression; {thing} stands for any "
                 "words",
             prompts_.warnings);
    }
    return pattern;
}

PromptAnswer PromptsReader::read_answer(json::Value value, const std::string& pointer,
                                        const Known& known) {
    PromptAnswer answer;
    answer.pointer = pointer;
    answer.place = mention_of(value, pointer).place;
    if (!is(value, pointer, json::Type::Object,
            "an answer must be an object with \"plan\" or \"narrative\"")) {
        return answer;
    }
    allow_keys(value, pointer,
               {"when", "plan", "narrative", "success", "failure", "set", "choices", "ending"});
    answer.when = read_condition(value, pointer, known);
    answer.plan = value.find("plan");
    answer.narrative = value.find("narrative");
    answer.success = value.find("success");
    answer.failure = value.find("failure");
    // No rule follows "unmatched" and an ending.
    const bool tells_later =
        known.is_of_entry && value.find("set") && !value.find("ending") &&
        std::any_of(prompts_.after.begin(), prompts_.after.end(),
                    [](const PromptAnswer& rule) { return bool(rule.narrative); });
    if (!answer.plan && !answer.narrative && !tells_later) {
        fault(value, pointer, "prompts-answer",
              std::string("an answer needs \"plan\" or \"narrative\"") +
                  (known.is_of_entry ? ", or \"set\" if a rule of \"after\" tells what follows"
                                     : ""));
    }
    std::vector<std::string> tools;
    if (answer.plan) {
        read_plan(answer.plan, pointer + "/plan");
        check_templates(answer.plan, pointer + "/plan", known);
        if (answer.plan.is_object()) read_plan_of_answer(answer, pointer, tools);
    }
    Known later = known;
    if (answer.has_tools()) later.tools = &tools;
    for (const char* const key : {"success", "failure"}) {
        const json::Value text = value.find(key);
        if (!text) continue;
        read_text(text, pointer + "/" + key, later);
        if (answer.has_tools()) continue;
        fault(text, pointer + "/" + key, "prompts-answer",
              json::quoted(key) +
                  " is told after the tools of a plan, and this answer has "
                  "none; write the text as \"narrative\"");
    }
    read_what_is_told(value, pointer, known, later, answer);
    return answer;
}

void PromptsReader::read_what_is_told(json::Value value, const std::string& pointer,
                                      const Known& known, const Known& later,
                                      PromptAnswer& answer) {
    read_text(answer.narrative, pointer + "/narrative", known);
    if (const json::Value set = value.find("set")) {
        answer.set = set;
        read_set(set, pointer + "/set", later);
    }
    if (const json::Value ending = value.find("ending")) {
        const std::string place = pointer + "/ending";
        if (is(ending, place, json::Type::String, "\"ending\" must be the ending's name")) {
            answer.ending = ending;
            read_text(ending, place, later);
        }
    }
    if (const json::Value choices = value.find("choices")) {
        answer.choices = read_choices(choices, pointer + "/choices", later);
    }
}

void PromptsReader::read_plan_of_answer(const PromptAnswer& answer, const std::string& pointer,
                                        std::vector<std::string>& tools) {
    const std::string place = pointer + "/plan/";
    if (answer.narrative && answer.plan.find("narrative")) {
        fault(answer.plan.find("narrative"), place + "narrative", "prompts-answer",
              "the answer has a \"narrative\", too; write only one of them");
    }
    for (const char* const key : {"continue", "choices"}) {
        const json::Value member = answer.plan.find(key);
        if (!member) continue;
        fault(member, place + key, "prompts-answer",
              *key == 'c' && key[1] == 'o'
                  ? "a plan in prompts.json is not continued; write the text that follows as "
                    "\"success\" of the answer"
                  : "write the choices in the answer, next to \"plan\"");
    }
    const json::Value list = answer.plan.find("tools");
    if (!list || !list.is_array()) return;
    for (const json::Value tool : list.elements()) {
        const json::Value id = tool.is_object() ? tool.find("toolId") : json::Value();
        if (id && id.is_string()) tools.emplace_back(id.text());
    }
}

void PromptsReader::read_text(json::Value value, const std::string& pointer, const Known& known) {
    if (!value) return;
    const auto read = [&](json::Value text, const std::string& place) {
        if (!is(text, place, json::Type::String, "a text must be a string, or a list of them")) {
            return;
        }
        if (text.text().empty()) {
            fault(text, place, "prompts-empty", "a text must not be empty");
        }
        check_template(text, text.text(), place, known);
    };
    if (!value.is_array()) return read(value, pointer);
    if (value.empty()) fault(value, pointer, "prompts-empty", "a list of texts is empty");
    each_element(value, pointer, read);
}

json::Value PromptsReader::read_choices(json::Value list, const std::string& pointer,
                                        const Known& known) {
    if (!is(list, pointer, json::Type::Array, "choices must be a list of prompts")) return {};
    each_element(list, pointer, [&](json::Value value, const std::string& place) {
        const std::string at = value.is_object() ? place + "/text" : place;
        const json::Value text = PromptChoice(value).text;
        const Known its = known_to_choice(text, at, known);
        if (value.is_object()) {
            allow_keys(value, place, {"text", "when"});
            Known in_condition = its;
            in_condition.is_of_choice = false;
            read_condition(value, place, in_condition);
        }
        if (!text) return fault(value, at, "prompts-missing", "\"text\" is missing");
        if (!is(text, at, json::Type::String,
                "a choice must be a string, or {\"text\": …, \"when\": …}")) {
            return;
        }
        if (text.text().empty()) {
            fault(text, at, "prompts-empty", "a choice must not be empty");
        } else if (text.text().find_first_of("{}") == std::string_view::npos) {
            prompts_.choices.push_back(mention_of(text, at));
        }
        check_template(text, text.text(), at, its);
    });
    return list;
}

json::Value PromptsReader::read_condition(json::Value owner, const std::string& pointer,
                                          const Known& known) {
    const json::Value condition = owner.find("when");
    if (!condition) return {};
    return check_condition(condition, pointer + "/when", known) ? condition : json::Value();
}

bool PromptsReader::check_condition(json::Value condition, const std::string& place,
                                    const Known& known) {
    bool is_valid = true;
    ConditionReader{[&](json::Value at, std::string message) {
                        is_valid = false;
                        fault(at, pointer_of(at), "prompts-condition", std::move(message));
                    },
                    [&](json::Value at, std::string_view state, std::string operand) {
                        const std::string_view key = key_of(at);
                        Prompts::StateUse use;
                        if (operand.empty() && (key.find_first_of("<>") == 0 || key == "count")) {
                            use.operation = key;
                        }
                        use.operand = std::move(operand);
                        note_state(at, place, state, std::move(use));
                    },
                    [&](json::Value at, std::string_view text) {
                        check_template(at, text, pointer_of(at), known);
                    },
                    [&](json::Value name) { check_needed_names(name, pointer_of(name), known); },
                    condition_names_,
                    conditions_}
        .read(condition);
    return is_valid;
}

void PromptsReader::read_set(json::Value set, const std::string& pointer, const Known& known) {
    StateOperationsReader{[&](json::Value at, std::string message) {
                              fault(at, pointer_of(at), "prompts-set", std::move(message));
                          },
                          [&](json::Value at, std::string_view state, std::string operand) {
                              Prompts::StateUse use;
                              if (key_of(at) != state) use.operation = key_of(at);
                              use.operand = std::move(operand);
                              use.is_set = true;
                              note_state(at, pointer, state, std::move(use));
                              note_media(at);
                          },
                          [&](json::Value at, std::string_view text) {
                              check_template(at, text, pointer_of(at), known);
                          }}
        .read(set);
    check_templates(set, pointer, known);
}

void PromptsReader::read_plan(json::Value value, const std::string& pointer) {
    Faults found;
    plan::Plan plan;
    plan.parse(value.raw(), found);
    const auto move_to = [&](Faults& list, Fault each) {
        each.pointer.insert(0, pointer);
        each.byte += byte_of(value);
        each.file = kPromptsJson;
        list.push_back(std::move(each));
    };
    for (Fault& each : found) {
        if (each.pointer == "/requestId" && value.is_object() && !value.find("requestId")) {
            continue;
        }
        move_to(faults_, std::move(each));
    }
    for (const Fault& each : plan.warnings()) move_to(prompts_.warnings, each);
    note_tools(value, pointer);
}

}  // namespace narratoria::session
