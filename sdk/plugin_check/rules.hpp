// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rules for plugins (docs/plugin-rules.md), and the verdicts on one plugin.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin_check/library_file.hpp"

namespace narratoria::command::plugin_check {

struct PluginRule {
    std::string_view id;      // never reused for a different rule
    std::string_view title;   // the behaviour of a conforming plugin
    std::string_view advice;  // how to fix a finding
};

enum class PluginVerdict { Passed, Warning, Skipped, Failed, Crashed, Hung };

std::string_view verdict_name(PluginVerdict verdict);

struct PluginJudgement {
    const PluginRule* rule;
    PluginVerdict verdict = PluginVerdict::Skipped;
    std::string why;  // the reason for Skipped, or a note on Passed
    std::vector<std::string> findings;
};

struct PluginExaminationOptions {
    double time_limit = 5;  // seconds for each call, and for each later reply
    std::string settings = "{}";
    std::uint64_t seed = 1;         // of the odd data
    double total = 120;             // seconds for all trials
    std::vector<std::string> only;  // the ids of rules; empty: all
    // Called when a trial begins and while it runs, with its rules. May be empty.
    std::function<void(std::string_view rules)> on_progress;
};

struct PluginExamination {
    // All rules, in order. With `only`: the selected rules and all broken ones.
    std::vector<PluginJudgement> judgements;
    std::string output;  // the last output of the first trial that did not finish
};

struct PluginRuleChecks {
    const PluginRule* rule;
    std::vector<std::string_view> checks;  // the names of the checks that can find it broken
};
std::vector<PluginRuleChecks> plugin_rule_checks();

// NULL if the rule is unknown. Ignores case.
const PluginRule* find_plugin_rule(std::string_view id);

// Suggestions for a mistyped rule: ids that differ in one character, or titles that contain `text`.
std::vector<const PluginRule*> near_plugin_rules(std::string_view text);

// Throws Interrupted.
PluginExamination examine_plugin(const PluginFile& file, const PluginExaminationOptions& options);

}  // namespace narratoria::command::plugin_check
