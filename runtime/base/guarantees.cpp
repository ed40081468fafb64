// SPDX-License-Identifier: Apache-2.0
#include "base/guarantees.hpp"

#include <algorithm>

#include "base/json/writer.hpp"
#include "base/near_name.hpp"

namespace narratoria {
namespace {

struct Text {
    std::string_view name;
    std::string_view capability;
    std::string_view forbidden;  // "Tool … cannot "
};

constexpr std::array<Text, kGuarantees> kTexts = {{
    {"no_filesystem_write", "filesystem_write", "write to the filesystem"},
    {"no_filesystem_read", "filesystem_read", "read from the filesystem"},
    {"no_network", "network", "use the network"},
    {"no_subprocess", "subprocess", "spawn subprocesses"},
    {"no_env_read", "env_read", "read environment variables"},
    {"no_env_write", "env_write", "write environment variables"},
}};

std::string message(std::string_view tool, std::string_view forbidden) {
    std::string out = "Tool \"";
    ((out += tool) += "\" cannot ") += forbidden;
    out += '.';
    return out;
}

std::vector<std::string_view> split(std::string_view text, char by) {
    std::vector<std::string_view> parts;
    for (size_t end = 0; end != std::string_view::npos;) {
        end = text.find(by);
        parts.push_back(text.substr(0, end));
        if (end != std::string_view::npos) text.remove_prefix(end + 1);
    }
    return parts;
}

}  // namespace

std::string_view name_of(Guarantee guarantee) {
    return kTexts[static_cast<size_t>(guarantee)].name;
}

std::string_view capability_of(Guarantee guarantee) {
    return kTexts[static_cast<size_t>(guarantee)].capability;
}

std::optional<Guarantee> guarantee_of(std::string_view name) {
    for (size_t i = 0; i < kGuarantees; ++i) {
        if (kTexts[i].name == name) return static_cast<Guarantee>(i);
    }
    return std::nullopt;
}

std::string blocked_message(std::string_view tool, Guarantee guarantee) {
    return message(tool, kTexts[static_cast<size_t>(guarantee)].forbidden);
}

std::string blocked_secrets_message(std::string_view tool) {
    return message(tool, "access secrets");
}

std::vector<std::string> variables_of_secret(const std::string& secret) {
    std::vector<std::string> out = {secret};
    if (std::find(kKnownSecrets.begin(), kKnownSecrets.end(), secret) != kKnownSecrets.end()) {
        out.push_back("NAMEL3SS_" + secret);
        out.push_back("N3_" + secret);
    }
    return out;
}

std::string_view name_of(GuaranteeSource source) {
    static constexpr std::string_view kNames[] = {"", "pack", "tool", "user", "policy"};
    return kNames[static_cast<size_t>(source)];
}

void Guarantees::require_all(GuaranteeSource source) {
    sources_.fill(source);
    allow_secrets({}, source);
}

void Guarantees::allow_secrets(const std::vector<std::string>& names, GuaranteeSource source) {
    secrets_source_ = source;
    if (!secrets_) {
        secrets_ = names;
        return;
    }
    std::erase_if(*secrets_, [&](const std::string& each) {
        return std::find(names.begin(), names.end(), each) == names.end();
    });
}

void Guarantees::tighten(const Guarantees& more) {
    for (size_t i = 0; i < kGuarantees; ++i) {
        if (more.sources_[i] != GuaranteeSource::None) sources_[i] = more.sources_[i];
    }
    if (more.secrets_) allow_secrets(*more.secrets_, more.secrets_source_);
}

bool Guarantees::any() const {
    return secrets_.has_value() ||
           std::any_of(sources_.begin(), sources_.end(),
                       [](GuaranteeSource source) { return source != GuaranteeSource::None; });
}

void Guarantees::append_json(std::string& out) const {
    json::ObjectWriter writer(out);
    for (size_t i = 0; i < kGuarantees; ++i) {
        writer.boolean(kTexts[i].name, sources_[i] != GuaranteeSource::None);
    }
    if (secrets_) {
        writer.key(kSecretsAllowed);
        out += '[';
        for (const std::string& name : *secrets_) {
            if (out.back() != '[') out += ',';
            json::append_string(out, name);
        }
        out += ']';
    }
    writer.end();
}

void Guarantees::append_sources(std::string& out) const {
    json::ObjectWriter writer(out);
    for (size_t i = 0; i < kGuarantees; ++i) {
        if (sources_[i] != GuaranteeSource::None) {
            writer.string(kTexts[i].name, name_of(sources_[i]));
        }
    }
    if (secrets_) writer.string(kSecretsAllowed, name_of(secrets_source_));
    writer.end();
}

bool read_guarantees(std::string_view list, GuaranteeSource source, Guarantees& guarantees,
                     std::string& why) {
    constexpr std::string_view kSecretsStart = "secrets_allowed=";
    for (const std::string_view part : split(list, ',')) {
        if (part == "all") {
            guarantees.require_all(source);
        } else if (part.starts_with(kSecretsStart)) {
            std::vector<std::string> names;
            for (const std::string_view name : split(part.substr(kSecretsStart.size()), ':')) {
                if (!name.empty()) names.emplace_back(name);
            }
            guarantees.allow_secrets(names, source);
        } else if (const auto guarantee = guarantee_of(part)) {
            guarantees.require(*guarantee, source);
        } else {
            std::vector<std::string_view> names;
            for (const Text& text : kTexts) names.push_back(text.name);
            const std::string near = ask_for_near_name(part, names);
            why = "\"" + std::string(part) + "\" is not a guarantee; ";
            if (!near.empty()) {
                why += near;
                return false;
            }
            why += "use ";
            for (const Text& text : kTexts) (why += text.name) += ", ";
            why += "secrets_allowed=NAME:NAME or all";
            return false;
        }
    }
    return true;
}

}  // namespace narratoria
