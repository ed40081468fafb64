// SPDX-License-Identifier: Apache-2.0
#include "plugin_check/rules.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "io/message.hpp"
#include "json.hpp"
#include "plugin_check/exercise.hpp"
#include "plugin_check/trials.hpp"

namespace narratoria::command::plugin_check {
namespace {

constexpr double kMetadataBudget = 250;  // milliseconds
// Time for one trial. A large --time raises it.
constexpr double kTrialSeconds = 60;

constexpr PluginRule kRules[] = {
    {"P1", "loads alone, with all symbols found",
     "link the libraries it uses (-Wl,-z,defs reports what is missing)"},
    {"P2", "exports nar_plugin_entry and nothing else",
     "build it with narratoria_add_plugin, or with -fvisibility=hidden and "
     "-Wl,--version-script=$(pkg-config --variable=pluginmap narratoria); NARRATORIA_PLUGIN "
     "(C++) exports the entry, in C mark it NAR_PLUGIN_EXPORT"},
    {"P3", "does not link against Narratoria", "use get_extension of the host instead of linking"},
    {"P4", "no text relocations, no executable stack",
     "compile with -fPIC, link with -Wl,-z,noexecstack"},
    {"P5", "loads quickly and without side effects", "move it from the constructor to init"},
    {"P6", "has metadata that can be read without loading",
     "write NARRATORIA_PLUGIN(…) (C++) or NAR_PLUGIN_NOTE(…) (C) once at file scope; in other "
     "languages put the JSON object that narratoria/plugin.h shows into the file FILE.json next to "
     "the library FILE; a fault at /settings is in the JSON Schema of the settings, in C++ "
     "kSettings"},
    {"P7", "has metadata that agrees with its description", "make the note and nar_plugin agree"},
    {"P8", "returns a plugin from the entry, or refuses", "set *plugin, then return NAR_OK"},
    {"P9", "gives a reason for each refusal", "write a sentence to failure->message"},
    {"P10", "negotiates the version",
     "compare abi_version >> 16 with NAR_ABI_MAJOR before anything else"},
    {"P11", "describes itself in a complete nar_plugin",
     "set size to sizeof(nar_plugin) and fill all fields"},
    {"P12", "has an id, a name and a version", "for example org.example.rain"},
    {"P13", "returns a struct for each id it lists", "return the same static struct at each call"},
    {"P14", "returns NULL for every other id", "compare the whole id, with its size"},
    {"P15", "lists ids that this ABI defines",
     "look up the id in the header, including its version"},
    {"P16", "fills each extension's struct",
     "correct the field that the finding names; narratoria/*.h says what each field may hold"},
    {"P17", "creates an instance, even without settings",
     "init must work with {} and with the settings of --settings: provide a default for each "
     "setting, and report a missing one when it is needed; correct settings that kSettings "
     "forbids"},
    {"P18", "calls only what works in init and deinit",
     "post it in init (narratoria.post/1): it runs when the instance is active"},
    {"P19", "returns from deinit in time", "interrupt its threads, then join them"},
    {"P20", "joins its threads in deinit", "keep each thread in the instance, and join it"},
    {"P21", "keeps a session's data in its instance", "move globals into the instance"},
    {"P22", "calls engine-thread functions there only", "use narratoria.post/1 from other threads"},
    {"P23", "returns soon from every call", "move the work to a thread, or split it with a timer"},
    {"P24", "throws no exception into its caller",
     "catch (...) in each function that the host calls, and in the function of each thread"},
    {"P25", "does not end the process",
     "return NAR_FAILED, or log an error; catch (...) in the function of each thread"},
    {"P26", "does not crash",
     "run a story with it in a debugger (gdb --args narratoria play --story FOLDER), or build it "
     "with a sanitizer"},
    {"P27", "leaves the process unchanged",
     "use alternatives (MSG_NOSIGNAL, openat, uselocale, narratoria.timer/1, a thread's priority)"},
    {"P28", "leaves nothing behind", "close descriptors and wait for children in deinit"},
    {"P29", "leaks no memory",
     "build it and its tests with -fsanitize=address, which reports the line "
     "(docs/writing-a-plugin.md)"},
    {"P30", "accesses nothing beyond size, and does not write to the host's data",
     "compare size first; a nar_str has no terminator; copy data before you change it"},
    {"P31", "continues without an extension of the host",
     "compare the result of get_extension with NULL"},
    {"P32", "accepts input of later versions", "ignore unknown kinds, names and fields"},
    {"P33", "survives invalid data", "check each value's type before it is used"},
    {"P34", "calls the host with valid arguments",
     "the function's comment describes its arguments"},
    {"P35", "replies to every request", "call reply or fail on every path"},
    {"P36", "replies once", "forget the token with the reply"},
    {"P37", "does not reply after cancel", "forget the token in cancel"},
    {"P38", "replies with Plan JSON without faults", "narratoria validate plan shows the same"},
    {"P39", "calls ended exactly once, as the last call, even after cancel",
     "call ended on every path, and forget the token"},
    {"P40", "writes events that end with done", "narratoria validate event shows the same"},
    {"P41", "keeps no view longer than the call", "copy the data that it needs later"},
    {"P42",
     "stays within 16 processes, 56 threads, 1 GiB, files of 256 MiB and 60 s of processor time",
     "limit processes, threads and buffers; wait for each process before starting many more"},
    {"P43", "lets the host's loop become idle",
     "start a timer for the time when work is due; limit the prompts that it submits by itself"},
    {"P44", "stops a poll before it closes the descriptor", "call poll.stop, then close"},
    {"P45", "closes only its own descriptors",
     "keep the number of each descriptor that it opens; never close a range"},
    {"P46", "sends signals only to processes that it started",
     "signal the process by its id; start it in a process group of its own (setpgid)"},
    {"P47", "lets the process end",
     "do not use atexit, or destructors of globals that need objects which deinit has freed"},
    {"P48", "reports the outcome of each pending rendering",
     "call render.rendered for each asset for which render returned NAR_PENDING"},
};

// One kind of check and the rules that it can find broken. Rules that any trial may find broken
// (P24, P26, …) are listed with the checks of ordinary use.
struct Check {
    std::string_view name;
    std::string_view rules;
};
constexpr Check kReadFile{"read file", "P2 P3 P4 P6"};
constexpr Check kLoad{"load", "P1 P2 P5"};
constexpr Check kEntry{"entry", "P8 P9 P10 P24"};
constexpr Check kVersions{"other versions", "P10"};
constexpr Check kDescription{"description", "P7 P11 P12 P13 P14 P15 P16 P24"};
constexpr Check kLife{"init and deinit", "P9 P17 P18 P19 P20 P24 P25 P26 P27 P28 P42 P43 P45 P46"};
constexpr Check kSession{"a session of the runtime", "P16 P17"};
constexpr Check kUse{"use",
                     "P19 P20 P22 P23 P24 P25 P26 P27 P28 P34 P35 P36 P37 P38 P39 P40 P42 P43 P44 "
                     "P45 P46 P48"};
constexpr Check kLater{"later versions' data", "P32"};
constexpr Check kOddData{"odd data", "P33"};
constexpr Check kOddSettings{"odd settings", "P33"};
constexpr Check kIds{"unterminated ids", "P30"};
constexpr Check kGuarded{"guarded memory", "P30 P41"};
constexpr Check kNoServices{"no services", "P31"};
constexpr Check kInstances{"interleaved instances", "P21"};
constexpr Check kExit{"exit", "P46 P47"};
constexpr const Check* kChecks[] = {&kReadFile,    &kLoad,       &kEntry,       &kVersions,
                                    &kDescription, &kLife,       &kSession,     &kUse,
                                    &kLater,       &kOddData,    &kOddSettings, &kIds,
                                    &kGuarded,     &kNoServices, &kInstances,   &kExit};

bool names_rule(std::string_view rules, std::string_view rule) {
    for (std::size_t at = 0; at < rules.size();) {
        const std::size_t end = std::min(rules.find(' ', at), rules.size());
        if (rules.substr(at, end - at) == rule) return true;
        at = end + 1;
    }
    return false;
}

const PluginRule* rule_named(std::string_view id) {
    const auto add_finding = std::find_if(std::begin(kRules), std::end(kRules),
                                          [&](const PluginRule& rule) { return rule.id == id; });
    return add_finding != std::end(kRules) ? add_finding : nullptr;
}

std::string with_case(std::string_view text, int (*change)(int)) {
    std::string changed;
    for (const char one : text) {
        changed += static_cast<char>(change(static_cast<unsigned char>(one)));
    }
    return changed;
}

// The texts differ by one missing, extra or replaced character.
bool is_one_change_away(std::string_view one, std::string_view other) {
    if (one.size() < other.size()) std::swap(one, other);
    if (one.size() > other.size() + 1) return false;
    const auto at = static_cast<std::size_t>(
        std::mismatch(other.begin(), other.end(), one.begin()).first - other.begin());
    const std::size_t rest = one.size() == other.size() ? at + 1 : at;
    return one.substr(std::min(at + 1, one.size())) == other.substr(std::min(rest, other.size()));
}

// A temporary folder for the files of the trials. The destructor removes it.
class TestFolder {
public:
    TestFolder() {
        std::error_code none;
        const auto base = std::filesystem::temp_directory_path(none);
        path_ = (none ? std::string("/tmp") : base.string()) + "/narratoria-check-XXXXXX";
        if (mkdtemp(path_.data()) == nullptr) {
            throw Failed(
                fmt::format("cannot create the temporary folder {}: {}; set TMPDIR to a folder "
                            "that is writable",
                            path_, reason(errno)));
        }
    }
    TestFolder(TestFolder&&) = delete;
    ~TestFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

// ---------------------------------------------------------------- the examination

class Examination {
public:
    Examination(const PluginFile& file, const PluginExaminationOptions& options)
        : file_(file), options_(options) {
        exercise_.limit = options.time_limit;
        exercise_.folder = folder_.path();
        exercise_.seed = options.seed;
        for (const PluginRule& rule : kRules) result_.judgements.push_back({&rule, {}, {}, {}});
        judgement("P29").why = "this check cannot detect leaks; build with -fsanitize=address";
    }

    PluginExamination run() {
        check_file();
        check_entry();
        check_life_cycle();
        check_extensions();
        check_robustness();
        for (PluginJudgement& one : result_.judgements) decide_verdict(one);
        std::erase_if(result_.judgements, [&](const PluginJudgement& one) {
            return !is_wanted(one.rule->id) && one.verdict < PluginVerdict::Failed;
        });
        return std::move(result_);
    }

private:
    using Trial = std::function<void(TrialReport&)>;

    PluginJudgement& judgement(std::string_view rule) {
        const PluginRule* known = rule_named(rule);
        return result_.judgements[static_cast<std::size_t>(known - kRules)];
    }

    void add_finding(std::string_view rule, const std::string& message,
                     PluginVerdict verdict = PluginVerdict::Failed) {
        if (rule_named(rule) == nullptr) return;  // a plugin wrote into the trial's page
        PluginJudgement& one = judgement(rule);
        one.verdict = one.findings.empty() ? verdict : std::max(one.verdict, verdict);
        if (std::find(one.findings.begin(), one.findings.end(), message) == one.findings.end()) {
            one.findings.push_back(message);
        }
    }

    void add_covered(std::string_view rule) {
        if (rule_named(rule) != nullptr) covered_.insert(std::string(rule));
    }

    bool is_wanted(std::string_view rule) const {
        return options_.only.empty() ||
               std::find(options_.only.begin(), options_.only.end(), rule) != options_.only.end();
    }

    bool is_wanted(const Check& check) const {
        return options_.only.empty() ||
               std::any_of(options_.only.begin(), options_.only.end(),
                           [&](const std::string& rule) { return names_rule(check.rules, rule); });
    }

    TrialOutcome run(const Check& check, const Trial& what) {
        const double left = options_.total - seconds_since(began_);
        if (left <= 0) {
            add_finding("P42",
                        fmt::format("the checks took longer than {:.0f} s in total; the remaining "
                                    "checks were skipped (--total allows more time)",
                                    options_.total));
            stop("the total time for the checks was used up (--total)");
            return {};
        }
        if (has_survivor_) return {};
        TrialOptions options;
        options.limit = options_.time_limit;
        options.total_limit = std::min(left, std::max(kTrialSeconds, 20 * options_.time_limit));
        if (options_.on_progress) {
            options.on_progress = [&] { options_.on_progress(check.rules); };
            options.on_progress();
        }
        return run_trial(options, what);
    }

    // False if the plugin did not return. True if the check is not selected.
    bool trial(const Check& check, const Trial& what) {
        return !is_wanted(check) || evaluate(run(check, what));
    }

    bool evaluate(const TrialOutcome& outcome) {
        // In checks with many instances, leaked threads and descriptors (P20, P28) add up and would
        // also break P42.
        const bool has_leaks = is_broken("P20") || is_broken("P28");
        for (const TrialFinding& one : outcome.findings) {
            if (one.rule == "P42" && has_leaks) continue;
            add_finding(one.rule, one.message,
                        one.is_warning ? PluginVerdict::Warning : PluginVerdict::Failed);
        }
        for (const std::string& rule : outcome.covered) add_covered(rule);
        for (const auto& [rule, why] : outcome.skipped) {
            if (rule_named(rule) != nullptr) judgement(rule).why = why;
        }
        if (outcome.end == TrialOutcome::End::Finished) return true;
        if (outcome.end == TrialOutcome::End::Exceeded && has_leaks) return false;
        // An excess counts as failed: the check ended it.
        PluginVerdict verdict = PluginVerdict::Failed;
        if (outcome.end == TrialOutcome::End::Crashed) verdict = PluginVerdict::Crashed;
        if (outcome.end == TrialOutcome::End::Hung) verdict = PluginVerdict::Hung;
        // The plugin can overwrite the page that names the rule.
        const bool is_known = rule_named(outcome.broken_rule) != nullptr;
        add_finding(is_known ? outcome.broken_rule : "P30", outcome.description, verdict);
        if (result_.output.empty()) result_.output = outcome.output;
        if (outcome.has_survivor) {
            has_survivor_ = true;
            stop("a process of the check could not be ended");
        }
        return false;
    }

    // Skips all later checks. The first reason is kept.
    void stop(const std::string& why) {
        if (stopped_.empty()) stopped_ = why;
    }

    bool is_broken(std::string_view rule) {
        return judgement(rule).verdict >= PluginVerdict::Failed;
    }

    void check_file();
    void check_entry();
    void check_life_cycle();
    void check_extensions();
    void check_robustness();
    void decide_verdict(PluginJudgement& one);

    const PluginFile& file_;
    const PluginExaminationOptions& options_;
    const TestFolder folder_;
    const Clock::time_point began_ = Clock::now();
    ExerciseOptions exercise_;
    PluginExamination result_;
    std::set<std::string> covered_;
    std::string stopped_;
    bool has_survivor_ = false;  // a trial's process still exists and may hold resources
    bool may_use_all_ = true;
};

void Examination::check_file() {
    std::vector<std::string> extra_symbols = file_.exported;
    std::erase(extra_symbols, NAR_PLUGIN_ENTRY);
    if (!extra_symbols.empty())
        add_finding("P2", fmt::format("it also exports {}", joined(extra_symbols)));
    for (const std::string& library : file_.libraries) {
        if (library.starts_with("libnarratoria"))
            add_finding("P3", fmt::format("it links {}", library));
    }
    add_covered("P3");
    if (file_.has_text_relocations) add_finding("P4", "it has text relocations");
    if (file_.has_executable_stack) add_finding("P4", "it requires an executable stack");
    add_covered("P4");
    for (const std::string& fault : file_.metadata.faults) add_finding("P6", fault);
    // Other programs use the machine too: judge the fastest of three measurements.
    double milliseconds = file_.metadata.milliseconds;
    for (unsigned turn = 0; turn < 2 && milliseconds > kMetadataBudget; ++turn) {
        milliseconds = std::min(milliseconds, read_plugin_file(file_.path).metadata.milliseconds);
    }
    if (milliseconds > kMetadataBudget) {
        add_finding("P6",
                    fmt::format("reading its metadata took {:.0f} ms; the limit is {:.0f} ms; "
                                "strip the library",
                                milliseconds, kMetadataBudget));
    }
    add_covered("P6");
    judgement("P6").why =
        fmt::format("in {}, read in {:.1f} ms", file_.metadata.source, milliseconds);
    if (!file_.metadata.faults.empty()) judgement("P7").why = "its metadata is not valid";
}

void Examination::check_entry() {
    // Other programs use the machine too: judge the fastest of three loads.
    TrialOutcome loading;
    for (unsigned turn = 0; turn < 3; ++turn) {
        loading = run(kLoad, [&](TrialReport& report) { try_loading(report, file_.path); });
        const bool was_slow = std::any_of(loading.findings.begin(), loading.findings.end(),
                                          [](const TrialFinding& one) { return one.rule == "P5"; });
        if (!was_slow) break;
    }
    if (!evaluate(loading) || !loading.covered.contains("P1")) return stop("it cannot be loaded");
    // All later checks need the entry and the description, so these run for any `only`.
    if (!evaluate(run(kEntry, [&](TrialReport& report) { try_entry(report, file_.path); })) ||
        is_broken("P8") || is_broken("P9") || is_broken("P10") || is_broken("P24")) {
        return stop("its entry returns no plugin for this host");
    }
    trial(kVersions, [&](TrialReport& report) { try_other_major(report, file_.path); });
    trial(kVersions, [&](TrialReport& report) { try_other_minor(report, file_.path, 0xFFFF); });
    trial(kVersions, [&](TrialReport& report) { try_other_minor(report, file_.path, 0); });
    if (!evaluate(run(
            kDescription,
            [&](TrialReport& report) { try_description(report, file_.path, file_.metadata); })) ||
        is_broken("P11") || is_broken("P16") || is_broken("P13") || is_broken("P24")) {
        stop("its nar_plugin is not usable");
    }
}

void Examination::check_life_cycle() {
    if (!stopped_.empty()) return;
    const bool returned =
        trial(kLife, [&](TrialReport& report) { try_life(report, file_.path, options_.settings); });
    if (!returned) return stop("init and deinit do not return");
    if (is_broken("P17") || is_broken("P9")) stop("init refused to create an instance");
    if (is_broken("P24")) stop("init threw an exception");
    // A plugin that damages the process would damage the runtime too, with findings that mislead.
    const bool is_harmless = std::none_of(
        result_.judgements.begin(), result_.judgements.end(), [](const PluginJudgement& one) {
            return one.verdict >= PluginVerdict::Failed && names_rule(kLife.rules, one.rule->id);
        });
    if (!stopped_.empty() || !is_harmless || !file_.metadata.faults.empty() || is_broken("P7") ||
        is_broken("P12")) {
        return;
    }
    if (!trial(kSession,
               [&](TrialReport& report) {
                   try_session(report, file_.path, file_.metadata, options_.settings,
                               folder_.path());
               }) ||
        is_broken("P16")) {
        stop("the runtime leaves it out of its sessions");
    }
}

void Examination::check_extensions() {
    if (!stopped_.empty()) return;
    // Valid metadata saves the trials of extensions that it does not list. Without it, each trial
    // asks the loaded plugin; a trial of an extension that the plugin lacks covers no rules.
    const bool has_valid_metadata = file_.metadata.faults.empty() && !is_broken("P7");
    const std::vector<std::string>& listed = file_.metadata.extensions;
    for (const std::string_view id : kKnownExtensions) {
        if (has_valid_metadata && std::find(listed.begin(), listed.end(), id) == listed.end())
            continue;
        ExerciseOptions one = exercise_;
        one.only = id;
        may_use_all_ &= trial(kUse, [&](TrialReport& report) {
            try_extension(report, file_.path, options_.settings, one);
        });
    }
    const bool was_used = !may_use_all_ || covered_.contains("P26");
    if (!was_used && is_wanted(kUse)) {
        for (const std::string_view rule : {"P22", "P23", "P24", "P25", "P26", "P34", "P44"}) {
            judgement(rule).why = "it has no usable extension";
        }
    }
}

void Examination::check_robustness() {
    if (!stopped_.empty()) return;
    if (!may_use_all_) return stop("its extensions do not return in normal use");
    if (is_broken("P23")) return stop("its calls take too long (P23) for this check");
    if (is_broken("P19")) return stop("its deinit takes too long (P19) for this check");
    const auto run_again = [&](const Check& check, const Blame& blame, Exercise kind,
                               std::initializer_list<std::string_view> rules,
                               const std::function<void(PluginCheckHostOptions&)>& change = {}) {
        PluginCheckHostOptions host;
        host.settings = options_.settings;
        host.blame = blame;
        host.gives_odd_data = kind == Exercise::Odd;
        if (change) change(host);
        ExerciseOptions exercise = exercise_;
        exercise.kind = kind;
        return trial(check, [&](TrialReport& report) {
            try_again(report, file_.path, host, exercise, rules);
        });
    };
    run_again(kLater, {"P32", "P32", "P32"}, Exercise::Future, {"P32"});
    run_again(kOddData, {"P33", "P33", "P33"}, Exercise::Odd, {"P33"});
    trial(kOddSettings,
          [&](TrialReport& report) { try_odd_settings(report, file_.path, options_.seed); });
    trial(kIds, [&](TrialReport& report) { try_unterminated_ids(report, file_.path); });
    run_again(kGuarded, {"P30", "P23", "P25"}, Exercise::Brief, {"P30", "P41"},
              [](PluginCheckHostOptions& host) { host.memory = LentMemory::Guarded; });
    run_again(kNoServices, {"P31", "P31", "P31"}, Exercise::Brief, {"P31"},
              [](PluginCheckHostOptions& host) { host.lacks_extensions = true; });
    trial(kInstances, [&](TrialReport& report) {
        try_interleaving(report, file_.path, options_.settings, exercise_);
    });
    // Unused and used: an atexit handler may need what only a use creates, or be registered by it.
    ExerciseOptions brief = exercise_;
    brief.kind = Exercise::Brief;
    for (const ExerciseOptions* exercise : {static_cast<const ExerciseOptions*>(nullptr),
                                            static_cast<const ExerciseOptions*>(&brief)}) {
        trial(kExit, [&](TrialReport& report) {
            try_exit(report, file_.path, options_.settings, exercise);
        });
    }
}

void Examination::decide_verdict(PluginJudgement& one) {
    if (!one.findings.empty()) {
        one.why.clear();
        return;
    }
    if (covered_.contains(std::string(one.rule->id))) {
        one.verdict = PluginVerdict::Passed;
        if (one.rule->id != "P6") one.why.clear();
        return;
    }
    one.verdict = PluginVerdict::Skipped;
    if (!one.why.empty()) return;
    const auto number = std::atoi(one.rule->id.data() + 1);
    const bool is_narrators = number >= 35 && number <= 38;
    const bool is_tools = number == 39 || number == 40;
    if (!stopped_.empty()) {
        one.why = stopped_;
    } else if (is_narrators) {
        one.why = "it is not a narrator";
    } else if (is_tools) {
        one.why = "it runs no tools";
    } else if (one.rule->id == "P48") {
        one.why = "it renders no assets";
    } else {
        one.why = "the plugin did not return from an earlier check";
    }
}

}  // namespace

std::string_view verdict_name(PluginVerdict verdict) {
    switch (verdict) {
        case PluginVerdict::Passed: return "passed";
        case PluginVerdict::Warning: return "warning";
        case PluginVerdict::Skipped: return "skipped";
        case PluginVerdict::Failed: return "failed";
        case PluginVerdict::Crashed: return "crashed";
        case PluginVerdict::Hung: return "hung";
    }
    return {};
}

std::vector<PluginRuleChecks> plugin_rule_checks() {
    std::vector<PluginRuleChecks> all;
    for (const PluginRule& rule : kRules) {
        all.push_back({&rule, {}});
        for (const Check* check : kChecks) {
            if (names_rule(check->rules, rule.id)) all.back().checks.push_back(check->name);
        }
    }
    return all;
}

const PluginRule* find_plugin_rule(std::string_view id) {
    return rule_named(with_case(id, std::toupper));
}

std::vector<const PluginRule*> near_plugin_rules(std::string_view text) {
    constexpr std::size_t kShortestWord = 4;
    const std::string id = with_case(text, std::toupper);
    const std::string word = with_case(text, std::tolower);
    std::vector<const PluginRule*> near;
    for (const PluginRule& rule : kRules) {
        if (is_one_change_away(id, rule.id) ||
            (word.size() >= kShortestWord && rule.title.find(word) != std::string_view::npos)) {
            near.push_back(&rule);
        }
    }
    return near;
}

PluginExamination examine_plugin(const PluginFile& file, const PluginExaminationOptions& options) {
    return Examination(file, options).run();
}

}  // namespace narratoria::command::plugin_check
