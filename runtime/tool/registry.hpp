// SPDX-License-Identifier: Apache-2.0
#pragma once
// The registered tools of a session.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.hpp"
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

    // Appends a definition. False if its name is in use. If this or replace() throws, nothing has
    // changed.
    bool add(Shared definition);
    // Makes place for so many definitions more: until then add() and replace() do not throw.
    void reserve(size_t more);
    // Removes the definition of the same name, if there is one, and appends the new one.
    void replace(Shared definition);
    // Compares by identity: another definition of the same name stays registered.
    void remove(const Definition& definition);
    // Excludes a definition that can no longer run from list(). find() still returns it, so that a
    // plan that names it fails with its runner's reason. `problem`: why; not empty.
    void hide(const Definition& definition, std::string problem);
    // Why the definition is hidden; empty if it is not. Valid until the registry changes.
    std::string_view problem_of(const Definition& definition) const;

    // The definition of an executable file, with its manifest if it has one. Sets `problem` if that
    // cannot be used.
    Shared file(const std::string& path, std::string& problem) const {
        return manifests_.definition_of(path, problem);
    }

    // Returns NULL if no tool has this name. Constant time. The reference is valid until the registry
    // changes.
    const Shared& find(std::string_view name) const;
    // Changes whenever find() may return something else.
    uint64_t version() const { return version_; }

    // The tools that a narrator can use: the executable files of the tools folder by name, then the
    // registered definitions in the order of registration. Reads the folder at each call, because
    // files may be added or removed at any time.
    std::vector<Shared> list() const { return collect(false); }
    // Also the hidden ones.
    std::vector<Shared> list_all() const { return collect(true); }

    // Of the registered definitions that list() has, in the order of registration. Valid until the
    // next change.
    std::vector<std::string_view> names() const;

private:
    struct Entry {
        Shared definition;  // NULL: removed
        std::string_view name;
        std::string problem;  // not empty: hidden
    };
    // An open-addressing table with linear probing: one cache line decides most lookups, and a list
    // or a map of nodes costs two more. A removed entry keeps its slot until the table is rebuilt.
    struct Slot {
        uint32_t tag = 0;    // of the name's hash, to compare few names
        uint32_t index = 0;  // in entries_, plus 1; 0: free
    };

    // NULL if there is none.
    const Entry* entry_of(std::string_view name) const;
    Entry* entry_of(const Definition& definition);
    void append(Shared definition);
    void place(uint32_t index);
    void rebuild(size_t more);

    std::vector<Shared> scan() const;
    std::vector<Shared> collect(bool with_hidden) const;

    std::string tools_folder_;
    mutable ManifestFiles manifests_;
    // Seeded, so that the names of a plugin's tools cannot be chosen to collide.
    const uint64_t seed_ = hash_seed();
    std::vector<Entry> entries_;  // in the order of registration
    std::vector<Slot> slots_;     // a power of two of them, or none
    uint64_t version_ = 0;
};

}  // namespace narratoria::tool
