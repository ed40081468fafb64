// SPDX-License-Identifier: Apache-2.0
#include "tool/runner/plugin_runner.hpp"

#include <csignal>
#include <cstring>
#include <utility>

#include "base/json/tape.hpp"
#include "process/find_program.hpp"
#include "tool/input_check.hpp"
#include "tool/runner/stream_attempt.hpp"

namespace narratoria::tool {
namespace {

nar_str view(std::string_view text) { return {text.data(), text.size()}; }

// What a plugin that runs a tool has to do with its attempt.
class PluginSource : public Source, public plugin::InvocationListener {
public:
    PluginSource(ProcessRunner& processes, plugin::Mailbox& mailbox, const Invocation& invocation,
                 StreamAttempt& attempt)
        : processes_(processes),
          mailbox_(mailbox),
          function_(invocation.function),
          runner_(invocation.runner),
          attempt_(attempt),
          request_(invocation.request),
          environment_(*invocation.environment),
          grace_(processes.loop()),
          token_(mailbox.open(instance(), *this)) {}

    ~PluginSource() override {
        *alive_ = false;
        close();
    }

    // Nothing else is done with it when this is false.
    bool start(const Invocation& invocation, StartFailure& failure) {
        std::vector<nar_str> environment;
        for (const std::string& variable : environment_) environment.push_back(view(variable));
        nar_invocation given{};
        given.size = sizeof given;
        given.attempt = invocation.attempt;
        given.plan_id = view(invocation.plan_id);
        given.tool_id = view(invocation.tool_id);
        given.tool_path = view(invocation.tool_path);
        given.plan_folder = view(invocation.folder);
        given.root = view(processes_.settings().folder);
        given.request = view(request_);
        given.environment = environment.data();
        given.environment_count = environment.size();
        given.try_ms = invocation.try_ms;
        starting_ = true;
        bool called = false;
        nar_status status = NAR_OK;
        nar_failure said = plugin::empty_failure();
        if (function_ != nullptr) {
            called = instance()->call("its tool", [&] {
                function_->extension.invoke(instance()->data(), token_, function_->handle, &given);
            });
        } else {
            called = instance()->call("its tool runner", [&] {
                status = runner_->extension.start(instance()->data(), token_, &given, &said);
            });
        }
        starting_ = false;
        const std::string who = "the plugin " + instance()->library().id;
        if (!called) {
            failure.message = who + " is disabled: " + instance()->disabled_reason();
        } else if (!run_failure_.message.empty()) {
            failure = run_failure_;
        } else if (status != NAR_OK) {
            failure.message = plugin::message_of(said);
            if (failure.message.empty()) failure.message = "it does not say why";
            failure.message = who + " could not start it: " + failure.message;
        } else {
            return true;
        }
        return false;
    }

    void terminate(uint32_t grace_ms) override {
        if (process_) return process_->terminate(grace_ms);
        if (token_ == 0 || std::exchange(told_to_end_, true)) return;
        // What has ended is on its way here, and must not be told to end.
        if (mailbox_.has_ended(token_)) return;
        const auto cancel =
            function_ != nullptr ? function_->extension.cancel : runner_->extension.cancel;
        if (cancel != nullptr) {
            instance()->call("its cancel", [&] { cancel(instance()->data(), token_); });
        }
        // It has the time that a process has; then its attempt ends without it.
        grace_.start(std::max<uint32_t>(grace_ms, 1), [this] {
            close();
            process::Exit exit;
            exit.started = true;
            exit.wait_status = SIGKILL;
            attempt_.on_exit(exit);
        });
    }

    void stop_reading() override {
        is_read_ = false;
        if (process_) process_->stop_reading();
    }

    void on_output(std::string bytes) override {
        if (!is_read_) return;
        const size_t size = bytes.size();
        bytes.append(json::kPadding, '\0');
        attempt_.on_output(bytes.data(), size);
    }

    void on_diagnostics(std::string_view bytes) override { attempt_.on_diagnostics(bytes); }

    void on_ended(plugin::InvocationEnd end) override {
        grace_.stop();
        close();
        process::Exit exit;
        exit.started = true;
        // As wait(2) tells an exit.
        exit.wait_status = (end.exit_status & 0xFF) << 8;
        if (end.exit_status != 0 && exit.wait_status == 0) exit.wait_status = 0xFF00;
        exit.user_us = end.user_us;
        exit.system_us = end.system_us;
        exit.resident_kb = end.resident_kb;
        if (end.error_code.empty() && !end.error.empty()) end.error_code = "TOOL_FAILED";
        if (end.error.empty() && !end.error_code.empty()) {
            end.error = "the plugin " + instance()->library().id + " says no more than that";
        }
        attempt_.on_exit(exit, std::move(end.error_code), std::move(end.error));
    }

    nar_status on_run(std::vector<std::string> arguments) override {
        if (told_to_end_) return NAR_GONE;
        StartFailure failure;
        const std::string program =
            process::find_program(arguments.front(), environment_, failure.message);
        if (!program.empty()) {
            process_ = processes_.start_source(program, std::move(arguments), request_,
                                               environment_, attempt_, failure);
        }
        // The token is dead from now on: the process speaks for itself.
        close();
        if (process_) return NAR_OK;
        if (starting_) {
            run_failure_ = std::move(failure);
            return NAR_IO;
        }
        processes_.loop().defer([this, alive = alive_, message = failure.message] {
            if (!*alive) return;
            process::Exit exit;
            exit.start_failure = message;
            attempt_.on_exit(exit);
        });
        return NAR_IO;
    }

private:
    plugin::Instance* instance() const {
        return function_ != nullptr ? function_->instance : runner_->instance;
    }
    void close() {
        if (token_ != 0) mailbox_.close(std::exchange(token_, 0));
    }

    ProcessRunner& processes_;
    plugin::Mailbox& mailbox_;
    const plugin::ToolOffer* function_;
    const plugin::RunnerOffer* runner_;
    StreamAttempt& attempt_;
    std::string request_;
    std::vector<std::string> environment_;
    std::unique_ptr<Source> process_;  // when it was handed over
    StartFailure run_failure_;
    Timer grace_;
    uint64_t token_;
    bool starting_ = false;
    bool told_to_end_ = false;
    bool is_read_ = true;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<Attempt> PluginRunner::start(const Invocation& invocation,
                                             AttemptListener& listener, StartFailure& failure) {
    if (invocation.function == nullptr && invocation.runner == nullptr) {
        return processes_.start(invocation, listener, failure);
    }
    if (invocation.function != nullptr && !invocation.function->input_schema.empty()) {
        failure.message = check_input(invocation.function->input_schema, invocation.request);
        if (!failure.message.empty()) {
            failure.code = "INPUT_INVALID";
            return nullptr;
        }
    }
    auto attempt =
        std::make_unique<StreamAttempt>(processes_.loop(), processes_.settings().stream, listener);
    auto source = std::make_unique<PluginSource>(processes_, mailbox_, invocation, *attempt);
    PluginSource& its = *source;
    // A process that it hands over to may fail before `start` is through with the attempt.
    if (!its.start(invocation, failure)) return nullptr;
    attempt->set_source(std::move(source));
    return attempt;
}

}  // namespace narratoria::tool
