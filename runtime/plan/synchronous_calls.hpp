// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs synchronous tools (tool::Runner::call). The observable behavior is the same as for
// other tools.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/tape.hpp"
#include "base/recent_map.hpp"
#include "plan/plan.hpp"
#include "plan/result.hpp"
#include "tool/limits.hpp"
#include "tool/resolver.hpp"

namespace narratoria::plan {

struct ExecutionContext;
struct Settings;

struct SynchronousCall {
    std::string_view input;  // compact JSON without an "operation"
    uint32_t number;         // the number in its toolId
    uint32_t line;
    // clock::steady_us(), if the caller read it less than a microsecond ago.
    std::optional<int64_t> now_us;
};

// The answer of a synchronous tool.
struct Answer {
    json::Value result;  // valid until the next call
    int64_t ended_us;    // clock::steady_us() at its end
};

// Belongs to one open execution. A call takes less than half a microsecond, so data that all calls
// of a tool share is computed once. Engine thread only.
class SynchronousCalls {
public:
    // All must outlive this object.
    SynchronousCalls(const Plan& plan, const Settings& settings, const ExecutionContext& context,
                     Result& result)
        : plan_(plan), settings_(settings), with_(context), result_(result) {}
    SynchronousCalls(const SynchronousCalls&) = delete;
    SynchronousCalls& operator=(const SynchronousCalls&) = delete;

    // Like Execution::call(), which first checks that the call is possible.
    std::optional<Answer> call(const tool::Resolution& tool, std::string_view tool_path,
                               const SynchronousCall& call);
    // True once for a tool with a tool_pending from a call that returned nothing.
    bool has_announced(std::string_view tool_id) {
        const bool is_it = !announced_.empty() && announced_ == tool_id;
        if (is_it) announced_.clear();
        return is_it;
    }

private:
    // The shared data of a tool's calls. `request` and `tool_id` are the parts before the input and
    // the number. `pending` and `started` are the record bodies of the last call.
    struct Known {
        Known() : result(nullptr) {}

        tool::Limits limits;
        std::string request;
        size_t request_start;
        ToolResult result;  // of the last call
        size_t tool_id_start;
        std::optional<uint32_t> line;
        std::string pending;
        std::string started;
    };
    Known& known(const tool::Definition& tool, std::string_view tool_path);
    int64_t wall_us(int64_t steady_us);
    void publish_pending(Known& known, std::string_view tool_path, uint32_t line);
    void publish_rest(const Known& known);

    const Plan& plan_;
    const Settings& settings_;
    const ExecutionContext& with_;
    Result& result_;
    RecentMap<const tool::Definition*, Known> known_;
    // The same moment on both clocks.
    int64_t read_wall_us_ = 0;
    std::optional<int64_t> read_steady_us_;
    std::string announced_;
    // The body of the last published end.
    std::string ended_;
    std::optional<int64_t> ended_ms_;
};

}  // namespace narratoria::plan
