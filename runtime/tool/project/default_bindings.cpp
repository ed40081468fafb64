// SPDX-License-Identifier: Apache-2.0
#include "tool/project/default_bindings.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "base/regular_file.hpp"
#include "tool/project/tree.hpp"

namespace narratoria::tool::project {

bool has_word(std::string_view text, std::string_view word) {
    const auto is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || static_cast<unsigned char>(c) >= 0x80;
    };
    for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        const size_t end = at + word.size();
        if ((at == 0 || !is_letter(text[at - 1])) &&
            (end == text.size() || !is_letter(text[end]))) {
            return true;
        }
    }
    return false;
}

namespace {

namespace fs = std::filesystem;

// True if a line of the Python module seems to define the name "run": a function, an assignment, a
// class or an import, at any indentation. Runs nothing.
bool defines_run(std::string_view module) {
    while (!module.empty()) {
        const size_t end = std::min(module.find('\n'), module.size());
        std::string_view line = module.substr(0, end);
        module.remove_prefix(std::min(end + 1, module.size()));
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        const bool is_import = line.starts_with("from ") || line.starts_with("import ");
        if (is_import && has_word(line, "run")) return true;
        bool is_definition = false;
        for (const std::string_view start : {"async def ", "def ", "class "}) {
            if (!line.starts_with(start)) continue;
            line.remove_prefix(start.size());
            is_definition = true;
        }
        if (!line.starts_with("run")) continue;
        line.remove_prefix(3);
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        if (line.empty() || line.starts_with("==")) continue;
        if (line.front() == '=' || line.front() == ':') return true;
        if (line.front() == '(' && is_definition) return true;
    }
    return false;
}

// Returns the names of the tools that a program of Namel3ss declares: tool "NAME": at the beginning
// of a line.
std::vector<std::string> declared_tools(std::string_view program) {
    constexpr std::string_view kStart = "tool \"";
    std::vector<std::string> names;
    while (!program.empty()) {
        const size_t end = std::min(program.find('\n'), program.size());
        std::string_view line = program.substr(0, end);
        program.remove_prefix(std::min(end + 1, program.size()));
        line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
        if (!line.starts_with(kStart) || !line.ends_with("\":")) continue;
        if (line.size() < kStart.size() + 3) continue;
        const std::string_view name = line.substr(kStart.size(), line.size() - kStart.size() - 2);
        const bool is_plain = std::none_of(name.begin(), name.end(), [](char c) {
            return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '"';
        });
        if (is_plain) names.emplace_back(name);
    }
    return names;
}

// Returns the name of the module that has the tool of this name, as in Namel3ss: say_hello for "Say
// hello!".
std::string module_of(std::string_view tool) {
    const auto is_of_module = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    std::string out;
    for (const char c : tool) {
        if (!is_of_module(c)) {
            if (!out.empty() && out.back() != '_') out += '_';
        } else {
            out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
    }
    if (!out.empty() && out.back() == '_') out.pop_back();
    if (out.empty()) return "tool";
    return out.front() >= '0' && out.front() <= '9' ? "tool_" + out : out;
}

// The names of the tools that the project's .ai files declare, by the module's name that
// Namel3ss derives. Nothing else of these files is read.
std::map<std::string, std::vector<std::string>> find_declared(const std::string& root) {
    std::map<std::string, std::vector<std::string>> names;
    std::error_code failure;
    fs::directory_iterator file(root, failure), end;
    for (; !failure && file != end; file.increment(failure)) {
        std::string text, why;
        if (file->path().extension() != ".ai" ||
            read_regular_file(file->path().string(), "", kMaxFileBytes, text, why) !=
                FileReading::Read) {
            continue;
        }
        for (std::string& name : declared_tools(text)) {
            std::vector<std::string>& same = names[module_of(name)];
            if (std::find(same.begin(), same.end(), name) == same.end()) {
                same.push_back(std::move(name));
            }
        }
    }
    return names;
}

}  // namespace

std::vector<Draft> find_default_bindings(const std::string& root) {
    const std::map<std::string, std::vector<std::string>> declared = find_declared(root);
    std::vector<Draft> drafts;
    std::error_code failure;
    fs::directory_iterator file(root + "/tools", failure), end;
    for (; !failure && file != end; file.increment(failure)) {
        std::error_code none;
        const bool is_package = file->is_directory(none);
        const std::string module =
            is_package ? file->path().filename().string() : file->path().stem().string();
        if (!is_package && file->path().extension() != ".py") continue;
        if (!is_entry("tools." + module + ":run")) continue;
        const std::string shown = "tools/" + module + (is_package ? "/__init__.py" : ".py");
        std::string text, why;
        if (read_regular_file(root + "/" + shown, shown, kMaxFileBytes, text, why) !=
            FileReading::Read) {
            continue;
        }
        const auto found = declared.find(module);
        std::vector<std::string> names;
        if (found != declared.end()) names = found->second;
        else if (defines_run(text)) names = {module};
        for (const std::string& name : names) {
            Draft& draft = drafts.emplace_back();
            draft.binding.name = name;
            draft.binding.entry = "tools." + module + ":run";
            draft.place = Fault{"", "", 0, "", shown};
            draft.place.has_position = false;
        }
    }
    std::sort(drafts.begin(), drafts.end(), [](const Draft& one, const Draft& other) {
        return one.binding.name < other.binding.name;
    });
    // A module and a package of one name: Python imports the package.
    const auto is_same = [](const Draft& one, const Draft& other) {
        return one.binding.name == other.binding.name;
    };
    drafts.erase(std::unique(drafts.begin(), drafts.end(), is_same), drafts.end());
    return drafts;
}

}  // namespace narratoria::tool::project
