// SPDX-License-Identifier: Apache-2.0
#include "tool/runner/python_runner.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "tool/runner/process_call.hpp"

// The text of python/narratoria_runner.py, with a zero at its end.
extern "C" const char narratoria_python_runner[];

namespace narratoria::tool {
namespace {

class PythonCall : public ProcessCall {
public:
    using ProcessCall::ProcessCall;

    bool start(std::vector<std::string> environment, StartFailure& failure) {
        const project::PythonEnvironment& python = binding().python;
        if (!python.problem.empty()) {
            fail_soon("SPAWN_FAILED", "EnvironmentError", python.problem);
            return true;
        }
        if (!check_coverage(binding().sandbox, "set \"sandbox: true\" in its binding")) return true;
        std::string path = "PYTHONPATH=";
        for (const std::string& each : python.path) (path += each) += ':';
        for (const std::string& variable : environment) {
            if (variable.starts_with("PYTHONPATH=")) path += variable.substr(11);
        }
        if (path.back() == ':') path.pop_back();
        set_variable(environment, path);
        set_variable(environment, "PYTHONUNBUFFERED=1");
        return start_process({python.interpreter, "-c", narratoria_python_runner}, request(true),
                             environment, binding().root, failure);
    }

private:
    void append_trace(json::ObjectWriter& trace) const override {
        trace.string("python_env", binding().python.kind)
            .string("python_path", binding().python.interpreter)
            .string("deps_source", binding().python.dependencies)
            .number("protocol_version", project::kProtocolVersion)
            .boolean("sandbox", binding().sandbox);
        if (is_unsafe_override()) trace.boolean("unsafe_override", true);
    }
};

}  // namespace

std::unique_ptr<Attempt> PythonRunner::begin(const Invocation& invocation,
                                             AttemptListener& listener, StartFailure& failure) {
    auto call = std::make_unique<PythonCall>(*processes_, invocation, listener);
    std::vector<std::string> environment = *invocation.environment;
    for (const auto& [name, value] : invocation.definition->binding->environment) {
        set_variable(environment, name + "=" + value);
    }
    if (!call->start(std::move(environment), failure)) return nullptr;
    return call;
}

}  // namespace narratoria::tool
