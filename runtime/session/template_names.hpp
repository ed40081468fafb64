// SPDX-License-Identifier: Apache-2.0
#pragma once
// The values of the names in an answer's texts, conditions and operations.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json/tape.hpp"
#include "base/random.hpp"
#include "session/condition.hpp"
#include "session/prompts.hpp"
#include "session/state_view.hpp"
#include "session/template_request.hpp"
#include "session/text_template.hpp"

namespace narratoria::session {

class TemplateNames {
public:
    // All must outlive the object.
    TemplateNames(const TemplateRequest& request, const state::Tree& state, const Prompts& prompts);
    TemplateNames(const TemplateNames&) = delete;
    TemplateNames& operator=(const TemplateNames&) = delete;

    Bindings captures;

    const NameLookups& lookups() const { return lookups_; }
    // For a plan: a text with a name stays a text, whatever the name's value is.
    NameLookups texts() const {
        return {lookups_.text, [](std::string_view) { return std::nullopt; }};
    }
    // The value at a pointer with names.
    json::Value place(std::string_view pointer) const { return state_.at(pointer, lookups_.text); }
    bool holds(json::Value condition) const;
    // Applies what an answer sets. On failure nothing has changed; returns the reason.
    std::string apply(json::Value operations);
    // See StateView::patch().
    std::string patch() const { return state_.patch(); }

    std::string expanded(std::string_view text) const {
        return expand_template(text, lookups_.text);
    }
    // A text, or one of its variants by the dice. Empty if there is none.
    std::string told(json::Value text);

    // Calls `offer` for each prompt that a choice such as "take {thing:/things}" stands for, with the
    // name among the captures, until it has returned true a hundred times; once if the choice has no
    // such name.
    void each_choice(std::string_view text, const std::function<bool()>& offer);

private:
    std::string text_of_captures() const;
    std::optional<std::string> text_of(std::string_view name) const;
    std::optional<std::string> json_of(std::string_view name) const;
    json::Value value_of(std::string_view name) const;
    json::Value value_of_tool(std::string_view name) const;

    const TemplateRequest& request_;
    const Prompts& prompts_;
    StateView state_;
    const NameLookups lookups_;
    mutable NamedConditions named_;
    // The captures with which those of named_ that need some were evaluated, as text: what they point
    // to may be gone.
    mutable std::string named_for_;
    Random dice_;
};

}  // namespace narratoria::session
