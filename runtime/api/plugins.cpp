// SPDX-License-Identifier: Apache-2.0
#include "narratoria/plugins.h"

#include "api/barrier.hpp"
#include "api/invalid_document.hpp"
#include "api/options.hpp"
#include "api/text.hpp"
#include "base/bytes/utf8.hpp"
#include "base/json/writer.hpp"
#include "session/plugin_setup.hpp"

using namespace narratoria;
using namespace narratoria::api;

extern "C" {

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

}  // extern "C"
