// SPDX-License-Identifier: Apache-2.0
#include "asset/registry.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "asset/media_type.hpp"
#include "base/descriptor.hpp"
#include "base/json/writer.hpp"
#include "base/scratch_name.hpp"

namespace narratoria::asset {
namespace {

std::string not_found(const std::string& path) {
    return "\"" + path + "\" cannot be found: " + std::strerror(errno);
}

// Returns the reason why a file cannot be read; empty if it can.
std::string unreadable(const std::string& path) {
    if (path.find('\0') != std::string::npos) return "its path contains a NUL character";
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return not_found(path);
    if (!S_ISREG(status.st_mode)) return "\"" + path + "\" is not a regular file";
    // Open it only after the check for a regular file: opening a FIFO could affect its writer.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) return "\"" + path + "\" cannot be read: " + std::strerror(errno);
    return {};
}

// Resolves symbolic links. On failure returns an empty text and sets errno.
std::string without_links(const std::string& path) {
    if (path.find('\0') != std::string::npos) {
        errno = EINVAL;
        return {};
    }
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                           &std::free);
    return real == nullptr ? std::string() : std::string(real.get());
}

// True if the list contains `path` or a folder above it. All must be without symbolic links.
bool is_among(std::string_view path, const std::vector<std::string>& readable) {
    return std::any_of(readable.begin(), readable.end(), [&](const std::string& each) {
        return path.starts_with(each) && (path.size() == each.size() || path[each.size()] == '/');
    });
}

// True for a name from scratch.c: narratoria-scratch-<uuid>-<number>.
bool is_name_of_scratch(std::string_view name) {
    constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx-";
    if (!name.starts_with(kScratchName)) return false;
    name.remove_prefix(kScratchName.size());
    const auto matches = [](char letter, char wanted) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        return wanted == 'x' ? kDigits.find(letter) != std::string_view::npos : letter == wanted;
    };
    return name.size() > kForm.size() &&
           std::equal(kForm.begin(), kForm.end(), name.begin(),
                      [&](char wanted, char letter) { return matches(letter, wanted); });
}

// True for a path in such a folder directly below the folder for temporary files. In other folders
// such a name has no meaning.
bool is_in_scratch(std::string_view path) {
    const std::string start = "/" + std::string(kScratchName);
    std::error_code failure;
    for (size_t at = path.find(start); at != std::string::npos; at = path.find(start, at + 1)) {
        const size_t end = path.find('/', at + 1);
        if (end == std::string::npos) return false;
        if (!is_name_of_scratch(path.substr(at + 1, end - at - 1))) continue;
        auto temporary = std::filesystem::temp_directory_path(failure);
        if (failure) temporary = "/tmp";
        if (std::filesystem::equivalent(path.substr(0, at + 1), temporary, failure)) return true;
    }
    return false;
}

}  // namespace

// Ids may contain any character, so the length separates them.
std::string Registry::key_of(const Asset& asset) {
    return std::to_string(asset.execution) + ' ' + std::to_string(asset.tool_id.size()) + ' ' +
           asset.tool_id + asset.asset_id;
}

void Registry::put(Asset asset) {
    const auto [found, is_new] = by_key_.emplace(key_of(asset), assets_.size());
    latest_[asset.asset_id] = found->second;
    latest_seq_ = std::max(latest_seq_, asset.seq);
    if (is_new) assets_.push_back(std::move(asset));
    else assets_[found->second] = std::move(asset);
}

void Registry::take_from(Registry&& other) {
    assets_ = std::move(other.assets_);
    latest_seq_ = other.latest_seq_;
    by_key_ = std::move(other.by_key_);
    latest_ = std::move(other.latest_);
}

std::optional<Refusal> Registry::add(Asset asset, const std::vector<std::string>* readable) {
    if (!is_media_type(asset.media_type)) {
        std::string shown;
        json::append_string(shown, asset.media_type.substr(0, 80));
        return Refusal{"ASSET_INVALID",
                       "mediaType " + shown + " is not a MIME type; write it like image/png"};
    }
    if (asset.path.front() != '/') asset.path = root_ + "/" + asset.path;
    const auto found = by_key_.find(key_of(asset));
    if (found != by_key_.end() && assets_[found->second].attempt == asset.attempt) {
        return Refusal{"ASSET_DUPLICATE",
                       "the assetId was already used in this attempt; give each asset its own"};
    }
    if (is_in_scratch(asset.path)) {
        return Refusal{
            "ASSET_TEMPORARY",
            "\"" + asset.path +
                "\" is in the tool's scratch folder, which is removed when the tool ends; a tool "
                "that must not write files (no_filesystem_write) cannot leave assets"};
    }
    if (readable != nullptr) {
        std::string path = without_links(asset.path);
        if (path.empty()) return Refusal{"ASSET_UNREADABLE", not_found(asset.path)};
        if (!is_among(path, *readable)) {
            return Refusal{
                "ASSET_FORBIDDEN",
                "\"" + asset.path +
                    "\" is not a file that the tool may read (no_filesystem_read); it may announce "
                    "files in the folder of its program and in NARRATORIA_OUTPUT_DIR"};
        }
        asset.path = std::move(path);
    }
    std::string reason = unreadable(asset.path);
    if (!reason.empty()) return Refusal{"ASSET_UNREADABLE", std::move(reason)};

    // Change the registry only after all checks: a refused asset leaves it unchanged.
    if (listener_) listener_(asset);
    put(std::move(asset));
    return std::nullopt;
}

const Asset* Registry::latest(std::string_view asset_id) const {
    const auto found = latest_.find(std::string(asset_id));
    return found == latest_.end() ? nullptr : &assets_[found->second];
}

void Registry::append_json(std::string& out, uint64_t after) const {
    out += '[';
    const char* separator = "";
    for (const Asset& asset : assets_) {
        if (asset.seq <= after && after > 0) continue;
        out += std::exchange(separator, ",");
        json::ObjectWriter writer(out);
        writer.string("planId", asset.plan_id);
        writer.string("toolId", asset.tool_id);
        writer.number("attempt", asset.attempt);
        writer.number("seq", static_cast<int64_t>(asset.seq));
        writer.string("assetId", asset.asset_id);
        writer.string("kind", asset.kind);
        writer.string("mediaType", asset.media_type);
        writer.string("path", asset.path);
        writer.raw("metadata", asset.metadata.empty() ? "{}" : asset.metadata);
        writer.end();
    }
    out += ']';
}

}  // namespace narratoria::asset
