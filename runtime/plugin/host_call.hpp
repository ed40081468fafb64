// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common to all services of the host: a call of a plugin finds its instance, on the right thread and
// at the right time.

#include <sys/mman.h>

#include <cerrno>
#include <mutex>
#include <new>
#include <string>
#include <string_view>

#include "base/fork_count.hpp"
#include "base/view.hpp"
#include "narratoria/host.h"
#include "plugin/instance.hpp"

namespace narratoria::plugin {

struct HostHandle;

// A nar_host in its own read-only page. A plugin that writes to its host crashes at that write, not
// at a later call through the damaged struct. The tables of the services are constants, which the
// linker places in read-only memory.
class ReadOnlyHost {
public:
    using GetExtension = const void*(const nar_host* host, nar_str id);

    ReadOnlyHost(HostHandle* handle, GetExtension* get_extension, nar_str session_id) {
        void* const page = ::mmap(nullptr, sizeof(nar_host), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) throw std::bad_alloc();
        host_ = new (page)
            nar_host{sizeof(nar_host), NAR_ABI_VERSION, handle, get_extension, session_id};
        // Ignore a failure (the kernel is out of memory): the page then stays writable.
        ::mprotect(page, sizeof(nar_host), PROT_READ);
    }
    ~ReadOnlyHost() { ::munmap(host_, sizeof(nar_host)); }
    ReadOnlyHost(const ReadOnlyHost&) = delete;
    ReadOnlyHost& operator=(const ReadOnlyHost&) = delete;

    const nar_host* get() const { return host_; }

private:
    nar_host* host_;
};

struct HostHandle {
    HostHandle(ReadOnlyHost::GetExtension* get_extension, const SessionAccess& session)
        : session_id(session.session_id()),
          engine_thread(session.engine_thread()),
          host(this, get_extension, {session_id.data(), session_id.size()}) {}

    const std::string session_id;
    const std::shared_ptr<const EngineThread> engine_thread;
    const ReadOnlyHost host;
    uint64_t made_under = 0;  // fork_count() at creation
    std::mutex mutex;         // guards `instance`, which only the engine thread changes
    Instance* instance = nullptr;
};

inline HostHandle* handle_of(const nar_host* host) {
    return host == nullptr ? nullptr : static_cast<HostHandle*>(host->context);
}

class SavedErrno {
public:
    ~SavedErrno() { errno = saved_; }

private:
    int saved_ = errno;
};

template <typename Body>
nar_status barrier(Body&& body) noexcept {
    const SavedErrno saved;
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return NAR_OUT_OF_MEMORY;
    } catch (...) {
        return NAR_INTERNAL;
    }
}

// Reports a text without data, and returns the status for it.
template <typename Body>
nar_status refuse_bad_texts(Instance& instance, Body&& body) {
    try {
        return body(instance);
    } catch (const TextWithoutData& text) {
        instance.report("it passed a text with NULL as its data and the size " +
                        std::to_string(text.size) + "; an empty text has the size 0");
        return NAR_INVALID_ARGUMENT;
    }
}

// Wraps the thread-safe functions. The instance cannot be destroyed while `body` runs.
template <typename Body>
nar_status from_any_thread(const nar_host* host, Body&& body) noexcept {
    return barrier([&]() -> nar_status {
        HostHandle* const handle = handle_of(host);
        if (handle == nullptr) return NAR_INVALID_ARGUMENT;
        if (handle->made_under != fork_count()) return NAR_FORKED;
        // On the engine thread the lock is not needed. Holding it could deadlock: the body may call
        // the host's log function, which may wait for a thread that waits for this lock.
        std::unique_lock lock(handle->mutex, std::defer_lock);
        if (!handle->engine_thread->is_current()) lock.lock();
        return handle->instance == nullptr ? NAR_GONE : refuse_bad_texts(*handle->instance, body);
    });
}

inline bool is_active(const Instance& instance) {
    return instance.phase() == Instance::Phase::Active;
}

// Wraps the functions that are valid only on the engine thread and between init and deinit.
template <typename Body>
nar_status on_engine_thread(const nar_host* host, const char* function, Body&& body) noexcept {
    Instance* its = nullptr;
    const nar_status status = from_any_thread(host, [&](Instance& instance) -> nar_status {
        if (!instance.session().on_engine_thread()) {
            const std::string fault = std::string(function) +
                                      " was called outside the engine thread; post the call "
                                      "(narratoria.post/1)";
#ifndef NDEBUG
            instance.disable_soon(fault);
#else
            instance.report(fault);
#endif
            return NAR_WRONG_THREAD;
        }
        if (!is_active(instance)) {
            instance.report(std::string(function) +
                            " was called in init or deinit; call it while the plugin is active");
            return NAR_GONE;
        }
        its = &instance;
        return NAR_OK;
    });
    // Run the body without the lock: instances are destroyed on this thread only, and the body may
    // call back into the plugin.
    if (status != NAR_OK) return status;
    return barrier([&] { return refuse_bad_texts(*its, body); });
}

// Passes a text to the plugin's function. An exception disables the plugin.
inline nar_status write_out(Instance& instance, const std::string& text, nar_write_fn write,
                            void* user) {
    nar_status status = NAR_FAILED;
    instance.call("its write function", [&] { status = write(user, {text.data(), text.size()}); });
    return status;
}

// Copies as much of the text as fits, without a partial UTF-8 character at its end.
void write_failure(nar_failure* failure, std::string_view text);

}  // namespace narratoria::plugin
