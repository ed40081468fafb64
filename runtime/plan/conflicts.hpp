// SPDX-License-Identifier: Apache-2.0
#pragma once
// The conflicts of one execution: paths that two concurrent tools wrote.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "state/store.hpp"

namespace narratoria::plan {

// Reports each pair of tools once per path, in the order of their first two writes. Keeps at most
// kMaxConflicts conflicts. Belongs to one Execution; engine thread only.
class Conflicts : public state::ConflictListener {
public:
    static constexpr size_t kMaxConflicts = 1000;

    // Appends each conflict to `found` as JSON, {path, tools}. The list must outlive this object.
    explicit Conflicts(std::vector<std::string>& found) : found_(found) {}

    // Must be called before the writer's first patch.
    void add_writer(state::Writer writer, std::string_view tool_id);

    // No open writer remains.
    void forget_writers() { tools_.clear(); }

    void on_conflict(std::string_view path, state::Writer earlier, state::Writer later) override;

    // Returns the next conflict that was not taken yet, or NULL. Valid until the next
    // on_conflict().
    const std::string* take() { return taken_ < found_.size() ? &found_[taken_++] : nullptr; }

private:
    std::vector<std::string>& found_;
    size_t taken_ = 0;
    std::unordered_map<state::Writer, std::string> tools_;  // toolId of each writer
    std::unordered_set<std::string> known_;
};

}  // namespace narratoria::plan
