// SPDX-License-Identifier: Apache-2.0
#pragma once
// The file that each asset event announced, and its identity at that time.

#include <narratoria/host_session.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace narratoria::web {

// Distinguishes a file from other files and from later versions of itself. It contains the time of
// the last inode change (ctime), which programs cannot set, so a write is detected even if the
// modification time was restored. A rename, a new link or changed permissions count as a change,
// too.
struct FileIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = -1;  // -1: no such regular file
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

// The files of one session. Used on the engine's thread.
class AssetFiles {
public:
    // Writes the host's asset registry, a JSON array, piece by piece.
    using List = std::function<nar_status(nar_write_fn write, void* user)>;
    // Calls a function from the loop, when the current event has been delivered to all sinks.
    using Post = std::function<void(const std::function<void()>& function)>;

    AssetFiles(List list, Post post);
    AssetFiles(const AssetFiles&) = delete;

    // Must be called for each asset event; `body` is the tool's event. Only an event of a later
    // attempt (`attempt` > 1) can replace entries of the registry.
    void on_asset(std::uint64_t number, std::uint32_t attempt, std::string_view body);

    // Reads the registry now, so that a move does not lose the files that it has.
    void read() {
        if (!is_known_ || has_unread_) read_registry();
    }

    // Must be called when the session has gone to another turn, which replaces the registry. The
    // files that were read before stay known, for the turns that were undone.
    void on_move();

    // The file of the event with that number, or null if the registry does not have it and did not
    // when it was last read before a move. Valid until the next call.
    const AssetFile* find(std::string_view number);

    // The number of events since the registry was last read. At most 1,024, or the number of the
    // registry's entries if that is larger.
    std::size_t unread() const noexcept { return seen_.size(); }

private:
    void read_soon();
    void read_registry();

    const List list_;
    const Post post_;
    bool has_unread_ = true;
    // The part of the registry that was read is still valid: entries were only appended.
    bool is_known_ = false;
    // The size of that part, without the closing bracket.
    std::size_t read_ = 0;
    std::map<std::uint64_t, AssetFile> files_;
    // Files that the registry had before the session moved.
    std::map<std::uint64_t, AssetFile> past_;
    // A read of the registry is posted to the loop.
    bool reads_soon_ = false;
    // The files of events since the registry was last read.
    std::map<std::uint64_t, FileIdentity> seen_;
};

}  // namespace narratoria::web
