// SPDX-License-Identifier: Apache-2.0
#include "tool/project/pack_checks.hpp"

#include <algorithm>
#include <utility>

#include "base/json/writer.hpp"
#include "tool/project/faults.hpp"

namespace narratoria::tool::project {
namespace {

// The risk of a pack as in Namel3ss, from the needs of the tools that it lists.
Risk risk_of(const PackOfProject& pack) {
    Risk risk = Risk::Low;
    for (const Draft& draft : pack.drafts) {
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

}  // namespace

RunnerKind runner_of(const Draft& draft, const Manifest* pack) {
    const auto of_pack = pack != nullptr ? pack->runner : std::nullopt;
    return draft.runner.value_or(of_pack.value_or(RunnerKind::Local));
}

bool check_digest(const PackOfProject& pack, Faults& faults) {
    const Manifest& manifest = pack.manifest;
    const std::string subject = "the pack " + json::quoted(manifest.pack.id);
    if (manifest.digest.empty()) {
        if (manifest.signer.empty()) return true;
        faults.push_back(placed(manifest.place, "project-pack",
                                subject + " names the signer " + json::quoted(manifest.signer) +
                                    " but has no digest, so its signature is not verified; "
                                    "sign it again",
                                true));
        return true;
    }
    if (manifest.digest == digest_of(pack.text, pack.text_of_tools)) return true;
    faults.push_back(placed(*manifest.digest_place, "project-pack",
                            subject +
                                " was changed after it was signed: its digest does not match its "
                                "pack.yaml and tools.yaml; install it again, or sign it again"));
    return false;
}

void check_pack(const PackOfProject& pack, std::map<std::string, std::string>& packs,
                Faults& faults) {
    const bool has_tools = pack.has_tools_file || pack.manifest.entrypoints.has_value();
    const Manifest& manifest = pack.manifest;
    const std::string subject = "the pack " + json::quoted(manifest.pack.id);
    const auto fault = [&](const Fault& place, const char* rule, std::string message) {
        faults.push_back(placed(place, rule, std::move(message)));
    };
    const auto warn = [&](const std::optional<Fault>& place, const char* rule,
                          std::string message) {
        if (place) faults.push_back(placed(*place, rule, std::move(message), true));
    };
    if (!has_tools) {
        fault(manifest.place, "project-pack",
              subject + " binds no tools; give it a tools.yaml, or \"entrypoints\" in pack.yaml");
        return;
    }
    const auto [same, is_new] = packs.emplace(manifest.pack.id, manifest.place.file);
    if (!is_new) {
        fault(manifest.place, "project-pack",
              subject + " is also in " + same->second + "; remove one of them");
    }
    std::vector<std::string_view> bound;
    for (const Draft& draft : pack.drafts) bound.push_back(draft.binding.name);
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
    for (const Draft& draft : pack.drafts) {
        if (std::binary_search(listed.begin(), listed.end(), draft.binding.name)) continue;
        warn(draft.place, "project-pack",
             subject + " binds the tool " + json::quoted(draft.binding.name) +
                 " but does not list it; add it to \"tools\" in pack.yaml");
    }
    UnknownNames unknown(faults, "project-pack", bound);
    for (const auto& [name, declared] : pack.capabilities) {
        if (unknown.knows(name)) continue;
        unknown.tell(declared.place, subject + " does not bind the tool " + json::quoted(name),
                     name);
    }
    const auto is_used = [&](RunnerKind runner, auto&& is_unset) {
        return std::any_of(pack.drafts.begin(), pack.drafts.end(), [&](const Draft& draft) {
            return runner_of(draft, &manifest) == runner && is_unset(draft.binding);
        });
    };
    if (!is_used(RunnerKind::Service, [](const Binding& its) { return its.url.empty(); })) {
        warn(manifest.url_place, kNoEffect,
             subject + ": \"service_url\" has no effect: no tool with the runner service uses it");
    }
    if (!is_used(RunnerKind::Container, [](const Binding& its) { return its.image.empty(); })) {
        warn(manifest.image_place, kNoEffect,
             subject + ": \"image\" has no effect: no tool with the runner container uses it");
    }
    if (pack.has_tools_file) {
        warn(manifest.entrypoints_place, kNoEffect,
             subject + ": \"entrypoints\" has no effect: the pack has a tools.yaml");
    }
}

std::string refusal_of(const PackOfProject& pack, const Policy& policy) {
    std::string why;
    const auto add_reason = [&](const std::string& reason) {
        why += (why.empty() ? "" : "; ") + reason;
    };
    const auto lists = [](const std::optional<std::vector<std::string>>& names,
                          const std::string& name) {
        return !names || std::find(names->begin(), names->end(), name) != names->end();
    };
    const std::string& signer = pack.manifest.signer;
    if (!lists(policy.allowed_packs, pack.manifest.pack.id)) {
        add_reason("\"allowed_packs\" does not list it");
    }
    if (!lists(policy.allowed_signers, signer)) {
        add_reason(signer.empty()
                       ? "it has no \"signer_id\", and \"allowed_signers\" needs one"
                       : "\"allowed_signers\" does not list its signer " + json::quoted(signer));
    }
    if (const Risk risk = risk_of(pack); risk > policy.max_risk) {
        add_reason("its risk is " + std::string(name_of(risk)) + ", and \"max_risk\" is " +
                   std::string(name_of(policy.max_risk)));
    }
    if (why.empty()) return why;
    return "the pack " + json::quoted(pack.manifest.pack.id) + " is refused by " + kPolicyFile +
           ": " + why;
}

}  // namespace narratoria::tool::project
