// SPDX-License-Identifier: Apache-2.0
// service_calls URL COUNT (one | all)
//
// Calls a project's tool that is an HTTP service. With "one", calls it in sequence and prints the
// median seconds of a call; the first call, which connects, is not counted. With "all", calls it
// concurrently on this thread and prints the seconds until all calls have ended.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "http/client.hpp"
#include "tool/project/binding.hpp"
#include "tool/project/runner/service_runner.hpp"

namespace {

using namespace narratoria;
using Steady = std::chrono::steady_clock;

class Answer : public tool::AttemptListener {
public:
    explicit Answer(size_t& ended) : ended_(ended) {}
    void on_batch() override {}
    void on_batch_end() override {}
    void on_event(const event::Event&) override {}
    void on_ended(tool::Outcome outcome) override {
        if (!outcome.ok) {
            std::fprintf(stderr, "the call failed: %s\n", outcome.error.c_str());
            std::exit(1);
        }
        ++ended_;
    }

private:
    size_t& ended_;
};

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) return 2;
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);

    auto binding = std::make_shared<tool::project::Binding>();
    binding->name = "greeter";
    binding->entry = "tools.sample_tool:greet";
    binding->runner = tool::project::RunnerKind::Service;
    binding->root = "/path/to/app";
    binding->url = arguments[1];
    tool::Definition definition;
    definition.binding = binding;

    Loop loop;
    process::Pool pool(loop, "");
    http::Client http(loop, pool);
    tool::ServiceRunner runner(loop, http);
    const std::vector<std::string> environment;
    tool::Invocation invocation;
    invocation.definition = &definition;
    invocation.request = R"({"input":{"name":"Ada"}})";
    invocation.environment = &environment;
    size_t ended = 0;
    Answer answer(ended);
    tool::StartFailure failure;
    const auto calls = static_cast<size_t>(std::atol(arguments[2]));
    const auto since = [](Steady::time_point begin) {
        return std::chrono::duration<double>(Steady::now() - begin).count();
    };

    if (arguments[3] == std::string("all")) {
        std::vector<std::unique_ptr<tool::Attempt>> attempts;
        const Steady::time_point begin = Steady::now();
        for (size_t i = 0; i < calls; ++i) {
            attempts.push_back(runner.start(invocation, answer, failure));
        }
        while (ended < calls) loop.run_once();
        std::printf("%.9f\n", since(begin));
        return 0;
    }
    std::vector<double> seconds;
    for (size_t i = 0; i <= calls; ++i) {
        const Steady::time_point begin = Steady::now();
        const auto attempt = runner.start(invocation, answer, failure);
        while (ended <= i) loop.run_once();
        if (i > 0) seconds.push_back(since(begin));
    }
    std::sort(seconds.begin(), seconds.end());
    std::printf("%.9f\n", seconds[seconds.size() / 2]);
    return 0;
}
