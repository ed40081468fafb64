// SPDX-License-Identifier: Apache-2.0
#include "narrator_llm/question.hpp"

#include <rapidjson/pointer.h>

#include <algorithm>
#include <utility>

#include "narrator_llm/json.hpp"
#include "narratoria/utf8.hpp"

namespace narratoria::llm {
namespace {

// After as many, a plan is not continued (narrator.h).
constexpr std::uint64_t kMaxContinuations = 4;

// A member of the metadata of a plan.
constexpr const char* kNotes = "narrator_llm";

constexpr std::size_t kLongestResult = 2000;
constexpr std::size_t kLongestFact = 200;

std::string shortened(const std::string& text, std::size_t most = kLongestResult) {
    if (text.size() <= most) return text;
    return std::string(detail::prefix_of(text, most)) + "…";
}

bool is_true(const Json* value) { return value != nullptr && value->IsTrue(); }

}  // namespace

std::string to_metadata(const Notes& notes) {
    if (notes.summary.empty()) return {};
    rapidjson::StringBuffer out;
    JsonWriter writer(out);
    writer.StartObject();
    writer.Key(kNotes);
    writer.StartObject();
    writer.Key("summary");
    writer.StartArray();
    for (const std::string& line : notes.summary) write(writer, line);
    writer.EndArray();
    if (notes.left) {
        writer.Key("left");
        writer.StartObject();
        writer.Key("prompt");
        write(writer, notes.left->prompt);
        writer.Key("narrative");
        write(writer, notes.left->narrative);
        writer.EndObject();
    }
    writer.EndObject();
    writer.EndObject();
    return {out.GetString(), out.GetSize()};
}

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

Notes Question::notes() const {
    Notes notes;
    const Json* const kept = member(member(&request_, "turnMetadata"), kNotes);
    each_element(kept, "summary", [&](const Json& line) {
        if (line.IsString()) notes.summary.emplace_back(view(line));
    });
    if (const Json* const left = member(kept, "left")) {
        notes.left = {std::string(text_member(left, "prompt")),
                      std::string(text_member(left, "narrative"))};
    }
    return notes;
}

Ending Question::state(const std::vector<std::string>& facts) const {
    Ending ending;
    std::string& all = ending.facts;
    const Json* const state = member(&request_, "state");
    for (const std::string& fact : facts) {
        const Json* const value = rapidjson::Pointer(fact.data(), fact.size()).Get(*state);
        if (value != nullptr)
            all += "- " + fact.substr(1) + ": " + shortened(to_text(*value), kLongestFact) + "\n";
    }
    if (!all.empty()) all = "Most important:\n" + all;
    const std::string_view text = text_member(&request_, "stateForPrompt");
    if (!text.empty()) ending.state = "The state:\n" + std::string(text);
    return ending;
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
