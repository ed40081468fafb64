// SPDX-License-Identifier: Apache-2.0
// narratoria narrator check: asks a story's narrator some questions, and says how well and how fast
// it replies.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command.hpp"
#include "display.hpp"
#include "engine/drive.hpp"
#include "io/faults.hpp"
#include "io/file.hpp"
#include "io/interruption.hpp"
#include "io/message.hpp"
#include "json.hpp"
#include "narratoria/engine.hpp"
#include "output.hpp"
#include "story/folder.hpp"

namespace narratoria::command {
namespace {

using terminal::counted;
using terminal::duration;
using terminal::printable;
using Clock = std::chrono::steady_clock;
namespace json = terminal::json;

// For a narrator that offers no choices.
constexpr const char* kPrompts[] = {"I look around", "I wait and listen", "I go on",
                                    "I examine what is in front of me",
                                    "I think about what happened"};

struct NarratorCheckOptions {
    std::string story;
    std::string narrator;
    std::uint32_t prompts = 10;
};

// A reply to one prompt.
struct Reply {
    std::optional<double> first;  // seconds to the first piece of the narrative
    double total = 0;             // seconds to the end of the turn
    Outcome outcome = Outcome::Completed;
    std::uint32_t generations = 0;
    std::vector<std::string> refusals;  // why replies of the narrator were not used
    std::size_t words = 0;
    std::size_t choices = 0;
    std::size_t tools = 0;
    std::uint64_t input_tokens = 0;
    std::uint64_t cached_tokens = 0;
    std::uint64_t output_tokens = 0;
};

double seconds_since(Clock::time_point time) {
    return std::chrono::duration<double>(Clock::now() - time).count();
}

std::size_t words_in(std::string_view text) {
    std::size_t words = 0;
    bool in_word = false;
    for (const char letter : text) {
        const bool is_space = letter == ' ' || letter == '\n' || letter == '\t';
        if (!is_space && !in_word) ++words;
        in_word = !is_space;
    }
    return words;
}

std::uint64_t count_of(const json::Value& usage, std::string_view name) {
    return static_cast<std::uint64_t>(json::number(usage, name).value_or(0));
}

// Asks the narrator of a new session of the story, which is not stored.
class Questioner {
public:
    Questioner(Engine& engine, const std::string& folder, const std::string& narrator)
        : engine_(engine), session_(engine, {.story = folder, .narrator_id = narrator}) {
        const json::Document opening = json::read(session_.opening());
        if (opening.IsObject()) choices_ = json::texts(json::member(opening, "choices"));
        session_.attach([this](Event event) { take(event); },
                        kinds(Kind::NarrativeDelta, Kind::Warning, Kind::ToolStarted));
    }

    // A choice of the last turn, or a prompt that suits any story.
    std::string next_prompt() const {
        if (!choices_.empty()) return choices_[asked_ % choices_.size()];
        return kPrompts[asked_ % std::size(kPrompts)];
    }

    Reply ask(const std::string& prompt) {
        reply_ = {};
        ++asked_;
        begun_ = Clock::now();
        session_.prompt(prompt, [this](Turn turn) {
            reply_.total = seconds_since(begun_);
            reply_.outcome = turn.outcome();
            reply_.generations = turn.generations();
            reply_.words = words_in(turn.narrative());
            const json::Document choices = json::read(turn.choices());
            choices_ = json::texts(&choices);
            reply_.choices = choices_.size();
            const json::Document usage = json::read(turn.usage());
            if (!usage.IsObject()) return;
            reply_.input_tokens = count_of(usage, "inputTokens");
            reply_.cached_tokens = count_of(usage, "cachedTokens");
            reply_.output_tokens = count_of(usage, "outputTokens");
        });
        drive_until_idle(engine_, [] {});
        return reply_;
    }

private:
    void take(const Event& event) {
        switch (event.kind()) {
            case Kind::NarrativeDelta:
                if (!reply_.first) reply_.first = seconds_since(begun_);
                break;
            case Kind::ToolStarted: ++reply_.tools; break;
            case Kind::Warning: {
                const json::Document body = json::read(event.body());
                const std::string_view code = json::text(body, "code");
                if (code == "PLAN_REFUSED" || code.starts_with("NARRATOR_")) {
                    reply_.refusals.emplace_back(json::text(body, "message"));
                }
                break;
            }
            default: break;
        }
    }

    Engine& engine_;
    Session session_;
    std::vector<std::string> choices_;
    std::size_t asked_ = 0;
    Clock::time_point begun_;
    Reply reply_;
};

void print(const std::string& text) { print_output(text + '\n', "the report"); }

bool is_answered(const Reply& reply) { return reply.outcome == Outcome::Completed; }

void report(const std::string& prompt, const Reply& reply) {
    std::string about = duration(reply.total);
    if (reply.first) about += fmt::format(", first words after {}", duration(*reply.first));
    about += ", " + counted(reply.words, "word");
    if (reply.choices > 0) about += ", " + counted(reply.choices, "choice");
    if (reply.tools > 0) about += ", " + counted(reply.tools, "tool");
    if (reply.generations > 1) about += fmt::format(", asked {} times", reply.generations);
    print(fmt::format("{}  {}: {}", is_answered(reply) ? "ok    " : "failed", printable(prompt),
                      about));
    std::string last;
    for (const std::string& why : reply.refusals) {
        if (why != last) print("        " + terminal::excerpt(why).front());
        last = why;
    }
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// What the numbers are, and what to set.
void summarize(const std::vector<Reply>& replies) {
    std::vector<double> totals;
    std::vector<double> firsts;
    std::size_t answered = 0;
    std::size_t at_first = 0;
    Reply sum;
    for (const Reply& reply : replies) {
        totals.push_back(reply.total);
        if (reply.first) firsts.push_back(*reply.first);
        answered += is_answered(reply) ? 1 : 0;
        at_first += is_answered(reply) && reply.refusals.empty() ? 1 : 0;
        sum.total += reply.total;
        sum.tools += reply.tools;
        sum.choices += reply.choices;
        sum.input_tokens += reply.input_tokens;
        sum.cached_tokens += reply.cached_tokens;
        sum.output_tokens += reply.output_tokens;
    }
    const double longest = *std::max_element(totals.begin(), totals.end());
    print(fmt::format(
        "\n{} of {} prompts were answered, {} with the first reply; a turn took {}, at "
        "most {}",
        answered, replies.size(), at_first, duration(median(totals)), duration(longest)));
    if (answered == 0) return;
    if (!firsts.empty()) print(fmt::format("first words after {}", duration(median(firsts))));
    if (sum.input_tokens > 0) {
        print(fmt::format(
            "{} tokens in, {} % of them from the server's cache; {} out, {:.0f} a second",
            sum.input_tokens, 100 * sum.cached_tokens / sum.input_tokens, sum.output_tokens,
            static_cast<double>(sum.output_tokens) / sum.total));
    }
    if (longest > 1) {
        // A loaded machine may be several times slower.
        print(fmt::format("story.toml: [times] narrator_ms = {}",
                          static_cast<std::uint64_t>(longest * 4) * 1000));
    }
    if (firsts.empty() && longest > 1) {
        print("the narrator tells nothing before its reply is complete, so players wait");
    }
    if (sum.tools == 0) print("it used no tool");
    if (sum.choices == 0) print("it offered no choices");
}

int check(const NarratorCheckOptions& options) {
    require_standard_output("the report");
    interruption::record_first();
    const std::string folder = story::find_story(options.story, "narrator check");
    EngineOptions engine_options;
    engine_options.log = [](const LogLine& line) {
        if (line.level >= NAR_LOG_INFO) complain(printable(line.message));
    };
    Engine engine(engine_options);
    const auto is_stopped = [] { return interruption::received() != 0; };
    std::vector<Reply> replies;
    try {
        Questioner questioner(engine, folder, options.narrator);
        while (replies.size() < options.prompts && !is_stopped()) {
            const std::string prompt = questioner.next_prompt();
            const Reply reply = questioner.ask(prompt);
            if (is_stopped()) break;
            report(prompt, reply);
            replies.push_back(reply);
        }
    } catch (const Error& error) {
        refuse_session(error, folder, "", "the narrator was not checked");
    }
    if (!replies.empty()) summarize(replies);
    if (is_stopped()) return kExitSignal + interruption::received();
    return std::all_of(replies.begin(), replies.end(), is_answered) ? kExitSuccess : kExitFailure;
}

}  // namespace

void add_narrator(Command application) {
    Command narrator = application.group("narrator", "Check a story's narrator");
    narrator.footer("Example:\n  narratoria narrator check --story my-story");
    Command command = narrator.subcommand(
        "check", "Ask a story's narrator, and report how well and how fast it replies");
    auto options = std::make_shared<NarratorCheckOptions>();
    command.option("--story", options->story, "The story's folder; default: the working folder")
        .type_name("FOLDER")
        .not_empty();
    command
        .option("--narrator", options->narrator,
                "A plugin's id, or \"template\"; default: the story's narrator")
        .type_name("NAME")
        .not_empty();
    command.option("--prompts", options->prompts, "The number of prompts; default: 10")
        .within(1, 1000);
    command.footer(
        "It plays a new session, which is not stored: it takes the choices that the narrator\n"
        "offers, and the story's tools run. For each prompt it reports the time, the first words,\n"
        "and why a reply was not used; at the end, what to set in story.toml.\n"
        "Exit status: 0 if each prompt was answered, 1 if one was not, 2 if the story cannot be\n"
        "played.\n"
        "Example:\n  narratoria narrator check --story my-story --prompts 20");
    command.action([options] { return check(*options); });
}

}  // namespace narratoria::command
