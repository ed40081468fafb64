// SPDX-License-Identifier: Apache-2.0
#pragma once
// The runners of a session, by the names that definitions use and by the schemes of tool paths.
// Used on the engine thread.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "tool/runner/runner.hpp"

namespace narratoria::tool {

// The scheme of "scheme:rest"; empty for a path, also for one with a colon in a later part.
std::string_view scheme_of(std::string_view tool_path);
// Letters, digits, + - . _
bool is_scheme(std::string_view text);

class Runners {
public:
    struct Scheme {
        std::shared_ptr<Runner> runner;
        std::string origin;  // the id of the plugin that brings it; empty: built in
    };

    // A runner for the definitions that name it.
    void add(std::string name, std::shared_ptr<Runner> runner);
    // A runner for every tool path "scheme:rest". False when the scheme is taken.
    bool add_scheme(std::string scheme, std::shared_ptr<Runner> runner, std::string origin = {});
    void remove_scheme(std::string_view scheme);

    Runner* find(std::string_view name) const;               // or NULL
    const Scheme* find_scheme(std::string_view name) const;  // or NULL

private:
    std::map<std::string, std::shared_ptr<Runner>, std::less<>> by_name_;
    std::map<std::string, Scheme, std::less<>> by_scheme_;
};

}  // namespace narratoria::tool
