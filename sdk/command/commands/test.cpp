// SPDX-License-Identifier: Apache-2.0
// narratoria test: a story's own tests, and random walks through it.

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "commands/command.hpp"
#include "display.hpp"
#include "io/faults.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "live_region.hpp"
#include "narratoria/engine.hpp"
#include "output.hpp"
#include "story/folder.hpp"
#include "story/transcript.hpp"
#include "story/walks.hpp"

namespace narratoria::command {
namespace {

constexpr const char* kEnding = ".transcript";

struct TestOptions {
    std::string story;
    std::vector<std::string> transcripts;
    bool updates = false;
    std::uint32_t walks = 100;
    std::uint64_t seed = 1;
    std::uint32_t steps = 100;
};

std::vector<std::string> transcripts_of(const std::string& folder) {
    std::vector<std::string> files;
    std::error_code ignored;
    for (const auto& each : std::filesystem::directory_iterator(folder + "/tests", ignored)) {
        if (each.path().string().ends_with(kEnding)) files.push_back(each.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

void print(const std::string& text) { print_output(text + '\n', "the report"); }

// Shows on a terminal how far the walks are, because they may take minutes. Messages come from
// several threads.
class Display {
public:
    explicit Display(std::uint64_t walks) : walks_(walks) {
        if (is_capable_terminal(STDERR_FILENO)) {
            live_ = std::make_unique<LiveRegion>(STDERR_FILENO, interruption::cursor_keeper());
        }
    }

    void show(std::uint64_t walks, std::uint64_t turns) {
        if (live_ == nullptr) return;
        const std::lock_guard lock(mutex_);
        const std::string line = fmt::format("walk {} of {}, {} {}", walks, walks_, turns,
                                             turns == 1 ? "turn" : "turns");
        live_->draw({line.substr(0, live_->width())});
    }

    void say(std::string_view message) {
        const std::lock_guard lock(mutex_);
        if (live_ != nullptr) live_->close();
        complain(printable(message));
    }

    void close() {
        if (live_ != nullptr) live_->close();
    }

private:
    const std::uint64_t walks_;
    std::mutex mutex_;
    std::unique_ptr<LiveRegion> live_;
};

// Returns false if the transcript has faults or the story answers differently.
bool test_transcript(Engine& engine, const std::string& folder, const std::string& file,
                     bool updates, story::Played& played) {
    const std::string text = read_document(file, "transcript");
    std::vector<story::TranscriptFault> faults;
    const story::Transcript transcript = story::read_transcript(text, faults);
    if (faults.empty() && updates) {
        const std::string updated = story::updated_transcript(engine, folder, text, transcript);
        if (updated == text) return true;
        Replacement replacement(file, "transcript", Replacement::Durability::Atomic);
        if (!write_all(replacement.descriptor(), updated)) {
            throw Failed(fmt::format("cannot write {}: {}", display_path(file), reason(errno)));
        }
        replacement.commit();
        print(fmt::format("{}: updated", display_path(file)));
        return true;
    }
    if (faults.empty()) faults = story::play_transcript(engine, folder, transcript, played);
    for (const story::TranscriptFault& each : faults) {
        print(
            fmt::format("{}:{}: {}", display_path(file), each.line, printable_lines(each.message)));
    }
    return faults.empty();
}

// "35 of 146, and 60 in transcripts"
template <typename All>
std::string coverage(const All& all, const std::set<std::string>& walked,
                     const std::set<std::string>& played) {
    std::size_t in_walks = 0;
    std::size_t in_transcripts = 0;
    for (const std::string& each : all) {
        if (walked.contains(each)) ++in_walks;
        else if (played.contains(each)) ++in_transcripts;
    }
    return fmt::format("{} of {}{}", in_walks, all.size(),
                       in_transcripts == 0
                           ? std::string()
                           : fmt::format(", and {} in transcripts", in_transcripts));
}

// `played`: by the transcripts. What they reach is not missing. Returns false if the walks found a
// problem.
bool report_walks(const story::StoryParts& parts, const story::WalkReport& report,
                  const story::Played& played) {
    for (const story::WalkProblem& each : report.problems) {
        print(fmt::format("{}: {} (walk {})", each.what, printable(each.message), each.walk));
        for (const std::string& step : each.steps) print("    > " + printable(step));
    }
    const auto counted = [](std::uint64_t count, const char* one, const char* more) {
        return fmt::format("{} {}", count, count == 1 ? one : more);
    };
    for (const auto& [error, failures] : report.failed_tools) {
        std::string line = fmt::format("{}: failed {}", printable(error),
                                       counted(failures.count, "time", "times"));
        if (failures.retries > 0) {
            line += fmt::format(
                " after {}; if they cannot help, let the tool end with \"retry\": false",
                counted(failures.retries, "retry", "retries"));
        }
        print(line);
    }
    print(fmt::format("{}, {}", counted(report.walks, "walk", "walks"),
                      counted(report.turns, "turn", "turns")));
    if (report.has_given_up) {
        print(fmt::format("    no more walks, because all of the last {} ended at a failed tool",
                          report.last_round));
    }
    for (const auto& [ending, count] : report.endings) {
        print(fmt::format("    ending \"{}\": {}", printable(ending), count));
    }
    if (report.unfinished > 0) {
        print(fmt::format("    not ended within --steps: {}", report.unfinished));
    }
    if (parts.answers.empty() || report.answers.empty()) return report.problems.empty();
    std::map<std::string, std::size_t> never;  // endings, with their first line
    for (const auto& [pointer, answer] : parts.answers) {
        if (answer.ending.empty() || report.endings.contains(answer.ending) ||
            played.endings.contains(answer.ending)) {
            continue;
        }
        std::size_t& line = never.try_emplace(answer.ending, answer.line).first->second;
        line = std::min(line, answer.line);
    }
    for (const auto& [ending, line] : never) {
        print(fmt::format("    ending \"{}\": never (prompts.json:{})", printable(ending), line));
    }
    std::vector<std::string> pointers;
    for (const auto& [pointer, answer] : parts.answers) pointers.push_back(pointer);
    print("    answers: " + coverage(pointers, report.answers, played.answers));
    std::map<std::size_t, std::string> missing;  // by line
    for (const auto& [pointer, answer] : parts.answers) {
        if (report.answers.contains(pointer) || played.answers.contains(pointer)) continue;
        missing[answer.line] +=
            fmt::format("        prompts.json:{}: not given{}{}\n", answer.line,
                        answer.pattern.empty() ? "" : " (" + printable(answer.pattern) + ")",
                        answer.words.empty() ? "" : ": " + printable(answer.words));
    }
    for (const auto& [line, text] : missing) print_output(text, "the report");
    if (!parts.tools.empty()) {
        print("    tools: " + coverage(parts.tools, report.tools, played.tools));
        for (const std::string& tool : parts.tools) {
            if (!report.tools.contains(tool) && !played.tools.contains(tool)) {
                print(fmt::format("        not run: {}", printable(tool)));
            }
        }
    }
    return report.problems.empty();
}

int test(const TestOptions& options) {
    require_standard_output("the report");
    interruption::record_first();
    const std::string folder = story::find_story(options.story, "test");
    std::vector<std::string> files = options.transcripts;
    if (files.empty()) files = transcripts_of(folder);
    if (options.updates && files.empty()) {
        throw Refused(
            fmt::format("there is no transcript to update in {}/tests", display_path(folder)));
    }
    if (options.walks == 0 && files.empty()) {
        throw Refused(
            fmt::format("there is nothing to test: no file is {}/tests/*{}, and --walks 0 makes no "
                        "walks; write a transcript there, or name one, or leave out --walks 0",
                        display_path(folder), kEnding));
    }
    const auto is_stopped = [] { return interruption::received() != 0; };
    EngineOptions engine_options;
    Display display(options.walks);
    // Every game would report the same plugin. Walks run on several threads.
    std::atomic<bool> has_said_left_out = false;
    engine_options.log = [&](const LogLine& line) {
        if (line.level >= NAR_LOG_ERROR ||
            (line.code == "PLUGIN_LEFT_OUT" && !has_said_left_out.exchange(true))) {
            display.say(line.message);
        }
    };
    Engine engine(engine_options);
    bool is_good = true;
    try {
        std::size_t failed = 0;
        story::Played played;
        for (const std::string& file : files) {
            if (is_stopped()) break;
            if (!test_transcript(engine, folder, file, options.updates, played)) ++failed;
        }
        if (!files.empty() && !options.updates) {
            print(fmt::format("{} of {} {} passed", files.size() - failed, files.size(),
                              files.size() == 1 ? "transcript" : "transcripts"));
        }
        is_good = failed == 0;
        if (options.walks > 0 && !options.updates && !is_stopped()) {
            const story::StoryParts parts = story::parts_of(folder);
            const story::WalkReport report =
                story::walk(engine_options, folder, parts,
                            {.walks = options.walks,
                             .seed = options.seed,
                             .steps = options.steps,
                             .expected_failures = played.expected_failures,
                             .is_stopped = is_stopped,
                             .show_progress = [&](std::uint64_t walks, std::uint64_t turns) {
                                 display.show(walks, turns);
                             }});
            display.close();
            is_good = report_walks(parts, report, played) && is_good;
        }
    } catch (const Error& error) {
        refuse_session(error, folder, "", "the story was not tested");
    }
    if (is_stopped()) return kExitSignal + interruption::received();
    return is_good ? kExitSuccess : kExitFailure;
}

}  // namespace

void add_test(Command application) {
    Command command =
        application.subcommand("test", "Test a story: its transcripts and random walks");
    auto options = std::make_shared<TestOptions>();
    command.option("--story", options->story, "The story's folder; default: the working folder")
        .type_name("FOLDER")
        .not_empty();
    command
        .option("TRANSCRIPT", options->transcripts,
                "Transcripts to play; default: all of the story's tests/")
        .type_name("FILE");
    command.flag("--update", options->updates,
                 "Write what the story answers now into the transcripts; no walks");
    command.option("--walks", options->walks, "Random walks through the story; default: 100");
    command.option("--seed", options->seed, "The seed of the first walk; default: 1")
        .within(1, UINT64_MAX);
    command.option("--steps", options->steps, "The most prompts of a walk; default: 100");
    command.footer(
        "A transcript (tests/NAME.transcript) has lines \"> PROMPT\", and below each the text\n"
        "that is told, \"* CHOICE\", \"= /POINTER VALUE\" and \"! ENDING\". A walk takes random\n"
        "choices, and sometimes types a prompt, until the story ends. The report has dead ends,\n"
        "choices that are not understood, tools whose failure no answer tells, turns that fail,\n"
        "and the answers and tools that neither a walk nor a transcript reached.\n"
        "Exit status: 0 if all is well, 1 if a transcript differs or a walk found a problem, 2 if\n"
        "the story cannot be played or there is nothing to test.\n"
        "Example:\n  narratoria test --story my-story --walks 1000");
    command.action([options] { return test(*options); });
}

}  // namespace narratoria::command
