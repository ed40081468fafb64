// SPDX-License-Identifier: Apache-2.0
#include "process/script.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/descriptor.hpp"

namespace narratoria::process {

namespace {

// Returns the first bytes of a file, at most the number that the kernel reads (BINPRM_BUF_SIZE).
std::string beginning_of(const std::string& path) {
    char begin[256];
    // O_NONBLOCK: opening a pipe must not block.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    const ssize_t got = file ? ::read(file.get(), begin, sizeof begin) : -1;
    return {begin, static_cast<size_t>(std::max<ssize_t>(got, 0))};
}

}  // namespace

std::vector<std::string> interpreter_line(const std::string& path) {
    constexpr const char* kBlanks = " \t";
    const std::string begin = beginning_of(path);
    std::string_view text = begin;
    if (!text.starts_with("#!")) return {};
    text = text.substr(2, std::min(text.find('\n'), text.size()) - 2);
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
    if (text.empty()) return {};
    const size_t end = std::min(text.find_first_of(kBlanks), text.size());
    std::vector<std::string> words{std::string(text.substr(0, end))};
    text.remove_prefix(end);
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (!text.empty()) words.emplace_back(text);
    return words;
}

std::string script_fault(const std::string& path) {
    const std::string begin = beginning_of(path);
    std::string_view text = begin;
    if (text.starts_with("\xEF\xBB\xBF#!")) {
        return "begins with a byte order mark, which hides its interpreter line; save it as UTF-8 "
               "without one";
    }
    if (!text.starts_with("#!")) {
        const bool is_text = !text.empty() && !text.starts_with("\177ELF") &&
                             text.find('\0') == std::string_view::npos;
        return is_text ? "is not a program; a script needs a first line like #!/bin/sh" : "";
    }
    text = text.substr(0, text.find('\n'));
    const bool has_return = text.ends_with('\r');
    if (has_return) text.remove_suffix(1);
    const std::string line(text);
    text.remove_prefix(2);
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    const std::string interpreter(text.substr(0, text.find_first_of(" \t")));
    if (has_return) {
        return "has a carriage return at the end of its interpreter line (" + line +
               "\\r), like a file from Windows; remove it: sed -i 's/\\r$//' " + shell_word(path);
    }
    if (interpreter.starts_with('/') && ::access(interpreter.c_str(), F_OK) != 0) {
        return "names an interpreter that does not exist: " + line;
    }
    return {};
}

std::string shell_word(const std::string& path) {
    constexpr std::string_view kPlain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+@%,:=";
    if (!path.empty() && path.find_first_not_of(kPlain) == std::string::npos) return path;
    std::string word = "'";
    for (const char letter : path) {
        if (letter == '\'') word += "'\\''";
        else word += letter;
    }
    return word + "'";
}

}  // namespace narratoria::process
