// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plan JSON (spec 003 §13.3): parses a plan, or reports every fault.

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.hpp"
#include "base/json/tape.hpp"
#include "base/strict_keys.hpp"
#include "plan/tool_invocation.hpp"

namespace narratoria::plan {

// One entry of `tools`. Its texts point into the plan's document.
struct Tool {
    std::string_view tool_id;
    std::string_view tool_path;
    std::string_view input = "{}";       // a JSON object
    std::string_view operation = "run";  // the member "operation" of the input, if it is a string
    json::Value environment;             // an object of strings, or empty
    // The input satisfies the schema of this definition; NULL: unknown.
    const tool::Definition* checked_by = nullptr;
    // "timeoutMs"; overrides the session's timeout of an attempt; 0: none
    std::optional<uint64_t> try_ms;
    uint32_t max_retries = 3;
    uint64_t backoff_ms = 100;
    bool required = true;
    bool async = false;
    uint32_t line = 0;  // in the script or program that invoked it; 0: unknown
};

// The name under which a tool can be disabled: its file name without extension (spec 003 §13.3
// disabledSkills).
std::string_view skill_of(std::string_view tool_path);

// Adjacency lists of tool positions, in two flat arrays.
class Edges {
public:
    struct Range {
        const uint32_t* first;
        const uint32_t* last;
        const uint32_t* begin() const { return first; }
        const uint32_t* end() const { return last; }
        size_t size() const { return static_cast<size_t>(last - first); }
    };
    Range of(uint32_t tool) const {
        return {edges_.data() + starts_[tool], edges_.data() + starts_[tool + 1]};
    }

private:
    friend class Plan;
    void add_tool() { starts_.push_back(static_cast<uint32_t>(edges_.size())); }
    void clear() { starts_.assign(1, 0); }

    std::vector<uint32_t> starts_;
    std::vector<uint32_t> edges_;
};

// A plan. Immutable after parse(), except by append() and clear(). Its texts point into the
// document and the invocations that it owns.
class Plan {
public:
    // Parses and checks a plan. On failure returns false with all faults, and the plan must not be
    // used. Copies the text.
    bool parse(std::string_view text, Faults& faults);

    // Adds an optional tool without dependencies. Invalidates references to `tools`. Amortized
    // constant time.
    void append(ToolInvocation invocation);
    // Removes all tools of an open execution.
    void clear();
    // For a plan without a narrative.
    void set_narrative(std::string text) { narrative = given_narrative_ = std::move(text); }

    // Warnings of undefined members with a name similar to a defined one. The plan is valid, and
    // the members are ignored. At most kMaxWarnings.
    static constexpr size_t kMaxWarnings = 100;
    const Faults& warnings() const { return warnings_; }

    std::string_view text() const { return document_.text(); }
    std::string_view request_id;
    std::string_view narrative;
    bool parallel = false;
    std::vector<std::string_view> disabled_skills;
    // After success the narrator is asked again, in the same turn.
    bool continues = false;
    std::vector<std::string_view> choices;  // offered to the player after success
    std::string_view metadata = "{}";       // a JSON object
    int64_t generation_attempt = 1;
    bool has_generation_attempt = false;
    std::optional<std::string_view> parent_plan_id;

    std::vector<Tool> tools;
    Edges dependencies;  // of each tool, without duplicates
    Edges dependents;    // the reverse edges

private:
    friend bool parse(std::string_view text, ToolInvocation& invocation, std::string& why);
    // The members that a tool of a plan and an invocation share.
    struct Members {
        json::Value input, retry_policy, timeout, environment;
    };

    void read_root(json::Value root, Faults& faults);
    void read_tool(json::Value value, Tool& tool, Faults& faults);
    void read_members(const Members& members, Tool& tool, Faults& faults);
    void read_retry_policy(json::Value value, Tool& tool, Faults& faults);
    void read_metadata(json::Value value, Faults& faults);
    void link(Faults& faults);
    void find_cycles(Faults& faults);
    void check_disabled(Faults& faults);

    std::string pointer_of(json::Value value) const;
    void fault(Faults& faults, json::Value at, const char* rule, std::string message) const;
    // Like fault(), for a known pointer. Computing the pointers of many faults in one list would
    // take quadratic time.
    void fault_below(Faults& faults, std::string pointer, std::string_view segment, json::Value at,
                     const char* rule, std::string message) const;
    void fault_missing(Faults& faults, json::Value object, const char* key) const;
    // Warns if the name of an undefined member is close to one of `known`.
    void look_for_typo(json::Value object, json::Member member, KnownKeys known);
    void look_for_typos(json::Value object, KnownKeys known);

    json::Document document_;
    std::string given_narrative_;
    std::deque<ToolInvocation> appended_;
    Faults warnings_;
    std::vector<json::Value> entries_;           // the JSON object of each tool
    std::vector<json::Value> dependency_lists_;  // of each tool; empty if it has none
    size_t named_dependencies_ = 0;              // the sum over all tools, with duplicates
};

}  // namespace narratoria::plan
