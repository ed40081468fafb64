// SPDX-License-Identifier: Apache-2.0
#pragma once
// The last turns of a session, and what its narrator noted, which a narrator may read in its requests.

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "journal/journal.hpp"
#include "plan/result.hpp"

namespace narratoria::session {

// What the tools of a turn said: a JSON array of {"tool", "ok"[, "summary"][, "error"]}.
std::string said_by_tools(const plan::Result* result);

// Keeps at most kMaxTurns, and of them as many as fit into kMaxBytes of JSON, but always the last
// one. Engine thread only.
class StorySoFar {
public:
    static constexpr size_t kMaxTurns = journal::Journal::kMaxPastPrompts;
    static constexpr size_t kMaxBytes = size_t{64} * 1024;

    struct Turn {
        std::string_view prompt;
        std::string_view narrative;
        std::string_view choices;  // a JSON array
        std::string_view tools;    // of said_by_tools()
        // Of its last plan, a JSON object; empty: no plan was executed.
        std::string_view metadata;
    };
    void add(const Turn& turn);
    void clear();
    // Appends a JSON array, the oldest turn first.
    void append_json(std::string& out) const;
    // The metadata of the last plan that was executed; a JSON object.
    const std::string& metadata() const { return metadata_; }

private:
    std::deque<std::string> turns_;  // JSON objects
    std::string metadata_ = "{}";
    size_t bytes_ = 0;
};

}  // namespace narratoria::session
