// SPDX-License-Identifier: Apache-2.0
#include "narrator_llm/question.hpp"

#include <algorithm>
#include <utility>

#include "narrator_llm/json.hpp"
#include "narratoria/utf8.hpp"

namespace narratoria::llm {
namespace {

// After as many, a plan is not continued (narrator.h).
constexpr std::uint64_t kMaxContinuations = 4;

std::string shortened(const std::string& text) {
    constexpr std::size_t kMost = 2000;
    if (text.size() <= kMost) return text;
    return std::string(detail::prefix_of(text, kMost)) + "…";
}

bool is_true(const Json* value) { return value != nullptr && value->IsTrue(); }

}  // namespace

Question::Question(std::string_view json, plugin::Reply reply) : reply_(std::move(reply)) {
    parse_object(json, request_);
}

std::string Question::prompt() const {
    return std::string(text_member(member(&request_, "prompt"), "text"));
}

std::string Question::stamp() const {
    return std::string(text_member(member(&request_, "prompt"), "timestamp")) + prompt();
}

bool Question::is_first() const {
    return number_member(&request_, "generationAttempt") <= 1 && continuation() == 0;
}

std::uint64_t Question::continuation() const { return number_member(&request_, "continuation"); }

std::vector<SeenTurn> Question::turns() const {
    std::vector<SeenTurn> seen;
    each_element(&request_, "turns", [&](const Json& turn) {
        // A turn that was cancelled has none; an empty answer would be a bad example.
        if (text_member(&turn, "narrative").empty()) return;
        seen.push_back({std::string(text_member(&turn, "prompt")),
                        std::string(text_member(&turn, "narrative"))});
        each_element(&turn, "choices", [&](const Json& choice) {
            if (choice.IsString()) seen.back().choices.emplace_back(view(choice));
        });
    });
    return seen;
}

std::string Question::faults() const {
    std::string faults;
    each_element(&request_, "planFaults", [&](const Json& fault) {
        faults += "\n- " + std::string(text_member(&fault, "message"));
    });
    return faults;
}

std::string Question::results() const {
    const Json* const result = member(&request_, "previousResult");
    if (result == nullptr) return {};
    std::string said = "The tools have run:";
    each_element(result, "toolResults", [&](const Json& tool) {
        const auto text = [&](const char* name) { return std::string(text_member(&tool, name)); };
        said += "\n- " + text("toolId") + ": " + text("state");
        if (!text("summary").empty()) said += ", " + shortened(text("summary"));
        if (const Json* const value = member(&tool, "result")) {
            said += ", result " + shortened(to_text(*value));
        }
        // A failed tool's summary is its error, too.
        if (!text("error").empty() && text("error") != text("summary")) {
            said += ", " + shortened(text("error"));
        }
    });
    return said + (is_true(member(result, "success"))
                       ? "\nTell the player what that means, after what you told already."
                       : "\nSomething else must happen: tell the player what, without the "
                         "tools that failed.");
}

std::string Question::state() const {
    const std::string_view text = text_member(&request_, "stateForPrompt");
    return text.empty() ? std::string() : "The state:\n" + std::string(text);
}

std::vector<ToolDescription> Question::tools() const {
    std::vector<ToolDescription> tools;
    if (continuation() >= kMaxContinuations) return tools;
    each_element(&request_, "tools", [&](const Json& tool) {
        const std::string_view name = text_member(&tool, "name");
        if (name.empty() || is_true(member(&tool, "disabled"))) return;
        tools.push_back({std::string(name), std::string(text_member(&tool, "description")),
                         member(&tool, "inputSchema")});
    });
    std::sort(tools.begin(), tools.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return tools;
}

}  // namespace narratoria::llm
