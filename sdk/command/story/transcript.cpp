// SPDX-License-Identifier: Apache-2.0
#include "story/transcript.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "json.hpp"
#include "story/player_input.hpp"
#include "story/playthrough.hpp"

namespace narratoria::command::story {

using namespace terminal;

namespace {

bool is_pointer(std::string_view text) {
    if (!text.starts_with('/')) return false;
    for (std::size_t tilde = text.find('~'); tilde != text.npos;
         tilde = text.find('~', tilde + 1)) {
        const std::string_view next = text.substr(tilde + 1, 1);
        if (next != "0" && next != "1") return false;
    }
    return true;
}

constexpr std::string_view kAnything = "...";
constexpr std::string_view kNone = "none";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Joins the words of a text by single spaces.
std::string words_of(std::string_view text) {
    std::string out;
    bool in_word = false;
    for (const char c : text) {
        const bool is_space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
        if (!is_space && !in_word && !out.empty()) out += ' ';
        if (!is_space) out += c;
        in_word = !is_space;
    }
    return out;
}

// Splits off the first line, without its line end.
std::string_view take_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

bool matches(std::string_view expected, std::string_view told) {
    const std::string wanted = words_of(expected);
    const std::string text = words_of(told);
    std::string_view rest = text;
    std::string_view pattern = wanted;
    bool is_first = true;
    for (;;) {
        const std::size_t gap = pattern.find(kAnything);
        const std::string_view part = trimmed(pattern.substr(0, gap));
        if (gap == std::string_view::npos) {
            return is_first ? rest == part : rest.ends_with(part);
        }
        const std::size_t at =
            is_first ? (rest.starts_with(part) ? 0 : std::string_view::npos) : rest.find(part);
        if (at == std::string_view::npos) return false;
        rest.remove_prefix(at + part.size());
        pattern.remove_prefix(gap + kAnything.size());
        is_first = false;
    }
}

bool same_json(std::string_view one, std::string_view other) {
    return json::read(one) == json::read(other);
}

class Reader {
public:
    explicit Reader(std::vector<TranscriptFault>& faults) : faults_(faults) {}

    void take(std::string_view line) {
        ++line_;
        // Some editors write it; a person does not see it.
        if (line_ == 1 && line.starts_with(kByteOrderMark)) {
            line.remove_prefix(kByteOrderMark.size());
        }
        const std::string_view text = trimmed(line);
        if (text.empty() || text.front() == '#') return;
        const std::string_view rest = trimmed(text.substr(1));
        if (text.front() == '>') {
            if (rest.empty()) return fault("a prompt is missing after >");
            out_.steps.push_back({line_, std::string(rest), {}, {}, {}, {}});
        } else if (out_.steps.empty()) {
            take_setting(text);
        } else if (text.front() == '*') {
            out_.steps.back().choices.emplace_back(rest);
        } else if (text.front() == '=') {
            take_value(rest);
        } else if (text.front() == '!') {
            out_.steps.back().ending = rest;
        } else if (is_setting(text)) {
            fault(
                "seed and state belong before the first prompt; write another game into a file of "
                "its own. For a text, begin the line with \\");
        } else {
            std::string& told = out_.steps.back().told;
            if (!told.empty()) told += '\n';
            told += text.front() == '\\' ? text.substr(1) : text;
        }
    }

    Transcript finish() && {
        if (out_.steps.empty() && faults_.empty()) {
            line_ = std::max<std::size_t>(line_, 1);
            fault(
                "there is no prompt, so nothing is tested; write what the player says after >, and "
                "below it the text that must be told");
        }
        return std::move(out_);
    }

private:
    void fault(std::string message) { faults_.push_back({line_, std::move(message)}); }

    static bool is_setting(std::string_view text) {
        return text.starts_with("state {") ||
               (text.starts_with("seed ") &&
                text.find_first_not_of("0123456789", 5) == std::string_view::npos);
    }

    void take_setting(std::string_view text) {
        const std::size_t space = std::min(text.find(' '), text.size());
        const std::string_view name = text.substr(0, space);
        const std::string_view value = trimmed(text.substr(space));
        if (name == "seed") {
            const auto [end, error] =
                std::from_chars(value.data(), value.data() + value.size(), out_.seed);
            if (error != std::errc() || end != value.data() + value.size() || out_.seed == 0) {
                fault("the seed must be a whole number from 1");
            }
        } else if (name == "state") {
            if (const auto error = json::object_error(value)) {
                return fault("the state is not a JSON object: " + error->message);
            }
            out_.state = value;
        } else if (!std::exchange(misses_prompt_, true)) {
            // Once, because a file that is not a transcript would have it for each line.
            fault(
                "the first prompt is missing; write it after >. Before it there may be # comments, "
                "seed NUMBER and state {…}");
        }
    }

    void take_value(std::string_view rest) {
        const auto is_value = [](std::string_view text) {
            return text == kNone ||
                   !json::object_error("{\"value\":" + std::string(text) + "}").has_value();
        };
        const std::size_t first = std::min(rest.find(' '), rest.size());
        // A pointer may contain spaces, so the value is what is one.
        std::size_t space = first;
        while (space < rest.size() && !is_value(trimmed(rest.substr(space)))) {
            space = std::min(rest.find(' ', space + 1), rest.size());
        }
        if (space == rest.size()) space = first;
        const std::string_view pointer = rest.substr(0, space);
        const std::string_view value = trimmed(rest.substr(space));
        if (!is_pointer(pointer)) {
            return fault(
                "write a JSON Pointer and a value after =, such as = /torch/lit true; in a pointer "
                "~ is written as ~0, and / in a name as ~1");
        }
        if (!is_value(value)) {
            return fault(
                fmt::format("{} is not a JSON value; write a text in quotes, and none for a "
                            "value that is missing",
                            json::quoted(value)));
        }
        out_.steps.back().values.push_back(
            {line_, std::string(pointer), value == kNone ? std::string() : std::string(value)});
    }

    std::vector<TranscriptFault>& faults_;
    Transcript out_;
    std::size_t line_ = 0;
    bool misses_prompt_ = false;
};

std::string list_of(const std::vector<std::string>& texts) {
    std::string out;
    for (const std::string& each : texts) out += (out.empty() ? "" : ", ") + json::quoted(each);
    return out.empty() ? "no choices" : out;
}

void compare(const TranscriptStep& step, const PlayedTurn& turn, const Playthrough& game,
             std::vector<TranscriptFault>& differences) {
    const auto differ = [&](std::size_t line, std::string_view what, std::string_view expected,
                            std::string_view found) {
        differences.push_back(
            {line, fmt::format("after {}: {}\n    expected: {}\n    found:    {}",
                               json::quoted(step.prompt), what, expected, found)});
    };
    if (!step.told.empty() && !matches(step.told, turn.told)) {
        differ(step.line, "the text differs", words_of(step.told), words_of(turn.told));
    }
    // One * without a text: no choices.
    std::vector<std::string> expected = step.choices;
    std::erase(expected, "");
    if (!step.choices.empty() && expected != turn.choices) {
        differ(step.line, "the choices differ", list_of(expected), list_of(turn.choices));
    }
    for (const TranscriptStep::Value& each : step.values) {
        const std::string found = game.state(each.pointer);
        if (found.empty() == each.json.empty() && (found.empty() || same_json(found, each.json))) {
            continue;
        }
        differ(each.line, each.pointer + " differs", each.json.empty() ? kNone : each.json,
               found.empty() ? kNone : std::string_view(found));
    }
    if (!step.ending.empty() && step.ending != turn.ending) {
        differ(step.line, "the ending differs", step.ending,
               turn.ending.empty() ? "the story goes on" : turn.ending);
    }
}

}  // namespace

Transcript read_transcript(std::string_view text, std::vector<TranscriptFault>& faults) {
    Reader reader(faults);
    while (!text.empty()) reader.take(take_line(text));
    return std::move(reader).finish();
}

std::vector<TranscriptFault> play_transcript(Engine& engine, const std::string& folder,
                                             const Transcript& transcript, Played& played) {
    std::vector<TranscriptFault> differences;
    Playthrough game(engine, folder, transcript.seed, transcript.state);
    for (const TranscriptStep& step : transcript.steps) {
        const PlayedTurn turn = game.prompt(step.prompt);
        played.answers.insert(turn.answers.begin(), turn.answers.end());
        played.answers.insert(turn.rules.begin(), turn.rules.end());
        played.tools.insert(turn.tools.begin(), turn.tools.end());
        if (!turn.ending.empty()) played.endings.insert(turn.ending);
        const std::size_t before = differences.size();
        compare(step, turn, game, differences);
        if (step.told.empty() || differences.size() > before) continue;
        for (const FailedTool& each : turn.failed_tools) {
            played.expected_failures.insert(each.error);
        }
    }
    return differences;
}

std::string updated_transcript(Engine& engine, const std::string& folder, std::string_view text,
                               const Transcript& transcript) {
    Playthrough game(engine, folder, transcript.seed, transcript.state);
    std::string out;
    std::size_t next = 0;
    std::string empty_lines;  // kept before a prompt or a comment
    bool is_right = false;    // the step says what the story answers, so it stays as it is
    for (std::size_t line = 1; !text.empty(); ++line) {
        const std::string_view given = take_line(text);
        const std::string_view kept = trimmed(given);
        if (kept.empty()) {
            empty_lines += '\n';
            continue;
        }
        if (is_right || kept.front() == '>' || kept.front() == '#') out += empty_lines;
        empty_lines.clear();
        if (next < transcript.steps.size() && transcript.steps[next].line == line) {
            const TranscriptStep& step = transcript.steps[next++];
            const PlayedTurn turn = game.prompt(step.prompt);
            (out += given) += '\n';
            std::vector<TranscriptFault> differences;
            compare(step, turn, game, differences);
            // What a step leaves out is not compared; a prompt alone asks for all of it.
            const bool is_bare = step.told.empty() && step.choices.empty() && step.ending.empty();
            is_right = differences.empty() && !is_bare;
            if (is_right) continue;
            const bool is_text_right = !step.told.empty() && matches(step.told, turn.told);
            std::string_view told = is_text_right                   ? step.told
                                    : is_bare || !step.told.empty() ? turn.told
                                                                    : std::string_view();
            while (!told.empty()) {
                const std::string_view each = trimmed(take_line(told));
                if (each.empty()) continue;
                if (std::string_view(">#*=!\\").find(each.front()) != std::string_view::npos) {
                    out += '\\';
                }
                (out += each) += '\n';
            }
            if (is_bare || !step.choices.empty()) {
                for (const std::string& choice : turn.choices) out += "* " + choice + '\n';
                if (turn.choices.empty() && !step.choices.empty()) out += "*\n";
            }
            if (!turn.ending.empty() && (is_bare || !step.ending.empty())) {
                out += "! " + turn.ending + '\n';
            }
        } else if (is_right) {
            (out += given) += '\n';
        } else if (next > 0 && kept.starts_with('=')) {
            const std::string_view rest = trimmed(kept.substr(1));
            const std::string pointer(rest.substr(0, rest.find(' ')));
            const std::string value = game.state(pointer);
            out += fmt::format("= {} {}\n", pointer, value.empty() ? kNone : value);
        } else if (next == 0 || kept.front() == '#') {
            (out += given) += '\n';
        }
    }
    return out;
}

}  // namespace narratoria::command::story
