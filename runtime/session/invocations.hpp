// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tools that a narrator invokes while it thinks about one question (narratoria.invoke/1). They
// run in an open execution, which begins with the first of them.

#include <cstdint>
#include <functional>
#include <map>
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

// Receives {"toolId","state","ok","result","output",…}, valid during the call.
using OnOutcome = std::function<void(uint64_t number, std::string_view outcome)>;

// Belongs to one question of a Turn. Engine thread only. Must not be destroyed by a callback.
class Invocations {
public:
    using OnEnded = std::function<void(std::shared_ptr<plan::Result>)>;
    struct Context {
        const tool::Resolver& resolver;
        const std::string& folder;  // the base of relative tool paths
        const std::vector<std::string>& disabled_skills;
        // Makes an open execution of this plan and starts it.
        std::function<std::unique_ptr<plan::Execution>(std::unique_ptr<plan::Plan> plan,
                                                       plan::Settings settings, OnEnded on_ended)>
            open;
        // The first invocation runs (true), or the last one has settled.
        std::function<void(bool runs)> on_running;
        const plan::Recording* recording = nullptr;  // that of the execution, or NULL
    };

    // The parts of the context must outlive this object.
    explicit Invocations(Context context) : with_(std::move(context)) {}
    Invocations(const Invocations&) = delete;
    Invocations& operator=(const Invocations&) = delete;

    // Starts a tool. `invocation`: {"tool","input","retryPolicy","timeoutMs","environment","line"}.
    // On NAR_OK `on_outcome` is called once, from the loop or from end(). Otherwise `why` says what
    // to do.
    nar_status invoke(std::string_view invocation, OnOutcome on_outcome, uint64_t& number,
                      std::string& why);
    // Runs a tool that answers at once, as plan::Execution::call() does. Nothing: invoke() it next.
    // Sets `call.number`.
    std::optional<plan::Answer> call(const tool::Registry::Shared& tool, plan::CallAtOnce call);
    // Ends an invocation as cancelled; its outcome follows. NAR_NOT_FOUND if it has settled.
    nar_status cancel(uint64_t number);

    // Ends what runs. All outcomes have been told when this returns.
    void end(plan::Stop reason);
    // How many invocations end() has cut short.
    uint32_t abandoned() const { return abandoned_; }
    // NULL if nothing was invoked, and before the end.
    const std::shared_ptr<plan::Result>& result() const { return result_; }

private:
    std::unique_ptr<plan::Plan> read(std::string_view invocation, uint32_t position,
                                     std::string& why) const;
    std::optional<plan::ToolRefusal> refusal_of(const plan::Plan& tool) const;
    void open();
    void on_settled(uint32_t position, const plan::ToolResult& tool);

    const Context with_;
    std::unique_ptr<plan::Execution> execution_;
    std::shared_ptr<plan::Result> result_;
    uint32_t count_ = 0;
    // The tools that call() has run: without a definition, those that it must not run.
    RecentMap<const tool::Definition*, tool::Resolution> checked_;
    std::vector<tool::Registry::Shared> refused_;
    std::map<uint32_t, OnOutcome> waiting_;  // by position in the execution
    bool is_ending_ = false;
    uint32_t abandoned_ = 0;
};

}  // namespace narratoria::session
