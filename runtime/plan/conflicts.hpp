// SPDX-License-Identifier: Apache-2.0
#pragma once
// The conflicts of one execution: which tools wrote the same path while both ran.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "plan/plan.hpp"
#include "state/store.hpp"

namespace narratoria::plan {

// Two tools are named once for each path, in the order of their first two writes, and at most
// kMaxConflicts conflicts are kept.
class Conflicts : public state::ConflictListener {
public:
    static constexpr size_t kMaxConflicts = 1000;

    // What is found is appended to `found` as JSON, {path, tools}. Plan and list outlive this.
    Conflicts(const Plan& plan, std::vector<std::string>& found) : plan_(plan), found_(found) {}

    // Call with each writer that opens, in the order in which they open.
    void add_writer(state::Writer writer, uint32_t tool);

    void on_conflict(std::string_view path, state::Writer earlier, state::Writer later) override;

    // The next conflict that was not taken before, or NULL; valid until another is found.
    const std::string* take() { return taken_ < found_.size() ? &found_[taken_++] : nullptr; }

private:
    const Plan& plan_;
    std::vector<std::string>& found_;
    size_t taken_ = 0;
    state::Writer first_ = 0;
    std::vector<uint32_t> tools_;  // of the writers from first_ on
    std::unordered_set<std::string> known_;
};

}  // namespace narratoria::plan
