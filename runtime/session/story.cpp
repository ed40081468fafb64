// SPDX-License-Identifier: Apache-2.0
#include "session/story.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "base/descriptor.hpp"
#include "base/json.hpp"
#include "plan/plan.hpp"
#include "session/text_template.hpp"

namespace narratoria::session {
namespace {

constexpr const char* kStoryFile = "story.toml";
constexpr const char* kPromptsFile = "prompts.json";
constexpr size_t kStorySizeLimit = size_t{1} << 20;
constexpr size_t kPromptsSizeLimit = size_t{64} << 20;
constexpr const char* kNowhere = "/dev/null";

Fault file_fault(const char* file, const char* rule, std::string message) {
    Fault fault{rule, "", 0, std::move(message), file};
    fault.line = fault.column = 1;
    return fault;
}

std::string reason(int error) { return std::strerror(error); }

enum class Reading : uint8_t { Read, Missing, Failed };

// Reads a regular file whole; what is no file, such as a pipe, is refused instead of waited for.
Reading read_file(const std::string& folder, const char* name, size_t limit, std::string& text,
                  Faults& faults) {
    auto failed = [&](std::string message) {
        faults.push_back(file_fault(name, "story-file", std::move(message)));
        return Reading::Failed;
    };
    const std::string path = folder + "/" + name;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) {
        const int error = errno;
        if (error == ENOENT) return Reading::Missing;
        return failed(std::string(name) + " cannot be opened: " + reason(error));
    }
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) {
        return failed(std::string(name) + " cannot be looked at: " + reason(errno));
    }
    if (!S_ISREG(status.st_mode)) return failed(std::string(name) + " is no regular file");
    text.clear();
    char buffer[64 * 1024];
    for (;;) {
        const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
        if (got == 0) return Reading::Read;
        if (got < 0) {
            if (errno == EINTR) continue;
            return failed(std::string(name) + " cannot be read: " + reason(errno));
        }
        text.append(buffer, static_cast<size_t>(got));
        if (text.size() > limit) {
            return failed(std::string(name) + " is larger than " + std::to_string(limit >> 20) +
                          " MiB, the most that is read");
        }
    }
}

std::string quoted(std::string_view text) {
    std::string out;
    json::append_string(out, text);
    return out;
}

// ---------------------------------------------------------------- story.toml

// A dotted key makes a table inside a table for each dot, and the TOML library takes them apart by
// recursion: a line of dots would end the process. Gives the byte where a key or its values go
// deeper than any settings do. Strings and comments are passed over; what is no TOML at all is left
// to the library to tell.
std::optional<size_t> find_too_deep(std::string_view text) {
    constexpr uint32_t kDeepest = 128;
    std::vector<uint32_t> outer;  // dots in front of each bracket that is open
    uint32_t dots = 0;
    auto starts_with = [&](size_t at, std::string_view what) {
        return at < text.size() && text.substr(at, what.size()) == what;
    };
    for (size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '"' || c == '\'') {
            const bool escapes = c == '"';
            const std::string three(3, c);
            const bool many_lines = starts_with(at, three);
            at += many_lines ? 3 : 1;
            while (at < text.size() &&
                   !(many_lines ? starts_with(at, three) : text[at] == c || text[at] == '\n')) {
                at += escapes && text[at] == '\\' ? 2 : 1;
            }
            if (many_lines) {
                // Such a string may end with two quotes of its own.
                at += 2;
                while (starts_with(at + 1, std::string_view(three).substr(2))) ++at;
            }
        } else if (c == '#') {
            at = std::min(text.find('\n', at), text.size()) - 1;
        } else if (c == '[' || c == '{') {
            outer.push_back(dots);
            if (outer.size() + dots > kDeepest) return at;
        } else if (c == ']' || c == '}') {
            if (outer.empty()) return std::nullopt;
            dots = outer.back();
            outer.pop_back();
        } else if (c == ',' && !outer.empty()) {
            dots = outer.back();
        } else if (c == '\n' && outer.empty()) {
            dots = 0;
        } else if (c == '.' && outer.size() + ++dots > kDeepest) {
            return at;
        }
    }
    return std::nullopt;
}

class StoryReader {
public:
    StoryReader(std::string_view text, Story& story, Faults& faults)
        : text_(text), story_(story), faults_(faults) {
        line_starts_.push_back(0);
        for (size_t i = 0; i < text.size(); ++i) {
            if (text[i] == '\n') line_starts_.push_back(i + 1);
        }
    }

    void read() {
        if (const std::optional<size_t> byte = find_too_deep(text_)) {
            const size_t first = faults_.size();
            faults_.push_back({"story-depth", "", *byte,
                               "keys and values are nested deeper than 128 levels", kStoryFile});
            place_faults(faults_, first, text_);
            return;
        }
        const toml::parse_result parsed = toml::parse(text_);
        if (!parsed) {
            fault(parsed.error().source().begin, "", "story-toml",
                  "this is not TOML: " + std::string(parsed.error().description()));
            return;
        }
        read_root(parsed.table());
    }

    bool names_narrator() const { return names_narrator_; }

private:
    void fault(toml::source_position at, std::string pointer, const char* rule,
               std::string message) {
        Fault fault{rule, std::move(pointer), 0, std::move(message), kStoryFile};
        fault.line = std::max<size_t>(at.line, 1);
        fault.column = std::max<size_t>(at.column, 1);
        // Columns count characters.
        size_t byte = line_starts_[std::min(fault.line, line_starts_.size()) - 1];
        for (size_t column = 1; column < fault.column && byte < text_.size(); ++column) {
            do ++byte;
            while (byte < text_.size() && (static_cast<unsigned char>(text_[byte]) & 0xC0) == 0x80);
        }
        fault.byte = byte;
        faults_.push_back(std::move(fault));
    }

    void wrong_type(const toml::node& node, const std::string& pointer, const char* wanted) {
        std::ostringstream type;
        type << node.type();
        fault(node.source().begin, pointer, "story-type",
              pointer.substr(1) + " must be " + wanted + ", not " + type.str());
    }

    // Whether the table holds only keys that are known; each other one is a fault.
    void allow_keys(const toml::table& table, const std::string& pointer,
                    std::initializer_list<std::string_view> allowed) {
        for (const auto& [key, value] : table) {
            if (std::find(allowed.begin(), allowed.end(), key.str()) != allowed.end()) continue;
            std::string list;
            for (const std::string_view name : allowed) {
                if (!list.empty()) list += ", ";
                list += name;
            }
            std::string at = pointer;
            json::append_pointer(at, key.str());
            const bool known_place = key.source().begin.line != 0;
            fault(known_place ? key.source().begin : value.source().begin, std::move(at),
                  "story-key",
                  quoted(key.str()) + " is no key of " +
                      (pointer.empty() ? std::string(kStoryFile)
                                       : "[" + pointer.substr(1) + "]") +
                      "; there are " + list);
        }
    }

    const toml::table* table(const toml::table& parent, std::string_view key) {
        const toml::node* node = parent.get(key);
        if (node == nullptr) return nullptr;
        if (!node->is_table()) wrong_type(*node, "/" + std::string(key), "a table");
        return node->as_table();
    }

    // A string that is not empty; `nul` tells whether it may hold U+0000.
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
                  pointer.substr(1) + " holds a NUL character");
            return std::nullopt;
        }
        return value;
    }

    // A whole number from 0; what is too large for the place is the largest that fits.
    template <typename Number>
    void number(const toml::table& parent, const char* section, const char* key, const char* unit,
                std::optional<Number>& out) {
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
        constexpr auto kLargest = std::numeric_limits<Number>::max();
        out = static_cast<uint64_t>(value) > kLargest ? kLargest : static_cast<Number>(value);
    }

    void read_root(const toml::table& root) {
        allow_keys(root, "",
                   {"title", "narrator", "times", "limits", "tools", "fallback", "plugins"});
        if (root.get("title") == nullptr) {
            fault({1, 1}, "/title", "story-missing",
                  "\"title\" is missing; write title = \"…\" at the top");
        }
        story_.title = text(root.get("title"), "/title").value_or("");
        if (const toml::table* narrator = table(root, "narrator")) {
            allow_keys(*narrator, "/narrator", {"name"});
            if (const auto name = text(narrator->get("name"), "/narrator/name")) {
                story_.narrator = *name;
                names_narrator_ = true;
            }
        }
        if (const toml::table* times = table(root, "times")) {
            allow_keys(*times, "/times",
                       {"try_ms", "plan_ms", "narrator_ms", "prompt_ms", "grace_ms"});
            constexpr const char* kUnit = "whole milliseconds from 0, which is none";
            number(*times, "times", "try_ms", kUnit, story_.times.try_ms);
            number(*times, "times", "plan_ms", kUnit, story_.times.plan_ms);
            number(*times, "times", "narrator_ms", kUnit, story_.times.narrator_ms);
            number(*times, "times", "prompt_ms", kUnit, story_.times.prompt_ms);
            number(*times, "times", "grace_ms", kUnit, story_.times.grace_ms);
        }
        if (const toml::table* limits = table(root, "limits")) {
            allow_keys(*limits, "/limits",
                       {"memory_bytes", "cpu_seconds", "file_bytes", "open_files", "line_bytes",
                        "history_patches"});
            constexpr const char* kUnit = "a whole number from 0, which is no limit";
            number(*limits, "limits", "memory_bytes", kUnit, story_.limits.memory_bytes);
            number(*limits, "limits", "cpu_seconds", kUnit, story_.limits.cpu_seconds);
            number(*limits, "limits", "file_bytes", kUnit, story_.limits.file_bytes);
            number(*limits, "limits", "open_files", kUnit, story_.limits.open_files);
            number(*limits, "limits", "line_bytes", kUnit, story_.limits.line_bytes);
            number(*limits, "limits", "history_patches", kUnit, story_.limits.history_patches);
        }
        if (const toml::table* tools = table(root, "tools")) read_tools(*tools);
        if (const toml::table* fallback = table(root, "fallback")) read_fallback(*fallback);
        if (const toml::table* plugins = table(root, "plugins")) read_plugins(*plugins);
    }

    void read_tools(const toml::table& tools) {
        allow_keys(tools, "/tools", {"allow_paths", "environment"});
        if (const toml::node* list = tools.get("allow_paths")) {
            read_allow_paths(*list);
        }
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
                      "the name of an environment variable is empty or holds \"=\" or NUL");
                continue;
            }
            if (const auto content = text(&value, pointer, true, false)) {
                story_.environment.emplace_back(name, *content);
            }
        }
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
                story_.allow_paths.push_back(path->front() == '/' ? *path
                                                                  : story_.folder + "/" + *path);
            }
        }
        if (list.as_array()->empty()) story_.allow_paths.emplace_back(kNowhere);
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
                      "in " + quoted(*content) + " stands " + problem.message);
                continue;
            }
            for (const TemplatePart& part : *parts) {
                if (!part.is_name || part.text == "prompt") continue;
                fault(element.source().begin, pointer, "story-template",
                      "{" + part.text + "} stands for nothing here; there is {prompt}, and {{ and "
                      "}} for braces");
            }
            story_.fallback_templates.push_back(*content);
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
            std::string settings;
            append_json(settings, value, pointer);
            story_.plugins.emplace(key.str(), std::move(settings));
        }
    }

    // Dates and times, which JSON does not know, become strings as TOML writes them.
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
                      pointer.substr(1) + " is no finite number, and JSON has no other");
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
    Story& story_;
    Faults& faults_;
    std::vector<size_t> line_starts_;
    bool names_narrator_ = false;
};

// ---------------------------------------------------------------- prompts.json

class PromptsReader {
public:
    PromptsReader(const json::Document& document, Prompts& prompts, Faults& faults)
        : text_(document.text()), prompts_(prompts), faults_(faults) {}

    void read(json::Value root) {
        if (!is(root, "", json::Type::Object, "prompts.json must hold an object")) return;
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
        faults_.push_back({rule, std::move(pointer), byte_of(at), std::move(message),
                           kPromptsFile});
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

    void allow_keys(json::Value object, const std::string& pointer,
                    std::initializer_list<std::string_view> allowed) {
        for (const json::Member member : object.members()) {
            if (std::find(allowed.begin(), allowed.end(), member.key) != allowed.end()) continue;
            std::string list;
            for (const std::string_view name : allowed) {
                if (!list.empty()) list += " and ";
                list += quoted(name);
            }
            std::string at = pointer;
            json::append_pointer(at, member.key);
            fault(json::Value(&object.tape(), member.value.index() - 1), std::move(at),
                  "prompts-key",
                  quoted(member.key) + " is no key here; there are " + list);
        }
    }

    void read_entry(json::Value value, const std::string& pointer) {
        if (!is(value, pointer, json::Type::Object,
                "an entry must be an object with \"patterns\" and \"answers\"")) {
            return;
        }
        allow_keys(value, pointer, {"patterns", "answers"});
        PromptEntry entry;
        // An answer can use what every pattern captures: whichever matched, it must be there.
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
        // Without the patterns nothing can be said about names.
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
            fault(entry, place, "prompts-missing", quoted(key) + " is missing");
            return false;
        }
        if (!is(list, place, json::Type::Array, (quoted(key) + " must be an array").c_str())) {
            return false;
        }
        if (list.empty()) {
            fault(list, place, "prompts-empty", quoted(key) + " must hold at least one");
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
                  "in the pattern " + quoted(value.text()) + ": " + problem.message);
        }
        return pattern;
    }

    Answer read_answer(json::Value value, const std::string& pointer,
                       const std::vector<std::string>& names) {
        Answer answer;
        if (!is(value, pointer, json::Type::Object,
                "an answer must be an object with \"plan\" or \"narrative\"")) {
            return answer;
        }
        allow_keys(value, pointer, {"plan", "narrative"});
        const json::Value plan = value.find("plan");
        const json::Value narrative = value.find("narrative");
        if (static_cast<bool>(plan) == static_cast<bool>(narrative)) {
            fault(value, pointer, "prompts-answer",
                  plan ? "an answer has \"plan\" or \"narrative\", not both; a plan may hold a "
                         "narrative of its own"
                       : "an answer needs \"plan\" or \"narrative\"");
        }
        if (plan) {
            answer.kind = Answer::Kind::Plan;
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

    // The rules of plans, but for the requestId, which is made when it is left out.
    void read_plan(json::Value value, const std::string& pointer) {
        Faults found;
        plan::Plan plan;
        plan.parse(value.raw(), found);
        for (Fault& each : found) {
            if (each.pointer == "/requestId" && value.is_object() && !value.find("requestId")) {
                continue;
            }
            each.pointer.insert(0, pointer);
            each.byte += byte_of(value);
            each.file = kPromptsFile;
            faults_.push_back(std::move(each));
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
                  "in " + quoted(value.text()) + ": " + problem.message);
            return;
        }
        for (const TemplatePart& part : *parts) {
            if (!part.is_name || part.text == "prompt" || !check_names_) continue;
            if (std::find(names.begin(), names.end(), part.text) != names.end()) continue;
            std::string known = "{prompt}";
            for (const std::string& name : names) known += ", {" + name + "}";
            fault(value, pointer, "prompts-name",
                  "{" + part.text + "} stands for nothing here: not every pattern of this entry "
                  "captures it; there is " + known + ", and {{ and }} for braces");
        }
    }

    std::string_view text_;
    Prompts& prompts_;
    Faults& faults_;
    bool check_names_ = true;
};

void read_prompts(const std::string& text, Prompts& prompts, Faults& faults) {
    const size_t first = faults.size();
    json::Document document;
    json::ParseError error;
    if (document.parse(text, error)) {
        PromptsReader(document, prompts, faults).read(document.root());
    } else {
        faults.push_back({json::rule_of(error.kind), "", error.byte, error.message, kPromptsFile});
    }
    std::stable_sort(faults.begin() + static_cast<std::ptrdiff_t>(first), faults.end(),
                     [](const Fault& a, const Fault& b) { return a.byte < b.byte; });
    place_faults(faults, first, text);
}

}  // namespace

std::optional<Story> load_story(const std::string& folder, Faults& faults) {
    const size_t before = faults.size();
    struct stat status {};
    const bool has_nul = folder.find('\0') != std::string::npos;
    if (folder.empty() || has_nul || ::stat(folder.c_str(), &status) != 0) {
        faults.push_back(file_fault("", kStoryFolderRule,
                                    "the story's folder " + quoted(folder) + " cannot be found: " +
                                        (folder.empty() ? "its name is empty"
                                         : has_nul      ? "its name holds a NUL character"
                                                        : reason(errno))));
        return std::nullopt;
    }
    if (!S_ISDIR(status.st_mode)) {
        faults.push_back(file_fault("", kStoryFolderRule,
                                    quoted(folder) + " is no folder; a story is the folder that "
                                                     "its story.toml lies in"));
        return std::nullopt;
    }
    Story story;
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(folder.c_str(), nullptr),
                                                      std::free);
    if (!real) {
        faults.push_back(file_fault("", kStoryFolderRule,
                                    "the story's folder " + quoted(folder) +
                                        " cannot be entered: " + reason(errno)));
        return std::nullopt;
    }
    story.folder = real.get();

    std::string text;
    bool names_narrator = false;
    switch (read_file(story.folder, kStoryFile, kStorySizeLimit, text, faults)) {
        case Reading::Read: {
            StoryReader reader(text, story, faults);
            reader.read();
            names_narrator = reader.names_narrator();
            std::stable_sort(faults.begin() + static_cast<std::ptrdiff_t>(before), faults.end(),
                             [](const Fault& a, const Fault& b) { return a.byte < b.byte; });
            break;
        }
        case Reading::Missing:
            faults.push_back(file_fault(
                kStoryFile, "story-file",
                "there is no story.toml in " + quoted(story.folder) +
                    "; a story needs one with at least a line title = \"…\""));
            break;
        case Reading::Failed: break;
    }
    switch (read_file(story.folder, kPromptsFile, kPromptsSizeLimit, text, faults)) {
        case Reading::Read: read_prompts(text, story.prompts, faults); break;
        case Reading::Missing:
            // Whoever names the template narrator wants its prompts; a story that names nobody may
            // be one whose host brings a narrator.
            if (names_narrator && story.narrator == "template") {
                faults.push_back(file_fault(
                    kPromptsFile, "story-file",
                    "the story names the narrator \"template\", and the prompts.json that it "
                    "answers from is not there; write it, or name another narrator"));
            }
            break;
        case Reading::Failed: break;
    }
    if (faults.size() != before) return std::nullopt;
    return story;
}

}  // namespace narratoria::session
