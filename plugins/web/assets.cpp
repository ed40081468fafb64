// SPDX-License-Identifier: Apache-2.0
#include "web/assets.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "web/range.hpp"

namespace narratoria::web {
namespace {

// Whatever the media type of a file, its scripts do not run and it loads nothing from elsewhere.
constexpr const char* kPolicy =
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self'";
// Without the sandbox: a browser that opens audio or video in a tab wraps it in its own page.
// In a sandbox that page would have a different origin and could not load the file. Such files
// contain no scripts.
constexpr const char* kPolicyOfMedia =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self'";

class FileSource final : public BodySource {
public:
    FileSource(int file, const FileIdentity& identity) : file_(file), identity_(identity) {}
    FileSource(const FileSource&) = delete;
    ~FileSource() override { ::close(file_); }

    void select_range(std::uint64_t first, std::uint64_t count) {
        at_ = first;
        remaining_ = count;
    }

    ssize_t read(char* buffer, std::size_t room) noexcept override {
        if (remaining_ == 0) return MHD_CONTENT_READER_END_OF_STREAM;
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(room, remaining_));
        ssize_t got = 0;
        do {
            got = ::pread(file_, buffer, count, static_cast<off_t>(at_));
        } while (got < 0 && errno == EINTR);
        // The file was written to, or is shorter than announced. Abort the connection, so that the
        // browser does not take the file for complete.
        struct stat status {};
        if (got <= 0 || ::fstat(file_, &status) != 0 || !identity_.is(status)) {
            return MHD_CONTENT_READER_END_WITH_ERROR;
        }
        at_ += static_cast<std::uint64_t>(got);
        remaining_ -= static_cast<std::uint64_t>(got);
        return got;
    }

private:
    const int file_;
    const FileIdentity identity_;
    std::uint64_t at_ = 0;
    std::uint64_t remaining_ = 0;
};

// The media type that a tool gave, if it is safe in a header.
std::string safe_media_type(std::string_view type) {
    const bool is_safe = !type.empty() && type.size() <= 200 &&
                         std::all_of(type.begin(), type.end(),
                                     [](char letter) { return letter >= 0x20 && letter < 0x7F; });
    return is_safe ? std::string(type) : "application/octet-stream";
}

// In lower case, without parameters.
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

// True if a browser displays the type itself; other types are downloads.
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

}  // namespace

Assets::Assets(const plugin::Host& host)
    : files_(
          [host](nar_write_fn write, void* user) {
              const auto* functions = static_cast<const nar_host_assets*>(host.raw()->get_extension(
                  host.raw(), {NAR_HOST_ASSETS, sizeof NAR_HOST_ASSETS - 1}));
              return functions == nullptr ? NAR_UNSUPPORTED
                                          : functions->list(host.raw(), write, user);
          },
          [host](const std::function<void()>& function) { host.post(function); }) {}

Response Assets::respond(const Request& request, std::string_view name) {
    const AssetFile* asset = files_.find(name);
    if (asset == nullptr) return no_such_asset();
    // Check before opening: the path may lead to a device or a pipe now, and opening one has side
    // effects.
    struct stat status {};
    if (::stat(asset->path.c_str(), &status) != 0) return cannot_be_read();
    if (!asset->identity.is(status)) return has_changed();
    const int file = ::open(asset->path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                                                     (asset->identity.is_link ? 0 : O_NOFOLLOW));
    if (file < 0) return errno == ELOOP ? has_changed() : cannot_be_read();
    auto source = std::make_unique<FileSource>(file, asset->identity);
    // Check again, because the file may have been replaced before it was opened.
    if (::fstat(file, &status) != 0) return cannot_be_read();
    if (!asset->identity.is(status)) return has_changed();

    const auto size = static_cast<std::uint64_t>(status.st_size);
    const std::string tag = tag_of(status);
    Range range{Range::Kind::Whole, 0, size};
    const auto asked = request.header("Range");
    const auto only_if = request.header("If-Range");
    if (asked && (!only_if || *only_if == tag)) range = read_range(*asked, size);
    if (range.kind == Range::Kind::Unsatisfiable) {
        Response response =
            Response::problem(416, "RANGE_NOT_SATISFIABLE", "the range is outside the asset");
        response.set("Content-Range", "bytes */" + std::to_string(size));
        return response;
    }

    const bool is_part = range.kind == Range::Kind::Part;
    source->select_range(range.first, range.count);
    Response response(is_part ? 206 : 200, range.count, std::move(source));
    if (is_part) {
        response.set("Content-Range", "bytes " + std::to_string(range.first) + "-" +
                                          std::to_string(range.first + range.count - 1) + "/" +
                                          std::to_string(size));
    }
    const std::string media_type = safe_media_type(asset->media_type);
    const std::string plain = plain_type(media_type);
    response.set("Content-Type", media_type);
    response.set("Content-Disposition", std::string(is_shown(plain) ? "inline" : "attachment") +
                                            "; filename=\"" + file_name_for_header(asset->path) +
                                            "\"");
    response.set("Content-Security-Policy", is_media(plain) ? kPolicyOfMedia : kPolicy);
    response.set("Accept-Ranges", "bytes");
    response.set("ETag", tag);
    response.set("Cache-Control", "no-store");
    return response;
}

}  // namespace narratoria::web
