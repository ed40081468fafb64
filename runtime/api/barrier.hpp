// SPDX-License-Identifier: Apache-2.0
#pragma once
// The entry guards of the C ABI: they check handle and thread, and convert exceptions into
// statuses.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

#include "base/given_struct.hpp"
#include "base/view.hpp"
#include "engine/engine.hpp"
#include "narratoria/narratoria.h"
#include "plan/result.hpp"
#include "session/session.hpp"

struct nar_text {
    std::string text;
};

struct nar_engine {
    explicit nar_engine(narratoria::engine::EngineSettings settings)
        : engine(std::move(settings)) {}
    narratoria::engine::Engine engine;
};

// Reference-counted; thread-safe, because a result is immutable.
struct nar_result {
    explicit nar_result(std::shared_ptr<const narratoria::plan::Result> its_result)
        : result(std::move(its_result)) {}
    std::atomic<uint32_t> references{1};
    std::shared_ptr<const narratoria::plan::Result> result;
};

namespace narratoria::api {

// The handle is the session's address. The C struct is never defined.
inline session::Session* unwrap(nar_session* handle) {
    return reinterpret_cast<session::Session*>(handle);
}
inline const session::Session* unwrap(const nar_session* handle) {
    return reinterpret_cast<const session::Session*>(handle);
}
inline nar_session* wrap(session::Session* session) {
    return reinterpret_cast<nar_session*>(session);
}

inline std::string copy(nar_str text) { return std::string(view(text)); }

// True for a text with a NUL. Callers refuse such a path, because the kernel would read it only up
// to the NUL.
inline bool has_nul(nar_str path) { return view(path).find('\0') != std::string_view::npos; }

// False for NULL, and for an error whose size was not set: the rest of it may be garbage.
inline bool is_usable(const nar_error* error) {
    return error != nullptr && error->size >= kFirstSize<nar_error>;
}

// Fills `error` and returns `status`. `error` may be NULL.
nar_status fail(nar_error* error, nar_status status, std::string_view code,
                std::string_view message, std::string_view details = {});
void clear(nar_error* error);

// Runs `body`, which returns a status. Converts an exception into a status, because none may cross
// the C boundary. Preserves errno.
template <typename Body>
nar_status guarded(nar_error* error, Body&& body) noexcept {
    const int saved = errno;
    nar_status status = NAR_INTERNAL;
    try {
        clear(error);
        status = body();
    } catch (const std::bad_alloc&) {
        status = NAR_OUT_OF_MEMORY;
        if (is_usable(error)) error->status = status;
    } catch (const std::system_error& failure) {
        status = NAR_IO;
        try {
            fail(error, status, "IO", failure.what());
        } catch (...) {
        }
    } catch (const std::exception& failure) {
        try {
            status = fail(error, NAR_INTERNAL, "INTERNAL", failure.what());
        } catch (...) {
        }
    } catch (...) {
    }
    errno = saved;
    return status;
}

enum class Inside : uint8_t { Refused, Allowed };

// Like guarded(), for functions that are valid only on the engine thread.
template <typename Body>
nar_status on_engine(engine::Engine* engine, nar_error* error, Inside callbacks,
                     Body&& body) noexcept {
    return guarded(error, [&]() -> nar_status {
        if (engine == nullptr) {
            return fail(error, NAR_INVALID_ARGUMENT, "NULL_HANDLE", "the handle must not be NULL");
        }
        if (engine->forked()) {
            return fail(error, NAR_FORKED, "FORKED",
                        "the engine was created before a fork; create a new one in the child");
        }
        if (!engine->on_its_thread()) {
            return fail(error, NAR_WRONG_THREAD, "WRONG_THREAD",
                        "the call is valid only on the engine thread; move the engine with "
                        "nar_engine_adopt_thread, or make the call through nar_engine_post");
        }
        if (callbacks == Inside::Refused && engine->in_callback()) {
            return fail(error, NAR_REENTRANT, "REENTRANT",
                        "the call is not allowed inside a callback; make it through "
                        "nar_engine_post");
        }
        return body();
    });
}

template <typename Body>
nar_status on_session(nar_session* handle, nar_error* error, Body&& body) noexcept {
    session::Session* session = unwrap(handle);
    return on_engine(session ? &session->engine() : nullptr, error, Inside::Allowed,
                     [&] { return body(*session); });
}

inline nar_status refuse_argument(nar_error* error, std::string_view message) {
    return fail(error, NAR_INVALID_ARGUMENT, "INVALID_ARGUMENT", message);
}

// Reports the id of what `its` has just accepted.
inline nar_status submitted(const session::Session& its, uint64_t* submission) {
    if (submission != nullptr) *submission = its.last_submission();
    return NAR_OK;
}

inline nar_status refuse_ending(nar_error* error) {
    return fail(error, NAR_GONE, "GONE", "the session is being destroyed and accepts no more work");
}

}  // namespace narratoria::api
