// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a narrator is asked: a document of the schema narrator-request/1, on one line.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/result.hpp"
#include "state/store.hpp"
#include "tool/registry.hpp"

namespace narratoria::session {

// All of it is read during write() only.
struct NarratorRequest {
    std::string_view session_id;
    std::string_view prompt;
    int64_t submitted_us;
    uint32_t generation;
    std::string_view parent_plan_id;  // empty: there is none
    const std::vector<std::string>& disabled_skills;
    const plan::Result* previous_result;  // NULL: there is none
    std::string_view plan_faults;         // a JSON array
    const state::Store& state;
    const tool::Registry& registry;

    std::string write() const;
};

}  // namespace narratoria::session
