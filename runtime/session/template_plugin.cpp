// SPDX-License-Identifier: Apache-2.0
// The template narrator as a plugin.
#include <stdexcept>

#include "base/json/writer.hpp"
#include "base/view.hpp"
#include "narratoria/host_session.h"
#include "narratoria/narrator.h"
#include "plugin/host_functions.hpp"
#include "plugin/session_access.hpp"
#include "session/session.hpp"
#include "session/template_narrator.hpp"

namespace narratoria::session {
namespace {

struct TemplatePlugin {
    const nar_host* host;
    const nar_host_narrator* answers;
    const nar_host_state* state;
    TemplateNarrator narrator;
};

nar_status plugin_init(const nar_host* host, void** instance, nar_failure*) {
    auto extension = [&](std::string_view id) { return host->get_extension(host, view(id)); };
    const auto* config = static_cast<const nar_host_config*>(extension(NAR_HOST_CONFIG));
    json::Document settings;
    json::ParseError error;
    auto prompts = std::make_shared<const Prompts>();
    if (settings.parse(view(config->settings(host)), error)) {
        if (const json::Value text = settings.root().find("prompts")) {
            // Faults are ignored: load_story() has validated the text.
            Faults faults;
            prompts = read_prompts(text.text(), faults);
        }
    }
    *instance = new TemplatePlugin{
        host, static_cast<const nar_host_narrator*>(extension(NAR_EXTENSION_NARRATOR)),
        static_cast<const nar_host_state*>(extension(NAR_HOST_STATE)),
        TemplateNarrator(std::move(prompts))};
    return NAR_OK;
}

void plugin_deinit(void* instance) { delete static_cast<TemplatePlugin*>(instance); }

void plugin_generate(void* instance, const nar_narrator_request* request) {
    const auto& self = *static_cast<const TemplatePlugin*>(instance);
    json::Document document;
    json::ParseError error;
    plugin::SessionAccess& session = plugin::session_of(self.host);
    // Asked again, it would answer the same.
    const auto fail = [&](std::string why) { session.give_up(request->token, std::move(why)); };
    if (!document.parse(view(request->json), error, json::kDepthOfOwn)) return fail(error.message);
    const TemplateNarrator::Reply reply =
        self.narrator.answer(document.root(), Session::of(session).state().tree());
    if (!reply.fault.empty()) return fail(reply.fault);
    // A text must not tell what has not become true. The session logs the reason.
    if (!reply.patch.empty() && self.state->patch(self.host, view(reply.patch)) != NAR_OK) {
        return fail("the state refuses what the answer sets");
    }
    self.answers->reply(self.host, request->token, view(reply.plan));
}

const void* plugin_extension(nar_str id) {
    static constexpr nar_narrator_extension narrator{sizeof(nar_narrator_extension), 0,
                                                     plugin_generate, nullptr};
    return view(id) == NAR_EXTENSION_NARRATOR ? &narrator : nullptr;
}

}  // namespace

const plugin::Library& template_narrator_library() {
    static const plugin::Library library = [] {
        static constexpr nar_str extensions[] = {NAR_STR_INIT(NAR_EXTENSION_NARRATOR)};
        static constexpr nar_plugin description{sizeof(nar_plugin),
                                                NAR_ABI_VERSION,
                                                NAR_STR_INIT("template"),
                                                NAR_STR_INIT("The template narrator"),
                                                NAR_STR_INIT(NARRATORIA_VERSION),
                                                extensions,
                                                1,
                                                plugin_init,
                                                plugin_deinit,
                                                plugin_extension};
        plugin::Library made;
        std::string reason;
        if (!plugin::accept_plugin(&description, nullptr, made, reason)) {
            throw std::logic_error("the template narrator is refused: " + reason);
        }
        return made;
    }();
    return library;
}

std::string template_narrator_settings(std::string_view prompts_text) {
    std::string out;
    json::ObjectWriter settings(out);
    if (!prompts_text.empty()) settings.string("prompts", prompts_text);
    settings.end();
    return out;
}

}  // namespace narratoria::session
