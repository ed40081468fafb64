// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plan JSON (spec 003 §13.3): reading it, and refusing it with every fault it has.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fault.hpp"
#include "base/json/tape.hpp"

namespace narratoria::plan {

// One entry of `tools`. The texts point into the plan's document.
struct Tool {
    std::string_view tool_id;
    std::string_view tool_path;
    json::Value input;               // an object, or nothing: {}
    json::Value environment;         // an object of strings, or nothing
    std::optional<uint32_t> try_ms;  // "timeoutMs": over the session's time for a try; 0: none
    uint32_t max_retries = 3;
    uint32_t backoff_ms = 100;
    bool required = true;
    bool async = false;
};

// The name that disables a tool: its file name without extension (spec 003 §13.3 disabledSkills).
std::string_view skill_of(std::string_view tool_path);

// A list of lists of tool positions, in two flat arrays.
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
    std::vector<uint32_t> starts_;
    std::vector<uint32_t> edges_;
};

class Plan {
public:
    // Reads and checks a plan; false and every fault when it must not run. The text is copied.
    bool parse(std::string_view text, Faults& faults);

    std::string_view text() const { return document_.text(); }
    std::string_view request_id;
    std::string_view narrative;
    bool parallel = false;
    std::vector<std::string_view> disabled_skills;
    int64_t generation_attempt = 1;
    bool has_generation_attempt = false;
    std::optional<std::string_view> parent_plan_id;

    std::vector<Tool> tools;
    Edges dependencies;  // of each tool, without doubles
    Edges dependents;    // the other way round

private:
    void read_root(json::Value root, Faults& faults);
    void read_tool(json::Value value, Tool& tool, Faults& faults);
    void read_retry_policy(json::Value value, Tool& tool, Faults& faults);
    void read_metadata(json::Value value, Faults& faults);
    void link(Faults& faults);
    void find_cycles(Faults& faults);
    void check_disabled(Faults& faults);

    std::string pointer_of(json::Value value) const;
    void fault(Faults& faults, json::Value at, const char* rule, std::string message) const;
    // The same where the pointer is known: many faults of one list are not searched for one by one.
    void fault_below(Faults& faults, std::string pointer, std::string_view segment, json::Value at,
                     const char* rule, std::string message) const;
    void fault_missing(Faults& faults, json::Value object, const char* key) const;

    json::Document document_;
    std::vector<json::Value> entries_;           // of each tool
    std::vector<json::Value> dependency_lists_;  // of each tool, or nothing
    size_t named_dependencies_ = 0;              // in all of them, those named twice included
};

}  // namespace narratoria::plan
