// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rules of a plugin (docs/plugin-rules.md), and what trials of one say about them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugin_check/library_file.hpp"

namespace narratoria::command {

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
    std::uint64_t seed = 1;  // of the odd data
};

struct PluginExamination {
    std::vector<PluginJudgement> judgements;  // every rule, in order
    std::string output;                       // the end of what it wrote when it did not come back
};

// Throws Interrupted.
PluginExamination examine_plugin(const PluginFile& file, const PluginExaminationOptions& options);

}  // namespace narratoria::command
