// SPDX-License-Identifier: Apache-2.0
#include "process/script.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/descriptor.hpp"

namespace narratoria::process {

std::string script_trouble(const std::string& path) {
    // The kernel reads as much (BINPRM_BUF_SIZE). O_NONBLOCK: a pipe must not be waited for.
    char begin[256];
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    const ssize_t got = file ? ::read(file.get(), begin, sizeof begin) : -1;
    std::string_view text(begin, static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (text.starts_with("\xEF\xBB\xBF#!")) {
        return "begins with a byte order mark, which hides its interpreter line; save it as UTF-8 "
               "without one";
    }
    if (!text.starts_with("#!")) return {};
    text = text.substr(0, text.find('\n'));
    const bool has_return = text.ends_with('\r');
    if (has_return) text.remove_suffix(1);
    const std::string line(text);
    text.remove_prefix(2);
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    const std::string interpreter(text.substr(0, text.find_first_of(" \t")));
    if (has_return) {
        return "has a carriage return at the end of its interpreter line (" + line +
               "\\r), as a file from Windows; remove it: sed -i 's/\\r$//' " + shell_word(path);
    }
    if (interpreter.starts_with('/') && ::access(interpreter.c_str(), F_OK) != 0) {
        return "names an interpreter that is not there: " + line;
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
