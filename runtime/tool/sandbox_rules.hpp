// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/guarantees.hpp"

namespace narratoria::tool {

// The guarantees that a host and its story require of tools. Immutable while tools run.
class SandboxRules {
public:
    void require_of_all(const Guarantees& guarantees) { all_.tighten(guarantees); }
    // `name`: a tool's name, with or without the extension of its file, or its path, relative to
    // `folder` or to the tools/ in it.
    void require_of(const std::string& name, const std::string& folder,
                    const Guarantees& guarantees);
    bool empty() const { return by_name_.empty() && !all_.any(); }
    // A tool has several names, and a file many paths; what is required of any of them applies.
    // `name`: as it is registered; `path`: as the plan writes it; `file`: its absolute path, or empty.
    Guarantees guarantees_of(std::string_view name, std::string_view path,
                             const std::string& file) const;

private:
    Guarantees all_;
    std::map<std::string, Guarantees, std::less<>> by_name_;  // also by the real path of a file
};

}  // namespace narratoria::tool
