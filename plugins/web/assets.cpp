// SPDX-License-Identifier: Apache-2.0
#include "web/assets.hpp"

#include <fcntl.h>
#include <rapidjson/document.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "web/range.hpp"

namespace narratoria::web {
namespace {

// Whatever a file says it is, nothing in it runs, and nothing is fetched for it.
constexpr const char* kPolicy =
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self'";
// A browser that opens sound or a film in a tab of its own makes a page around it, which in a sandbox
// would be of another origin, and could not load what it shows. There are no scripts in such files.
constexpr const char* kPolicyOfMedia =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self'";

class FileSource final : public BodySource {
public:
    explicit FileSource(int file) : file_(file) {}
    FileSource(const FileSource&) = delete;
    ~FileSource() override { ::close(file_); }

    void take_part(std::uint64_t first, std::uint64_t count) {
        at_ = first;
        left_ = count;
    }

    ssize_t read(char* buffer, std::size_t room) noexcept override {
        if (left_ == 0) return MHD_CONTENT_READER_END_OF_STREAM;
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(room, left_));
        ssize_t got = 0;
        do {
            got = ::pread(file_, buffer, count, static_cast<off_t>(at_));
        } while (got < 0 && errno == EINTR);
        // It has become shorter than was promised: the connection is broken off, so that the
        // browser does not take it for whole.
        if (got <= 0) return MHD_CONTENT_READER_END_WITH_ERROR;
        at_ += static_cast<std::uint64_t>(got);
        left_ -= static_cast<std::uint64_t>(got);
        return got;
    }

private:
    const int file_;
    std::uint64_t at_ = 0;
    std::uint64_t left_ = 0;
};

// What a tool says goes into a header only if it can do no harm there.
std::string safe_media_type(std::string_view type) {
    const bool is_safe = !type.empty() && type.size() <= 200 &&
                         std::all_of(type.begin(), type.end(),
                                     [](char letter) { return letter >= 0x20 && letter < 0x7F; });
    return is_safe ? std::string(type) : "application/octet-stream";
}

// In small letters, without its parameters.
std::string plain_type(std::string_view type) {
    std::string lower(type.substr(0, type.find(';')));
    for (char& letter : lower) {
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    while (lower.ends_with(' ')) lower.pop_back();
    return lower;
}

bool is_media(const std::string& type) {
    return type.starts_with("audio/") || type.starts_with("video/");
}

// A browser shows these itself; the rest it may keep as a file.
bool is_shown(const std::string& type) {
    return type == "text/plain" || type.starts_with("image/") || type.starts_with("model/") ||
           is_media(type);
}

std::string file_name_for_header(std::string_view path) {
    std::string name(path.substr(path.rfind('/') + 1));
    for (char& letter : name) {
        const bool is_plain = (letter >= 'a' && letter <= 'z') ||
                              (letter >= 'A' && letter <= 'Z') ||
                              (letter >= '0' && letter <= '9') || letter == '.' || letter == '-';
        if (!is_plain) letter = '_';
    }
    return name;
}

std::string tag_of(const struct stat& status) {
    return '"' + std::to_string(status.st_ino) + '-' + std::to_string(status.st_size) + '-' +
           std::to_string(status.st_mtim.tv_sec) + '.' + std::to_string(status.st_mtim.tv_nsec) +
           '"';
}

Response no_such_asset() {
    return Response::problem(404, "NO_SUCH_ASSET",
                             "there is no such asset, or a later attempt has replaced it");
}

Response cannot_be_read() {
    return Response::problem(404, "ASSET_UNREADABLE",
                             "the asset's file is gone, or can no longer be read");
}

Response has_changed() {
    return Response::problem(
        410, "ASSET_CHANGED",
        "the asset's file is no longer the one that the tool announced: it was "
        "replaced or written to since");
}

// The part of a text behind a place, so that what is known already is not even copied.
struct Behind {
    std::size_t from;
    std::size_t size;
    std::string text;

    static nar_status write(void* user, nar_str piece) noexcept {
        auto& self = *static_cast<Behind*>(user);
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

Assets::Identity Assets::Identity::of(const char* path) noexcept {
    Identity identity;
    struct stat status {};
    if (::lstat(path, &status) != 0) return identity;
    identity.is_link = S_ISLNK(status.st_mode);
    if (identity.is_link && ::stat(path, &status) != 0) return identity;
    if (!S_ISREG(status.st_mode)) return identity;
    identity.device = status.st_dev;
    identity.inode = status.st_ino;
    identity.size = status.st_size;
    identity.changed = status.st_mtim;
    return identity;
}

bool Assets::Identity::is(const struct stat& status) const noexcept {
    return S_ISREG(status.st_mode) && status.st_dev == device && status.st_ino == inode &&
           status.st_size == size && status.st_mtim.tv_sec == changed.tv_sec &&
           status.st_mtim.tv_nsec == changed.tv_nsec;
}

// A relative path is the registry's to resolve, which has the asset once this event was told to all:
// such a file is identified then.
void Assets::came(const plugin::Event& event) {
    has_news_ = true;
    if (event.attempt() > 1) is_known_ = false;
    rapidjson::Document body;
    body.Parse<rapidjson::kParseIterativeFlag>(event.body().data(), event.body().size());
    if (body.HasParseError() || !body.IsObject()) return;
    const std::string path = text_in(body, "path");
    if (path.starts_with('/')) {
        seen_[event.seq()] = Identity::of(path.c_str());
    } else if (!std::exchange(reads_soon_, true)) {
        host_.post([this] {
            reads_soon_ = false;
            if (has_news_) read_registry();
        });
    }
}

// The registry is a list, oldest first: while nothing is replaced its text only becomes longer, and
// only the new part has to be understood.
void Assets::read_registry() {
    Behind list{is_known_ && read_ > 1 ? read_ : 0, 0, {}};
    const auto* functions = static_cast<const nar_host_assets*>(
        host_.raw()->get_extension(host_.raw(), {NAR_HOST_ASSETS, sizeof NAR_HOST_ASSETS - 1}));
    if (functions == nullptr || functions->list(host_.raw(), &Behind::write, &list) != NAR_OK) {
        throw std::runtime_error("the host does not list its assets");
    }
    if (list.from > 0 && list.text.starts_with(',')) {
        list.text.front() = '[';
    } else if (list.from > 0 && list.text == "]") {
        list.text = "[]";
    } else if (list.from > 0) {
        // It is another list.
        is_known_ = false;
        read_registry();
        return;
    }
    std::map<std::uint64_t, File> before;
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
            const auto seen = seen_.find(number);
            Identity identity;
            if (known != before.end()) identity = known->second.identity;
            else if (seen != seen_.end()) identity = seen->second;
            else identity = Identity::of(path.c_str());
            files_[number] = {std::move(path), text_in(asset, "mediaType"), identity};
        }
    }
    seen_.clear();
    read_ = list.size > 0 ? list.size - 1 : 0;
    is_known_ = true;
    has_news_ = false;
}

const Assets::File* Assets::find(std::string_view name) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size()) return nullptr;
    if (!is_known_ || (has_news_ && !files_.contains(number))) read_registry();
    const auto found = files_.find(number);
    return found == files_.end() ? nullptr : &found->second;
}

Response Assets::answer(const Request& request, std::string_view name) {
    const File* asset = find(name);
    if (asset == nullptr) return no_such_asset();
    // A path leads to a device or a pipe now, perhaps, whose opening alone does something.
    struct stat status {};
    if (::stat(asset->path.c_str(), &status) != 0) return cannot_be_read();
    if (!asset->identity.is(status)) return has_changed();
    const int file = ::open(asset->path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                                                     (asset->identity.is_link ? 0 : O_NOFOLLOW));
    if (file < 0) return errno == ELOOP ? has_changed() : cannot_be_read();
    auto source = std::make_unique<FileSource>(file);
    // Once more, of what was opened.
    if (::fstat(file, &status) != 0) return cannot_be_read();
    if (!asset->identity.is(status)) return has_changed();

    const auto size = static_cast<std::uint64_t>(status.st_size);
    const std::string tag = tag_of(status);
    Range range{Range::Kind::Whole, 0, size};
    const auto asked = request.header("Range");
    const auto only_if = request.header("If-Range");
    if (asked && (!only_if || *only_if == tag)) range = read_range(*asked, size);
    if (range.kind == Range::Kind::Unsatisfiable) {
        Response answer =
            Response::problem(416, "RANGE_NOT_SATISFIABLE", "the asset is not that long");
        answer.set("Content-Range", "bytes */" + std::to_string(size));
        return answer;
    }

    const bool is_part = range.kind == Range::Kind::Part;
    source->take_part(range.first, range.count);
    Response answer(is_part ? 206 : 200, range.count, std::move(source));
    if (is_part) {
        answer.set("Content-Range", "bytes " + std::to_string(range.first) + "-" +
                                        std::to_string(range.first + range.count - 1) + "/" +
                                        std::to_string(size));
    }
    const std::string media_type = safe_media_type(asset->media_type);
    const std::string plain = plain_type(media_type);
    answer.set("Content-Type", media_type);
    answer.set("Content-Disposition", std::string(is_shown(plain) ? "inline" : "attachment") +
                                          "; filename=\"" + file_name_for_header(asset->path) +
                                          "\"");
    answer.set("Content-Security-Policy", is_media(plain) ? kPolicyOfMedia : kPolicy);
    answer.set("Accept-Ranges", "bytes");
    answer.set("ETag", tag);
    answer.set("Cache-Control", "no-store");
    return answer;
}

}  // namespace narratoria::web
