// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the manifest of a tool says about its results, judged by the library as while the tool runs.

#include <optional>
#include <string>

namespace narratoria::command::tool_check {

class ManifestCheck {
public:
    // `path`: of the tool, absolute.
    explicit ManifestCheck(const std::string& path);

    // Why the manifest cannot be used; empty if it can, or if there is none.
    const std::string& problem() const noexcept { return problem_; }
    bool describes_results() const noexcept { return result_schema_.has_value(); }
    // What is wrong with a result, which is JSON; empty if nothing is. Only if it describes results.
    std::string fault_of(const std::string& result) const;

private:
    std::string problem_;
    std::optional<std::string> result_schema_;
};

}  // namespace narratoria::command::tool_check
