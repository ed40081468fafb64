// SPDX-License-Identifier: Apache-2.0
#include "slurm/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <narratoria/plugin.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace narratoria::slurm {
namespace {

// A block of a tar: the header of a file, or its content with zeros at its end.
constexpr std::size_t kBlock = 512;

class Folder {
public:
    explicit Folder(int descriptor) : descriptor_(descriptor) {}
    Folder(Folder&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Folder& operator=(Folder&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~Folder() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    int get() const { return descriptor_; }

private:
    int descriptor_;
};

std::string field(const char* at, std::size_t size) { return std::string(at, ::strnlen(at, size)); }

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
    std::string out;
    for (std::size_t at; (at = text.find(from)) != text.npos;) {
        out.append(text.substr(0, at)).append(to);
        text.remove_prefix(at + from.size());
    }
    out.append(text);
    return out;
}

std::string system_error(const std::string& name) { return name + ": " + std::strerror(errno); }

// Writes a new file. What had its name is removed first, so nothing is written through a link.
bool write_file(int folder, const char* name, std::string_view content) {
    ::unlinkat(folder, name, 0);
    const Folder file(
        ::openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (file.get() < 0) return false;
    while (!content.empty()) {
        const ssize_t written = ::write(file.get(), content.data(), content.size());
        if (written < 0 && errno != EINTR) return false;
        if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

}  // namespace

Files::Files(std::string on_node, std::string here, std::string name, std::uint64_t most_bytes)
    : on_node_(std::move(on_node)),
      escaped_on_node_(replaced(on_node_, "/", "\\/")),
      here_(std::move(here)),
      name_(std::move(name)),
      most_bytes_(most_bytes) {}

std::string Files::take(std::string_view bytes) {
    if (is_too_much()) return {};
    if (is_archive_) {
        archive_ += bytes;
        return {};
    }
    std::string out;
    while (!bytes.empty() && !is_archive_) {
        const std::size_t size = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
        held_ += bytes.substr(0, size);
        bytes.remove_prefix(size);
        if (held_.back() != '\n') break;
        const std::size_t begin = held_.size() < 2 ? 0 : held_.rfind('\n', held_.size() - 2) + 1;
        const std::string_view line =
            std::string_view(held_).substr(begin, held_.size() - 1 - begin);
        if (line == kFilesFollow) {
            is_archive_ = true;
            held_.resize(begin);
            // The line end of the script, unless it completed a line of the tool.
            if (held_ == "\n" || held_.ends_with("\n\n")) held_.pop_back();
        } else if (!is_holding_ && !line.empty()) {
            is_holding_ = line.find(on_node_) != line.npos ||
                          line.find(escaped_on_node_) != line.npos ||
                          line.find("\"done\"") != line.npos;
            if (!is_holding_) out += std::exchange(held_, {});
        }
    }
    if (is_archive_) archive_ += bytes;
    return out;
}

std::string Files::unpack() const {
    const std::size_t status = archive_.rfind(kTarStatus);
    if (status == std::string::npos) return "the tar of the node is not complete";
    std::string_view rest = std::string_view(archive_).substr(0, status);
    const std::string_view end = std::string_view(archive_).substr(status + kTarStatus.size());
    if (const std::size_t line = end.find('\n'); end.substr(0, line) != "0") {
        const std::string_view said = end.substr(std::min(line, end.size() - 1) + 1);
        return "tar failed on the node: " + std::string(said.substr(0, said.find('\n')));
    }
    std::string long_path;  // of the next entry
    for (;;) {
        if (rest.size() < kBlock) return "the tar of the node is not complete";
        const char* const header = rest.data();
        rest.remove_prefix(kBlock);
        if (header[0] == '\0') return {};
        const std::uint64_t size = std::strtoull(field(header + 124, 12).c_str(), nullptr, 8);
        const char type = header[156];
        if (size > rest.size()) return "the tar of the node is not complete";
        const std::string_view content = rest.substr(0, size);
        rest.remove_prefix(
            std::min<std::size_t>((size + kBlock - 1) / kBlock * kBlock, rest.size()));
        // The content is the path of the next entry, which is longer than the header's field.
        if (type == 'L') {
            long_path = field(content.data(), content.size());
            continue;
        }
        const std::string path =
            long_path.empty() ? field(header, 100) : std::exchange(long_path, {});
        if (type != '0' && type != '5') return path + " is neither a file nor a folder";

        Folder folder(::open(here_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (folder.get() < 0) return system_error(here_);
        std::vector<std::string> names{name_};
        for (std::string_view left = path; !left.empty();) {
            const std::string_view name = left.substr(0, left.find('/'));
            left.remove_prefix(std::min(name.size() + 1, left.size()));
            if (name == "..") return path + " is outside the folder";
            if (!name.empty() && name != ".") names.emplace_back(name);
        }
        for (std::size_t at = 0; at < names.size(); ++at) {
            const char* const name = names[at].c_str();
            if (type == '0' && at + 1 == names.size()) {
                if (!write_file(folder.get(), name, content)) return system_error(path);
                break;
            }
            if (::mkdirat(folder.get(), name, 0777) != 0 && errno != EEXIST)
                return system_error(path);
            folder = Folder(
                ::openat(folder.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
            if (folder.get() < 0) return system_error(path);
        }
    }
}

std::string Files::held() const {
    // Within a string of JSON.
    const std::string quoted = plugin::quoted(here_ + "/" + name_);
    const std::string_view here = std::string_view(quoted).substr(1, quoted.size() - 2);
    return replaced(replaced(held_, escaped_on_node_, here), on_node_, here);
}

}  // namespace narratoria::slurm
