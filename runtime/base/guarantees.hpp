// SPDX-License-Identifier: Apache-2.0
#pragma once
// The restrictions of a tool (spec 001): six guarantees, and the variables with secrets that it may
// read. All code takes their names from here.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria {

// The order is that of requests and traces.
enum class Guarantee : uint8_t {
    NoFilesystemWrite,
    NoFilesystemRead,
    NoNetwork,
    NoSubprocess,
    NoEnvRead,
    NoEnvWrite,
};
inline constexpr size_t kGuarantees = 6;
inline constexpr std::string_view kSecretsAllowed = "secrets_allowed";
inline constexpr std::string_view kSecretsCapability = "secrets";

// "no_network"
std::string_view name_of(Guarantee guarantee);
// The capability that it forbids, as in traces: "network".
std::string_view capability_of(Guarantee guarantee);
// The guarantee with this name; nothing if there is none.
std::optional<Guarantee> guarantee_of(std::string_view name);
// The error of a tool that uses a forbidden capability: `Tool "t" cannot use the network.`
std::string blocked_message(std::string_view tool, Guarantee guarantee);
std::string blocked_secrets_message(std::string_view tool);

// The secrets of Namel3ss. Other secrets are known only by their mention in secrets_allowed.
inline constexpr std::array<std::string_view, 6> kKnownSecrets = {
    "OPENAI_API_KEY",  "ANTHROPIC_API_KEY", "GEMINI_API_KEY",
    "MISTRAL_API_KEY", "DATABASE_URL",      "EDGE_KV_URL"};
// The variables that hold a secret: the one with its name, and for a known secret those with the
// prefixes of Namel3ss, as in narratoria_runner.py.
std::vector<std::string> variables_of_secret(const std::string& secret);

// The origin of a guarantee. Sources add guarantees in this order; no source removes one.
enum class GuaranteeSource : uint8_t { None, Pack, Tool, User, Policy };
std::string_view name_of(GuaranteeSource source);

class Guarantees {
public:
    // If several sources require a guarantee, source_of() is the last one.
    void require(Guarantee guarantee, GuaranteeSource source) {
        sources_[static_cast<size_t>(guarantee)] = source;
    }
    // Requires all six and allows no secrets: a pure tool.
    void require_all(GuaranteeSource source);
    // Restricts the allowed secrets to these.
    void allow_secrets(const std::vector<std::string>& names, GuaranteeSource source);
    // Adds everything that `more` requires.
    void tighten(const Guarantees& more);

    bool requires_one(Guarantee guarantee) const {
        return source_of(guarantee) != GuaranteeSource::None;
    }
    GuaranteeSource source_of(Guarantee guarantee) const {
        return sources_[static_cast<size_t>(guarantee)];
    }
    // The allowed secrets; absent: all.
    const std::optional<std::vector<std::string>>& secrets() const { return secrets_; }
    GuaranteeSource secrets_source() const { return secrets_source_; }
    // False if nothing is required.
    bool any() const;

    // {"no_filesystem_write":true,"no_filesystem_read":false,…,"secrets_allowed":["KEY"]}
    void append_json(std::string& out) const;
    // The source of each requirement: {"no_network":"user","secrets_allowed":"pack"}.
    void append_sources(std::string& out) const;

private:
    std::array<GuaranteeSource, kGuarantees> sources_{};
    std::optional<std::vector<std::string>> secrets_;
    GuaranteeSource secrets_source_ = GuaranteeSource::None;
};

// Reads a list such as "no_network,no_subprocess". "all" means all six and no secrets,
// "secrets_allowed=A:B" allows the secrets A and B. On failure returns false and a reason.
bool read_guarantees(std::string_view list, GuaranteeSource source, Guarantees& guarantees,
                     std::string& why);

}  // namespace narratoria
