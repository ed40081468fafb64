// SPDX-License-Identifier: Apache-2.0
#pragma once
// What all invocations of a registered tool share in an open execution. A script may call a function
// a million times, and each CALL takes less than a microsecond, so this is computed once.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/tape.hpp"
#include "base/recent_map.hpp"
#include "event/stream.hpp"
#include "plan/result.hpp"
#include "plan/tool_invocation.hpp"
#include "tool/limits.hpp"
#include "tool/resolver.hpp"
#include "tool/runner.hpp"

namespace narratoria::plan {

// A registered tool that may end within its start (Runner::may_end_within_start).
class KnownTool {
public:
    KnownTool(tool::Resolution resolution, std::string_view plan_id, std::string_view tool_path,
              const tool::Limits& limits, uint64_t seed);

    const tool::Resolution& resolution() const { return resolution_; }

    // One invocation: begin(), then its start, then succeed() if it succeeded within it. The texts
    // of begin() are valid until the next invocation.
    tool::Invocation begin(const ToolInvocation& invocation);
    const ToolResult& succeed(json::Value result, int64_t started_us, int64_t execution_ms);

    // Publishes the records of the invocation, in the same order as for other tools.
    void publish_pending(event::Stream& stream);
    void publish_ended(event::Stream& stream);

private:
    const tool::Resolution resolution_;
    const std::string plan_id_;
    const std::string tool_path_;
    tool::Limits limits_;
    const uint64_t seed_;  // of the execution
    std::string request_;
    const size_t request_start_;
    ToolResult result_;
    // Bodies of the last records, and what they depend on.
    std::optional<uint32_t> line_;
    std::string pending_;
    std::string started_;
    std::optional<int64_t> execution_ms_;
    std::string ended_;
    std::string done_line_;
};

// Belongs to one open execution. Engine thread only.
class KnownTools {
public:
    // All must outlive this object.
    KnownTools(std::string_view plan_id, const tool::Resolver& resolver, const std::string& folder,
               const tool::Limits& limits, uint64_t seed)
        : plan_id_(plan_id), resolver_(resolver), folder_(folder), limits_(limits), seed_(seed) {}
    KnownTools(const KnownTools&) = delete;
    KnownTools& operator=(const KnownTools&) = delete;

    // NULL if the tool cannot end within its start, or if this invocation needs more than others.
    KnownTool* find(const ToolInvocation& invocation);
    // The wall clock at a time of clock::steady_us(). Reads it once per millisecond, and
    // extrapolates it otherwise.
    int64_t wall_us(int64_t steady_us);

private:
    const std::string_view plan_id_;
    const tool::Resolver& resolver_;
    const std::string& folder_;
    const tool::Limits& limits_;
    const uint64_t seed_;  // of the execution
    RecentMap<const tool::Definition*, std::optional<KnownTool>> tools_;
    // Their definitions are the keys, so they must stay.
    std::vector<std::shared_ptr<const tool::Definition>> others_;
    // The same moment on both clocks.
    int64_t read_wall_us_ = 0;
    std::optional<int64_t> read_steady_us_;
};

}  // namespace narratoria::plan
