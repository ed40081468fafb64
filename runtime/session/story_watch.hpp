// SPDX-License-Identifier: Apache-2.0
#pragma once
// Watches the files of a story.

#include <functional>
#include <string>
#include <utility>

#include "base/folder_watch.hpp"
#include "base/loop.hpp"

namespace narratoria::session {

// Calls back when story.toml, prompts.json, state.schema.json, a script or a tool's manifest has
// changed and no further change has followed for 50 ms: editors rename, truncate and write, and
// leave backup files. Engine thread only; the loop must outlive it.
class StoryWatch {
public:
    StoryWatch(Loop& loop, std::string folder, std::function<void()> on_change)
        : folder_(std::move(folder)),
          on_change_(std::move(on_change)),
          story_(loop),
          tools_(loop),
          script_(loop),
          settles_(loop) {}

    // Returns why the story cannot be watched, or an empty text.
    std::string start();
    // True if a file has changed less than 50 ms ago, or since the loop last ran.
    bool is_settling() const { return settles_.running(); }
    // Drops the pending callback: the owner has read the story.
    void settle() { settles_.stop(); }
    // Names the script that narrates the story, which may be in a subfolder.
    void set_script(const std::string& name);

private:
    void on_change(bool is_of_story);

    const std::string folder_;
    std::string script_folder_;  // absolute; empty: the story's folder
    const std::function<void()> on_change_;
    FolderWatch story_;
    FolderWatch tools_;
    FolderWatch script_;
    Timer settles_;
};

}  // namespace narratoria::session
