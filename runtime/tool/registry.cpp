// SPDX-License-Identifier: Apache-2.0
#include "tool/registry.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "process/find_program.hpp"

namespace narratoria::tool {

// Returns the executable regular files of the folder, sorted by name; none if it cannot be read. An
// invalid manifest is reported when its tool runs.
std::vector<Registry::Shared> Registry::scan() const {
    namespace fs = std::filesystem;
    std::vector<Shared> found;
    std::error_code failure;
    fs::directory_iterator each(tools_folder_, failure), end;
    while (!failure && each != end) {
        const std::string path = each->path().string();
        if (process::is_program(path)) {
            std::string problem;
            found.push_back(file(path, problem));
        }
        each.increment(failure);
    }
    std::sort(found.begin(), found.end(),
              [](const auto& one, const auto& other) { return one->name < other->name; });
    return found;
}

const Registry::Entry* Registry::entry_of(std::string_view name) const {
    const uint32_t found = index_.find(name, [this](uint32_t at) { return entries_[at].name; });
    return found == NameIndex::kNone || name.empty() ? nullptr : &entries_[found];
}

Registry::Entry* Registry::entry_of(const Definition& definition) {
    const Entry* const found = entry_of(definition.name);
    if (found == nullptr || found->definition.get() != &definition) return nullptr;
    return &entries_[static_cast<size_t>(found - entries_.data())];
}

// Makes room for at least `more` additions, and as many as there are entries: the next call is
// not soon.
void Registry::drop_removed(size_t more) {
    const auto is_removed = [](const Entry& entry) { return entry.definition == nullptr; };
    const auto removed = std::count_if(entries_.begin(), entries_.end(), is_removed);
    // Allocates first: this may throw.
    NameIndex index(2 * (entries_.size() - static_cast<size_t>(removed) + more));
    std::erase_if(entries_, is_removed);
    for (size_t i = 0; i < entries_.size(); ++i) {
        index.add(entries_[i].name, static_cast<uint32_t>(i));
    }
    index_ = std::move(index);
}

void Registry::reserve(size_t more) {
    if (index_.room() < more) drop_removed(more);
    if (entries_.size() + more > entries_.capacity()) {
        entries_.reserve(std::max(2 * entries_.size(), entries_.size() + more));
    }
}

void Registry::append(Shared definition) {
    reserve(1);
    const std::string_view name = definition->name;
    ++version_;
    entries_.push_back({std::move(definition), name, {}});
    index_.add(name, static_cast<uint32_t>(entries_.size() - 1));
}

bool Registry::add(Shared definition) {
    if (entry_of(definition->name) != nullptr) return false;
    append(std::move(definition));
    return true;
}

void Registry::replace(Shared definition) {
    reserve(1);
    // Holds the old definition until the end: the caller may still refer to it.
    const Shared other = find(definition->name);
    if (other != nullptr) remove(*other);
    append(std::move(definition));
}

void Registry::remove(const Definition& definition) {
    Entry* const entry = entry_of(definition);
    if (entry == nullptr) return;
    ++version_;
    entry->name = {};
    // Last: this may destroy the definition.
    const Shared removed = std::move(entry->definition);
}

void Registry::hide(const Definition& definition, std::string problem) {
    if (Entry* const entry = entry_of(definition)) entry->problem = std::move(problem);
}

std::string_view Registry::problem_of(const Definition& definition) const {
    const Entry* const found = entry_of(definition.name);
    if (found == nullptr || found->definition.get() != &definition) return {};
    return found->problem;
}

const Registry::Shared& Registry::find(std::string_view name) const {
    static const Shared none;
    const Entry* const found = entry_of(name);
    return found == nullptr ? none : found->definition;
}

std::vector<std::string_view> Registry::names() const {
    std::vector<std::string_view> out;
    for (const Entry& entry : entries_) {
        if (entry.definition != nullptr && entry.problem.empty()) out.push_back(entry.name);
    }
    return out;
}

std::vector<Registry::Shared> Registry::collect(bool with_hidden) const {
    std::vector<Shared> out;
    if (!tools_folder_.empty()) out = scan();
    for (const Entry& entry : entries_) {
        if (entry.definition == nullptr) continue;
        if (with_hidden || entry.problem.empty()) out.push_back(entry.definition);
    }
    return out;
}

}  // namespace narratoria::tool
