// SPDX-License-Identifier: Apache-2.0
#include "session/story_watch.hpp"

#include <cstring>
#include <utility>

#include "session/prompts.hpp"
#include "session/state_check.hpp"
#include "session/story.hpp"
#include "session/story_toml.hpp"
#include "tool/manifest.hpp"

namespace narratoria::session {
namespace {

constexpr uint64_t kSettleMs = 50;
constexpr std::string_view kTools = "tools";

}  // namespace

std::string StoryWatch::start() {
    const int failure = story_.start(folder_, [this](std::string_view name) {
        on_change(name == kStoryToml || name == kPromptsJson || name == kStateSchema ||
                  name == kTools || is_script(name));
    });
    // Both folders may be missing. If they appear later, on_change() finds them.
    tools_.start(folder_ + "/" + std::string(kTools), [this](std::string_view name) {
        on_change(name.ends_with(tool::kManifestEnding));
    });
    if (!script_folder_.empty()) {
        script_.start(script_folder_,
                      [this](std::string_view name) { on_change(is_script(name)); });
    }
    return failure == 0 ? std::string() : std::strerror(failure);
}

void StoryWatch::set_script(const std::string& name) {
    const size_t slash = name.rfind('/');
    const std::string before = std::exchange(
        script_folder_,
        slash == std::string::npos ? std::string() : folder_ + "/" + name.substr(0, slash));
    if (script_folder_ != before) start();
}

void StoryWatch::on_change(bool is_of_story) {
    if (!is_of_story) return;
    settles_.start(kSettleMs, [this] {
        // Start again before the files are read: a folder may be a new one with the same name.
        start();
        on_change_();
    });
}

}  // namespace narratoria::session
