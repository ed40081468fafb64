// SPDX-License-Identifier: Apache-2.0
#include "session/template_names.hpp"

#include <algorithm>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "session/prompt_pattern.hpp"
#include "session/state_operations.hpp"

namespace narratoria::session {
namespace {

// More prompts of one choice than a player would read.
constexpr size_t kMostOfChoice = 100;

}  // namespace

TemplateNames::TemplateNames(const TemplateRequest& request, const state::Tree& state,
                             const Prompts& prompts)
    : request_(request),
      prompts_(prompts),
      state_(state),
      lookups_{[this](std::string_view name) { return text_of(name); },
               [this](std::string_view name) { return json_of(name); }},
      named_(evaluate(prompts.conditions, state_, lookups_)),
      dice_(request.random) {}

std::string TemplateNames::apply(json::Value operations) {
    std::string why = session::apply(operations, lookups_, state_);
    if (why.empty()) {
        named_ = evaluate(prompts_.conditions, state_, lookups_);
        named_for_ = text_of_captures();
    }
    return why;
}

std::string TemplateNames::text_of_captures() const {
    std::string text;
    if (prompts_.capturing_conditions.empty()) return text;
    for (const Binding& each : captures) {
        json::append_string(text, each.name);
        json::append_string(text, each.value);
    }
    return text;
}

bool TemplateNames::holds(json::Value condition) const {
    if (!condition) return true;
    if (std::string now = text_of_captures(); now != named_for_) {
        for (const json::Member& each : prompts_.capturing_conditions) {
            named_[each.key] = session::holds(each.value, state_, named_, lookups_);
        }
        named_for_ = std::move(now);
    }
    return session::holds(condition, state_, named_, lookups_);
}

std::string TemplateNames::told(json::Value text) {
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

void TemplateNames::each_choice(std::string_view text, const std::function<bool()>& offer) {
    TemplateProblem problem;
    const auto parts = parse_template(text, problem);
    const auto typed = [](const TemplatePart& part) {
        return part.is_name && kind_of(part.text) == NameKind::Typed;
    };
    if (!parts || std::none_of(parts->begin(), parts->end(), typed)) {
        offer();
        return;
    }
    const std::string& name = std::find_if(parts->begin(), parts->end(), typed)->text;
    const size_t end = name.find(':');
    size_t count = 0;
    each_name_at(place(name.substr(end + 1)), [&](std::string_view value) {
        if (count == kMostOfChoice) return;
        // Before those of the entry, one of which may have the same name.
        captures.insert(captures.begin(), {std::string_view(name).substr(0, end), value});
        if (offer()) ++count;
        captures.erase(captures.begin());
    });
}

std::optional<std::string> TemplateNames::text_of(std::string_view name) const {
    const NameKind kind = kind_of(name);
    if (kind == NameKind::Typed) return look_up_in(captures)(name.substr(0, name.find(':')));
    if (kind != NameKind::Plain) return shown(value_of(name));
    if (name == "prompt") return std::string(request_.prompt);
    return look_up_in(captures)(name);
}

std::optional<std::string> TemplateNames::json_of(std::string_view name) const {
    if (kind_of(name) == NameKind::Plain) {
        const auto text = text_of(name);
        return text ? std::optional<std::string>(json::quoted(*text)) : std::nullopt;
    }
    const json::Value value = value_of(name);
    return value ? std::optional<std::string>(value.raw()) : std::nullopt;
}

json::Value TemplateNames::value_of(std::string_view name) const {
    switch (kind_of(name)) {
        case NameKind::State: return place(name);
        case NameKind::Tool: return value_of_tool(name);
        case NameKind::Plain:
        case NameKind::Typed: break;
    }
    return {};
}

json::Value TemplateNames::value_of_tool(std::string_view name) const {
    const json::Value tools =
        request_.previous_result ? request_.previous_result.find("toolResults") : json::Value();
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

}  // namespace narratoria::session
