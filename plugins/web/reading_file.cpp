// SPDX-License-Identifier: Apache-2.0
#include "web/reading_file.hpp"

#include <fcntl.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace narratoria::web {
namespace {

constexpr std::size_t kLargest = 1024;
constexpr std::size_t kLongestWord = 16;

std::string message_of(int error) {
    return std::error_code(error, std::generic_category()).message();
}

// An absolute path from the environment. The XDG specification has programs ignore relative ones.
std::optional<std::string> folder_in(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value != '/') return std::nullopt;
    return value;
}

bool is_word(const rapidjson::Value& value) {
    if (!value.IsString()) return false;
    const std::string_view text(value.GetString(), value.GetStringLength());
    return !text.empty() && text.size() <= kLongestWord &&
           std::all_of(text.begin(), text.end(),
                       [](char letter) { return letter >= 'a' && letter <= 'z'; });
}

bool is_setting(std::string_view name, const rapidjson::Value& value) {
    if (name == "theme") return is_word(value) && (value == "dark" || value == "light");
    if (name == "textSize") {
        return value.IsNumber() && value.GetDouble() >= 0.5 && value.GetDouble() <= 4;
    }
    if (name == "lineWidth") return is_word(value);
    return name == "details" && value.IsBool();
}

// Creates the missing parent folders of `file`, accessible only to this user.
bool make_folders(const std::string& file) {
    for (std::size_t at = file.find('/', 1); at != std::string::npos; at = file.find('/', at + 1)) {
        if (::mkdir(file.substr(0, at).c_str(), 0700) != 0 && errno != EEXIST) return false;
    }
    return true;
}

bool write_all(int file, std::string_view text) {
    // A write beyond RLIMIT_FSIZE raises SIGXFSZ, which kills the process by default.
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < text.size()) {
        errno = EFBIG;
        return false;
    }
    while (!text.empty()) {
        const ssize_t wrote = ::write(file, text.data(), text.size());
        if (wrote > 0) text.remove_prefix(static_cast<std::size_t>(wrote));
        else if (wrote == 0 || errno != EINTR) return false;
    }
    return true;
}

}  // namespace

std::optional<std::string> checked_reading(std::string_view json) {
    if (json.size() > kLargest) return std::nullopt;
    rapidjson::Document settings;
    settings.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(
        json.data(), json.size());
    if (settings.HasParseError() || !settings.IsObject()) return std::nullopt;
    const rapidjson::Value& object = settings;
    std::size_t count = 0;
    rapidjson::StringBuffer text;
    rapidjson::Writer<rapidjson::StringBuffer> writer(text);
    writer.StartObject();
    for (const char* name : {"theme", "textSize", "lineWidth", "details"}) {
        const auto member = object.FindMember(name);
        if (member == object.MemberEnd()) continue;
        if (!is_setting(name, member->value)) return std::nullopt;
        writer.Key(name);
        member->value.Accept(writer);
        ++count;
    }
    writer.EndObject();
    // The object has an unknown or duplicate member.
    if (count != settings.MemberCount()) return std::nullopt;
    return std::string(text.GetString(), text.GetSize());
}

ReadingFile::ReadingFile(std::optional<std::string> path,
                         std::function<void(const std::string&)> warn)
    : path_(std::move(path)), warn_(std::move(warn)) {}

std::optional<std::string> ReadingFile::default_path() {
    if (const auto folder = folder_in("XDG_STATE_HOME")) {
        return *folder + "/narratoria/reading.json";
    }
    if (const auto home = folder_in("HOME")) {
        return *home + "/.local/state/narratoria/reading.json";
    }
    return std::nullopt;
}

std::string ReadingFile::read() {
    constexpr const char* nothing = "{}";
    if (!path_) return nothing;
    const auto fails = [&](const std::string& why) {
        if (!std::exchange(has_warned_of_reading_, true)) {
            warn_("the player's reading settings in " + *path_ + " are ignored: " + why);
        }
        return nothing;
    };
    // Check before opening: opening a pipe may block, and opening a device may have side effects.
    struct stat status {};
    if (::stat(path_->c_str(), &status) != 0) {
        return errno == ENOENT || errno == ENOTDIR ? nothing : fails(message_of(errno));
    }
    if (!S_ISREG(status.st_mode)) return fails("not a regular file");
    const int file = ::open(path_->c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return fails(message_of(errno));
    std::array<char, kLargest + 1> content{};
    ssize_t got = 0;
    do {
        got = ::read(file, content.data(), content.size());
    } while (got < 0 && errno == EINTR);
    const int error = errno;
    ::close(file);
    if (got < 0) return fails(message_of(error));
    auto settings = checked_reading({content.data(), static_cast<std::size_t>(got)});
    return settings ? std::move(*settings) : fails("invalid contents; delete the file");
}

// Writes a temporary file and renames it, so that another server never reads a partial file.
bool ReadingFile::write(const std::string& json) {
    const auto fails = [&](const std::string& why) {
        if (!std::exchange(has_warned_of_writing_, true)) {
            warn_("the player's reading settings are kept only until the page's address changes: " +
                  why);
        }
        return false;
    };
    if (!path_) return fails("neither XDG_STATE_HOME nor HOME is the path of a folder");
    if (!make_folders(*path_)) return fails(*path_ + ": " + message_of(errno));
    std::string beside = *path_ + ".XXXXXX";
    const int file = ::mkostemp(beside.data(), O_CLOEXEC);
    if (file < 0) return fails(*path_ + ": " + message_of(errno));
    bool is_written = write_all(file, json);
    int error = errno;
    ::close(file);
    if (is_written && ::rename(beside.c_str(), path_->c_str()) != 0) {
        is_written = false;
        error = errno;
    }
    if (is_written) return true;
    ::unlink(beside.c_str());
    return fails(*path_ + ": " + message_of(error));
}

}  // namespace narratoria::web
