// SPDX-License-Identifier: Apache-2.0
#include "session/plugin_setup.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "base/json/tape.hpp"
#include "base/json/writer.hpp"
#include "base/near_name.hpp"
#include "base/strict_keys.hpp"
#include "session/built_in_narrators.hpp"
#include "state/tree.hpp"

namespace narratoria::session {
namespace {

// Merges `above` over `below`; an empty text counts as {}. A value in `above` wins.
void merge_json(std::string& below, std::string_view above) {
    state::Tree tree;
    for (const std::string_view text : {std::string_view(below), above}) {
        json::Document document;
        json::ParseError error;
        if (document.parse(text, error)) tree.merge(document.root());
    }
    below.clear();
    tree.append_json(below);
}

}  // namespace

void add_wishes(const Story& story, bool with_narrator, plugin::Wishes& wishes) {
    wishes.story_folder = story.folder;
    wishes.built_in_narrator = kTemplateNarrator;
    for (const auto& [id, json] : story.plugins) wishes.named.push_back(id);
    if (with_narrator && find_built_in(story.narrator) == nullptr) {
        wishes.narrator = story.narrator;
    }
}

void load_plugins(const SessionSettings& settings, engine::Engine& engine,
                  plugin::Dispatcher& dispatcher) {
    if (settings.without_plugins) return;
    plugin::Wishes wishes;
    wishes.listed = settings.plugins;
    wishes.built_in_narrator = kTemplateNarrator;
    std::map<std::string, std::string> own_settings;
    if (settings.story) {
        // If the host chooses a narrator, the story's narrator need not be installed.
        const bool has_other = settings.narrator || !settings.narrator_id.empty();
        add_wishes(*settings.story, !has_other, wishes);
        own_settings = settings.story->plugins;
    }
    if (!settings.narrator && !settings.narrator_id.empty() &&
        find_built_in(settings.narrator_id) == nullptr) {
        wishes.listed.push_back(settings.narrator_id);
        wishes.listed_narrator = settings.narrator_id;
    }
    // The host's settings win over the story's.
    for (const auto& [id, json] : settings.plugin_settings) merge_json(own_settings[id], json);
    // The search reads folders; skip it if nothing was requested.
    if (!wishes.listed.empty() || !wishes.story_folder.empty()) {
        dispatcher.load(
            plugin::search(wishes, plugin::places(wishes.story_folder), plugin::safe_mode()),
            own_settings);
    }
    for (const auto& [id, json] : settings.plugin_settings) {
        const std::vector<std::string_view> known = dispatcher.known_ids();
        if (std::find(known.begin(), known.end(), id) != known.end()) continue;
        const std::string meant = did_you_mean(near_name(id, known));
        engine.log(NAR_LOG_WARN, "plugin_settings has settings for " + json::quoted(id) +
                                     ", but no plugin with that id was requested" +
                                     (meant.empty() ? "; list it in plugins" : meant));
    }
}

std::optional<nar_narrator> choose_narrator(const SessionSettings& settings,
                                            plugin::Dispatcher& dispatcher, std::string& fault) {
    if (settings.narrator) return settings.narrator;
    std::string id = settings.narrator_id;
    if (id.empty() && settings.story) id = settings.story->narrator;
    if (id.empty()) return std::nullopt;
    std::string plugin = id;
    const BuiltInNarrator* const built_in = find_built_in(id);
    if (built_in != nullptr) {
        if (!settings.story) {
            fault = "the narrator " + json::quoted(id) + " answers from a story's " +
                    std::string(built_in->file) + "; name a story as well";
            return std::nullopt;
        }
        dispatcher.add(built_in->library(), "", built_in->settings(*settings.story, id));
        plugin = built_in->id;
    }
    const std::optional<nar_narrator> narrator = dispatcher.narrator(plugin);
    if (narrator) return narrator;
    const std::string reason = dispatcher.why_not(plugin);
    fault = (settings.narrator_id.empty() ? "the narrator of story.toml, \"" : "the narrator \"") +
            id +
            (settings.narrator_id.empty() ? "\", is not available: " : "\" is not available: ") +
            (settings.without_plugins ? "plugins are switched off"
             : reason.empty()         ? "the plugin with that id is not a narrator"
                                      : reason);
    if (built_in == nullptr) {
        fault += " (" + list_built_in() +
                 "; narratoria plugin list --explain shows the searched folders)";
    }
    return std::nullopt;
}

}  // namespace narratoria::session
