// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <utility>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "tool/project/faults.hpp"
#include "tool/project/loader.hpp"
#include "tool/project/pack_checks.hpp"

namespace narratoria::tool::project {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kDefaultTimeoutMs = 10'000;

// Resolves links in both paths first.
bool is_below(const std::string& path, const std::string& folder) {
    std::error_code error;
    const std::string above = fs::canonical(folder, error).string();
    const std::string real = fs::canonical(path, error).string();
    return !above.empty() && real.starts_with(above + "/");
}

}  // namespace

void Loader::add(Draft draft, const Manifest* pack, const std::string& pack_folder,
                 Guarantees guarantees, const std::string& source) {
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
            faults_.push_back(
                placed(draft.fields.at("enforcement"), kNoEffect,
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
                faults_.push_back(placed(draft.place, "project-pack",
                                         json::quoted(folder) + " leads out of the pack"));
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
        faults_.push_back(placed(draft.place, "project-missing",
                                 "the tool " + json::quoted(binding.name) + ": " + what));
        json::append_pointer(faults_.back().pointer, field);
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

void Loader::vouch(const Override& given, bool is_of_pack, Binding& binding) {
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

}  // namespace narratoria::tool::project
