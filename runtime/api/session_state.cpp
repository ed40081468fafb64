// SPDX-License-Identifier: Apache-2.0
#include "api/barrier.hpp"
#include "api/invalid_document.hpp"
#include "api/text.hpp"
#include "base/bytes/utf8.hpp"
#include "narratoria/session.h"
#include "plugin/given_metadata.hpp"

using namespace narratoria;
using namespace narratoria::api;

namespace {

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

}  // namespace

extern "C" {

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

}  // extern "C"
