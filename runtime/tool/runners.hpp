// SPDX-License-Identifier: Apache-2.0
#pragma once
// The runners of a session, by name (for definitions) and by scheme (for tool paths).

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "tool/runner.hpp"

namespace narratoria::tool {

// Returns the scheme of "scheme:rest". Empty for a path, even if a later segment contains a colon.
std::string_view scheme_of(std::string_view tool_path);
// True for letters, digits, + - . _
bool is_scheme(std::string_view text);

// Shares ownership of the runners. Engine thread only.
class Runners {
public:
    struct Scheme {
        std::shared_ptr<Runner> runner;
        std::string origin;  // the id of its plugin; empty: built in
        bool waits = false;  // its tools need no processor core of this machine
    };

    // Adds a runner for the definitions that name it.
    void add(std::string name, std::shared_ptr<Runner> runner);
    // Adds a runner for tool paths "scheme:rest". False if the scheme is in use.
    bool add_scheme(std::string scheme, std::shared_ptr<Runner> runner, std::string origin = {},
                    bool waits = false);
    void remove_scheme(std::string_view scheme);

    // The known scheme that `name` probably misspells, or empty.
    std::string_view near_scheme(std::string_view name) const;
    Runner* find(std::string_view name) const;               // or NULL
    const Scheme* find_scheme(std::string_view name) const;  // or NULL

private:
    std::map<std::string, std::shared_ptr<Runner>, std::less<>> by_name_;
    std::map<std::string, Scheme, std::less<>> by_scheme_;
};

}  // namespace narratoria::tool
