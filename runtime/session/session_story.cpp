// SPDX-License-Identifier: Apache-2.0
// The story's files during a session: what it takes from them when they change.
#include <utility>

#include "base/json/writer.hpp"
#include "session/session.hpp"

namespace narratoria::session {

void Session::watch_story() {
    story_watch_.emplace(loop(), settings_.story->folder, [this] {
        must_reload_ = true;
        begin_soon();
    });
    const std::string why = story_watch_->start();
    if (!why.empty()) {
        log(NAR_LOG_WARN,
            "the story's files cannot be watched, so their changes take effect in a new session: " +
                why,
            "STORY_NOT_WATCHED");
    }
    if (built_in_ != nullptr) story_watch_->set_script(narrator_name(*settings_.story));
}

void Session::reload_story(bool is_settled) {
    must_reload_ = false;
    Faults faults;
    std::optional<Story> story = load_story(settings_.story->folder, faults);
    if (story) take_story(std::move(*story), faults);
    if (!is_settled && !faults.empty()) return;
    if (story_watch_) story_watch_->settle();
    const Story& current = *settings_.story;
    std::string body;
    json::ObjectWriter writer(body);
    writer.string("title", current.title);
    if (!current.opening.empty()) writer.raw("opening", current.opening);
    writer.key("faults");
    append_faults(body, faults, "");
    writer.end();
    stream_.publish(event::Kind::StoryReloaded, {}, body);
}

void Session::take_story(Story story, Faults& faults) {
    Story& current = *settings_.story;
    if (built_in_ != nullptr) {
        // Only a new session loads a plugin as narrator.
        if (find_built_in(narrator_name(story)) == nullptr) story.narrator = current.narrator;
        const std::string& name = narrator_name(story);
        // A session may begin without prompts.json, but a story that had one has lost it.
        const bool needs_prompts =
            narrator_name(current) != kTemplateNarrator || !current.prompts_text.empty();
        if (name == kTemplateNarrator && story.prompts_text.empty() && needs_prompts) {
            faults.push_back(missing_prompts(story));
            return;
        }
        const BuiltInNarrator* const next = find_built_in(name);
        std::string text;
        if (is_script(name) && read_script(story, name, text, faults) == nullptr) return;
        const plugin::Instance* const instance =
            dispatcher_.replace(built_in_->library(), next->library(), next->settings(story, name));
        if (instance == nullptr) {
            faults.push_back({"story-script", "", 0,
                              "the script exceeds a limit of this session; a new session reads the "
                              "limits of story.toml",
                              name, 1, 1});
            return;
        }
        narrator_.set_narrator(*dispatcher_.narrator(*instance));
        built_in_ = next;
        current.narrator = story.narrator;
        current.prompts_text = std::move(story.prompts_text);
        if (story_watch_) story_watch_->set_script(name);
    }
    current.title = std::move(story.title);
    current.opening = std::move(story.opening);
    current.fallback_templates = std::move(story.fallback_templates);
    dispatcher_.set_story(current.title, current.opening);
}

}  // namespace narratoria::session
