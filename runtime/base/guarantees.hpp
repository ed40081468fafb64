// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a tool is kept from doing (spec 001): six guarantees, and the variables with secrets that it
// may read. The only place that spells their names.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace narratoria {

// In the order in which requests and traces list them.
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
// What it forbids, as traces name it: "network".
std::string_view capability_of(Guarantee guarantee);
// Nothing: no guarantee has this name.
std::optional<Guarantee> guarantee_of(std::string_view name);
// What a tool without the right is told: `Tool "t" cannot use the network.`
std::string blocked_message(std::string_view tool, Guarantee guarantee);
std::string blocked_secrets_message(std::string_view tool);

// Who required a guarantee. Guarantees are required in this order, and never taken back.
enum class GuaranteeSource : uint8_t { None, Pack, Tool, User, Policy };
std::string_view name_of(GuaranteeSource source);

class Guarantees {
public:
    // The last source that requires a guarantee is the one that is told.
    void require(Guarantee guarantee, GuaranteeSource source) {
        sources_[static_cast<size_t>(guarantee)] = source;
    }
    // All six, and no secrets: a pure tool.
    void require_all(GuaranteeSource source);
    // Leaves only these of the secrets that are allowed so far.
    void allow_secrets(const std::vector<std::string>& names, GuaranteeSource source);
    // Everything that `more` requires, too.
    void tighten(const Guarantees& more);

    bool requires_one(Guarantee guarantee) const {
        return source_of(guarantee) != GuaranteeSource::None;
    }
    GuaranteeSource source_of(Guarantee guarantee) const {
        return sources_[static_cast<size_t>(guarantee)];
    }
    // Absent: any secret.
    const std::optional<std::vector<std::string>>& secrets() const { return secrets_; }
    GuaranteeSource secrets_source() const { return secrets_source_; }
    // False if nothing is required.
    bool any() const;

    // {"no_filesystem_write":true,"no_filesystem_read":false,…,"secrets_allowed":["KEY"]}
    void append_json(std::string& out) const;
    // {"no_network":"user","secrets_allowed":"pack"}: who required what.
    void append_sources(std::string& out) const;

private:
    std::array<GuaranteeSource, kGuarantees> sources_{};
    std::optional<std::vector<std::string>> secrets_;
    GuaranteeSource secrets_source_ = GuaranteeSource::None;
};

// Reads "no_network,no_subprocess"; "all" is all six and no secrets, "secrets_allowed=A:B" allows the
// secrets A and B. False with `why`.
bool read_guarantees(std::string_view list, GuaranteeSource source, Guarantees& guarantees,
                     std::string& why);

}  // namespace narratoria
