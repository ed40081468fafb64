// SPDX-License-Identifier: Apache-2.0
#include "plugin/tool_runner.hpp"
#include "base/lifetime.hpp"

#include <algorithm>
#include <csignal>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/json/tape.hpp"
#include "base/view.hpp"
#include "event/error_code.hpp"
#include "narratoria/limits.h"
#include "plugin/invocation.hpp"
#include "process/find_program.hpp"
#include "tool/runner/stream_attempt.hpp"

namespace narratoria::plugin {
namespace {

// The only forms of `done` that end a start; any other output is decoded by an attempt.
constexpr std::string_view kDone = R"({"version":"0","type":"done","ok":true})";
constexpr std::string_view kDoneWithResult = R"({"version":"0","type":"done","ok":true,"result":)";

// `buffers` receives what the invocation points to. It must live as long as the invocation.
nar_invocation invocation_of(const tool::Invocation& invocation, std::string_view root,
                             const std::vector<std::string>& environment, StartBuffers& buffers) {
    std::vector<nar_str>& views = buffers.environment;
    views.clear();
    for (const std::string& variable : environment) views.push_back(view(variable));
    buffers.limits.size = sizeof buffers.limits;
#define NARRATORIA_LIMIT(name, type, least, text) \
    buffers.limits.name = static_cast<type>(      \
        std::min<uint64_t>(invocation.limits.name, std::numeric_limits<type>::max()));
    NAR_TOOL_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
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
    given.try_ms = invocation.try_ms == 0
                       ? NAR_NONE
                       : static_cast<uint32_t>(std::min<uint64_t>(invocation.try_ms, NAR_NONE - 1));
    given.resources = view(invocation.definition->resources);
    given.limits = &buffers.limits;
    return given;
}

// The result, if the tool reported only its success: empty if it returned none.
std::optional<std::string_view> plain_result(const Inbox::Messages& messages) {
    // `end` is set if the end carries any data.
    if (messages.end.has_value() || !messages.diagnostics.empty()) return std::nullopt;
    std::string_view text = messages.output;
    if (!text.ends_with("}\n") || text.find('\n') != text.size() - 1) return std::nullopt;
    if (!text.starts_with(kDoneWithResult)) {
        if (text.substr(0, text.size() - 1) == kDone) return std::string_view();
        return std::nullopt;
    }
    text.remove_prefix(kDoneWithResult.size());
    text.remove_suffix(2);
    if (text.empty()) return std::nullopt;
    return text;
}

// The source of an attempt that a plugin runs. Owned by the attempt. Created during the call of the
// plugin's function or right after it; end_start() follows.
class PluginSource : public tool::Source, public InvocationReceiver {
public:
    // `cancel` may be NULL. `own`: the called function of the host; NULL: a function of a plugin.
    PluginSource(tool::ProcessRunner& processes, Instance& instance, std::shared_ptr<OwnTool> own,
                 void (*cancel)(void*, uint64_t), const tool::Invocation& invocation,
                 uint64_t token, tool::StreamAttempt& attempt)
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
          token_(token) {
        instance.inbox().set_receiver(token, *this);
    }

    ~PluginSource() override {
        lifetime_.end();
        close();
    }

    // The plugin's function has returned. If it returned well, its messages follow.
    void end_start(bool returned_well) {
        starting_ = false;
        if (!returned_well) return close();
        if (ending_ms_) terminate(*std::exchange(ending_ms_, std::nullopt));
        has_ended_early_ = instance_.inbox().has_end(token_);
        if (!has_ended_early_) instance_.inbox().release(token_);
    }
    // Why the program to which the plugin delegated the invocation could not be started.
    const tool::StartFailure& run_failure() const { return run_failure_; }

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

    void on_waiting(bool waits) override { attempt_.set_waiting(waits); }

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
        InvocationEnd end;
        if (how.has_value()) end = std::any_cast<InvocationEnd>(std::move(how));
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
        exit.may_retry = !end.is_permanent;
        if (end.error_code.empty() && !end.error.empty()) end.error_code = "TOOL_FAILED";
        if (end.error.empty() && !end.error_code.empty()) {
            end.error = (own_ ? "the function" : "the plugin " + instance_.library().id) +
                        std::string(" gave no reason");
        }
        attempt_.set_details(std::move(end.details));
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
        attempt_.set_waiting(false);
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
    bool starting_ = true;
    bool started_early_ = false;
    bool has_ended_early_ = false;  // its messages wait for deliver_early()
    bool is_delivering_ = false;
    std::optional<uint32_t> ending_ms_;  // grace period of a terminate() during the start
    bool told_to_end_ = false;
    bool is_read_ = true;
    Lifetime lifetime_;
};

// An invocation that is being passed to its plugin. Most functions end before they return, and
// report only their result: an attempt is created for the others.
class PluginStart : public InvocationReceiver {
public:
    // The same as for PluginSource. All must outlive this object.
    PluginStart(tool::ProcessRunner& processes, Instance& instance,
                const std::shared_ptr<OwnTool>& own, void (*cancel)(void*, uint64_t),
                const tool::Invocation& invocation, tool::AttemptListener& listener)
        : processes_(processes),
          instance_(instance),
          own_(own),
          cancel_(cancel),
          invocation_(invocation),
          listener_(listener),
          token_(instance.inbox().open_suspended<InvocationEnd>(&instance, *this)) {}
    ~PluginStart() override {
        if (source_ == nullptr) instance_.inbox().close(token_);
    }
    PluginStart(const PluginStart&) = delete;
    PluginStart& operator=(const PluginStart&) = delete;

    // As tool::Runner::begin(). Passes the invocation to the plugin with `call`, which may write
    // the reason of a failure to `said`; `what` names the called function.
    template <typename Call>
    std::unique_ptr<tool::Attempt> run(const char* what, Call&& call, StartBuffers& buffers,
                                       const nar_failure* said, tool::StartFailure& failure) {
        const nar_invocation given = invocation_of(invocation_, processes_.settings().folder,
                                                   *invocation_.environment, buffers);
        nar_status status = NAR_OK;
        void* const data = own_ ? own_.get() : instance_.data();
        const bool called = instance_.call(what, [&] { status = call(data, token_, given); });
        // The start failed, so no attempt can receive an end.
        if (!called || status != NAR_OK || has_run_failure()) {
            if (source_ != nullptr) source_->end_start(false);
            failure = failure_of(called, status, said);
            return nullptr;
        }
        const Inbox::Messages* const messages = instance_.inbox().ended(token_);
        if (messages == nullptr && invocation_.definition->is_synchronous) end_for_it();
        if (messages != nullptr && has_succeeded(*messages, buffers.result)) return nullptr;
        source().end_start(true);
        return std::move(attempt_);
    }

    void on_output(std::string bytes) override { source().on_output(std::move(bytes)); }
    void on_diagnostics(std::string_view bytes) override { source().on_diagnostics(bytes); }
    void on_ended(std::any end) override { source().on_ended(std::move(end)); }
    nar_status on_run(std::vector<std::string> arguments) override {
        return source().on_run(std::move(arguments));
    }
    bool is_delivering() const override { return false; }
    void on_waiting(bool waits) override { source().on_waiting(waits); }
    nar_status on_patch(const state::Replacement& patch, std::string& why) override {
        return source().on_patch(patch, why);
    }

private:
    // Creates the attempt. From then on its source is the receiver.
    PluginSource& source() {
        if (source_ != nullptr) return *source_;
        attempt_ = std::make_unique<tool::StreamAttempt>(processes_.loop(), processes_.settings(),
                                                         invocation_.limits, listener_);
        auto source = std::make_unique<PluginSource>(processes_, instance_, own_, cancel_,
                                                     invocation_, token_, *attempt_);
        source_ = source.get();
        attempt_->set_source(std::move(source));
        return *source_;
    }

    bool has_run_failure() const {
        return source_ != nullptr && !source_->run_failure().message.empty();
    }

    tool::StartFailure failure_of(bool called, nar_status status, const nar_failure* said) const {
        tool::StartFailure failure;
        const std::string who = "the plugin " + instance_.library().id;
        if (!called) {
            failure.message = who + " is disabled: " + instance_.disabled_reason();
            failure.may_retry = false;
        } else if (has_run_failure()) {
            failure = source_->run_failure();
        } else {
            if (said != nullptr) {
                failure.message = message_of(*said);
                if (const std::string code = code_of(*said); event::is_error_code(code)) {
                    failure.code = code;
                }
            }
            if (failure.message.empty()) failure.message = "the plugin gave no reason";
            failure.message = who + " could not start it: " + failure.message;
            failure.may_retry = status != NAR_NOT_FOUND;
        }
        return failure;
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

    // Passes the result on, if the caller wants it and the tool reported nothing else.
    bool has_succeeded(const Inbox::Messages& messages, json::Document& document) const {
        tool::Success* const success = invocation_.success;
        if (success == nullptr || !success->is_wanted || source_ != nullptr) return false;
        const auto text = plain_result(messages);
        if (!text || messages.output.size() - 1 > invocation_.limits.line_bytes) return false;
        const auto& schema = invocation_.definition->result;
        success->result = {};
        if (!text->empty() || schema != nullptr) {
            const std::string_view result = text->empty() ? std::string_view("null") : *text;
            json::ParseError error;
            // One level less than the limit of an event, which contains the result.
            if (!document.parse(result, error, json::kMaximumDepth - 1)) return false;
            if (document.root().raw().size() != result.size()) return false;
            if (schema != nullptr && !schema->check(document.root()).empty()) return false;
            if (!text->empty()) success->result = document.root();
        }
        return success->has_succeeded = true;
    }

    tool::ProcessRunner& processes_;
    Instance& instance_;
    const std::shared_ptr<OwnTool>& own_;
    void (*const cancel_)(void*, uint64_t);
    const tool::Invocation& invocation_;
    tool::AttemptListener& listener_;
    const uint64_t token_;
    std::unique_ptr<tool::StreamAttempt> attempt_;  // NULL unless it is needed
    PluginSource* source_ = nullptr;                // of attempt_; owns the token
};

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
    PluginStart start(processes_, *function.instance, function.own, function.extension.cancel,
                      invocation, listener);
    return start.run(
        "its tool",
        [&](void* data, uint64_t token, const nar_invocation& given) {
            function.extension.invoke(data, token, function.handle, &given);
            return NAR_OK;
        },
        buffers_, nullptr, failure);
}

std::unique_ptr<tool::Attempt> SchemeRunner::begin(const tool::Invocation& invocation,
                                                   tool::AttemptListener& listener,
                                                   tool::StartFailure& failure) {
    nar_failure said = empty_failure();
    const std::shared_ptr<OwnTool> none;
    PluginStart start(processes_, instance_, none, extension_.cancel, invocation, listener);
    return start.run(
        "its tool runner",
        [&](void* data, uint64_t token, const nar_invocation& given) {
            return extension_.start(data, token, &given, &said);
        },
        buffers_, &said, failure);
}

}  // namespace narratoria::plugin
