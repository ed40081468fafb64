// SPDX-License-Identifier: Apache-2.0
#include "session/story.hpp"
#include "session/script_name.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "base/json/writer.hpp"
#include "base/near_file.hpp"
#include "base/regular_file.hpp"
#include "engine/engine.hpp"
#include "session/prompts.hpp"
#include "session/state_check.hpp"
#include "session/story_check.hpp"
#include "session/story_toml.hpp"
#include "tool/manifest.hpp"
#include "tool/project/project.hpp"

namespace narratoria::session {
namespace {

constexpr size_t kStorySizeLimit = size_t{1} << 20;
constexpr size_t kPromptsSizeLimit = size_t{64} << 20;

Fault file_fault(const char* file, const char* rule, std::string message) {
    Fault fault{rule, "", 0, std::move(message), file};
    fault.has_position = false;
    return fault;
}

std::string reason(int error) { return std::strerror(error); }

FileReading read_file(const std::string& folder, const char* name, size_t limit, std::string& text,
                      Faults& faults) {
    std::string why;
    const FileReading reading = read_regular_file(folder + "/" + name, name, limit, text, why);
    if (reading == FileReading::Failed) {
        faults.push_back(file_fault(name, "story-file", std::move(why)));
    }
    return reading;
}

// Editors on Windows may begin a file with a byte order mark, which story.toml may have, too.
void remove_byte_order_mark(std::string& text) {
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    if (text.starts_with(kMark)) text.erase(0, kMark.size());
}

// Checks the manifests in the story's tools folder.
void check_manifests(const std::string& folder, Faults& faults) {
    std::vector<std::string> names;
    std::error_code failure;
    std::filesystem::directory_iterator each(folder + "/tools", failure), end;
    while (!failure && each != end) {
        std::string name = each->path().filename().string();
        if (name.ends_with(tool::kManifestEnding)) names.push_back(std::move(name));
        each.increment(failure);
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
        const std::string file = "tools/" + name;
        std::string text;
        if (read_file(folder, file.c_str(), tool::Manifest::kMaxBytes, text, faults) !=
            FileReading::Read) {
            continue;
        }
        const size_t first = faults.size();
        tool::Manifest().parse(text, faults,
                               name.substr(0, name.size() - tool::kManifestEnding.size()));
        for (size_t i = first; i < faults.size(); ++i) faults[i].file = file;
        place_faults(faults, first, text);
    }
}

// Reads the script that narrates the story.
void check_script(Story& story, Faults& faults) {
    std::string text;
    if (read_script(story, story.narrator, text, faults) != nullptr) {
        story.script_text = std::move(text);
        return;
    }
    // A missing file has no position, so report it where story.toml names it.
    Fault& fault = faults.back();
    if (fault.line > 0 || !story.mentions.narrator) return;
    std::string message = std::move(fault.message);
    fault = story.mentions.narrator->place;
    fault.rule = "story-file";
    fault.message = std::move(message);
}

// Reads as much of the story as can be read. False if its folder cannot be entered.
bool read_story(const std::string& folder, Story& story, std::shared_ptr<const Prompts>& prompts,
                Faults& faults) {
    struct stat status {};
    const bool has_nul = folder.find('\0') != std::string::npos;
    if (folder.empty() || has_nul || ::stat(folder.c_str(), &status) != 0) {
        faults.push_back(file_fault("", kStoryFolderRule,
                                    "the story's folder " + json::quoted(folder) +
                                        " cannot be found: " +
                                        (folder.empty() ? "its name is empty"
                                         : has_nul      ? "its name contains a NUL character"
                                                        : reason(errno))));
        return false;
    }
    if (!S_ISDIR(status.st_mode)) {
        faults.push_back(file_fault(
            "", kStoryFolderRule,
            json::quoted(folder) + " is not a folder; name the folder of the story.toml"));
        return false;
    }
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(folder.c_str(), nullptr),
                                                      std::free);
    if (!real) {
        faults.push_back(file_fault(
            "", kStoryFolderRule,
            "the story's folder " + json::quoted(folder) + " cannot be entered: " + reason(errno)));
        return false;
    }
    story.folder = real.get();

    std::string text;
    switch (read_file(story.folder, kStoryToml, kStorySizeLimit, text, faults)) {
        case FileReading::Read: read_story_toml(text, story, faults); break;
        case FileReading::Missing:
            faults.push_back(
                file_fault(kStoryToml, "story-file",
                           "there is no story.toml in " + json::quoted(story.folder) +
                               "; a story needs one with at least a line title = \"…\""));
            break;
        case FileReading::Failed: break;
    }
    switch (read_file(story.folder, kPromptsJson, kPromptsSizeLimit, text, faults)) {
        case FileReading::Read:
            remove_byte_order_mark(text);
            prompts = read_prompts(text, faults);
            story.prompts_text = std::move(text);
            break;
        case FileReading::Missing:
            // A fault only if the story names the template narrator. Otherwise the host may supply
            // another narrator, which needs no prompts.
            if (story.names_narrator && story.narrator == kTemplateNarrator) {
                faults.push_back(missing_prompts(story));
            }
            break;
        case FileReading::Failed: break;
    }
    if (read_file(story.folder, kStateSchema, kStorySizeLimit, text, faults) == FileReading::Read) {
        remove_byte_order_mark(text);
        check_state_schema(story, *prompts, text, faults);
        story.state_schema = std::move(text);
    }
    if (is_script(story.narrator)) check_script(story, faults);
    check_manifests(story.folder, faults);
    return true;
}

// The position of the fault's file in the order of the report.
int rank(const Fault& fault) {
    if (fault.file == kStoryToml) return 0;
    return fault.file == kPromptsJson ? 1 : 2;
}

}  // namespace

Fault missing_prompts(const Story& story) {
    const std::string near = near_file(kPromptsJson, story.folder + "/" + kPromptsJson);
    return file_fault(kPromptsJson, "story-file",
                      "the narrator \"template\" needs a prompts.json, which does not exist; " +
                          (near.empty() ? "write it" : "rename " + json::quoted(near)) +
                          ", or name a different narrator");
}

bool is_script(std::string_view narrator) { return narrator.ends_with(".nuwa"); }

std::shared_ptr<const script::Program> read_script(const Story& story, const std::string& name,
                                                   std::string& text, Faults& faults) {
    const auto refuse = [&](std::string message) {
        faults.push_back({"story-file", "", 0, std::move(message), name});
        return nullptr;
    };
    if (name.front() == '/' || ("/" + name + "/").find("/../") != std::string::npos ||
        name.find('\0') != std::string::npos) {
        return refuse("the script " + json::quoted(name) +
                      " must be in the story's folder; write its path relative to that folder");
    }
    script::Limits limits;
    if (story.limits.script_source_bytes.value_or(0) != 0) {
        limits.source_bytes = *story.limits.script_source_bytes;
    }
    switch (read_file(story.folder, name.c_str(), limits.source_bytes, text, faults)) {
        case FileReading::Read: break;
        case FileReading::Missing:
            return refuse("the script " + json::quoted(name) +
                          " that narrates the story does not exist");
        case FileReading::Failed: return nullptr;
    }
    script::Error error;
    auto program = script::Program::compile(text, limits, error);
    if (program == nullptr) {
        Fault fault{"story-script", "", 0, error.name + ": " + error.message, name};
        fault.line = std::max(error.line, 1u);
        fault.column = std::max(error.column, 1u);
        faults.push_back(std::move(fault));
    }
    return program;
}

std::optional<Story> load_story(const std::string& folder, Faults& faults) {
    const size_t before = faults.size();
    Story story;
    auto prompts = std::make_shared<const Prompts>();
    if (!read_story(folder, story, prompts, faults) || faults.size() != before) return std::nullopt;
    return story;
}

void check_story(const std::string& folder, Faults& faults) {
    Story story;
    auto prompts = std::make_shared<const Prompts>();
    if (!read_story(folder, story, prompts, faults)) return;
    faults.insert(faults.end(), prompts->warnings.begin(), prompts->warnings.end());
    check_mentions(story, *prompts, faults);
    if (tool::project::is_project(story.folder)) {
        tool::project::check(story.folder,
                             tool::project::surroundings(engine::tool_environment({})), script_name,
                             faults);
    }
    std::stable_sort(faults.begin(), faults.end(), [](const Fault& a, const Fault& b) {
        return std::pair(rank(a), a.byte) < std::pair(rank(b), b.byte);
    });
}

}  // namespace narratoria::session
