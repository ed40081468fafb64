// SPDX-License-Identifier: Apache-2.0
// python_calls FOLDER MODULE:FUNCTION PYTHON COUNT (warm | fresh)
//
// Calls a project's Python tool COUNT times in sequence, as a plan does, and prints the median
// seconds of a call. Warm calls are in a sandbox (no_network, no_filesystem_write). The first call,
// which starts the tool's server, is not counted.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tool/project/binding.hpp"
#include "tool/project/runner/python_runner.hpp"

namespace {

using namespace narratoria;
using Steady = std::chrono::steady_clock;

class Answer : public tool::AttemptListener {
public:
    void on_batch() override {}
    void on_batch_end() override {}
    void on_event(const event::Event&) override {}
    void on_ended(tool::Outcome outcome) override {
        if (!outcome.ok) {
            std::fprintf(stderr, "the call failed: %s\n", outcome.error.c_str());
            std::exit(1);
        }
        has_ended = true;
    }
    bool has_ended = false;
};

}  // namespace

int main(int count, char** arguments) {
    if (count != 6) return 2;
    auto binding = std::make_shared<tool::project::Binding>();
    binding->name = "t";
    binding->root = arguments[1];
    binding->entry = arguments[2];
    binding->python.interpreter = arguments[3];
    binding->python.path = {binding->root};
    binding->warm = std::string(arguments[5]) == "warm";
    if (binding->warm) {
        binding->sandbox = true;
        binding->guarantees.require(Guarantee::NoNetwork, GuaranteeSource::User);
        binding->guarantees.require(Guarantee::NoFilesystemWrite, GuaranteeSource::User);
    }
    tool::Definition definition;
    definition.binding = binding;

    Loop loop;
    process::Pool pool(loop, "");
    tool::RunnerSettings settings;
    settings.folder = binding->root;
    tool::PythonRunner runner(std::make_shared<tool::ProcessRunner>(pool, settings));
    const std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
    tool::Invocation invocation;
    invocation.definition = &definition;
    invocation.request = R"({"input":{"name":"Ada"}})";
    invocation.environment = &environment;
    std::vector<double> seconds;
    for (int i = 0; i <= std::atoi(arguments[4]); ++i) {
        const Steady::time_point begin = Steady::now();
        Answer answer;
        tool::StartFailure failure;
        const auto attempt = runner.start(invocation, answer, failure);
        if (attempt == nullptr) {
            std::fprintf(stderr, "no start: %s\n", failure.message.c_str());
            return 1;
        }
        while (!answer.has_ended) loop.run_once();
        if (i > 0) {
            seconds.push_back(std::chrono::duration<double>(Steady::now() - begin).count());
        }
    }
    std::sort(seconds.begin(), seconds.end());
    std::printf("%.9f\n", seconds[seconds.size() / 2]);
    return 0;
}
