// SPDX-License-Identifier: Apache-2.0
#include "input/history_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "display.hpp"
#include "io/file.hpp"
#include "io/message.hpp"
#include "json.hpp"

namespace narratoria::command::input {
namespace {

constexpr std::size_t kKeptLines = 1000;
constexpr std::size_t kMostLines = 2 * kKeptLines;

// True if a line editor can show the text and return it unchanged.
bool is_line(std::string_view text) {
    return !text.empty() && !json::ill_formed_utf8(text) &&
           std::none_of(text.begin(), text.end(), [](char c) {
               return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
           });
}

}  // namespace

HistoryFile::HistoryFile(const std::string& name) {
    if (name.empty()) return;
    if (const auto state = folder_of_variable("XDG_STATE_HOME")) {
        path_ = *state + "/narratoria/" + name;
    } else if (const auto home = folder_of_variable("HOME")) {
        path_ = *home + "/.local/state/narratoria/" + name;
    }
}

std::vector<std::string> HistoryFile::load() {
    std::vector<std::string> lines;
    if (!path_) return lines;
    try {
        const auto text = read_document_if_there(*path_, "history");
        if (!text) return lines;
        for (std::string_view rest = *text; !rest.empty();) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            if (is_line(rest.substr(0, end))) lines.emplace_back(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        const bool is_long = lines.size() > kMostLines;
        if (lines.size() > kKeptLines) {
            lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kKeptLines));
        }
        if (is_long) {
            std::string kept;
            for (const std::string& line : lines) kept += line + "\n";
            Replacement file(*path_, "history", Replacement::Durability::Atomic);
            if (!write_all(file.descriptor(), kept)) throw Failed(reason(errno));
            file.commit();
        }
    } catch (const std::runtime_error& error) {
        fail(error.what());
    }
    return lines;
}

void HistoryFile::append(const std::string& line) {
    if (!path_ || !is_line(line)) return;
    const std::filesystem::path path(*path_);
    std::error_code failure;
    std::filesystem::create_directories(path.parent_path(), failure);
    const auto unwritable = [&](int error) {
        fail(fmt::format("cannot write {}: {}", printable(*path_), reason(error)));
    };
    if (failure) return unwritable(failure.value());
    // O_NONBLOCK: opening a FIFO must not block.
    const Descriptor file(open(
        path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600));
    if (!file || !write_all(file.get(), line + "\n")) unwritable(errno);
}

void HistoryFile::fail(const std::string& why) {
    complain("the history is not saved: " + why);
    path_.reset();
}

}  // namespace narratoria::command::input
