// SPDX-License-Identifier: Apache-2.0
#include "tool/project/runner/call.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "base/lifetime.hpp"
#include "base/uuid.hpp"
#include "event/event.hpp"
#include "process/process.hpp"

namespace narratoria::tool {
namespace {

// Shorter values are in texts by chance. They are not redacted either.
constexpr size_t kShortestSecret = 4;
constexpr std::string_view kRedacted = "***";

std::string text_of(const json::Value& object, std::string_view key) {
    const json::Value value = object.find(key);
    return value && value.is_string() ? std::string(value.text()) : std::string();
}

Guarantees all_guarantees(const Invocation& invocation) {
    Guarantees all = binding_of(*invocation.definition).guarantees;
    if (invocation.guarantees != nullptr) all.tighten(*invocation.guarantees);
    return all;
}

std::optional<CapabilityCheck> check_of(const json::Value& value) {
    if (!value.is_object()) return std::nullopt;
    CapabilityCheck check;
    for (const auto& [key, text] : {std::pair{"capability", &check.capability},
                                    std::pair{"guarantee_source", &check.guarantee_source},
                                    std::pair{"reason", &check.reason}}) {
        const json::Value member = value.find(key);
        if (!member || !member.is_string()) return std::nullopt;
        *text = member.text();
    }
    const json::Value allowed = value.find("allowed");
    if (!allowed || !allowed.is_boolean()) return std::nullopt;
    check.allowed = allowed.boolean();
    const json::Value duration = value.find("duration_ms");
    if (duration && duration.is_number() && duration.integer()) check.duration_ms = duration.raw();
    return check;
}

}  // namespace

bool read_reply(std::string_view text, Reply& reply, std::string& why) {
    json::Document document;
    json::ParseError error;
    if (!document.parse(text, error)) {
        const bool is_limit = error.kind == json::ParseError::Kind::TooDeep ||
                              error.kind == json::ParseError::Kind::NumberTooBig;
        why = (is_limit ? "its reply cannot be read: " : "its reply is not valid JSON: ") +
              error.message;
        if (!text.empty() && !is_limit) why += ": " + event::excerpt(text, error.byte);
        return false;
    }
    const json::Value root = document.root();
    if (!root.is_object()) {
        why = std::string("its reply must be an object, not ") + json::type_name(root.type());
        return false;
    }
    const json::Value ok = root.find("ok");
    if (!ok || !ok.is_boolean()) {
        why = ok ? "\"ok\" in its reply must be true or false" : "its reply has no \"ok\"";
        return false;
    }
    if (const json::Value version = root.find("protocol_version")) {
        if (!version.is_number() || version.integer() != project::kProtocolVersion) {
            why = "its reply has protocol version " + std::string(version.raw()) +
                  "; only version 1 is supported";
            return false;
        }
    }
    reply.ok = ok.boolean();
    const json::Value result = root.find("result") ? root.find("result") : root.find("output");
    reply.result = result ? std::string(result.raw()) : "null";
    if (const json::Value fault = root.find("error"); fault && fault.is_object()) {
        reply.error_type = text_of(fault, "type");
        reply.error_message = text_of(fault, "message");
        reply.reason_code = text_of(fault, "reason_code");
        if (const json::Value details = fault.find("details")) reply.details = details.raw();
    } else if (fault && fault.is_string()) {
        reply.error_message = fault.text();
    } else {
        reply.error_type = text_of(root, "error_type");
        reply.error_message = text_of(root, "error_message");
    }
    if (const json::Value checks = root.find("capability_checks"); checks && checks.is_array()) {
        for (const json::Value each : checks.elements()) {
            if (auto check = check_of(each)) reply.checks.push_back(std::move(*check));
        }
    }
    return true;
}

Call::Call(Loop& loop, const Invocation& invocation, AttemptListener& listener)
    : loop_(loop),
      listener_(listener),
      binding_(std::static_pointer_cast<const project::Binding>(invocation.definition->binding)),
      guarantees_(all_guarantees(invocation)),
      has_external_guarantees_(invocation.guarantees != nullptr),
      payload_(input_of(invocation.request)),
      trace_id_(make_uuid()),
      timeout_ms_(invocation.try_ms),
      started_ms_(clock::steady_ms()) {}

uint64_t Call::age_ms() const {
    return static_cast<uint64_t>(std::max<int64_t>(clock::steady_ms() - started_ms_, 0));
}

Call::~Call() { lifetime_.end(); }

bool Call::is_sandboxed() const {
    return binding_->sandbox ||
           (has_external_guarantees_ && binding_->runner == project::RunnerKind::Local);
}

std::string Call::coverage_problem() const {
    return project::coverage_problem(*binding_, guarantees_, is_sandboxed());
}

std::string Call::request(bool with_context) const {
    std::string out;
    json::ObjectWriter request(out);
    request.number("protocol_version", project::kProtocolVersion)
        .string("tool", binding_->name)
        .string("entry", binding_->entry)
        .raw("payload", payload_);
    if (with_context && guarantees_.any()) {
        request.key("capability_context");
        json::ObjectWriter context(out);
        context.string("tool_name", binding_->name)
            .string("resolved_source", binding_->resolved_source)
            .string("runner", name_of(binding_->runner))
            .number("protocol_version", project::kProtocolVersion)
            .key("guarantees");
        guarantees_.append_json(out);
        context.key("sources");
        guarantees_.append_sources(out);
        context.end();
    }
    if (with_context && is_sandboxed()) request.boolean("sandbox", true);
    if (with_context) request.string("trace_id", trace_id_);
    request.end();
    out += '\n';
    return out;
}

bool Call::check_coverage(bool is_covered, std::string_view how_to_cover,
                          const Guarantees* missing) {
    if (!guarantees_.any()) return true;
    is_unsafe_override_ = !is_covered && may_be_uncovered();
    if (is_covered || may_be_uncovered()) return true;
    traces_ = uncovered_traces(*binding_, missing != nullptr ? *missing : guarantees_);
    std::string message = "the guarantees of the tool \"" + binding_->name +
                          "\" would not be enforced: " + std::string(how_to_cover);
    if (binding_->allow_unsafe) {
        message +=
            "; allow_unsafe_execution of the project does not waive requirements of the host or "
            "the story";
    }
    fail_soon("COVERAGE_MISSING", std::string(kCapabilityViolation), std::move(message));
    return false;
}

bool Call::send(event::Type type, std::string_view line) {
    event::Event event;
    event.type = type;
    event.line = line;
    const Lifetime::Watch life = lifetime_.watch();
    listener_.on_batch();
    listener_.on_event(event);
    if (life.ended()) return false;
    listener_.on_batch_end();
    return !life.ended();
}

bool Call::log(std::string_view level, std::string_view message) {
    std::string line;
    json::ObjectWriter(line)
        .string("version", "0")
        .string("type", "log")
        .string("level", level)
        .string("message", message)
        .end();
    return send(event::Type::Log, line);
}

void Call::end_with_reply(std::string_view text, Outcome outcome) {
    Reply reply;
    std::string why;
    if (!read_reply(text, reply, why)) {
        return end_with_failure("PROTOCOL_ERROR", "ProtocolError",
                                "the tool \"" + binding_->name + "\" replied, but " + why,
                                std::move(outcome));
    }
    outcome.ok = reply.ok;
    if (reply.ok) {
        outcome.result = reply.result;
    } else {
        error_type_ = reply.error_type.empty() ? "ToolError" : reply.error_type;
        if (error_type_ == "ModuleNotFoundError") outcome.may_retry = false;
        const bool blocked = reply.reason_code == "guarantee_blocked" ||
                             reply.reason_code == "secrets_blocked" ||
                             reply.reason_code == "policy_denied";
        outcome.code = blocked ? "GUARANTEE_BLOCKED" : "TOOL_FAILED";
        outcome.error = !reply.error_message.empty() ? reply.error_message
                        : !reply.error_type.empty()
                            ? error_type_
                            : "the tool \"" + binding_->name + "\" failed without giving a reason";
    }
    end(&reply, std::move(outcome));
}

void Call::end_with_failure(std::string_view code, std::string_view error_type, std::string message,
                            Outcome outcome) {
    error_type_ = error_type;
    if (code == "GUARANTEE_UNAVAILABLE") {
        // The runner covers the guarantees, but this machine cannot enforce them.
        traces_ = uncovered_traces(*binding_, guarantees_);
    }
    outcome.ok = false;
    outcome.code = code;
    outcome.error = std::move(message);
    end(nullptr, std::move(outcome));
}

void Call::note_blocked(Guarantee guarantee) {
    traces_.push_back(check_trace(*binding_, capability_of(guarantee), false,
                                  name_of(guarantees_.source_of(guarantee)), "guarantee_blocked"));
}

std::vector<Call::KnownSecret> Call::known_secrets() const {
    std::vector<KnownSecret> out;
    for (const std::string_view secret : kKnownSecrets) {
        for (const std::string& name : variables_of_secret(std::string(secret))) {
            std::string value;
            for (const std::string& each : binding_->python.variables) {
                if (each.starts_with(name + "=")) value = each.substr(name.size() + 1);
            }
            if (const char* const own = std::getenv(name.c_str())) value = own;
            if (value.size() >= kShortestSecret) out.push_back({secret, name, std::move(value)});
        }
    }
    return out;
}

void Call::note_blocked_secret() {
    traces_.push_back(check_trace(*binding_, kSecretsCapability, false,
                                  name_of(guarantees_.secrets_source()), "secrets_blocked"));
}

void Call::fail_soon(std::string code, std::string error_type, std::string message,
                     Outcome outcome) {
    loop_.defer([this, life = lifetime_.watch(), code = std::move(code),
                 type = std::move(error_type), message = std::move(message),
                 outcome = std::move(outcome)]() mutable {
        if (life.ended() || has_ended_) return;
        end_with_failure(code, type, std::move(message), std::move(outcome));
    });
}

std::vector<std::string> Call::traces_of_abandoned(const Outcome& outcome) const {
    std::vector<std::string> traces = traces_;
    traces.push_back(trace_of(nullptr, outcome));
    return traces;
}

void Call::end(const Reply* reply, Outcome outcome) {
    if (std::exchange(has_ended_, true)) return;
    std::string line;
    if (outcome.ok) {
        json::ObjectWriter(line)
            .string("version", "0")
            .string("type", "done")
            .boolean("ok", true)
            .raw("result", reply->result)
            .end();
    } else if (reply != nullptr) {
        json::ObjectWriter writer(line);
        writer.string("version", "0").string("type", "error");
        writer.string("errorCode", error_type_).string("errorMessage", outcome.error);
        // Details are for the author of the tool, for example a traceback.
        if (!reply->details.empty()) writer.raw("details", reply->details);
        writer.end();
    }
    if (!line.empty()) {
        const Lifetime::Watch life = lifetime_.watch();
        const event::Type type = outcome.ok ? event::Type::Done : event::Type::Error;
        if (!send(type, line) || life.ended()) return;
    }
    if (reply != nullptr) {
        std::set<std::string_view> permitted;  // a permitted capability is traced once
        for (const CapabilityCheck& each : reply->checks) {
            if (each.allowed && !permitted.insert(each.capability).second) continue;
            traces_.push_back(check_trace(*binding_, each.capability, each.allowed,
                                          each.guarantee_source, each.reason, each.duration_ms));
        }
    }
    traces_.push_back(trace_of(reply, outcome));
    outcome.traces = std::move(traces_);
    listener_.on_ended(std::move(outcome));
}

std::string Call::trace_of(const Reply* reply, const Outcome& outcome) const {
    ToolCall call{*binding_, payload_, timeout_ms_, static_cast<int64_t>(age_ms())};
    call.is_unsafe_override = is_unsafe_override_;
    call.others_require = has_external_guarantees_;
    call.ok = outcome.ok;
    if (outcome.ok) call.result = reply->result;
    // Without an error type the call was abandoned: the plan was cancelled or timed out.
    const bool is_late = outcome.code.ends_with("TIMEOUT");
    call.error_type = !error_type_.empty() ? std::string_view(error_type_)
                      : is_late            ? "TimeoutError"
                                           : "CancelledError";
    // Traces are kept and passed on.
    std::string message = reply != nullptr ? reply->error_message : outcome.error;
    for (const KnownSecret& known : outcome.ok ? std::vector<KnownSecret>() : known_secrets()) {
        for (size_t at = message.find(known.value); at != std::string::npos;
             at = message.find(known.value, at + kRedacted.size())) {
            message.replace(at, known.value.size(), kRedacted);
        }
    }
    call.error_message = message;
    complete(call);
    return tool_call_trace(call);
}

}  // namespace narratoria::tool
