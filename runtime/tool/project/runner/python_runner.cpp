// SPDX-License-Identifier: Apache-2.0
#include "tool/project/runner/python_runner.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "tool/project/container_program.hpp"
#include "tool/project/python_environment.hpp"
#include "tool/project/runner/process_call.hpp"

// The text of python/narratoria_runner.py, zero-terminated.
extern "C" const char narratoria_python_runner[];

namespace narratoria::tool {
namespace {

class PythonCall : public ProcessCall {
public:
    PythonCall(ProcessRunner& processes, PythonServers& servers, const Invocation& invocation,
               AttemptListener& listener)
        : ProcessCall(processes, invocation, listener), servers_(servers) {}

    bool start(std::vector<std::string> environment, StartFailure& failure) {
        const project::PythonEnvironment& python = binding().python;
        if (!python.problem.empty()) {
            fail_for_good(python.problem);
            return true;
        }
        const std::string uncovered = coverage_problem();
        if (!check_coverage(uncovered.empty(), uncovered)) return true;
        if (std::string why = project::script_problem(python, guarantees()); !why.empty()) {
            fail_for_good(std::move(why));
            return true;
        }
        std::string path = "PYTHONPATH=";
        for (const std::string& each : python.path) (path += each) += ':';
        for (const std::string& variable : environment) {
            if (variable.starts_with("PYTHONPATH=")) path += variable.substr(11);
        }
        if (path.back() == ':') path.pop_back();
        set_variable(environment, path);
        set_variable(environment, "PYTHONUNBUFFERED=1");
        std::vector<std::string> readable = readable_code();
        if (may_be_warm()) {
            const std::string module = binding().entry.substr(0, binding().entry.find(':'));
            return take_process(servers_.start(
                {python.interpreter, binding().root, module, std::move(environment), limits(),
                 guarantees(), std::move(readable)},
                request(true), *this, [this](std::string_view why) { on_alone(why); }, failure));
        }
        return start_process(
            python_arguments(python.interpreter, narratoria_python_runner, guarantees()),
            request(true), environment, binding().root, failure, &guarantees(), &readable);
    }

private:
    void fail_for_good(std::string why) {
        Outcome outcome;
        outcome.may_retry = false;
        fail_soon("SPAWN_FAILED", "EnvironmentError", std::move(why), std::move(outcome));
    }
    // Returns the paths that stay readable under no_filesystem_read. For a tool from a pack: the
    // whole pack. For a tool of the project: only its module or package, because the project's
    // folder also has tools.yaml, policies, other packs, stories, saves and keys.
    std::vector<std::string> readable_code() const {
        std::vector<std::string> out;
        for (const std::string& each : binding().python.path) {
            if (each != binding().root) out.push_back(each);
        }
        if (binding().pack) return out;
        const std::string module = binding().entry.substr(0, binding().entry.find_first_of(".:"));
        out.push_back(binding().root + "/" + module);
        out.push_back(binding().root + "/" + module + ".py");
        return out;
    }
    // A limit on all processes together would include the server. With no_subprocess a server could
    // not fork, and with no_filesystem_read it could not inspect itself in /proc. The redaction of
    // secrets in the output would change the size of a server's frames.
    bool may_be_warm() const {
        const process::Controllers group = limits().controllers();
        return binding().warm && !group.processes && !group.memory && !guarantees().secrets() &&
               !guarantees().requires_one(Guarantee::NoSubprocess) &&
               !guarantees().requires_one(Guarantee::NoFilesystemRead);
    }
    void on_alone(std::string_view why) {
        // The last statement, so the listener may destroy this object.
        (void)log("debug",
                  "the tool \"" + binding().name + "\" is not kept warm: " + std::string(why));
    }
    // narratoria_runner.py writes its reply as one line.
    bool is_whole(std::string_view reply) const override { return reply.ends_with('\n'); }

    PythonServers& servers_;
};

}  // namespace

PythonRunner::PythonRunner(std::shared_ptr<ProcessRunner> processes)
    : processes_(std::move(processes)),
      host_(project::environment_of_host()),
      servers_(*processes_) {}

std::unique_ptr<Attempt> PythonRunner::begin(const Invocation& invocation,
                                             AttemptListener& listener, StartFailure& failure) {
    auto call = std::make_unique<PythonCall>(*processes_, servers_, invocation, listener);
    std::vector<std::string> environment = host_;
    std::erase_if(environment, [](const std::string& each) { return is_withheld(each); });
    for (const std::string& each : *invocation.environment) set_variable(environment, each);
    const auto set_default = [&](const std::string& variable) {
        const std::string name_and_sign = variable.substr(0, variable.find('=') + 1);
        const auto is_it = [&](const std::string& each) { return each.starts_with(name_and_sign); };
        if (std::none_of(environment.begin(), environment.end(), is_it)) {
            environment.push_back(variable);
        }
    };
    const project::Binding& binding = binding_of(*invocation.definition);
    for (const std::string& each : binding.python.variables) set_default(each);
    set_default("PYTHONIOENCODING=utf-8");  // of the tool's output, whatever the host's locale
    for (const auto& [name, value] : binding.environment) {
        set_variable(environment, name + "=" + value);
    }
    if (!call->start(std::move(environment), failure)) return nullptr;
    return call;
}

}  // namespace narratoria::tool
