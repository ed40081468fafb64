// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a toolPath means (spec 003 §13.3), decided here and nowhere else.

#include <string>
#include <string_view>
#include <vector>

namespace narratoria::plugin {
class Dispatcher;
struct RunnerOffer;
struct ToolOffer;
}  // namespace narratoria::plugin

namespace narratoria::tool {

// The scheme of "scheme:rest"; empty for a path, also for one with a colon in a later part.
std::string_view scheme_of(std::string_view tool_path);

struct Resolution {
    std::string program;  // an absolute path; empty when there is an error or an offer
    const plugin::ToolOffer* function = nullptr;  // a plugin's tool
    const plugin::RunnerOffer* runner = nullptr;  // a plugin that runs it
    std::string error;                            // for people
    bool forbidden = false;  // the error is that it lies outside of the allowed paths
};

class Resolver {
public:
    // `story_tools`: the story's tools/ folder, or empty.
    explicit Resolver(std::string story_tools) : story_tools_(std::move(story_tools)) {}

    // Whose names and schemes count; outlives this.
    void set_plugins(const plugin::Dispatcher* plugins) { plugins_ = plugins; }

    // Tools must lie below one of these, symbolic links and .. resolved. Each call restricts
    // further.
    void restrict_to(const std::vector<std::string>& allow_paths);

    // A registered name; a scheme; an absolute path; relative to `folder`; in the story's tools.
    // Never the PATH.
    Resolution resolve(std::string_view tool_path, const std::string& folder) const;

    bool restricts() const { return !restrictions_.empty(); }

private:
    Resolution resolve_file(std::string_view tool_path, const std::string& folder) const;

    std::string story_tools_;
    const plugin::Dispatcher* plugins_ = nullptr;
    std::vector<std::vector<std::string>> restrictions_;
};

}  // namespace narratoria::tool
