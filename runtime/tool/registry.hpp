// SPDX-License-Identifier: Apache-2.0
#pragma once
// Registry of a session's tools.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/name_index.hpp"
#include "tool/definition.hpp"
#include "tool/manifest.hpp"

namespace narratoria::tool {

// Maps names to definitions. Holds a reference to each definition until it is removed or replaced.
// Engine thread only.
class Registry {
public:
    using Shared = std::shared_ptr<const Definition>;

    // list() includes the executable files of `tools_folder`, unless it is empty. These files have
    // no registered name; a plan reaches them by path (Resolver).
    explicit Registry(std::string tools_folder = {}) : tools_folder_(std::move(tools_folder)) {}
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;

    // Appends a definition. Returns false if its name is in use. If this or replace() throws, the
    // registry is unchanged.
    bool add(Shared definition);
    // Reserves memory for `more` definitions: add() and replace() do not throw for that number.
    void reserve(size_t more);
    // Removes the definition of the same name, if there is one, and appends the new one.
    void replace(Shared definition);
    // Compares by identity: a different definition of the same name stays registered.
    void remove(const Definition& definition);
    // Excludes a definition that can no longer run from list(). find() still returns it, so a plan
    // that names it fails with its runner's reason. `problem`: the reason; not empty.
    void hide(const Definition& definition, std::string problem);
    // Returns the reason why the definition is hidden; empty if it is not. Valid until the registry
    // changes.
    std::string_view problem_of(const Definition& definition) const;

    // Returns the definition of an executable file, with its manifest if it has one. Sets `problem`
    // if the manifest cannot be used.
    Shared file(const std::string& path, std::string& problem) const {
        return manifests_.definition_of(path, problem);
    }

    // Returns NULL if no tool has this name. Constant time. The reference is valid until the
    // registry changes.
    const Shared& find(std::string_view name) const;
    // Changes whenever the result of find() may change.
    uint64_t version() const { return version_; }

    // Returns the tools that a narrator can use: the executable files of the tools folder sorted by
    // name, then the registered definitions in the order of registration. Reads the folder on each
    // call, because files may be added or removed at any time.
    std::vector<Shared> list() const { return collect(false); }
    // Like list(), including hidden tools.
    std::vector<Shared> list_all() const { return collect(true); }

    // Returns the names of the registered definitions in list(), in the order of registration.
    // Valid until the registry changes.
    std::vector<std::string_view> names() const;

private:
    struct Entry {
        Shared definition;      // NULL: removed
        std::string_view name;  // empty: removed
        std::string problem;    // not empty: hidden
    };
    // Returns NULL if there is no entry.
    const Entry* entry_of(std::string_view name) const;
    Entry* entry_of(const Definition& definition);
    void append(Shared definition);
    void drop_removed(size_t more);

    std::vector<Shared> scan() const;
    std::vector<Shared> collect(bool with_hidden) const;

    std::string tools_folder_;
    mutable ManifestFiles manifests_;
    std::vector<Entry> entries_;  // in the order of registration
    NameIndex index_;             // of entries_, also of removed ones
    uint64_t version_ = 0;
};

}  // namespace narratoria::tool
