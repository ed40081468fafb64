// SPDX-License-Identifier: Apache-2.0
#pragma once
// The conflicts of one execution: paths that two concurrent tools wrote.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "plan/plan.hpp"
#include "state/store.hpp"

namespace narratoria::plan {

// Reports each pair of tools once per path, in the order of their first two writes. Keeps at most
// kMaxConflicts conflicts. Belongs to one Execution; engine thread only.
class Conflicts : public state::ConflictListener {
public:
    static constexpr size_t kMaxConflicts = 1000;

    // Appends each conflict to `found` as JSON, {path, tools}. Plan and list must outlive this
    // object.
    Conflicts(const Plan& plan, std::vector<std::string>& found) : plan_(plan), found_(found) {}

    // Must be called for each opened writer, in the order of opening.
    void add_writer(state::Writer writer, uint32_t tool);

    void on_conflict(std::string_view path, state::Writer earlier, state::Writer later) override;

    // Returns the next conflict that was not taken yet, or NULL. Valid until the next
    // on_conflict().
    const std::string* take() { return taken_ < found_.size() ? &found_[taken_++] : nullptr; }

private:
    const Plan& plan_;
    std::vector<std::string>& found_;
    size_t taken_ = 0;
    state::Writer first_ = 0;
    std::vector<uint32_t> tools_;  // tool of each writer from first_ on
    std::unordered_set<std::string> known_;
};

}  // namespace narratoria::plan
