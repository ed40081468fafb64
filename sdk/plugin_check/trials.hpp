// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is done with a plugin in one trial each: every function here runs in a process of its own and
// says to the report which rules it looked at, and what it found.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin_check/child.hpp"
#include "plugin_check/exercise.hpp"
#include "plugin_check/library_file.hpp"

namespace narratoria::command::plugin_check {

// The extensions of this contract that plugins offer.
inline constexpr std::string_view kKnownExtensions[] = {
    NAR_EXTENSION_EVENT_SINK, NAR_EXTENSION_UI_HANDLER,  NAR_EXTENSION_ASSET_RENDERER,
    NAR_EXTENSION_NARRATOR,   NAR_EXTENSION_TOOL_RUNNER, NAR_EXTENSION_TOOL};

// "a, b, and 3 more"
std::string joined(const std::vector<std::string>& names);

void cover(TrialReport& report, std::initializer_list<std::string_view> rules);

void try_loading(TrialReport& report, const std::string& path);

// The entry, with a host of today, of other majors, and of another minor.
void try_entry(TrialReport& report, const std::string& path);
void try_other_major(TrialReport& report, const std::string& path);
void try_other_minor(TrialReport& report, const std::string& path, std::uint32_t minor);

// nar_plugin, the structs of its extensions, and get_extension.
void try_description(TrialReport& report, const std::string& path, const PluginMetadata& metadata);
void try_unterminated_ids(TrialReport& report, const std::string& path);

// Init and deinit alone, one instance after the other.
void try_life(TrialReport& report, const std::string& path, const std::string& settings);
void try_odd_settings(TrialReport& report, const std::string& path, std::uint64_t seed);

// One extension, as sessions use it.
void try_extension(TrialReport& report, const std::string& path, const std::string& settings,
                   const ExerciseOptions& exercise);

// All of them with another host or other data; only that it comes back is judged.
void try_again(TrialReport& report, const std::string& path, const PluginCheckHostOptions& options,
               const ExerciseOptions& exercise, std::initializer_list<std::string_view> rules);

// Three instances, of which two are there at a time.
void try_interleaving(TrialReport& report, const std::string& path, const std::string& settings,
                      const ExerciseOptions& exercise);

// An instance, and then the end of the process as a host ends. Does not return.
void try_exit(TrialReport& report, const std::string& path, const std::string& settings);

}  // namespace narratoria::command::plugin_check
