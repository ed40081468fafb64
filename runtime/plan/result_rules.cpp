// SPDX-License-Identifier: Apache-2.0
#include "plan/result_rules.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.hpp"
#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "event/error_code.hpp"
#include "plan/result.hpp"

namespace narratoria::plan {
namespace {

// True for a date and time with an offset: 2026-01-24T18:30:00.250Z, 2026-01-24T18:30:00+01:00.
bool is_timestamp(std::string_view text) {
    constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
    auto has_shape = [](std::string_view given, std::string_view shape) {
        return given.size() == shape.size() &&
               std::equal(given.begin(), given.end(), shape.begin(),
                          [](char c, char s) { return s == 'd' ? c >= '0' && c <= '9' : c == s; });
    };
    if (!clock::is_iso8601(text) || !has_shape(text.substr(0, kShape.size()), kShape)) return false;
    std::string_view rest = text.substr(kShape.size());
    if (rest.substr(0, 1) == ".") {
        const size_t end = rest.find_first_not_of("0123456789", 1);
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
    }
    return rest == "Z" || has_shape(rest, "+dd:dd") || has_shape(rest, "-dd:dd");
}

class ResultChecker {
public:
    explicit ResultChecker(json::Value root) : text_(root.tape().source()) {}

    Faults check(json::Value root) {
        if (!is_object(root, "", "a result")) return std::move(faults_);
        text(root, "", "planId", Text::NotEmpty);
        const std::optional<bool> success = boolean(root, "", "success");
        text(root, "", "narrative", Text::Any);
        whole_number(root, "", "executionTime", 0);
        if (root.find("descriptorWaitTime")) whole_number(root, "", "descriptorWaitTime", 0);
        const std::optional<double> attempt = whole_number(root, "", "generationAttempt", 1);
        const std::optional<bool> can_replan = boolean(root, "", "canReplan");
        if (can_replan == true && success == true) {
            fault(root.find("canReplan"), "/canReplan", "result-can-replan",
                  "\"canReplan\" must be false: the plan succeeded");
        } else if (can_replan == true && attempt && *attempt >= kMaxGenerations) {
            fault(root.find("canReplan"), "/canReplan", "result-can-replan",
                  "\"canReplan\" must be false: the fifth generation was the last");
        }
        if (const json::Value skills = root.find("disabledSkills")) {
            strings(skills, "/disabledSkills", Text::Any);
        }
        read_conflicts(root);
        read_tools(root);
        read_failed_tools(root);
        std::stable_sort(faults_.begin(), faults_.end(),
                         [](const Fault& a, const Fault& b) { return a.byte < b.byte; });
        return std::move(faults_);
    }

private:
    enum class Text : uint8_t { Any, NotEmpty, ErrorCode, Timestamp };

    void fault(json::Value at, std::string pointer, const char* rule, std::string message) {
        faults_.push_back({rule, std::move(pointer),
                           static_cast<size_t>(at.raw().data() - text_.data()), std::move(message),
                           ""});
    }

    void wrong_type(json::Value value, const std::string& pointer, const std::string& what,
                    const char* wanted) {
        fault(value, pointer, "result-type",
              what + " must be " + wanted + ", not " + json::type_name(value.type()));
    }

    bool is_object(json::Value value, const std::string& pointer, const char* what) {
        if (!value.is_object()) wrong_type(value, pointer, what, "an object");
        return value.is_object();
    }

    json::Value required(json::Value object, const std::string& pointer, const char* key) {
        const json::Value value = object.find(key);
        if (!value) {
            fault(object, pointer + "/" + key, "result-missing", json::quoted(key) + " is missing");
        }
        return value;
    }

    void check_text(json::Value value, const std::string& pointer, const std::string& what,
                    Text kind) {
        if (!value.is_string()) return wrong_type(value, pointer, what, "a string");
        switch (kind) {
            case Text::Any: return;
            case Text::NotEmpty:
                if (!value.text().empty()) return;
                return fault(value, pointer, "result-empty", what + " must not be empty");
            case Text::ErrorCode:
                if (event::is_error_code(value.text())) return;
                return fault(value, pointer, "result-error-code",
                             what +
                                 " must be a code like EXIT_STATUS: capital letters, digits "
                                 "and _");
            case Text::Timestamp:
                if (is_timestamp(value.text())) return;
                return fault(value, pointer, "result-time",
                             what +
                                 " must be an ISO-8601 date and time with its offset, like "
                                 "2026-01-24T18:30:00.250Z");
        }
    }

    std::optional<std::string_view> text(json::Value object, const std::string& pointer,
                                         const char* key, Text kind) {
        const json::Value value = required(object, pointer, key);
        if (!value) return std::nullopt;
        check_text(value, pointer + "/" + key, json::quoted(key), kind);
        return value.is_string() ? std::optional(value.text()) : std::nullopt;
    }

    void optional_text(json::Value object, const std::string& pointer, const char* key, Text kind) {
        if (const json::Value value = object.find(key)) {
            check_text(value, pointer + "/" + key, json::quoted(key), kind);
        }
    }

    std::optional<bool> boolean(json::Value object, const std::string& pointer, const char* key) {
        const json::Value value = required(object, pointer, key);
        if (!value) return std::nullopt;
        if (value.is_boolean()) return value.boolean();
        wrong_type(value, pointer + "/" + key, json::quoted(key), "true or false");
        return std::nullopt;
    }

    std::optional<double> check_whole_number(json::Value value, const std::string& pointer,
                                             const std::string& what, double lowest,
                                             double highest) {
        const std::optional<double> number = value.number();
        if (!number || *number != std::floor(*number)) {
            wrong_type(value, pointer, what, "a whole number");
            if (number) faults_.back().message = what + " must be a whole number";
            return std::nullopt;
        }
        if (*number < lowest || *number > highest) {
            std::string range = "at least " + std::to_string(static_cast<int64_t>(lowest));
            if (std::isfinite(highest)) {
                range += " and at most " + std::to_string(static_cast<int64_t>(highest));
            }
            fault(value, pointer, "result-range", what + " must be " + range);
            return std::nullopt;
        }
        return number;
    }

    std::optional<double> whole_number(json::Value object, const std::string& pointer,
                                       const char* key, double lowest) {
        const json::Value value = required(object, pointer, key);
        if (!value) return std::nullopt;
        return check_whole_number(value, pointer + "/" + key, json::quoted(key), lowest, INFINITY);
    }

    // Calls `each` for every string of an array.
    template <typename Each>
    bool strings(json::Value list, const std::string& pointer, Text kind, Each&& each) {
        if (!list.is_array()) {
            wrong_type(list, pointer, json::quoted(pointer.substr(1)), "an array of strings");
            return false;
        }
        size_t position = 0;
        for (const json::Value element : list.elements()) {
            std::string place = pointer;
            json::append_pointer(place, position++);
            check_text(element, place, "each of " + json::quoted(pointer.substr(1)), kind);
            if (element.is_string()) each(element, place);
        }
        return true;
    }
    void strings(json::Value list, const std::string& pointer, Text kind) {
        strings(list, pointer, kind, [](json::Value, const std::string&) {});
    }

    static size_t count(json::Value array) {
        size_t elements = 0;
        for ([[maybe_unused]] const json::Value element : array.elements()) ++elements;
        return elements;
    }

    void read_tools(json::Value root) {
        const json::Value list = required(root, "", "toolResults");
        if (!list) return;
        if (!list.is_array())
            return wrong_type(list, "/toolResults", "\"toolResults\"", "an array");
        lists_tools_ = true;
        // A result may have been requested without events; then no event range can be checked.
        for (const json::Value tool : list.elements()) {
            const json::Value events = tool.is_object() ? tool.find("events") : json::Value();
            has_events_ |= events && events.is_array() && !events.empty();
        }
        size_t position = 0;
        for (const json::Value tool : list.elements()) {
            std::string pointer = "/toolResults";
            json::append_pointer(pointer, position++);
            read_tool(tool, pointer);
        }
    }

    void read_tool(json::Value tool, const std::string& pointer) {
        if (!is_object(tool, pointer, "a tool's result")) return;
        const auto id = text(tool, pointer, "toolId", Text::NotEmpty);
        const std::optional<bool> ok = boolean(tool, pointer, "ok");
        const std::optional<std::string_view> state = read_state(tool, pointer, true);
        whole_number(tool, pointer, "executionTime", 0);
        whole_number(tool, pointer, "retryCount", 0);
        if (tool.find("line")) whole_number(tool, pointer, "line", 1);
        if (const json::Value output = required(tool, pointer, "output")) {
            if (is_object(output, pointer + "/output", "\"output\"")) {
                check_no_null(output, pointer + "/output");
            }
        }
        optional_text(tool, pointer, "error", Text::NotEmpty);
        optional_text(tool, pointer, "errorCode", Text::ErrorCode);
        optional_text(tool, pointer, "stderr", Text::Any);
        optional_text(tool, pointer, "summary", Text::NotEmpty);
        const std::optional<size_t> events = read_events(tool, pointer);
        if (const json::Value attempts = tool.find("attempts")) {
            read_attempts(attempts, pointer + "/attempts", events);
        }
        if (ok) check_agreement(tool, pointer, *ok, state);
        if (state == "skipped") check_skipped(tool, pointer);

        if (!id || id->empty()) return;
        const bool failed = state == "failed" || state == "timeout";
        if (!failed_by_id_.emplace(*id, failed).second) {
            fault(tool.find("toolId"), pointer + "/toolId", "result-tool-id-unique",
                  "the tool " + json::quoted(*id) + " already has a result");
        } else if (failed) {
            failed_ids_.push_back(*id);
        }
    }

    std::optional<std::string_view> read_state(json::Value object, const std::string& pointer,
                                               bool may_be_skipped) {
        const auto state = text(object, pointer, "state", Text::Any);
        if (!state) return std::nullopt;
        if (state == "completed" || state == "failed" || state == "timeout" ||
            (state == "skipped" && may_be_skipped)) {
            return state;
        }
        fault(object.find("state"), pointer + "/state", "result-state",
              json::quoted(*state) + " is not a state here; use completed, failed" +
                  (may_be_skipped ? ", skipped" : "") + " or timeout");
        return std::nullopt;
    }

    // A merge removes keys that are null. Nulls inside arrays stay, because arrays are taken as
    // they are.
    void check_no_null(json::Value object, const std::string& pointer) {
        for (const json::Member member : object.members()) {
            std::string below = pointer;
            json::append_pointer(below, member.key);
            if (member.value.is_object()) check_no_null(member.value, below);
            if (!member.value.is_null()) continue;
            fault(member.value, std::move(below), "result-output-null",
                  "a merged state must not contain null, which removes the key");
        }
    }

    std::optional<size_t> read_events(json::Value tool, const std::string& pointer) {
        const json::Value list = required(tool, pointer, "events");
        if (!list) return std::nullopt;
        if (!list.is_array()) {
            wrong_type(list, pointer + "/events", "\"events\"", "an array");
            return std::nullopt;
        }
        size_t position = 0;
        for (const json::Value event : list.elements()) {
            std::string place = pointer + "/events";
            json::append_pointer(place, position++);
            if (!is_object(event, place, "an event")) continue;
            const auto version = text(event, place, "version", Text::Any);
            if (version && *version != "0") {
                fault(event.find("version"), place + "/version", "event-version",
                      "\"version\" must be \"0\", not " + json::quoted(*version));
            }
            const auto type = text(event, place, "type", Text::Any);
            if (type && *type != "log" && *type != "state_patch" && *type != "asset" &&
                *type != "ui_event" && *type != "error" && *type != "done") {
                fault(event.find("type"), place + "/type", "event-type",
                      json::quoted(*type) +
                          " is not an event type; use log, state_patch, asset, ui_event, error or "
                          "done");
            }
        }
        return position;
    }

    void read_attempts(json::Value list, const std::string& pointer, std::optional<size_t> events) {
        if (!list.is_array()) return wrong_type(list, pointer, "\"attempts\"", "an array");
        size_t position = 0;
        for (const json::Value attempt : list.elements()) {
            std::string place = pointer;
            json::append_pointer(place, position++);
            read_attempt(attempt, place, events);
        }
    }

    void read_attempt(json::Value attempt, const std::string& pointer,
                      std::optional<size_t> events) {
        if (!is_object(attempt, pointer, "an attempt")) return;
        whole_number(attempt, pointer, "attempt", 1);
        read_state(attempt, pointer, false);
        text(attempt, pointer, "startedAt", Text::Timestamp);
        whole_number(attempt, pointer, "executionTime", 0);
        optional_text(attempt, pointer, "code", Text::ErrorCode);
        const json::Value status = attempt.find("exitStatus");
        const json::Value signal = attempt.find("signal");
        if (status) {
            check_whole_number(status, pointer + "/exitStatus", "\"exitStatus\"", 0, 255);
        }
        if (signal) check_whole_number(signal, pointer + "/signal", "\"signal\"", 1, 64);
        if (status && signal) {
            fault(attempt, pointer, "result-exit",
                  "an attempt must not have both \"exitStatus\" and \"signal\"");
        }
        const json::Value range = required(attempt, pointer, "events");
        if (!range || !is_object(range, pointer + "/events", "\"events\" of an attempt")) return;
        const auto first = whole_number(range, pointer + "/events", "first", 0);
        const auto length = whole_number(range, pointer + "/events", "count", 0);
        if (first && length && events && has_events_ &&
            *first + *length > static_cast<double>(*events)) {
            fault(range, pointer + "/events", "result-attempt-events",
                  "the attempt's range ends after the tool's last event; the tool has " +
                      std::to_string(*events));
        }
    }

    void check_agreement(json::Value tool, const std::string& pointer, bool ok,
                         std::optional<std::string_view> state) {
        if (state && (*state == "completed") != ok) {
            fault(tool.find("state"), pointer + "/state", "result-state",
                  ok ? "the state must be completed if \"ok\" is true"
                     : "\"ok\" must be true if the state is completed");
        }
        if (!ok) {
            required(tool, pointer, "error");
            return;
        }
        for (const char* key : {"error", "errorCode"}) {
            if (const json::Value value = tool.find(key)) {
                fault(value, pointer + "/" + key, "result-error",
                      json::quoted(key) + " is allowed only if \"ok\" is false");
            }
        }
    }

    void check_skipped(json::Value tool, const std::string& pointer) {
        auto nothing = [&](const char* key, bool is_nothing, const char* wanted) {
            if (is_nothing) return;
            fault(tool.find(key), pointer + "/" + key, "result-skipped",
                  json::quoted(key) + " must be " + wanted + ", because the tool was skipped");
        };
        for (const char* key : {"executionTime", "retryCount"}) {
            const json::Value value = tool.find(key);
            nothing(key, !value || !value.is_number() || value.number() == 0.0, "0");
        }
        const json::Value output = tool.find("output");
        nothing("output", !output || !output.is_object() || output.empty(), "{}");
        for (const char* key : {"events", "attempts"}) {
            const json::Value value = tool.find(key);
            nothing(key, !value || !value.is_array() || value.empty(), "[]");
        }
    }

    void read_conflicts(json::Value root) {
        const json::Value list = root.find("stateConflicts");
        if (!list) return;
        if (!list.is_array()) {
            return wrong_type(list, "/stateConflicts", "\"stateConflicts\"", "an array");
        }
        size_t position = 0;
        for (const json::Value conflict : list.elements()) {
            std::string place = "/stateConflicts";
            json::append_pointer(place, position++);
            if (!is_object(conflict, place, "a conflict")) continue;
            text(conflict, place, "path", Text::Any);
            if (const json::Value tools = required(conflict, place, "tools")) {
                strings(tools, place + "/tools", Text::NotEmpty);
            }
        }
    }

    void read_failed_tools(json::Value root) {
        const json::Value list = required(root, "", "failedTools");
        if (!list) return;
        std::unordered_set<std::string_view> named;
        const bool is_list = strings(
            list, "/failedTools", Text::NotEmpty,
            [&](json::Value name, const std::string& pointer) {
                if (!named.insert(name.text()).second) {
                    return fault(name, pointer, "result-failed-tools",
                                 json::quoted(name.text()) + " is named twice");
                }
                if (!lists_tools_ || name.text().empty()) return;
                const auto found = failed_by_id_.find(name.text());
                if (found == failed_by_id_.end()) {
                    fault(name, pointer, "result-failed-tools",
                          "no tool of \"toolResults\" has the toolId " + json::quoted(name.text()));
                } else if (!found->second) {
                    fault(
                        name, pointer, "result-failed-tools",
                        "the tool " + json::quoted(name.text()) + " neither failed nor timed out");
                }
            });
        if (!is_list) return;
        for (const std::string_view id : failed_ids_) {
            if (named.count(id) != 0) continue;
            fault(list, "/failedTools", "result-failed-tools",
                  "the tool " + json::quoted(id) + " failed or timed out and must be named");
        }
    }

    std::string_view text_;
    Faults faults_;
    bool lists_tools_ = false;
    bool has_events_ = false;
    std::unordered_map<std::string_view, bool> failed_by_id_;
    std::vector<std::string_view> failed_ids_;
};

}  // namespace

Faults check_result(json::Value root) { return ResultChecker(root).check(root); }

}  // namespace narratoria::plan
