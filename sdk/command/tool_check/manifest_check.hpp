// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks a tool's results against its manifest, with the same code that checks them when the tool
// runs.

#include <optional>
#include <string>

namespace narratoria::command::tool_check {

class ManifestCheck {
public:
    // `path` is the absolute path of the tool.
    explicit ManifestCheck(const std::string& path);

    // Why the manifest is not usable; empty if it is, or if the tool has no manifest.
    const std::string& problem() const noexcept { return problem_; }
    bool describes_results() const noexcept { return result_schema_.has_value(); }
    // The fault of a result (JSON), or empty. Call it only if describes_results().
    std::string fault_of(const std::string& result) const;

private:
    std::string problem_;
    std::optional<std::string> result_schema_;
};

}  // namespace narratoria::command::tool_check
