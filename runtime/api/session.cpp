// SPDX-License-Identifier: Apache-2.0
#include "narratoria/session.h"

#include <unistd.h>

#include <cstdlib>

#include "api/barrier.hpp"
#include "api/invalid_document.hpp"
#include "api/options.hpp"
#include "api/store_error.hpp"
#include "api/text.hpp"
#include "base/bytes/utf8.hpp"
#include "base/duplicates.hpp"
#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/uuid.hpp"
#include "session/plugin_setup.hpp"

using namespace narratoria;
using namespace narratoria::api;

namespace {

// Bounds the warnings of duplicate keys in the initial state.
constexpr size_t kMaxStateWarnings = 20;

// Reads the initial state: a JSON object, or empty.
nar_status read_state(nar_str given, json::Document& document, nar_error* error) {
    const std::string_view text = view(given);
    if (text.empty()) return NAR_OK;
    json::ParseError failure;
    Faults faults;
    if (!document.parse(text, failure)) {
        faults.push_back({json::rule_of(failure.kind), "", failure.byte, failure.message, ""});
    } else if (!document.root().is_object()) {
        faults.push_back({"state-object", "", 0,
                          std::string("the state must be a JSON object, not ") +
                              json::type_name(document.root().type()),
                          ""});
    }
    if (!faults.empty()) {
        return invalid_document(error, "STATE", faults, text, "the state is not valid");
    }
    return NAR_OK;
}

// Reads where and how the session is stored.
nar_status read_store_options(const engine::Engine& engine, const nar_session_options& options,
                              session::SessionSettings& settings, nar_error* error) {
    if (options.durability > NAR_DURABILITY_NONE) {
        return refuse_argument(error, "durability must be one of NAR_DURABILITY_…");
    }
    if (has_nul(options.store)) {
        return refuse_argument(error, "the store's path contains a NUL character");
    }
    if (options.replays > 1) return refuse_argument(error, "replays must be 0 or 1");
    if (options.must_be_new > 1) return refuse_argument(error, "must_be_new must be 0 or 1");
    if (options.replays != 0 && options.must_be_new != 0) {
        return refuse_argument(error, "replays and must_be_new are both set; set one");
    }
    if (options.replays != 0 && options.durability == NAR_DURABILITY_NONE) {
        return refuse_argument(error,
                               "replays needs a store; set durability to a value other than "
                               "NAR_DURABILITY_NONE");
    }
    if (options.durability == NAR_DURABILITY_NONE) return NAR_OK;
    settings.waits_for_store = options.durability == NAR_DURABILITY_TURN;
    const std::string& root = engine.settings().root;
    settings.store = view(options.store).empty() ? engine.settings().store : copy(options.store);
    if (!settings.store.empty() && settings.store.front() != '/') {
        settings.store = root + "/" + settings.store;
    }
    settings.replays = options.replays != 0;
    settings.must_be_new = options.must_be_new != 0;
    if (settings.replays && settings.store.empty()) {
        return refuse_argument(error, "replays needs a store; set store");
    }
    settings.without_plugins = settings.without_plugins || settings.replays;
    return NAR_OK;
}

// Overrides the engine's times and limits with the story's.
void take_story(const session::Story& story, engine::Times& times, engine::Limits& limits) {
    auto lay = [](const auto& given, auto& out) {
        if (given) out = static_cast<std::remove_reference_t<decltype(out)>>(*given);
    };
    lay(story.times.try_ms, times.try_ms);
    lay(story.times.plan_ms, times.plan_ms);
    lay(story.times.narrator_ms, times.narrator_ms);
    lay(story.times.prompt_ms, times.prompt_ms);
    lay(story.times.grace_ms, times.grace_ms);
    lay(story.times.narrator_first_ms, times.narrator_first_ms);
    lay(story.times.narrator_between_ms, times.narrator_between_ms);
    tool::apply(story.limits, limits);
#define NARRATORIA_LIMIT(name, type, least, text) \
    if (story.limits.name.value_or(0) != 0) limits.name = *story.limits.name;
    NAR_SESSION_LIMIT_LIST(NARRATORIA_LIMIT)
#undef NARRATORIA_LIMIT
}

nar_status read_plugin_settings(nar_str given, std::map<std::string, std::string>& out,
                                nar_error* error) {
    const std::string_view text = view(given);
    if (text.empty()) return NAR_OK;
    json::Document document;
    json::ParseError failure;
    Faults faults;
    if (!document.parse(text, failure)) {
        faults.push_back({json::rule_of(failure.kind), "", failure.byte, failure.message, ""});
    } else if (!document.root().is_object()) {
        faults.push_back({"plugin-settings-object", "", 0,
                          "plugin_settings must be a JSON object from plugin id to settings", ""});
    } else {
        for (const json::Member member : document.root().members()) {
            const std::string id(member.key);
            if (member.value.is_object()) {
                out[id] = std::string(member.value.raw());
            } else {
                std::string pointer;
                json::append_pointer(pointer, id);
                faults.push_back({"plugin-settings-object", pointer, 0,
                                  "a plugin's settings must be a JSON object, not " +
                                      std::string(json::type_name(member.value.type())),
                                  ""});
            }
        }
    }
    if (faults.empty()) return NAR_OK;
    return invalid_document(error, "PLUGIN_SETTINGS", faults, text,
                            "the plugins' settings are not valid");
}

// Reads the project that the host names, or the one in the story's folder.
nar_status read_project(engine::Engine& engine, const nar_session_options& options,
                        session::SessionSettings& settings, nar_error* error) {
    if (has_nul(options.project)) {
        return refuse_argument(error, "the project's path contains a NUL character");
    }
    std::string folder = copy(options.project);
    if (folder.empty()) {
        if (!settings.story || !tool::project::is_project(settings.story->folder)) return NAR_OK;
        folder = settings.story->folder;
    }
    Faults faults;
    settings.project = tool::project::load(
        folder, tool::project::surroundings(engine.settings().environment), faults);
    if (!settings.project) {
        return invalid_document(error, "PROJECT", faults, "",
                                ("the project " + json::quoted(folder) + " is not valid").c_str());
    }
    for (const Fault& warning : faults) {
        engine.log(NAR_LOG_WARN, "the project " + folder + ": " + describe_faults({warning}, ""),
                   settings.id);
    }
    return NAR_OK;
}

}  // namespace

extern "C" {

nar_status nar_session_create(nar_engine* engine, const nar_session_options* given,
                              nar_session** session, nar_error* error) {
    return on_engine(
        engine ? &engine->engine : nullptr, error, Inside::Allowed, [&]() -> nar_status {
            if (session == nullptr) return refuse_argument(error, "session must not be NULL");
            *session = nullptr;
            nar_session_options options;
            if (const std::string fault = read_struct(given, options); !fault.empty()) {
                return refuse_argument(error, "nar_session_options " + fault);
            }
            session::SessionSettings settings;
            settings.times = engine->engine.settings().times;
            settings.limits = engine->engine.settings().limits;
            settings.sandbox.require_of_all(engine->engine.settings().guarantees);
            settings.id = copy(options.id);
            if (settings.id.empty()) settings.id = make_uuid();
            if (!utf8::is_valid(settings.id)) return refuse_argument(error, "the id must be UTF-8");

            if (has_nul(options.story)) {
                return refuse_argument(error, "the story's path contains a NUL character");
            }
            const std::string folder = copy(options.story);
            if (!folder.empty()) {
                Faults faults;
                char* real = ::realpath(folder.c_str(), nullptr);
                const std::string absolute = real ? real : folder;
                std::free(real);
                settings.story = session::load_story(absolute, faults);
                if (!faults.empty() || !settings.story) {
                    return invalid_document(error, "STORY", faults, "",
                                            ("the story \"" + folder + "\" is not valid").c_str());
                }
                take_story(*settings.story, settings.times, settings.limits);
                settings.sandbox = settings.story->sandbox;
                settings.sandbox.require_of_all(engine->engine.settings().guarantees);
                if (const nar_status status =
                        prepare_limits(engine->engine, settings.limits, error)) {
                    return status;
                }
            }
            if (const nar_status status = read_project(engine->engine, options, settings, error)) {
                return status;
            }
            if (const std::string fault = read_times(options.times, settings.times);
                !fault.empty()) {
                return refuse_argument(error, fault);
            }
            if (options.narrator != nullptr) {
                nar_narrator narrator;
                const std::string fault = read_struct(options.narrator, narrator);
                if (!fault.empty()) return refuse_argument(error, "nar_narrator " + fault);
                if (narrator.generate == nullptr) {
                    return refuse_argument(error, "the narrator's generate must be set");
                }
                settings.narrator_id = copy(narrator.id);
                settings.narrator = narrator;
            }
            if (settings.narrator && !view(options.narrator_id).empty()) {
                return refuse_argument(error, "narrator and narrator_id are both set; give one");
            }
            if (!settings.narrator) settings.narrator_id = copy(options.narrator_id);
            if (!settings.narrator && settings.narrator_id.find('/') != std::string::npos) {
                return refuse_argument(
                    error,
                    "narrator_id must be a plugin's id, not a path; list the plugin's file in "
                    "plugins");
            }
            settings.without_plugins = options.without_plugins != 0;
            settings.seed = options.seed;
            if (options.watches_story > 1) {
                return refuse_argument(error, "watches_story must be 0 or 1");
            }
            settings.watches_story = options.watches_story != 0;
            if (const nar_status status =
                    read_store_options(engine->engine, options, settings, error)) {
                return status;
            }
            if (const nar_status status =
                    read_plugins(options.plugins, options.plugin_count, settings.plugins, error)) {
                return status;
            }
            if (const nar_status status = read_plugin_settings(options.plugin_settings,
                                                               settings.plugin_settings, error)) {
                return status;
            }
            // Check all arguments before the session exists: its destructor would release the
            // narrator, but a failed call must not take ownership.
            json::Document state;
            // A state of the host replaces the story's.
            const std::string of_story = settings.story ? settings.story->state : std::string();
            if (options.state.size == 0) options.state = view(of_story);
            if (const nar_status status = read_state(options.state, state, error)) return status;
            if (const uint64_t most = settings.limits.state_bytes; options.state.size > most) {
                return fail(error, NAR_INVALID_ARGUMENT, "STATE_TOO_LARGE",
                            "the state has " + std::to_string(options.state.size) +
                                " bytes; the limit state_bytes is " + std::to_string(most));
            }
            std::unique_ptr<session::Session> made;
            if (const nar_status status = with_store(error, [&] {
                    session::Dependencies dependencies =
                        session::make_dependencies(engine->engine, settings, view(options.state));
                    if (!dependencies.journal && !view(options.state).empty()) {
                        dependencies.store->assign(state.root());
                    }
                    made = std::make_unique<session::Session>(std::move(dependencies),
                                                              std::move(settings));
                    return NAR_OK;
                })) {
                return status;
            }
            if (!made->narrator_fault().empty()) {
                return fail(error, NAR_NOT_FOUND, "NARRATOR", made->narrator_fault());
            }
            if (!view(options.state).empty()) {
                const Faults twice = json::duplicate_keys(state.root());
                for (size_t i = 0; i < twice.size() && i < kMaxStateWarnings; ++i) {
                    engine->engine.log(
                        NAR_LOG_WARN,
                        "the initial state: " + describe_faults({twice[i]}, view(options.state)),
                        made->id());
                }
            }
            *session = wrap(made.get());
            engine->engine.add(std::move(made));
            return NAR_OK;
        });
}

nar_status nar_session_destroy(nar_session* session, nar_error* error) {
    if (session == nullptr) {
        clear(error);
        return NAR_OK;
    }
    return on_session(session, error, [&](session::Session& its) {
        its.engine().remove(&its);
        return NAR_OK;
    });
}

nar_status nar_session_read_assets(nar_session* session, nar_text** json, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) {
        return give_text(json, error, [&](std::string& text) {
            its.assets().append_json(text);
            return NAR_OK;
        });
    });
}

nar_status nar_session_read_assets_after(nar_session* session, uint64_t* seq, nar_text** json,
                                         nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        if (seq == nullptr) return refuse_argument(error, "seq must not be NULL");
        const asset::Registry& assets = its.assets();
        if (json != nullptr) {
            const nar_status status = give_text(json, error, [&](std::string& text) {
                assets.append_json(text, *seq);
                return NAR_OK;
            });
            if (status != NAR_OK) return status;
        }
        *seq = assets.latest_seq();
        return NAR_OK;
    });
}

nar_str nar_session_id(const nar_session* session) {
    return session == nullptr ? nar_str{"", 0} : view(std::string_view(unwrap(session)->id()));
}

nar_str nar_session_title(const nar_session* session) {
    return session == nullptr ? nar_str{"", 0}
                              : view(std::string_view(unwrap(session)->story_title()));
}

nar_str nar_session_opening(const nar_session* session) {
    return session == nullptr ? nar_str{"", 0}
                              : view(std::string_view(unwrap(session)->story_opening()));
}

nar_status nar_make_uuid(nar_text** uuid, nar_error* error) {
    return guarded(error, [&]() -> nar_status {
        return give_text(uuid, error, [](std::string& text) {
            text = make_uuid();
            return NAR_OK;
        });
    });
}

}  // extern "C"
