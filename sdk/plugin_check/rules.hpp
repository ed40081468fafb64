// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rules of a plugin (docs/plugin-rules.md), and what trials of one say about them.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin_check/library_file.hpp"

namespace narratoria::command::plugin_check {

struct PluginRule {
    std::string_view id;      // never given to another rule
    std::string_view title;   // what a good plugin does
    std::string_view advice;  // what to do about a finding
};

enum class PluginVerdict { Passed, Warning, Skipped, Failed, Crashed, Hung };

std::string_view shown(PluginVerdict verdict);

struct PluginJudgement {
    const PluginRule* rule;
    PluginVerdict verdict = PluginVerdict::Skipped;
    std::string why;  // it was skipped, or what there is to know though it passed
    std::vector<std::string> findings;
};

struct PluginExaminationOptions {
    double time_limit = 5;  // seconds for each call, and for what is answered later
    std::string settings = "{}";
    std::uint64_t seed = 1;         // of the odd data
    double total = 120;             // seconds for all trials
    std::vector<std::string> only;  // the ids of rules; empty: all
    // Called when a trial begins and while it runs, with its rules. May be empty.
    std::function<void(std::string_view rules)> is_alive;
};

struct PluginExamination {
    // Every rule, in order; with `only` those, and every other one that is broken.
    std::vector<PluginJudgement> judgements;
    std::string output;  // the end of what it wrote when it did not come back
};

struct PluginRuleChecks {
    const PluginRule* rule;
    std::vector<std::string_view> checks;  // what is done with a plugin to test the rule
};
std::vector<PluginRuleChecks> plugin_rule_checks();

// NULL: there is no such rule. Upper and lower case are the same.
const PluginRule* find_plugin_rule(std::string_view id);

// Rules that somebody may have meant who wrote this: one character away, or it is in their title.
std::vector<const PluginRule*> near_plugin_rules(std::string_view text);

// Throws Interrupted.
PluginExamination examine_plugin(const PluginFile& file, const PluginExaminationOptions& options);

}  // namespace narratoria::command::plugin_check
