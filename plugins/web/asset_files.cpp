// SPDX-License-Identifier: Apache-2.0
#include "web/asset_files.hpp"

#include <rapidjson/document.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace narratoria::web {
namespace {

constexpr std::size_t kMostUnread = 1024;

// Collects the part of a text after offset `from`, without copying what is known already.
struct ListSuffix {
    std::size_t from;
    std::size_t size;
    std::string text;

    static nar_status write(void* user, nar_str piece) noexcept {
        auto& self = *static_cast<ListSuffix*>(user);
        const std::size_t known =
            std::min(piece.size, self.from - std::min<std::size_t>(self.from, self.size));
        self.size += piece.size;
        try {
            self.text.append(piece.data + known, piece.size - known);
            return NAR_OK;
        } catch (...) {
            return NAR_OUT_OF_MEMORY;
        }
    }
};

std::string text_in(const rapidjson::Value& object, const char* name) {
    const auto member = object.FindMember(name);
    if (member == object.MemberEnd() || !member->value.IsString()) return {};
    return {member->value.GetString(), member->value.GetStringLength()};
}

}  // namespace

FileIdentity FileIdentity::of(const char* path) noexcept {
    FileIdentity identity;
    struct stat status {};
    if (::lstat(path, &status) != 0) return identity;
    identity.is_link = S_ISLNK(status.st_mode);
    if (identity.is_link && ::stat(path, &status) != 0) return identity;
    if (!S_ISREG(status.st_mode)) return identity;
    identity.device = status.st_dev;
    identity.inode = status.st_ino;
    identity.size = status.st_size;
    identity.modified = status.st_mtim;
    identity.changed = status.st_ctim;
    return identity;
}

bool FileIdentity::is(const struct stat& status) const noexcept {
    const auto is_same = [](const timespec& one, const timespec& other) {
        return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
    };
    return S_ISREG(status.st_mode) && status.st_dev == device && status.st_ino == inode &&
           status.st_size == size && is_same(status.st_mtim, modified) &&
           is_same(status.st_ctim, changed);
}

AssetFiles::AssetFiles(List list, Post post) : list_(std::move(list)), post_(std::move(post)) {}

// Only the registry can resolve a relative path, and it has the asset only after this event was
// delivered to all sinks. Such a file is identified when the registry is read.
void AssetFiles::on_asset(std::uint64_t number, std::uint32_t attempt, std::string_view body) {
    has_unread_ = true;
    if (attempt > 1) is_known_ = false;
    rapidjson::Document event;
    event.Parse<rapidjson::kParseIterativeFlag>(body.data(), body.size());
    if (event.HasParseError() || !event.IsObject()) return;
    const std::string path = text_in(event, "path");
    const bool is_absolute = path.starts_with('/');
    if (is_absolute) seen_[number] = FileIdentity::of(path.c_str());
    // Reads rarely, because the cost grows with the size of the registry.
    if (!is_absolute || seen_.size() >= std::max(kMostUnread, files_.size())) read_soon();
}

void AssetFiles::on_move() {
    past_.merge(files_);
    files_.clear();
    seen_.clear();
    is_known_ = false;
    has_unread_ = true;
}

void AssetFiles::read_soon() {
    if (reads_soon_) return;
    post_([this] {
        reads_soon_ = false;
        if (has_unread_) read_registry();
    });
    reads_soon_ = true;
}

// The registry is a list, oldest first. Unless an entry is replaced, its text only grows, so only
// the new part has to be parsed.
void AssetFiles::read_registry() {
    ListSuffix list{is_known_ && read_ > 1 ? read_ : 0, 0, {}};
    if (list_(&ListSuffix::write, &list) != NAR_OK) {
        throw std::runtime_error("the host does not list its assets");
    }
    if (list.from > 0 && list.text.starts_with(',')) {
        list.text.front() = '[';
    } else if (list.from > 0 && list.text == "]") {
        list.text = "[]";
    } else if (list.from > 0) {
        // The list was not only appended to: read all of it.
        is_known_ = false;
        read_registry();
        return;
    }
    std::map<std::uint64_t, AssetFile> before;
    if (list.from == 0) before.swap(files_);
    rapidjson::Document assets;
    assets.Parse<rapidjson::kParseIterativeFlag>(list.text.data(), list.text.size());
    if (!assets.HasParseError() && assets.IsArray()) {
        for (const rapidjson::Value& asset : assets.GetArray()) {
            if (!asset.IsObject()) continue;
            const auto seq = asset.FindMember("seq");
            if (seq == asset.MemberEnd() || !seq->value.IsUint64()) continue;
            const std::uint64_t number = seq->value.GetUint64();
            std::string path = text_in(asset, "path");
            const auto known = before.find(number);
            const auto past = past_.find(number);
            const auto seen = seen_.find(number);
            FileIdentity identity;
            if (known != before.end()) identity = known->second.identity;
            else if (past != past_.end()) identity = past->second.identity;
            else if (seen != seen_.end()) identity = seen->second;
            else identity = FileIdentity::of(path.c_str());
            files_[number] = {std::move(path), text_in(asset, "mediaType"), identity};
        }
    }
    seen_.clear();
    read_ = list.size > 0 ? list.size - 1 : 0;
    is_known_ = true;
    has_unread_ = false;
}

const AssetFile* AssetFiles::find(std::string_view name) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size()) return nullptr;
    if (!is_known_ || (has_unread_ && !files_.contains(number))) read_registry();
    if (const auto found = files_.find(number); found != files_.end()) return &found->second;
    const auto past = past_.find(number);
    return past == past_.end() ? nullptr : &past->second;
}

}  // namespace narratoria::web
