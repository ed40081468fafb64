// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/limits.h"
#include "narratoria/validate.hpp"
#include "plugin_check/exercise_session.hpp"

namespace narratoria::command::plugin_check {
namespace {

constexpr double kGrace = 2;

// An input that a JSON Schema accepts. Understands only the common keywords.
std::string example_of(const json::Value& schema, unsigned depth = 0) {
    if (!schema.IsObject() || depth > 16) return depth == 0 ? "{}" : "null";
    for (const char* word : {"const", "default"}) {
        if (const json::Value* value = json::member(schema, word)) return json::line(*value);
    }
    for (const char* word : {"examples", "enum"}) {
        const json::Value* values = json::member(schema, word);
        if (values != nullptr && values->IsArray() && !values->Empty()) {
            return json::line((*values)[0]);
        }
    }
    const json::Value* types = json::member(schema, "type");
    if (types != nullptr && types->IsArray() && !types->Empty()) types = &(*types)[0];
    const std::string_view type =
        types != nullptr && types->IsString() ? std::string_view(types->GetString()) : "object";
    if (type == "string") {
        const std::uint64_t least = std::min<std::uint64_t>(json::count(schema, "minLength"), 4096);
        return json::quoted(std::string(std::max<std::uint64_t>(least, 1), 'x'));
    }
    if (type == "integer" || type == "number") {
        return fmt::format("{}", json::number(schema, "minimum").value_or(1));
    }
    if (type == "boolean") return "true";
    if (type == "null") return "null";
    if (type == "array") {
        std::string out = "[";
        const std::uint64_t least = std::min<std::uint64_t>(json::count(schema, "minItems"), 64);
        const json::Value* items = json::member(schema, "items");
        for (std::uint64_t index = 0; index < least; ++index) {
            out += (index > 0 ? "," : "") +
                   (items != nullptr ? example_of(*items, depth + 1) : std::string("1"));
        }
        return out + "]";
    }
    std::string out = "{";
    const json::Value* required = json::member(schema, "required");
    const json::Value* properties = json::member(schema, "properties");
    if (required == nullptr || !required->IsArray()) return "{}";
    for (const json::Value& name : required->GetArray()) {
        if (!name.IsString()) continue;
        const std::string_view key(name.GetString(), name.GetStringLength());
        const json::Value* property =
            properties != nullptr ? json::member(*properties, key) : nullptr;
        out += fmt::format("{}{}:{}", out.size() > 1 ? "," : "", json::quoted(key),
                           property != nullptr ? example_of(*property, depth + 1) : "1");
    }
    return out + "}";
}

std::string request_of(std::string_view tool, std::string_view input) {
    return fmt::format(R"({{"requestId":"request-1","tool":{},"operation":"run","input":{},)"
                       R"("dependencies":{{}},"results":{{}}}})",
                       json::quoted(tool), input);
}

}  // namespace

const nar_invocation* ExerciseSession::invocation(Loan& loan, std::string_view path,
                                                  std::string_view request) {
    nar_invocation one{};
    one.attempt = 1;
    one.plan_id = lend_text(loan, "plan-1", "an invocation's plan_id");
    one.tool_id = lend_text(loan, "tool-1", "an invocation's tool_id");
    one.tool_path = lend_text(loan, path, "an invocation's tool_path");
    one.plan_folder = lend_text(loan, options_.folder, "an invocation's plan_folder");
    one.root = lend_text(loan, options_.folder, "an invocation's root");
    one.request = lend_text(loan, request, "an invocation's request");
    const nar_str environment[] = {
        lend_text(loan, "PATH=/usr/bin:/bin", "an invocation's variable"),
        lend_text(loan, "LANG=C.UTF-8", "an invocation's variable")};
    one.environment = static_cast<const nar_str*>(
        loan.bytes(environment, sizeof environment, "an invocation's environment"));
    one.environment_count = std::size(environment);
    one.try_ms = 30'000;
    one.resources = lend_text(loan, R"({"cpus":2})", "an invocation's resources");
    nar_limits limits{};
    limits.size = sizeof limits;
#define NARRATORIA_LIMIT(name, type, least, text) limits.name = std::numeric_limits<type>::max();
    NAR_TOOL_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
    one.limits = static_cast<const nar_limits*>(
        loan.bytes(&limits, sizeof limits, "an invocation's limits"));
    return lend(loan, one, "the nar_invocation");
}

void ExerciseSession::judge_output(const ObservedInvocation& seen, const std::string& who) {
    if (seen.is_handed_over || seen.is_refused || seen.is_cut) return;
    TrialReport& report = host_.report();
    const bool was_completed =
        seen.exit_status == 0 && seen.error_code.empty() && !seen.is_cancelled;
    if (seen.output.empty() && !was_completed) return;
    const Text faults = validate(Document::Events, seen.output);
    const json::Document list = json::read(faults.view());
    if (list.IsArray() && !list.Empty()) {
        report.add_finding(
            "P40", fmt::format("{}: line {} of its output: {}", who, json::count(list[0], "line"),
                               json::text(list[0], "message")));
        return;
    }
    if (!was_completed) return;
    std::string_view rest = seen.output;
    std::string_view last;
    unsigned done = 0;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        last = line;
        done += json::text(json::read(line), "type") == "done";
    }
    if (done != 1 || json::text(json::read(last), "type") != "done") {
        report.add_finding("P40", fmt::format("{}: its output has {} done events{}; a tool ends "
                                              "with exactly one, as the last",
                                              who, done, done == 1 ? ", not the last" : ""));
    }
}

bool ExerciseSession::attempt(const std::string& who, bool cancels, bool is_synchronous,
                              std::uint64_t token, const std::function<bool()>& begin,
                              const std::function<void()>& cancel) {
    if (!begin()) {
        host_.forget_refused(token);
        return true;
    }
    const auto has_ended = [&] {
        const ObservedInvocation seen = host_.invocation(token);
        return seen.ends > 0 || seen.is_handed_over;
    };
    // P34 has found what was wrong; waiting for another end would say nothing more.
    const auto has_ended_or_tried = [&] {
        return has_ended() || host_.invocation(token).has_refused_end;
    };
    TrialReport& report = host_.report();
    // A plugin that throws is disabled and has no more duties.
    if (has_thrown()) return false;
    if (is_judged() && is_synchronous && (!has_ended() || host_.invocation(token).is_handed_over)) {
        report.add_finding(
            "P39", fmt::format("{} has the flag NAR_TOOL_SYNCHRONOUS, but had not ended when "
                               "invoke returned",
                               who));
    } else if (is_judged() && !cancel && !has_ended()) {
        report.add_finding("P39", fmt::format("{} had not ended when invoke returned; cancel may "
                                              "be NULL only if invoke always ends it",
                                              who));
    }
    if (!cancels && !host_.run_loop(patience(), has_ended_or_tried)) {
        report.add_finding(
            "P39",
            fmt::format("{} did not call ended within {} s{}", who, patience(),
                        host_.invocation(token).output.find(R"("type":"done")") != std::string::npos
                            ? "; its output has done, which is not the end: call ended "
                              "after it, or each attempt takes 4 s longer"
                            : ""));
        cancels = true;
    }
    if (is_judged() && host_.invocation(token).has_refused_end) return has_ended();
    if (host_.options().lacks_extensions) run_loop(kSettlingBriefly);
    if (cancels && !has_ended() && cancel) {
        host_.will_cancel_invocation(token);
        cancel();
        const Clock::time_point began = Clock::now();
        const bool ended =
            host_.run_loop(is_judged() ? kGrace : std::min(brief_left_, patience()), has_ended);
        if (!is_judged()) brief_left_ = std::max(0.0, brief_left_ - seconds_since(began));
        if (is_judged() && !ended) {
            report.add_finding(
                "P39", fmt::format("{} did not call ended within {} s after cancel", who, kGrace));
        }
    }
    if (is_judged() && has_ended()) judge_output(host_.invocation(token), who);
    return has_ended();
}

void ExerciseSession::tool_runner() {
    const auto* runner = wanted<nar_tool_runner_extension>(NAR_EXTENSION_TOOL_RUNNER);
    if (runner == nullptr) return;
    answers_later_ = true;
    for (const std::string& scheme : texts_of(runner->schemes, runner->scheme_count)) {
        const std::string who = fmt::format("tool_runner ({}:)", scheme);
        std::vector<std::string> requests =
            repeated(variants(request_of("door", R"({"door":"red"})")));
        if (is_judged()) requests.assign(4, requests.front());
        for (std::size_t index = 0; index < requests.size(); ++index) {
            const std::string path =
                is_odd() && index % 4 == 0 ? scheme + ":" : scheme + ":tools/door";
            const std::uint64_t token = host_.new_invocation();
            const bool ended = attempt(
                who, !is_judged() || index == 3, false, token,
                [&] { return start(*runner, token, path, requests[index], who); },
                [&] {
                    host_.call("tool_runner cancel", "tool_runner cancel",
                               [&] { runner->cancel(instance_, token); });
                });
            if (!ended && is_judged()) break;
        }
    }
}

bool ExerciseSession::start(const nar_tool_runner_extension& runner, std::uint64_t token,
                            std::string_view path, std::string_view request,
                            const std::string& who) {
    Loan loan(host_.options().memory);
    nar_failure* const failure = loan.failure();
    const nar_invocation* lent = invocation(loan, path, request);
    nar_status status = NAR_OK;
    host_.call(who + " start", "tool_runner start",
               [&] { status = runner.start(instance_, token, lent, failure); });
    require_status(status, "tool_runner start");
    if (status == NAR_OK) return true;
    PluginCheckHost::reason_in(host_.report(), *failure, "tool_runner start");
    return false;
}

void ExerciseSession::tool() {
    const auto* extension = wanted<nar_tool_extension>(NAR_EXTENSION_TOOL);
    if (extension == nullptr) return;
    answers_later_ = true;
    const std::uint64_t count = std::min<std::uint64_t>(extension->tool_count, kMaxOfAList);
    for (std::uint64_t at = 0; at < count; ++at) {
        const nar_tool& tool = *extension->tools[at];
        const std::string name(to_view(tool.name));
        const std::string who = fmt::format("tool ({})", name);
        const std::string input = example_of(json::read(to_view(tool.input_schema)));
        std::vector<std::string> requests = repeated(variants(request_of(name, input)));
        if (is_judged()) requests.assign(4, requests.front());
        for (std::size_t index = 0; index < requests.size(); ++index) {
            const std::uint64_t token = host_.new_invocation();
            const std::function<void()> cancel = [&] {
                host_.call("tool cancel", "tool cancel",
                           [&] { extension->cancel(instance_, token); });
            };
            const bool ended = attempt(
                who, !is_judged() || index == 3, (tool.flags & NAR_TOOL_SYNCHRONOUS) != 0, token,
                [&] {
                    Loan loan(host_.options().memory);
                    const nar_invocation* lent = invocation(loan, name, requests[index]);
                    host_.call(who + " invoke", "tool invoke",
                               [&] { extension->invoke(instance_, token, &tool, lent); });
                    return true;
                },
                extension->cancel != nullptr ? cancel : std::function<void()>());
            if (!ended && is_judged()) break;
        }
    }
}

}  // namespace narratoria::command::plugin_check
