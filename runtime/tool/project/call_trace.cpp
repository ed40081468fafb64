// SPDX-License-Identifier: Apache-2.0
#include "tool/project/call_trace.hpp"

#include <algorithm>
#include <vector>

#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "http/url.hpp"
#include "tool/project/container_program.hpp"

namespace narratoria::tool {
namespace {

constexpr size_t kMostKeys = 10;
constexpr std::string_view kPackPermissionDenied = "pack_permission_denied";

std::string_view type_of(const json::Value& value) {
    if (value.is_array()) return "list";
    if (value.is_string()) return "text";
    return json::type_name(value.type());
}

// Returns the summary that a trace has in place of a value: {"type":"object","keys":["name"],
// "count":1}, with the first kMostKeys of the sorted keys, as in Namel3ss.
std::string summary_of(std::string_view text) {
    json::Document document;
    json::ParseError error;
    std::string out;
    if (!document.parse(text, error)) return "{}";
    const json::Value value = document.root();
    json::ObjectWriter summary(out);
    summary.string("type", type_of(value));
    int64_t count = 0;
    if (value.is_object()) {
        std::vector<std::string_view> keys;
        for (const json::Member member : value.members()) keys.push_back(member.key);
        count = static_cast<int64_t>(keys.size());
        std::sort(keys.begin(), keys.end());
        keys.resize(std::min(keys.size(), kMostKeys));
        summary.key("keys");
        out += '[';
        for (const std::string_view key : keys) {
            if (out.back() != '[') out += ',';
            json::append_string(out, key);
        }
        out += ']';
        summary.number("count", count);
    } else if (value.is_array()) {
        for (const json::Value each : value.elements()) {
            (void)each;
            ++count;
        }
        summary.number("count", count);
    }
    summary.end();
    return out;
}

// Returns the reason why the binding cannot be called; empty if it can.
std::string_view problem_reason_of(const project::Binding& its) {
    if (its.problem.empty() || !its.problem_reason.empty()) return its.problem_reason;
    return "binding_error";
}

// True if a restriction, and not a fault of the binding, is why it cannot be called.
bool blocks(std::string_view problem_reason) {
    return problem_reason == kPackPermissionDenied ||
           problem_reason == "pack_unavailable_or_unverified";
}

void append_fields_of_runner(json::ObjectWriter& trace, const ToolCall& call) {
    const project::Binding& its = call.binding;
    switch (its.runner) {
        case project::RunnerKind::Local:
            trace.string("python_env", its.python.kind)
                .string("python_path", its.python.interpreter)
                .string("deps_source", its.python.dependencies)
                .number("protocol_version", project::kProtocolVersion)
                .boolean("sandbox", its.sandbox || call.others_require);
            break;
        case project::RunnerKind::Service:
            trace.string("service_url", http::shown(its.url))
                .number("protocol_version", project::kProtocolVersion)
                .boolean("service_handshake", its.needs_handshake() || call.others_require);
            if (!call.enforcement_level.empty()) {
                trace.string("enforcement_level", call.enforcement_level);
            }
            break;
        case project::RunnerKind::Container: {
            trace.string("image", its.image);
            std::string words;
            for (const std::string& each : its.container_command()) {
                if (!words.empty()) words += ' ';
                words += each;
            }
            trace.string("command", words);
            if (!its.enforcement.empty()) trace.string("container_enforcement", its.enforcement);
            trace.string("container_runtime", call.container_runtime)
                .number("protocol_version", project::kProtocolVersion);
            break;
        }
    }
    if (call.is_unsafe_override) trace.boolean("unsafe_override", true);
}

}  // namespace

std::string check_trace(const project::Binding& binding, std::string_view capability, bool allowed,
                        std::string_view source, std::string_view reason,
                        std::string_view duration) {
    std::string out;
    json::ObjectWriter trace(out);
    trace.string("type", "capability_check")
        .string("tool_name", binding.name)
        .string("runner", name_of(binding.runner))
        .string("resolved_source", binding.resolved_source)
        .string("capability", capability)
        .boolean("allowed", allowed)
        .string("guarantee_source", source)
        .string("reason", reason)
        .number("protocol_version", project::kProtocolVersion);
    if (!duration.empty()) trace.raw("duration_ms", duration);
    trace.end();
    return out;
}

std::vector<std::string> uncovered_traces(const project::Binding& binding,
                                          const Guarantees& guarantees) {
    std::vector<std::string> out;
    // As in Namel3ss, whose traces name reads before writes.
    for (const Guarantee guarantee :
         {Guarantee::NoFilesystemRead, Guarantee::NoFilesystemWrite, Guarantee::NoNetwork,
          Guarantee::NoSubprocess, Guarantee::NoEnvRead, Guarantee::NoEnvWrite}) {
        if (!guarantees.requires_one(guarantee)) continue;
        out.push_back(check_trace(binding, capability_of(guarantee), false,
                                  name_of(guarantees.source_of(guarantee)), "coverage_missing"));
    }
    if (guarantees.secrets()) {
        out.push_back(check_trace(binding, kSecretsCapability, false,
                                  name_of(guarantees.secrets_source()), "coverage_missing"));
    }
    return out;
}

std::string tool_call_trace(const ToolCall& call) {
    const project::Binding& its = call.binding;
    std::string out;
    json::ObjectWriter trace(out);
    trace.string("type", "tool_call")
        .string("tool", its.name)
        .string("tool_name", its.name)
        .string("kind", its.kind)
        .raw("input_summary", summary_of(call.payload))
        .string("purity", its.purity)
        .string("resolved_source", its.resolved_source)
        .number("timeout_ms", static_cast<int64_t>(call.timeout_ms));
    if (!its.pack) trace.string("entry", its.entry);  // that of a pack is a matter of the pack
    trace.string("runner", name_of(its.runner));
    append_fields_of_runner(trace, call);
    if (its.pack) {
        trace.string("pack_id", its.pack->id)
            .string("pack_name", its.pack->name)
            .string("pack_version", its.pack->version);
    }
    trace.string("status", call.ok ? "ok" : "error");
    if (call.ok) {
        trace.raw("output_summary", summary_of(call.result));
    } else {
        trace.string("error_type", call.error_type).string("error_message", call.error_message);
    }
    trace.number("duration_ms", call.duration_ms);
    // The decision covers only whether the tool may be called. The checks cover its acts.
    const std::string_view problem = problem_reason_of(its);
    const bool is_blocked = call.is_forbidden || blocks(problem);
    trace.string("decision", is_blocked         ? "blocked"
                             : !problem.empty() ? "error"
                                                : "allowed")
        .string("capability", "none")
        .string("reason", call.is_forbidden  ? "policy_denied"
                          : !problem.empty() ? problem
                                             : "policy_allowed")
        .string("result", is_blocked ? "blocked"
                          : call.ok  ? "ok"
                                     : "error");
    trace.end();
    return out;
}

std::vector<std::string> project::Binding::traces_of(const RefusedCall& refused) const {
    std::vector<std::string> out;
    const std::string payload = input_of(refused.request);
    ToolCall call{*this, payload, refused.timeout_ms};
    call.error_type = refused.failure.code == "INPUT_INVALID" ? "InputError" : "ToolError";
    call.error_message = refused.failure.message;
    call.others_require = refused.guarantees.any();
    if (refused.failure.code == "GUARANTEE_UNAVAILABLE") {
        Guarantees all = guarantees;
        all.tighten(refused.guarantees);
        out = uncovered_traces(*this, all);
        call.error_type = kCapabilityViolation;
    } else if (refused.is_forbidden) {
        call.error_type = kCapabilityViolation;
        call.is_forbidden = true;
    } else if (problem_reason == kPackPermissionDenied) {
        out.push_back(check_trace(*this, "pack_permission", false, "policy", "policy_denied"));
        call.error_type = kCapabilityViolation;
    }
    if (runner == project::RunnerKind::Container) {
        std::string ignored;
        call.container_runtime =
            project::find_container_program(project::environment_of_host(), ignored);
        call.container_runtime.erase(0, call.container_runtime.rfind('/') + 1);
    }
    out.push_back(tool_call_trace(call));
    return out;
}

std::string input_of(std::string_view request) {
    json::Document document;
    json::ParseError error;
    if (!document.parse(request, error)) return "{}";
    const json::Value input = document.root().find("input");
    return input ? std::string(input.raw()) : "{}";
}

}  // namespace narratoria::tool
