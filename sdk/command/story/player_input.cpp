// SPDX-License-Identifier: Apache-2.0
#include "story/player_input.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <utility>

#include "io/interruption.hpp"
#include "io/message.hpp"
#include "json.hpp"

namespace narratoria::command::story {

input::LineReader::Ending PlainReader::read(const std::string& prompt, std::string& line) {
    prompt_ = prompt;
    if (asks_) write_all(STDOUT_FILENO, prompt);
    line.clear();
    if (take(line)) return Ending::Line;
    if (asks_) write_all(STDOUT_FILENO, "\n");
    return interruption::received() != 0 ? Ending::Signal : Ending::Input;
}

void PlainReader::write_above(std::string_view text) {
    write_all(STDOUT_FILENO, "\n" + std::string(text) + prompt_);
}

bool PlainReader::take(std::string& line) {
    for (;;) {
        if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
            line = buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            if (line.ends_with('\r')) line.pop_back();
            return true;
        }
        if (ended_) {
            line = std::exchange(buffer_, std::string());
            return !line.empty();
        }
        pollfd ready[] = {{STDIN_FILENO, POLLIN, 0},
                          {interruption::descriptor(), POLLIN, 0},
                          {engine_.descriptor(), POLLIN, 0}};
        const auto due = engine_.timeout();
        if (poll(ready, 3, due ? static_cast<int>(due->count()) : -1) < 0 && errno != EINTR) {
            ended_ = true;
        }
        if (interruption::received() != 0) return false;
        engine_.run_for(std::chrono::microseconds(0));
        if (ready[0].revents == 0) continue;
        char piece[4096];
        const ssize_t got = ::read(STDIN_FILENO, piece, sizeof piece);
        if (got > 0) {
            buffer_.append(piece, static_cast<std::size_t>(got));
        } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
            ended_ = true;
        }
    }
}

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

std::optional<std::size_t> number_in(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return std::nullopt;
    text = text.substr(begin, text.find_last_not_of(" \t.") + 1 - begin);
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::optional<std::string> choice_or_text(const std::string& line,
                                          const std::vector<std::string>& choices) {
    const std::optional<std::size_t> number = number_in(line);
    if (!number || choices.empty()) return line;
    if (*number < 1 || *number > choices.size()) return std::nullopt;
    return choices[*number - 1];
}

std::string choice_range(const std::vector<std::string>& choices) {
    return choices.size() == 1 ? std::string("There is one choice: 1")
                               : fmt::format("The choices are 1 to {}", choices.size());
}

std::string tools_in(std::string_view given) {
    std::string json;
    std::string_view list = given;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        const std::string_view tool = trimmed(list.substr(0, end));
        if (!tool.empty()) (json += json.empty() ? "[" : ",") += json::quoted(tool);
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    if (json.empty() && !is_blank(given)) {
        throw Refused(fmt::format("{} contains no toolId; give toolIds, for example a,b",
                                  json::quoted(given)));
    }
    return json.empty() ? json : json + ']';
}

}  // namespace narratoria::command::story
