// SPDX-License-Identifier: Apache-2.0
#include "tool/runner/process_runner.hpp"

namespace narratoria::tool {
namespace {

class ProcessSource : public Source {
public:
    explicit ProcessSource(std::unique_ptr<process::Process> its_process)
        : process_(std::move(its_process)) {}
    void terminate(uint32_t grace_ms) override { process_->terminate(grace_ms); }
    void stop_reading() override { process_->stop_reading(); }
    const std::vector<std::string>* readable() const override { return process_->readable(); }

private:
    std::unique_ptr<process::Process> process_;
};

}  // namespace

std::unique_ptr<Attempt> ProcessRunner::begin(const Invocation& invocation,
                                              AttemptListener& listener, StartFailure& failure) {
    auto attempt =
        std::make_unique<StreamAttempt>(pool_.loop(), settings_, invocation.limits, listener);
    if (invocation.definition != nullptr) attempt->set_name(invocation.definition->name);
    const std::string program(invocation.target);
    attempt->set_source(start_source(program, {program}, invocation.request,
                                     *invocation.environment, invocation.limits, *attempt, failure,
                                     {}, invocation.guarantees));
    return attempt->has_source() ? std::move(attempt) : nullptr;
}

std::unique_ptr<Source> ProcessRunner::start_source(
    std::string program, std::vector<std::string> arguments, std::string_view input,
    const std::vector<std::string>& environment, const process::Limits& limits,
    process::Listener& listener, StartFailure& failure, std::string folder,
    const Guarantees* guarantees, const std::vector<std::string>* readable) {
    process::Command command;
    command.path = std::move(program);
    command.folder = folder.empty() ? settings_.folder : std::move(folder);
    command.arguments = std::move(arguments);
    command.environment = &environment;
    command.input = input;
    command.limits = limits;
    command.guarantees = guarantees;
    command.readable = readable;
    auto started = launch(command, listener, failure);
    return started ? std::make_unique<ProcessSource>(std::move(started)) : nullptr;
}

std::unique_ptr<process::Process> ProcessRunner::start_service(
    std::string program, std::vector<std::string> arguments,
    const std::vector<std::string>& environment, const process::Limits& limits,
    process::Listener& listener, StartFailure& failure, std::string folder,
    const Guarantees* guarantees, const std::vector<std::string>* readable) {
    process::Command command;
    command.guarantees = guarantees;
    command.readable = readable;
    command.path = std::move(program);
    command.folder = std::move(folder);
    command.arguments = std::move(arguments);
    command.environment = &environment;
    command.is_service = true;
    command.limits = limits;
    return launch(command, listener, failure);
}

std::unique_ptr<process::Process> ProcessRunner::start_helper(
    std::vector<std::string> arguments, const std::vector<std::string>& environment,
    process::Listener& listener) {
    process::Command command;
    command.path = arguments.front();
    command.folder = settings_.folder;
    command.arguments = std::move(arguments);
    command.environment = &environment;
    process::StartFailure ignored;
    return pool_.start(command, listener, ignored);
}

std::unique_ptr<process::Process> ProcessRunner::launch(process::Command& command,
                                                        process::Listener& listener,
                                                        StartFailure& failure) {
    command.owner = this;
    process::StartFailure start_failure;
    auto started = pool_.start(command, listener, start_failure);
    if (!started) {
        failure.shortage = start_failure.out_of_descriptors;
        failure.no_supervisor = start_failure.no_supervisor;
        failure.may_retry = start_failure.may_retry;
        failure.code = std::move(start_failure.code);
        failure.message = start_failure.message;
    }
    return started;
}

}  // namespace narratoria::tool
