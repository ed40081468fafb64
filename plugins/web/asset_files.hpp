// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which file each asset event announced, and what tells whether that file is still there.

#include <narratoria/host_session.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace narratoria::web {

// What tells one file from another, and from itself after a change. The time of the last change of
// its inode (ctime) is part of it: no program sets it, so a file that was written to and given its
// old modification time is another one. So is one that was renamed, linked or made readable since.
struct FileIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = -1;  // -1: there was no such file
    timespec modified{};
    timespec changed{};
    bool is_link = false;

    static FileIdentity of(const char* path) noexcept;
    bool is(const struct stat& status) const noexcept;
};

struct AssetFile {
    std::string path;
    std::string media_type;
    FileIdentity identity;
};

// Of one session, on its engine thread.
class AssetFiles {
public:
    // Writes the host's registry of assets, a JSON array, piece by piece.
    using List = std::function<nar_status(nar_write_fn write, void* user)>;
    // Calls a function once all have been told of the event that is being told.
    using Post = std::function<void(const std::function<void()>& function)>;

    AssetFiles(List list, Post post);
    AssetFiles(const AssetFiles&) = delete;

    // A tool told of an asset; `body` is its event. Only one of a later attempt can replace what the
    // registry had.
    void came(std::uint64_t number, std::uint32_t attempt, std::string_view body);

    // The file of the event with that number, if the registry has it. Valid until the next call.
    const AssetFile* find(std::string_view number);

    // Events that the registry was not read for yet. At most 1,024, or as many as the registry has.
    std::size_t unread() const noexcept { return seen_.size(); }

private:
    void read_soon();
    void read_registry();

    const List list_;
    const Post post_;
    bool has_news_ = true;
    // What was read of the registry so far still stands in it.
    bool is_known_ = false;
    // How much of its text that was, without the closing bracket.
    std::size_t read_ = 0;
    std::map<std::uint64_t, AssetFile> files_;
    // The registry will be read from the loop.
    bool reads_soon_ = false;
    // Of the events that the registry was not read for yet.
    std::map<std::uint64_t, FileIdentity> seen_;
};

}  // namespace narratoria::web
