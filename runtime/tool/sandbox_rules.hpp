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
    // `name`: a tool's name, or its path as plans write it.
    void require_of(const std::string& name, const Guarantees& guarantees) {
        by_name_[name].tighten(guarantees);
    }
    bool empty() const { return by_name_.empty() && !all_.any(); }
    // A tool is known by several names; those of all of them apply.
    Guarantees guarantees_of(std::string_view name, std::string_view path) const {
        Guarantees out;
        for (const std::string_view each : {name, path}) {
            const auto found = by_name_.find(each);
            if (found != by_name_.end()) out.tighten(found->second);
        }
        out.tighten(all_);
        return out;
    }

private:
    Guarantees all_;
    std::map<std::string, Guarantees, std::less<>> by_name_;
};

}  // namespace narratoria::tool
