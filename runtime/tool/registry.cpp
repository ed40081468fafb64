// SPDX-License-Identifier: Apache-2.0
#include "tool/registry.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "process/find_program.hpp"

namespace narratoria::tool {
namespace {

constexpr size_t kFewestSlots = 16;

}  // namespace

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
    if (slots_.empty()) return nullptr;
    const uint64_t hash = hash_text(name, seed_);
    const auto tag = static_cast<uint32_t>(hash >> 32);
    const size_t mask = slots_.size() - 1;
    for (size_t at = static_cast<size_t>(hash) & mask;; at = (at + 1) & mask) {
        const Slot slot = slots_[at];
        if (slot.index == 0) return nullptr;
        if (slot.tag != tag) continue;
        const Entry& entry = entries_[slot.index - 1];
        if (entry.name == name && entry.definition != nullptr) return &entry;
    }
}

Registry::Entry* Registry::entry_of(const Definition& definition) {
    const Entry* const found = entry_of(definition.name);
    if (found == nullptr || found->definition.get() != &definition) return nullptr;
    return &entries_[static_cast<size_t>(found - entries_.data())];
}

void Registry::place(uint32_t index) {
    const uint64_t hash = hash_text(entries_[index].name, seed_);
    const size_t mask = slots_.size() - 1;
    size_t at = static_cast<size_t>(hash) & mask;
    while (slots_[at].index != 0) at = (at + 1) & mask;
    slots_[at] = {static_cast<uint32_t>(hash >> 32), index + 1};
}

// Drops removed entries. Leaves at least half of the slots free after `more` additions.
void Registry::rebuild(size_t more) {
    const auto is_removed = [](const Entry& entry) { return entry.definition == nullptr; };
    const auto removed = std::count_if(entries_.begin(), entries_.end(), is_removed);
    const size_t kept = entries_.size() - static_cast<size_t>(removed);
    size_t size = kFewestSlots;
    while (size < 4 * (kept + more)) size *= 2;
    // Allocates first: this may throw.
    std::vector<Slot> slots(size);
    slots_.swap(slots);
    std::erase_if(entries_, is_removed);
    for (size_t i = 0; i < entries_.size(); ++i) place(static_cast<uint32_t>(i));
}

void Registry::reserve(size_t more) {
    if (2 * (entries_.size() + more) > slots_.size()) rebuild(more);
    if (entries_.size() + more > entries_.capacity()) {
        entries_.reserve(std::max(2 * entries_.size(), entries_.size() + more));
    }
}

void Registry::append(Shared definition) {
    if (2 * (entries_.size() + 1) > slots_.size()) rebuild(0);
    const std::string_view name = definition->name;
    ++version_;
    entries_.push_back({std::move(definition), name, {}});
    place(static_cast<uint32_t>(entries_.size() - 1));
}

bool Registry::add(Shared definition) {
    if (entry_of(definition->name) != nullptr) return false;
    append(std::move(definition));
    return true;
}

void Registry::replace(Shared definition) {
    // Holds the old definition until the end: the caller may still refer to it.
    const Shared other = find(definition->name);
    append(std::move(definition));
    // remove() finds the earlier of the two entries.
    if (other != nullptr) remove(*other);
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
