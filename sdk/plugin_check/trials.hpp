// SPDX-License-Identifier: Apache-2.0
#pragma once
// The trials of a plugin. Each function runs in its own process (run_trial) and reports the rules
// that it covers and its findings.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugin_check/child.hpp"
#include "plugin_check/exercise.hpp"
#include "plugin_check/library_file.hpp"
#include "plugin_check/loading.hpp"

namespace narratoria::command::plugin_check {

// All plugin extensions of this ABI.
inline constexpr std::string_view kKnownExtensions[] = {
    NAR_EXTENSION_EVENT_SINK, NAR_EXTENSION_UI_HANDLER,  NAR_EXTENSION_ASSET_RENDERER,
    NAR_EXTENSION_NARRATOR,   NAR_EXTENSION_TOOL_RUNNER, NAR_EXTENSION_TOOL};

// "a, b, and 3 more"
std::string joined(const std::vector<std::string>& names);

void cover(TrialReport& report, std::initializer_list<std::string_view> rules);

void try_loading(TrialReport& report, const std::string& path);

// Calls the entry as a host of this version, of other majors, and of a different minor.
void try_entry(TrialReport& report, const std::string& path);
void try_other_major(TrialReport& report, const std::string& path);
void try_other_minor(TrialReport& report, const std::string& path, std::uint32_t minor);

// Checks nar_plugin, the structs of its extensions, and get_extension.
void try_description(TrialReport& report, const std::string& path, const PluginMetadata& metadata);
void try_unterminated_ids(TrialReport& report, const std::string& path);

// Creates and destroys instances one after another, without using them.
void try_life(TrialReport& report, const std::string& path, const std::string& settings);
void try_odd_settings(TrialReport& report, const std::string& path, std::uint64_t seed);

// Creates a session of the runtime with the plugin, and ends it.
void try_session(TrialReport& report, const std::string& path, const PluginMetadata& metadata,
                 const std::string& settings, const std::string& folder);

// Uses one extension as sessions do.
void try_extension(TrialReport& report, const std::string& path, const std::string& settings,
                   const ExerciseOptions& exercise);

// Uses all extensions with a different host or different data. Judges only that the plugin returns.
void try_again(TrialReport& report, const std::string& path, const PluginCheckHostOptions& options,
               const ExerciseOptions& exercise, std::initializer_list<std::string_view> rules);

// Uses three instances, two of which exist at a time.
void try_interleaving(TrialReport& report, const std::string& path, const std::string& settings,
                      const ExerciseOptions& exercise);

// Creates an instance, uses it unless `exercise` is NULL, and ends it, then exits the process as a
// host does. Does not return.
void try_exit(TrialReport& report, const std::string& path, const std::string& settings,
              const ExerciseOptions* exercise);

}  // namespace narratoria::command::plugin_check
