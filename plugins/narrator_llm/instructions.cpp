// SPDX-License-Identifier: Apache-2.0
#include "narrator_llm/instructions.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "narrator_llm/json.hpp"

namespace narratoria::llm {
namespace {

constexpr std::size_t kLongestFile = 64 * 1024;

constexpr const char* kNarrate =
    "You are the narrator of an interactive story. The player writes what they do, and you tell "
    "what "
    "happens: in the second person, in the present tense, in at most 120 words. Let the player's "
    "actions have consequences, and never act for the player. The state is what is true in the "
    "story; never contradict it.";

// The example could be true: small models copy its strings, and would copy descriptions in it.
constexpr const char* kForm =
    "Answer with one JSON object and nothing else. For example, if the player writes \"I push the "
    "gate\":\n"
    "{\"narrative\": \"You push the gate. It creaks, and a dog begins to bark.\", \"tools\": [], "
    "\"choices\": [\"I call the dog\", \"I walk back\"]}\n"
    "\"narrative\" is what happens now. \"choices\" are two to four short texts in the player's "
    "words: what the player may do next.";

constexpr const char* kTools =
    "\"tools\" are the tools that the story needs now, often none: {\"tool\": \"NAME\", \"input\": "
    "{…}}. "
    "They run after the narrative is told. Then you are asked again, with what they found. The "
    "tools:";

constexpr const char* kNoTools = "\"tools\" is empty: there are no tools.";

}  // namespace

std::string read_instructions(const plugin::Host& host, const ModelSettings& settings) {
    std::string text = kNarrate;
    if (!settings.instructions.empty()) {
        const std::string& path = settings.instructions;
        std::ifstream file(path, std::ios::binary);
        text.assign(std::istreambuf_iterator<char>(file), {});
        if (!file || text.empty()) {
            throw std::runtime_error(
                "the file of the setting \"instructions\" cannot be read, or "
                "is empty: " +
                path);
        }
        if (text.size() > kLongestFile) {
            throw std::runtime_error(
                "the file of the setting \"instructions\" is longer than 64 "
                "KiB: " +
                path);
        }
    }
    if (!host.title().empty()) text += "\nThe story is \"" + std::string(host.title()) + "\".";
    if (!host.language().empty()) {
        text += "\nWrite in the language " + std::string(host.language()) + ".";
    }
    rapidjson::Document opening;
    if (parse_object(host.opening(), opening)) {
        text += "\nThe story has begun: " + std::string(text_member(&opening, "text"));
    }
    return text;
}

std::string rules_of(const std::string& instructions, const std::vector<ToolDescription>& tools) {
    std::string rules = instructions + "\n\n" + kForm + "\n" + (tools.empty() ? kNoTools : kTools);
    for (const ToolDescription& tool : tools) {
        rules += "\n- " + tool.name;
        if (!tool.description.empty()) rules += ": " + tool.description;
        if (tool.input_schema != nullptr) rules += "\n  input: " + to_text(*tool.input_schema);
    }
    return rules;
}

}  // namespace narratoria::llm
