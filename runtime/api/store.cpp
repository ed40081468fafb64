// SPDX-License-Identifier: Apache-2.0
#include "narratoria/store.h"

#include "api/barrier.hpp"
#include "api/store_error.hpp"
#include "base/json/writer.hpp"
#include "journal/listing.hpp"
#include "journal/past.hpp"

using namespace narratoria;
using namespace narratoria::api;

namespace {

// Calls `read` with the store, which is only read, and the text to fill.
template <typename Read>
nar_status read_store(nar_str path, nar_text** json, nar_error* error, Read&& read) {
    return guarded(error, [&]() -> nar_status {
        if (json == nullptr) return refuse_argument(error, "the text pointer must not be NULL");
        if (view(path).empty()) return refuse_argument(error, "the store's path is empty");
        if (has_nul(path)) return refuse_argument(error, "the store's path holds a NUL character");
        return with_store(error, [&]() -> nar_status {
            journal::StoreFile file(copy(path), journal::Connection::Access::ReadOnly);
            auto text = std::make_unique<nar_text>();
            const nar_status status = read(file, text->text);
            if (status == NAR_OK) *json = text.release();
            return status;
        });
    });
}

template <typename Read>
nar_status read_session(nar_str path, nar_str session, nar_text** json, nar_error* error,
                        Read&& read) {
    return read_store(path, json, error, [&](journal::StoreFile& file, std::string& text) -> nar_status {
        const auto row = file.session(view(session));
        if (row) return read(file, *row, text);
        return fail(error, NAR_NOT_FOUND, "SESSION",
                    "the store \"" + copy(path) + "\" has no session " +
                        json::quoted(view(session)));
    });
}

}  // namespace

extern "C" {

nar_status nar_store_read_sessions(nar_str store, nar_text** json, nar_error* error) {
    return read_store(store, json, error, [](journal::StoreFile& file, std::string& text) -> nar_status {
        journal::append_sessions(text, file);
        return NAR_OK;
    });
}

nar_status nar_store_read_turns(nar_str store, nar_str session, nar_text** json,
                                nar_error* error) {
    return read_session(
        store, session, json, error,
        [](journal::StoreFile& file, const journal::SessionRow& row,
           std::string& text) -> nar_status {
            journal::append_turns(text, file, row);
            return NAR_OK;
        });
}

nar_status nar_store_read_state(nar_str store, nar_str session, uint64_t turn, nar_text** json,
                                nar_error* error) {
    return read_session(
        store, session, json, error,
        [&](journal::StoreFile& file, const journal::SessionRow& row,
            std::string& text) -> nar_status {
            std::optional<journal::TurnId> at = row.current;
            if (turn != NAR_TURN_CURRENT) {
                at = static_cast<journal::TurnId>(turn);
                const auto found = file.turn(row.id, *at);
                if (!found) {
                    return fail(error, NAR_NOT_FOUND, "TURN",
                                "the session " + json::quoted(row.name) + " has no turn " +
                                    std::to_string(turn));
                }
                if (!found->state_digest) {
                    return refuse_argument(
                        error, "turn " + std::to_string(turn) + " has not ended; " +
                                   (found->parent ? "the turn before it is " +
                                                        std::to_string(*found->parent)
                                                  : std::string("no turn is before it")));
                }
            }
            journal::state_at(file, row.id, at).append_json(text);
            return NAR_OK;
        });
}

}  // extern "C"
