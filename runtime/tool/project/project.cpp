// SPDX-License-Identifier: Apache-2.0
#include "tool/project/project.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/folders.hpp"
#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "tool/project/container_program.hpp"
#include "tool/project/entry_problem.hpp"
#include "tool/project/faults.hpp"
#include "tool/project/loader.hpp"
#include "tool/project/python_environment.hpp"

namespace narratoria::tool::project {
namespace {

// Runner name for tools of kind node. No such runner is registered, so calls fail with an error.
constexpr const char* kNodeRunner = "node";

std::string variable_of_process(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

std::shared_ptr<const Definition> definition_of(const Loader& loader, const Bound& tool) {
    auto definition = std::make_shared<Definition>();
    const Binding& binding = *tool.binding;
    definition->name = binding.name;
    const bool is_node = binding.runner == RunnerKind::Local && binding.kind == "node";
    definition->runner = is_node ? kNodeRunner : name_of(binding.runner);
    definition->binding = tool.binding;
    definition->try_ms = binding.timeout_ms;
    definition->waits = binding.runner == RunnerKind::Service;
    definition->origin = {Origin::Kind::Project, loader.path_of(tool.place.file)};
    return definition;
}

bool has_errors(const Faults& faults, size_t first) {
    return std::any_of(faults.begin() + static_cast<std::ptrdiff_t>(first), faults.end(),
                       [](const Fault& each) { return !each.is_warning; });
}

}  // namespace

Surroundings surroundings(std::vector<std::string> environment) {
    Surroundings out{std::move(environment),
                     variable_of_process("N3_PYTHON_TOOL_TIMEOUT_SECONDS"),
                     variable_of_process("N3_TOOL_SERVICE_URL"),
                     variable_of_process("NARRATORIA_PACK_PATH"),
                     {}};
    if (const std::string folder = library_folder(); !folder.empty()) {
        out.builtin_packs.push_back(folder + "/narratoria/packs");
    }
    return out;
}

bool is_project(const std::string& folder) {
    struct stat status {};
    return ::stat((folder + "/.namel3ss").c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::optional<Project> load(const std::string& folder, const Surroundings& surroundings,
                            Faults& faults) {
    const size_t first = faults.size();
    Loader loader(surroundings, faults);
    if (!loader.read(folder)) return std::nullopt;
    for (const size_t i : loader.contained()) faults[i].is_warning = true;
    if (has_errors(faults, first)) return std::nullopt;
    Project project;
    project.root = loader.root();
    for (const Bound& tool : loader.tools()) {
        project.tools.push_back(definition_of(loader, tool));
    }
    return project;
}

void check(const std::string& folder, const Surroundings& surroundings,
           std::string (*script_name)(const Definition&), Faults& faults) {
    Loader loader(surroundings, faults);
    if (!loader.read(folder)) return;
    std::map<std::string, std::string_view> by_script_name;
    for (const Bound& tool : loader.tools()) {
        const auto [same, is_new] =
            by_script_name.emplace(script_name(*definition_of(loader, tool)), tool.binding->name);
        if (is_new) continue;
        faults.push_back(placed(tool.place, "project-script-name",
                                "the tool " + json::quoted(tool.binding->name) +
                                    " has the same name in scripts as " +
                                    json::quoted(same->second) + ", " + same->first +
                                    ", so scripts can call neither; rename one of them",
                                true));
    }
    bool is_told_of_python = false;
    bool is_told_of_containers = false;
    for (const Bound& tool : loader.tools()) {
        const Binding& binding = *tool.binding;
        if (!binding.problem.empty()) continue;
        const auto report = [&](const char* rule, const char* field, const std::string& message,
                                bool is_warning) {
            faults.push_back(placed(tool.place, rule,
                                    "the tool " + json::quoted(binding.name) + ": " + message,
                                    is_warning));
            json::append_pointer(faults.back().pointer, field);
        };
        if (const std::string how = coverage_problem(binding);
            !how.empty() && !binding.allow_unsafe) {
            report("project-coverage", "sandbox",
                   "its guarantees would not be enforced, so no call starts: " + how, false);
        }
        std::string reason;
        if (binding.runner == RunnerKind::Container && !is_told_of_containers &&
            find_container_program(environment_of_host(), reason).empty()) {
            is_told_of_containers = true;
            report("project-container", "runner", reason, true);
        }
        if (binding.runner != RunnerKind::Local) continue;
        if (binding.kind == "node") {
            report("project-runner", "kind", "tools of the kind node are not supported", false);
            continue;
        }
        std::string problem = binding.python.problem;
        if (problem.empty()) {
            problem = interpreter_problem(binding.python,
                                          binding.sandbox ? binding.guarantees : Guarantees());
        }
        if (!problem.empty() && !std::exchange(is_told_of_python, true)) {
            report("project-python", "entry", problem, false);
        }
        if (const auto entry = entry_problem(binding)) {
            report("project-entry", "entry", entry->message, entry->is_warning);
        }
    }
}

}  // namespace narratoria::tool::project
