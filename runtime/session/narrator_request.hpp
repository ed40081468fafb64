// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the question for a narrator: a document of schema narrator-request/1, on one line.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/result.hpp"
#include "state/store.hpp"
#include "tool/registry.hpp"

namespace narratoria::session {

class StorySoFar;

// What a narrator with NAR_NARRATOR_DETAILED gets.
struct NarratorDetails {
    const StorySoFar& story_so_far;
    // Appends the text of ToolContext.format_state_for_prompt (spec 002).
    std::function<void(std::string& out)> format_state;
};

// Borrows all its data, which only write() reads. Engine thread only.
struct NarratorRequest {
    std::string_view session_id;
    std::string_view prompt;
    int64_t submitted_us;
    uint32_t generation;
    uint32_t continuation;            // how many plans with "continue" have succeeded in this turn
    uint64_t random;                  // the same for all requests of a turn
    std::string_view parent_plan_id;  // requestId of the last answer that had one; else empty
    const std::vector<std::string>& disabled_skills;
    const plan::Result* previous_result;  // NULL if no plan has run yet
    std::string_view
        previous_metadata;  // of the previous plan, a JSON object; empty: there is none
    // The invocations of the previous question; NULL if there were none.
    const plan::Result* invocations;
    std::string_view plan_faults;  // a JSON array
    const state::Store& state;
    // NULL: a narrator that is built in, and reads the session itself. The request then has no state
    // and no tools.
    const tool::Registry* registry;
    const NarratorDetails* details = nullptr;

    // `with_session` false leaves out the state, the tools and the events of results, which the
    // session stores elsewhere.
    std::string write(bool with_session = true) const;
};

}  // namespace narratoria::session
