// SPDX-License-Identifier: Apache-2.0
#include "plugin/host_functions.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include "base/bytes/utf8.hpp"
#include "base/fork_count.hpp"
#include "base/given_struct.hpp"
#include "base/json/pointer.hpp"
#include "base/view.hpp"
#include "narratoria/context.h"
#include "narratoria/host_loop.h"
#include "narratoria/host_process.h"
#include "narratoria/host_session.h"
#include "narratoria/invocation.h"
#include "narratoria/narrator.h"
#include "plugin/given_metadata.hpp"
#include "plugin/instance.hpp"
#include "plugin/invocation.hpp"

namespace narratoria::plugin {

struct HostHandle;

// A nar_host in its own read-only page. A plugin that writes to its host crashes at that write, not
// at a later call through the damaged struct. The tables of the services are constants, which the
// linker places in read-only memory.
class ReadOnlyHost {
public:
    using GetExtension = const void*(const nar_host* host, nar_str id);

    ReadOnlyHost(HostHandle* handle, GetExtension* get_extension) {
        void* const page = ::mmap(nullptr, sizeof(nar_host), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) throw std::bad_alloc();
        host_ = new (page) nar_host{sizeof(nar_host), NAR_ABI_VERSION, handle, get_extension};
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
    explicit HostHandle(ReadOnlyHost::GetExtension* get_extension) : host(this, get_extension) {}

    const ReadOnlyHost host;
    uint64_t made_under = 0;  // fork_count() at creation
    std::mutex mutex;         // guards `instance` against calls from other threads
    Instance* instance = nullptr;
};

namespace {

// The number of retired handles that are kept.
constexpr size_t kKept = 256;

HostHandle* handle_of(const nar_host* host) {
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

// Wraps the thread-safe functions. The instance cannot be destroyed while `body` runs.
template <typename Body>
nar_status from_any_thread(const nar_host* host, Body&& body) noexcept {
    return barrier([&]() -> nar_status {
        HostHandle* const handle = handle_of(host);
        if (handle == nullptr) return NAR_INVALID_ARGUMENT;
        if (handle->made_under != fork_count()) return NAR_FORKED;
        std::unique_lock lock(handle->mutex);
        if (handle->instance == nullptr) return NAR_GONE;
        Instance& instance = *handle->instance;
        // On the engine thread the lock is not needed, because instances are destroyed only there.
        // Holding it could deadlock: the body may call the host's log function, which may wait for
        // a thread that waits for this lock.
        if (instance.session().on_engine_thread()) lock.unlock();
        return body(instance);
    });
}

bool is_active(const Instance& instance) { return instance.phase() == Instance::Phase::Active; }

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
    return barrier([&] { return body(*its); });
}

nar_status write_out(const std::string& text, nar_write_fn write, void* user) {
    return write(user, {text.data(), text.size()});
}

// Copies as much of the text as fits, without a partial UTF-8 character at its end.
void write_failure(nar_failure* failure, std::string_view text) {
    if (failure == nullptr || failure->size <= offsetof(nar_failure, message)) return;
    const size_t room =
        std::min<size_t>(failure->size, sizeof(nar_failure)) - offsetof(nar_failure, message) - 1;
    text = utf8::prefix_of(text, room);
    std::memcpy(failure->message, text.data(), text.size());
    failure->message[text.size()] = '\0';
}

// ---------------------------------------------------------------- log, config, thread_check

void log_write(const nar_host* host, uint32_t level, nar_str message) {
    from_any_thread(host, [&](Instance& instance) {
        if (level < NAR_LOG_DEBUG || level > NAR_LOG_ERROR) level = NAR_LOG_INFO;
        std::string line = instance.library().id + ": " + utf8::repaired(view(message));
        if (instance.session().on_engine_thread()) instance.session().log(level, line);
        else instance.inbox().log(level, std::move(line), instance.session().session_id());
        return NAR_OK;
    });
}

// The returned views are valid until deinit has returned, like the instance.
nar_str config_settings(const nar_host* host) {
    nar_str out{"{}", 2};
    from_any_thread(host, [&](Instance& instance) {
        out = {instance.settings().data(), instance.settings().size()};
        return NAR_OK;
    });
    return out;
}

nar_str config_story(const nar_host* host) {
    nar_str out{"", 0};
    from_any_thread(host, [&](Instance& instance) {
        out = {instance.story().folder.data(), instance.story().folder.size()};
        return NAR_OK;
    });
    return out;
}

nar_str config_title(const nar_host* host) {
    nar_str out{"", 0};
    from_any_thread(host, [&](Instance& instance) {
        out = {instance.story().title.data(), instance.story().title.size()};
        return NAR_OK;
    });
    return out;
}

nar_str config_opening(const nar_host* host) {
    nar_str out{"", 0};
    from_any_thread(host, [&](Instance& instance) {
        out = {instance.story().opening.data(), instance.story().opening.size()};
        return NAR_OK;
    });
    return out;
}

nar_status config_publish(const nar_host* host, nar_str name, nar_str value) {
    return on_engine_thread(host, "config.publish", [&](Instance& instance) -> nar_status {
        if (instance.disabled()) return NAR_GONE;
        std::string reason;
        if (instance.published.put(view(name), view(value), reason)) return NAR_OK;
        instance.report("config.publish: " + reason);
        return NAR_INVALID_ARGUMENT;
    });
}

uint32_t thread_check(const nar_host* host) {
    uint32_t out = 0;
    from_any_thread(host, [&](Instance& instance) {
        out = instance.session().on_engine_thread() ? 1 : 0;
        return NAR_OK;
    });
    return out;
}

// ---------------------------------------------------------------- state, assets, prompt

nar_status state_read(const nar_host* host, nar_str pointer, nar_write_fn write, void* user) {
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "state.read", [&](Instance& instance) {
        std::string text;
        const nar_status status = instance.session().read_state(view(pointer), text);
        return status == NAR_OK ? write_out(text, write, user) : status;
    });
}

nar_status state_patch(const nar_host* host, nar_str patch) {
    return on_engine_thread(host, "state.patch", [&](Instance& instance) {
        return instance.session().patch_state(view(patch), instance.library().id);
    });
}

nar_status assets_list(const nar_host* host, nar_write_fn write, void* user) {
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "assets.list", [&](Instance& instance) {
        std::string text;
        instance.session().list_assets(text);
        return write_out(text, write, user);
    });
}

nar_status prompt_submit(const nar_host* host, nar_str text) {
    return on_engine_thread(host, "prompt.submit", [&](Instance& instance) {
        return instance.session().submit_prompt(view(text));
    });
}

nar_status prompt_cancel(const nar_host* host) {
    return on_engine_thread(host, "prompt.cancel", [&](Instance& instance) {
        instance.session().log(NAR_LOG_INFO,
                               "plugin " + instance.library().id + ": cancelled the turn");
        instance.session().cancel();
        return NAR_OK;
    });
}

// ---------------------------------------------------------------- post, timer, poll

nar_status post(const nar_host* host, void (*function)(void*), void (*drop)(void*), void* user) {
    if (function == nullptr) return NAR_INVALID_ARGUMENT;
    return from_any_thread(host, [&](Instance& instance) -> nar_status {
        // Posting from init is allowed, so that a plugin can start its own work. The function runs
        // once the instance is active.
        const bool is_early = instance.phase() == Instance::Phase::Init;
        if (!is_active(instance) && !is_early) return NAR_GONE;
        return instance.inbox().post(instance, {function, drop, user});
    });
}

nar_status timer_start(const nar_host* host, uint32_t milliseconds, void (*on_time)(void*),
                       void* user, uint64_t* timer) {
    if (on_time == nullptr || timer == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "timer.start", [&](Instance& instance) {
        const uint64_t number = ++instance.last_handle;
        auto made = std::make_unique<Timer>(instance.session().loop());
        // Add one millisecond, because the loop's cached time may be stale: a timer must not fire
        // early.
        made->start(milliseconds == 0 ? 0 : uint64_t{milliseconds} + 1,
                    [&instance, number, on_time, user] {
                        const std::unique_ptr<Timer> gone = std::move(instance.timers[number]);
                        instance.timers.erase(number);
                        instance.call("a timer's function", [&] { on_time(user); });
                    });
        instance.timers.emplace(number, std::move(made));
        *timer = number;
        return NAR_OK;
    });
}

nar_status timer_stop(const nar_host* host, uint64_t timer) {
    return on_engine_thread(host, "timer.stop", [&](Instance& instance) {
        return instance.timers.erase(timer) == 1 ? NAR_OK : NAR_NOT_FOUND;
    });
}

// `call` receives the ready events, or NAR_POLL_LOST.
nar_status add_poll(Instance& instance, int32_t descriptor, uint32_t events,
                    std::function<void(uint32_t ready)> call, uint64_t* poll) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) return NAR_INVALID_ARGUMENT;
    if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) return NAR_IO;
    for (const auto& [other, watch] : instance.polls) {
        const bool has_it = watch->running() && watch->descriptor() == descriptor;
        if (has_it && !watch->is_lost()) return NAR_IO;
    }
    const uint64_t number = ++instance.last_handle;
    auto made = std::make_unique<ForeignWatch>(instance.session().loop());
    try {
        made->start(
            descriptor,
            [&instance, number, call] {
                ForeignWatch& watch = *instance.polls.at(number);
                // A disabled plugin never reads the descriptor, which would stay ready and keep the
                // loop busy.
                if (instance.disabled()) return watch.stop();
                instance.call("a poll's function", [&] { call(watch.ready()); });
            },
            [&instance, descriptor, call] {
                instance.report("the descriptor " + std::to_string(descriptor) +
                                " was closed before poll.stop; its poll has ended");
                instance.call("a poll's function", [&] { call(NAR_POLL_LOST); });
            },
            events);
    } catch (const std::system_error&) {
        return NAR_IO;  // the descriptor cannot be polled
    }
    instance.polls.emplace(number, std::move(made));
    *poll = number;
    return NAR_OK;
}

nar_status poll_start(const nar_host* host, int32_t descriptor, void (*on_readable)(void*),
                      void* user, uint64_t* poll) {
    if (on_readable == nullptr || poll == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "poll.start", [&](Instance& instance) {
        return add_poll(
            instance, descriptor, NAR_POLL_READABLE,
            // on_readable() would read a descriptor that is no longer the plugin's, so do not call
            // it.
            [on_readable, user](uint32_t ready) {
                if (ready != NAR_POLL_LOST) on_readable(user);
            },
            poll);
    });
}

static_assert(NAR_POLL_READABLE == kReadable && NAR_POLL_WRITABLE == kWritable);
constexpr uint32_t kPollEvents = NAR_POLL_READABLE | NAR_POLL_WRITABLE;

nar_status poll_watch(const nar_host* host, int32_t descriptor, uint32_t events,
                      void (*on_ready)(void*, uint32_t), void* user, uint64_t* poll) {
    if (on_ready == nullptr || poll == nullptr || (events & ~kPollEvents) != 0) {
        return NAR_INVALID_ARGUMENT;
    }
    return on_engine_thread(host, "poll.watch", [&](Instance& instance) {
        const nar_status status = add_poll(
            instance, descriptor, events,
            [on_ready, user](uint32_t ready) { on_ready(user, ready); }, poll);
        if (status == NAR_OK) instance.watches.insert(*poll);
        return status;
    });
}

nar_status poll_change(const nar_host* host, uint64_t poll, uint32_t events) {
    if ((events & ~kPollEvents) != 0) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "poll.change", [&](Instance& instance) {
        // Polls of poll.start cannot be changed: their callback does not receive the ready events.
        // Polls of a disabled instance do not run.
        const auto found = instance.polls.find(poll);
        if (found == instance.polls.end() || !instance.watches.contains(poll)) {
            return NAR_NOT_FOUND;
        }
        if (!found->second->running()) return found->second->lost() ? NAR_IO : NAR_NOT_FOUND;
        found->second->change(events);
        return NAR_OK;
    });
}

nar_status poll_stop(const nar_host* host, uint64_t poll) {
    return on_engine_thread(host, "poll.stop", [&](Instance& instance) -> nar_status {
        const auto found = instance.polls.find(poll);
        if (found == instance.polls.end()) return NAR_NOT_FOUND;
        const bool was_lost = found->second->lost();
        found->second->stop();
        // Destroyed later, because its own callback may be running.
        std::shared_ptr<ForeignWatch> stopped(std::move(found->second));
        instance.polls.erase(found);
        instance.watches.erase(poll);
        instance.session().loop().defer([stopped] {});
        return was_lost ? NAR_IO : NAR_OK;
    });
}

// ---------------------------------------------------------------- process

nar_status process_start(const nar_host* host, const nar_program* program,
                         const nar_process_events* events, void* user, uint64_t* process,
                         nar_failure* failure) {
    if (program == nullptr || process == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "process.start", [&](Instance& instance) -> nar_status {
        // Disabling the plugin killed its processes; a new one would never be ended.
        if (instance.disabled()) return NAR_GONE;
        nar_program what;
        nar_process_events callbacks;
        std::string why = "the size of a struct is not set";
        nar_status status = NAR_INVALID_ARGUMENT;
        if (read_struct(program, what) && read_struct(events, callbacks)) {
            status = instance.processes.start(what, callbacks, user, process, why);
        }
        if (status != NAR_OK) write_failure(failure, why);
        return status;
    });
}

nar_status process_write(const nar_host* host, uint64_t process, nar_str bytes) {
    return on_engine_thread(host, "process.write", [&](Instance& instance) {
        return instance.processes.write(process, view(bytes));
    });
}

nar_status process_close_input(const nar_host* host, uint64_t process) {
    return on_engine_thread(host, "process.close_input", [&](Instance& instance) {
        return instance.processes.close_input(process);
    });
}

nar_status process_terminate(const nar_host* host, uint64_t process, uint32_t grace_ms) {
    return on_engine_thread(host, "process.terminate", [&](Instance& instance) {
        return instance.processes.terminate(process, grace_ms);
    });
}

nar_status process_release(const nar_host* host, uint64_t process, uint32_t grace_ms) {
    return on_engine_thread(host, "process.release", [&](Instance& instance) {
        return instance.processes.release(process, grace_ms);
    });
}

// ---------------------------------------------------------------- narrator, invocation

nar_status answer(const nar_host* host, uint64_t token, bool is_plan, nar_str text) {
    return from_any_thread(host, [&](Instance& instance) -> nar_status {
        if (!is_active(instance)) return NAR_GONE;
        if (!instance.is_narrator()) {
            instance.report(
                "it replied to a narrator's request, but is not this session's narrator");
            return NAR_GONE;
        }
        const nar_status status =
            instance.session().answer(token, is_plan, std::string(view(text)));
        if (status == NAR_STALE) {
            instance.report("it replied to a request twice; the first reply is used");
        } else if (status == NAR_GONE) {
            instance.report("its reply came too late, or to a request that never existed");
        }
        return status;
    });
}

nar_status narrator_reply(const nar_host* host, uint64_t token, nar_str plan) {
    return answer(host, token, true, plan);
}

nar_status narrator_fail(const nar_host* host, uint64_t token, nar_str message) {
    return answer(host, token, false, message);
}

// ---------------------------------------------------------------- invoke

nar_status invoke_tool(const nar_host* host, uint64_t token, nar_str invocation,
                       void (*on_outcome)(void*, uint64_t, uint64_t, nar_str), void* user,
                       uint64_t* number, nar_failure* failure) {
    if (on_outcome == nullptr) {
        write_failure(failure, "on_outcome must not be NULL");
        return NAR_INVALID_ARGUMENT;
    }
    return on_engine_thread(host, "invoke.invoke", [&](Instance& instance) -> nar_status {
        std::string why = "the plugin is disabled";
        nar_status status = NAR_GONE;
        uint64_t its_number = 0;
        if (!instance.is_narrator()) {
            why = "only this session's narrator may invoke tools";
            instance.report("it invoked a tool, but is not this session's narrator");
        } else if (!instance.disabled()) {
            // The captured instance is valid: instances outlive all questions.
            auto tell = [&instance, on_outcome, user, token](uint64_t its, std::string_view text) {
                instance.call("the function for an invocation's outcome", [&] {
                    on_outcome(user, token, its, {text.data(), text.size()});
                });
            };
            status = instance.session().invoke(token, view(invocation), tell, its_number, why);
        }
        if (status != NAR_OK) write_failure(failure, why);
        else if (number != nullptr) *number = its_number;
        return status;
    });
}

nar_status invoke_cancel(const nar_host* host, uint64_t token, uint64_t number) {
    return on_engine_thread(host, "invoke.cancel", [&](Instance& instance) -> nar_status {
        if (!instance.is_narrator()) return NAR_GONE;
        return instance.session().cancel_invocation(token, number);
    });
}

// ---------------------------------------------------------------- context

// Delivers the tool's output so far, and finds its receiver.
nar_status deliver_output(Instance& instance, uint64_t token, InvocationReceiver*& receiver,
                          std::string& why) {
    Inbox& inbox = instance.inbox();
    Inbox::Found found = inbox.find(&instance, token);
    if (found.status == NAR_OK) {
        if (instance.session().is_publishing() ||
            static_cast<InvocationReceiver*>(found.receiver)->is_delivering()) {
            why = "an event is being handled; post the call (narratoria.post/1)";
            return NAR_REENTRANT;
        }
        inbox.deliver_output(token);
        found = inbox.find(&instance, token);
    }
    if (found.status != NAR_OK) {
        why = found.status == NAR_INVALID_ARGUMENT ? kAnswersAtOnce
                                                   : "the invocation has ended, or never existed";
        return found.status;
    }
    receiver = static_cast<InvocationReceiver*>(found.receiver);
    return NAR_OK;
}

// Delivers the invocation's output so far, so that a following write takes effect after it. `apply`
// then applies the patch; it stays empty for token 0.
nar_status begin_write(Instance& instance, uint64_t token, ApplyPatch& apply, std::string& why) {
    if (instance.disabled()) {
        why = "the plugin is disabled";
        return NAR_GONE;
    }
    if (token == 0) return NAR_OK;
    InvocationReceiver* receiver = nullptr;
    const nar_status status = deliver_output(instance, token, receiver, why);
    if (status != NAR_OK) return status;
    apply = [receiver](const state::Replacement& patch, std::string& reason) {
        return receiver->on_patch(patch, reason);
    };
    return NAR_OK;
}

nar_status context_deliver_output(const nar_host* host, uint64_t token) {
    return on_engine_thread(host, "context.deliver_output", [&](Instance& instance) {
        InvocationReceiver* receiver = nullptr;
        std::string why;
        return deliver_output(instance, token, receiver, why);
    });
}

// Calls `set` with the given metadata, if any. If `set` succeeds, the session owns the metadata.
template <typename Set>
nar_status with_metadata(Instance& instance, const nar_state_metadata* given, std::string& why,
                         Set&& set) {
    nar_state_metadata read;
    if (!read_struct(given, read)) {
        why = "the size of the metadata is not set";
        return NAR_INVALID_ARGUMENT;
    }
    if (given == nullptr) return set(std::nullopt);
    // The instance outlives the calls: the session clears all metadata before it destroys
    // instances.
    const auto call = [&instance](const auto& function) {
        instance.call("a formatter of the state", function);
    };
    const auto release = [&instance](const auto& function) {
        instance.call_always("the release of a formatter", function);
    };
    GivenMetadata metadata(read, call, release);
    const nar_status status = set(metadata.description());
    if (status == NAR_OK) metadata.keep();
    return status;
}

nar_status context_set_state(const nar_host* host, uint64_t token, nar_str key, nar_str value,
                             const nar_state_metadata* metadata, nar_failure* failure) {
    return on_engine_thread(host, "context.set_state", [&](Instance& instance) {
        std::string why;
        ApplyPatch apply;
        nar_status status = begin_write(instance, token, apply, why);
        if (status == NAR_OK) {
            status = with_metadata(instance, metadata, why, [&](auto description) {
                return instance.session().set_state(view(key), view(value), std::move(description),
                                                    apply, instance.library().id, why);
            });
        }
        if (status != NAR_OK) write_failure(failure, why);
        return status;
    });
}

nar_status context_clear_state(const nar_host* host, uint64_t token, nar_failure* failure) {
    return on_engine_thread(host, "context.clear_state", [&](Instance& instance) {
        std::string why;
        ApplyPatch apply;
        nar_status status = begin_write(instance, token, apply, why);
        if (status == NAR_OK) {
            status = instance.session().clear_state(apply, instance.library().id, why);
        }
        if (status != NAR_OK) write_failure(failure, why);
        return status;
    });
}

nar_status context_register(const nar_host* host, nar_str key, const nar_state_metadata* metadata,
                            nar_failure* failure) {
    return on_engine_thread(host, "context.register_state_metadata", [&](Instance& instance) {
        std::string why = "the plugin is disabled";
        nar_status status = NAR_GONE;
        if (!instance.disabled()) {
            why.clear();
            status = with_metadata(instance, metadata, why, [&](auto description) {
                return instance.session().register_state_metadata(view(key), std::move(description),
                                                                  why);
            });
        }
        if (status != NAR_OK) write_failure(failure, why);
        return status;
    });
}

nar_status read_key(Instance& instance, nar_str key, std::string& text) {
    std::string pointer;
    json::append_pointer(pointer, view(key));
    return instance.session().read_state(pointer, text);
}

nar_status context_get(const nar_host* host, nar_str key, nar_write_fn write, void* user) {
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "context.get_state_value", [&](Instance& instance) {
        std::string text;
        const nar_status status = read_key(instance, key, text);
        return status == NAR_OK ? write_out(text, write, user) : status;
    });
}

nar_status context_has(const nar_host* host, nar_str key) {
    return on_engine_thread(host, "context.has_state", [&](Instance& instance) {
        std::string text;
        return read_key(instance, key, text);
    });
}

nar_status context_get_all(const nar_host* host, nar_write_fn write, void* user) {
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "context.get_all_state", [&](Instance& instance) {
        std::string text;
        const nar_status status = instance.session().read_state("", text);
        return status == NAR_OK ? write_out(text, write, user) : status;
    });
}

nar_status context_get_metadata(const nar_host* host, nar_str key, nar_write_fn write, void* user) {
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(
        host, "context.get_state_metadata", [&](Instance& instance) -> nar_status {
            const auto found = instance.session().state_metadata().find(view(key));
            if (found == nullptr) return NAR_NOT_FOUND;
            std::string text;
            state::Metadata::append_json(text, *found);
            return write_out(text, write, user);
        });
}

nar_status context_get_all_metadata(const nar_host* host, nar_write_fn write, void* user) {
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "context.get_all_state_metadata", [&](Instance& instance) {
        std::string text;
        instance.session().state_metadata().append_json(text);
        return write_out(text, write, user);
    });
}

nar_status context_format(const nar_host* host, nar_write_fn write, void* user) {
    if (write == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "context.format_state_for_prompt", [&](Instance& instance) {
        std::string text;
        instance.session().format_state_for_prompt(text);
        return write_out(text, write, user);
    });
}

nar_status invocation_output(const nar_host* host, uint64_t token, nar_str bytes) {
    return from_any_thread(host, [&](Instance& instance) {
        return instance.inbox().send_output(&instance, token, view(bytes));
    });
}

nar_status invocation_diagnostics(const nar_host* host, uint64_t token, nar_str bytes) {
    return from_any_thread(host, [&](Instance& instance) {
        return instance.inbox().send_diagnostics(&instance, token, view(bytes));
    });
}

bool says_nothing(const nar_invocation_end& end) {
    return end.exit_status == 0 && end.error_code.size == 0 && end.error.size == 0 &&
           end.user_us == 0 && end.system_us == 0 && end.resident_kb == 0;
}

nar_status note_end(Instance& instance, nar_status status) {
    if (status == NAR_STALE) instance.report("it ended an invocation twice");
    return status;
}

nar_status invocation_ended(const nar_host* host, uint64_t token, const nar_invocation_end* end) {
    return from_any_thread(host, [&](Instance& instance) {
        nar_invocation_end given;
        read_struct(end, given);  // size 0: all fields are zero
        if (says_nothing(given)) {
            const auto status =
                instance.inbox().end_held(&instance, token, view(given.last_output));
            if (status) return note_end(instance, *status);
        }
        InvocationEnd taken;
        taken.exit_status = given.exit_status;
        taken.error_code = utf8::repaired(view(given.error_code));
        taken.error = utf8::repaired(view(given.error));
        taken.user_us = given.user_us;
        taken.system_us = given.system_us;
        taken.resident_kb = given.resident_kb;
        return note_end(instance, instance.inbox().send_end(&instance, token, std::move(taken),
                                                            view(given.last_output)));
    });
}

nar_status invocation_run(const nar_host* host, uint64_t token, const nar_command* command) {
    if (command == nullptr) return NAR_INVALID_ARGUMENT;
    return on_engine_thread(host, "invocation.run", [&](Instance& instance) -> nar_status {
        nar_command given;
        if (!read_struct(command, given) || given.arguments == nullptr ||
            given.argument_count == 0 || given.argument_count > 100000) {
            return NAR_INVALID_ARGUMENT;
        }
        std::vector<std::string> arguments;
        for (uint64_t i = 0; i < given.argument_count; ++i) {
            const std::string_view argument = view(given.arguments[i]);
            if (argument.find('\0') != std::string_view::npos) return NAR_INVALID_ARGUMENT;
            arguments.emplace_back(argument);
        }
        if (arguments.front().empty()) return NAR_INVALID_ARGUMENT;
        const Inbox::Found found = instance.inbox().find(&instance, token);
        if (found.status != NAR_OK) return found.status;
        if (found.has_output) return NAR_INVALID_ARGUMENT;
        // Deliver earlier diagnostics first, because on_run() closes the token.
        instance.inbox().deliver_diagnostics(token);
        return static_cast<InvocationReceiver*>(found.receiver)->on_run(std::move(arguments));
    });
}

// ----------------------------------------------------------------

constexpr nar_host_log kLog{sizeof(nar_host_log), 0, log_write};
constexpr nar_host_config kConfig{
    sizeof(nar_host_config), 0, config_settings, config_story, config_title, config_opening,
    config_publish};
constexpr nar_host_thread_check kThreadCheck{sizeof(nar_host_thread_check), 0, thread_check};
constexpr nar_host_state kState{sizeof(nar_host_state), 0, state_read, state_patch};
constexpr nar_host_context kContext{sizeof(nar_host_context),
                                    0,
                                    context_set_state,
                                    context_get,
                                    context_has,
                                    context_get_all,
                                    context_clear_state,
                                    context_get_metadata,
                                    context_get_all_metadata,
                                    context_register,
                                    context_format,
                                    context_deliver_output};
constexpr nar_host_assets kAssets{sizeof(nar_host_assets), 0, assets_list};
constexpr nar_host_prompt kPrompt{sizeof(nar_host_prompt), 0, prompt_submit, prompt_cancel};
constexpr nar_host_post kPost{sizeof(nar_host_post), 0, post};
constexpr nar_host_timer kTimer{sizeof(nar_host_timer), 0, timer_start, timer_stop};
constexpr nar_host_poll kPoll{
    sizeof(nar_host_poll), 0, poll_start, poll_stop, poll_watch, poll_change};
constexpr nar_host_process kProcess{sizeof(nar_host_process),
                                    0,
                                    process_start,
                                    process_write,
                                    process_close_input,
                                    process_terminate,
                                    process_release};
constexpr nar_host_narrator kNarrator{sizeof(nar_host_narrator), 0, narrator_reply, narrator_fail};
constexpr nar_host_invoke kInvoke{sizeof(nar_host_invoke), 0, invoke_tool, invoke_cancel};
constexpr nar_host_invocation kInvocation{sizeof(nar_host_invocation),
                                          0,
                                          invocation_output,
                                          invocation_diagnostics,
                                          invocation_ended,
                                          invocation_run};

const void* get_extension(const nar_host*, nar_str id) {
    static constexpr struct {
        std::string_view id;
        const void* functions;
    } kExtensions[] = {
        {NAR_HOST_LOG, &kLog},
        {NAR_HOST_CONFIG, &kConfig},
        {NAR_HOST_THREAD_CHECK, &kThreadCheck},
        {NAR_HOST_STATE, &kState},
        {NAR_HOST_CONTEXT, &kContext},
        {NAR_HOST_ASSETS, &kAssets},
        {NAR_HOST_PROMPT, &kPrompt},
        {NAR_HOST_POST, &kPost},
        {NAR_HOST_TIMER, &kTimer},
        {NAR_HOST_POLL, &kPoll},
        {NAR_HOST_PROCESS, &kProcess},
        {NAR_EXTENSION_NARRATOR, &kNarrator},
        {NAR_HOST_INVOKE, &kInvoke},
        {NAR_HOST_INVOCATION, &kInvocation},
    };
    const std::string_view wanted = view(id);
    for (const auto& each : kExtensions) {
        if (each.id == wanted) return each.functions;
    }
    return nullptr;
}

}  // namespace

HostHandle* make_host(Instance& instance) {
    auto* handle = new HostHandle(get_extension);
    handle->made_under = fork_count();
    handle->instance = &instance;
    return handle;
}

void with_host_locked(HostHandle* handle, const std::function<void()>& body) {
    const std::lock_guard lock(handle->mutex);
    body();
}

const nar_host* host_of(const HostHandle* handle) { return handle->host.get(); }

SessionAccess& session_of(const nar_host* host) { return handle_of(host)->instance->session(); }

void retire_host(HostHandle* handle) {
    {
        const std::lock_guard lock(handle->mutex);
        handle->instance = nullptr;
    }
    // A fixed array, because ~Instance() calls this and must not allocate. Neither object has a
    // destructor, so threads can still call in while the process exits.
    static std::mutex mutex;
    static std::array<HostHandle*, kKept> kept{};
    static size_t next = 0;
    const std::lock_guard lock(mutex);
    delete std::exchange(kept[next], handle);
    next = (next + 1) % kKept;
}

}  // namespace narratoria::plugin
