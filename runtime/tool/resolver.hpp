// SPDX-License-Identifier: Apache-2.0
#pragma once
// Resolves a toolPath to a definition and a runner (spec 003 §13.3). No other code does this.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tool/definition.hpp"
#include "tool/registry.hpp"
#include "tool/runners.hpp"

namespace narratoria::tool {

struct Resolution {
    // `definition` and `runner` are set, or `error` is.
    std::shared_ptr<const Definition> definition;
    Runner* runner = nullptr;
    std::string target;      // see Invocation
    std::string error;       // a message for the user
    bool forbidden = false;  // the path is outside the allowed paths; `error` says so
};

// Configured while its session is created. Engine thread only.
class Resolver {
public:
    // `story_tools`: the story's tools/ folder, or empty. `registry` and `runners` must outlive the
    // resolver.
    Resolver(const Registry& registry, const Runners& runners, std::string story_tools)
        : registry_(registry), runners_(runners), story_tools_(std::move(story_tools)) {}

    // Restricts tools to files below one of `allow_paths`, after resolving symbolic links and ..,
    // and to "scheme:rest" with one of `allow_schemes`. For a tool of a project, the path of its
    // code or its runner's name as a scheme must be allowed. After several calls, a tool must
    // satisfy each. `story`: the folder of the story that restricts, for messages; empty: the engine.
    void restrict_to(const std::vector<std::string>& allow_paths,
                     std::vector<std::string> allow_schemes = {}, std::string story = {});

    // Tries in this order: a registered name (or its alias target), a scheme, an absolute path, a
    // path relative to `folder`, a path in the story's tools folder. Never searches PATH.
    Resolution resolve(std::string_view tool_path, const std::string& folder) const;

    // True for a registered tool that mostly waits (Definition::waits), and for the tools of such a
    // runner.
    bool waits(std::string_view tool_path) const;

    bool restricts() const { return !restrictions_.empty(); }

    // Returns a message if `tool_path` is both a registered name and an executable file; empty if
    // it is not ambiguous. Looks for the file, which resolve() does not do for a registered name.
    std::string clash(std::string_view tool_path, const std::string& folder) const;

private:
    struct Restriction {
        std::vector<std::string> roots;
        std::vector<std::string> schemes;
        std::string story;
    };

    std::string file_of(const std::string& path, const std::string& folder) const;
    // Resolves a path or a "scheme:rest".
    Resolution resolve_path(std::string_view tool_path, const std::string& folder) const;
    // `scheme`: the scheme before `tool_path`, if any. Restrictions that allow it do not apply.
    Resolution resolve_file(std::string_view tool_path, const std::string& folder,
                            std::string_view scheme = {}) const;
    std::shared_ptr<const Definition> remote_file(std::string_view target,
                                                  const std::string& folder,
                                                  std::string& problem) const;
    void find_runner(Resolution& resolution) const;
    // `is_project`: the path is the folder of a project, and the message has the remedy.
    std::string refusal_of(const std::string& path, std::string_view scheme,
                           bool is_project = false) const;
    std::string refusal_of(const Definition& definition) const;
    // The name of the tool that was probably meant, or empty.
    std::string near_tool(std::string_view name) const;

    const Registry& registry_;
    const Runners& runners_;
    std::string story_tools_;
    std::vector<Restriction> restrictions_;
    // Reading the tools folder for a suggestion takes long, and a plan may have many wrong names.
    static constexpr uint32_t kMostSuggested = 100;
    mutable uint32_t suggested_ = 0;
};

}  // namespace narratoria::tool
