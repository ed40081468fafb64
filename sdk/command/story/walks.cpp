// SPDX-License-Identifier: Apache-2.0
#include "story/walks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <iterator>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "json.hpp"
#include "narratoria/utf8.hpp"
#include "story/named_prompts.hpp"
#include "story/playthrough.hpp"

namespace narratoria::command::story {

using namespace terminal;

namespace {

constexpr const char* kNotUnderstood = "not understood";

// At least one of this many prompts is typed: a hint, or any prompt that the story understands. More
// where fewer choices are offered, because such a story is made for typing.
constexpr std::uint64_t kTypedEvery = 8;

// The walks of a round run at the same time. All of them see the tries of the rounds before, so the
// number of cores does not change the walks.
constexpr std::size_t kRound = 16;

constexpr std::chrono::milliseconds kProgressInterval{250};

bool has_names(std::string_view text) { return text.find_first_of("{}") != text.npos; }

// The beginning of the first text that an answer tells.
std::string words_of(const json::Value& answer) {
    constexpr std::size_t kLongest = 50;
    for (const char* const key : {"narrative", "success", "failure"}) {
        const json::Value* told = json::member(answer, key);
        if (told != nullptr && told->IsArray() && !told->Empty()) told = &(*told)[0];
        if (told == nullptr || !told->IsString() || told->GetStringLength() == 0) continue;
        std::string text(told->GetString(), told->GetStringLength());
        std::replace(text.begin(), text.end(), '\n', ' ');
        if (text.size() <= kLongest) return text;
        const std::string_view cut = detail::prefix_of(text, kLongest);
        return std::string(cut.substr(0, cut.rfind(' '))) + "…";
    }
    return {};
}

std::vector<std::string> plain_texts(const json::Value* list) {
    std::vector<std::string> out;
    if (list == nullptr || !list->IsArray()) return out;
    for (const json::Value& each : list->GetArray()) {
        const json::Value* const text = each.IsObject() ? json::member(each, "text") : &each;
        if (text == nullptr || !text->IsString()) continue;
        std::string plain(text->GetString(), text->GetStringLength());
        if (!has_names(plain)) out.push_back(std::move(plain));
    }
    return out;
}

class PartsReader {
public:
    PartsReader(StoryParts& out, std::string_view text)
        : out_(out), lines_(json::object_lines(text)) {}

    void read(const json::Value& root) {
        out_.hints = plain_texts(json::member(root, "hints"));
        for (const char* const key : {"always", "hints"}) {
            out_.offers_choices = out_.offers_choices || json::member(root, key) != nullptr;
        }
        if (const json::Value* const entries = json::member(root, "prompts");
            entries != nullptr && entries->IsArray()) {
            for (rapidjson::SizeType i = 0; i < entries->Size(); ++i) read_entry((*entries)[i], i);
        }
        const json::Value* const after = json::member(root, "after");
        if (after != nullptr && after->IsArray()) read_answers(*after, "/after", "");
        const json::Value* const unmatched = json::member(root, "unmatched");
        if (unmatched != nullptr && unmatched->IsArray())
            read_answers(*unmatched, "/unmatched", "");
        else if (unmatched != nullptr) read_answer(*unmatched, "/unmatched", "");
    }

private:
    void read_entry(const json::Value& entry, rapidjson::SizeType number) {
        if (!entry.IsObject()) return;
        const json::Value* const patterns = json::member(entry, "patterns");
        const std::vector<std::string> plain = plain_texts(patterns);
        out_.prompts.insert(out_.prompts.end(), plain.begin(), plain.end());
        for (std::string& each : json::texts(patterns)) {
            if (has_names(each)) out_.named.push_back(std::move(each));
        }
        std::string first;
        if (patterns != nullptr && patterns->IsArray() && !patterns->Empty() &&
            (*patterns)[0].IsString()) {
            first = (*patterns)[0].GetString();
        }
        const json::Value* const answers = json::member(entry, "answers");
        if (answers == nullptr || !answers->IsArray()) return;
        read_answers(*answers, fmt::format("/prompts/{}/answers", number), first);
    }

    void read_answers(const json::Value& answers, const std::string& pointer,
                      const std::string& pattern) {
        for (rapidjson::SizeType i = 0; i < answers.Size(); ++i) {
            read_answer(answers[i], fmt::format("{}/{}", pointer, i), pattern);
        }
    }

    void read_answer(const json::Value& answer, const std::string& pointer,
                     const std::string& pattern) {
        if (!answer.IsObject()) return;
        std::string ending = has_names(json::text(answer, "ending"))
                                 ? std::string()
                                 : std::string(json::text(answer, "ending"));
        out_.answers.emplace(pointer, StoryParts::Answer{lines_[pointer], pattern, words_of(answer),
                                                         std::move(ending)});
        out_.offers_choices = out_.offers_choices || json::member(answer, "choices") != nullptr;
        const json::Value* const plan = json::member(answer, "plan");
        if (plan == nullptr || !plan->IsObject()) return;
        const json::Value* const tools = json::member(*plan, "tools");
        if (tools == nullptr || !tools->IsArray()) return;
        for (const json::Value& tool : tools->GetArray()) {
            if (!tool.IsObject()) continue;
            const std::string_view path = json::text(tool, "toolPath");
            if (!has_names(path)) out_.tools.emplace(path);
        }
    }

    StoryParts& out_;
    std::map<std::string, std::size_t> lines_;
};

std::vector<std::string> not_offered(std::vector<std::string> prompts,
                                     const std::vector<std::string>& choices) {
    std::erase_if(prompts, [&](const std::string& each) {
        return std::find(choices.begin(), choices.end(), each) != choices.end();
    });
    return prompts;
}

bool is_unmatched(const PlayedTurn& turn) {
    return std::all_of(turn.answers.begin(), turn.answers.end(),
                       [](const std::string& each) { return each.starts_with("/unmatched"); });
}

// What came of a prompt after an answer. The key of a map of them is both.
struct Tried {
    std::uint64_t count = 0;
    std::uint64_t understood = 0;  // how often the story had an answer
};
using Tries = std::map<std::string, Tried>;

void add(Tried& sum, const Tried& more) {
    sum.count += more.count;
    sum.understood += more.understood;
}

// Of all walks, those that still run included.
struct Counts {
    std::atomic<std::uint64_t> walks = 0;
    std::atomic<std::uint64_t> turns = 0;
};

// One walk. `tried` has the tries of the walks before.
class Walker {
public:
    Walker(const std::string& folder, const StoryParts& parts, const WalkOptions& options,
           const Tries& tried, Counts& counts)
        : folder_(folder), parts_(parts), options_(options), tried_(tried), counts_(counts) {}

    void walk(Engine& engine, std::uint64_t seed) {
        random_.seed(seed);
        Playthrough game(engine, folder_, seed);
        ++report_.walks;
        ++counts_.walks;
        // Choices of the opening alone only show how to begin, where the prompts are known.
        const bool chooses =
            parts_.offers_choices || (parts_.answers.empty() && !game.choices().empty());
        while (steps_.size() < options_.steps && !options_.is_stopped()) {
            std::vector<std::string> typed;
            if (random_() % 2 == 0) typed = not_offered(parts_.hints, game.choices());
            if (typed.empty()) {
                typed = parts_.prompts;
                for (const std::string& each : parts_.named) {
                    append_named_prompts(each, game, typed);
                }
                if (chooses) typed = not_offered(std::move(typed), game.choices());
                else typed.insert(typed.end(), game.choices().begin(), game.choices().end());
            }
            const bool types = !chooses || (!game.choices().empty() && !typed.empty() &&
                                            random_() % typed_every(game.choices().size()) == 0);
            const std::vector<std::string>& candidates = types ? typed : game.choices();
            if (candidates.empty()) {
                note("dead end", last_answer_,
                     steps_.empty() ? "the opening offers no choices"
                                    : fmt::format("after {} there is no choice, and the story has "
                                                  "not ended (\"ending\")",
                                                  json::quoted(steps_.back())));
                return;
            }
            const std::string prompt = chosen_of(candidates);
            steps_.push_back(prompt);
            const PlayedTurn turn = game.prompt(prompt);
            Tried& tried = own_tries_[key_of(prompt)];
            ++tried.count;
            if (!is_unmatched(turn)) {
                ++tried.understood;
                place_ = turn.answers.back();
            } else if (parts_.answers.empty()) {
                place_ = prompt;
            }
            if (!take(turn, prompt, !types)) return;
        }
        ++report_.unfinished;
    }

    const WalkReport& report() const { return report_; }
    const Tries& own_tries() const { return own_tries_; }
    bool has_ended_at_tool() const { return has_ended_at_tool_; }

private:
    static std::uint64_t typed_every(std::size_t choices) {
        return std::min<std::uint64_t>(choices + 1, kTypedEvery);
    }

    std::string key_of(const std::string& prompt) const { return place_ + '\n' + prompt; }

    Tried tried_so_far(const std::string& prompt) const {
        Tried sum;
        for (const Tries* const each : {&tried_, &own_tries_}) {
            if (const auto found = each->find(key_of(prompt)); found != each->end()) {
                add(sum, found->second);
            }
        }
        return sum;
    }

    // Every other time the prompt that was tried least after the last answer, so that rare ways are
    // found, too. Else one that was understood there, because most prompts of a story have an
    // answer in few places only.
    std::string chosen_of(const std::vector<std::string>& candidates) {
        std::vector<const std::string*> known;
        const std::string* chosen = &candidates[random_() % candidates.size()];
        const bool is_rare = random_() % 2 == 0;
        std::uint64_t least = tried_so_far(*chosen).count;
        for (const std::string& each : candidates) {
            const Tried tried = tried_so_far(each);
            if (tried.understood > 0) known.push_back(&each);
            if (!is_rare || tried.count >= least) continue;
            least = tried.count;
            chosen = &each;
        }
        if (!is_rare && !known.empty()) chosen = known[random_() % known.size()];
        return *chosen;
    }

    // False if the walk ends.
    bool take(const PlayedTurn& turn, const std::string& prompt, bool was_offered) {
        ++report_.turns;
        ++counts_.turns;
        report_.answers.insert(turn.answers.begin(), turn.answers.end());
        report_.answers.insert(turn.rules.begin(), turn.rules.end());
        report_.tools.insert(turn.tools.begin(), turn.tools.end());
        for (const FailedTool& each : turn.failed_tools) {
            WalkReport::Failures& failures = report_.failed_tools[each.error];
            ++failures.count;
            failures.retries += each.retries;
        }
        last_answer_ = turn.answers.empty() ? prompt : turn.answers.back();
        if (!take_failures(turn, prompt)) return false;
        if (turn.outcome != Outcome::Completed && !turn.has_untold_failure()) {
            note("turn failed", prompt,
                 fmt::format("{} has no answer: {}", json::quoted(prompt), turn.warning));
        } else if (was_offered && !parts_.answers.empty() && is_unmatched(turn)) {
            note(kNotUnderstood, prompt,
                 fmt::format("the choice {} is not understood", json::quoted(prompt)));
        }
        if (turn.ending.empty()) return true;
        ++report_.endings[turn.ending];
        return false;
    }

    // False if the walk ends at a tool that failed. Its retries take time, and walks that go on would
    // only find it again and again.
    bool take_failures(const PlayedTurn& turn, const std::string& prompt) {
        if (!turn.has_untold_failure()) return true;
        for (const FailedTool& each : turn.failed_tools) {
            if (options_.expected_failures.contains(each.error)) continue;
            has_ended_at_tool_ = true;
            const auto answer = parts_.answers.find(each.answer);
            note("tool failed", each.error,
                 fmt::format("{}: after {} no answer of the story is left; mend the "
                             "tool, or add a \"failure\" to the answer{}",
                             each.error, json::quoted(prompt),
                             answer == parts_.answers.end()
                                 ? std::string()
                                 : fmt::format(" (prompts.json:{})", answer->second.line)));
        }
        return !has_ended_at_tool_;
    }

    void note(const std::string& what, const std::string& place, std::string message) {
        report_.problems.push_back({what, place, std::move(message), report_.walks, steps_});
    }

    const std::string& folder_;
    const StoryParts& parts_;
    const WalkOptions& options_;
    const Tries& tried_;
    Counts& counts_;
    bool has_ended_at_tool_ = false;
    WalkReport report_;
    Tries own_tries_;
    std::mt19937_64 random_;
    std::vector<std::string> steps_;
    std::string last_answer_;
    std::string place_;  // the last answer to a prompt that was understood
};

// Appends a walk's report. Of each problem it keeps the shortest walk that found it.
void append(WalkReport& all, const WalkReport& walk) {
    for (const WalkProblem& each : walk.problems) {
        const auto same =
            std::find_if(all.problems.begin(), all.problems.end(), [&](const WalkProblem& other) {
                return other.what == each.what && other.place == each.place;
            });
        const bool is_new = same == all.problems.end();
        if (!is_new && same->steps.size() <= each.steps.size()) continue;
        WalkProblem& kept = is_new ? all.problems.emplace_back() : *same;
        kept = each;
        kept.walk += all.walks;
    }
    all.walks += walk.walks;
    all.turns += walk.turns;
    all.unfinished += walk.unfinished;
    for (const auto& [ending, count] : walk.endings) all.endings[ending] += count;
    for (const auto& [error, failures] : walk.failed_tools) {
        all.failed_tools[error].count += failures.count;
        all.failed_tools[error].retries += failures.retries;
    }
    all.answers.insert(walk.answers.begin(), walk.answers.end());
    all.tools.insert(walk.tools.begin(), walk.tools.end());
}

}  // namespace

StoryParts parts_of(const std::string& folder) {
    StoryParts parts;
    std::ifstream file(folder + "/prompts.json", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const json::Document root = json::read(text);
    if (root.IsObject()) PartsReader(parts, text).read(root);
    return parts;
}

WalkReport walk(const EngineOptions& engine_options, const std::string& folder,
                const StoryParts& parts, const WalkOptions& options) {
    WalkReport report;
    Tries tried;
    Counts counts;
    auto shown = std::chrono::steady_clock::now();
    const auto show_progress = [&] {
        const auto now = std::chrono::steady_clock::now();
        if (now - shown < kProgressInterval) return;
        shown = now;
        options.show_progress(counts.walks, counts.turns);
    };
    std::vector<Engine> engines;
    // Two for each core, because a walk often waits for a tool.
    const std::size_t most = 2 * std::max<std::size_t>(1, std::thread::hardware_concurrency());
    while (engines.size() < std::min(most, kRound)) engines.emplace_back(engine_options);
    for (std::uint64_t first = 0;
         first < options.walks && !report.has_given_up && !options.is_stopped(); first += kRound) {
        std::vector<Walker> round(std::min<std::uint64_t>(kRound, options.walks - first),
                                  Walker(folder, parts, options, tried, counts));
        std::atomic<std::size_t> next = 0;
        std::vector<std::future<void>> threads;
        for (Engine& engine : engines) {
            threads.push_back(std::async(std::launch::async, [&] {
                engine.adopt_thread();
                for (std::size_t i = next++; i < round.size() && !options.is_stopped();
                     i = next++) {
                    round[i].walk(engine, options.seed + first + i);
                }
            }));
        }
        for (const std::future<void>& each : threads) {
            while (each.wait_for(kProgressInterval) != std::future_status::ready) show_progress();
        }
        show_progress();
        for (Engine& engine : engines) engine.adopt_thread();
        for (std::future<void>& each : threads) each.get();
        for (const Walker& each : round) {
            append(report, each.report());
            for (const auto& [key, count] : each.own_tries()) add(tried[key], count);
        }
        report.last_round = round.size();
        report.has_given_up = report.walks < options.walks &&
                              std::all_of(round.begin(), round.end(), [](const Walker& each) {
                                  return each.has_ended_at_tool();
                              });
    }
    // Another narrator than the template narrator has answered.
    if (report.answers.empty()) {
        std::erase_if(report.problems,
                      [](const WalkProblem& each) { return each.what == kNotUnderstood; });
    }
    return report;
}

}  // namespace narratoria::command::story
