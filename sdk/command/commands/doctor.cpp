// SPDX-License-Identifier: Apache-2.0
// narratoria doctor: reports which guarantees this machine can enforce, and what tools need from
// it. It tests a guarantee as any host can: it starts a tool with it and reads the receipt.

#include <fmt/core.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments/guarantee_names.hpp"
#include "commands/command.hpp"
#include "display.hpp"
#include "doctor/environment.hpp"
#include "doctor/machine_check.hpp"
#include "doctor/slurm_check.hpp"
#include "io/file.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/engine.hpp"
#include "narratoria/session.hpp"

namespace narratoria::command {
namespace {

using terminal::printable;
namespace json = terminal::json;

// The outcome of the tool does not matter: the receipt exists before the tool starts.
constexpr std::string_view kPlan =
    R"({"requestId":"doctor","tools":[{"toolId":"shell","toolPath":"/bin/sh","input":{},)"
    R"("retryPolicy":{"maxRetries":0}}]})";

// Checks a guarantee, in the form of nar_engine_options.sandbox. If empty, checks that tools start.
doctor::MachineCheck check_guarantee(std::string_view guarantee) {
    doctor::MachineCheck check{
        guarantee.empty() ? "programs" : std::string(guarantee.substr(0, guarantee.find('='))),
        false, "", "", false};
    EngineOptions engine_options;
    engine_options.sandbox = guarantee;
    engine_options.output_mode = NAR_OUTPUT_NONE;
    engine_options.log = [](const LogLine&) {};
    Engine engine(engine_options);
    Session session(engine, SessionOptions{.without_plugins = true});
    std::string result;
    session.execute(kPlan, "/", [&](const Result& ended) { result = ended.json().view(); });
    engine.run_until_idle();

    const json::Document document = json::read(result);
    const json::Value* const tools = json::member(document, "toolResults");
    if (tools == nullptr || !tools->IsArray() || tools->Empty()) {
        check.text = "the runtime did not run the plan of this check" +
                     (result.empty() ? std::string() : ": " + result.substr(0, 200));
        return check;
    }
    const json::Value& tool = (*tools)[0];
    const std::string_view code = json::text(tool, "errorCode");
    if (code == "GUARANTEE_UNAVAILABLE" || code == "SPAWN_FAILED") {
        check.text = json::text(tool, "error");
        return check;
    }
    check.is_fine = true;
    if (guarantee.empty()) {
        check.text = "tools can be started";
        return check;
    }
    const json::Value* const attempts = json::member(tool, "attempts");
    const json::Value* const receipts =
        attempts != nullptr && attempts->IsArray() && !attempts->Empty()
            ? json::member((*attempts)[0], "guarantees")
            : nullptr;
    check.is_fine = receipts != nullptr && receipts->IsArray() && !receipts->Empty();
    if (!check.is_fine) {
        check.text = "the runtime returned no receipt";
        return check;
    }
    check.text = json::text((*receipts)[0], "mechanism");
    check.version = json::text((*receipts)[0], "version");
    return check;
}

std::vector<doctor::MachineCheck> check_machine() {
    std::vector<doctor::MachineCheck> checks{check_guarantee({})};
    for (const std::string_view name : kGuaranteeNames) checks.push_back(check_guarantee(name));
    checks.push_back(check_guarantee("secrets_allowed=PATH"));
    for (doctor::MachineCheck& check : doctor::check_environment())
        checks.push_back(std::move(check));
    return checks;
}

int examine(const std::vector<doctor::MachineCheck>& checks, bool as_json) {
    bool all_fine = true;
    std::string out;
    for (const doctor::MachineCheck& check : checks) {
        all_fine = all_fine && (check.is_fine || check.is_optional);
        if (as_json) {
            out += fmt::format(R"({}{{"name":{},"ok":{},"optional":{},{}:{},"version":{}}})",
                               out.empty() ? "" : ",", json::quoted(check.name), check.is_fine,
                               check.is_optional, check.is_fine ? R"("mechanism")" : R"("problem")",
                               json::quoted(check.text), json::quoted(check.version));
        } else {
            out += fmt::format("{:<4} {:<20} {}{}\n",
                               check.is_fine       ? "ok"
                               : check.is_optional ? "-"
                                                   : "NO",
                               check.name, printable(check.text),
                               check.version.empty() ? "" : " (" + printable(check.version) + ")");
        }
    }
    if (as_json) out = fmt::format("{{\"ok\":{},\"checks\":[{}]}}\n", all_fine, out);
    print_output(out, "the report");
    return all_fine ? kExitSuccess : kExitFailure;
}

}  // namespace

void add_doctor(Command application) {
    Command command = application.subcommand(
        "doctor", "Show which guarantees this machine can enforce, and what is missing");
    auto as_json = std::make_shared<bool>(false);
    auto slurm = std::make_shared<bool>(false);
    command.flag("--json", *as_json, "Print the report as JSON");
    command.flag("--slurm", *slurm,
                 "Check the Slurm cluster instead of this machine, by running a job");
    command.footer(
        "Exit status: 0 nothing is missing, 1 something is missing (NO; the report says how to "
        "fix\nit). Entries that only some tools need (-) do not count.\n"
        "Example:\n  narratoria doctor");
    command.action([as_json, slurm] {
        return examine(*slurm ? doctor::check_slurm() : check_machine(), *as_json);
    });
}

}  // namespace narratoria::command
