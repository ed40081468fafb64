// SPDX-License-Identifier: Apache-2.0
#pragma once
// The runners of plugins: functions with a schema (narratoria/tool.h), and schemes
// (narratoria/tool_runner.h). Their output is decoded like that of a process.

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "narratoria/tool.h"
#include "narratoria/tool_runner.h"
#include "plugin/instance.hpp"
#include "plugin/own_tool.hpp"
#include "tool/definition.hpp"
#include "tool/runner.hpp"
#include "tool/runner/process_runner.hpp"

namespace narratoria::plugin {

// Memory that the starts of a runner share, so that a start does not allocate.
struct StartBuffers {
    std::vector<nar_str> environment;
    nar_limits limits{};
    json::Document result;
};

// Runs the functions of all plugins and of the host. `processes` runs invocations that a plugin
// delegates to a program. `processes` and the instances must outlive the attempts. Engine thread
// only.
class FunctionRunner : public tool::Runner {
public:
    static constexpr const char* kName = "function";

    explicit FunctionRunner(tool::ProcessRunner& processes) : processes_(processes) {}

    // `handle` is the plugin's pointer and is passed back to its invoke().
    void add(std::shared_ptr<const tool::Definition> definition, Instance& instance,
             const nar_tool_extension& extension, const nar_tool* handle);
    // Adds a function of the host. All of them share one `instance`.
    void add(std::shared_ptr<const tool::Definition> definition, Instance& instance,
             std::shared_ptr<OwnTool> own);
    // Does not affect running attempts. The function's `released` may call this object.
    void remove(const tool::Definition& definition) {
        const auto removed = functions_.extract(&definition);
    }
    // Removes the functions of the host.
    void remove_own();
    std::vector<std::shared_ptr<const tool::Definition>> definitions_of(
        const Instance* instance) const;
    // One of the instance's definitions, or NULL. Does not allocate.
    std::shared_ptr<const tool::Definition> definition_of(const Instance* instance) const;

    bool may_end_within_start() const override { return true; }

private:
    struct Function {
        std::shared_ptr<const tool::Definition> definition;  // keeps the key alive
        Instance* instance;
        nar_tool_extension extension;
        const nar_tool* handle;
        std::shared_ptr<OwnTool> own;  // NULL: a function of a plugin
    };

    std::unique_ptr<tool::Attempt> begin(const tool::Invocation& invocation,
                                         tool::AttemptListener& listener,
                                         tool::StartFailure& failure) override;

    tool::ProcessRunner& processes_;
    std::unordered_map<const tool::Definition*, std::shared_ptr<const Function>> functions_;
    StartBuffers buffers_;
};

// Runs the tool paths "scheme:rest" of one plugin. Both references must outlive the attempts.
// Engine thread only.
class SchemeRunner : public tool::Runner {
public:
    SchemeRunner(tool::ProcessRunner& processes, Instance& instance,
                 const nar_tool_runner_extension& extension)
        : processes_(processes), instance_(instance), extension_(extension) {}

private:
    std::unique_ptr<tool::Attempt> begin(const tool::Invocation& invocation,
                                         tool::AttemptListener& listener,
                                         tool::StartFailure& failure) override;

    tool::ProcessRunner& processes_;
    Instance& instance_;
    const nar_tool_runner_extension extension_;
    StartBuffers buffers_;
};

}  // namespace narratoria::plugin
