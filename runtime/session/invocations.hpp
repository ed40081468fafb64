// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tools that a narrator invokes while it works on one question (narratoria.invoke/1), or a
// script in its job. They run in an open execution, which starts with the first of them.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/recent_map.hpp"
#include "narratoria/status.h"
#include "plan/execution.hpp"
#include "tool/registry.hpp"
#include "tool/resolver.hpp"

namespace narratoria::session {

// `outcome` is valid during the call. Shared, because a script uses one for all its CALLs.
using OutcomeFunction = std::function<void(uint64_t number, const plan::ToolResult& outcome)>;
using OnOutcome = std::shared_ptr<const OutcomeFunction>;

// The outcome as narratoria.invoke/1 passes it: {"toolId","state","ok","result","output",…}.
std::string outcome_json(const plan::ToolResult& outcome);

// Belongs to one question of a Turn or to one job. Engine thread only. A callback must not destroy
// it.
class Invocations {
public:
    using OnEnded = std::function<void(std::shared_ptr<plan::Result>)>;
    struct Context {
        const tool::Resolver& resolver;
        const std::string& folder;  // the base of relative tool paths
        const std::vector<std::string>& disabled_skills;
        // Creates and starts an open execution of this plan.
        std::function<std::unique_ptr<plan::Execution>(std::unique_ptr<plan::Plan> plan,
                                                       plan::Settings settings, OnEnded on_ended)>
            open;
        // True: the first invocation starts. False: the last one has settled.
        std::function<void(bool runs)> on_running;
        const plan::Recording* recording = nullptr;  // of the execution; may be NULL
        // Called for each tool before its outcome is reported; may be empty.
        std::function<void(const plan::ToolResult& tool)> on_settled = {};
    };

    // The parts of the context must outlive this object.
    explicit Invocations(Context context) : with_(std::move(context)) {}
    Invocations(const Invocations&) = delete;
    Invocations& operator=(const Invocations&) = delete;

    // When the tool starts. Now: before invoke() returns, if it may; then `on_outcome` may be called
    // before, too. Not in a callback of a sink or of this object.
    enum class Start : uint8_t { FromLoop, Now };
    // Starts a tool and sets its tool_id. On NAR_OK `on_outcome` is called once, from the loop or
    // from end(). Otherwise `why` holds the reason.
    nar_status invoke(plan::ToolInvocation&& invocation, Start start, OnOutcome on_outcome,
                      uint64_t& number, std::string& why);
    // Ends an invocation as cancelled; its outcome follows. NAR_NOT_FOUND if it has settled.
    nar_status cancel(uint64_t number);

    // Ends running invocations. Every on_outcome has been called when this returns.
    void end(plan::Stop reason);
    // The number of invocations that end() cancelled.
    uint32_t abandoned() const { return abandoned_; }
    // NULL before the end, or if nothing was invoked.
    const std::shared_ptr<plan::Result>& result() const { return result_; }

private:
    std::optional<plan::ToolRefusal> refusal_of(std::string_view tool_id,
                                                std::string_view tool_path) const;
    struct Checked {
        tool::Registry::Shared tool;  // the key, so it must stay
        std::string_view skill;
        bool may_run;
    };
    // NULL unless the path names a registered tool that may run. Decides it once.
    const Checked* checked(const plan::ToolInvocation& invocation);
    void open();
    void on_settled(uint32_t position, const plan::ToolResult& tool);

    const Context with_;
    std::unique_ptr<plan::Execution> execution_;
    std::shared_ptr<plan::Result> result_;
    uint32_t count_ = 0;
    RecentMap<const tool::Definition*, Checked> checked_;
    struct Waiting {
        uint32_t position;  // in the execution
        uint64_t number;
        OnOutcome on_outcome;
    };
    std::vector<Waiting> waiting_;  // ascending positions
    bool is_ending_ = false;
    uint32_t abandoned_ = 0;
};

}  // namespace narratoria::session
