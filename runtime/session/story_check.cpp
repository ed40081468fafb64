// SPDX-License-Identifier: Apache-2.0
#include "session/story_check.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "base/bytes/utf8.hpp"
#include "base/json/error.hpp"
#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/near_file.hpp"
#include "base/near_name.hpp"
#include "base/strict_keys.hpp"
#include "engine/engine.hpp"
#include "narratoria/narrator.h"
#include "narratoria/tool.h"
#include "plugin/search.hpp"
#include "process/find_program.hpp"
#include "process/script.hpp"
#include "script/check.hpp"
#include "session/plugin_setup.hpp"
#include "session/prompts_check.hpp"
#include "session/script_narrator.hpp"
#include "session/script_run.hpp"
#include "session/story_toml.hpp"
#include "tool/project/project.hpp"
#include "tool/registry.hpp"
#include "tool/resolver.hpp"
#include "tool/runners.hpp"

namespace narratoria::session {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOfPlugin = "story-tool-plugin";
constexpr size_t kMostFiles = 100'000;

class Checker {
public:
    Checker(const Story& story, const Prompts& prompts, Faults& faults)
        : story_(story), prompts_(prompts), faults_(faults) {}

    void check() {
        // check_story() reports the project's faults. The tools of a faulty project are unknown.
        Faults apart;
        if (tool::project::is_project(story_.folder)) {
            const auto project =
                tool::project::load(story_.folder, tool::project::surroundings({}), apart);
            if (project) project_tools_ = project->tools;
            else is_project_broken_ = true;
        }
        check_prompts_exist();
        if (are_answers_known()) check_prompts(story_, prompts_, faults_);
        check_allowed_paths();
        check_plugins();
        check_tools();
        check_script();
        check_media_files();
    }

private:
    void warn(const Mention& mention, const char* rule, std::string message) {
        Fault fault = mention.place;
        fault.rule = rule;
        // File names may hold any bytes.
        fault.message = utf8::repaired(message);
        fault.is_warning = true;
        faults_.push_back(std::move(fault));
    }

    // A host may have its own narrator for a story that names none. The narrator is not known if
    // story.toml has a fault.
    void check_prompts_exist() {
        if (story_.narrator != kTemplateNarrator || !story_.prompts_text.empty()) return;
        const bool has_fault = std::any_of(faults_.begin(), faults_.end(), [](const Fault& fault) {
            return !fault.is_warning && (fault.file == kPromptsJson || fault.file == kStoryToml);
        });
        if (has_fault) return;
        faults_.push_back(missing_prompts(story_));
        faults_.back().is_warning = true;
    }

    void check_allowed_paths() {
        for (const Mention& mention : story_.mentions.allow_paths) {
            const std::string& path = mention.text;
            const std::string file = path.front() == '/' ? path : story_.folder + "/" + path;
            std::error_code error;
            if (fs::exists(file, error)) continue;
            std::string message = json::quoted(path) + " does not exist, so it allows no tool";
            if (path.find_first_of("*?") != std::string::npos) {
                message += "; write a folder or a file: patterns are not supported here";
            } else {
                // With a trailing slash the last part would be empty.
                std::string bare = file;
                while (bare.size() > 1 && bare.back() == '/') bare.pop_back();
                std::string shown = path;
                while (shown.size() > 1 && shown.back() == '/') shown.pop_back();
                message += did_you_mean(near_file(shown, bare));
            }
            warn(mention, "story-allow-path-missing", std::move(message));
        }
    }

    void check_plugins() {
        plugin::Wishes wishes;
        add_wishes(story_, true, wishes);
        const plugin::Search search =
            plugin::search(wishes, plugin::places(story_.folder), plugin::safe_mode());
        for (const plugin::Search::Missing& missing : search.missing) {
            report_missing(missing);
        }
        for (const plugin::Candidate* candidate : search.loads) {
            if (offers(*candidate, NAR_EXTENSION_TOOL)) {
                tool_plugins_.push_back(candidate->metadata->id);
            }
            const auto& narrator = story_.mentions.narrator;
            if (narrator && candidate->metadata->id == narrator->text &&
                !offers(*candidate, NAR_EXTENSION_NARRATOR)) {
                warn(*narrator, "story-narrator-unknown",
                     "the plugin " + json::quoted(narrator->text) + " offers no narrator");
            }
            check_settings(*candidate->metadata);
        }
    }

    void check_settings(const plugin::Metadata& metadata) {
        const auto own = story_.plugins.find(metadata.id);
        const std::string given = own == story_.plugins.end() ? "{}" : own->second;
        std::string table = "/plugins";
        json::append_pointer(table, metadata.id);
        for (const tool::SchemaFault& fault : plugin::check_settings(metadata, given)) {
            const std::string pointer = table + fault.pointer;
            if (is_faulty(pointer)) continue;
            Mention place = place_of_setting(metadata.id, table, fault.pointer);
            place.place.pointer = pointer;
            warn(place, "story-plugin-setting",
                 own == story_.plugins.end() ? describe_without_table(metadata.id, fault)
                                             : plugin::describe_setting(fault));
        }
    }

    // The story has no settings for the plugin, so the message names it and its table.
    static std::string describe_without_table(const std::string& id,
                                              const tool::SchemaFault& fault) {
        const std::string name = json::quoted(id);
        const std::string header = "[plugins." + name + "]";
        // A fault of {} concerns the whole object, or a missing member.
        if (fault.pointer.empty()) {
            return "the plugin " + name + " needs settings (" + plugin::describe_setting(fault) +
                   "); write " + header;
        }
        const std::string setting = fault.pointer.substr(1);
        return "the plugin " + name + " needs the setting " + json::quoted(setting) + "; write " +
               header + " " + setting + " = …";
    }

    // True if a fault was reported for this place of story.toml.
    bool is_faulty(const std::string& pointer) const {
        return std::any_of(faults_.begin(), faults_.end(), [&](const Fault& fault) {
            return !fault.is_warning && fault.file == kStoryToml && fault.pointer == pointer;
        });
    }

    // The innermost recorded setting that contains `pointer`, or what makes the story load the
    // plugin.
    Mention place_of_setting(const std::string& id, const std::string& table,
                             std::string_view pointer) const {
        for (; !pointer.empty(); pointer = pointer.substr(0, pointer.rfind('/'))) {
            const auto known = story_.mentions.settings.find(table + std::string(pointer));
            if (known != story_.mentions.settings.end()) return {"", known->second};
        }
        for (const Mention& mention : story_.mentions.plugins) {
            if (mention.text == id) return mention;
        }
        const auto& narrator = story_.mentions.narrator;
        if (narrator && narrator->text == id) return *narrator;
        return whole_story_toml();
    }

    static Mention whole_story_toml() {
        Mention story{"", {}};
        story.place.file = kStoryToml;
        story.place.has_position = false;
        return story;
    }

    static bool offers(const plugin::Candidate& candidate, std::string_view extension) {
        const std::vector<std::string>& all = candidate.metadata->extensions;
        return std::find(all.begin(), all.end(), extension) != all.end();
    }

    void report_missing(const plugin::Search::Missing& missing) {
        const auto& narrator = story_.mentions.narrator;
        const std::string what = json::quoted(missing.requested) +
                                 (missing.has_file ? " is not used: " : " was not found: ") +
                                 missing.why;
        bool is_named = false;
        if (narrator && narrator->text == missing.requested) {
            is_named = true;
            warn(*narrator, "story-narrator-unknown", "the narrator " + what);
        }
        for (const Mention& mention : story_.mentions.plugins) {
            if (mention.text != missing.requested) continue;
            is_named = true;
            warn(mention, missing.has_file ? "story-plugin-refused" : "story-plugin-unknown",
                 "the plugin " + what);
        }
        if (is_named) return;
        // A file in the story's plugins/.
        Mention file{missing.requested, {}};
        const bool is_in_story = missing.requested.starts_with(story_.folder + "/");
        file.place.file = utf8::repaired(
            std::string_view(missing.requested).substr(is_in_story ? story_.folder.size() + 1 : 0));
        file.place.has_position = false;
        warn(file, "story-plugin-refused", "this plugin is not used: " + missing.why);
    }

    void check_tools() {
        tool::Registry registry;
        const tool::Runners runners;
        for (const auto& tool : project_tools_) registry.add(tool);
        tool::Resolver resolver(registry, runners, story_.folder + "/tools");
        if (!story_.allow_paths.empty()) {
            resolver.restrict_to(story_.allow_paths, story_.allow_schemes, story_.folder);
            check_project_is_allowed(resolver);
        }
        check_sandboxed(resolver);
        check_unused(resolver);
        // Cached: stories repeat their tools, and looking for a similar name reads a folder.
        std::map<std::string_view, std::pair<const char*, std::string>> known;
        for (const Mention& mention : prompts_.tool_paths) {
            const std::string& path = mention.text;
            // Only the runner of a scheme knows its paths.
            if (!tool::scheme_of(path).empty()) continue;
            auto found = known.find(path);
            if (found == known.end()) {
                found = known.emplace(path, trouble_of(path, resolver)).first;
            }
            const auto& [rule, message] = found->second;
            if (message.empty()) continue;
            if (rule == kOfPlugin) warn_once(mention, message);
            else warn(mention, rule, message);
        }
    }

    void check_project_is_allowed(const tool::Resolver& resolver) {
        std::set<std::string> reported;  // tools with the same runner have the same refusal
        for (const auto& tool : project_tools_) {
            const tool::Resolution resolution = resolver.resolve(tool->name, story_.folder);
            if (!resolution.forbidden || !reported.insert(resolution.error).second) continue;
            const std::vector<Mention>& allowed = story_.mentions.allow_paths;
            warn(allowed.empty() ? whole_story_toml() : allowed.front(), "story-tool-forbidden",
                 "tools of the story's project cannot run: " + resolution.error);
        }
    }

    // Only a tool knows from which folder it reads a file, so each file of the story with the
    // given path, or with this path at its end, is the one that is meant.
    void check_media_files() {
        if (!are_answers_known() || prompts_.media_files.empty()) return;
        const std::vector<std::string> files = files_of_story();
        const std::vector<std::string_view> known(files.begin(), files.end());
        for (const Mention& mention : prompts_.media_files) {
            const std::string path = fs::path(mention.text).lexically_normal();
            std::error_code error;
            const bool exists =
                path.front() == '/'
                    ? fs::exists(path, error)
                    : std::any_of(files.begin(), files.end(), [&](const std::string& file) {
                          return ("/" + file).ends_with("/" + path);
                      });
            if (exists) continue;
            warn(mention, "story-media-missing",
                 "the story has no file " + json::quoted(mention.text) +
                     (near_name(path, known).empty() ? "; add it, or correct the path"
                                                     : did_you_mean(near_name(path, known))));
        }
    }

    // Relative to the story's folder. A folder that is too large is not read to its end.
    std::vector<std::string> files_of_story() const {
        std::vector<std::string> files;
        std::error_code failure;
        for (fs::recursive_directory_iterator each(story_.folder, failure), end;
             !failure && each != end && files.size() < kMostFiles; each.increment(failure)) {
            files.push_back(each->path().lexically_relative(story_.folder));
        }
        return files;
    }

    // The template narrator answers, and prompts.json has no fault: otherwise its patterns and tools
    // are not all known.
    bool are_answers_known() const {
        return story_.narrator == kTemplateNarrator && !story_.prompts_text.empty() &&
               std::none_of(faults_.begin(), faults_.end(), [](const Fault& fault) {
                   return fault.file == kPromptsJson && !fault.is_warning;
               });
    }

    // Warns of programs in tools/ that no answer uses, although answers use others.
    void check_unused(const tool::Resolver& resolver) {
        if (!are_answers_known() || prompts_.tool_paths.empty() || prompts_.has_other_tools ||
            !tool_plugins_.empty()) {
            return;
        }
        std::set<std::string> used;
        for (const Mention& mention : prompts_.tool_paths) {
            std::string path = mention.text;
            // A runner's program: the path after its schemes.
            for (auto scheme = tool::scheme_of(path); !scheme.empty();
                 scheme = tool::scheme_of(path)) {
                path.erase(0, scheme.size() + 1);
            }
            const std::string file = resolver.resolve(path, story_.folder).target;
            std::error_code error;
            // The unused tool may be the one that is meant.
            if (file.empty() || !fs::is_regular_file(file, error)) return;
            used.insert(file);
        }
        for (const auto& file : tool::Registry(story_.folder + "/tools").list_all()) {
            const std::string path = story_.folder + "/tools/" + file->name;
            if (used.contains(path)) continue;
            Mention place{file->name, {}};
            place.place.file = utf8::repaired("tools/" + file->name);
            place.place.has_position = false;
            warn(place, "story-tool-unused",
                 "no answer in prompts.json uses this tool; use it, or remove it");
        }
    }

    // Warns of [tools."NAME"] without such a tool: the name is probably misspelled.
    void check_sandboxed(const tool::Resolver& resolver) {
        const tool::Registry files(story_.folder + "/tools");
        std::vector<std::string> names;
        for (const auto& tool : project_tools_) names.push_back(tool->name);
        for (const auto& file : files.list_all()) {
            names.push_back(file->name);
            names.push_back(file->name.substr(0, file->name.rfind('.')));
        }
        for (const Mention& mention : story_.mentions.sandboxed) {
            const std::string& name = mention.text;
            if (std::find(names.begin(), names.end(), name) != names.end()) continue;
            if (resolver.resolve(name, story_.folder).error.empty()) continue;
            // A plugin or the faulty project may provide it.
            if (!tool_plugins_.empty() || is_project_broken_) continue;
            const std::vector<std::string_view> known(names.begin(), names.end());
            warn(mention, "story-tool-missing",
                 "[tools." + json::quoted(name) +
                     "]: no tool of the story has this name, so its guarantees have no effect" +
                     did_you_mean(near_name(name, known)));
        }
    }

    // The tools of a plugin are known only once it is loaded. A check loads none, because a story
    // may come from an untrusted source.
    std::string only_a_plugin() const {
        std::string ids;
        for (const std::string& id : tool_plugins_)
            ids += (ids.empty() ? "" : ", ") + json::quoted(id);
        return "only a plugin can provide it (" + ids + "); narratoria validate story --plugins " +
               process::shell_word(story_.folder) + " loads " +
               (tool_plugins_.size() == 1 ? "it" : "them") + " and checks";
    }
    // Warns at the first mention of the tool only.
    void warn_once(const Mention& mention, const std::string& message) {
        if (!told_.insert(mention.text).second) return;
        warn(mention, kOfPlugin, message);
        faults_.back().tool = mention.text;
    }

    // Checks that the narrator's script prints or calls something, and that its tools exist.
    void check_script() {
        if (!story_.script_text) return;
        script::Error error;
        const auto program = script::Program::compile(*story_.script_text, {}, error);
        if (program == nullptr) return;
        if (!program->acts()) {
            warn({"", {"", "", 0, "", story_.narrator}}, "story-script-silent",
                 "the script has no PRINT and no CALL, so the player sees nothing");
        }
        tool::Registry registry(story_.folder + "/tools");
        for (const auto& tool : project_tools_) registry.add(tool);
        const ScriptTools tools(registry, "");
        const auto unknown = [&](std::string_view name, std::string_view argument) {
            return tools.unknown_argument(name, argument);
        };
        for (const script::Error& fault :
             script::check(*story_.script_text, {}, {script_narrator_scope(), {}, unknown})) {
            Mention mention{"", {"", "", 0, "", story_.narrator}};
            mention.place.line = fault.line;
            mention.place.column = fault.column;
            std::string message = fault.name + ": " + fault.message;
            if (const std::string hint = script::hint_of(fault, *story_.script_text);
                !hint.empty()) {
                if (message.ends_with('.')) message.pop_back();
                message += "; " + hint;
            }
            warn(mention, "story-script-fails", message);
        }
        const std::vector<std::string_view> names = tools.names();
        for (const script::Program::ToolName& call : program->tool_names()) {
            std::string why;
            if (!tools.path_of(call.name, why).empty()) continue;
            Mention mention{std::string(call.name), {"", "", call.byte, "", story_.narrator}};
            const json::Position position = json::position_of(*story_.script_text, call.byte);
            mention.place.line = position.line;
            mention.place.column = position.column;
            if (!why.empty()) {
                warn(mention, "story-tool-ambiguous", "CALL " + mention.text + ": " + why);
                continue;
            }
            if (is_project_broken_) continue;
            const std::string meant = did_you_mean(near_name(call.name, names));
            if (tool_plugins_.empty()) {
                warn(mention, "story-tool-missing",
                     "CALL " + mention.text + ": no tool of the story has this name" + meant);
            } else {
                warn_once(mention, "CALL " + mention.text + ": no file in tools/ has this name; " +
                                       only_a_plugin() + meant);
            }
        }
    }

    std::pair<const char*, std::string> trouble_of(const std::string& path,
                                                   const tool::Resolver& resolver) const {
        const bool is_bare = path.find('/') == std::string::npos;
        const auto is_file = [&](const std::string& file) {
            struct stat status {};
            return ::stat(file.c_str(), &status) == 0;
        };
        const bool is_of_project =
            std::any_of(project_tools_.begin(), project_tools_.end(),
                        [&](const auto& tool) { return tool->name == path; });
        if (is_bare && is_project_broken_ && !is_file(story_.folder + "/tools/" + path)) return {};
        // Probably the name of a plugin's tool, which allow_paths does not concern.
        if (is_bare && !is_of_project && !tool_plugins_.empty() &&
            !is_file(story_.folder + "/" + path) && !is_file(story_.folder + "/tools/" + path)) {
            return {kOfPlugin, json::quoted(path) + " is not a file of the story; " +
                                   only_a_plugin() +
                                   did_you_mean(near_file(path, story_.folder + "/tools/" + path))};
        }
        const tool::Resolution resolution = resolver.resolve(path, story_.folder);
        if (is_of_project) return {};
        if (resolution.forbidden) {
            return {"story-tool-forbidden",
                    resolution.error + "; a plan with this tool is refused"};
        }
        if (resolution.target.empty() && resolution.definition != nullptr) {
            // The manifest cannot be used. check_manifests() reports those of tools/.
            const fs::path place(resolution.definition->origin.place);
            if (place.parent_path() == story_.folder + "/tools") return {};
            return {"story-tool-program", resolution.error};
        }
        const std::string& file = resolution.target;
        struct stat status {};
        if (::stat(file.c_str(), &status) != 0) {
            std::string meant = near_file(path, file);
            if (meant.empty() && is_bare) meant = near_file(path, story_.folder + "/tools/" + path);
            if (meant.empty() && !is_bare) {
                // The path names a different folder; look in tools/.
                const std::string name = path.substr(path.rfind('/') + 1);
                if (fs::path(file).parent_path() != story_.folder + "/tools" &&
                    ::stat((story_.folder + "/tools/" + name).c_str(), &status) == 0) {
                    meant = "tools/" + name;
                }
            }
            return {"story-tool-missing",
                    json::quoted(path) + " is not a file of the story, so this tool cannot run" +
                        did_you_mean(meant)};
        }
        if (S_ISDIR(status.st_mode)) {
            return {"story-tool-program", json::quoted(path) + " is a folder, not a program"};
        }
        if (!S_ISREG(status.st_mode)) {
            return {"story-tool-program", json::quoted(path) + " is not a regular file"};
        }
        if (!process::is_program(file)) {
            return {"story-tool-program", json::quoted(path) +
                                              " is not executable; run: chmod +x " +
                                              process::shell_word(file)};
        }
        if (status.st_size == 0) return {"story-tool-program", json::quoted(path) + " is empty"};
        std::string trouble = process::script_fault(file);
        if (trouble.empty()) trouble = fault_of_env(file);
        if (trouble.empty()) return {};
        return {"story-tool-program", json::quoted(path) + " " + trouble};
    }

    // Like process::script_fault(), for the program that "env" looks for.
    std::string fault_of_env(const std::string& file) const {
        const std::vector<std::string> line = process::interpreter_line(file);
        if (line.size() != 2 || !line.front().ends_with("/env")) return {};
        // The kernel passes all words as one, which only -S splits.
        std::string_view rest = line.back();
        const bool splits = rest.starts_with("-S");
        if (splits) rest.remove_prefix(std::min(rest.find_first_not_of(" \t", 2), rest.size()));
        const std::string name(splits ? rest.substr(0, rest.find_first_of(" \t")) : rest);
        // Options and variables may change where env looks.
        if (name.empty() || name.front() == '-' || name.find('=') != std::string::npos) return {};
        std::vector<std::string> changes;
        for (const auto& [key, value] : story_.environment) changes.push_back(key + "=" + value);
        std::string reason;
        const std::string found =
            process::find_program(name, engine::tool_environment(changes), reason);
        std::error_code error;
        if (!found.empty() && (found.find('/') != 0 || fs::exists(found, error))) return {};
        const bool needs_splitting = !splits && name.find_first_of(" \t") != std::string::npos;
        return "names an interpreter that does not exist: #!" + line.front() + " " + line.back() +
               (needs_splitting ? "; env takes several words only after -S: #!" + line.front() +
                                      " -S " + line.back()
                                : "");
    }

    const Story& story_;
    const Prompts& prompts_;
    Faults& faults_;
    std::vector<std::string> tool_plugins_;  // ids of the plugins that provide tools
    std::set<std::string, std::less<>> told_;
    std::vector<tool::Registry::Shared> project_tools_;
    bool is_project_broken_ = false;  // an unknown name may then be one of its tools
};

}  // namespace

void check_mentions(const Story& story, const Prompts& prompts, Faults& faults) {
    Checker(story, prompts, faults).check();
}

}  // namespace narratoria::session
