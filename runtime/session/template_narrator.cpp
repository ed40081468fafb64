// SPDX-License-Identifier: Apache-2.0
#include "session/template_narrator.hpp"

#include <algorithm>
#include <deque>

#include "base/json/writer.hpp"
#include "base/uuid.hpp"
#include "plan/plan.hpp"
#include "plan/result.hpp"
#include "session/near_prompts.hpp"
#include "session/template_names.hpp"

namespace narratoria::session {
namespace {

constexpr std::string_view kNothingMatches =
    "Nothing comes of it. Perhaps this tale knows it by other words.";
constexpr std::string_view kNoPrompts =
    "The page is blank: this story has no prompts.json yet, so nothing in it can answer.";

// Bytes of a prompt that may be a misspelled one.
constexpr size_t kMostMisspelled = 500;

bool selects_disabled_skill(json::Value plan, const TemplateNames& names,
                            const TemplateRequest& request) {
    const json::Value tools = plan.find("tools");
    if (!tools || !tools.is_array()) return false;
    for (const json::Value tool : tools.elements()) {
        if (!tool.is_object()) continue;
        const json::Value path = tool.find("toolPath");
        if (!path || !path.is_string()) continue;
        const std::string expanded = names.expanded(path.text());
        if (request.disables(plan::skill_of(expanded))) return true;
    }
    return false;
}

// The reply to one request.
class Answering {
public:
    Answering(const Prompts& prompts, json::Value document, const state::Tree& state)
        : prompts_(prompts),
          request_(document),
          names_(request_, state, prompts),
          place_names_(prompts.vocabulary,
                       [this](std::string_view pointer) { return names_.place(pointer); }),
          words_(request_.prompt, prompts.vocabulary, &place_names_) {}

    TemplateNarrator::Reply reply() {
        const PromptAnswer* const before = previous_answer();
        const bool has_run = before != nullptr && before->has_tools();
        if (has_run) {
            const json::Value success = request_.previous_result.find("success");
            if (success && success.boolean()) {
                apply(*before);
                return tell(names_.told(before->success), before);
            }
            if (before->failure) {
                has_failed_ = true;
                return tell(names_.told(before->failure), before);
            }
        }
        for (const PromptEntry& entry : prompts_.entries) {
            if (!entry.matches(words_, names_.captures) || !names_.holds(entry.when)) continue;
            if (const PromptAnswer* const answer = usable(entry.answers)) return give(*answer);
        }
        // What "unmatched" says is not true of a prompt whose tools have failed.
        if (!has_run || before->pointer.starts_with("/unmatched")) {
            names_.captures.clear();
            is_unmatched_ = true;
            if (const PromptAnswer* const answer = usable(prompts_.unmatched)) return give(*answer);
        }
        if (has_run) {
            reply_.fault = std::string(kPromptsJson) + ": " + before->pointer +
                           ": its tools failed, and no other answer is left; add \"failure\"";
            return std::move(reply_);
        }
        const bool is_blank = prompts_.entries.empty() && prompts_.unmatched.empty();
        return tell(std::string(is_blank ? kNoPrompts : kNothingMatches), nullptr);
    }

private:
    const PromptAnswer* usable(const std::vector<PromptAnswer>& answers) const {
        const auto found =
            std::find_if(answers.begin(), answers.end(), [&](const PromptAnswer& each) {
                return names_.holds(each.when) &&
                       !(each.plan && selects_disabled_skill(each.plan, names_, request_));
            });
        return found == answers.end() ? nullptr : &*found;
    }

    // The answer whose tools have just run, with its captures; or NULL.
    const PromptAnswer* previous_answer() {
        if (request_.answered.empty()) return nullptr;
        const auto in = [&](const std::vector<PromptAnswer>& answers) -> const PromptAnswer* {
            for (const PromptAnswer& each : answers) {
                if (each.pointer == request_.answered) return &each;
            }
            return nullptr;
        };
        names_.captures = request_.captured;
        for (const PromptEntry& entry : prompts_.entries) {
            if (const PromptAnswer* const found = in(entry.answers)) return found;
        }
        return in(prompts_.unmatched);
    }

    void apply(const PromptAnswer& answer) {
        if (!answer.set || !reply_.fault.empty()) return;
        const std::string why = names_.apply(answer.set);
        if (why.empty()) reply_.patch = names_.patch();
        else reply_.fault = std::string(kPromptsJson) + ": " + answer.pointer + "/set: " + why;
    }

    // The rules of "after", each on the state that the answer and the rules before it have left. An
    // ending is the last one. A prompt that no entry answers is not a turn of the story.
    void apply_rules(std::string& text, const PromptAnswer* answer) {
        if (answer == nullptr) return;
        if (!has_failed_) ending_ = answer->ending;
        if (answer->pointer.starts_with("/unmatched")) return;
        for (const PromptAnswer& rule : prompts_.after) {
            if (ending_) return;
            if (!names_.holds(rule.when)) continue;
            apply(rule);
            rules_.push_back(&rule);
            ending_ = rule.ending;
            if (!rule.narrative) continue;
            // A text after the tools replaces their summaries, and a rule must not.
            if (text.empty()) text = summaries();
            append_paragraph(text, names_.told(rule.narrative));
        }
    }

    static void append_paragraph(std::string& text, std::string_view paragraph) {
        if (!text.empty() && !paragraph.empty()) text += "\n\n";
        text += paragraph;
    }

    // Of the tools that have just run.
    std::string summaries() const {
        std::string all;
        const json::Value tools =
            request_.previous_result ? request_.previous_result.find("toolResults") : json::Value();
        if (!tools || !tools.is_array()) return all;
        for (const json::Value tool : tools.elements()) {
            const json::Value summary = tool.is_object() ? tool.find("summary") : json::Value();
            if (summary && summary.is_string()) append_paragraph(all, summary.text());
        }
        return all;
    }

    // What follows the tools of an answer is told and offered when their outcome is known.
    TemplateNarrator::Reply give(const PromptAnswer& answer) {
        if (!answer.has_tools()) apply(answer);
        if (!answer.plan) return tell(names_.told(answer.narrative), &answer);
        std::string text =
            names_.told(answer.narrative ? answer.narrative : answer.plan.find("narrative"));
        const bool has_more = answer.success || answer.set || answer.ending ||
                              !prompts_.after.empty() || depends_on_outcome(answer.choices) ||
                              depends_on_outcome(prompts_.always);
        if (!answer.has_tools()) apply_rules(text, &answer);
        json::ObjectWriter writer(reply_.plan);
        if (!answer.plan.find("requestId")) writer.string("requestId", make_uuid());
        if (!text.empty()) writer.string("narrative", text);
        for (const json::Member member : answer.plan.members()) {
            if (member.key == "metadata" || member.key == "disabledSkills" ||
                member.key == "narrative") {
                continue;
            }
            writer.key(member.key);
            append_expanded(reply_.plan, member.value, names_.texts());
        }
        if (answer.has_tools() && has_more) writer.boolean("continue", true);
        else append_choices(writer, &answer);
        append_bookkeeping(writer, answer.plan, &answer);
        writer.end();
        return std::move(reply_);
    }

    // True if choices may change while tools run: they have conditions or names.
    static bool depends_on_outcome(json::Value choices) {
        if (!choices) return false;
        for (const json::Value each : choices.elements()) {
            if (each.is_object() || each.text().find('{') != std::string_view::npos) return true;
        }
        return false;
    }

    // Replies without tools. `answer` may be NULL.
    TemplateNarrator::Reply tell(std::string narrative, const PromptAnswer* answer) {
        apply_rules(narrative, answer);
        json::ObjectWriter writer(reply_.plan);
        writer.string("requestId", make_uuid());
        if (!narrative.empty()) writer.string("narrative", narrative);
        writer.raw("tools", "[]");
        append_choices(writer, answer);
        append_bookkeeping(writer, {}, answer);
        writer.end();
        return std::move(reply_);
    }

    // Appends the plan fields that depend on the request: the disabled skills, the parent plan, and
    // the answer, which may be NULL.
    void append_bookkeeping(json::ObjectWriter& writer, json::Value plan,
                            const PromptAnswer* answer) {
        std::vector<std::string> skills;
        auto add = [&](std::string skill) {
            if (std::find(skills.begin(), skills.end(), skill) == skills.end()) {
                skills.push_back(std::move(skill));
            }
        };
        const json::Value own = plan ? plan.find("disabledSkills") : json::Value();
        if (own && own.is_array()) {
            for (const json::Value skill : own.elements()) {
                if (skill.is_string()) add(names_.expanded(skill.text()));
            }
        }
        for (const std::string_view skill : request_.disabled_skills) add(std::string(skill));
        writer.key("disabledSkills");
        plan::append_strings(reply_.plan, skills);

        writer.key("metadata");
        json::ObjectWriter metadata(reply_.plan);
        const json::Value noted = plan ? plan.find("metadata") : json::Value();
        if (noted && noted.is_object()) {
            for (const json::Member member : noted.members()) {
                if (member.key == "generationAttempt" || member.key == "parentPlanId") continue;
                metadata.key(member.key);
                append_expanded(reply_.plan, member.value, names_.texts());
            }
        }
        metadata.number("generationAttempt", request_.generation_attempt);
        metadata.raw("parentPlanId", request_.parent_plan_id);
        if (answer != nullptr) metadata.string(kAnswer, answer->pointer);
        if (answer != nullptr && answer->has_tools() && !names_.captures.empty()) {
            metadata.key(kCaptures);
            json::ObjectWriter captures(reply_.plan);
            for (const Binding& each : names_.captures) captures.string(each.name, each.value);
            captures.end();
        }
        if (!rules_.empty()) {
            std::vector<std::string> pointers;
            for (const PromptAnswer* const each : rules_) pointers.push_back(each->pointer);
            metadata.key(kRules);
            plan::append_strings(reply_.plan, pointers);
        }
        if (ending_) metadata.string(kEnding, names_.expanded(ending_.text()));
        metadata.end();
    }

    void append_choices(json::ObjectWriter& writer, const PromptAnswer* answer) {
        if (ending_) return;
        std::vector<std::string> texts;
        std::vector<json::Value> lists{answer != nullptr ? answer->choices : json::Value(),
                                       is_unmatched_ ? prompts_.hints : json::Value()};
        for (const PromptAnswer* const each : rules_) lists.push_back(each->choices);
        lists.push_back(prompts_.always);
        for (const json::Value list : lists) {
            if (!list) continue;
            for (const json::Value each : list.elements()) {
                const PromptChoice choice(each);
                names_.each_choice(choice.text.text(), [&] {
                    const bool is_offered = names_.holds(choice.when);
                    if (is_offered) texts.push_back(names_.expanded(choice.text.text()));
                    return is_offered;
                });
            }
        }
        if (is_unmatched_) {
            const std::vector<std::string> meant = near(texts);
            std::erase_if(texts, [&](const std::string& text) {
                return std::find(meant.begin(), meant.end(), text) != meant.end();
            });
            texts.insert(texts.begin(), meant.begin(), meant.end());
        }
        if (texts.empty()) return;
        writer.key("choices");
        plan::append_strings(reply_.plan, texts);
    }

    // The prompts that the player probably meant, in the words of `offered` if it has them. A prompt
    // that has no answer now is not one of them, because it would disclose what is to come.
    std::vector<std::string> near(const std::vector<std::string>& offered) {
        if (words_.reduced.text().size() > kMostMisspelled) return {};
        std::vector<PlayerWords> others;
        for (const std::string& text : offered) {
            others.emplace_back(text, prompts_.vocabulary, &place_names_);
        }
        std::deque<std::string> texts;  // of `known`
        std::vector<KnownPrompt> known;
        for (const PromptEntry& entry : prompts_.entries) {
            add_named(entry, texts, known);
            if (!names_.holds(entry.when) || usable(entry.answers) == nullptr) continue;
            Bindings captures;
            const auto same = std::find_if(
                others.begin(), others.end(),
                [&](const PlayerWords& words) { return entry.matches(words, captures); });
            for (size_t i = 0; i < entry.patterns.size(); ++i) {
                const PromptPattern& pattern = entry.patterns[i];
                if (!pattern.names().empty() || pattern.reduced().empty()) continue;
                texts.push_back(same == others.end()
                                    ? expand_template(entry.mentions[i].text, {})
                                    : offered[static_cast<size_t>(same - others.begin())]);
                known.push_back({pattern.reduced(), texts.back()});
            }
        }
        std::vector<std::string> out;
        for (const std::string_view each : near_prompts(words_.reduced.text(), known)) {
            out.emplace_back(each);
        }
        return out;
    }

    // Adds the prompts of the patterns with one capture, for each name at its place. The keys of an
    // object are often all things of the story: without any condition, they would be disclosed.
    void add_named(const PromptEntry& entry, std::deque<std::string>& texts,
                   std::vector<KnownPrompt>& known) {
        for (size_t i = 0; i < entry.patterns.size(); ++i) {
            const PromptPattern& pattern = entry.patterns[i];
            if (pattern.names().size() != 1 || !pattern.has_places()) continue;
            const std::string& place = pattern.places().front();
            TemplateProblem problem;
            const auto parts = parse_template(entry.mentions[i].text, problem);
            const json::Value at = names_.place(place);
            each_name_at(at, [&](std::string_view name) {
                names_.captures = {{pattern.names().front(), name}};
                if (!parts || !names_.holds(entry.when)) return;
                const PromptAnswer* const answer = usable(entry.answers);
                const bool depends = at.is_array() || entry.when ||
                                     (answer != nullptr && answer->when) ||
                                     place.find('{') != std::string::npos;
                if (answer == nullptr || !depends) return;
                std::string& text = texts.emplace_back();
                for (const TemplatePart& part : *parts) text += part.is_name ? name : part.text;
                texts.emplace_back(NormalizedPrompt(text, prompts_.vocabulary).text());
                known.push_back({texts.back(), text});
            });
            names_.captures.clear();
        }
    }

    const Prompts& prompts_;
    const TemplateRequest request_;
    TemplateNames names_;
    PlaceNames place_names_;
    const PlayerWords words_;
    TemplateNarrator::Reply reply_;
    bool is_unmatched_ = false;
    bool has_failed_ = false;                 // the plan of the previous answer
    std::vector<const PromptAnswer*> rules_;  // of "after" that were applied
    json::Value ending_;                      // of the answer or of a rule, or empty
};

}  // namespace

TemplateNarrator::Reply TemplateNarrator::answer(json::Value request,
                                                 const state::Tree& state) const {
    return Answering(*prompts_, request, state).reply();
}

}  // namespace narratoria::session
