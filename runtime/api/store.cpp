// SPDX-License-Identifier: Apache-2.0
#include "narratoria/store.h"

#include <algorithm>

#include "api/barrier.hpp"
#include "api/store_error.hpp"
#include "base/bytes/utf8.hpp"
#include "base/json/writer.hpp"
#include "journal/journal.hpp"
#include "journal/listing.hpp"
#include "journal/restore.hpp"

using namespace narratoria;
using namespace narratoria::api;

namespace {

template <typename Use>
nar_status use_store(nar_str path, nar_error* error, Use&& use) {
    return guarded(error, [&]() -> nar_status {
        if (view(path).empty()) return refuse_argument(error, "the store's path must not be empty");
        if (has_nul(path))
            return refuse_argument(error, "the store's path contains a NUL character");
        return with_store(error, use);
    });
}

nar_status refuse_session(journal::StoreFile& file, nar_str path, nar_str session,
                          nar_error* error) {
    return fail(error, NAR_NOT_FOUND, "SESSION",
                journal::missing_session(file, view(path), view(session)));
}

// Calls `read` with the store, opened read-only, and the text to fill.
template <typename Read>
nar_status read_store(nar_str path, nar_text** json, nar_error* error, Read&& read) {
    return use_store(path, error, [&]() -> nar_status {
        if (json == nullptr) return refuse_argument(error, "the text pointer must not be NULL");
        journal::StoreFile file(copy(path), journal::Connection::Access::ReadOnly);
        auto text = std::make_unique<nar_text>();
        const nar_status status = read(file, text->text);
        if (status == NAR_OK) *json = text.release();
        return status;
    });
}

// Locks the session and calls `change`. Fails with STORE_LOCKED if the session is being played.
template <typename Change>
nar_status change_session(nar_str path, nar_str session, nar_error* error, Change&& change) {
    return use_store(path, error, [&]() -> nar_status {
        // Open read-only first, so that a missing store is an error and is not created.
        journal::StoreFile(copy(path), journal::Connection::Access::ReadOnly);
        journal::StoreFile file(copy(path), journal::Connection::Access::ReadWrite);
        const auto row = file.session(view(session));
        if (!row) return refuse_session(file, path, session, error);
        if (!file.lock(row->id)) {
            return fail(
                error, NAR_BUSY, "STORE_LOCKED",
                "the session " + json::quoted(view(session)) + " is being played; end it first");
        }
        journal::Journal::end_running_turns(file, row->id);
        change(file, *row);
        return NAR_OK;
    });
}

template <typename Read>
nar_status read_session(nar_str path, nar_str session, nar_text** json, nar_error* error,
                        Read&& read) {
    return read_store(path, json, error,
                      [&](journal::StoreFile& file, std::string& text) -> nar_status {
                          const auto row = file.session(view(session));
                          if (!row) return refuse_session(file, path, session, error);
                          return read(file, *row, text);
                      });
}

// Returns why a turn cannot have this name; empty if it can. Commands that read a turn take a number
// (also "3.") for the turn itself, and remove the blanks around a name.
std::string_view fault_of_name(std::string_view name) {
    if (name.empty()) return "the name must not be empty";
    if (!utf8::is_valid(name)) return "the name must be UTF-8";
    const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    if (digits > 0 && name.find_first_not_of('.', digits) == name.npos) {
        return "the name must not be a number, because a number means the turn that has it; add a "
               "word";
    }
    if (name.front() == ' ' || name.back() == ' ' || name.find("  ") != name.npos ||
        name.find_first_of("\t\n\v\f\r") != name.npos) {
        return "the name must not begin or end with a blank, or contain two blanks in a row, a tab "
               "or a line break";
    }
    return {};
}

}  // namespace

extern "C" {

nar_status nar_store_read_sessions(nar_str store, nar_text** json, nar_error* error) {
    return read_store(store, json, error,
                      [](journal::StoreFile& file, std::string& text) -> nar_status {
                          journal::append_sessions(text, file);
                          return NAR_OK;
                      });
}

nar_status nar_store_read_turns(nar_str store, nar_str session, nar_text** json, nar_error* error) {
    return read_session(store, session, json, error,
                        [](journal::StoreFile& file, const journal::SessionRow& row,
                           std::string& text) -> nar_status {
                            journal::append_turns(text, file, row);
                            return NAR_OK;
                        });
}

nar_status nar_store_read_state(nar_str store, nar_str session, uint64_t turn, nar_text** json,
                                nar_error* error) {
    return read_session(store, session, json, error,
                        [&](journal::StoreFile& file, const journal::SessionRow& row,
                            std::string& text) -> nar_status {
                            const std::optional<journal::TurnId> at =
                                journal::turn_of(turn, row.current);
                            if (at) file.require_ended(row.id, *at);
                            journal::state_at(file, row.id, at).append_json(text);
                            return NAR_OK;
                        });
}

nar_status nar_store_go_to(nar_str store, nar_str session, uint64_t turn, nar_error* error) {
    if (turn == NAR_TURN_CURRENT) {
        return guarded(error, [&] { return refuse_current_turn(error); });
    }
    return change_session(store, session, error,
                          [&](journal::StoreFile& file, const journal::SessionRow& row) {
                              const auto at = journal::turn_of(turn, row.current);
                              if (at) file.require_ended(row.id, *at);
                              file.go_to(row.id, at);
                          });
}

nar_status nar_store_prune(nar_str store, nar_str session, uint64_t turn, uint64_t* removed,
                           nar_error* error) {
    return change_session(
        store, session, error, [&](journal::StoreFile& file, const journal::SessionRow& row) {
            file.begin();
            const int64_t count =
                turn == NAR_TURN_BEGINNING
                    ? file.remove_session(row.id)
                    : file.prune(row.id, turn == NAR_TURN_CURRENT
                                             ? std::nullopt
                                             : std::optional(static_cast<journal::TurnId>(turn)));
            file.commit();
            if (removed != nullptr) *removed = static_cast<uint64_t>(count);
            try {
                file.shrink();
            } catch (const journal::StoreError&) {
                // Later turns reuse the free pages.
            }
        });
}

nar_status nar_store_set_name(nar_str store, nar_str session, nar_str name, uint64_t turn,
                              nar_error* error) {
    return use_store(store, error, [&]() -> nar_status {
        if (const std::string_view fault = fault_of_name(view(name)); !fault.empty()) {
            return refuse_argument(error, fault);
        }
        // Open read-only first, so that a missing store is an error and is not created.
        journal::StoreFile(copy(store), journal::Connection::Access::ReadOnly);
        journal::StoreFile file(copy(store), journal::Connection::Access::ReadWrite);
        const auto row = file.session(view(session));
        if (!row) return refuse_session(file, store, session, error);
        const auto at = journal::turn_of(turn, row->current);
        if (!at) return refuse_argument(error, "the beginning of a session cannot be named");
        file.require_ended(row->id, *at);
        file.set_name(row->id, view(name), *at);
        return NAR_OK;
    });
}

}  // extern "C"
