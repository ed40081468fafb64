// SPDX-License-Identifier: Apache-2.0
#pragma once
// A host with a story that uses a shipped plugin from the build folder.

#include <filesystem>
#include <string>

#include "plugin/host.hpp"
#include "support/folders.hpp"

namespace narratoria::test {

inline std::string built_plugin(const std::string& name) {
    return test::in_build("lib/narratoria/plugins/") + name + ".so";
}

class StoryHost : public PluginHost {
public:
    explicit StoryHost(const std::string& plugin) : plugin_(plugin) {}

    // `toml` is the content of story.toml after its title.
    void story(const std::string& toml) {
        folder.write("story.toml", "title = \"Plugins\"\n" + toml + "\n");
        std::filesystem::create_directories(folder / "plugins");
        const std::string link = folder / ("plugins/" + plugin_ + ".so");
        if (!std::filesystem::is_symlink(link)) {
            std::filesystem::create_symlink(built_plugin(plugin_), link);
        }
    }

    void open(SessionOptions options = {}) {
        if (!engine) open_engine();
        options.story = folder.path();
        open_session(options);
    }

private:
    const std::string plugin_;
};

}  // namespace narratoria::test
