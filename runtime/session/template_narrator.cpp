// SPDX-License-Identifier: Apache-2.0
#include "session/template_narrator.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/json/writer.hpp"
#include "base/uuid.hpp"
#include "base/view.hpp"
#include "narratoria/narrator.h"
#include "plan/plan.hpp"

namespace narratoria::session {
namespace {

constexpr std::string_view kNothingMatches =
    "Nothing comes of it. Perhaps this tale knows it by other words.";
constexpr std::string_view kNoPrompts =
    "The page is blank: this story has no prompts.json yet, so nothing in it can answer.";

// The fields of a request that this narrator reads.
struct Request {
    std::string_view prompt;
    int64_t generation_attempt = 1;
    std::string_view parent_plan_id = "null";  // JSON
    std::vector<std::string_view> disabled_skills;

    explicit Request(json::Value document) {
        if (!document.is_object()) return;
        if (const json::Value value = document.find("prompt"); value && value.is_object()) {
            const json::Value text = value.find("text");
            if (text && text.is_string()) prompt = text.text();
        }
        if (const json::Value value = document.find("generationAttempt")) {
            generation_attempt = value.integer().value_or(1);
        }
        if (const json::Value value = document.find("parentPlanId"); value && value.is_string()) {
            parent_plan_id = value.raw();
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

// Appends a value with all its strings expanded. Keys and other values stay unchanged.
void append_expanded(std::string& out, json::Value value, const Bindings& bindings) {
    if (value.is_string()) {
        json::append_string(out, expand_template(value.text(), bindings));
    } else if (value.is_object()) {
        json::ObjectWriter writer(out);
        for (const json::Member member : value.members()) {
            writer.key(member.key);
            append_expanded(out, member.value, bindings);
        }
        writer.end();
    } else if (value.is_array()) {
        out += '[';
        bool first = true;
        for (const json::Value element : value.elements()) {
            if (!first) out += ',';
            first = false;
            append_expanded(out, element, bindings);
        }
        out += ']';
    } else {
        out += value.raw();
    }
}

bool selects_disabled_skill(json::Value plan, const Bindings& bindings, const Request& request) {
    const json::Value tools = plan.find("tools");
    if (!tools || !tools.is_array()) return false;
    for (const json::Value tool : tools.elements()) {
        if (!tool.is_object()) continue;
        const json::Value path = tool.find("toolPath");
        if (!path || !path.is_string()) continue;
        const std::string expanded = expand_template(path.text(), bindings);
        if (request.disables(plan::skill_of(expanded))) return true;
    }
    return false;
}

// Appends the plan fields that depend on the request: the disabled skills and the parent plan.
void append_bookkeeping(json::ObjectWriter& writer, std::string& out, json::Value plan,
                        const Bindings& bindings, const Request& request) {
    std::vector<std::string> skills;
    auto add = [&](std::string skill) {
        if (std::find(skills.begin(), skills.end(), skill) == skills.end()) {
            skills.push_back(std::move(skill));
        }
    };
    const json::Value own = plan ? plan.find("disabledSkills") : json::Value();
    if (own && own.is_array()) {
        for (const json::Value skill : own.elements()) {
            if (skill.is_string()) add(expand_template(skill.text(), bindings));
        }
    }
    for (const std::string_view skill : request.disabled_skills) add(std::string(skill));
    writer.key("disabledSkills");
    out += '[';
    for (size_t i = 0; i < skills.size(); ++i) {
        if (i > 0) out += ',';
        json::append_string(out, skills[i]);
    }
    out += ']';

    writer.key("metadata");
    json::ObjectWriter metadata(out);
    const json::Value noted = plan ? plan.find("metadata") : json::Value();
    if (noted && noted.is_object()) {
        for (const json::Member member : noted.members()) {
            if (member.key == "generationAttempt" || member.key == "parentPlanId") continue;
            metadata.key(member.key);
            append_expanded(out, member.value, bindings);
        }
    }
    metadata.number("generationAttempt", request.generation_attempt);
    metadata.raw("parentPlanId", request.parent_plan_id);
    metadata.end();
}

std::string narrative_plan(std::string_view narrative, const Request& request) {
    std::string out;
    json::ObjectWriter writer(out);
    writer.string("requestId", make_uuid()).string("narrative", narrative).raw("tools", "[]");
    append_bookkeeping(writer, out, {}, {}, request);
    writer.end();
    return out;
}

// Returns the plan for an answer, or nothing if the plan uses a disabled skill.
std::optional<std::string> plan_from(const PromptAnswer& answer, const Bindings& bindings,
                                     const Request& request) {
    if (answer.kind == PromptAnswer::Kind::Narrative) {
        return narrative_plan(expand_template(answer.text, bindings), request);
    }
    json::Document document;
    json::ParseError error;
    if (!document.parse(answer.text, error) || !document.root().is_object()) return std::nullopt;
    const json::Value plan = document.root();
    if (selects_disabled_skill(plan, bindings, request)) return std::nullopt;

    std::string out;
    json::ObjectWriter writer(out);
    if (!plan.find("requestId")) writer.string("requestId", make_uuid());
    for (const json::Member member : plan.members()) {
        if (member.key == "metadata" || member.key == "disabledSkills") continue;
        writer.key(member.key);
        append_expanded(out, member.value, bindings);
    }
    append_bookkeeping(writer, out, plan, bindings, request);
    writer.end();
    return out;
}

}  // namespace

std::string TemplateNarrator::answer(json::Value document) const {
    const Request request(document);
    const NormalizedPrompt prompt(request.prompt);
    Bindings bindings;
    auto matches = [&](const PromptEntry& entry) {
        return std::any_of(
            entry.patterns.begin(), entry.patterns.end(),
            [&](const PromptPattern& pattern) { return pattern.match(prompt, bindings); });
    };
    const auto entry = std::find_if(prompts_.entries.begin(), prompts_.entries.end(), matches);
    if (entry != prompts_.entries.end()) {
        bindings.push_back({"prompt", request.prompt});
        for (const PromptAnswer& answer : entry->answers) {
            if (std::optional<std::string> plan = plan_from(answer, bindings, request))
                return *plan;
        }
    }
    if (prompts_.unmatched) {
        bindings = {{"prompt", request.prompt}};
        if (std::optional<std::string> plan = plan_from(*prompts_.unmatched, bindings, request)) {
            return *plan;
        }
    }
    return narrative_plan(
        prompts_.entries.empty() && !prompts_.unmatched ? kNoPrompts : kNothingMatches, request);
}

// ---------------------------------------------------------------- as a plugin

namespace {

struct TemplatePlugin {
    const nar_host* host;
    const nar_host_narrator* answers;
    TemplateNarrator narrator;
};

nar_status plugin_init(const nar_host* host, void** instance, nar_failure*) {
    auto extension = [&](std::string_view id) { return host->get_extension(host, view(id)); };
    const auto* config = static_cast<const nar_host_config*>(extension(NAR_HOST_CONFIG));
    json::Document settings;
    json::ParseError error;
    Prompts prompts;
    if (settings.parse(view(config->settings(host)), error)) {
        if (const json::Value text = settings.root().find("prompts")) {
            // Faults are ignored: load_story() has validated the text.
            Faults faults;
            prompts = read_prompts(text.text(), faults);
        }
    }
    *instance = new TemplatePlugin{
        host, static_cast<const nar_host_narrator*>(extension(NAR_EXTENSION_NARRATOR)),
        TemplateNarrator(std::move(prompts))};
    return NAR_OK;
}

void plugin_deinit(void* instance) { delete static_cast<TemplatePlugin*>(instance); }

void plugin_generate(void* instance, const nar_narrator_request* request) {
    const auto& self = *static_cast<const TemplatePlugin*>(instance);
    json::Document document;
    json::ParseError error;
    if (document.parse(view(request->json), error, json::kDepthOfOwn)) {
        self.answers->reply(self.host, request->token, view(self.narrator.answer(document.root())));
    } else {
        self.answers->fail(self.host, request->token, view(error.message));
    }
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
