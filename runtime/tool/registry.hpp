// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tools of a session that have a name. Used on the engine thread.

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tool/definition.hpp"

namespace narratoria::tool {

class Registry {
public:
    using Shared = std::shared_ptr<const Definition>;

    // `tools_folder`: its executable files are listed as tools; empty: none. A plan reaches them by
    // their path (Resolver), not by a registered name.
    explicit Registry(std::string tools_folder = {}) : tools_folder_(std::move(tools_folder)) {}
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;

    // False when the name is taken.
    bool add(Shared definition);
    // Takes the place of a definition of the same name, if there is one, at the end of the list.
    void replace(Shared definition);
    // Does nothing unless this very definition is registered.
    void remove(const Definition& definition);
    // Leaves the definition out of list(): it can no longer run, but a plan that names it still finds
    // it, and so fails with its runner's reason.
    void hide(const Definition& definition);

    // Nothing when no tool is registered under this name. Constant time.
    Shared find(std::string_view name) const;

    // What a narrator can use now: the executable files of the tools folder by name, then the
    // registered definitions in the order of their registration. Reads the folder at each call, so
    // that files may come and go.
    std::vector<Shared> list() const;

private:
    struct Entry {
        Shared definition;
        bool hidden = false;
    };
    using Entries = std::list<Entry>;
    Entries::iterator entry_of(const Definition& definition);

    std::string tools_folder_;
    Entries entries_;  // in the order of registration
    std::unordered_map<std::string_view, Entries::iterator>
        by_name_;  // keys: the definitions' names
};

}  // namespace narratoria::tool
