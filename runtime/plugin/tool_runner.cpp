// SPDX-License-Identifier: Apache-2.0
#include "plugin/tool_runner.hpp"
#include "base/lifetime.hpp"

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <utility>

#include "base/json/tape.hpp"
#include "base/view.hpp"
#include "plugin/invocation.hpp"
#include "process/find_program.hpp"
#include "tool/runner/stream_attempt.hpp"

namespace narratoria::plugin {
namespace {

// The only forms of `done` that call() recognizes; any other output is decoded by an attempt.
constexpr std::string_view kDone = R"({"version":"0","type":"done","ok":true})";
constexpr std::string_view kDoneWithResult = R"({"version":"0","type":"done","ok":true,"result":)";

// `views` receives the views of the environment. It must live as long as the invocation.
nar_invocation invocation_of(const tool::Invocation& invocation, std::string_view root,
                             const std::vector<std::string>& environment,
                             std::vector<nar_str>& views) {
    views.clear();
    for (const std::string& variable : environment) views.push_back(view(variable));
    nar_invocation given{};
    given.size = sizeof given;
    given.attempt = invocation.attempt;
    given.plan_id = view(invocation.plan_id);
    given.tool_id = view(invocation.tool_id);
    given.tool_path = view(invocation.tool_path);
    given.plan_folder = view(invocation.folder);
    given.root = view(root);
    given.request = view(invocation.request);
    given.environment = views.data();
    given.environment_count = views.size();
    given.try_ms = static_cast<uint32_t>(std::min<uint64_t>(invocation.try_ms, UINT32_MAX));
    return given;
}

// The text of the result, if the tool only reported success.
std::optional<std::string_view> plain_result(const Inbox::Held& said) {
    // `end` is set if the end carries any data.
    if (!said.has_end || said.end.has_value() || !said.diagnostics.empty()) return std::nullopt;
    std::string_view text = said.output;
    if (!text.ends_with("}\n") || text.find('\n') != text.size() - 1) return std::nullopt;
    if (!text.starts_with(kDoneWithResult)) {
        if (text.substr(0, text.size() - 1) == kDone) return "null";
        return std::nullopt;
    }
    text.remove_prefix(kDoneWithResult.size());
    text.remove_suffix(2);
    // An explicit null differs from no result, which the caller receives as "null".
    if (text == "null") return std::nullopt;
    return text;
}

// The source of an attempt that a plugin runs. Owned by the attempt.
class PluginSource : public tool::Source, public InvocationReceiver {
public:
    // `cancel` may be NULL. `own`: the called function of the host; NULL: a function of a plugin.
    PluginSource(tool::ProcessRunner& processes, Instance& instance, std::shared_ptr<OwnTool> own,
                 void (*cancel)(void*, uint64_t), const tool::Invocation& invocation,
                 tool::StreamAttempt& attempt)
        : processes_(processes),
          instance_(instance),
          own_(std::move(own)),
          cancel_(cancel),
          attempt_(attempt),
          is_synchronous_(invocation.definition->is_synchronous),
          limits_(invocation.limits),
          request_(invocation.request),
          environment_(*invocation.environment),
          grace_(processes.loop()),
          token_(instance.inbox().open_suspended<InvocationEnd>(&instance, *this)) {}

    ~PluginSource() override {
        lifetime_.end();
        close();
    }

    // Passes the invocation to the plugin with `call`; `what` names the called function. If this
    // returns false, the source must be destroyed.
    template <typename Call>
    bool start(const tool::Invocation& invocation, const char* what, Call&& call,
               tool::StartFailure& failure) {
        std::vector<nar_str> environment;
        nar_invocation given =
            invocation_of(invocation, processes_.settings().folder, environment_, environment);
        given.request = view(request_);
        starting_ = true;
        nar_status status = NAR_OK;
        nar_failure said = empty_failure();
        const bool called =
            instance_.call(what, [&] { status = call(data(), token_, given, said); });
        starting_ = false;
        // The start failed, so no attempt can receive an end.
        if (!called || status != NAR_OK || !run_failure_.message.empty()) close();
        else if (is_synchronous_ && !instance_.inbox().has_end(token_)) end_for_it();
        else if (ending_ms_) terminate(*std::exchange(ending_ms_, std::nullopt));
        const std::string who = "the plugin " + instance_.library().id;
        if (!called) {
            failure.message = who + " is disabled: " + instance_.disabled_reason();
            failure.may_retry = false;
        } else if (!run_failure_.message.empty()) {
            failure = run_failure_;
        } else if (status != NAR_OK) {
            failure.message = message_of(said);
            if (failure.message.empty()) failure.message = "the plugin gave no reason";
            failure.message = who + " could not start it: " + failure.message;
            failure.may_retry = status != NAR_NOT_FOUND;
        } else {
            has_ended_early_ = instance_.inbox().has_end(token_);
            if (!has_ended_early_) instance_.inbox().release(token_);
            return true;
        }
        return false;
    }

    bool has_ended_early() const override { return has_ended_early_; }
    void deliver_early() override { instance_.inbox().deliver(token_); }

    void terminate(uint32_t grace_ms) override {
        if (process_) return process_->terminate(grace_ms);
        // Cancel only after the plugin's function has returned.
        if (starting_) {
            ending_ms_ = grace_ms;
            return;
        }
        if (token_ == 0 || std::exchange(told_to_end_, true)) return;
        // Do not cancel an ended invocation: its queued end will be delivered soon.
        if (instance_.inbox().has_end(token_)) return;
        if (cancel_ != nullptr) {
            instance_.call("its cancel", [&] { cancel_(data(), token_); });
        }
        // The plugin gets the same grace period as a process. Then the attempt ends as if it was
        // killed.
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
        start_early();
        const size_t size = bytes.size();
        bytes.append(json::kPadding, '\0');
        deliver([&] { attempt_.on_output(bytes.data(), size); });
    }

    bool is_delivering() const override { return is_delivering_; }

    nar_status on_patch(const state::Replacement& patch, std::string& why) override {
        if (is_synchronous_) {
            why = kIsSynchronous;
            return NAR_INVALID_ARGUMENT;
        }
        start_early();
        std::string line = R"({"version":"0","type":"state_patch","patch":)";
        line += patch.patch;
        if (!patch.nulls.empty()) line.append(R"(,"nulls":)").append(patch.nulls);
        line += '}';
        const size_t bytes = line.size();
        bool is_taken = false;
        deliver([&] { is_taken = attempt_.take_event(std::move(line)); });
        if (is_taken) return NAR_OK;
        why = "the tool has already written done or an invalid line, or the patch of " +
              std::to_string(bytes) + " bytes exceeds the limit line_bytes";
        return NAR_STALE;
    }

    void on_diagnostics(std::string_view bytes) override { attempt_.on_diagnostics(bytes); }

    void on_ended(std::any how) override {
        auto end = std::any_cast<InvocationEnd>(std::move(how));
        grace_.stop();
        close();
        process::Exit exit;
        exit.started = true;
        // Encoded like a status of wait(2). A status with only high bits must not become 0.
        exit.wait_status = (end.exit_status & 0xFF) << 8;
        if (end.exit_status != 0 && exit.wait_status == 0) exit.wait_status = 0xFF00;
        exit.user_us = end.user_us;
        exit.system_us = end.system_us;
        exit.resident_kb = end.resident_kb;
        if (end.error_code.empty() && !end.error.empty()) end.error_code = "TOOL_FAILED";
        if (end.error.empty() && !end.error_code.empty()) {
            end.error = (own_ ? "the function" : "the plugin " + instance_.library().id) +
                        std::string(" gave no reason");
        }
        attempt_.on_exit(exit, std::move(end.error_code), std::move(end.error));
    }

    nar_status on_run(std::vector<std::string> arguments) override {
        if (told_to_end_) return NAR_GONE;
        if (is_synchronous_) return NAR_INVALID_ARGUMENT;
        tool::StartFailure failure;
        const std::string program =
            process::find_program(arguments.front(), environment_, failure.message);
        if (!program.empty()) {
            process_ = processes_.start_source(program, std::move(arguments), request_,
                                               environment_, limits_, attempt_, failure);
        } else {
            failure.may_retry = false;
        }
        // From now on the process is the source, so refuse messages of the plugin.
        close();
        if (process_) return NAR_OK;
        if (starting_) {
            run_failure_ = std::move(failure);
            return NAR_IO;
        }
        // Deferred: on_exit() may destroy this object, and the caller is still inside it.
        processes_.loop().defer([this, life = lifetime_.watch(), failure] {
            if (life.ended()) return;
            process::Exit exit;
            exit.start_failure = failure.message;
            exit.start_code = failure.code;
            exit.may_retry = failure.may_retry;
            attempt_.on_exit(exit);
        });
        return NAR_IO;
    }

private:
    void* data() const { return own_ ? own_.get() : instance_.data(); }

    // Called when the plugin acts before its function has returned: reports the start first.
    void start_early() {
        if (starting_ && !std::exchange(started_early_, true)) attempt_.start_early();
    }

    // `call` may destroy the attempt, and with it this object.
    template <typename Call>
    void deliver(Call&& call) {
        is_delivering_ = true;
        const Lifetime::Watch life = lifetime_.watch();
        call();
        if (!life.ended()) is_delivering_ = false;
    }

    // Ends a synchronous tool that did not report its end.
    void end_for_it() {
        InvocationEnd end;
        end.error_code = "TOOL_FAILED";
        end.error =
            "the tool did not report its end before invoke returned "
            "(NAR_TOOL_SYNCHRONOUS)";
        instance_.inbox().send_end(&instance_, token_, std::move(end));
    }
    void close() {
        if (token_ != 0) instance_.inbox().close(std::exchange(token_, 0));
    }

    tool::ProcessRunner& processes_;
    Instance& instance_;
    const std::shared_ptr<OwnTool> own_;
    void (*const cancel_)(void*, uint64_t);
    tool::StreamAttempt& attempt_;
    const bool is_synchronous_;
    const process::Limits limits_;
    std::string request_;
    std::vector<std::string> environment_;
    std::unique_ptr<tool::Source> process_;  // NULL unless the invocation was delegated
    tool::StartFailure run_failure_;
    Timer grace_;
    uint64_t token_;
    bool starting_ = false;
    bool started_early_ = false;
    bool has_ended_early_ = false;  // within start(); its messages wait for deliver_early()
    bool is_delivering_ = false;
    std::optional<uint32_t> ending_ms_;  // grace period of a terminate() during the start
    bool told_to_end_ = false;
    bool is_read_ = true;
    Lifetime lifetime_;
};

template <typename Call>
std::unique_ptr<tool::Attempt> begin_attempt(tool::ProcessRunner& processes, Instance& instance,
                                             std::shared_ptr<OwnTool> own,
                                             void (*cancel)(void*, uint64_t),
                                             const tool::Invocation& invocation,
                                             tool::AttemptListener& listener, const char* what,
                                             Call&& call, tool::StartFailure& failure) {
    auto attempt = std::make_unique<tool::StreamAttempt>(processes.loop(), processes.settings(),
                                                         invocation.limits, listener);
    auto source = std::make_unique<PluginSource>(processes, instance, std::move(own), cancel,
                                                 invocation, *attempt);
    PluginSource& its = *source;
    // Set it before start(), in which the plugin may already act.
    attempt->set_source(std::move(source));
    if (!its.start(invocation, what, std::forward<Call>(call), failure)) return nullptr;
    return attempt;
}

}  // namespace

void FunctionRunner::add(std::shared_ptr<const tool::Definition> definition, Instance& instance,
                         const nar_tool_extension& extension, const nar_tool* handle) {
    const tool::Definition* const key = definition.get();
    functions_.emplace(key, std::make_shared<const Function>(Function{
                                std::move(definition), &instance, extension, handle, nullptr}));
}

void FunctionRunner::add(std::shared_ptr<const tool::Definition> definition, Instance& instance,
                         std::shared_ptr<OwnTool> own) {
    const tool::Definition* const key = definition.get();
    const nar_tool* const handle = own->handle();
    functions_.emplace(
        key, std::make_shared<const Function>(Function{
                 std::move(definition), &instance, OwnTool::functions(), handle, std::move(own)}));
}

void FunctionRunner::remove_own() {
    // Move them out first: a `released` callback may call this object.
    std::vector<std::shared_ptr<const Function>> removed;
    for (auto each = functions_.begin(); each != functions_.end();) {
        if (each->second->own == nullptr) {
            ++each;
            continue;
        }
        removed.push_back(std::move(each->second));
        each = functions_.erase(each);
    }
}

std::shared_ptr<const tool::Definition> FunctionRunner::definition_of(
    const Instance* instance) const {
    for (const auto& [key, function] : functions_) {
        if (function->instance == instance) return function->definition;
    }
    return nullptr;
}

std::vector<std::shared_ptr<const tool::Definition>> FunctionRunner::definitions_of(
    const Instance* instance) const {
    std::vector<std::shared_ptr<const tool::Definition>> found;
    for (const auto& [key, function] : functions_) {
        if (function->instance == instance) found.push_back(function->definition);
    }
    return found;
}

std::unique_ptr<tool::Attempt> FunctionRunner::begin(const tool::Invocation& invocation,
                                                     tool::AttemptListener& listener,
                                                     tool::StartFailure& failure) {
    const auto found = functions_.find(invocation.definition);
    if (found == functions_.end()) {
        failure.message = "the function \"" + invocation.definition->name + "\" was removed";
        failure.may_retry = false;
        return nullptr;
    }
    // Keep the function alive: during the call it may be replaced or removed.
    const std::shared_ptr<const Function> kept = found->second;
    const Function& function = *kept;
    const bool has_run = is_kept(invocation, *function.instance);
    return begin_attempt(
        processes_, *function.instance, function.own, function.extension.cancel, invocation,
        listener, "its tool",
        [&](void* data, uint64_t token, const nar_invocation& given, nar_failure&) -> nar_status {
            if (has_run) report_kept(*function.instance, token);
            else function.extension.invoke(data, token, function.handle, &given);
            return NAR_OK;
        },
        failure);
}

bool FunctionRunner::is_kept(const tool::Invocation& invocation, const Instance& instance) const {
    return kept_ && kept_->instance == &instance && kept_->plan_id == invocation.plan_id &&
           kept_->tool_id == invocation.tool_id && invocation.attempt == 1;
}

// Sends the kept messages as if the tool sent them now.
void FunctionRunner::report_kept(Instance& instance, uint64_t token) {
    const Kept kept = std::move(*std::exchange(kept_, std::nullopt));
    Inbox& inbox = instance.inbox();
    inbox.send_diagnostics(&instance, token, kept.messages.diagnostics);
    inbox.send_output(&instance, token, kept.messages.output);
    if (kept.messages.end.has_value()) inbox.send_end(&instance, token, kept.messages.end);
    else if (kept.messages.has_end) inbox.send_end(&instance, token, InvocationEnd());
}

std::optional<json::Value> FunctionRunner::call(const tool::Invocation& invocation) {
    kept_.reset();
    const auto found = functions_.find(invocation.definition);
    if (found == functions_.end()) return std::nullopt;
    // Keep it alive, as in begin().
    const std::shared_ptr<const Function> kept = found->second;
    const Function& function = *kept;
    Instance& instance = *function.instance;
    const nar_invocation given = invocation_of(invocation, processes_.settings().folder,
                                               *invocation.environment, environment_);
    const uint64_t token = instance.inbox().hold<InvocationEnd>(&instance);
    const bool called = instance.call("its tool", [&] {
        void* const data = function.own ? function.own.get() : instance.data();
        function.extension.invoke(data, token, function.handle, &given);
    });
    instance.inbox().take(said_);
    // The plugin is disabled; PluginSource::start() reports it.
    if (!called) return std::nullopt;
    if (const auto text = plain_result(said_);
        text && said_.output.size() - 1 <= invocation.limits.line_bytes) {
        json::ParseError error;
        const auto& schema = function.definition->result;
        // One level less than the limit of an event, which contains the result.
        const bool is_valid = result_.parse(*text, error, json::kMaximumDepth - 1) &&
                              result_.root().raw().size() == text->size();
        if (is_valid && (schema == nullptr || schema->check(result_.root()).empty())) {
            return result_.root();
        }
    }
    kept_ = Kept{&instance, std::string(invocation.plan_id), std::string(invocation.tool_id),
                 std::move(said_)};
    return std::nullopt;
}

std::unique_ptr<tool::Attempt> SchemeRunner::begin(const tool::Invocation& invocation,
                                                   tool::AttemptListener& listener,
                                                   tool::StartFailure& failure) {
    return begin_attempt(
        processes_, instance_, nullptr, extension_.cancel, invocation, listener, "its tool runner",
        [&](void* data, uint64_t token, const nar_invocation& given, nar_failure& said) {
            return extension_.start(data, token, &given, &said);
        },
        failure);
}

}  // namespace narratoria::plugin
