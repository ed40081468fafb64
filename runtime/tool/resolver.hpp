// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a toolPath means (spec 003 §13.3), decided here and nowhere else.

#include <string>
#include <string_view>
#include <vector>

namespace narratoria::tool {

struct Resolution {
    std::string program;     // an absolute path; empty when there is an error
    std::string error;       // for people
    bool forbidden = false;  // the error is that it lies outside of the allowed paths
};

class Resolver {
public:
    // `story_tools`: the story's tools/ folder, or empty.
    explicit Resolver(std::string story_tools) : story_tools_(std::move(story_tools)) {}

    // Tools must lie below one of these, symbolic links and .. resolved. Each call restricts
    // further.
    void restrict_to(const std::vector<std::string>& allow_paths);

    // An absolute path; relative to `folder`; in the story's tools. Never the PATH.
    Resolution resolve(std::string_view tool_path, const std::string& folder) const;

    bool restricts() const { return !restrictions_.empty(); }

private:
    std::string story_tools_;
    std::vector<std::vector<std::string>> restrictions_;
};

}  // namespace narratoria::tool
