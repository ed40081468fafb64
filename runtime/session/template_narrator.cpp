// SPDX-License-Identifier: Apache-2.0
#include "session/template_narrator.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/random.hpp"
#include "base/uuid.hpp"
#include "base/view.hpp"
#include "narratoria/host_session.h"
#include "narratoria/narrator.h"
#include "plan/plan.hpp"
#include "plan/result.hpp"
#include "plugin/host_functions.hpp"
#include "plugin/session_access.hpp"
#include "session/condition.hpp"
#include "session/near_prompts.hpp"
#include "session/state_operations.hpp"
#include "state/tree.hpp"

namespace narratoria::session {
namespace {

constexpr std::string_view kNothingMatches =
    "Nothing comes of it. Perhaps this tale knows it by other words.";
constexpr std::string_view kNoPrompts =
    "The page is blank: this story has no prompts.json yet, so nothing in it can answer.";

// Members of a plan's metadata: the answer that it is from, and the ending of the story.
constexpr std::string_view kAnswer = "answer";
constexpr std::string_view kEnding = "ending";
constexpr std::string_view kRules = "rules";        // the pointers of those that were applied
constexpr std::string_view kCaptures = "captures";  // for the texts after the tools

// Bytes of a prompt that may be a misspelled one.
constexpr size_t kMostMisspelled = 500;

// The fields of a request that this narrator reads.
struct Request {
    std::string_view prompt;
    int64_t generation_attempt = 1;
    std::string_view parent_plan_id = "null";  // JSON
    std::vector<std::string_view> disabled_skills;
    json::Value state;            // or empty
    json::Value previous_result;  // an object, or empty
    std::string_view answered;    // PromptAnswer::pointer of the previous plan
    Bindings captured;            // of the previous plan
    uint64_t random = 0;          // differs for each request

    explicit Request(json::Value document) {
        if (!document.is_object()) return;
        const auto text_of = [](json::Value object, std::string_view key) {
            const json::Value text =
                object && object.is_object() ? object.find(key) : json::Value();
            return text && text.is_string() ? text.text() : std::string_view();
        };
        const auto number_of = [&](std::string_view key, int64_t missing) {
            const json::Value value = document.find(key);
            return value ? value.integer().value_or(missing) : missing;
        };
        prompt = text_of(document.find("prompt"), "text");
        generation_attempt = number_of("generationAttempt", 1);
        random = static_cast<uint64_t>(number_of("random", 0)) +
                 static_cast<uint64_t>(generation_attempt * 8 + number_of("continuation", 0));
        if (const json::Value value = document.find("parentPlanId"); value && value.is_string()) {
            parent_plan_id = value.raw();
        }
        state = document.find("state");
        if (const json::Value result = document.find("previousResult");
            result && result.is_object()) {
            previous_result = result;
            const json::Value metadata = document.find("previousMetadata");
            answered = text_of(metadata, kAnswer);
            const json::Value captures =
                metadata && metadata.is_object() ? metadata.find(kCaptures) : json::Value();
            if (captures && captures.is_object()) {
                for (const json::Member each : captures.members()) {
                    if (each.value.is_string()) captured.push_back({each.key, each.value.text()});
                }
            }
        }
        const json::Value skills = document.find("disabledSkills");
        if (!skills || !skills.is_array()) return;
        for (const json::Value skill : skills.elements()) {
            if (skill.is_string()) disabled_skills.push_back(skill.text());
        }
    }

    bool disables(std::string_view skill) const {
        return std::find(disabled_skills.begin(), disabled_skills.end(), skill) !=
               disabled_skills.end();
    }
};

// The values of the names in an answer's texts.
class Names {
public:
    Names(const Request& request, json::Value conditions)
        : request_(request),
          conditions_(conditions),
          state_(request.state),
          lookups_{[this](std::string_view name) { return text_of(name); },
                   [this](std::string_view name) { return json_of(name); }},
          named_(evaluate(conditions, state_, lookups_)),
          dice_(request.random) {}
    Names(const Names&) = delete;
    Names& operator=(const Names&) = delete;

    Bindings captures;

    json::Value state() const { return state_; }
    const NameLookups& lookups() const { return lookups_; }
    // For a plan: a text with a name stays a text, whatever the name's value is.
    NameLookups texts() const {
        return {lookups_.text, [](std::string_view) { return std::nullopt; }};
    }
    json::Value place(std::string_view pointer) const {
        return find_place(state_, pointer, lookups_.text);
    }
    bool holds(json::Value condition) const {
        return session::holds(condition, state_, named_, lookups_);
    }
    // From now on the state is the one after this patch.
    void apply(const std::string& patch) {
        state::Tree tree;
        json::Document document;
        json::ParseError error;
        if (state_ && state_.is_object()) tree.assign(state_);
        if (document.parse(patch, error)) tree.merge(document.root());
        std::string text;
        tree.append_json(text);
        if (after_.parse(text, error, json::kDepthOfOwn)) state_ = after_.root();
        named_ = evaluate(conditions_, state_, lookups_);
    }

    std::string expanded(std::string_view text) const {
        return expand_template(text, lookups_.text);
    }

    // A text, or one of its variants by the dice. Empty if there is none.
    std::string told(json::Value text) {
        if (!text) return {};
        if (text.is_array()) {
            uint64_t count = 0;
            for ([[maybe_unused]] const json::Value each : text.elements()) ++count;
            uint64_t chosen = dice_.below(count);
            for (const json::Value each : text.elements()) {
                if (chosen-- == 0) return expanded(each.text());
            }
        }
        return expanded(text.text());
    }

private:
    std::optional<std::string> text_of(std::string_view name) const {
        if (kind_of(name) != NameKind::Plain) return shown(value_of(name));
        if (name == "prompt") return std::string(request_.prompt);
        return look_up_in(captures)(name);
    }
    std::optional<std::string> json_of(std::string_view name) const {
        if (kind_of(name) == NameKind::Plain) {
            const auto text = text_of(name);
            return text ? std::optional<std::string>(json::quoted(*text)) : std::nullopt;
        }
        const json::Value value = value_of(name);
        return value ? std::optional<std::string>(value.raw()) : std::nullopt;
    }
    json::Value value_of(std::string_view name) const {
        if (kind_of(name) == NameKind::State) return place(name);
        if (kind_of(name) != NameKind::Tool || !request_.previous_result) return {};
        const json::Value tools = request_.previous_result.find("toolResults");
        if (!tools || !tools.is_array()) return {};
        const size_t dot = name.find('.');
        for (const json::Value tool : tools.elements()) {
            const json::Value id = tool.is_object() ? tool.find("toolId") : json::Value();
            if (!id || !id.is_string() || id.text() != name.substr(0, dot)) continue;
            std::string pointer(name.substr(dot));
            std::replace(pointer.begin(), pointer.end(), '.', '/');
            return json::find_pointer(tool, pointer);
        }
        return {};
    }

    const Request& request_;
    json::Value conditions_;
    json::Value state_;
    json::Document after_;
    const NameLookups lookups_;
    NamedConditions named_;
    Random dice_;
};

bool selects_disabled_skill(json::Value plan, const Names& names, const Request& request) {
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
    Answering(const Prompts& prompts, json::Value document)
        : prompts_(prompts),
          request_(document),
          names_(request_, prompts.conditions),
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
        std::string why;
        const auto patch = patch_of(answer.set, names_.state(), names_.lookups(), why);
        if (!patch) {
            reply_.fault = std::string(kPromptsJson) + ": " + answer.pointer + "/set: " + why;
            return;
        }
        const bool is_first = reply_.patch.empty();
        names_.apply(*patch);
        reply_.patch = is_first ? *patch : difference(request_.state, names_.state());
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
                if (!names_.holds(choice.when)) continue;
                texts.push_back(names_.expanded(choice.text.text()));
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
    const Request request_;
    Names names_;
    PlaceNames place_names_;
    const PlayerWords words_;
    TemplateNarrator::Reply reply_;
    bool is_unmatched_ = false;
    bool has_failed_ = false;                 // the plan of the previous answer
    std::vector<const PromptAnswer*> rules_;  // of "after" that were applied
    json::Value ending_;                      // of the answer or of a rule, or empty
};

}  // namespace

TemplateNarrator::Reply TemplateNarrator::answer(json::Value document) const {
    return Answering(*prompts_, document).reply();
}

// ---------------------------------------------------------------- as a plugin

namespace {

struct TemplatePlugin {
    const nar_host* host;
    const nar_host_narrator* answers;
    const nar_host_state* state;
    TemplateNarrator narrator;
};

nar_status plugin_init(const nar_host* host, void** instance, nar_failure*) {
    auto extension = [&](std::string_view id) { return host->get_extension(host, view(id)); };
    const auto* config = static_cast<const nar_host_config*>(extension(NAR_HOST_CONFIG));
    json::Document settings;
    json::ParseError error;
    auto prompts = std::make_shared<const Prompts>();
    if (settings.parse(view(config->settings(host)), error)) {
        if (const json::Value text = settings.root().find("prompts")) {
            // Faults are ignored: load_story() has validated the text.
            Faults faults;
            prompts = read_prompts(text.text(), faults);
        }
    }
    *instance = new TemplatePlugin{
        host, static_cast<const nar_host_narrator*>(extension(NAR_EXTENSION_NARRATOR)),
        static_cast<const nar_host_state*>(extension(NAR_HOST_STATE)),
        TemplateNarrator(std::move(prompts))};
    return NAR_OK;
}

void plugin_deinit(void* instance) { delete static_cast<TemplatePlugin*>(instance); }

void plugin_generate(void* instance, const nar_narrator_request* request) {
    const auto& self = *static_cast<const TemplatePlugin*>(instance);
    json::Document document;
    json::ParseError error;
    // Asked again, it would answer the same.
    const auto fail = [&](std::string why) {
        plugin::session_of(self.host).give_up(request->token, std::move(why));
    };
    if (!document.parse(view(request->json), error, json::kDepthOfOwn)) return fail(error.message);
    const TemplateNarrator::Reply reply = self.narrator.answer(document.root());
    if (!reply.fault.empty()) return fail(reply.fault);
    // A text must not tell what has not become true. The session logs the reason.
    if (!reply.patch.empty() && self.state->patch(self.host, view(reply.patch)) != NAR_OK) {
        return fail("the state refuses what the answer sets");
    }
    self.answers->reply(self.host, request->token, view(reply.plan));
}

const void* plugin_extension(nar_str id) {
    static constexpr nar_narrator_extension narrator{sizeof(nar_narrator_extension), 0,
                                                     plugin_generate, nullptr};
    return view(id) == NAR_EXTENSION_NARRATOR ? &narrator : nullptr;
}

}  // namespace

const plugin::Library& template_narrator_library() {
    static const plugin::Library library = [] {
        static constexpr nar_str extensions[] = {NAR_STR_INIT(NAR_EXTENSION_NARRATOR)};
        static constexpr nar_plugin description{sizeof(nar_plugin),
                                                NAR_ABI_VERSION,
                                                NAR_STR_INIT("template"),
                                                NAR_STR_INIT("The template narrator"),
                                                NAR_STR_INIT(NARRATORIA_VERSION),
                                                extensions,
                                                1,
                                                plugin_init,
                                                plugin_deinit,
                                                plugin_extension};
        plugin::Library made;
        std::string reason;
        if (!plugin::accept_plugin(&description, nullptr, made, reason)) {
            throw std::logic_error("the template narrator is refused: " + reason);
        }
        return made;
    }();
    return library;
}

std::string template_narrator_settings(std::string_view prompts_text) {
    std::string out;
    json::ObjectWriter settings(out);
    if (!prompts_text.empty()) settings.string("prompts", prompts_text);
    settings.end();
    return out;
}

}  // namespace narratoria::session
