// SPDX-License-Identifier: Apache-2.0
// Services of narratoria/invocation.h.
#include <string>
#include <utility>
#include <vector>

#include "base/bytes/utf8.hpp"
#include "base/given_struct.hpp"
#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "base/view.hpp"
#include "event/error_code.hpp"
#include "plugin/host_call.hpp"
#include "plugin/host_services.hpp"
#include "plugin/invocation.hpp"

namespace narratoria::plugin {
namespace {

nar_status invocation_output(const nar_host* host, uint64_t token, nar_str bytes) {
    return from_any_thread(host, [&](Instance& instance) {
        return instance.inbox().send_output(&instance, token, given_text(bytes));
    });
}

nar_status invocation_diagnostics(const nar_host* host, uint64_t token, nar_str bytes) {
    return from_any_thread(host, [&](Instance& instance) {
        return instance.inbox().send_diagnostics(&instance, token, given_text(bytes));
    });
}

bool says_nothing(const nar_invocation_end& end) {
    return end.exit_status == 0 && end.error_code.size == 0 && end.error.size == 0 &&
           end.user_us == 0 && end.system_us == 0 && end.resident_bytes == 0 &&
           end.details.size == 0 && end.flags == 0;
}

// Returns the details as one line of JSON, or nothing if they cannot be used.
std::string read_details(Instance& instance, std::string_view text) {
    constexpr size_t kMaximum = 64 * 1024;
    json::Document document;
    json::ParseError error;
    std::string problem;
    if (text.size() > kMaximum) {
        problem = "they have " + std::to_string(text.size()) + " bytes; the limit is 65536";
    } else if (!document.parse(text, error, json::kMaximumDepth / 2)) {
        problem = error.message;
    } else if (!document.root().is_object()) {
        problem = std::string("they must be a JSON object, not ") +
                  json::type_name(document.root().type());
    }
    std::string out;
    if (problem.empty()) json::append_compact(out, document.root().raw());
    else instance.report("the details of an invocation's end are ignored: " + problem);
    return out;
}

nar_status refuse(Instance& instance, const std::string& fault) {
    instance.report(fault);
    return NAR_INVALID_ARGUMENT;
}

// The code, or TOOL_FAILED with a report if it has a different form than those of results.
std::string read_code(Instance& instance, std::string_view code) {
    if (code.empty() || event::is_error_code(code)) return std::string(code);
    instance.report("the error_code of an invocation's end, " +
                    json::quoted(utf8::repaired(code.substr(0, 64))) +
                    ", is not a code like QUEUE_FULL (A-Z, 0-9 and _); it is read as TOOL_FAILED");
    return "TOOL_FAILED";
}

nar_status note_end(Instance& instance, nar_status status) {
    if (status == NAR_STALE) instance.report("it ended an invocation twice");
    return status;
}

nar_status invocation_ended(const nar_host* host, uint64_t token, const nar_invocation_end* end) {
    return from_any_thread(host, [&](Instance& instance) {
        nar_invocation_end given;
        const std::string fault = read_struct(end, given);
        if (!fault.empty()) return refuse(instance, "nar_invocation_end " + fault);
        if ((given.flags & ~NAR_END_PERMANENT) != 0) {
            return refuse(instance, "nar_invocation_end has undefined flags; set them to 0");
        }
        if (says_nothing(given)) {
            return note_end(instance, instance.inbox().send_empty_end<InvocationEnd>(
                                          &instance, token, given_text(given.last_output)));
        }
        InvocationEnd taken;
        taken.exit_status = given.exit_status;
        taken.error_code = read_code(instance, given_text(given.error_code));
        taken.error = utf8::repaired(given_text(given.error));
        if (given.details.size > 0)
            taken.details = read_details(instance, given_text(given.details));
        taken.user_us = given.user_us;
        taken.system_us = given.system_us;
        taken.resident_kb = given.resident_bytes / 1024;
        taken.is_permanent = (given.flags & NAR_END_PERMANENT) != 0;
        return note_end(instance, instance.inbox().send_end(&instance, token, std::move(taken),
                                                            given_text(given.last_output)));
    });
}

nar_status invocation_run(const nar_host* host, uint64_t token, const nar_command* command) {
    if (command == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "invocation.run", [&](Instance& instance) -> nar_status {
        nar_command given;
        const std::string fault = read_struct(command, given);
        if (!fault.empty()) return refuse(instance, "nar_command " + fault);
        if (given.arguments == nullptr || given.argument_count == 0 ||
            given.argument_count > 100000) {
            return NAR_INVALID_ARGUMENT;
        }
        std::vector<std::string> arguments;
        for (uint64_t i = 0; i < given.argument_count; ++i) {
            const std::string_view argument = given_text(given.arguments[i]);
            if (argument.find('\0') != std::string_view::npos) return NAR_INVALID_ARGUMENT;
            arguments.emplace_back(argument);
        }
        if (arguments.front().empty()) return NAR_INVALID_ARGUMENT;
        const Inbox::Found found = instance.inbox().find(&instance, token);
        if (found.status != NAR_OK) return found.status;
        if (found.has_output) return NAR_INVALID_ARGUMENT;
        // Deliver earlier diagnostics first, because on_run() closes the token.
        instance.inbox().deliver_diagnostics(token);
        return static_cast<InvocationReceiver*>(found.receiver)->on_run(std::move(arguments));
    });
}

nar_status invocation_set_waiting(const nar_host* host, uint64_t token, uint32_t waits) {
    return on_engine_thread(host, "invocation.set_waiting", [&](Instance& instance) -> nar_status {
        if (waits > 1) return NAR_INVALID_ARGUMENT;
        const Inbox::Found found = instance.inbox().find(&instance, token);
        if (found.status != NAR_OK) return found.status;
        static_cast<InvocationReceiver*>(found.receiver)->on_waiting(waits != 0);
        return NAR_OK;
    });
}

}  // namespace

const nar_host_invocation invocation_service{sizeof(nar_host_invocation),
                                             0,
                                             invocation_output,
                                             invocation_diagnostics,
                                             invocation_ended,
                                             invocation_run,
                                             invocation_set_waiting};

}  // namespace narratoria::plugin
