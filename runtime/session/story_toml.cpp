// SPDX-License-Identifier: Apache-2.0
#include "session/story_toml.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "base/bytes/utf8.hpp"
#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/language_tag.hpp"
#include "base/strict_keys.hpp"
#include "base/toml.hpp"
#include "narratoria/engine.h"
#include "session/choices.hpp"
#include "session/text_template.hpp"
#include "tool/runners.hpp"

namespace narratoria::session {
namespace {

// The only allowed path of a story with an empty list. No path can be below it.
constexpr const char* kNowhere = "/dev/null";

const char* with_article(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::table: return "a table";
        case toml::node_type::array: return "an array";
        case toml::node_type::string: return "a string";
        case toml::node_type::integer: return "an integer";
        case toml::node_type::floating_point: return "a floating-point number";
        case toml::node_type::boolean: return "a boolean";
        default: return "a date or time";
    }
}

class StoryReader {
public:
    StoryReader(std::string_view text, Story& story, Faults& faults)
        : text_(text), places_(text), story_(story), faults_(faults) {}

    void read() {
        if (const std::optional<size_t> byte = find_too_deep_toml(text_)) {
            const size_t first = faults_.size();
            faults_.push_back({"story-depth", "", *byte,
                               "keys and values are nested deeper than 128 levels", kStoryToml});
            place_faults(faults_, first, text_);
            return;
        }
        const toml::parse_result parsed = toml::parse(text_);
        if (!parsed) {
            fault(parsed.error().source().begin, "", "story-toml",
                  describe_toml_error(text_, parsed.error()));
            return;
        }
        read_root(parsed.table());
    }

private:
    // A fault without rule and message.
    Fault place_of(toml::source_position at, std::string pointer) const {
        Fault fault{"", std::move(pointer), 0, "", kStoryToml};
        fault.line = std::max<size_t>(at.line, 1);
        fault.column = std::max<size_t>(at.column, 1);
        fault.byte = places_.byte_of(at);
        return fault;
    }

    void fault(toml::source_position at, std::string pointer, const char* rule,
               std::string message) {
        faults_.push_back(place_of(at, std::move(pointer)));
        faults_.back().rule = rule;
        faults_.back().message = std::move(message);
    }

    void wrong_type(const toml::node& node, const std::string& pointer, const char* wanted) {
        fault(node.source().begin, pointer, "story-type",
              pointer.substr(1) + " must be " + wanted + ", not " + with_article(node));
    }

    // Adds a fault for each unknown key.
    void allow_keys(const toml::table& table, const std::string& pointer, KnownKeys allowed) {
        const std::string owner =
            pointer.empty() ? std::string(kStoryToml) : "[" + pointer.substr(1) + "]";
        for (const auto& [key, value] : table) {
            if (allowed.has(key.str())) continue;
            std::string at = pointer;
            json::append_pointer(at, key.str());
            fault(TomlPlaces::begin_of(key, value), std::move(at), "story-key",
                  json::quoted(key.str()) + " is not a key of " + owner +
                      allowed.suggestion_or_list(key.str()));
        }
    }

    const toml::table* table(const toml::table& parent, std::string_view key) {
        const toml::node* node = parent.get(key);
        if (node == nullptr) return nullptr;
        if (!node->is_table()) wrong_type(*node, "/" + std::string(key), "a table");
        return node->as_table();
    }

    // Reads a string. By default it must not be empty, and may contain U+0000.
    std::optional<std::string> text(const toml::node* node, const std::string& pointer,
                                    bool may_be_empty = false, bool may_hold_nul = true) {
        if (node == nullptr) return std::nullopt;
        if (!node->is_string()) {
            wrong_type(*node, pointer, "a string");
            return std::nullopt;
        }
        const std::string& value = node->as_string()->get();
        if (value.empty() && !may_be_empty) {
            fault(node->source().begin, pointer, "story-empty",
                  pointer.substr(1) + " must not be empty");
            return std::nullopt;
        }
        if (!may_hold_nul && value.find('\0') != std::string::npos) {
            fault(node->source().begin, pointer, "story-nul",
                  pointer.substr(1) + " contains a NUL character");
            return std::nullopt;
        }
        return value;
    }

    // Reads an integer that is 0, or at least `least` and at most `most`.
    template <typename Number>
    void number(const toml::table& parent, const char* section, const char* key, const char* unit,
                std::optional<Number>& out, uint64_t least, uint64_t most) {
        const toml::node* node = parent.get(key);
        if (node == nullptr) return;
        const std::string pointer = std::string("/") + section + "/" + key;
        if (!node->is_integer()) {
            wrong_type(*node, pointer, unit);
            return;
        }
        const int64_t value = node->as_integer()->get();
        if (value < 0) {
            fault(node->source().begin, pointer, "story-range",
                  pointer.substr(1) + " must be " + unit + ", not " + std::to_string(value));
            return;
        }
        if (value != 0 && static_cast<uint64_t>(value) < least) {
            fault(node->source().begin, pointer, "story-range",
                  pointer.substr(1) + " must be at least " + std::to_string(least) +
                      ", or 0, not " + std::to_string(value));
            return;
        }
        if (static_cast<uint64_t>(value) > most) {
            fault(node->source().begin, pointer, "story-range",
                  pointer.substr(1) + " must be at most " + std::to_string(most) + ", not " +
                      std::to_string(value));
            return;
        }
        out = static_cast<Number>(value);
    }

    void read_root(const toml::table& root) {
        allow_keys(root, "",
                   {"title", "language", "opening", "narrator", "times", "limits", "tools",
                    "sandbox", "fallback", "plugins", "state"});
        if (root.get("title") == nullptr) {
            fault({1, 1}, "/title", "story-missing",
                  "\"title\" is missing; write title = \"…\" at the top");
        }
        story_.title = text(root.get("title"), "/title").value_or("");
        read_language(root.get("language"));
        if (const toml::table* opening = table(root, "opening")) read_opening(*opening);
        if (const toml::table* narrator = table(root, "narrator")) {
            allow_keys(*narrator, "/narrator", {"name"});
            if (const auto name = text(narrator->get("name"), "/narrator/name")) {
                story_.narrator = *name;
                story_.names_narrator = true;
                if (*name != kTemplateNarrator) {
                    story_.mentions.narrator = {
                        *name, place_of(narrator->get("name")->source().begin, "/narrator/name")};
                }
            }
        }
        if (const toml::table* times = table(root, "times")) {
            allow_keys(*times, "/times",
                       {"try_ms", "plan_ms", "narrator_ms", "narrator_first_ms",
                        "narrator_between_ms", "prompt_ms", "grace_ms"});
            const auto time = [&](const char* key, std::optional<uint32_t>& out) {
                // The maximum is one less than NAR_NONE, which means "no timeout" in C.
                number(*times, "times", key, "whole milliseconds (0: no timeout)", out, 0,
                       NAR_NONE - 1);
            };
            time("try_ms", story_.times.try_ms);
            time("plan_ms", story_.times.plan_ms);
            time("narrator_ms", story_.times.narrator_ms);
            time("narrator_first_ms", story_.times.narrator_first_ms);
            time("narrator_between_ms", story_.times.narrator_between_ms);
            time("prompt_ms", story_.times.prompt_ms);
            time("grace_ms", story_.times.grace_ms);
        }
        if (const toml::table* limits = table(root, "limits")) {
#define NARRATORIA_LIMIT(name, type, least, text) #name,
            allow_keys(*limits, "/limits", {NAR_LIMIT_LIST(NARRATORIA_LIMIT)});
#undef NARRATORIA_LIMIT
            constexpr const char* kUnit = "a whole number (0: the engine's limit)";
#define NARRATORIA_LIMIT(name, type, least, text)                      \
    number(*limits, "limits", #name, kUnit, story_.limits.name, least, \
           std::numeric_limits<type>::max());
            NAR_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
        }
        if (const toml::table* tools = table(root, "tools")) read_tools(*tools);
        if (const toml::table* sandbox = table(root, "sandbox")) {
            story_.sandbox.require_of_all(read_guarantees_of(*sandbox, "/sandbox"));
        }
        if (const toml::table* state = table(root, "state")) {
            append_json(story_.state, *state, "/state");
            story_.mentions.state = place_of(state->source().begin, "/state");
        }
        if (const toml::table* fallback = table(root, "fallback")) read_fallback(*fallback);
        if (const toml::table* plugins = table(root, "plugins")) read_plugins(*plugins);
    }

    void read_language(const toml::node* node) {
        const std::optional<std::string> tag = text(node, "/language");
        if (!tag) return;
        if (!is_language_tag(*tag)) {
            fault(node->source().begin, "/language", "story-language",
                  json::quoted(*tag) +
                      " is not a BCP 47 language tag; write for example \"de\" or \"pt-BR\"");
            return;
        }
        story_.language = *tag;
    }

    void read_opening(const toml::table& opening) {
        allow_keys(opening, "/opening", {"text", "choices"});
        const std::string told = text(opening.get("text"), "/opening/text").value_or("");
        std::string choices = "[";
        if (const toml::node* list = opening.get("choices")) {
            if (!list->is_array()) {
                wrong_type(*list, "/opening/choices", "an array of prompts");
                return;
            }
            size_t position = 0;
            for (const toml::node& element : *list->as_array()) {
                std::string pointer = "/opening/choices";
                json::append_pointer(pointer, position++);
                const auto choice = text(&element, pointer);
                if (!choice) continue;
                if (utf8::is_blank(*choice)) {
                    fault(element.source().begin, pointer, "story-empty",
                          pointer.substr(1) + " has no visible character");
                    continue;
                }
                if (choice->size() > Choices::kMaxBytes) {
                    fault(element.source().begin, pointer, "story-range",
                          pointer.substr(1) + " is longer than 64 KiB");
                    continue;
                }
                story_.mentions.choices.push_back(
                    {*choice, place_of(element.source().begin, pointer)});
                if (choices.size() > 1) choices += ',';
                json::append_string(choices, *choice);
            }
        }
        choices += ']';
        json::ObjectWriter(story_.opening).string("text", told).raw("choices", choices).end();
    }

    void read_tools(const toml::table& tools) {
        static constexpr std::array<std::string_view, 3> kKeys = {"allow_paths", "allow_schemes",
                                                                  "environment"};
        // Every other table is named after a tool.
        toml::table others;
        for (const auto& [key, value] : tools) {
            if (!value.is_table() ||
                std::find(kKeys.begin(), kKeys.end(), key.str()) != kKeys.end()) {
                others.insert(key, value);
                continue;
            }
            std::string pointer = "/tools";
            json::append_pointer(pointer, key.str());
            const std::string name(key.str());
            story_.sandbox.require_of(name, story_.folder,
                                      read_guarantees_of(*value.as_table(), pointer));
            story_.mentions.sandboxed.push_back({name, place_of(key.source().begin, pointer)});
        }
        allow_keys(others, "/tools", kKeys);
        if (const toml::node* list = tools.get("allow_paths")) {
            read_allow_paths(*list);
        }
        if (const toml::node* list = tools.get("allow_schemes")) read_allow_schemes(*list);
        const toml::node* variables = tools.get("environment");
        if (variables == nullptr) return;
        if (!variables->is_table()) {
            wrong_type(*variables, "/tools/environment", "a table of strings");
            return;
        }
        for (const auto& [key, value] : *variables->as_table()) {
            std::string pointer = "/tools/environment";
            json::append_pointer(pointer, key.str());
            const std::string name(key.str());
            if (name.empty() || name.find('=') != std::string::npos ||
                name.find('\0') != std::string::npos) {
                fault(key.source().begin, pointer, "story-environment",
                      "the name of an environment variable must not be empty or contain \"=\" or "
                      "NUL");
                continue;
            }
            if (const auto content = text(&value, pointer, true, false)) {
                story_.environment.emplace_back(name, *content);
            }
        }
    }

    // A table of guarantees: NAME = true, and secrets_allowed, a list of variables.
    Guarantees read_guarantees_of(const toml::table& given, const std::string& pointer) {
        Guarantees out;
        std::vector<std::string_view> allowed;
        for (size_t i = 0; i < kGuarantees; ++i) {
            const auto guarantee = static_cast<Guarantee>(i);
            const std::string_view name = name_of(guarantee);
            allowed.push_back(name);
            const toml::node* node = given.get(name);
            if (node == nullptr) continue;
            if (!node->is_boolean()) {
                wrong_type(*node, pointer + "/" + std::string(name), "true or false");
            } else if (node->as_boolean()->get()) {
                out.require(guarantee, GuaranteeSource::User);
            }
        }
        allowed.push_back(kSecretsAllowed);
        allow_keys(given, pointer, allowed);
        const toml::node* secrets = given.get(kSecretsAllowed);
        if (secrets == nullptr) return out;
        const std::string at = pointer + "/" + std::string(kSecretsAllowed);
        if (!secrets->is_array()) {
            wrong_type(*secrets, at, "an array of names of environment variables");
            return out;
        }
        std::vector<std::string> names;
        for (const toml::node& element : *secrets->as_array()) {
            std::string place = at;
            json::append_pointer(place, names.size());
            const auto name = text(&element, place, false, false);
            if (name && name->find('=') != std::string::npos) {
                fault(element.source().begin, place, "story-environment",
                      "the name of an environment variable must not contain \"=\"");
            }
            names.push_back(name.value_or(""));
        }
        out.allow_secrets(names, GuaranteeSource::User);
        return out;
    }

    void read_allow_paths(const toml::node& list) {
        if (!list.is_array()) {
            wrong_type(list, "/tools/allow_paths", "an array of folders");
            return;
        }
        size_t position = 0;
        for (const toml::node& element : *list.as_array()) {
            std::string pointer = "/tools/allow_paths";
            json::append_pointer(pointer, position++);
            if (const auto path = text(&element, pointer, false, false)) {
                story_.mentions.allow_paths.push_back(
                    {*path, place_of(element.source().begin, pointer)});
                story_.allow_paths.push_back(path->front() == '/' ? *path
                                                                  : story_.folder + "/" + *path);
            }
        }
        if (list.as_array()->empty()) story_.allow_paths.emplace_back(kNowhere);
    }

    void read_allow_schemes(const toml::node& list) {
        if (!list.is_array()) {
            wrong_type(list, "/tools/allow_schemes", "an array of schemes");
            return;
        }
        size_t position = 0;
        for (const toml::node& element : *list.as_array()) {
            std::string pointer = "/tools/allow_schemes";
            json::append_pointer(pointer, position++);
            const auto scheme = text(&element, pointer);
            if (!scheme) continue;
            if (!tool::is_scheme(*scheme)) {
                fault(
                    element.source().begin, pointer, "story-scheme",
                    json::quoted(*scheme) +
                        " is not a scheme; use only letters, digits and + - . _, without a colon");
            }
            story_.allow_schemes.push_back(*scheme);
        }
    }

    void read_fallback(const toml::table& fallback) {
        allow_keys(fallback, "/fallback", {"templates"});
        const toml::node* list = fallback.get("templates");
        if (list == nullptr) return;
        if (!list->is_array()) {
            wrong_type(*list, "/fallback/templates", "an array of texts");
            return;
        }
        size_t position = 0;
        for (const toml::node& element : *list->as_array()) {
            std::string pointer = "/fallback/templates";
            json::append_pointer(pointer, position++);
            const auto content = text(&element, pointer);
            if (!content) continue;
            TemplateProblem problem;
            const auto parts = parse_template(*content, problem);
            if (!parts) {
                fault(element.source().begin, pointer, "story-template",
                      "in " + json::quoted(*content) + ": " + problem.message);
                continue;
            }
            check_names(*parts, element, pointer);
            story_.fallback_templates.push_back(*content);
        }
    }

    // Of a fallback text, which may use the prompt and the state.
    void check_names(const std::vector<TemplatePart>& parts, const toml::node& element,
                     const std::string& pointer) {
        for (const TemplatePart& part : parts) {
            if (!part.is_name || part.text == "prompt") continue;
            if (kind_of(part.text) == NameKind::State) {
                TemplateProblem problem;
                const auto nested = parse_template(part.text, problem);
                if (nested) check_names(*nested, element, pointer);
                continue;
            }
            fault(element.source().begin, pointer, "story-template",
                  "{" + part.text +
                      "} has no value here; use {prompt}, a value of the state such as "
                      "{/player/name}, and {{ and }} for braces");
        }
    }

    void read_plugins(const toml::table& plugins) {
        for (const auto& [key, value] : plugins) {
            std::string pointer = "/plugins";
            json::append_pointer(pointer, key.str());
            if (!value.is_table()) {
                wrong_type(value, pointer, "a table of settings under the plugin's id");
                continue;
            }
            story_.mentions.plugins.push_back(
                {std::string(key.str()), place_of(TomlPlaces::begin_of(key, value), pointer)});
            mention_settings(value, pointer);
            std::string settings;
            append_json(settings, value, pointer);
            story_.plugins.emplace(key.str(), std::move(settings));
        }
    }

    // Records the places of all nodes below `node`.
    void mention_settings(const toml::node& node, const std::string& pointer) {
        const auto mention = [&](auto segment, toml::source_position at, const toml::node& child) {
            std::string below = pointer;
            json::append_pointer(below, segment);
            story_.mentions.settings.emplace(below, place_of(at, below));
            mention_settings(child, below);
        };
        if (const toml::table* members = node.as_table()) {
            for (const auto& [key, value] : *members) {
                mention(key.str(), TomlPlaces::begin_of(key, value), value);
            }
        } else if (const toml::array* elements = node.as_array()) {
            size_t position = 0;
            for (const toml::node& element : *elements) {
                mention(position++, element.source().begin, element);
            }
        }
    }

    // JSON has no dates and times, so they become strings in TOML's format.
    void append_json(std::string& out, const toml::node& node, const std::string& pointer) {
        if (const toml::table* members = node.as_table()) {
            json::ObjectWriter writer(out);
            for (const auto& [key, value] : *members) {
                std::string below = pointer;
                json::append_pointer(below, key.str());
                writer.key(key.str());
                append_json(out, value, below);
            }
            writer.end();
        } else if (const toml::array* elements = node.as_array()) {
            out += '[';
            size_t position = 0;
            for (const toml::node& element : *elements) {
                if (position > 0) out += ',';
                std::string below = pointer;
                json::append_pointer(below, position++);
                append_json(out, element, below);
            }
            out += ']';
        } else if (const auto* content = node.as_string()) {
            json::append_string(out, content->get());
        } else if (const auto* whole = node.as_integer()) {
            json::append_number(out, whole->get());
        } else if (const auto* flag = node.as_boolean()) {
            out += flag->get() ? "true" : "false";
        } else if (const auto* real = node.as_floating_point()) {
            if (!std::isfinite(real->get())) {
                fault(node.source().begin, pointer, "story-range",
                      pointer.substr(1) + " must be a finite number, because it becomes JSON");
                out += "null";
                return;
            }
            char digits[40];
            const auto end = std::to_chars(digits, digits + sizeof digits, real->get()).ptr;
            out.append(digits, end);
        } else {
            std::ostringstream written;
            node.visit([&](const auto& value) {
                if constexpr (toml::is_chronological<decltype(value)>) written << value.get();
            });
            json::append_string(out, written.str());
        }
    }

    std::string_view text_;
    const TomlPlaces places_;
    Story& story_;
    Faults& faults_;
};

}  // namespace

void read_story_toml(std::string_view text, Story& story, Faults& faults) {
    const size_t first = faults.size();
    StoryReader(text, story, faults).read();
    std::stable_sort(faults.begin() + static_cast<std::ptrdiff_t>(first), faults.end(),
                     [](const Fault& a, const Fault& b) { return a.byte < b.byte; });
}

}  // namespace narratoria::session
