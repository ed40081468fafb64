// SPDX-License-Identifier: Apache-2.0
#include "base/near_file.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/bytes/utf8.hpp"
#include "base/near_name.hpp"

namespace narratoria {
namespace {

namespace fs = std::filesystem;

// At most this number of entries is read: an author's folder does not have more.
constexpr size_t kMaxEntries = 1000;

}  // namespace

std::string near_file(const std::string& path, const std::string& file) {
    const fs::path wanted(file);
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(wanted.parent_path(), error), end;
         !error && entry != end && names.size() < kMaxEntries; entry.increment(error)) {
        std::string name = entry->path().filename().string();
        if (utf8::is_valid(name)) names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    std::string_view found;
    for (const std::string& name : names) {
        if (fs::path(name).stem() == wanted.stem()) found = name;
    }
    if (found.empty()) {
        found = near_name(wanted.filename().string(),
                          std::vector<std::string_view>(names.begin(), names.end()));
    }
    if (found.empty()) return {};
    return path.substr(0, path.rfind('/') + 1) + std::string(found);
}

}  // namespace narratoria
