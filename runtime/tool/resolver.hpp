// SPDX-License-Identifier: Apache-2.0
#pragma once
// Resolves a toolPath to a definition and a runner (spec 003 §13.3). The only place that does.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tool/definition.hpp"
#include "tool/registry.hpp"
#include "tool/runner/runners.hpp"

namespace narratoria::tool {

struct Resolution {
    // Both are set, or `error` is.
    std::shared_ptr<const Definition> definition;
    Runner* runner = nullptr;
    std::string target;      // see Invocation
    std::string error;       // for people
    bool forbidden = false;  // the error: the path is outside of the allowed paths
};

// Configured while its session is created. Engine thread only.
class Resolver {
public:
    // `story_tools`: the story's tools/ folder, or empty. `registry` and `runners` must outlive the
    // resolver.
    Resolver(const Registry& registry, const Runners& runners, std::string story_tools)
        : registry_(registry), runners_(runners), story_tools_(std::move(story_tools)) {}

    // Restricts tools to paths below one of these, with symbolic links and .. resolved, and to
    // "scheme:rest" with one of these schemes. A tool of a project is restricted by the place of its
    // code, or by its runner's name as a scheme. With several calls, a tool must satisfy each of them.
    void restrict_to(const std::vector<std::string>& allow_paths,
                     std::vector<std::string> allow_schemes = {});

    // Tries in this order: a registered name (or what it stands for), a scheme, an absolute path, a path relative to
    // `folder`, a path in the story's tools folder. Never searches PATH.
    Resolution resolve(std::string_view tool_path, const std::string& folder) const;

    // True for a registered tool that only waits (Definition::waits).
    bool waits(std::string_view tool_path) const;

    bool restricts() const { return !restrictions_.empty(); }

    // A registered name hides no file, and no file hides it: says that `tool_path` is a registered
    // name and also an executable file, and names the owners of both. Empty if it means only one
    // thing. Looks for the file; resolve() does not.
    std::string clash(std::string_view tool_path, const std::string& folder) const;

private:
    struct Restriction {
        std::vector<std::string> roots;
        std::vector<std::string> schemes;
    };

    std::string file_of(const std::string& path, const std::string& folder) const;
    // What is not a registered name.
    Resolution resolve_path(std::string_view tool_path, const std::string& folder) const;
    // `scheme`: the one whose rest this is; restrictions that allow it do not apply.
    Resolution resolve_file(std::string_view tool_path, const std::string& folder,
                            std::string_view scheme = {}) const;
    void find_runner(Resolution& resolution) const;
    std::string refusal_of(const std::string& path, std::string_view scheme) const;
    std::string refusal_of(const project::Binding& binding) const;
    // "; did you mean the registered tool "dice"?", or empty.
    std::string near_registered(std::string_view tool_path) const;

    const Registry& registry_;
    const Runners& runners_;
    std::string story_tools_;
    std::vector<Restriction> restrictions_;
};

}  // namespace narratoria::tool
