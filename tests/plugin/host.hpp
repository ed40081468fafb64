// SPDX-License-Identifier: Apache-2.0
#pragma once
// A host of plugins: a folder, an engine, a session, its log and a record of its stream.

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "conformance/folder.hpp"
#include "conformance/stage.hpp"
#include "narratoria/event_sink.h"
#include "support/sized.hpp"

namespace narratoria::test {

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

template <class Functions>
const Functions* service(const nar_host* host, const char* id) {
    return static_cast<const Functions*>(host->get_extension(host, detail::to_c(id)));
}

// For extensions that only need a nar_host.
inline const nar_event_sink_extension* idle_sink() {
    static const nar_event_sink_extension sink = [] {
        auto made = sized<nar_event_sink_extension>();
        made.event = [](void*, const nar_event*) {};
        return made;
    }();
    return &sink;
}

class PluginHost {
public:
    void open_engine(EngineOptions options = {}) {
        options.root = folder.path();
        options.log = [this](const LogLine& line) { log += std::string(line.message) + "\n"; };
        engine.emplace(options);
    }
    void open_session(const SessionOptions& options = {}) {
        session.emplace(*engine, options);
        recorder_number = session->attach(std::ref(recorder));
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
        engine->run_until_idle();
        return result.value();
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
        engine->run_until_idle();
        return told.value();
    }

    Folder folder;
    std::string log;
    std::optional<Engine> engine;
    Recorder recorder;
    uint64_t recorder_number = 0;
    std::optional<Session> session;
};

// Ends the session before the members of a fixture that it calls.
class PluginHostTest : public ::testing::Test, protected PluginHost {
protected:
    void TearDown() override { close(); }
};

}  // namespace narratoria::test
