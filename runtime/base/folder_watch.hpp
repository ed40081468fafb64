// SPDX-License-Identifier: Apache-2.0
#pragma once
// Watches the entries of a folder.

#include <functional>
#include <string>
#include <string_view>

#include "base/loop.hpp"

namespace narratoria {

// Calls back when an entry of a folder was created, written, renamed or removed, with its name. One
// change can cause several calls. Subfolders are not watched. The watch ends silently if the folder
// itself is removed. Uses inotify through libuv; no thread. The destructor stops it; do not stop it
// in its callback. Engine thread only; the loop must outlive it.
class FolderWatch {
public:
    explicit FolderWatch(Loop& loop) : loop_(loop) {}
    ~FolderWatch() { stop(); }
    FolderWatch(const FolderWatch&) = delete;
    FolderWatch& operator=(const FolderWatch&) = delete;

    // Returns 0, or the errno if the folder cannot be watched.
    int start(const std::string& folder, std::function<void(std::string_view name)> on_change);
    void stop();

private:
    struct Handle;

    Loop& loop_;
    Handle* handle_ = nullptr;
};

}  // namespace narratoria
