// SPDX-License-Identifier: Apache-2.0
#include "session/dependencies.hpp"

#include <utility>

#include "base/json/writer.hpp"
#include "journal/listing.hpp"
#include "session/runners.hpp"

namespace narratoria::session {

namespace {

std::string about(const SessionSettings& settings) {
    std::string out;
    json::ObjectWriter writer(out);
    writer.string("story", settings.story ? settings.story->folder : "");
    writer.string("project", settings.project ? settings.project->root : "");
    writer.end();
    return out;
}

}  // namespace

Dependencies make_dependencies(engine::Engine& engine, const SessionSettings& settings,
                               std::string_view state) {
    std::unique_ptr<journal::Journal> journal;
    std::unique_ptr<journal::StoreFile> replayed;
    if (settings.replays) {
        replayed = std::make_unique<journal::StoreFile>(settings.store,
                                                        journal::Connection::Access::ReadOnly);
        if (!replayed->session(settings.id)) {
            throw journal::TurnError(
                "SESSION", journal::missing_session(*replayed, settings.store, settings.id));
        }
    } else if (!settings.store.empty()) {
        journal = std::make_unique<journal::Journal>(
            engine.loop(), engine.store_writer(),
            journal::Journal::Options{settings.store, settings.id, about(settings),
                                      settings.waits_for_store, settings.must_be_new},
            state);
    }
    auto runner_settings = std::make_unique<tool::RunnerSettings>(
        tool::RunnerSettings{engine.settings().root, settings.times.grace_ms});
    auto processes = std::make_shared<tool::ProcessRunner>(engine.pool(), *runner_settings);
    return {engine,
            std::make_unique<state::Store>(
                settings.limits.history_patches,
                state::SizeLimits{settings.limits.patch_bytes, settings.limits.state_bytes}),
            std::move(journal),
            std::move(replayed),
            std::move(runner_settings),
            std::move(processes),
            add_runners};
}

}  // namespace narratoria::session
