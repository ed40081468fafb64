// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/guarantees.hpp"

namespace narratoria::tool {

// The guarantees that the host and the story require of tools. Immutable while tools run.
class SandboxRules {
public:
    void require_of_all(const Guarantees& guarantees) { all_.tighten(guarantees); }
    // `name`: the tool's name, with or without the extension of its file, or its path relative to
    // `folder` or to tools/ in it.
    void require_of(const std::string& name, const std::string& folder,
                    const Guarantees& guarantees);
    bool empty() const { return by_name_.empty() && !all_.any(); }
    // Returns the guarantees required under any of the tool's names and paths. `name`: the
    // registered name; `path`: the path in the plan; `file`: the absolute path, or empty.
    Guarantees guarantees_of(std::string_view name, std::string_view path,
                             const std::string& file) const;

private:
    Guarantees all_;
    std::map<std::string, Guarantees, std::less<>> by_name_;  // by name and by real path
};

}  // namespace narratoria::tool
