// SPDX-License-Identifier: Apache-2.0
#include "tool/project/settings_file.hpp"

#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/near_name.hpp"
#include "narratoria/engine.h"
#include "tool/project/fields.hpp"
#include "tool/project/pack_files.hpp"

namespace narratoria::tool::project {
namespace {

constexpr const char* kUnsafe = "allow_unsafe_execution";

Override read_override(File& file, const Node& name, const Node& value) {
    Override out;
    std::string pointer = "/capability_overrides";
    json::append_pointer(pointer, name.text);
    out.place = file.place_of(name.byte, pointer);
    const std::string whose = "the override of the tool " + json::quoted(name.text);
    if (value.kind != Node::Kind::Map) {
        file.fault(value.byte, "project-type", pointer,
                   whose + " must be a table, as in { no_network = true }, not " +
                       std::string(describe(value)));
        return out;
    }
    Fields fields(file, value, whose, pointer);
    std::vector<std::string_view> known{kSecretsAllowed, kUnsafe};
    for (size_t i = 0; i < kGuarantees; ++i) known.push_back(name_of(static_cast<Guarantee>(i)));
    for (const auto& [key, given] : value.members) {
        if (key.text == kUnsafe) {
            out.allow_unsafe = fields.boolean(kUnsafe).value_or(false);
        } else if (key.text == kSecretsAllowed) {
            out.guarantees.allow_secrets(
                fields.texts(kSecretsAllowed).value_or(std::vector<std::string>()),
                GuaranteeSource::User);
        } else if (const auto guarantee = guarantee_of(key.text)) {
            // False takes nothing back.
            if (fields.boolean(key.text).value_or(false)) {
                out.guarantees.require(*guarantee, GuaranteeSource::User);
            }
        } else {
            const std::string_view meant = near_name(key.text, known);
            std::string at = pointer;
            json::append_pointer(at, key.text);
            std::string list;
            for (const std::string_view each : known) (list += list.empty() ? "" : ", ") += each;
            file.fault(key.byte, "project-key", std::move(at),
                       whose + " has no field " + json::quoted(key.text) + "; " +
                           (meant.empty() ? "there are " + list
                                          : "did you mean " + json::quoted(meant) + "?"));
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
    if (const Node* tools = tables.table("python_tools")) {
        Fields fields(file, *tools, "[python_tools]", "/python_tools");
        fields.allow(
            {"timeout_seconds", "service_url", "service_handshake_required", "python", "warm"});
        if (const auto seconds = fields.positive("timeout_seconds", (NAR_NONE - 1) / 1000)) {
            settings.timeout_ms = *seconds * 1000;
        }
        settings.service_url = fields.text("service_url").value_or("");
        settings.handshake_required = fields.boolean("service_handshake_required").value_or(false);
        settings.python = fields.text("python").value_or("");
        settings.warm = fields.boolean("warm").value_or(true);
    }
    if (const Node* overrides = tables.table("capability_overrides")) {
        for (const auto& [name, value] : overrides->members) {
            settings.overrides.emplace(name.text, read_override(file, name, value));
        }
    }
    if (const Node* packs = tables.table("tool_packs")) {
        Fields fields(file, *packs, "[tool_packs]", "/tool_packs");
        settings.enabled_packs = fields.texts("enabled_packs");
        settings.disabled_packs =
            fields.texts("disabled_packs").value_or(std::vector<std::string>());
        settings.pinned_tools =
            fields.variables("pinned_tools").value_or(std::map<std::string, std::string>());
    }
    return settings;
}

Guarantees read_policy(File& file) {
    Guarantees guarantees;
    const std::optional<Node> root = parse_toml(file);
    if (!root) return guarantees;
    Fields fields(file, *root, "the policy", "");
    fields.refuse_misspelled({"allowed_capabilities"});
    if (const Node* allowed = fields.table("allowed_capabilities")) {
        const std::string pointer = "/allowed_capabilities";
        const std::string whose = "\"allowed_capabilities\" of the policy";
        Fields(file, *allowed, whose, pointer)
            .allow({"filesystem", "network", "env", "subprocess"});
        require_levels(file, *allowed, whose, pointer, false, GuaranteeSource::Policy, guarantees);
    }
    return guarantees;
}

}  // namespace narratoria::tool::project
