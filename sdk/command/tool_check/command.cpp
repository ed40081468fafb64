// SPDX-License-Identifier: Apache-2.0
// narratoria tool check: tests whether a tool obeys the rules of the protocol.

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arguments/json_object.hpp"
#include "arguments/tool_path.hpp"
#include "commands/command.hpp"
#include "display.hpp"
#include "io/children.hpp"
#include "io/file.hpp"
#include "io/guard.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "io/outcome.hpp"
#include "json.hpp"
#include "narratoria/session.hpp"
#include "tool_check/observed_run.hpp"
#include "tool_check/rules.hpp"

namespace narratoria::command::tool_check {
namespace {

constexpr std::size_t kShownFindings = 10;
constexpr std::size_t kShownDiagnostics = 10;
// Only a tool that takes at least this long is interrupted in a separate run (T18).
constexpr double kLongRunning = 0.5;
// Larger than a pipe's buffer, so that a tool that does not read its input is detected.
constexpr std::size_t kUnknownText = 256 * 1024;

struct ToolCheckOptions {
    std::string tool;
    std::optional<std::string> input;
    std::optional<std::string> state;
    double time_limit = 30;
    bool as_json = false;
};

std::string invocation(const std::string& request_id, const ToolFile& tool,
                       const std::string& input, const std::string& state,
                       bool with_unknown_fields) {
    const json::Document parsed = json::read(input);
    std::string_view operation = json::text(parsed, "operation");
    if (operation.empty()) operation = "run";
    std::string unknown;
    if (with_unknown_fields) {
        unknown = fmt::format(
            R"(,"narratoriaFieldOfALaterVersion":{{"nested":[1,2,{{"deep":null}}],"text":"{}"}})",
            std::string(kUnknownText, 'x'));
    }
    return fmt::format(
        R"({{"requestId":"{}","tool":{},"operation":{},"input":{},"state":{},"dependencies":{{}},"results":{{}}{}}})"
        "\n",
        // The name that the runtime gives it: the file's name without extension.
        request_id, json::quoted(std::filesystem::path(tool.name).stem().string()),
        json::quoted(operation), input, state, unknown);
}

// The input with an additional member that the tool cannot know.
std::string with_unknown_member(const std::string& input) {
    const std::size_t brace = input.find('{');
    const bool is_empty = input.find_first_not_of(" \t\r\n", brace + 1) == input.rfind('}');
    return fmt::format("{}\"narratoriaUnknownInput\":true{}{}", input.substr(0, brace + 1),
                       is_empty ? "" : ",", input.substr(brace + 1));
}

bool has_carriage_return(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string line;
    std::getline(file, line);
    return line.starts_with("#!") && line.ends_with('\r');
}

// The folder in NARRATORIA_OUTPUT_DIR. The destructor removes it.
class OutputFolder {
public:
    OutputFolder() {
        std::error_code none;
        const auto base = std::filesystem::temp_directory_path(none);
        path_ = (none ? std::string("/tmp") : base.string()) + "/narratoria-check-XXXXXX";
        if (mkdtemp(path_.data()) == nullptr) {
            throw Failed(
                fmt::format("cannot create the temporary folder {}: {}; set TMPDIR to a folder "
                            "that is writable",
                            path_, reason(errno)));
        }
        setenv("NARRATORIA_OUTPUT_DIR", path_.c_str(), 1);
    }
    OutputFolder(OutputFolder&&) = delete;
    ~OutputFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

private:
    std::string path_;
};

Evidence gather(const ToolFile& tool, const std::string& input, const std::string& state,
                double time_limit) {
    Evidence evidence;
    evidence.path = tool.path;
    evidence.has_return = has_carriage_return(tool.path);
    evidence.request_id = make_uuid();
    evidence.time_limit = time_limit;
    ObservedRunOptions options;
    options.path = tool.path;
    options.time_limit = time_limit;
    options.grace = evidence.grace;
    options.input = invocation(evidence.request_id, tool, input, state, false);
    evidence.plain = observe_run(options);
    if (evidence.plain.start_error != 0) return evidence;

    if (!evidence.plain.ended_by_us && evidence.plain.seconds >= kLongRunning) {
        ObservedRunOptions interrupted = options;
        interrupted.terminate_after = std::min(1.0, evidence.plain.seconds / 2);
        evidence.terminated = observe_run(interrupted);
    }
    if (!speaks_protocol(evidence.plain)) return evidence;
    options.input.clear();
    evidence.without_input = observe_run(options);
    options.input = invocation(evidence.request_id, tool, with_unknown_member(input), state, true);
    evidence.unknown_fields = observe_run(options);
    return evidence;
}

std::string_view verdict_name(Verdict verdict) {
    switch (verdict) {
        case Verdict::Passed: return "passed";
        case Verdict::Failed: return "failed";
        case Verdict::NotApplicable: return "not applicable";
    }
    return {};
}

std::string place(const Finding& finding) {
    std::string text;
    if (!finding.run.empty()) text += finding.run;
    if (finding.line > 0) {
        if (!text.empty()) text += ", ";
        text += fmt::format("line {}, byte {}", finding.line, finding.byte);
    }
    if (!finding.pointer.empty()) {
        if (!text.empty()) text += ", ";
        text += printable(finding.pointer);
    }
    return text;
}

std::string for_people(const ToolFile& tool, const Evidence& evidence,
                       const std::vector<Judgement>& judgements) {
    const Style style = Style::for_descriptor(STDOUT_FILENO);
    std::string out;
    std::size_t counts[3] = {};
    for (const Judgement& judgement : judgements) {
        ++counts[static_cast<std::size_t>(judgement.verdict)];
        const std::string verdict = fmt::format("{:<14}", verdict_name(judgement.verdict));
        std::string coloured = style.dim(verdict);
        if (judgement.verdict == Verdict::Passed) coloured = style.green(verdict);
        if (judgement.verdict == Verdict::Failed) coloured = style.red(verdict);
        out += fmt::format("{}  {:<4} {}{}\n", coloured, judgement.rule->id, judgement.rule->title,
                           judgement.why.empty() ? "" : style.dim(": " + judgement.why));
        std::size_t left = kShownFindings;
        for (const Finding& finding : judgement.findings) {
            if (left-- == 0) {
                out += fmt::format("{:21}… and {} more\n", "",
                                   judgement.findings.size() - kShownFindings);
                break;
            }
            const std::string where = place(finding);
            out += fmt::format("{:21}{}{}{}\n", "", style.bold(where), where.empty() ? "" : ": ",
                               printable(finding.message));
        }
        if (!judgement.findings.empty()) {
            out += fmt::format("{:21}{}\n", "",
                               style.cyan(fmt::format("→ {}", judgement.rule->advice)));
        }
    }
    if (counts[1] > 0 && !evidence.plain.diagnostics.empty()) {
        out += "\nStandard error of the tool:\n";
        for (const std::string& line :
             diagnostics_lines(evidence.plain.diagnostics, kShownDiagnostics)) {
            out += line + "\n";
        }
    }
    if (counts[1] > 0 && evidence.has_no_input && !reported_success(evidence.plain)) {
        out +=
            "\nThe tool ran with the input {}. If it needs input, pass it with --input; if it must "
            "cope\nwithout, report the failure with done and ok: false.\n";
    } else if (reported_success(evidence.plain) == false) {
        out +=
            "\nThe tool reported a failure (done with ok: false). To check a successful run too, "
            "pass the input it needs with --input.\n";
    }
    return out + fmt::format("\n{}: {} passed, {} failed, {} not applicable\n",
                             printable(tool.name), counts[0], counts[1], counts[2]);
}

std::string as_json(const ToolFile& tool, const std::vector<Judgement>& judgements, bool ok) {
    std::string out =
        fmt::format("{{\"ok\":{},\"tool\":{},\"rules\":[", ok, json::quoted(tool.path));
    bool first = true;
    for (const Judgement& judgement : judgements) {
        std::string verdict(verdict_name(judgement.verdict));
        std::replace(verdict.begin(), verdict.end(), ' ', '_');
        out +=
            fmt::format("{}\n{{\"rule\":\"{}\",\"title\":{},\"source\":{},\"verdict\":\"{}\"",
                        first ? "" : ",", judgement.rule->id, json::quoted(judgement.rule->title),
                        json::quoted(judgement.rule->source), verdict);
        first = false;
        if (!judgement.why.empty()) out += fmt::format(",\"why\":{}", json::quoted(judgement.why));
        if (!judgement.findings.empty()) {
            out += fmt::format(",\"advice\":{}", json::quoted(judgement.rule->advice));
        }
        out += ",\"findings\":[";
        bool first_finding = true;
        for (const Finding& finding : judgement.findings) {
            out += fmt::format("{}{{\"message\":{}", first_finding ? "" : ",",
                               json::quoted(finding.message));
            first_finding = false;
            if (!finding.run.empty()) out += fmt::format(",\"run\":{}", json::quoted(finding.run));
            if (finding.line > 0) {
                out += fmt::format(",\"line\":{},\"byte\":{}", finding.line, finding.byte);
            }
            if (!finding.pointer.empty()) {
                out += fmt::format(",\"pointer\":{}", json::quoted(finding.pointer));
            }
            out += '}';
        }
        out += "]}";
    }
    return out + "\n]}\n";
}

int tool_check(const ToolCheckOptions& options) {
    const ToolFile tool = find_tool(options.tool);
    const std::string input = read_object(kToolInput, options.input);
    const std::string state = read_object(kToolState, options.state);
    require_standard_output("the findings");
    interruption::record_first();
    run_under_guard();
    try {
        const OutputFolder folder;
        Evidence evidence = gather(tool, input, state, options.time_limit);
        evidence.has_no_input = !options.input;
        const std::vector<Judgement> judgements = judge(evidence);
        const bool ok =
            std::none_of(judgements.begin(), judgements.end(),
                         [](const Judgement& one) { return one.verdict == Verdict::Failed; });
        const std::string report = options.as_json ? as_json(tool, judgements, ok)
                                                   : for_people(tool, evidence, judgements);
        print_output(report, "the findings");
        return ok ? kExitSuccess : kExitFailure;
    } catch (const Interrupted& interrupted) {
        return kExitSignal + interrupted.signal;
    }
}

}  // namespace

void add_tool_check(Command tool) {
    Command command = tool.subcommand("check", "Test a tool against the rules of the protocol");
    auto options = std::make_shared<ToolCheckOptions>();
    command
        .option("TOOL", options->tool,
                "The tool's program; a bare name is a file in the working folder")
        .required();
    command
        .option("--input", options->input,
                "The tool's input: a JSON object, @FILE, or - for standard input (default: {})")
        .type_name("JSON");
    command
        .option("--state", options->state,
                "The parts of the state that the tool's manifest names: a JSON object, @FILE, or - "
                "for standard input (default: {})")
        .type_name("JSON");
    command
        .option("--time-limit", options->time_limit, "Timeout of one run in seconds (default 30)")
        .within_seconds(0.1, 86400.0)
        .type_name("SECONDS");
    command.flag("--json", options->as_json, "Print the findings as JSON");
    command.footer(
        "The tool runs up to four times, with its side effects: normally, without input, with\n"
        "unknown fields, and, if it takes long, once to be ended early.\nExit status: 0 no "
        "findings, 1 findings, 2 the tool was not run.\nExample:\n  narratoria tool check "
        "tools/torch-lighter --input '{\"action\": \"light_torch\"}'");
    command.action([options] { return tool_check(*options); });
}

}  // namespace narratoria::command::tool_check
