// SPDX-License-Identifier: Apache-2.0
#include "plugin/host_functions.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/bytes/utf8.hpp"
#include "base/fork_count.hpp"
#include "base/given_struct.hpp"
#include "base/view.hpp"
#include "plugin/host_call.hpp"
#include "plugin/host_services.hpp"

namespace narratoria::plugin {
namespace {

// The number of retired handles that are kept.
constexpr size_t kKept = 256;

const void* get_extension(const nar_host*, nar_str id) {
    static constexpr struct {
        std::string_view id;
        const void* functions;
    } kExtensions[] = {
        {NAR_HOST_LOG, &log_service},
        {NAR_HOST_CONFIG, &config_service},
        {NAR_HOST_THREAD_CHECK, &thread_check_service},
        {NAR_HOST_STATE, &state_service},
        {NAR_HOST_CONTEXT, &context_service},
        {NAR_HOST_ASSETS, &assets_service},
        {NAR_HOST_PROMPT, &prompt_service},
        {NAR_HOST_TURNS, &turns_service},
        {NAR_HOST_RENDER, &render_service},
        {NAR_HOST_POST, &post_service},
        {NAR_HOST_TIMER, &timer_service},
        {NAR_HOST_POLL, &poll_service},
        {NAR_HOST_PROCESS, &process_service},
        {NAR_HOST_HTTP, &http_service},
        {NAR_EXTENSION_NARRATOR, &narrator_service},
        {NAR_HOST_INVOKE, &invoke_service},
        {NAR_HOST_INVOCATION, &invocation_service},
    };
    const std::string_view wanted = view(id);
    for (const auto& each : kExtensions) {
        if (each.id == wanted) return each.functions;
    }
    return nullptr;
}

}  // namespace

void write_failure(nar_failure* failure, std::string_view text) {
    if (failure == nullptr || failure->size < kFirstSize<nar_failure>) return;
    text = utf8::prefix_of(text, sizeof failure->message - 1);
    std::memcpy(failure->message, text.data(), text.size());
    failure->message[text.size()] = '\0';
}

HostHandle* make_host(Instance& instance) {
    auto* handle = new HostHandle(get_extension, instance.session());
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
