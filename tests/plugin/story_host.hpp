// SPDX-License-Identifier: Apache-2.0
#pragma once
// A host with a story that uses the shipped plugins from the build folder.

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "conformance/folder.hpp"
#include "conformance/stage.hpp"
#include "support/folders.hpp"

namespace narratoria::test {

inline std::string built_plugin(const std::string& name) {
    return test::in_build("lib/narratoria/plugins/") + name + ".so";
}

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

class StoryHost {
public:
    // `toml` is the content of story.toml after its title.
    explicit StoryHost(const std::string& plugin) : plugin_(plugin) {}

    void story(const std::string& toml) {
        folder.write("story.toml", "title = \"Plugins\"\n" + toml + "\n");
        std::filesystem::create_directories(folder / "plugins");
        const std::string link = folder / ("plugins/" + plugin_ + ".so");
        if (!std::filesystem::is_symlink(link)) {
            std::filesystem::create_symlink(built_plugin(plugin_), link);
        }
    }

    void open(SessionOptions options = {}) {
        if (!engine) {
            EngineOptions engine_options;
            engine_options.root = folder.path();
            engine_options.log = [this](const LogLine& line) {
                log += std::string(line.message) + "\n";
            };
            engine.emplace(engine_options);
        }
        options.story = folder.path();
        session.emplace(*engine, options);
        session->attach(std::ref(recorder));
    }
    void close() {
        session.reset();
        engine.reset();
    }

    // Drives the engine until `condition` holds; false after a timeout.
    bool until(const std::function<bool()>& condition) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(300);
        for (;;) {
            engine->run_for(std::chrono::microseconds(0));
            if (condition()) return true;
            if (std::chrono::steady_clock::now() >= deadline) return false;
            const auto next = engine->timeout().value_or(std::chrono::milliseconds(300));
            pollfd ready{engine->descriptor(), POLLIN, 0};
            ::poll(&ready, 1, static_cast<int>(std::clamp<int64_t>(next.count(), 0, 20)));
        }
    }

    Json run(const std::string& plan) {
        std::optional<Json> result;
        session->execute(plan, folder.path(),
                         [&](Result ended) { result.emplace(ended.json().view()); });
        if (!until([&] { return result.has_value(); })) {
            throw std::runtime_error("the plan did not end");
        }
        return *result;
    }
    Json run_path(const std::string& path, std::string_view members = {}) {
        return tool_of(run(plan_of({entry("t", path, members)})), "t");
    }

    struct Told {
        Outcome outcome;
        std::string narrative;
        uint32_t generations;
    };
    Told prompt(const std::string& text) {
        std::optional<Told> told;
        session->prompt(text, [&](Turn turn) {
            told = Told{turn.outcome(), std::string(turn.narrative()), turn.generations()};
        });
        if (!until([&] { return told.has_value(); })) {
            throw std::runtime_error("the turn did not end");
        }
        return *told;
    }

    Folder folder;
    std::string log;
    std::optional<Engine> engine;
    Recorder recorder;
    std::optional<Session> session;

private:
    const std::string plugin_;
};

}  // namespace narratoria::test
