// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "api/barrier.hpp"
#include "api/options.hpp"
#include "api/store_error.hpp"
#include "base/bytes/utf8.hpp"
#include "base/clock.hpp"
#include "base/duplicates.hpp"
#include "base/json/pointer.hpp"
#include "base/json/writer.hpp"
#include "base/uuid.hpp"
#include "plugin/given_metadata.hpp"
#include "plugin/narrator_usage.hpp"
#include "session/plugin_setup.hpp"

using namespace narratoria;
using namespace narratoria::api;

namespace {

nar_status invalid_document(nar_error* error, std::string_view code, const Faults& faults,
                            std::string_view text, const char* what) {
    std::string details;
    append_faults(details, faults, text);
    return fail(error, NAR_INVALID_DOCUMENT, code,
                std::string(what) + ":\n" + describe_faults(faults, text), details);
}

// Reports why the state has no value at `pointer`.
nar_status refuse_pointer(nar_str pointer, bool malformed, nar_error* error) {
    if (malformed) {
        return refuse_argument(error,
                               "\"" + copy(pointer) +
                                   "\" is not a JSON Pointer; begin it with / or leave it empty, "
                                   "and write ~ as ~0");
    }
    return fail(error, NAR_NOT_FOUND, "STATE_PATH",
                "the state has no value at \"" + copy(pointer) + "\"");
}

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

// Calls `set` with the given metadata, if any. If `set` succeeds, the session owns the metadata;
// otherwise `error` is filled.
template <typename Set>
nar_status with_metadata(session::Session& its, const nar_state_metadata* given, nar_error* error,
                         Set&& set) {
    nar_state_metadata read;
    if (const std::string fault = read_struct(given, read); !fault.empty()) {
        return refuse_argument(error, "nar_state_metadata " + fault);
    }
    std::optional<plugin::GivenMetadata> metadata;
    std::optional<state::Description> description;
    if (given != nullptr) {
        const plugin::GuardedCall call = [&engine = its.engine()](const auto& function) {
            engine.call_host(function, "a function for the metadata of the state");
        };
        description = metadata.emplace(read, call, call).description();
    }
    std::string why;
    const nar_status status = set(std::move(description), why);
    if (status == NAR_OK && metadata) metadata->keep();
    return status == NAR_OK ? NAR_OK : fail(error, status, "STATE", why);
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

nar_status refuse_without_store(nar_error* error) {
    return fail(error, NAR_UNSUPPORTED, "NO_STORE", "the session has no store; create it with one");
}

nar_status refuse_busy(nar_error* error) {
    return fail(error, NAR_BUSY, "BUSY",
                "a turn is running or waiting; call again when it has ended");
}

nar_status refuse_without_narrator(nar_error* error) {
    return fail(error, NAR_INVALID_ARGUMENT, "NO_NARRATOR",
                "the session has no narrator; give it a story or your own narrator");
}

// Calls `use` with the session. Requires a store, and that no turn is running or waiting.
template <typename Use>
nar_status on_kept_session(nar_session* session, nar_error* error, Use&& use) {
    session::Session* const given = unwrap(session);
    return on_engine(given ? &given->engine() : nullptr, error, Inside::Refused,
                     [&]() -> nar_status {
                         if (given->ending()) return refuse_ending(error);
                         if (given->is_playing()) return refuse_busy(error);
                         if (given->journal() == nullptr) return refuse_without_store(error);
                         return with_store(error, [&] { return use(*given); });
                     });
}

nar_status read_handler(const nar_turn_handler* handler, session::TurnHandler& out,
                        nar_error* error) {
    nar_turn_handler read;
    if (const std::string fault = read_struct(handler, read); !fault.empty()) {
        return refuse_argument(error, "nar_turn_handler " + fault);
    }
    if (read.ended == nullptr) return NAR_OK;
    out = [read](const session::TurnEnd& end) {
        nar_turn turn{};
        turn.size = sizeof turn;
        turn.outcome = static_cast<uint32_t>(end.outcome);
        turn.generations = end.generations;
        turn.narrative = view(end.narrative);
        turn.choices = view(end.choices);
        turn.result = end.result ? new nar_result(end.result) : nullptr;
        turn.id = static_cast<uint64_t>(end.kept.turn);
        turn.durable_seq = end.kept.durable_seq;
        turn.durable = end.kept.is_durable ? 1 : 0;
        turn.usage = view(end.usage);
        read.ended(read.user, &turn);
        nar_result_release(turn.result);
    };
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

nar_status read_plugins(const nar_str* given, uint64_t count, std::vector<std::string>& out,
                        nar_error* error) {
    if (given == nullptr && count > 0) {
        return refuse_argument(error, "plugin_count is set, but plugins is NULL");
    }
    for (uint64_t i = 0; i < count; ++i) {
        if (view(given[i]).empty() || has_nul(given[i])) {
            return refuse_argument(
                error, "each element of plugins must be a plugin's id or the path of its file");
        }
        out.push_back(copy(given[i]));
    }
    return NAR_OK;
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

template <typename Fill>
nar_status give_text(nar_text** place, nar_error* error, Fill&& fill) {
    if (place == nullptr) return refuse_argument(error, "the text pointer must not be NULL");
    auto text = std::make_unique<nar_text>();
    const nar_status status = fill(text->text);
    if (status == NAR_OK) *place = text.release();
    return status;
}

// Sends something of a narrator's with `send`, and describes its status.
template <typename Send>
nar_status send_of_narrator(nar_engine* engine, nar_error* error, const Send& send) {
    if (engine == nullptr) return refuse_argument(error, "engine must not be NULL");
    if (engine->engine.forked()) {
        return fail(error, NAR_FORKED, "FORKED",
                    "the engine was created before a fork; create a new one in the child");
    }
    const nar_status status = send(engine->engine.inbox());
    if (status == NAR_OK) return NAR_OK;
    if (status == NAR_STALE) {
        return fail(error, NAR_STALE, "STALE", "the request already has a reply");
    }
    if (status == NAR_BUSY) {
        return fail(
            error, NAR_BUSY, "BUSY",
            "16 MiB are waiting for the engine's loop; drive the engine before the next call");
    }
    return fail(error, NAR_GONE, "GONE", "the request was cancelled, timed out, or never existed");
}

nar_status answer(nar_engine* engine, uint64_t token, bool is_plan, nar_str text,
                  nar_error* error) {
    return send_of_narrator(engine, error, [&](Inbox& inbox) {
        return inbox.send_end(nullptr, token, session::NarratorAnswer{is_plan, copy(text)});
    });
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

nar_status nar_session_read_turns(nar_session* session, nar_text** json, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) {
        return give_text(json, error, [&](std::string& text) -> nar_status {
            if (its.journal() == nullptr) return refuse_without_store(error);
            return with_store(error, [&]() -> nar_status {
                its.journal()->append_turns(text);
                return NAR_OK;
            });
        });
    });
}

nar_status nar_session_go_to(nar_session* session, uint64_t turn, nar_error* error) {
    return on_kept_session(session, error, [&](session::Session& its) -> nar_status {
        if (turn == NAR_TURN_CURRENT) {
            return refuse_argument(error,
                                   "turn must not be NAR_TURN_CURRENT (0): the session is already "
                                   "there; use NAR_TURN_BEGINNING for the beginning");
        }
        its.go_to(turn_of(turn, its.journal()->current()));
        return NAR_OK;
    });
}

nar_status nar_session_again(nar_session* session, uint64_t turn, nar_str tools,
                             const nar_turn_handler* handler, uint64_t* submission,
                             nar_error* error) {
    return on_kept_session(session, error, [&](session::Session& its) -> nar_status {
        session::TurnHandler on_turn;
        if (const nar_status status = read_handler(handler, on_turn, error)) return status;
        std::set<std::string, std::less<>> names;
        if (!view(tools).empty()) {
            json::Document document;
            json::ParseError fault;
            const bool is_list = document.parse(view(tools), fault) && document.root().is_array();
            if (!is_list) return refuse_argument(error, "tools must be a JSON array of toolIds");
            for (const json::Value name : document.root().elements()) {
                if (!name.is_string()) {
                    return refuse_argument(error, "tools must be a JSON array of toolIds");
                }
                names.emplace(name.text());
            }
            if (names.empty()) return refuse_argument(error, "tools must name at least one tool");
        }
        if (!its.has_narrator()) return refuse_without_narrator(error);
        its.again(turn == NAR_TURN_CURRENT ? its.journal()->last_prompt()
                                           : static_cast<journal::TurnId>(turn),
                  names, std::move(on_turn));
        return submitted(its, submission);
    });
}

nar_status nar_session_resume(nar_session* session, uint64_t turn, uint32_t flags,
                              const nar_turn_handler* handler, uint64_t* submission,
                              nar_error* error) {
    return on_kept_session(session, error, [&](session::Session& its) -> nar_status {
        if ((flags & ~NAR_RESUME_REPEATS) != 0) {
            return refuse_argument(error, "flags has an unknown bit");
        }
        session::TurnHandler on_turn;
        if (const nar_status status = read_handler(handler, on_turn, error)) return status;
        if (!its.has_narrator()) return refuse_without_narrator(error);
        its.resume(turn == NAR_TURN_CURRENT ? its.journal()->last_interrupted()
                                            : static_cast<journal::TurnId>(turn),
                   (flags & NAR_RESUME_REPEATS) != 0, std::move(on_turn));
        return submitted(its, submission);
    });
}

nar_status nar_session_replay(nar_session* session, uint64_t turn,
                              const nar_replay_handler* handler, uint64_t* submission,
                              nar_error* error) {
    session::Session* const given = unwrap(session);
    return on_engine(
        given ? &given->engine() : nullptr, error, Inside::Refused, [&]() -> nar_status {
            if (given->ending()) return refuse_ending(error);
            if (!given->replays()) {
                return fail(error, NAR_UNSUPPORTED, "NO_REPLAY",
                            "the session is not a replay; set `replays` of its options");
            }
            if (given->is_playing()) return refuse_busy(error);
            nar_replay_handler read;
            const std::string fault = read_struct(handler, read);
            if (!fault.empty()) return refuse_argument(error, "nar_replay_handler " + fault);
            if (read.ended == nullptr) {
                return refuse_argument(error, "the handler's ended must be set");
            }
            return with_store(error, [&]() -> nar_status {
                given->replay(static_cast<journal::TurnId>(turn),
                              [read, turn](const session::Session::Replayed& end) {
                                  nar_replayed replayed{};
                                  replayed.size = sizeof replayed;
                                  replayed.is_equal = end.kept == end.now ? 1 : 0;
                                  replayed.turn = turn;
                                  replayed.stored_hash = end.kept;
                                  replayed.hash = end.now;
                                  read.ended(read.user, &replayed);
                              });
                return submitted(*given, submission);
            });
        });
}

nar_status nar_session_prompt(nar_session* session, nar_str text, const nar_turn_handler* handler,
                              uint64_t* submission, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        if (its.ending()) return refuse_ending(error);
        if (its.replays()) return refuse_replay(error);
        session::TurnHandler on_turn;
        if (const nar_status status = read_handler(handler, on_turn, error)) return status;
        const std::string words = copy(text);
        if (words.empty()) return refuse_argument(error, "the prompt must not be empty");
        if (!utf8::is_valid(words)) return refuse_argument(error, "the prompt must be UTF-8");
        if (!its.has_narrator()) return refuse_without_narrator(error);
        if (its.prompt(words, std::move(on_turn))) return submitted(its, submission);
        return fail(error, NAR_BUSY, "BUSY",
                    "a turn is running and a prompt is already waiting; wait until a turn has "
                    "ended");
    });
}

nar_status nar_session_execute(nar_session* session, nar_str plan, nar_str folder,
                               const nar_execution_handler* handler, uint64_t* submission,
                               nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        if (its.ending()) return refuse_ending(error);
        if (its.replays()) return refuse_replay(error);
        nar_execution_handler read;
        if (const std::string fault = read_struct(handler, read); !fault.empty()) {
            return refuse_argument(error, "nar_execution_handler " + fault);
        }
        if (has_nul(folder)) return refuse_argument(error, "the folder contains a NUL character");
        std::string where = copy(folder);
        if (!where.empty() && where.front() != '/')
            where = its.engine().settings().root + "/" + where;
        session::ExecutionHandler on_ended;
        if (read.ended) {
            on_ended = [read](std::shared_ptr<const plan::Result> result) {
                auto* handle = new nar_result(std::move(result));
                read.ended(read.user, handle);
                nar_result_release(handle);
            };
        }
        Faults faults;
        if (its.execute(view(plan), std::move(where), std::move(on_ended), faults)) {
            return submitted(its, submission);
        }
        return invalid_document(error, "PLAN", faults, view(plan), "the plan was refused");
    });
}

uint64_t nar_session_submission(const nar_session* session) {
    const session::Session* const its = unwrap(session);
    if (its == nullptr || !its->engine().on_its_thread()) return 0;
    return its->running_submission();
}

nar_status nar_session_cancel_submission(nar_session* session, uint64_t submission,
                                         nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        if (its.cancel(submission)) return NAR_OK;
        return fail(error, NAR_NOT_FOUND, "SUBMISSION",
                    "submission " + std::to_string(submission) + " has ended or never existed");
    });
}

// Thread-safe and async-signal-safe. Therefore it does not check the thread, fill an error, or
// allocate.
nar_status nar_session_cancel(nar_session* session) {
    if (session == nullptr) return NAR_INVALID_ARGUMENT;
    if (unwrap(session)->engine().forked()) return NAR_FORKED;
    unwrap(session)->request_cancel();
    return NAR_OK;
}

nar_status nar_session_read_state(nar_session* session, nar_str pointer, nar_text** json,
                                  nar_error* error) {
    return on_session(session, error, [&](session::Session& its) {
        return give_text(json, error, [&](std::string& text) -> nar_status {
            bool malformed = false;
            if (its.state().tree().read(view(pointer), text, malformed)) return NAR_OK;
            return refuse_pointer(pointer, malformed, error);
        });
    });
}

nar_status nar_session_state_size(nar_session* session, nar_str pointer, uint64_t* count,
                                  nar_error* error) {
    if (count != nullptr) *count = 0;
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        bool malformed = false;
        if (its.state().tree().measure(view(pointer), count, malformed)) return NAR_OK;
        return refuse_pointer(pointer, malformed, error);
    });
}

nar_status nar_session_patch_state(nar_session* session, nar_str patch, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        json::Document document;
        json::ParseError failure;
        Faults faults;
        if (!document.parse(view(patch), failure)) {
            faults.push_back({json::rule_of(failure.kind), "", failure.byte, failure.message, ""});
        } else if (!document.root().is_object()) {
            faults.push_back({"patch-object", "", 0, "a patch must be a JSON object", ""});
        }
        if (!faults.empty()) {
            return invalid_document(error, "PATCH", faults, view(patch), "the patch is not valid");
        }
        if (const auto refusal = its.patch_state(document.root(), "")) {
            return fail(error, NAR_INVALID_ARGUMENT, refusal->code, refusal->message);
        }
        return NAR_OK;
    });
}

nar_status nar_session_set_state(nar_session* session, nar_str key, nar_str value,
                                 const nar_state_metadata* metadata, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) {
        return with_metadata(its, metadata, error, [&](auto description, std::string& why) {
            return its.set_state(view(key), view(value), std::move(description), {}, "", why);
        });
    });
}

nar_status nar_session_clear_state(nar_session* session, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) -> nar_status {
        std::string why;
        const nar_status status = its.clear_state({}, "", why);
        return status == NAR_OK ? NAR_OK : fail(error, status, "STATE", why);
    });
}

nar_status nar_session_register_state_metadata(nar_session* session, nar_str key,
                                               const nar_state_metadata* metadata,
                                               nar_error* error) {
    return on_session(session, error, [&](session::Session& its) {
        return with_metadata(its, metadata, error, [&](auto description, std::string& why) {
            return its.register_state_metadata(view(key), std::move(description), why);
        });
    });
}

nar_status nar_session_read_state_metadata(nar_session* session, nar_str key, nar_text** json,
                                           nar_error* error) {
    return on_session(session, error, [&](session::Session& its) {
        return give_text(json, error, [&](std::string& text) -> nar_status {
            const auto found = its.state_metadata().find(view(key));
            if (found == nullptr) {
                return fail(
                    error, NAR_NOT_FOUND, "STATE_METADATA",
                    "the state's key \"" + utf8::repaired(view(key)) + "\" has no metadata");
            }
            state::Metadata::append_json(text, *found);
            return NAR_OK;
        });
    });
}

nar_status nar_session_read_all_state_metadata(nar_session* session, nar_text** json,
                                               nar_error* error) {
    return on_session(session, error, [&](session::Session& its) {
        return give_text(json, error, [&](std::string& text) {
            its.state_metadata().append_json(text);
            return NAR_OK;
        });
    });
}

nar_status nar_session_format_state_for_prompt(nar_session* session, nar_text** text,
                                               nar_error* error) {
    return on_session(session, error, [&](session::Session& its) {
        return give_text(text, error, [&](std::string& out) {
            its.format_state_for_prompt(out);
            return NAR_OK;
        });
    });
}

nar_status nar_session_read_history(nar_session* session, nar_text** json, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) {
        return give_text(json, error, [&](std::string& text) {
            its.state().history().append_json(text);
            return NAR_OK;
        });
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

nar_status nar_session_read_plugins(nar_session* session, nar_text** json, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) {
        return give_text(json, error, [&](std::string& text) {
            its.plugins().append_json(text);
            return NAR_OK;
        });
    });
}

nar_status nar_session_read_published(nar_session* session, nar_str plugin, nar_str name,
                                      nar_text** value, nar_error* error) {
    return on_session(session, error, [&](session::Session& its) {
        return give_text(value, error, [&](std::string& text) -> nar_status {
            const std::string* found = its.plugins().published(view(plugin), view(name));
            if (found == nullptr) {
                return fail(error, NAR_NOT_FOUND, "PUBLISHED",
                            "no active plugin \"" + utf8::repaired(copy(plugin)) +
                                "\" of this session has published \"" + utf8::repaired(copy(name)) +
                                "\"");
            }
            text = *found;
            return NAR_OK;
        });
    });
}

// Refused inside callbacks, because the session may be iterating over the extensions that this call
// changes.
nar_status nar_session_extend(nar_session* session, const nar_session_extension* given,
                              const nar_host** host, nar_error* error) {
    session::Session* its = unwrap(session);
    return on_engine(its ? &its->engine() : nullptr, error, Inside::Refused, [&]() -> nar_status {
        nar_session_extension extension;
        if (given == nullptr) return refuse_argument(error, "the extension must not be NULL");
        if (const std::string fault = read_struct(given, extension); !fault.empty()) {
            return refuse_argument(error, "nar_session_extension " + fault);
        }
        plugin::OwnExtension own{copy(extension.id), copy(extension.extension), extension.functions,
                                 extension.instance, extension.released};
        if (!plugin::is_id(own.id)) {
            return refuse_argument(error,
                                   "the id must begin with a-z or 0-9 and have at most 128 of "
                                   "a-z 0-9 . _ -");
        }
        if (!plugin::is_offered(own.extension)) {
            return fail(error, NAR_UNSUPPORTED, "UNKNOWN_EXTENSION",
                        "there is no extension \"" + utf8::repaired(own.extension) +
                            "\" for a plugin; use one of the NAR_EXTENSION_… ids of the headers");
        }
        if (own.functions == nullptr) return refuse_argument(error, "functions must not be NULL");
        // Refuse it, because the pending answer must come from the narrator that was asked.
        const bool is_narrator = own.extension == NAR_EXTENSION_NARRATOR;
        if (is_narrator && its->has_question()) {
            return fail(error, NAR_BUSY, "NARRATOR_BUSY",
                        "the narrator is handling a request; set a new one after its reply");
        }
        std::string reason;
        const nar_host* made = its->extend(std::move(own), reason);
        if (made == nullptr) {
            return refuse_argument(error, "the extension is not valid: " + reason);
        }
        if (host != nullptr) *host = made;
        return NAR_OK;
    });
}

nar_status nar_plugins_search(nar_str story, const nar_str* plugins, uint64_t plugin_count,
                              nar_text** json, nar_error* error) {
    return guarded(error, [&]() -> nar_status {
        plugin::Wishes wishes;
        if (const nar_status status = read_plugins(plugins, plugin_count, wishes.listed, error)) {
            return status;
        }
        if (has_nul(story))
            return refuse_argument(error, "the story's path contains a NUL character");
        if (!view(story).empty()) {
            Faults faults;
            const auto its = session::load_story(copy(story), faults);
            if (!its) {
                return invalid_document(error, "STORY", faults, "",
                                        ("the story \"" + copy(story) + "\" is not valid").c_str());
            }
            session::add_wishes(*its, true, wishes);
        }
        return give_text(json, error, [&](std::string& text) {
            plugin::append_json(text, plugin::search(wishes, plugin::places(wishes.story_folder),
                                                     plugin::safe_mode()));
            return NAR_OK;
        });
    });
}

nar_status nar_plugins_read_metadata(nar_str path, nar_text** json, nar_error* error) {
    return guarded(error, [&]() -> nar_status {
        if (has_nul(path)) return refuse_argument(error, "the path contains a NUL character");
        std::string reason;
        const auto found = plugin::find_metadata(copy(path), reason);
        if (!found) return fail(error, NAR_NOT_FOUND, "PLUGIN_METADATA", reason);
        return give_text(json, error, [&](std::string& text) {
            json::ObjectWriter(text)
                .string("text", found->text)
                .string("file", found->file)
                .number("notes", static_cast<int64_t>(found->notes))
                .end();
            return NAR_OK;
        });
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

nar_status nar_narrator_reply(nar_engine* engine, uint64_t token, nar_str plan, nar_error* error) {
    return guarded(error, [&] { return answer(engine, token, true, plan, error); });
}

nar_status nar_narrator_delta(nar_engine* engine, uint64_t token, nar_str text, nar_error* error) {
    return guarded(error, [&] {
        return send_of_narrator(engine, error, [&](Inbox& inbox) {
            return inbox.send_output(nullptr, token, view(text), &typeid(session::NarratorAnswer));
        });
    });
}

nar_status nar_narrator_usage(nar_engine* engine, uint64_t token, nar_str usage, nar_error* error) {
    return guarded(error, [&] {
        std::string line;
        if (const std::string why = plugin::check_usage(view(usage), line); !why.empty()) {
            return fail(error, NAR_INVALID_DOCUMENT, "USAGE", "the usage is not valid: " + why);
        }
        return send_of_narrator(engine, error, [&](Inbox& inbox) {
            return inbox.send_diagnostics(nullptr, token, line + '\n',
                                          &typeid(session::NarratorAnswer));
        });
    });
}

nar_status nar_narrator_fail(nar_engine* engine, uint64_t token, nar_str message,
                             nar_error* error) {
    return guarded(error, [&] { return answer(engine, token, false, message, error); });
}

}  // extern "C"
