// SPDX-License-Identifier: Apache-2.0
#include "tool/resolver.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/json/writer.hpp"
#include "base/near_name.hpp"
#include "base/strict_keys.hpp"
#include "process/find_program.hpp"

namespace narratoria::tool {
namespace {

std::string resolved(const std::string& path, std::error_code& failure) {
    const std::filesystem::path result = std::filesystem::weakly_canonical(path, failure);
    return failure ? std::string() : result.string();
}

bool exists(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0;
}

// `real`: a result of resolved().
bool lies_below(const std::string& real, const std::vector<std::string>& roots) {
    return std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
        if (root.empty()) return false;
        if (root == "/" || real == root) return true;
        return real.size() > root.size() && real.compare(0, root.size(), root) == 0 &&
               real[root.size()] == '/';
    });
}

}  // namespace

void Resolver::restrict_to(const std::vector<std::string>& allow_paths,
                           std::vector<std::string> allow_schemes, std::string story) {
    Restriction& restriction = restrictions_.emplace_back();
    restriction.story = std::move(story);
    restriction.schemes = std::move(allow_schemes);
    for (std::string root : allow_paths) {
        std::error_code failure;
        root = resolved(root, failure);
        while (root.size() > 1 && root.back() == '/') root.pop_back();
        restriction.roots.push_back(std::move(root));
    }
}

Resolution Resolver::resolve(std::string_view tool_path, const std::string& folder) const {
    Resolution out;
    if (tool_path.find('\0') != std::string_view::npos) {
        out.error = "its path contains a NUL character";
        return out;
    }
    if (auto registered = registry_.find(tool_path)) {
        if (registered->path.empty()) {
            if (registered->binding) out.error = refusal_of(*registered);
            out.forbidden = !out.error.empty();
            out.definition = std::move(registered);
            if (!out.forbidden) find_runner(out);
            return out;
        }
        out = resolve_path(registered->path, folder);
        if (out.error.empty()) out.definition = std::move(registered);
        return out;
    }
    return resolve_path(tool_path, folder);
}

Resolution Resolver::resolve_path(std::string_view tool_path, const std::string& folder) const {
    Resolution out;
    const std::string_view scheme = scheme_of(tool_path);
    if (scheme.empty()) return resolve_file(tool_path, folder);
    const Runners::Scheme* known = runners_.find_scheme(scheme);
    if (known == nullptr) {
        const std::string path(tool_path);
        out.error = "no tool runner has the scheme \"" + std::string(scheme) + "\" of \"" + path +
                    "\"" + did_you_mean(runners_.near_scheme(scheme)) + "; write \"./" + path +
                    "\" for a file with a colon in its name";
        return out;
    }
    out.runner = known->runner.get();
    out.target = tool_path.substr(scheme.size() + 1);
    // The restriction also covers programs that a plugin's runner starts. The part of the tool path
    // that the plugin treats as a path is unknown, so the text after every colon must be allowed,
    // unless the scheme is allowed as a whole.
    for (size_t colon = scheme.size(); !restrictions_.empty() && colon != std::string_view::npos;
         colon = tool_path.find(':', colon + 1)) {
        const std::string_view rest = tool_path.substr(colon + 1);
        // The rest is itself "name:path"; the next round checks its path.
        if (!scheme_of(rest).empty()) continue;
        Resolution file = resolve_file(rest.empty() ? std::string_view(".") : rest, folder, scheme);
        if (!file.forbidden) continue;
        file.error += "; this also applies to the text after \"" + std::string(scheme) +
                      ":\", unless allow_schemes lists \"" + std::string(scheme) + "\"";
        return file;
    }
    auto definition = std::make_shared<Definition>(*remote_file(out.target, folder, out.error));
    if (!out.error.empty()) out.target.clear();
    definition->name = tool_path;
    definition->runner = scheme;
    definition->origin = {Origin::Kind::Plan, {}};
    out.definition = std::move(definition);
    return out;
}

// Returns the definition of the program that a runner starts for `target`, "path" or "NAME:path". The
// program may exist on another machine only; its manifest counts if it exists here. Sets `problem` if
// the manifest cannot be used.
std::shared_ptr<const Definition> Resolver::remote_file(std::string_view target,
                                                        const std::string& folder,
                                                        std::string& problem) const {
    for (std::string_view name; !(name = scheme_of(target)).empty();) {
        target.remove_prefix(name.size() + 1);
    }
    // Not the story's tools folder: for runners a path is relative to the plan's folder.
    const std::string path =
        target.starts_with('/') ? std::string(target) : folder + "/" + std::string(target);
    if (!exists(manifest_path(path))) return std::make_shared<Definition>();
    return registry_.file(path, problem);
}

bool Resolver::waits(std::string_view tool_path) const {
    const auto& definition = registry_.find(tool_path);
    if (definition != nullptr && definition->path.empty()) return definition->waits;
    const std::string_view path =
        definition != nullptr ? std::string_view(definition->path) : tool_path;
    const Runners::Scheme* const scheme = runners_.find_scheme(scheme_of(path));
    return scheme != nullptr && scheme->waits;
}

std::string Resolver::file_of(const std::string& path, const std::string& folder) const {
    if (path.front() == '/') return path;
    std::string program = folder + "/" + path;
    if (!story_tools_.empty() && !exists(program)) {
        std::string in_story = story_tools_ + "/" + path;
        if (exists(in_story)) return in_story;
    }
    return program;
}

std::string Resolver::clash(std::string_view tool_path, const std::string& folder) const {
    const auto registered = tool_path.empty() ? nullptr : registry_.find(tool_path);
    if (registered == nullptr) return {};
    std::string program = file_of(std::string(tool_path), folder);
    if (!process::is_program(program)) return {};
    std::error_code none;
    if (!registered->path.empty() && std::filesystem::equivalent(program, registered->path, none)) {
        return {};
    }
    return json::quoted(tool_path) + " is a registered tool of " + describe(registered->origin) +
           " and also the file " + program + "; rename the tool, or write " +
           json::quoted("./" + std::string(tool_path)) + " for the file";
}

Resolution Resolver::resolve_file(std::string_view tool_path, const std::string& folder,
                                  std::string_view scheme) const {
    Resolution out;
    std::string program = file_of(std::string(tool_path), folder);
    out.error = refusal_of(program, scheme);
    out.forbidden = !out.error.empty();
    // Probably the misspelled name of a tool.
    if (scheme.empty() && tool_path.find('/') == std::string_view::npos && !exists(program)) {
        const std::string meant = did_you_mean(near_tool(tool_path));
        if (out.forbidden) {
            out.error = json::quoted(tool_path) + " is not a registered tool, and " + out.error;
        } else if (!meant.empty()) {
            out.error = json::quoted(tool_path) +
                        " is neither a registered tool nor a file of the plan's folder";
        }
        out.error += meant;
    }
    if (!out.error.empty()) return out;
    out.definition = registry_.file(program, out.error);
    if (!out.error.empty()) return out;
    out.target = std::move(program);
    find_runner(out);
    return out;
}

// Returns the reason why a file must not run; empty if it may. The restrictions of the engine and
// the story are independent; a path must satisfy each.
std::string Resolver::refusal_of(const std::string& path, std::string_view scheme,
                                 bool is_project) const {
    if (restrictions_.empty()) return {};
    std::error_code failure;
    const std::string real = resolved(path, failure);
    for (const auto& [roots, schemes, story] : restrictions_) {
        if (std::find(schemes.begin(), schemes.end(), scheme) != schemes.end()) continue;
        if (!failure && lies_below(real, roots)) continue;
        if (failure) {
            return "it cannot be checked that \"" + path +
                   "\" is in the allowed paths: " + failure.message();
        }
        std::string listed;
        for (const std::string& root : roots) listed += (listed.empty() ? "" : ", ") + root;
        std::string refusal = "\"" + path + "\" is outside the allowed paths (" + listed + ")";
        if (!is_project) return refusal;
        if (story.empty()) return refusal + "; the engine's allow_paths must list it";
        std::error_code none;
        const bool is_own = std::filesystem::equivalent(path, story, none);
        return refusal + "; add " + json::quoted(is_own ? "." : path) +
               " to allow_paths under [tools] in story.toml";
    }
    return {};
}

// The same for a tool of a project: its code must be in the allowed paths. The code of a service or
// a container has no path, so allow_schemes must list the runner.
std::string Resolver::refusal_of(const Definition& definition) const {
    const std::string_view runner = definition.binding->runner_name();
    const std::string code(definition.binding->code_folder());
    if (!code.empty()) return refusal_of(code, runner, true);
    for (const auto& [roots, schemes, story] : restrictions_) {
        if (std::find(schemes.begin(), schemes.end(), runner) != schemes.end()) continue;
        return "the tool " + json::quoted(definition.name) + " runs outside the allowed paths; " +
               "allow_schemes must list " + json::quoted(runner);
    }
    return {};
}

std::string Resolver::near_tool(std::string_view name) const {
    const std::string_view registered = near_name(name, registry_.names());
    if (!registered.empty() || suggested_ == kMostSuggested) return std::string(registered);
    ++suggested_;
    std::vector<std::string> names;
    for (const auto& each : registry_.list()) names.push_back(each->name);
    return std::string(near_name(name, std::vector<std::string_view>(names.begin(), names.end())));
}

void Resolver::find_runner(Resolution& resolution) const {
    const Definition& definition = *resolution.definition;
    if (definition.binding && !definition.binding->fault().empty()) {
        resolution.error =
            "the tool " + json::quoted(definition.name) +
            " of the project cannot be called: " + std::string(definition.binding->fault());
        return;
    }
    resolution.runner = runners_.find(definition.runner);
    if (resolution.runner != nullptr) return;
    resolution.error = "the tool \"" + definition.name + "\" needs the runner \"" +
                       definition.runner + "\", which this session does not have";
}

}  // namespace narratoria::tool
