// SPDX-License-Identifier: Apache-2.0
// A tool runner that hands attempts over to a process, runs others itself with timers, and refuses
// the rest.

#include <narratoria/plugin.hpp>

#include <chrono>
#include <map>
#include <stdexcept>

namespace plugin = narratoria::plugin;
using namespace std::chrono_literals;

namespace {

class Runner final : public plugin::ToolRunner {
public:
    static constexpr std::string_view kSchemes[] = {"process", "later", "never"};

    explicit Runner(const plugin::Host& host) : host_(host) {}

    void start(const plugin::InvocationRequest& request, plugin::Invocation invocation) override {
        const std::string_view path = request.tool_path();
        if (path.starts_with("never:")) throw plugin::CannotStart("nothing can run here");
        if (path.starts_with("process:")) {
            invocation.run({"cat"});
            return;
        }
        const std::uint64_t token = invocation.token();
        timers_[token] = plugin::Timer(host_, 5ms, [this, token, invocation] {
            invocation.done(true, "It is done.");
            timers_.erase(token);
        });
    }
    void cancel_invocation(std::uint64_t token) override { timers_.erase(token); }

private:
    const plugin::Host host_;
    std::map<std::uint64_t, plugin::Timer> timers_;
};

}  // namespace

NARRATORIA_PLUGIN(Runner, "test.runner", "Runner", "1.0.0", "narratoria.tool_runner/1");
