// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a toolPath means (spec 003 §13.3), decided here and nowhere else.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tool/definition.hpp"
#include "tool/registry.hpp"
#include "tool/runner/runners.hpp"

namespace narratoria::tool {

struct Resolution {
    // Both are there, or there is an error.
    std::shared_ptr<const Definition> definition;
    Runner* runner = nullptr;
    std::string target;      // see Invocation
    std::string error;       // for people
    bool forbidden = false;  // the error is that it lies outside of the allowed paths
};

class Resolver {
public:
    // `story_tools`: the story's tools/ folder, or empty. The others outlive this.
    Resolver(const Registry& registry, const Runners& runners, std::string story_tools)
        : registry_(registry), runners_(runners), story_tools_(std::move(story_tools)) {}

    // Tools must lie below one of these, symbolic links and .. resolved. Each call restricts
    // further.
    void restrict_to(const std::vector<std::string>& allow_paths);

    // A registered name; a scheme; an absolute path; relative to `folder`; in the story's tools.
    // Never the PATH.
    Resolution resolve(std::string_view tool_path, const std::string& folder) const;

    bool restricts() const { return !restrictions_.empty(); }

private:
    Resolution resolve_file(std::string_view tool_path, const std::string& folder) const;
    void find_runner(Resolution& resolution) const;

    const Registry& registry_;
    const Runners& runners_;
    std::string story_tools_;
    std::vector<std::vector<std::string>> restrictions_;
};

}  // namespace narratoria::tool
