// SPDX-License-Identifier: Apache-2.0
#include "tool/project/project.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/regular_file.hpp"
#include "narratoria/engine.h"
#include "tool/project/binding.hpp"
#include "tool/project/bindings_file.hpp"
#include "tool/project/pack_files.hpp"
#include "tool/project/python_environment.hpp"
#include "tool/project/settings_file.hpp"

namespace narratoria::tool::project {
namespace {

namespace fs = std::filesystem;

// With links resolved.
bool is_below(const std::string& path, const std::string& folder) {
    std::error_code error;
    const std::string above = fs::canonical(folder, error).string();
    const std::string real = fs::canonical(path, error).string();
    return !above.empty() && real.starts_with(above + "/");
}

constexpr const char* kBindings = ".namel3ss/tools.yaml";
constexpr const char* kSettings = "namel3ss.toml";
constexpr const char* kPolicy = ".namel3ss/trust/policy.toml";
constexpr const char* kPackFolders[] = {".namel3ss/packs", "packs/capability"};
constexpr uint32_t kDefaultTimeoutMs = 10'000;
// Of the tools of kind node: there is no runner of this name, and a call says so.
constexpr const char* kNodeRunner = "node";

Fault file_fault(std::string file, const char* rule, std::string message) {
    Fault fault{rule, "", 0, std::move(message), std::move(file)};
    fault.has_position = false;
    return fault;
}

std::string variable_of_process(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

// A tool whose fields are known, and where they stand.
struct Bound {
    std::shared_ptr<const Binding> binding;
    Fault place;
};

class Loader {
public:
    Loader(const Surroundings& surroundings, Faults& faults)
        : surroundings_(surroundings), faults_(faults) {}

    // False if the folder is none of a project.
    bool read(const std::string& folder) {
        if (!enter(folder)) return false;
        read_file(kSettings, [&](File& file) { settings_ = read_settings(file); });
        read_variables();
        python_ = find_python(root_, settings_.python, surroundings_.environment);
        check_path(python_, "project", root_);
        std::vector<Draft> drafts;
        const bool has_bindings =
            read_file(kBindings, [&](File& file) { drafts = read_bindings(file); });
        for (Draft& draft : drafts) add(std::move(draft), nullptr, {}, {});
        read_file(kPolicy, [&](File& file) { policy_ = read_policy(file); });
        bool has_packs = false;
        for (const char* folder_of_packs : kPackFolders) {
            has_packs = read_packs(folder_of_packs) || has_packs;
        }
        settle_packs();
        check_overrides();
        if (has_bindings || has_packs || is_project(root_)) return true;
        faults_.push_back(file_fault(
            "", kFolderRule,
            json::quoted(root_) + " is no project: it has no " + kBindings + " and no packs"));
        return false;
    }

    const std::string& root() const { return root_; }
    const std::vector<Bound>& tools() const { return tools_; }

private:
    struct PackOfProject {
        Manifest manifest;
        std::string folder;  // absolute
        std::map<std::string, Guarantees> capabilities;
    };

    static void check_path(PythonEnvironment& python, const char* what, const std::string& folder) {
        if (folder.find(':') == std::string::npos || !python.problem.empty()) return;
        python.problem = std::string("the path of the ") + what + ", " + folder +
                         ", holds a colon, and so cannot be in PYTHONPATH";
    }

    bool enter(const std::string& folder) {
        struct stat status {};
        const bool has_nul = folder.find('\0') != std::string::npos;
        const auto refuse = [&](const std::string& why) {
            faults_.push_back(file_fault(
                "", kFolderRule, "the project's folder " + json::quoted(folder) + " " + why));
            return false;
        };
        if (folder.empty()) return refuse("cannot be found: its name is empty");
        if (has_nul) return refuse("cannot be found: its name holds a NUL character");
        if (::stat(folder.c_str(), &status) != 0) {
            return refuse(std::string("cannot be found: ") + std::strerror(errno));
        }
        if (!S_ISDIR(status.st_mode)) return refuse("is no folder");
        const std::unique_ptr<char, void (*)(void*)> real(::realpath(folder.c_str(), nullptr),
                                                          std::free);
        if (!real) return refuse(std::string("cannot be entered: ") + std::strerror(errno));
        root_ = real.get();
        return true;
    }

    // False if there is no such file.
    template <typename Read>
    bool read_file(const std::string& name, Read&& read) {
        std::string text;
        std::string why;
        switch (read_regular_file(root_ + "/" + name, name, kMaxFileBytes, text, why)) {
            case FileReading::Missing: return false;
            case FileReading::Failed:
                faults_.push_back(file_fault(name, "project-file", std::move(why)));
                return true;
            case FileReading::Read: break;
        }
        File file(name, text, faults_);
        read(file);
        return true;
    }

    void read_variables() {
        if (!surroundings_.service_url.empty()) settings_.service_url = surroundings_.service_url;
        const std::string& given = surroundings_.timeout_seconds;
        if (given.empty()) return;
        constexpr uint32_t kMost = (NAR_NONE - 1) / 1000;
        uint32_t seconds = 0;
        const auto read = std::from_chars(given.data(), given.data() + given.size(), seconds);
        if (read.ec != std::errc() || read.ptr != given.data() + given.size() || seconds == 0 ||
            seconds > kMost) {
            faults_.push_back(file_fault(
                "", "project-variable",
                "the environment variable N3_PYTHON_TOOL_TIMEOUT_SECONDS must be a whole number "
                "from 1 to " +
                    std::to_string(kMost) + ", not " + json::quoted(given)));
            return;
        }
        settings_.timeout_ms = seconds * 1000;
    }

    // False if there is no such folder.
    bool read_packs(const std::string& folder) {
        std::error_code failure;
        std::vector<std::string> names;
        fs::directory_iterator each(root_ + "/" + folder, failure), end;
        if (failure == std::errc::no_such_file_or_directory) return false;
        while (!failure && each != end) {
            std::error_code none;
            if (each->is_directory(none)) names.push_back(each->path().filename().string());
            each.increment(failure);
        }
        if (failure) {
            faults_.push_back(file_fault(folder, "project-file",
                                         folder + " cannot be listed: " + failure.message()));
        }
        std::sort(names.begin(), names.end());
        for (const std::string& name : names) read_pack(folder, folder + "/" + name);
        return true;
    }

    void read_pack(const std::string& parent, const std::string& folder) {
        PackOfProject pack;
        pack.folder = root_ + "/" + folder;
        std::optional<Manifest> manifest;
        if (!read_file(folder + "/pack.yaml",
                       [&](File& file) { manifest = read_manifest(file); })) {
            faults_.push_back(
                file_fault(folder, "project-pack", "this folder of a pack has no pack.yaml"));
        }
        if (!manifest) return;
        pack.manifest = std::move(*manifest);
        const std::string& id = pack.manifest.pack.id;
        const auto lists = [&](const std::vector<std::string>& ids) {
            return std::find(ids.begin(), ids.end(), id) != ids.end();
        };
        const bool is_installed = parent == kPackFolders[0];
        if (lists(settings_.disabled_packs) ||
            (is_installed && settings_.enabled_packs && !lists(*settings_.enabled_packs))) {
            return;
        }
        std::vector<Draft> drafts;
        const bool has_bindings =
            read_file(folder + "/tools.yaml", [&](File& file) { drafts = read_bindings(file); });
        if (!has_bindings && pack.manifest.entrypoints) drafts = *pack.manifest.entrypoints;
        read_file(folder + "/capabilities.yaml",
                  [&](File& file) { pack.capabilities = read_capabilities(file); });
        check_pack(pack, drafts, has_bindings || pack.manifest.entrypoints.has_value());
        for (Draft& draft : drafts) {
            const auto declared = pack.capabilities.find(draft.binding.name);
            Guarantees guarantees;
            if (declared != pack.capabilities.end()) {
                guarantees = declared->second;
            } else {
                guarantees.require_all(GuaranteeSource::Pack);
            }
            add(std::move(draft), &pack.manifest, pack.folder, std::move(guarantees));
        }
    }

    void check_pack(const PackOfProject& pack, const std::vector<Draft>& drafts, bool has_tools) {
        const Manifest& manifest = pack.manifest;
        const std::string whose = "the pack " + json::quoted(manifest.pack.id);
        const auto fault = [&](const Fault& place, const char* rule, std::string message) {
            faults_.push_back(place);
            faults_.back().rule = rule;
            faults_.back().message = std::move(message);
        };
        if (!has_tools) {
            fault(manifest.place, "project-pack",
                  whose + " binds no tools; give it a tools.yaml, or \"entrypoints\" in pack.yaml");
            return;
        }
        const auto [same, is_new] = packs_.emplace(manifest.pack.id, manifest.place.file);
        if (!is_new) {
            fault(manifest.place, "project-pack",
                  whose + " is here twice, also in " + same->second + "; remove one");
        }
        std::vector<std::string_view> bound;
        for (const Draft& draft : drafts) bound.push_back(draft.binding.name);
        std::sort(bound.begin(), bound.end());
        std::vector<std::string_view> listed;
        for (const auto& [name, place] : manifest.tools) {
            listed.push_back(name);
            if (std::binary_search(bound.begin(), bound.end(), name)) continue;
            fault(place, "project-pack",
                  whose + " lists the tool " + json::quoted(name) + ", and binds it to nothing");
        }
        std::sort(listed.begin(), listed.end());
        for (const Draft& draft : drafts) {
            if (std::binary_search(listed.begin(), listed.end(), draft.binding.name)) continue;
            fault(draft.place, "project-pack",
                  whose + " binds the tool " + json::quoted(draft.binding.name) +
                      ", and does not list it under \"tools\" in pack.yaml");
        }
    }

    // Completes a tool. `pack`: NULL for a tool of the project itself.
    void add(Draft draft, const Manifest* pack, const std::string& pack_folder,
             Guarantees guarantees) {
        Binding& binding = draft.binding;
        binding.root = root_;
        binding.runner = draft.runner.value_or(
            pack != nullptr ? pack->runner.value_or(RunnerKind::Local) : RunnerKind::Local);
        if (binding.url.empty() && pack != nullptr) binding.url = pack->url;
        if (binding.url.empty()) binding.url = settings_.service_url;
        if (binding.image.empty() && pack != nullptr) binding.image = pack->image;
        binding.timeout_ms =
            draft.timeout_ms.value_or(settings_.timeout_ms.value_or(kDefaultTimeoutMs));
        // Packs are code of others.
        binding.sandbox =
            binding.runner == RunnerKind::Local && draft.sandbox.value_or(pack != nullptr);
        binding.warm = draft.warm.value_or(settings_.warm);
        binding.handshake_required = settings_.handshake_required;
        binding.python = python_;
        if (pack != nullptr) {
            binding.pack = pack->pack;
            binding.resolved_source = "installed_pack";
            check_path(binding.python, "pack", pack_folder);
            binding.python.path.push_back(pack_folder);
            for (const char* below : {"/src", "/tools"}) {
                std::error_code none;
                const std::string folder = pack_folder + below;
                if (!fs::is_directory(folder, none)) continue;
                // It may be read under every guarantee.
                if (!is_below(folder, pack_folder)) {
                    faults_.push_back(draft.place);
                    faults_.back().rule = "project-pack";
                    faults_.back().message = json::quoted(folder) + " leads out of the pack";
                    continue;
                }
                binding.python.path.push_back(folder);
            }
        }
        binding.python.path.push_back(root_);
        binding.guarantees = std::move(guarantees);
        if (binding.purity == "pure") binding.guarantees.require_all(GuaranteeSource::Tool);
        if (const auto found = settings_.overrides.find(binding.name);
            found != settings_.overrides.end()) {
            binding.guarantees.tighten(found->second.guarantees);
            binding.allow_unsafe = found->second.allow_unsafe;
        }
        if (pack != nullptr) binding.guarantees.tighten(policy_);
        const auto fault = [&](const char* field, const std::string& what) {
            faults_.push_back(draft.place);
            faults_.back().rule = "project-missing";
            json::append_pointer(faults_.back().pointer, field);
            faults_.back().message = "the tool " + json::quoted(binding.name) + ": " + what;
        };
        if (binding.runner == RunnerKind::Service && binding.url.empty()) {
            fault("url",
                  "its runner is service, and it has no \"url\"; write one, or set service_url in "
                  "[python_tools] of namel3ss.toml or the variable N3_TOOL_SERVICE_URL");
        }
        if (binding.runner == RunnerKind::Container && binding.image.empty()) {
            fault("image", "its runner is container, and it has no \"image\"");
        }
        // It would be an option of the container's program, for example "-v/:/host".
        if (binding.image.starts_with('-')) {
            fault("image", "the name of an image does not begin with \"-\"");
        }
        tools_.push_back(
            {std::make_shared<const Binding>(std::move(binding)), std::move(draft.place)});
    }

    // One name must have one tool: a pack's that the user chose, or the only one.
    void settle_packs() {
        std::map<std::string_view, std::vector<size_t>> by_name;
        for (size_t i = 0; i < tools_.size(); ++i) {
            by_name[tools_[i].binding->name].push_back(i);
        }
        std::vector<bool> is_left_out(tools_.size());
        for (const auto& [name, all] : by_name) {
            if (all.size() == 1) continue;
            const auto pinned = settings_.pinned_tools.find(std::string(name));
            const auto chosen = std::find_if(all.begin(), all.end(), [&](size_t i) {
                const auto& pack = tools_[i].binding->pack;
                return pinned != settings_.pinned_tools.end() && pack && pack->id == pinned->second;
            });
            if (chosen != all.end()) {
                for (const size_t i : all) is_left_out[i] = i != *chosen;
                continue;
            }
            for (auto i = all.begin() + 1; i != all.end(); ++i) {
                Fault fault = tools_[*i].place;
                fault.rule = "project-collision";
                fault.message = "the tool " + json::quoted(name) + " is also in " +
                                tools_[all.front()].place.file + "; rename one, or choose a pack " +
                                "with pinned_tools in [tool_packs] of namel3ss.toml";
                faults_.push_back(std::move(fault));
            }
        }
        std::vector<Bound> left;
        for (size_t i = 0; i < tools_.size(); ++i) {
            if (!is_left_out[i]) left.push_back(std::move(tools_[i]));
        }
        tools_ = std::move(left);
    }

    void check_overrides() {
        for (const auto& [name, given] : settings_.overrides) {
            const bool is_known = std::any_of(
                tools_.begin(), tools_.end(),
                [&, &wanted = name](const Bound& each) { return each.binding->name == wanted; });
            if (is_known) continue;
            Fault fault = given.place;
            fault.rule = "project-override";
            fault.is_warning = true;
            fault.message = "no tool of the project has the name " + json::quoted(name);
            faults_.push_back(std::move(fault));
        }
    }

    const Surroundings& surroundings_;
    Faults& faults_;
    std::string root_;
    Settings settings_;
    Guarantees policy_;
    PythonEnvironment python_;
    std::map<std::string, std::string> packs_;  // id → pack.yaml
    std::vector<Bound> tools_;
};

std::shared_ptr<const Definition> definition_of(const std::string& root, const Bound& tool) {
    auto definition = std::make_shared<Definition>();
    const Binding& binding = *tool.binding;
    definition->name = binding.name;
    const bool is_node = binding.runner == RunnerKind::Local && binding.kind == "node";
    definition->runner = is_node ? kNodeRunner : name_of(binding.runner);
    definition->binding = tool.binding;
    definition->try_ms = binding.timeout_ms;
    definition->waits = binding.runner == RunnerKind::Service;
    definition->origin = {Origin::Kind::Project, root + "/" + tool.place.file};
    return definition;
}

bool has_errors(const Faults& faults, size_t first) {
    return std::any_of(faults.begin() + static_cast<std::ptrdiff_t>(first), faults.end(),
                       [](const Fault& each) { return !each.is_warning; });
}

}  // namespace

Surroundings surroundings(std::vector<std::string> environment) {
    return {std::move(environment), variable_of_process("N3_PYTHON_TOOL_TIMEOUT_SECONDS"),
            variable_of_process("N3_TOOL_SERVICE_URL")};
}

bool is_project(const std::string& folder) {
    struct stat status {};
    return ::stat((folder + "/.namel3ss").c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::optional<Project> load(const std::string& folder, const Surroundings& surroundings,
                            Faults& faults) {
    const size_t first = faults.size();
    Loader loader(surroundings, faults);
    if (!loader.read(folder) || has_errors(faults, first)) return std::nullopt;
    Project project;
    project.root = loader.root();
    for (const Bound& tool : loader.tools()) {
        project.tools.push_back(definition_of(project.root, tool));
    }
    return project;
}

void check(const std::string& folder, const Surroundings& surroundings, Faults& faults) {
    Loader loader(surroundings, faults);
    if (!loader.read(folder)) return;
    bool is_told_of_python = false;
    for (const Bound& tool : loader.tools()) {
        const Binding& binding = *tool.binding;
        const auto report = [&](const char* rule, const char* field, std::string message,
                                bool is_warning) {
            Fault fault = tool.place;
            fault.rule = rule;
            json::append_pointer(fault.pointer, field);
            fault.message = "the tool " + json::quoted(binding.name) + ": " + std::move(message);
            fault.is_warning = is_warning;
            faults.push_back(std::move(fault));
        };
        if (const std::string how = coverage_problem(binding);
            !how.empty() && !binding.allow_unsafe) {
            report("project-coverage", "sandbox",
                   "its guarantees would not be enforced, so no call starts: " + how, false);
        }
        if (binding.runner != RunnerKind::Local) continue;
        if (binding.kind == "node") {
            report("project-runner", "kind", "there is no runner for tools of the kind node here",
                   false);
            continue;
        }
        if (!binding.python.problem.empty() && !std::exchange(is_told_of_python, true)) {
            report("project-python", "entry", binding.python.problem, false);
        }
        const size_t colon = binding.entry.find(':');
        if (colon == std::string::npos) continue;
        std::string path = binding.entry.substr(0, colon);
        const std::string package = path.substr(0, path.find('.'));
        std::replace(path.begin(), path.end(), '.', '/');
        std::error_code none;
        bool is_there = false;
        bool has_package = false;
        for (const std::string& each : binding.python.path) {
            const std::string module = each + "/" + path;
            is_there =
                is_there || fs::exists(module + ".py", none) || fs::is_directory(module, none);
            has_package = has_package || fs::is_directory(each + "/" + package, none);
        }
        if (is_there) continue;
        const std::string missing = "there is no module " + path + ".py in the project";
        if (has_package) report("project-entry", "entry", missing, false);
        else
            report("project-entry", "entry",
                   missing + "; unless it is installed in " + binding.python.interpreter +
                       ", calls fail",
                   true);
    }
}

}  // namespace narratoria::tool::project
