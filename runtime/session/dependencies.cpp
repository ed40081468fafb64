// SPDX-License-Identifier: Apache-2.0
#include "session/dependencies.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "base/json/tape.hpp"
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

// A story may have moved, so only the name of its folder is compared.
std::string_view name_of(std::string_view folder) { return folder.substr(folder.rfind('/') + 1); }

void warn_of_other_story(engine::Engine& engine, const SessionSettings& settings,
                         const std::string& previous_about) {
    json::Document document;
    json::ParseError fault;
    if (!settings.story || !document.parse(previous_about, fault)) return;
    const json::Value value = document.root().find("story");
    const std::string previous(value.is_string() ? value.text() : std::string_view());
    const std::string& now = settings.story->folder;
    if (previous.empty() || name_of(previous) == name_of(now)) return;
    engine.log(NAR_LOG_WARN,
               "the session " + json::quoted(settings.id) + " was last played with the story " +
                   json::quoted(previous) + " and continues with the story " + json::quoted(now),
               settings.id);
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
        warn_of_other_story(engine, settings, journal->previous_about());
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
