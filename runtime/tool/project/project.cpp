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

#include "base/folders.hpp"
#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/near_name.hpp"
#include "base/regular_file.hpp"
#include "base/strict_keys.hpp"
#include "http/url.hpp"
#include "narratoria/engine.h"
#include "tool/project/binding.hpp"
#include "tool/project/bindings_file.hpp"
#include "tool/project/container_program.hpp"
#include "tool/project/default_bindings.hpp"
#include "tool/project/pack_files.hpp"
#include "tool/project/python_environment.hpp"
#include "tool/project/settings_file.hpp"

namespace narratoria::tool::project {
namespace {

namespace fs = std::filesystem;

// Resolves links in both paths first.
bool is_below(const std::string& path, const std::string& folder) {
    std::error_code error;
    const std::string above = fs::canonical(folder, error).string();
    const std::string real = fs::canonical(path, error).string();
    return !above.empty() && real.starts_with(above + "/");
}

constexpr const char* kBindings = ".namel3ss/tools.yaml";
constexpr const char* kSettings = "namel3ss.toml";
constexpr const char* kPolicy = ".namel3ss/trust/policy.toml";
constexpr const char* kInstalledPacks = ".namel3ss/packs";
constexpr const char* kLocalPacks = "packs/capability";
constexpr uint32_t kDefaultTimeoutMs = 10'000;
// Runner name for tools of kind node. No such runner is registered, so calls fail with an error.
constexpr const char* kNodeRunner = "node";

Fault file_fault(std::string file, const char* rule, std::string message) {
    Fault fault{rule, "", 0, std::move(message), std::move(file)};
    fault.has_position = false;
    return fault;
}

Fault placed(const Fault& place, const char* rule, std::string message, bool is_warning = false) {
    Fault fault = place;
    fault.rule = rule;
    fault.message = std::move(message);
    fault.is_warning = is_warning;
    return fault;
}

// Warns of unknown names, at most a hundred times: the search for similar names is slow, and a file
// can have thousands of them.
class UnknownNames {
public:
    UnknownNames(Faults& faults, const char* rule, std::vector<std::string_view> known)
        : faults_(faults), rule_(rule), known_(std::move(known)) {
        std::sort(known_.begin(), known_.end());
    }
    bool knows(std::string_view name) const {
        return std::binary_search(known_.begin(), known_.end(), name);
    }
    void tell(const Fault& place, std::string message, std::string_view name) {
        constexpr size_t kMost = 100;
        if (++count_ > kMost + 1) return;
        if (count_ > kMost) {
            message = "more faults follow and are not listed";
        } else {
            message += did_you_mean(near_name(name, known_));
        }
        faults_.push_back(placed(place, rule_, std::move(message), true));
    }

private:
    Faults& faults_;
    const char* const rule_;
    std::vector<std::string_view> known_;
    size_t count_ = 0;
};

// Files of built-in packs are outside of the project and have absolute names.
std::string path_of(const std::string& root, const std::string& name) {
    return name.starts_with('/') ? name : root + "/" + name;
}

std::string variable_of_process(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

// A tool with complete fields, and the place that defines it.
struct Bound {
    std::shared_ptr<Binding> binding;
    Fault place;
};

class Loader {
public:
    Loader(const Surroundings& surroundings, Faults& faults)
        : surroundings_(surroundings), faults_(faults) {}

    // Returns false if the folder is not a project.
    bool read(const std::string& folder) {
        if (!enter(folder)) return false;
        read_file(kSettings, [&](File& file) { settings_ = read_settings(file); });
        const std::vector<std::string> variables = read_dotenv();
        read_variables(variables);
        python_ = find_python(root_, settings_.python, surroundings_.environment);
        python_.variables = variables;
        check_path(python_, "project", root_);
        if (settings_.python_place && python_.kind == "venv") {
            faults_.push_back(placed(*settings_.python_place, kNoEffect,
                                     "\"python\" has no effect: the Python of the project's .venv "
                                     "takes precedence",
                                     true));
        }
        read_file(kPolicy, [&](File& file) { policy_ = read_policy(file); });
        read_pack_path();
        for (const std::string& builtin : surroundings_.builtin_packs) {
            read_packs(builtin, "builtin_pack");
        }
        bool has_packs = read_packs(kInstalledPacks, "installed_pack");
        has_packs = read_packs(kLocalPacks, "installed_pack") || has_packs;
        std::vector<Draft> drafts;
        const bool has_bindings =
            read_file(kBindings, [&](File& file) { drafts = read_bindings(file); });
        if (!has_bindings) drafts = find_default_bindings(root_);
        for (Draft& draft : drafts) add_of_project(std::move(draft));
        resolve_collisions();
        check_overrides();
        check_mentions();
        if (policy_.place && known_packs_.empty()) {
            faults_.push_back(placed(*policy_.place, kNoEffect,
                                     "\"allowed_capabilities\" has no effect: it applies to packs, "
                                     "and the project has none; restrict a tool of tools.yaml "
                                     "under [capability_overrides] in namel3ss.toml",
                                     true));
        }
        if (has_bindings || has_packs || !tools_.empty() || is_project(root_)) return true;
        faults_.push_back(file_fault("", kFolderRule,
                                     json::quoted(root_) + " is not a project: it has no " +
                                         kBindings + ", no packs and no tools/NAME.py"));
        return false;
    }

    const std::string& root() const { return root_; }
    const std::vector<Bound>& tools() const { return tools_; }
    // The indexes of faults that concern only one tool or pack. Other tools stay callable.
    const std::vector<size_t>& contained() const { return contained_; }

private:
    struct PackOfProject {
        Manifest manifest;
        std::string folder;  // absolute
        std::map<std::string, Declared> capabilities;
    };

    static void check_path(PythonEnvironment& python, const char* what, const std::string& folder) {
        if (folder.find(':') == std::string::npos || !python.problem.empty()) return;
        python.problem = std::string("the path of the ") + what + ", " + folder +
                         ", contains a colon and so cannot be in PYTHONPATH; rename the folder";
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
        if (has_nul) return refuse("cannot be found: its name contains a NUL character");
        if (::stat(folder.c_str(), &status) != 0) {
            return refuse(std::string("cannot be found: ") + std::strerror(errno));
        }
        if (!S_ISDIR(status.st_mode)) return refuse("is not a folder");
        const std::unique_ptr<char, void (*)(void*)> real(::realpath(folder.c_str(), nullptr),
                                                          std::free);
        if (!real) return refuse(std::string("cannot be entered: ") + std::strerror(errno));
        root_ = real.get();
        return true;
    }

    // Returns false if the file does not exist.
    template <typename Read>
    bool read_file(const std::string& name, Read&& read) {
        std::string text;
        std::string why;
        switch (read_regular_file(path_of(root_, name), name, kMaxFileBytes, text, why)) {
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

    std::vector<std::string> read_dotenv() {
        std::vector<std::string> variables;
        std::error_code none;
        // A folder with this name is usually a virtual environment.
        if (fs::is_directory(root_ + "/.env", none)) return variables;
        read_file(".env", [&](File& file) { variables = project::read_variables(file); });
        return variables;
    }

    // `dotenv`: the variables of the project's .env. Those of this process take precedence.
    void read_variables(const std::vector<std::string>& dotenv) {
        const auto find = [&](const std::string& own, std::string_view name_and_sign) {
            if (!own.empty()) return own;
            for (const std::string& each : dotenv) {
                if (each.starts_with(name_and_sign)) return each.substr(name_and_sign.size());
            }
            return own;
        };
        if (const std::string url = find(surroundings_.service_url, "N3_TOOL_SERVICE_URL=");
            !url.empty()) {
            std::string reason;
            if (!http::Url::parse(url, reason)) {
                faults_.push_back(file_fault("", "project-variable",
                                             "the environment variable N3_TOOL_SERVICE_URL cannot "
                                             "be used: " +
                                                 reason));
            }
            settings_.service_url = url;
        }
        const std::string given =
            find(surroundings_.timeout_seconds, "N3_PYTHON_TOOL_TIMEOUT_SECONDS=");
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

    void read_pack_path() {
        std::string_view rest = surroundings_.pack_path;
        while (!rest.empty()) {
            const size_t colon = std::min(rest.find(':'), rest.size());
            const std::string folder(rest.substr(0, colon));
            rest.remove_prefix(std::min(colon + 1, rest.size()));
            if (folder.empty()) continue;
            const bool is_absolute = folder.front() == '/';
            if (is_absolute && read_packs(folder, "builtin_pack")) continue;
            faults_.push_back(file_fault(
                "", "project-variable",
                "the environment variable NARRATORIA_PACK_PATH lists " + json::quoted(folder) +
                    ", which " +
                    (is_absolute ? "does not exist" : "is ignored: it is not absolute")));
            faults_.back().is_warning = true;
        }
    }

    // Returns false if the folder does not exist.
    bool read_packs(const std::string& folder, const std::string& source) {
        std::error_code failure;
        std::vector<std::string> names;
        fs::directory_iterator each(path_of(root_, folder), failure), end;
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
        for (const std::string& name : names) read_pack(folder + "/" + name, source);
        return true;
    }

    // Marks the errors among the faults [first, end) as contained: they do not affect the rest of
    // the project. Returns the first one as text with its position, or empty.
    std::string contain(size_t first, size_t end) {
        std::string problem;
        for (size_t i = first; i < end; ++i) {
            if (faults_[i].is_warning) continue;
            contained_.push_back(i);
            if (problem.empty()) problem = describe_faults({faults_[i]}, "");
        }
        return problem;
    }

    // Why the tools of a pack are blocked.
    struct Refusal {
        std::string why;          // the policy's; empty if it accepts the pack
        std::string_view reason;  // Binding::problem_reason
    };

    // An error in a pack makes all of its tools fail.
    void read_pack(const std::string& folder, const std::string& source) {
        const size_t first_fault = faults_.size();
        const size_t first_tool = tools_.size();
        const Refusal refusal = read_tools_of_pack(folder, source);
        const std::string fault = contain(first_fault, faults_.size());
        const std::string& problem = refusal.why.empty() ? fault : refusal.why;
        if (problem.empty()) return;
        for (size_t i = first_tool; i < tools_.size(); ++i) {
            tools_[i].binding->problem = problem;
            tools_[i].binding->problem_reason = refusal.reason;
        }
    }

    // An error about a tool of the project makes only that tool fail.
    void add_of_project(Draft draft) {
        std::string problem = contain(draft.first_fault, draft.end_fault);
        if (draft.is_faulty && problem.empty()) problem = "its file has more than a hundred faults";
        const size_t first_fault = faults_.size();
        const bool has_unknown_runner = draft.has_unknown_runner;
        add(std::move(draft), nullptr, {}, {});
        const std::string missing = contain(first_fault, faults_.size());
        Binding& binding = *tools_.back().binding;
        binding.problem = problem.empty() ? missing : problem;
        if (has_unknown_runner) binding.problem_reason = "unknown_runner";
    }

    Refusal read_tools_of_pack(const std::string& folder, const std::string& source) {
        PackOfProject pack;
        pack.folder = path_of(root_, folder);
        std::optional<Manifest> manifest;
        std::string text;
        if (!read_file(folder + "/pack.yaml", [&](File& file) {
                manifest = read_manifest(file);
                text = file.text();
            })) {
            faults_.push_back(
                file_fault(folder, "project-pack", "the folder of the pack has no pack.yaml"));
        }
        if (!manifest) return {};
        pack.manifest = std::move(*manifest);
        const std::string& id = pack.manifest.pack.id;
        const auto lists = [&](const std::vector<std::string>& ids) {
            return std::find(ids.begin(), ids.end(), id) != ids.end();
        };
        const bool is_installed = folder.starts_with(kInstalledPacks);
        known_packs_.push_back(id);
        if (lists(settings_.disabled_packs) ||
            (is_installed && settings_.enabled_packs && !lists(*settings_.enabled_packs))) {
            return {};
        }
        std::vector<Draft> drafts;
        std::optional<std::string> text_of_tools;
        const bool has_bindings = read_file(folder + "/tools.yaml", [&](File& file) {
            drafts = read_bindings(file);
            text_of_tools = file.text();
        });
        Refusal refusal;
        if (!check_digest(pack.manifest, text, text_of_tools)) {
            refusal.reason = "pack_unavailable_or_unverified";
        }
        if (!has_bindings && pack.manifest.entrypoints) drafts = *pack.manifest.entrypoints;
        read_file(folder + "/capabilities.yaml",
                  [&](File& file) { pack.capabilities = read_capabilities(file); });
        check_pack(pack, drafts, has_bindings);
        if (std::string why = refusal_of(pack, drafts); !why.empty()) {
            faults_.push_back(placed(pack.manifest.place, "project-policy", why, true));
            refusal = {std::move(why), "pack_permission_denied"};
        }
        for (Draft& draft : drafts) {
            const auto declared = pack.capabilities.find(draft.binding.name);
            Guarantees guarantees;
            if (declared != pack.capabilities.end()) {
                guarantees = declared->second.guarantees;
            } else {
                guarantees.require_all(GuaranteeSource::Pack);
            }
            add(std::move(draft), &pack.manifest, pack.folder, std::move(guarantees), source);
        }
        return refusal;
    }

    // The risk of a pack as in Namel3ss, from the needs of the tools that it lists.
    static Risk risk_of(const PackOfProject& pack, const std::vector<Draft>& drafts) {
        Risk risk = Risk::Low;
        for (const Draft& draft : drafts) {
            if (runner_of(draft, &pack.manifest) == RunnerKind::Container) return Risk::High;
        }
        for (const auto& [name, place] : pack.manifest.tools) {
            const auto declared = pack.capabilities.find(name);
            if (declared == pack.capabilities.end()) continue;  // it needs nothing
            const Guarantees& denied = declared->second.guarantees;
            if (!denied.requires_one(Guarantee::NoFilesystemWrite) ||
                !denied.requires_one(Guarantee::NoSubprocess)) {
                return Risk::High;
            }
            if (!denied.requires_one(Guarantee::NoFilesystemRead) ||
                !denied.requires_one(Guarantee::NoNetwork) ||
                !denied.requires_one(Guarantee::NoEnvRead) ||
                (denied.secrets() && !denied.secrets()->empty())) {
                risk = Risk::Medium;
            }
        }
        return risk;
    }

    std::string refusal_of(const PackOfProject& pack, const std::vector<Draft>& drafts) const {
        std::string why;
        const auto add_reason = [&](const std::string& reason) {
            why += (why.empty() ? "" : "; ") + reason;
        };
        const auto lists = [](const std::optional<std::vector<std::string>>& names,
                              const std::string& name) {
            return !names || std::find(names->begin(), names->end(), name) != names->end();
        };
        const std::string& signer = pack.manifest.signer;
        if (!lists(policy_.allowed_packs, pack.manifest.pack.id)) {
            add_reason("\"allowed_packs\" does not list it");
        }
        if (!lists(policy_.allowed_signers, signer)) {
            add_reason(signer.empty() ? "it has no \"signer_id\", and \"allowed_signers\" needs one"
                                      : "\"allowed_signers\" does not list its signer " +
                                            json::quoted(signer));
        }
        if (const Risk risk = risk_of(pack, drafts); risk > policy_.max_risk) {
            add_reason("its risk is " + std::string(name_of(risk)) + ", and \"max_risk\" is " +
                       std::string(name_of(policy_.max_risk)));
        }
        if (why.empty()) return why;
        return "the pack " + json::quoted(pack.manifest.pack.id) + " is refused by " + kPolicy +
               ": " + why;
    }

    // The signature needs the signer's secret, so only the signed digest is checked.
    // Returns false if the pack was changed.
    bool check_digest(const Manifest& manifest, std::string_view text,
                      const std::optional<std::string>& tools) {
        const std::string subject = "the pack " + json::quoted(manifest.pack.id);
        if (manifest.digest.empty()) {
            if (manifest.signer.empty()) return true;
            faults_.push_back(placed(manifest.place, "project-pack",
                                     subject + " names the signer " +
                                         json::quoted(manifest.signer) +
                                         " but has no digest, so its signature is not verified; "
                                         "sign it again",
                                     true));
            return true;
        }
        if (manifest.digest == digest_of(text, tools)) return true;
        faults_.push_back(
            placed(*manifest.digest_place, "project-pack",
                   subject + " was changed after it was signed: its digest does not match its "
                             "pack.yaml and tools.yaml; install it again, or sign it again"));
        return false;
    }

    // `has_file`: the pack has a tools.yaml.
    void check_pack(const PackOfProject& pack, const std::vector<Draft>& drafts, bool has_file) {
        const bool has_tools = has_file || pack.manifest.entrypoints.has_value();
        const Manifest& manifest = pack.manifest;
        const std::string subject = "the pack " + json::quoted(manifest.pack.id);
        const auto fault = [&](const Fault& place, const char* rule, std::string message) {
            faults_.push_back(placed(place, rule, std::move(message)));
        };
        const auto warn = [&](const std::optional<Fault>& place, const char* rule,
                              std::string message) {
            if (place) faults_.push_back(placed(*place, rule, std::move(message), true));
        };
        if (!has_tools) {
            fault(
                manifest.place, "project-pack",
                subject + " binds no tools; give it a tools.yaml, or \"entrypoints\" in pack.yaml");
            return;
        }
        const auto [same, is_new] = packs_.emplace(manifest.pack.id, manifest.place.file);
        if (!is_new) {
            fault(manifest.place, "project-pack",
                  subject + " is also in " + same->second + "; remove one of them");
        }
        std::vector<std::string_view> bound;
        for (const Draft& draft : drafts) bound.push_back(draft.binding.name);
        std::sort(bound.begin(), bound.end());
        std::vector<std::string_view> listed;
        for (const auto& [name, place] : manifest.tools) {
            listed.push_back(name);
            if (std::binary_search(bound.begin(), bound.end(), name)) continue;
            warn(place, "project-pack",
                 subject + " lists the tool " + json::quoted(name) +
                     " but does not bind it; bind it in tools.yaml, or remove it from \"tools\"");
        }
        std::sort(listed.begin(), listed.end());
        for (const Draft& draft : drafts) {
            if (std::binary_search(listed.begin(), listed.end(), draft.binding.name)) continue;
            warn(draft.place, "project-pack",
                 subject + " binds the tool " + json::quoted(draft.binding.name) +
                     " but does not list it; add it to \"tools\" in pack.yaml");
        }
        UnknownNames unknown(faults_, "project-pack", bound);
        for (const auto& [name, declared] : pack.capabilities) {
            if (unknown.knows(name)) continue;
            unknown.tell(declared.place, subject + " does not bind the tool " + json::quoted(name),
                         name);
        }
        const auto is_used = [&](RunnerKind runner, auto&& is_unset) {
            return std::any_of(drafts.begin(), drafts.end(), [&](const Draft& draft) {
                return runner_of(draft, &manifest) == runner && is_unset(draft.binding);
            });
        };
        if (!is_used(RunnerKind::Service, [](const Binding& its) { return its.url.empty(); })) {
            warn(manifest.url_place, kNoEffect,
                 subject +
                     ": \"service_url\" has no effect: no tool with the runner service uses it");
        }
        if (!is_used(RunnerKind::Container, [](const Binding& its) { return its.image.empty(); })) {
            warn(manifest.image_place, kNoEffect,
                 subject + ": \"image\" has no effect: no tool with the runner container uses it");
        }
        if (has_file) {
            warn(manifest.entrypoints_place, kNoEffect,
                 subject + ": \"entrypoints\" has no effect: the pack has a tools.yaml");
        }
    }

    static RunnerKind runner_of(const Draft& draft, const Manifest* pack) {
        const auto of_pack = pack != nullptr ? pack->runner : std::nullopt;
        return draft.runner.value_or(of_pack.value_or(RunnerKind::Local));
    }

    // Completes a tool. `pack`: NULL for a tool of the project itself.
    void add(Draft draft, const Manifest* pack, const std::string& pack_folder,
             Guarantees guarantees, const std::string& source = "binding") {
        Binding& binding = draft.binding;
        binding.root = root_;
        binding.runner = runner_of(draft, pack);
        warn_of_unused(draft, binding.runner, faults_);
        if (binding.url.empty() && pack != nullptr) binding.url = pack->url;
        if (binding.image.empty() && pack != nullptr) binding.image = pack->image;
        // A pack's container tool always runs the pack's image: the settings cannot name one.
        const bool is_of_pack =
            pack != nullptr && (binding.runner == RunnerKind::Container ||
                                (binding.runner == RunnerKind::Service && !binding.url.empty()));
        binding.is_unvouched = is_of_pack;
        if (pack != nullptr && !binding.enforcement.empty()) {
            binding.enforcement.clear();
            // For the other runners warn_of_unused() has already reported it.
            if (binding.runner == RunnerKind::Container) {
                faults_.push_back(placed(
                    draft.fields.at("enforcement"), kNoEffect,
                    "the tool " + json::quoted(binding.name) +
                        ": \"enforcement\" has no effect: a pack cannot vouch for its own image",
                    true));
            }
        }
        if (binding.url.empty()) binding.url = settings_.service_url;
        binding.timeout_ms =
            draft.timeout_ms.value_or(settings_.timeout_ms.value_or(kDefaultTimeoutMs));
        // Packs are third-party code: sandboxed by default.
        binding.sandbox =
            binding.runner == RunnerKind::Local && draft.sandbox.value_or(pack != nullptr);
        binding.warm = draft.warm.value_or(settings_.warm);
        binding.handshake_required = settings_.handshake_required;
        binding.python = python_;
        if (pack != nullptr) {
            binding.pack = pack->pack;
            binding.resolved_source = source;
            check_path(binding.python, "pack", pack_folder);
            binding.python.path.push_back(pack_folder);
            for (const char* below : {"/src", "/tools"}) {
                std::error_code none;
                const std::string folder = pack_folder + below;
                if (!fs::is_directory(folder, none)) continue;
                // Folders of the path stay readable under every guarantee.
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
            vouch(found->second, is_of_pack, binding);
        }
        if (pack != nullptr && draft.sandbox == false && binding.runner == RunnerKind::Local &&
            !binding.allow_unsafe) {
            binding.sandbox = true;
            faults_.push_back(placed(draft.fields.at("sandbox"), kNoEffect,
                                     "the tool " + json::quoted(binding.name) +
                                         ": \"sandbox: false\" has no effect: a pack cannot leave "
                                         "its sandbox; if you trust it, write "
                                         "allow_unsafe_execution = true for this tool under "
                                         "[capability_overrides] in namel3ss.toml",
                                     true));
        }
        if (pack != nullptr) binding.guarantees.tighten(policy_.guarantees);
        if (binding.allow_unsafe && !binding.guarantees.any()) {
            faults_.push_back(placed(
                settings_.overrides.at(binding.name).fields.at("allow_unsafe_execution"), kNoEffect,
                "\"allow_unsafe_execution\" has no effect: the tool " + json::quoted(binding.name) +
                    " has no guarantees",
                true));
        }
        const auto fault = [&](const char* field, const std::string& what) {
            faults_.push_back(draft.place);
            faults_.back().rule = "project-missing";
            json::append_pointer(faults_.back().pointer, field);
            faults_.back().message = "the tool " + json::quoted(binding.name) + ": " + what;
        };
        // An invalid "url" has already been reported.
        if (binding.runner == RunnerKind::Service && binding.url.empty() &&
            !draft.fields.contains("url")) {
            fault("url",
                  "its runner is service, but it has no \"url\"; set \"url\", service_url in "
                  "[python_tools] of namel3ss.toml, or the variable N3_TOOL_SERVICE_URL");
        }
        if (binding.runner == RunnerKind::Container && binding.image.empty()) {
            fault("image", "its runner is container, but it has no \"image\"; set \"image\"");
        }
        // The container program would take it as an option, for example "-v/:/host".
        if (binding.image.starts_with('-')) {
            fault("image", "the name of an image must not begin with \"-\"");
        }
        tools_.push_back({std::make_shared<Binding>(std::move(binding)), std::move(draft.place)});
    }

    // Applies the user's statement about a container, or about the service of a pack.
    void vouch(const Override& given, bool is_of_pack, Binding& binding) {
        if (given.enforcement.empty()) return;
        if (is_of_pack || binding.runner == RunnerKind::Container) {
            binding.is_unvouched = false;
            binding.enforcement = given.enforcement;
            return;
        }
        faults_.push_back(placed(given.fields.at("enforcement"), kNoEffect,
                                 "\"enforcement\" has no effect: the tool " +
                                     json::quoted(binding.name) +
                                     (binding.runner == RunnerKind::Local
                                          ? " is local; use \"sandbox\" in its binding"
                                          : " is your own service, which reports what it enforces"),
                                 true));
    }

    // Leaves one tool of each name: the one of the pinned pack, or else a tool that cannot be
    // called because of the collision.
    void resolve_collisions() {
        std::map<std::string_view, std::vector<size_t>> by_name;
        for (size_t i = 0; i < tools_.size(); ++i) {
            by_name[tools_[i].binding->name].push_back(i);
        }
        std::vector<bool> is_left_out(tools_.size());
        for (const auto& [name, all] : by_name) {
            const auto pinned = settings_.pinned_tools.find(std::string(name));
            const bool is_pinned = pinned != settings_.pinned_tools.end();
            if (all.size() == 1 && !is_pinned) continue;
            const auto chosen = std::find_if(all.begin(), all.end(), [&](size_t i) {
                const auto& pack = tools_[i].binding->pack;
                return is_pinned && pack && pack->id == pinned->second;
            });
            if (chosen != all.end()) {
                for (const size_t i : all) is_left_out[i] = i != *chosen;
                continue;
            }
            const bool is_of_pack = std::any_of(all.begin(), all.end(), [&](size_t i) {
                return tools_[i].binding->pack.has_value();
            });
            const size_t first_fault = faults_.size();
            if (is_pinned && is_of_pack) {
                // A different pack must not take the place of the one that the user chose.
                for (auto i = all.begin() + 1; i != all.end(); ++i) is_left_out[*i] = true;
                report_missing_pin(std::string(name), pinned->second);
                Binding& kept = *tools_[all.front()].binding;
                kept.problem = contain(first_fault, faults_.size());
                kept.problem_reason = "pack_pin_missing";
                continue;
            }
            if (all.size() == 1) continue;
            for (auto i = all.begin() + 1; i != all.end(); ++i) {
                is_left_out[*i] = true;
                Fault fault = tools_[*i].place;
                fault.rule = "project-collision";
                fault.message = "the tool " + json::quoted(name) + " is also in " +
                                tools_[all.front()].place.file + "; rename one, or choose a pack " +
                                "with pinned_tools in [tool_packs] of namel3ss.toml";
                faults_.push_back(std::move(fault));
            }
            Binding& kept = *tools_[all.front()].binding;
            kept.problem = contain(first_fault, faults_.size());
            kept.problem_reason = "pack_collision";
        }
        std::vector<Bound> left;
        for (size_t i = 0; i < tools_.size(); ++i) {
            if (!is_left_out[i]) left.push_back(std::move(tools_[i]));
        }
        tools_ = std::move(left);
    }

    void report_missing_pin(const std::string& tool, const std::string& pack) {
        for (const auto& mention : settings_.mentions) {
            if (mention.tool != tool || mention.pack != pack) continue;
            faults_.push_back(placed(mention.place, "project-pack",
                                     "the tool " + json::quoted(tool) + " is pinned to the pack " +
                                         json::quoted(pack) +
                                         ", which does not provide it or is not enabled; enable "
                                         "the pack, or change pinned_tools"));
            missing_pins_.push_back(tool);
        }
    }

    void check_overrides() {
        std::vector<std::string_view> names;
        for (const Bound& each : tools_) names.push_back(each.binding->name);
        UnknownNames unknown(faults_, "project-override", std::move(names));
        for (const auto& [name, given] : settings_.overrides) {
            if (unknown.knows(name)) continue;
            unknown.tell(given.place, "no tool of the project has the name " + json::quoted(name),
                         name);
        }
    }

    // Warns of unknown packs and tools in [tool_packs].
    void check_mentions() {
        UnknownNames unknown(faults_, "project-pack", {known_packs_.begin(), known_packs_.end()});
        for (const auto& [pack, tool, place] : settings_.mentions) {
            if (!tool.empty() && std::find(missing_pins_.begin(), missing_pins_.end(), tool) !=
                                     missing_pins_.end()) {
                continue;  // already an error
            }
            if (!unknown.knows(pack)) {
                unknown.tell(place, "no pack has the id " + json::quoted(pack), pack);
                continue;
            }
            const auto is_pinned = [&, &id = pack, &name = tool](const Bound& each) {
                const Binding& its = *each.binding;
                return its.name == name && its.pack && its.pack->id == id;
            };
            if (tool.empty() || std::any_of(tools_.begin(), tools_.end(), is_pinned)) continue;
            faults_.push_back(placed(place, "project-pack",
                                     "the pack " + json::quoted(pack) + " has no tool " +
                                         json::quoted(tool) + ", or is not enabled",
                                     true));
        }
    }

    const Surroundings& surroundings_;
    Faults& faults_;
    std::string root_;
    Settings settings_;
    Policy policy_;
    PythonEnvironment python_;
    std::map<std::string, std::string> packs_;  // id → pack.yaml, of the enabled packs
    std::vector<std::string> known_packs_;      // ids of all packs, enabled or not
    std::vector<std::string> missing_pins_;     // tools that are pinned to a missing pack
    std::vector<Bound> tools_;
    std::vector<size_t> contained_;
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
    definition->origin = {Origin::Kind::Project, path_of(root, tool.place.file)};
    return definition;
}

// Checks that Python would find the module and its function. Runs nothing.
template <typename Report>
void check_entry(const Binding& binding, Report&& report) {
    const size_t colon = binding.entry.find(':');
    if (colon == std::string::npos) return;
    std::string path = binding.entry.substr(0, colon);
    const std::string function = binding.entry.substr(colon + 1);
    const std::string package = path.substr(0, path.find('.'));
    std::replace(path.begin(), path.end(), '.', '/');
    std::error_code none;
    bool has_package = false;
    bool is_folder = false;
    for (const std::string& each : binding.python.path) {
        const std::string module = each + "/" + path;
        has_package = has_package || fs::is_directory(each + "/" + package, none);
        is_folder = is_folder || fs::is_directory(module, none);
        for (const char* end : {"/__init__.py", ".py"}) {
            std::string text;
            std::string why;
            constexpr size_t kMost = size_t{4} << 20U;
            switch (read_regular_file(module + end, path + end, kMost, text, why)) {
                case FileReading::Missing: continue;
                case FileReading::Failed: return report("project-entry", "entry", why, false);
                case FileReading::Read: break;
            }
            if (has_word(text, function)) return;
            return report("project-entry", "entry",
                          path + end + " does not define " + json::quoted(function) +
                              "; calls fail unless the import of the module creates it",
                          true);
        }
        // A native module, or a module without its source, cannot be checked.
        fs::directory_iterator file(fs::path(module).parent_path(), none), last;
        const std::string start = fs::path(module).filename().string() + ".";
        for (; !none && file != last; file.increment(none)) {
            const std::string name = file->path().filename().string();
            if (name.starts_with(start) && (name.ends_with(".so") || name.ends_with(".pyc")))
                return;
        }
    }
    const std::string missing = "the project has no module " + path + ".py";
    if (is_folder) {
        return report("project-entry", "entry",
                      path + " is a folder without __init__.py, so it has no functions", false);
    }
    if (has_package) return report("project-entry", "entry", missing, false);
    report("project-entry", "entry",
           missing + "; calls fail unless it is installed in " + binding.python.interpreter, true);
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
        project.tools.push_back(definition_of(project.root, tool));
    }
    return project;
}

void check(const std::string& folder, const Surroundings& surroundings,
           std::string (*script_name)(const Definition&), Faults& faults) {
    Loader loader(surroundings, faults);
    if (!loader.read(folder)) return;
    std::map<std::string, std::string_view> by_script_name;
    for (const Bound& tool : loader.tools()) {
        const auto [same, is_new] = by_script_name.emplace(
            script_name(*definition_of(loader.root(), tool)), tool.binding->name);
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
        if (!binding.entry.empty()) check_entry(binding, report);
    }
}

}  // namespace narratoria::tool::project
