// SPDX-License-Identifier: Apache-2.0
#pragma once
// A Nuwa script that runs in a session. The machine computes; its CALLs are invocations, those of a
// job of its own or those of a narrator.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/loop.hpp"
#include "base/recent_map.hpp"
#include "plan/result.hpp"
#include "script/machine.hpp"
#include "session/invocations.hpp"
#include "session/script_arguments.hpp"
#include "tool/registry.hpp"

namespace narratoria::session {

// The names by which a script calls tools (script_name): of the registered ones, and of the executable
// files of the story's tools folder and of another one.
class ScriptTools {
public:
    // Reads the folders once: a file that appears later is not found.
    ScriptTools(const tool::Registry& registry, const std::string& folder);

    bool has(std::string_view name) const;
    // Changes whenever a name may mean something else, except what a file contains.
    uint64_t version() const { return registry_.version(); }
    // All names that mean one tool, sorted. Valid until the registry changes and while this object is.
    std::vector<std::string_view> names() const;
    // NULL if the name means no tool, or several.
    tool::Registry::Shared definition_of(std::string_view name) const;
    // The toolPath of a name. Empty if it means nothing, or several tools: `why` then names them.
    std::string path_of(std::string_view name, std::string& why) const;

private:
    void add(const tool::Registry& registry);

    const tool::Registry& registry_;
    // The toolPaths of files, and of registered tools that a script calls by another name; by that
    // name.
    std::multimap<std::string, std::string, std::less<>> others_;
};

struct ScriptEnd {
    std::string scope;  // JSON object; empty if it is not wanted, or larger than a value may be
    script::Error error;
    std::string error_text;                      // for people
    plan::Stop reason{};                         // how to end tools that still run
    std::shared_ptr<const plan::Result> result;  // NULL if it called no tool; only of a job
};

// Ends with one call of on_ended, which may destroy it. Engine thread only.
class ScriptRun : private script::Tools {
public:
    struct Context {
        Loop& loop;
        ScriptTools tools;
        // Invocations::invoke() of those to which the CALLs belong.
        std::function<nar_status(std::string_view invocation, OnOutcome on_outcome,
                                 uint64_t& number, std::string& why)>
            invoke;
        // Invocations::call(); empty: no tool answers at once.
        std::function<std::optional<plan::Answer>(const tool::Registry::Shared& tool,
                                                  const plan::CallAtOnce& call)>
            call;
        std::function<void(std::string_view line)> on_printed;
        std::function<void(ScriptEnd end)> on_ended;
        bool wants_scope = false;
    };

    ScriptRun(Context context, std::shared_ptr<const script::Program> program,
              const script::Limits& limits);
    ~ScriptRun() override;
    ScriptRun(const ScriptRun&) = delete;
    ScriptRun& operator=(const ScriptRun&) = delete;

    // Before start(). `scope`: a JSON object.
    bool set_scope(std::string_view scope, script::Error& error) {
        return machine_.set_scope(scope, error);
    }
    // Runs the script from the loop.
    void start();
    // Ends it now. on_ended is called before this returns.
    void stop(plan::Stop reason);

private:
    bool has(std::string_view tool) override { return known(tool).is_there; }
    bool check(std::string_view tool, script::Value& arguments, script::Memory& memory,
               std::string& faults) override;
    Outcome start(const script::ToolCall& call, script::Memory& memory, script::Value& result,
                  std::string& message) override;

    // What a name means, while the registry does not change.
    struct Known {
        uint64_t version = UINT64_MAX;
        bool is_there = false;
        bool is_file = false;
        tool::Registry::Shared tool;  // NULL: none, several, or a file
    };
    // `name`: of the program.
    const Known& known(std::string_view name);
    bool answers_at_once(const script::ToolCall& call) const;
    bool is_next() const;
    void step();
    void step_soon();
    void on_outcome(std::string_view outcome);
    void finish(plan::Stop reason);

    const Context with_;
    script::Machine machine_;
    Timer timer_;
    RecentMap<const char*, Known> known_;  // by the place of the name in the program
    // From check() to start(): the tool of the CALL, or NULL, and its arguments.
    tool::Registry::Shared tool_;
    ScriptArguments arguments_;
    int64_t slice_ms_ = 0;  // when step() began
    // The end of the last tool that answered at once in this step(), and where the machine was then.
    std::optional<int64_t> answered_us_;
    uint64_t answered_steps_ = 0;
    uint32_t answered_at_ = 0;
    bool ended_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace narratoria::session
