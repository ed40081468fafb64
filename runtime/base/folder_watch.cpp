// SPDX-License-Identifier: Apache-2.0
#include "base/folder_watch.hpp"

#include <uv.h>

#include <memory>
#include <utility>

#include "base/descriptor.hpp"

namespace narratoria {

struct FolderWatch::Handle {
    uv_fs_event_t event;
    Loop* loop;
    std::function<void(std::string_view name)> on_change;
};

int FolderWatch::start(const std::string& folder,
                       std::function<void(std::string_view name)> on_change) {
    stop();
    auto handle = std::make_unique<Handle>(Handle{{}, &loop_, std::move(on_change)});
    // The first watch of a loop opens a descriptor.
    const StandardStreamsGuard taken;
    // libuv's error codes are negated errno values.
    if (const int status = uv_fs_event_init(loop_.uv(), &handle->event); status < 0) return -status;
    handle_ = handle.release();
    handle_->event.data = handle_;
    const int status = uv_fs_event_start(
        &handle_->event,
        [](uv_fs_event_t* event, const char* name, int, int failure) {
            auto* its = static_cast<Handle*>(event->data);
            if (failure < 0 || name == nullptr) return;
            its->loop->guard([&] { its->on_change(name); });
        },
        folder.c_str(), 0);
    if (status < 0) stop();
    return status < 0 ? -status : 0;
}

void FolderWatch::stop() {
    if (handle_ == nullptr) return;
    uv_close(reinterpret_cast<uv_handle_t*>(&handle_->event),
             [](uv_handle_t* closed) { delete static_cast<Handle*>(closed->data); });
    handle_ = nullptr;
}

}  // namespace narratoria
