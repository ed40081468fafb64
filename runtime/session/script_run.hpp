// SPDX-License-Identifier: Apache-2.0
#pragma once
// A Nuwa script that runs in a session. Its CALLs are invocations: of a script job, or of the
// question that a narrator's script answers.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/lifetime.hpp"
#include "base/loop.hpp"
#include "base/recent_map.hpp"
#include "plan/result.hpp"
#include "script/machine.hpp"
#include "session/invocations.hpp"
#include "session/script_arguments.hpp"
#include "tool/registry.hpp"

namespace narratoria::session {

// The names by which a script calls tools (script_name): registered tools, and executable files in
// the story's tools folder and in one additional folder.
class ScriptTools {
public:
    // Reads the folders once: a file that appears later is not found.
    ScriptTools(const tool::Registry& registry, const std::string& folder);

    bool has(std::string_view name) const;
    // Returns "did you mean NAME?", or why a file of this name is not a tool; may be empty.
    std::string hint(std::string_view name) const;
    // A hint, which may be empty, if the schema of the tool lists its arguments and does not name
    // this one.
    std::optional<std::string> unknown_argument(std::string_view name,
                                                std::string_view argument) const;
    // Changes whenever a name may mean something else, except what a file contains.
    uint64_t version() const { return registry_.version(); }
    // All unambiguous names, sorted. Valid until the registry changes or this object is destroyed.
    std::vector<std::string_view> names() const;
    // NULL if the name is unknown or ambiguous.
    tool::Registry::Shared definition_of(std::string_view name) const;
    // The toolPath of a name. Empty if it is unknown, or ambiguous: `why` then lists the tools.
    std::string path_of(std::string_view name, std::string& why) const;

private:
    void add(const tool::Registry& registry);

    const tool::Registry& registry_;
    // Script name → toolPath, of files and of registered tools with a different script name.
    std::multimap<std::string, std::string, std::less<>> others_;
    std::string folder_;
};

struct ScriptEnd {
    std::string scope;  // JSON object; empty if not wanted or larger than Limits::value_bytes
    script::Error error;
    std::string error_text;                      // human-readable
    plan::Stop reason{};                         // how to end tools that still run
    std::shared_ptr<const plan::Result> result;  // set for a job only; NULL if it called no tool
};

// Ends with one call of on_ended, which may destroy this object. Engine thread only.
class ScriptRun : private script::Tools {
public:
    struct Context {
        Loop& loop;
        ScriptTools tools;
        // Invocations::invoke() of the job or of the narrator's question.
        std::function<nar_status(plan::ToolInvocation&& invocation, const OnOutcome& on_outcome,
                                 uint64_t& number, std::string& why)>
            invoke;
        // A thread, or a tool, has requested a cancellation, which has not been carried out yet.
        std::function<bool()> is_cancelled;
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
    // See Machine.
    script::Value variable(std::string_view name) const { return machine_.variable(name); }
    // Ends the script. Calls on_ended before it returns.
    void stop(plan::Stop reason);

private:
    bool has(std::string_view tool) override { return known(tool).is_there; }
    std::string hint(std::string_view tool) override { return with_.tools.hint(tool); }
    bool check(std::string_view tool, script::Value& arguments, script::Memory& memory,
               std::string& faults) override;
    Outcome start(const script::ToolCall& call, script::Memory& memory, script::Value& result,
                  std::string& message) override;

    // The cached meaning of a name. Valid while ScriptTools::version() is `version`.
    struct Known {
        uint64_t version = UINT64_MAX;
        bool is_there = false;
        bool is_file = false;
        tool::Registry::Shared tool;  // NULL: unknown, ambiguous, or a file
        std::string path;             // the toolPath, if `tool` is set
    };
    // `name` must point into the program: its address is the key of the cache.
    const Known& known(std::string_view name);
    void step();
    void step_soon();
    void on_outcome(const plan::ToolResult& outcome);
    void finish(plan::Stop reason);

    const Context with_;
    script::Machine machine_;
    Timer timer_;
    RecentMap<const char*, Known> known_;  // by the name's address in the program
    // The tool of the current CALL (or NULL) and its arguments. check() sets them for start().
    tool::Registry::Shared tool_;
    ScriptArguments arguments_;
    int64_t slice_ms_ = 0;  // when step() began
    uint32_t calls_in_a_row_ = 0;
    bool is_calling_ = false;  // within start(): the machine goes on by itself
    bool ended_ = false;
    Lifetime lifetime_;
    const OnOutcome on_outcome_;
};

}  // namespace narratoria::session
