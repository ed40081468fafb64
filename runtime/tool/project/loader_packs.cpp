// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/json/writer.hpp"
#include "tool/project/faults.hpp"
#include "tool/project/loader.hpp"
#include "tool/project/pack_checks.hpp"

namespace narratoria::tool::project {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInstalledPacks = ".namel3ss/packs";
constexpr const char* kLocalPacks = "packs/capability";

}  // namespace

bool Loader::read_all_packs() {
    read_pack_path();
    for (const std::string& builtin : surroundings_.builtin_packs) {
        read_packs(builtin, "builtin_pack");
    }
    const bool has_installed = read_packs(kInstalledPacks, "installed_pack");
    return read_packs(kLocalPacks, "installed_pack") || has_installed;
}

void Loader::read_pack_path() {
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
                ", which " + (is_absolute ? "does not exist" : "is ignored: it is not absolute")));
        faults_.back().is_warning = true;
    }
}

bool Loader::read_packs(const std::string& folder, const std::string& source) {
    std::error_code failure;
    std::vector<std::string> names;
    fs::directory_iterator each(path_of(folder), failure), end;
    if (failure == std::errc::no_such_file_or_directory) return false;
    while (!failure && each != end) {
        std::error_code none;
        if (each->is_directory(none)) names.push_back(each->path().filename().string());
        each.increment(failure);
    }
    if (failure) {
        faults_.push_back(
            file_fault(folder, "project-file", folder + " cannot be listed: " + failure.message()));
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) read_pack(folder + "/" + name, source);
    return true;
}

void Loader::read_pack(const std::string& folder, const std::string& source) {
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

Loader::Refusal Loader::read_tools_of_pack(const std::string& folder, const std::string& source) {
    PackOfProject pack;
    pack.folder = path_of(folder);
    std::optional<Manifest> manifest;
    if (!read_file(folder + "/pack.yaml", [&](File& file) {
            manifest = read_manifest(file);
            pack.text = file.text();
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
    pack.has_tools_file = read_file(folder + "/tools.yaml", [&](File& file) {
        pack.drafts = read_bindings(file);
        pack.text_of_tools = file.text();
    });
    Refusal refusal;
    if (!check_digest(pack, faults_)) refusal.reason = "pack_unavailable_or_unverified";
    if (!pack.has_tools_file && pack.manifest.entrypoints) pack.drafts = *pack.manifest.entrypoints;
    read_file(folder + "/capabilities.yaml",
              [&](File& file) { pack.capabilities = read_capabilities(file); });
    check_pack(pack, packs_, faults_);
    if (std::string why = refusal_of(pack, policy_); !why.empty()) {
        faults_.push_back(placed(pack.manifest.place, "project-policy", why, true));
        refusal = {std::move(why), "pack_permission_denied"};
    }
    for (Draft& draft : pack.drafts) {
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

}  // namespace narratoria::tool::project
