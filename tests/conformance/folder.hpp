// SPDX-License-Identifier: Apache-2.0
#pragma once
// A temporary folder for one test, and small shell tools in it.

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace narratoria::test {

// A new folder, removed with its content in the destructor.
class Folder {
public:
    Folder() {
        const char* base = std::getenv("TMPDIR");
        std::string name = std::string(base != nullptr && *base != '\0' ? base : "/tmp") +
                           "/narratoria-test-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder " + name);
        path_ = std::filesystem::canonical(name).string();
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    const std::string& path() const { return path_; }
    std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

    std::string write(std::string_view name, std::string_view content, mode_t mode = 0644) const {
        const std::string file = *this / name;
        std::filesystem::create_directories(std::filesystem::path(file).parent_path());
        std::ofstream(file, std::ios::binary) << content;
        ::chmod(file.c_str(), mode);
        return file;
    }
    std::string read(std::string_view name) const {
        std::ifstream in(*this / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    bool has(std::string_view name) const { return std::filesystem::exists(*this / name); }
    std::string fifo(std::string_view name) const {
        const std::string file = *this / name;
        if (::mkfifo(file.c_str(), 0600) != 0) throw std::runtime_error("no fifo " + file);
        return file;
    }

    // A shell tool that reads its input line and then runs `script`.
    std::string tool(std::string_view name, std::string_view script) const {
        return write(name, "#!/bin/sh\nread -r invocation\n" + std::string(script) + "\n", 0755);
    }
    // A tool that prints `lines` and exits.
    std::string says(std::string_view name, std::initializer_list<std::string_view> lines,
                     int exit_status = 0) const {
        std::string script = "cat <<'EVENTS'\n";
        for (const std::string_view line : lines) script += std::string(line) + "\n";
        return tool(name, script + "EVENTS\nexit " + std::to_string(exit_status));
    }

private:
    std::string path_;
};

}  // namespace narratoria::test
