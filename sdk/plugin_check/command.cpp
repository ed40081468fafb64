// SPDX-License-Identifier: Apache-2.0
// narratoria plugin check: tests whether a plugin obeys the rules of the ABI.

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "display.hpp"
#include "io/children.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "io/outcome.hpp"
#include "json.hpp"
#include "plugin_check/command.hpp"
#include "plugin_check/rules.hpp"

namespace narratoria::command::plugin_check {
namespace {

constexpr std::size_t kShownFindings = 10;
constexpr std::size_t kShownDiagnostics = 10;

struct PluginCheckOptions {
    std::string file;
    std::string settings;
    std::optional<std::string> only;
    double time_limit = 5;
    double total = 0;  // 0: the default
    std::uint64_t seed = 1;
    bool as_json = false;
    bool lists = false;
};

constexpr double kTotalSeconds = 120;
// The total time has room for at least this number of calls that time out.
constexpr double kCallsInTotal = 24;
// Without a terminal, progress is reported only after this time.
constexpr double kQuietSeconds = 10;

// Reports the rules being checked on standard error: on a terminal one line that is updated,
// otherwise one line for each check that begins after kQuietSeconds.
class CheckProgress {
public:
    CheckProgress() : is_live_(is_capable_terminal(STDERR_FILENO)) {}
    CheckProgress(const CheckProgress&) = delete;
    CheckProgress& operator=(const CheckProgress&) = delete;
    ~CheckProgress() {
        if (is_live_ && !shown_.empty()) write_all(STDERR_FILENO, "\r\x1b[K");
    }

    void show(std::string_view rules) {
        const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
        if (rules == shown_ || (!is_live_ && seconds < kQuietSeconds)) return;
        shown_ = rules;
        const std::string line = fmt::format("checking {} ({:.0f} s)", rules, seconds);
        write_all(STDERR_FILENO, is_live_ ? "\r\x1b[K" + line.substr(0, kColumns) : line + "\n");
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t kColumns = 79;

    const bool is_live_;
    const Clock::time_point began_ = Clock::now();
    std::string shown_;
};

bool is_finding(PluginVerdict verdict) { return verdict >= PluginVerdict::Failed; }

std::string coloured(const Style& style, PluginVerdict verdict) {
    const std::string word = fmt::format("{:<8}", verdict_name(verdict));
    if (verdict == PluginVerdict::Passed) return style.green(word);
    if (verdict == PluginVerdict::Warning) return style.yellow(word);
    return is_finding(verdict) ? style.red(word) : style.dim(word);
}

std::string for_people(const std::string& file, const PluginExamination& examination) {
    const Style style = Style::for_descriptor(STDOUT_FILENO);
    std::string out;
    std::size_t passed = 0;
    std::size_t broken = 0;
    std::size_t warnings = 0;
    std::size_t skipped = 0;
    for (const PluginJudgement& one : examination.judgements) {
        passed += one.verdict == PluginVerdict::Passed;
        broken += is_finding(one.verdict);
        warnings += one.verdict == PluginVerdict::Warning;
        skipped += one.verdict == PluginVerdict::Skipped;
        out += fmt::format("{:<4} {}  {}{}\n", one.rule->id, coloured(style, one.verdict),
                           one.rule->title,
                           one.why.empty() ? "" : style.dim(": " + printable(one.why)));
        std::size_t left = kShownFindings;
        for (const std::string& finding : one.findings) {
            if (left-- == 0) {
                out +=
                    fmt::format("{:15}… and {} more\n", "", one.findings.size() - kShownFindings);
                break;
            }
            out += fmt::format("{:15}{}\n", "", printable(finding));
        }
        if (!one.findings.empty()) {
            out += fmt::format("{:15}{}\n", "", style.cyan(fmt::format("→ {}", one.rule->advice)));
        }
    }
    if (broken > 0 && !examination.output.empty()) {
        out += "\nOutput of the plugin before it failed:\n";
        for (const std::string& line : diagnostics_lines(examination.output, kShownDiagnostics)) {
            out += line + "\n";
        }
    }
    return out +
           fmt::format("\n{}: {} passed, {} broken, {}, {} skipped\n", printable(file), passed,
                       broken, counted(warnings, "warning"), skipped) +
           style.dim(
               "Leaks, data races, faults that other inputs or longer use would show, and what a "
               "plugin does\nand undoes within a call are not seen "
               "(docs/plugin-rules.md, \"What the check cannot see\").") +
           "\n";
}

std::string as_json(const std::string& file, const PluginExamination& examination, bool ok) {
    std::string out = fmt::format("{{\"ok\":{},\"plugin\":{},\"rules\":[", ok, json::quoted(file));
    bool first = true;
    for (const PluginJudgement& one : examination.judgements) {
        out +=
            fmt::format("{}\n{{\"rule\":\"{}\",\"title\":{},\"verdict\":\"{}\"", first ? "" : ",",
                        one.rule->id, json::quoted(one.rule->title), verdict_name(one.verdict));
        first = false;
        if (!one.why.empty()) out += fmt::format(",\"why\":{}", json::quoted(one.why));
        if (!one.findings.empty()) {
            out += fmt::format(",\"advice\":{}", json::quoted(one.rule->advice));
        }
        out += ",\"findings\":[";
        for (const std::string& finding : one.findings) {
            out += (&finding == &one.findings.front() ? "" : ",") +
                   fmt::format("{{\"message\":{}}}", json::quoted(finding));
        }
        out += "]}";
    }
    return out + "\n]}\n";
}

std::string read_settings(const std::string& given) {
    if (given.empty()) return "{}";
    const bool is_file = given == "-" || given.starts_with('@');
    const std::string file = given == "-" ? given : given.substr(1);
    std::string text = is_file ? read_document(file, "settings") : given;
    if (const auto error = json::object_error(text)) {
        throw Refused(fmt::format(
            "{}:{}:{}: {}; give the settings as one JSON object, for example '{{\"colour\": "
            "\"blue\"}}', as @FILE, or as - for standard input",
            is_file ? display_path(file) : "--settings", error->line, error->column,
            error->message));
    }
    return text;
}

std::vector<std::string> read_rules(const std::string& given) {
    constexpr std::string_view kAdvice = "give ids as in --only P27,P30; --list shows all rules";
    std::vector<std::string> rules;
    for (std::size_t at = 0; at <= given.size();) {
        const std::size_t end = std::min(given.find(',', at), given.size());
        std::string_view name = std::string_view(given).substr(at, end - at);
        while (name.starts_with(' ')) name.remove_prefix(1);
        while (name.ends_with(' ')) name.remove_suffix(1);
        if (name.empty()) {
            throw Refused(
                fmt::format("--only: a rule is missing in \"{}\"; {}", printable(given), kAdvice));
        }
        const PluginRule* rule = find_plugin_rule(name);
        if (rule == nullptr) {
            std::string near;
            for (const PluginRule* one : near_plugin_rules(name)) {
                near += fmt::format("{}{} ({})", near.empty() ? "; similar: " : ", ", one->id,
                                    one->title);
            }
            throw Refused(
                fmt::format("--only: unknown rule \"{}\"{}; {}", printable(name), near, kAdvice));
        }
        rules.emplace_back(rule->id);
        at = end + 1;
    }
    return rules;
}

int list_rules(bool as_json) {
    std::string out = as_json ? "[" : "";
    bool first = true;
    for (const PluginRuleChecks& one : plugin_rule_checks()) {
        std::string checks;
        for (const std::string_view check : one.checks) {
            checks += checks.empty() ? "" : as_json ? "," : ", ";
            checks += as_json ? json::quoted(check) : std::string(check);
        }
        if (as_json) {
            out +=
                fmt::format("{}\n{{\"rule\":\"{}\",\"title\":{},\"checks\":[{}]}}",
                            first ? "" : ",", one.rule->id, json::quoted(one.rule->title), checks);
        } else {
            out += fmt::format("{:<4} {} [{}]\n", one.rule->id, one.rule->title, checks);
        }
        first = false;
    }
    if (as_json) out += "\n]\n";
    require_standard_output("the rules");
    return write_all(STDOUT_FILENO, out) ? kExitSuccess : kExitFailure;
}

int plugin_check(const PluginCheckOptions& options) {
    if (options.lists) return list_rules(options.as_json);
    if (options.file.empty()) {
        throw Refused(
            "FILE is missing; give the plugin's library, for example narratoria plugin check "
            "build/librain.so");
    }
    PluginExaminationOptions examined;
    if (options.only) examined.only = read_rules(*options.only);
    examined.total = options.total > 0
                         ? options.total
                         : std::max(kTotalSeconds, kCallsInTotal * options.time_limit);
    examined.settings = read_settings(options.settings);
    examined.time_limit = options.time_limit;
    examined.seed = options.seed;
    const PluginFile file = read_plugin_file(options.file);
    require_standard_output("the findings");
    adopt_orphans();
    interruption::record_first();
    try {
        std::optional<CheckProgress> progress;
        progress.emplace();
        examined.on_progress = [&](std::string_view rules) { progress->show(rules); };
        const PluginExamination examination = examine_plugin(file, examined);
        progress.reset();
        const bool ok =
            std::none_of(examination.judgements.begin(), examination.judgements.end(),
                         [](const PluginJudgement& one) { return is_finding(one.verdict); });
        const std::string report = options.as_json ? as_json(options.file, examination, ok)
                                                   : for_people(options.file, examination);
        print_output(report, "the findings");
        return ok ? kExitSuccess : kExitFailure;
    } catch (const Interrupted& interrupted) {
        return kExitSignal + interrupted.signal;
    }
}

}  // namespace

void add_plugin_check(Command plugin) {
    Command command = plugin.subcommand("check", "Test a plugin against the rules of the ABI");
    auto options = std::make_shared<PluginCheckOptions>();
    command.option("FILE", options->file, "The plugin's library");
    command
        .option("--time", options->time_limit,
                "Timeout of a call, or of a later reply, in seconds (default 5)")
        .within_seconds(0.1, 3600.0)
        .type_name("SECONDS");
    command
        .option("--settings", options->settings,
                "The plugin's settings: a JSON object, @FILE, or - for standard input "
                "(default: {})")
        .type_name("JSON");
    command.option("--only", options->only, "Check only these rules: ids separated by commas")
        .type_name("RULE[,RULE]");
    command
        .option("--total", options->total,
                "Time for all checks together, in seconds (default 120, or 24 times --time)")
        .within_seconds(1, 86400.0)
        .type_name("SECONDS");
    command.flag("--list", options->lists, "List the rules, each with the checks that test it");
    command.option("--seed", options->seed, "Seed of the generated test data (default 1)")
        .type_name("NUMBER");
    command.flag("--json", options->as_json, "Print the findings as JSON");
    command.footer(
        "Each check runs in its own process with limits of processes, threads, memory and time, so "
        "the\nplugin may crash or hang there. It is loaded many times, with its side effects. The "
        "rules:\ndocs/plugin-rules.md.\nExit status: 0 no "
        "findings, 1 findings, 2 the file cannot be read or is not a plugin.\nExample:\n  "
        "narratoria plugin check "
        "build/librain.so");
    command.action([options] { return plugin_check(*options); });
}

}  // namespace narratoria::command::plugin_check
