// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads one prompts.json. Only prompts.cpp and the two files of the reader need this:
// prompts_reader.cpp (entries and answers) and prompts_references.cpp (what their texts refer to).

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fault.hpp"
#include "base/json/pointer.hpp"
#include "base/json/tape.hpp"
#include "base/strict_keys.hpp"
#include "session/mention.hpp"
#include "session/prompts.hpp"

namespace narratoria::session {

class PromptsReader {
public:
    PromptsReader(const json::Document& document, Prompts& prompts, Faults& faults)
        : text_(document.text()), prompts_(prompts), faults_(faults) {}

    void read(json::Value root);

private:
    // What the texts of an answer may refer to, besides {prompt} and the state.
    struct Known {
        std::vector<std::string> names;
        bool is_of_entry = false;  // which has patterns
        bool are_names_known = true;
        const std::vector<std::string>* tools = nullptr;  // toolIds; NULL: no tool has run
        // Of the condition that is read: the captures that it needs are added. NULL: elsewhere.
        std::vector<std::string>* needed = nullptr;
        bool is_of_choice = false;  // {thing:/things} stands for each name at the place
    };

    // ------------------------------------------------------------ prompts_reader.cpp

    void fault(json::Value at, std::string pointer, const char* rule, std::string message);
    static std::string pointer_of(json::Value at);
    size_t byte_of(json::Value value) const;
    bool is(json::Value value, const std::string& pointer, json::Type type, const char* rule);
    void allow_keys(json::Value object, const std::string& pointer, KnownKeys allowed);
    void read_ignored(json::Value list);
    void read_synonyms(json::Value table);
    bool has_words(json::Value text, const std::string& place);
    void read_conditions(json::Value table);
    void read_after(json::Value list);
    void read_unmatched(json::Value unmatched);
    void read_entry(json::Value value, const std::string& pointer);
    template <typename Read>
    bool read_list(json::Value entry, const std::string& pointer, const char* key, Read&& read);
    std::optional<PromptPattern> read_pattern(json::Value value, const std::string& pointer);
    PromptAnswer read_answer(json::Value value, const std::string& pointer, const Known& known);
    // The members that answers and rules have. `later`: what is known after the tools.
    void read_what_is_told(json::Value value, const std::string& pointer, const Known& known,
                           const Known& later, PromptAnswer& answer);
    void read_plan_of_answer(const PromptAnswer& answer, const std::string& pointer,
                             std::vector<std::string>& tools);
    // A string, or a list of variants.
    void read_text(json::Value value, const std::string& pointer, const Known& known);
    json::Value read_choices(json::Value list, const std::string& pointer, const Known& known);
    json::Value read_condition(json::Value owner, const std::string& pointer, const Known& known);
    bool check_condition(json::Value condition, const std::string& place, const Known& known);
    void read_set(json::Value set, const std::string& pointer, const Known& known);
    // The plan rules apply, except that requestId is optional: the narrator generates one.
    void read_plan(json::Value value, const std::string& pointer);

    template <typename Read>
    static void each_element(json::Value list, const std::string& pointer, Read&& read) {
        size_t position = 0;
        for (const json::Value each : list.elements()) {
            std::string at = pointer;
            json::append_pointer(at, position++);
            read(each, at);
        }
    }

    // ------------------------------------------------------------ prompts_references.cpp

    // Notes a use, of which the pointer may contain names and the place is not set yet.
    void note_state(json::Value at, const std::string& place, std::string_view pointer,
                    Prompts::StateUse use = {});
    // Notes that names at a place of the state are used, and checks the place.
    void note_names(json::Value at, const std::string& place, const std::string& pointer,
                    const Known& known);
    // What the texts of a choice may refer to.
    Known known_to_choice(json::Value text, const std::string& pointer, Known known);
    Mention mention_of(json::Value at, const std::string& pointer) const;
    void note_tools(json::Value plan, const std::string& pointer);
    // A text with a name or a URL is not the path of a file that is known.
    void note_media(json::Value value);
    void check_templates(json::Value value, const std::string& pointer, const Known& known);
    // `at` is where `text` stands.
    void check_template(json::Value at, std::string_view text, const std::string& pointer,
                        const Known& known);
    void check_name(json::Value value, const std::string& pointer, const std::string& name,
                    const Known& known);
    // `name`: of a condition.
    void check_needed_names(json::Value name, const std::string& pointer, const Known& known);
    void check_tool_name(json::Value value, const std::string& pointer, const std::string& name,
                         const Known& known);

    std::string_view text_;
    Prompts& prompts_;
    Faults& faults_;
    // The captures that each condition needs, its own and those of the conditions that it names.
    std::map<std::string_view, std::vector<std::string>> needed_names_;
    std::vector<std::string_view> condition_names_;  // that conditions from here on may use
    json::Value conditions_;                         // all of them, or empty
};

}  // namespace narratoria::session
