// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/near_name.hpp"
#include "session/prompts_reader.hpp"
#include "session/text_template.hpp"

namespace narratoria::session {
namespace {

constexpr std::string_view kMediaEndings[] = {".png",  ".jpg", ".jpeg", ".gif", ".webp", ".svg",
                                              ".avif", ".wav", ".mp3",  ".ogg", ".oga",  ".opus",
                                              ".flac", ".m4a", ".mp4",  ".webm"};

// Conditions that name others would otherwise need exponentially many.
void need(std::vector<std::string>& needed, const std::string& name) {
    if (std::find(needed.begin(), needed.end(), name) == needed.end()) needed.push_back(name);
}

}  // namespace

void PromptsReader::note_state(json::Value at, const std::string& place, std::string_view pointer,
                               Prompts::StateUse use) {
    use.pointer = mention_of(at, place);
    use.pointer.text = pattern_of_pointer(pointer);
    prompts_.state_uses.push_back(std::move(use));
}

void PromptsReader::note_names(json::Value at, const std::string& place, const std::string& pointer,
                               const Known& known) {
    check_template(at, place, pointer, known);
    note_state(at, pointer, place, {.operation = std::string(Prompts::StateUse::kNames)});
    note_state(at, pointer, place + "/{name}");
}

PromptsReader::Known PromptsReader::known_to_choice(json::Value text, const std::string& pointer,
                                                    Known known) {
    TemplateProblem problem;
    const auto parts = text && text.is_string() ? parse_template(text.text(), problem)
                                                : std::optional<std::vector<TemplatePart>>();
    if (!parts) return known;
    for (const TemplatePart& part : *parts) {
        if (!part.is_name || kind_of(part.text) != NameKind::Typed) continue;
        const size_t end = part.text.find(':');
        std::string name = part.text.substr(0, end);
        if (known.is_of_choice) {
            fault(text, pointer, "prompts-name",
                  "a choice has at most one name such as {thing:/things}");
        } else if (name == "prompt" ||
                   std::find(known.names.begin(), known.names.end(), name) != known.names.end()) {
            fault(text, pointer, "prompts-name",
                  "{" + name + "} has a value already; choose a different name for the choice");
        } else {
            note_names(text, part.text.substr(end + 1), pointer, known);
        }
        known.is_of_choice = true;
        known.names.push_back(std::move(name));
    }
    return known;
}

Mention PromptsReader::mention_of(json::Value at, const std::string& pointer) const {
    return {std::string(at.is_string() ? at.text() : ""),
            {"", pointer, byte_of(at), "", kPromptsJson}};
}

void PromptsReader::note_tools(json::Value plan, const std::string& pointer) {
    const json::Value tools = plan.is_object() ? plan.find("tools") : json::Value();
    if (!tools || !tools.is_array()) return;
    size_t position = 0;
    for (const json::Value tool : tools.elements()) {
        const size_t number = position++;
        const json::Value path = tool.is_object() ? tool.find("toolPath") : json::Value();
        if (const json::Value input = tool.is_object() ? tool.find("input") : json::Value()) {
            note_media(input);
        }
        if (!path || !path.is_string() || path.text().empty()) continue;
        TemplateProblem problem;
        const auto parts = parse_template(path.text(), problem);
        if (!parts || parts->size() != 1 || parts->front().is_name) {
            prompts_.has_other_tools = true;
            continue;
        }
        std::string place = pointer + "/tools";
        json::append_pointer(place, number);
        prompts_.tool_paths.push_back(
            {parts->front().text, {"", place + "/toolPath", byte_of(path), "", kPromptsJson}});
    }
}

void PromptsReader::note_media(json::Value value) {
    if (value.is_object()) {
        for (const json::Member member : value.members()) note_media(member.value);
    } else if (value.is_array()) {
        for (const json::Value element : value.elements()) note_media(element);
    } else if (value.is_string() &&
               std::any_of(std::begin(kMediaEndings), std::end(kMediaEndings),
                           [&](std::string_view each) { return value.text().ends_with(each); }) &&
               value.text().find_first_of("{}\n") == std::string_view::npos &&
               value.text().find("://") == std::string_view::npos) {
        prompts_.media_files.push_back(mention_of(value, pointer_of(value)));
    }
}

void PromptsReader::check_templates(json::Value value, const std::string& pointer,
                                    const Known& known) {
    if (value.is_object()) {
        for (const json::Member member : value.members()) {
            std::string below = pointer;
            json::append_pointer(below, member.key);
            check_templates(member.value, below, known);
        }
    } else if (value.is_array()) {
        each_element(value, pointer, [&](json::Value element, const std::string& below) {
            check_templates(element, below, known);
        });
    } else if (value.is_string()) {
        check_template(value, value.text(), pointer, known);
    }
}

void PromptsReader::check_template(json::Value at, std::string_view text,
                                   const std::string& pointer, const Known& known) {
    if (text.find_first_of("{}") == std::string_view::npos) return;
    TemplateProblem problem;
    const auto parts = parse_template(text, problem);
    if (!parts) {
        fault(at, pointer, "prompts-template", "in " + json::quoted(text) + ": " + problem.message);
        return;
    }
    for (const TemplatePart& part : *parts) {
        if (!part.is_name) continue;
        switch (kind_of(part.text)) {
            case NameKind::State:
                note_state(at, pointer, part.text);
                check_template(at, part.text, pointer, known);
                break;
            case NameKind::Tool: check_tool_name(at, pointer, part.text, known); break;
            case NameKind::Plain: check_name(at, pointer, part.text, known); break;
            case NameKind::Typed:
                if (known.is_of_choice) break;
                fault(at, pointer, "prompts-name",
                      "{" + part.text + "} belongs in a pattern or a choice; write {" +
                          part.text.substr(0, part.text.find(':')) + "} here");
                break;
        }
    }
}

void PromptsReader::check_name(json::Value value, const std::string& pointer,
                               const std::string& name, const Known& known) {
    if (known.needed != nullptr && name != "prompt") need(*known.needed, name);
    if (name == "prompt" || known.needed != nullptr || !known.are_names_known ||
        std::find(known.names.begin(), known.names.end(), name) != known.names.end()) {
        return;
    }
    std::string there = "{prompt}";
    for (const std::string& each : known.names) there += ", {" + each + "}";
    fault(value, pointer, "prompts-name",
          "{" + name + "} has no value here: " +
              (known.is_of_entry ? "not every pattern of this entry captures it"
                                 : "only the entry of a pattern has what the pattern captures") +
              "; use " + there + ", and {{ and }} for braces");
}

void PromptsReader::check_needed_names(json::Value name, const std::string& pointer,
                                       const Known& known) {
    for (const std::string& each : needed_names_[name.text()]) {
        if (known.needed != nullptr) {
            need(*known.needed, each);
        } else if (known.are_names_known &&
                   std::find(known.names.begin(), known.names.end(), each) == known.names.end()) {
            fault(name, pointer, "prompts-name",
                  "the condition " + json::quoted(name.text()) + " needs {" + each +
                      "}, which has no value here: " +
                      (known.is_of_entry ? "not every pattern of this entry captures it"
                                         : "only the entry of a pattern has what it captures"));
        }
    }
}

void PromptsReader::check_tool_name(json::Value value, const std::string& pointer,
                                    const std::string& name, const Known& known) {
    if (known.tools == nullptr) {
        return fault(value, pointer, "prompts-name",
                     "{" + name +
                         "} has no value here: what a tool returned can be told in \"success\" "
                         "and \"failure\" of an answer with tools");
    }
    const std::string_view id = std::string_view(name).substr(0, name.find('.'));
    const std::string_view rest = std::string_view(name).substr(id.size() + 1);
    const std::vector<std::string_view> ids(known.tools->begin(), known.tools->end());
    const bool is_known = std::any_of(ids.begin(), ids.end(), [&](std::string_view each) {
        return each == id || each.find('{') != std::string_view::npos;
    });
    if (!is_known) {
        return fault(value, pointer, "prompts-name",
                     "no tool of this answer has the toolId " + json::quoted(id) +
                         did_you_mean(near_name(id, ids)));
    }
    static constexpr std::string_view kMembers[] = {"summary", "error", "result", "output"};
    const std::string_view member = rest.substr(0, rest.find('.'));
    if (std::find(std::begin(kMembers), std::end(kMembers), member) != std::end(kMembers)) {
        return;
    }
    fault(value, pointer, "prompts-name",
          "{" + name + "}: a tool has a summary, an error, a result and an output, such as {" +
              std::string(id) + ".summary} and {" + std::string(id) + ".result.total}");
}

}  // namespace narratoria::session
