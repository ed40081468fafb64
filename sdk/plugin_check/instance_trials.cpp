// SPDX-License-Identifier: Apache-2.0
// Trials of an instance, its use and its end, with hosts and data of several kinds.
#include <fmt/core.h>

#include "plugin_check/fake_host.hpp"
#include "plugin_check/leak_check.hpp"
#include "plugin_check/trials.hpp"

namespace narratoria::command::plugin_check {

void try_life(TrialReport& report, const std::string& path, const std::string& settings) {
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    CallTimes times;
    for (unsigned round = 0; round < 3; ++round) {
        PluginCheckHostOptions options;
        options.settings = settings;
        PluginCheckHost host(report, times, options);
        PluginInstance instance(host, *plugin);
        const ProcessSnapshot before;
        if (!instance.start()) {
            // P9 reports a refusal without a reason, P24 an exception.
            if (!report.has_finding("P9") && !report.has_finding("P24")) {
                report.add_finding("P17", fmt::format("init failed with the settings {}: {}",
                                                      settings, instance.refusal()));
            }
            report.add_covered("P9");
            before.report_leaks(report);
            return;
        }
        host.run_loop(0.02, [] { return false; });
        before.report_state_changes(report, "P27", "after init");
        instance.end();
        before.report_state_changes(report, "P27", "after deinit");
        before.report_leaks(report);
        times.judge(report);
        if (report.has_finding("P19")) break;  // repeating a slow deinit finds nothing new
    }
    cover(report, {"P9", "P17", "P18", "P19", "P20", "P27", "P28", "P42", "P43", "P45", "P46"});
}

void try_extension(TrialReport& report, const std::string& path, const std::string& settings,
                   const ExerciseOptions& exercise) {
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    // Without the extension, its rules stay skipped.
    if (plugin == nullptr) return;
    report.begin_call({}, "get_extension for " + exercise.only);
    const bool is_offered = extension_of<void>(*plugin, exercise.only) != nullptr;
    report.end_call();
    if (!is_offered) return;
    CallTimes times;
    PluginCheckHostOptions options;
    options.settings = settings;
    PluginCheckHost host(report, times, options);
    PluginInstance instance(host, *plugin);
    const ProcessSnapshot before;
    if (!instance.start()) return;
    instance.exercise(exercise);
    host.judge_use();
    before.report_state_changes(report, "P27", fmt::format("after {} was used", exercise.only));
    instance.end();
    before.report_state_changes(report, "P27", "after deinit");
    before.report_leaks(report);
    times.judge(report);
    cover(report, {"P19", "P20", "P22", "P23", "P24", "P25", "P26", "P27", "P28", "P34", "P42",
                   "P43", "P44", "P45", "P46"});
    if (exercise.only == NAR_EXTENSION_NARRATOR) {
        cover(report, {"P35", "P36", "P38"});
        const auto* narrator =
            extension_of<nar_narrator_extension>(*plugin, NAR_EXTENSION_NARRATOR);
        if (narrator != nullptr && narrator->cancel != nullptr) {
            cover(report, {"P37"});
        } else {
            report.add_skipped("P37", "its cancel is NULL");
        }
    }
    if (exercise.only == NAR_EXTENSION_ASSET_RENDERER) cover(report, {"P48"});
    if (exercise.only == NAR_EXTENSION_TOOL_RUNNER || exercise.only == NAR_EXTENSION_TOOL) {
        cover(report, {"P39", "P40"});
    }
}

void try_again(TrialReport& report, const std::string& path, const PluginCheckHostOptions& options,
               const ExerciseOptions& exercise, std::initializer_list<std::string_view> rules) {
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    CallTimes times;
    PluginCheckHost host(report, times, options);
    PluginInstance instance(host, *plugin);
    if (instance.start()) {
        instance.exercise(exercise);
        instance.end();
    }
    cover(report, rules);
}

void try_odd_settings(TrialReport& report, const std::string& path, std::uint64_t seed) {
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    CallTimes times;
    for (unsigned number = 0; number < kOddTexts; ++number) {
        PluginCheckHostOptions options;
        options.settings = odd_text(seed, number);
        options.blame = {"P33", "P33", "P33"};
        options.gives_odd_data = true;
        PluginCheckHost host(report, times, options);
        PluginInstance instance(host, *plugin);
        if (instance.start()) instance.end();
    }
    cover(report, {"P33"});
}

void try_exit(TrialReport& report, const std::string& path, const std::string& settings,
              const ExerciseOptions* exercise) {
    const Library library = load_library(report, path);
    const nar_plugin* plugin = enter(report, library);
    if (plugin == nullptr) return;
    CallTimes times;
    {
        PluginCheckHostOptions options;
        options.settings = settings;
        PluginCheckHost host(report, times, options);
        PluginInstance instance(host, *plugin);
        if (!instance.start()) return;
        if (exercise != nullptr) instance.exercise(*exercise);
        else host.run_loop(0.001, [] { return false; });
        instance.end();
    }
    cover(report, {"P47"});
    report.begin_call({"P47", "P47", "P47"}, "the end of the process");
    report.finish_as_a_host();
}

}  // namespace narratoria::command::plugin_check
