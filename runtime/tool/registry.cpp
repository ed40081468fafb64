// SPDX-License-Identifier: Apache-2.0
#include "tool/registry.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace narratoria::tool {

// The executable regular files of the folder, sorted by name. Empty if it cannot be read. A manifest
// that cannot be used is reported when the tool is run.
std::vector<Registry::Shared> Registry::scan() const {
    namespace fs = std::filesystem;
    std::vector<Shared> found;
    std::error_code failure;
    fs::directory_iterator each(tools_folder_, failure), end;
    while (!failure && each != end) {
        std::error_code ignored;
        const auto permissions = each->status(ignored).permissions();
        if (each->is_regular_file(ignored) &&
            (permissions & fs::perms::owner_exec) != fs::perms::none) {
            std::string problem;
            found.push_back(file(each->path().string(), problem));
        }
        each.increment(failure);
    }
    std::sort(found.begin(), found.end(),
              [](const auto& one, const auto& other) { return one->name < other->name; });
    return found;
}

Registry::Entries::iterator Registry::entry_of(const Definition& definition) {
    const auto found = by_name_.find(definition.name);
    if (found == by_name_.end() || found->second->definition.get() != &definition) {
        return entries_.end();
    }
    return found->second;
}

bool Registry::add(Shared definition) {
    const std::string_view name = definition->name;
    if (by_name_.contains(name)) return false;
    entries_.push_back({std::move(definition)});
    by_name_.emplace(name, std::prev(entries_.end()));
    return true;
}

void Registry::replace(Shared definition) {
    if (const Shared other = find(definition->name)) remove(*other);
    add(std::move(definition));
}

void Registry::remove(const Definition& definition) {
    const auto entry = entry_of(definition);
    if (entry == entries_.end()) return;
    by_name_.erase(definition.name);
    // Last: this may destroy the definition, and with it the key in by_name_.
    entries_.erase(entry);
}

void Registry::hide(const Definition& definition) {
    const auto entry = entry_of(definition);
    if (entry != entries_.end()) entry->hidden = true;
}

Registry::Shared Registry::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second->definition;
}

std::vector<Registry::Shared> Registry::list() const {
    std::vector<Shared> out;
    if (!tools_folder_.empty()) out = scan();
    for (const Entry& entry : entries_) {
        if (!entry.hidden) out.push_back(entry.definition);
    }
    return out;
}

}  // namespace narratoria::tool
