// SPDX-License-Identifier: Apache-2.0
#include "session/session.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/environment.hpp"
#include "base/hash.hpp"
#include "base/json/tape.hpp"
#include "session/plugin_setup.hpp"

namespace narratoria::session {
namespace {

plugin::StoryInfo story_info(const SessionSettings& settings) {
    return settings.story ? plugin::StoryInfo{settings.story->folder, settings.story->title,
                                              settings.story->opening, settings.story->language}
                          : plugin::StoryInfo();
}

std::string tools_folder(const SessionSettings& settings) {
    return settings.story ? settings.story->folder + "/tools" : std::string();
}

}  // namespace

Session::Session(Dependencies dependencies, SessionSettings settings)
    : with_(std::move(dependencies)),
      settings_(std::move(settings)),
      folder_(settings_.story ? settings_.story->folder : with_.engine.settings().root),
      narrator_(with_.engine),
      stream_(settings_.id, with_.engine.callback_depth()),
      assets_(with_.engine.settings().root),
      registry_(tools_folder(settings_)),
      resolver_(registry_, runners_, tools_folder(settings_)),
      dispatcher_(*this, story_info(settings_), {registry_, runners_, *with_.processes}),
      presentation_(dispatcher_, assets_, stream_, loop(), settings_.times.try_ms),
      environment_(with_.engine.settings().environment),
      random_(settings_.seed != 0 ? settings_.seed : hash_text(settings_.id, hash_seed())),
      tool_random_(Random(random_).next()),
      offered_(first_choices()) {
    stream_.set_default_watcher(host_sinks_);
    if (!with_.engine.settings().allow_paths.empty()) {
        resolver_.restrict_to(with_.engine.settings().allow_paths,
                              with_.engine.settings().allow_schemes);
    }
    if (settings_.story) {
        if (!settings_.story->allow_paths.empty()) {
            resolver_.restrict_to(settings_.story->allow_paths, settings_.story->allow_schemes,
                                  settings_.story->folder);
        }
        for (const auto& [name, value] : settings_.story->environment) {
            set_variable(environment_, name + "=" + value);
        }
    }
    if (with_.journal) restore_from_journal();
    try {
        with_.add_runners(runners_, with_.processes, with_.engine.http(), dispatcher_);
        // Add them before the plugins, so that a plugin's tool cannot take a name of the project.
        if (settings_.project) {
            for (const auto& tool : settings_.project->tools) registry_.add(tool);
        }
        load_plugins(settings_, with_.engine, dispatcher_);
        // A replay asks no narrator, and plugins are not loaded for it.
        const auto narrator =
            replays() ? std::nullopt : choose_narrator(settings_, dispatcher_, narrator_fault_);
        if (narrator) {
            narrator_.set_narrator(*narrator);
            if (!settings_.narrator && settings_.story) {
                built_in_ = find_built_in(narrator_name(*settings_.story));
            }
        }
        dispatcher_.attach_sinks(stream_);
        if (settings_.watches_story && settings_.story && !replays()) watch_story();
    } catch (...) {
        // Close it before the members that it uses are destroyed.
        if (with_.journal) with_.journal->close();
        throw;
    }
}

std::string Session::first_choices() const {
    json::Document opening;
    json::ParseError error;
    if (!settings_.story || !opening.parse(settings_.story->opening, error)) return "[]";
    const json::Value choices = opening.root().find("choices");
    return std::string(choices ? choices.raw() : "[]");
}

const nar_host* Session::extend(plugin::OwnExtension own, std::string& reason) {
    const plugin::Instance* instance = dispatcher_.extend(std::move(own), reason);
    if (instance == nullptr) return nullptr;
    if (const auto narrator = dispatcher_.narrator(*instance)) {
        narrator_.set_narrator(*narrator);
        built_in_ = nullptr;
        narrator_fault_.clear();
    }
    return instance->host();
}

Session::~Session() {
    destroying_ = true;
    with_.runner_settings->grace_ms = 0;
    request_cancel();
    try {
        apply_cancel();
        while (with_.journal && with_.journal->finish_end()) apply_cancel();
    } catch (const std::bad_alloc&) {
        // Out of memory: the handlers are not called. The members end the running job.
    }
    if (with_.journal) with_.journal->close();
    // Deferred callbacks check this flag, because the loop outlives the session.
    lifetime_.end();
    if (output_ != nullptr && with_.engine.settings().output_mode == NAR_OUTPUT_KEEP) {
        const std::vector<asset::Asset>& assets = assets_.assets();
        if (std::any_of(assets.begin(), assets.end(),
                        [&](const auto& asset) { return output_->holds(asset.path); })) {
            output_->keep();
        }
    }
    // Sinks may read the state and the assets, so they are detached before those are destroyed.
    stream_.detach_all();
    // Formatters may be code of plugins, which end with this object's members.
    metadata_.clear();
    if (settings_.narrator && settings_.narrator->released) {
        with_.engine.call_host([&] { settings_.narrator->released(settings_.narrator->user); });
    }
}

// ---- faults of the host's sinks

void Session::HostSinks::on_sink_threw(const char* what) noexcept {
    session_.with_.engine.note_thrown("an event sink of the host (now detached)", what);
}

void Session::HostSinks::on_sink_modified_record() noexcept {
    try {
        session_.log(NAR_LOG_ERROR,
                     "an event sink of the host wrote to a record and is now detached; the later "
                     "sinks received the original record; copy a record before you change it");
    } catch (...) {
        // Out of memory; the sink is detached anyway.
    }
}

void Session::warn(std::string_view code, std::string_view message) {
    if (destroying_) return;
    // Deferred, because a plugin may warn while the stream is publishing an event to it.
    loop().defer(
        [this, life = lifetime_.watch(), code = std::string(code), message = std::string(message)] {
            if (!life.ended()) stream_.warn({}, code, message);
        });
}

void Session::withhold_variable(std::string_view name) {
    narratoria::withhold_variable(name);
    std::erase_if(environment_, [](const std::string& variable) { return is_withheld(variable); });
}

}  // namespace narratoria::session
