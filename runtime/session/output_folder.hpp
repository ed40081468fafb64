// SPDX-License-Identifier: Apache-2.0
#pragma once
// The folder for the files that a session's tools create. Tools find it in NARRATORIA_OUTPUT_DIR.

#include <memory>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"

namespace narratoria::session {

// Created in a base folder that belongs to the user and that no other user may enter, so that no
// other user can replace it by a link. Removed by the destructor, except after keep(). The folder
// is locked (flock) while this object exists; without a lock, remove_abandoned() knows that its
// host was killed. Not thread-safe.
class OutputFolder {
public:
    // narratoria-UID in TMPDIR, or in /tmp.
    static std::string default_base();

    // Returns NULL and a reason on failure. `base`: an absolute path, or empty for default_base();
    // it is created if it does not exist. `may_be_kept`: the folder's name tells remove_abandoned()
    // to keep it for a day.
    static std::unique_ptr<OutputFolder> create(std::string base, std::string_view session_id,
                                                bool may_be_kept, std::string& why);
    ~OutputFolder();
    OutputFolder(const OutputFolder&) = delete;
    OutputFolder& operator=(const OutputFolder&) = delete;

    const std::string& path() const { return path_; }
    // True if the absolute path `file` is in the folder.
    bool holds(std::string_view file) const;
    void keep() { is_kept_ = true; }

    // Removes the folders of hosts that no longer run: kept ones a day after their last change, the
    // others after ten seconds. Returns the number of entries left in `base`.
    static size_t remove_abandoned(const std::string& base);

private:
    static void remove_abandoned_sometimes(const std::string& base);

    OutputFolder(std::string base, std::string path, Descriptor lock, bool owns_base)
        : base_(std::move(base)),
          path_(std::move(path)),
          lock_(std::move(lock)),
          owns_base_(owns_base) {}

    std::string base_;
    std::string path_;
    Descriptor lock_;
    bool owns_base_;  // the default one, which is removed when it is empty
    bool is_kept_ = false;
};

}  // namespace narratoria::session
