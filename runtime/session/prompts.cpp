// SPDX-License-Identifier: Apache-2.0
#include "session/prompts.hpp"

#include <algorithm>
#include <span>

#include "base/duplicates.hpp"
#include "base/json/pointer.hpp"
#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "base/strict_keys.hpp"
#include "plan/plan.hpp"
#include "session/text_template.hpp"

namespace narratoria::session {
namespace {

class PromptsReader {
public:
    PromptsReader(const json::Document& document, Prompts& prompts, Faults& faults)
        : text_(document.text()), prompts_(prompts), faults_(faults) {}

    void read(json::Value root) {
        if (!is(root, "", json::Type::Object, "prompts.json must contain an object")) return;
        allow_keys(root, "", {"prompts", "unmatched"});
        if (const json::Value unmatched = root.find("unmatched")) {
            prompts_.unmatched = read_answer(unmatched, "/unmatched", {});
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

private:
    void fault(json::Value at, std::string pointer, const char* rule, std::string message) {
        faults_.push_back(
            {rule, std::move(pointer), byte_of(at), std::move(message), kPromptsJson});
    }

    size_t byte_of(json::Value value) const {
        return static_cast<size_t>(value.raw().data() - text_.data());
    }

    bool is(json::Value value, const std::string& pointer, json::Type type, const char* rule) {
        if (value.type() == type) return true;
        fault(value, pointer, "prompts-type",
              std::string(rule) + ", not " + json::type_name(value.type()));
        return false;
    }

    void allow_keys(json::Value object, const std::string& pointer, KnownKeys allowed) {
        for (const json::Member member : object.members()) {
            if (allowed.has(member.key)) continue;
            std::string at = pointer;
            json::append_pointer(at, member.key);
            fault(json::Value(&object.tape(), member.value.index() - 1), std::move(at),
                  "prompts-key",
                  json::quoted(member.key) + " is not a key here" +
                      allowed.suggestion_or_list(member.key));
        }
    }

    void read_entry(json::Value value, const std::string& pointer) {
        if (!is(value, pointer, json::Type::Object,
                "an entry must be an object with \"patterns\" and \"answers\"")) {
            return;
        }
        allow_keys(value, pointer, {"patterns", "answers"});
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
            });
        // Names cannot be checked if a pattern is invalid.
        check_names_ = has_patterns && patterns_are_known;
        const std::vector<std::string> known = names.value_or(std::vector<std::string>());
        read_list(value, pointer, "answers", [&](json::Value each, const std::string& place) {
            entry.answers.push_back(read_answer(each, place, known));
        });
        check_names_ = true;
        prompts_.entries.push_back(std::move(entry));
    }

    template <typename Read>
    bool read_list(json::Value entry, const std::string& pointer, const char* key, Read&& read) {
        const json::Value list = entry.find(key);
        const std::string place = pointer + "/" + key;
        if (!list) {
            fault(entry, place, "prompts-missing", json::quoted(key) + " is missing");
            return false;
        }
        if (!is(list, place, json::Type::Array,
                (json::quoted(key) + " must be an array").c_str())) {
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

    std::optional<PromptPattern> read_pattern(json::Value value, const std::string& pointer) {
        if (!is(value, pointer, json::Type::String, "a pattern must be a string")) {
            return std::nullopt;
        }
        TemplateProblem problem;
        std::optional<PromptPattern> pattern = PromptPattern::compile(value.text(), problem);
        if (!pattern) {
            fault(value, pointer, "prompts-pattern",
                  "in the pattern " + json::quoted(value.text()) + ": " + problem.message);
        }
        return pattern;
    }

    PromptAnswer read_answer(json::Value value, const std::string& pointer,
                             const std::vector<std::string>& names) {
        PromptAnswer answer;
        if (!is(value, pointer, json::Type::Object,
                "an answer must be an object with \"plan\" or \"narrative\"")) {
            return answer;
        }
        allow_keys(value, pointer, {"plan", "narrative"});
        const json::Value plan = value.find("plan");
        const json::Value narrative = value.find("narrative");
        if (static_cast<bool>(plan) == static_cast<bool>(narrative)) {
            fault(value, pointer, "prompts-answer",
                  plan ? "an answer must not have both \"plan\" and \"narrative\"; write the "
                         "narrative in the plan"
                       : "an answer needs \"plan\" or \"narrative\"");
        }
        if (plan) {
            answer.kind = PromptAnswer::Kind::Plan;
            answer.text = plan.raw();
            read_plan(plan, pointer + "/plan");
            check_templates(plan, pointer + "/plan", names);
        }
        if (narrative) {
            const std::string place = pointer + "/narrative";
            if (!is(narrative, place, json::Type::String, "\"narrative\" must be a string")) {
                return answer;
            }
            if (narrative.text().empty()) {
                fault(narrative, place, "prompts-empty", "\"narrative\" must not be empty");
            }
            if (!plan) answer.text = narrative.text();
            check_templates(narrative, place, names);
        }
        return answer;
    }

    // The plan rules apply, except that requestId is optional: the narrator generates one.
    void read_plan(json::Value value, const std::string& pointer) {
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

    void note_tools(json::Value plan, const std::string& pointer) {
        const json::Value tools = plan.is_object() ? plan.find("tools") : json::Value();
        if (!tools || !tools.is_array()) return;
        size_t position = 0;
        for (const json::Value tool : tools.elements()) {
            const size_t number = position++;
            const json::Value path = tool.is_object() ? tool.find("toolPath") : json::Value();
            if (!path || !path.is_string() || path.text().empty()) continue;
            TemplateProblem problem;
            const auto parts = parse_template(path.text(), problem);
            if (!parts || parts->size() != 1 || parts->front().is_name) continue;
            std::string place = pointer + "/tools";
            json::append_pointer(place, number);
            prompts_.tool_paths.push_back(
                {parts->front().text, {"", place + "/toolPath", byte_of(path), "", kPromptsJson}});
        }
    }

    void check_templates(json::Value value, const std::string& pointer,
                         const std::vector<std::string>& names) {
        if (value.is_object()) {
            for (const json::Member member : value.members()) {
                std::string below = pointer;
                json::append_pointer(below, member.key);
                check_templates(member.value, below, names);
            }
        } else if (value.is_array()) {
            size_t position = 0;
            for (const json::Value element : value.elements()) {
                std::string below = pointer;
                json::append_pointer(below, position++);
                check_templates(element, below, names);
            }
        } else if (value.is_string()) {
            check_template(value, pointer, names);
        }
    }

    void check_template(json::Value value, const std::string& pointer,
                        const std::vector<std::string>& names) {
        if (value.text().find_first_of("{}") == std::string_view::npos) return;
        TemplateProblem problem;
        const auto parts = parse_template(value.text(), problem);
        if (!parts) {
            fault(value, pointer, "prompts-template",
                  "in " + json::quoted(value.text()) + ": " + problem.message);
            return;
        }
        for (const TemplatePart& part : *parts) {
            if (!part.is_name || part.text == "prompt" || !check_names_) continue;
            if (std::find(names.begin(), names.end(), part.text) != names.end()) continue;
            std::string known = "{prompt}";
            for (const std::string& name : names) known += ", {" + name + "}";
            fault(value, pointer, "prompts-name",
                  "{" + part.text +
                      "} has no value here: not every pattern of this entry captures it; use " +
                      known + ", and {{ and }} for braces");
        }
    }

    std::string_view text_;
    Prompts& prompts_;
    Faults& faults_;
    bool check_names_ = true;
};

}  // namespace

Prompts read_prompts(std::string_view text, Faults& faults) {
    Prompts prompts;
    const size_t first = faults.size();
    json::Document document;
    json::ParseError error;
    if (document.parse(text, error)) {
        prompts.warnings = json::duplicate_keys(document.root());
        for (Fault& each : prompts.warnings) each.file = kPromptsJson;
        PromptsReader(document, prompts, faults).read(document.root());
    } else {
        faults.push_back({json::rule_of(error.kind), "", error.byte, error.message, kPromptsJson});
    }
    std::stable_sort(faults.begin() + static_cast<std::ptrdiff_t>(first), faults.end(),
                     [](const Fault& a, const Fault& b) { return a.byte < b.byte; });
    place_faults(faults, first, text);
    place_faults(prompts.warnings, 0, text);
    Faults places;
    for (Mention& each : prompts.tool_paths) places.push_back(std::move(each.place));
    place_faults(places, 0, text);
    for (size_t i = 0; i < places.size(); ++i) prompts.tool_paths[i].place = std::move(places[i]);
    return prompts;
}

}  // namespace narratoria::session
