// SPDX-License-Identifier: Apache-2.0
#include "tool/project/settings_file.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "narratoria/engine.h"
#include "tool/project/fields.hpp"
#include "tool/project/pack_files.hpp"

namespace narratoria::tool::project {
namespace {

constexpr const char* kUnsafe = "allow_unsafe_execution";
constexpr const char* kEnforcement = "enforcement";

Override read_override(File& file, const Node& name, const Node& value) {
    Override out;
    std::string pointer = "/capability_overrides";
    json::append_pointer(pointer, name.text);
    out.place = file.place_of(name.byte, pointer);
    const std::string subject = "the override of the tool " + json::quoted(name.text);
    if (value.kind != Node::Kind::Map) {
        file.fault(value.byte, "project-type", pointer,
                   subject + " must be a table, as in { no_network = true }, not " +
                       std::string(describe(value)));
        return out;
    }
    Fields fields(file, value, subject, pointer);
    std::vector<std::string_view> known{kSecretsAllowed, kUnsafe, kEnforcement};
    for (size_t i = 0; i < kGuarantees; ++i) known.push_back(name_of(static_cast<Guarantee>(i)));
    fields.allow(known);
    for (const auto& [key, given] : value.members) {
        out.fields.emplace(key.text, fields.place_of(key.text));
        if (key.text == kUnsafe) {
            out.allow_unsafe = fields.boolean(kUnsafe).value_or(false);
        } else if (key.text == kEnforcement) {
            out.enforcement = fields.choice(kEnforcement, {"declared", "verified"}).value_or("");
        } else if (key.text == kSecretsAllowed) {
            out.guarantees.allow_secrets(
                fields.texts(kSecretsAllowed).value_or(std::vector<std::string>()),
                GuaranteeSource::User);
        } else if (const auto guarantee = guarantee_of(key.text)) {
            const std::optional<bool> is_required = fields.boolean(key.text);
            if (is_required == true) out.guarantees.require(*guarantee, GuaranteeSource::User);
            if (is_required == false) {
                fields.warn_of_no_effect(key.text, "false does not lift a guarantee; remove it");
            }
        }
    }
    return out;
}

}  // namespace

Settings read_settings(File& file) {
    Settings settings;
    const std::optional<Node> root = parse_toml(file);
    if (!root) return settings;
    // The other tables of this file are not about tools.
    Fields tables(file, *root, "the file", "");
    tables.refuse_misspelled({"python_tools", "capability_overrides", "tool_packs"});
    // The short names may also be tables of other programs, so their unknown fields are ignored.
    const auto find = [&](const char* name, const char* short_name) {
        const Node* own = tables.find(name);
        const Node* other = tables.find(short_name);
        const bool is_empty =
            own == nullptr || (own->kind == Node::Kind::Map && own->members.empty());
        const bool is_short = is_empty && other != nullptr && other->kind == Node::Kind::Map;
        return std::pair(is_short ? other : tables.table(name), is_short ? short_name : name);
    };
    if (const auto [tools, name] = find("python_tools", "python"); tools != nullptr) {
        Fields fields(file, *tools, "[" + std::string(name) + "]", "/" + std::string(name));
        if (name == std::string_view("python_tools")) {
            fields.allow(
                {"timeout_seconds", "service_url", "service_handshake_required", "python", "warm"});
        }
        if (const auto seconds = fields.positive("timeout_seconds", (NAR_NONE - 1) / 1000)) {
            settings.timeout_ms = *seconds * 1000;
        }
        settings.service_url = fields.url("service_url").value_or("");
        settings.handshake_required = fields.boolean("service_handshake_required").value_or(false);
        settings.python = fields.text("python").value_or("");
        if (!settings.python.empty()) settings.python_place = fields.place_of("python");
        settings.warm = fields.boolean("warm").value_or(true);
    }
    if (const Node* overrides = tables.table("capability_overrides")) {
        for (const auto& [name, value] : overrides->members) {
            settings.overrides.emplace(name.text, read_override(file, name, value));
        }
    }
    if (const auto [packs, name] = find("tool_packs", "packs"); packs != nullptr) {
        Fields fields(file, *packs, "[" + std::string(name) + "]", "/" + std::string(name));
        if (name == std::string_view("tool_packs")) {
            fields.allow({"enabled_packs", "disabled_packs", "pinned_tools"});
        }
        settings.enabled_packs = fields.texts("enabled_packs");
        settings.disabled_packs =
            fields.texts("disabled_packs").value_or(std::vector<std::string>());
        settings.pinned_tools =
            fields.variables("pinned_tools").value_or(std::map<std::string, std::string>());
        for (const char* key : {"enabled_packs", "disabled_packs", "pinned_tools"}) {
            const Node* named = fields.find(key);
            if (named == nullptr) continue;
            for (const Node& each : named->items) {
                std::string at = fields.pointer_of(key);
                json::append_pointer(at, static_cast<size_t>(&each - named->items.data()));
                settings.mentions.push_back(
                    {each.text, "", file.place_of(each.byte, std::move(at))});
            }
            for (const auto& [tool, pack] : named->members) {
                std::string at = fields.pointer_of(key);
                json::append_pointer(at, tool.text);
                settings.mentions.push_back(
                    {pack.text, tool.text, file.place_of(pack.byte, std::move(at))});
            }
        }
    }
    return settings;
}

Policy read_policy(File& file) {
    Policy policy;
    const std::optional<Node> root = parse_toml(file);
    if (!root) return policy;
    Fields fields(file, *root, "the policy", "");
    constexpr std::array<std::string_view, 4> kUsed = {"allowed_capabilities", "allowed_packs",
                                                       "allowed_signers", "max_risk"};
    fields.refuse_misspelled(kUsed);
    for (const auto& [key, value] : root->members) {
        if (std::find(kUsed.begin(), kUsed.end(), key.text) != kUsed.end()) continue;
        const bool is_of_installation =
            key.text == "allow_unverified_installs" || key.text == "allow_unverified_enable";
        fields.warn_of_no_effect(key.text, is_of_installation
                                               ? "it concerns only the installation of packs"
                                               : "the policy has no such field");
    }
    policy.allowed_packs = fields.texts("allowed_packs");
    policy.allowed_signers = fields.texts("allowed_signers");
    if (const auto risk = fields.choice("max_risk", {"low", "medium", "high"})) {
        policy.max_risk = *risk == "low"      ? Risk::Low
                          : *risk == "medium" ? Risk::Medium
                                              : Risk::High;
    }
    if (const Node* allowed = fields.table("allowed_capabilities")) {
        const std::string pointer = "/allowed_capabilities";
        const std::string subject = "\"allowed_capabilities\" of the policy";
        Fields(file, *allowed, subject, pointer)
            .allow({"filesystem", "network", "env", "subprocess"});
        require_levels(file, *allowed, subject, pointer, false, GuaranteeSource::Policy,
                       policy.guarantees);
        policy.place = fields.place_of("allowed_capabilities");
    }
    return policy;
}

}  // namespace narratoria::tool::project
