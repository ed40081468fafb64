// SPDX-License-Identifier: Apache-2.0
#include "story/walks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <utility>

#include "json.hpp"
#include "story/playthrough.hpp"

namespace narratoria::command::story {

using namespace terminal;

namespace {

constexpr const char* kNotUnderstood = "not understood";

// One of this many prompts is typed: a hint, or any prompt that the story understands.
constexpr std::uint64_t kTypedEvery = 8;

std::vector<std::string> plain_texts(const json::Value* list) {
    std::vector<std::string> out;
    if (list == nullptr || !list->IsArray()) return out;
    for (const json::Value& each : list->GetArray()) {
        const json::Value* const text = each.IsObject() ? json::member(each, "text") : &each;
        if (text == nullptr || !text->IsString()) continue;
        std::string plain(text->GetString(), text->GetStringLength());
        if (plain.find_first_of("{}") == std::string::npos) out.push_back(std::move(plain));
    }
    return out;
}

class PartsReader {
public:
    explicit PartsReader(StoryParts& out) : out_(out) {}

    void read(const json::Value& root) {
        out_.hints = plain_texts(json::member(root, "hints"));
        for (const char* const key : {"always", "hints"}) {
            out_.offers_choices = out_.offers_choices || json::member(root, key) != nullptr;
        }
        if (const json::Value* const entries = json::member(root, "prompts");
            entries != nullptr && entries->IsArray()) {
            for (rapidjson::SizeType i = 0; i < entries->Size(); ++i) read_entry((*entries)[i], i);
        }
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
        out_.answers.emplace(pointer, pattern);
        out_.offers_choices = out_.offers_choices || json::member(answer, "choices") != nullptr;
        const json::Value* const plan = json::member(answer, "plan");
        if (plan == nullptr || !plan->IsObject()) return;
        const json::Value* const tools = json::member(*plan, "tools");
        if (tools == nullptr || !tools->IsArray()) return;
        for (const json::Value& tool : tools->GetArray()) {
            if (!tool.IsObject()) continue;
            const std::string_view path = json::text(tool, "toolPath");
            if (path.find_first_of("{}") == std::string_view::npos) out_.tools.emplace(path);
        }
    }

    StoryParts& out_;
};

bool is_unmatched(const PlayedTurn& turn) {
    return std::all_of(turn.answers.begin(), turn.answers.end(),
                       [](const std::string& each) { return each.starts_with("/unmatched"); });
}

class Walker {
public:
    Walker(Engine& engine, const std::string& folder, const StoryParts& parts, WalkReport& report,
           const std::function<bool()>& is_stopped)
        : engine_(engine),
          folder_(folder),
          parts_(parts),
          report_(report),
          is_stopped_(is_stopped) {}

    void walk(std::uint64_t seed, std::uint64_t most) {
        random_.seed(seed);
        steps_.clear();
        last_answer_.clear();
        Playthrough game(engine_, folder_, seed);
        ++report_.walks;
        const bool chooses = parts_.offers_choices || !game.choices().empty();
        while (steps_.size() < most && !is_stopped_()) {
            const std::vector<std::string>& typed =
                parts_.hints.empty() || random_() % 2 == 0 ? parts_.prompts : parts_.hints;
            const bool types = !chooses || (!game.choices().empty() && !typed.empty() &&
                                            random_() % kTypedEvery == 0);
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
            if (!take(turn, prompt, !types)) return;
        }
        ++report_.unfinished;
    }

private:
    // Every other time the prompt that was tried least after the last answer, so that rare ways are
    // found, too.
    std::string chosen_of(const std::vector<std::string>& candidates) {
        const auto tried = [&](const std::string& each) -> std::uint64_t& {
            return tried_[last_answer_ + '\n' + each];
        };
        std::size_t chosen = random_() % candidates.size();
        if (random_() % 2 == 0) {
            for (std::size_t i = 0; i < candidates.size(); ++i) {
                if (tried(candidates[i]) < tried(candidates[chosen])) chosen = i;
            }
        }
        ++tried(candidates[chosen]);
        return candidates[chosen];
    }

    // False if the walk ends.
    bool take(const PlayedTurn& turn, const std::string& prompt, bool was_offered) {
        ++report_.turns;
        report_.answers.insert(turn.answers.begin(), turn.answers.end());
        report_.tools.insert(turn.tools.begin(), turn.tools.end());
        for (const std::string& each : turn.failed_tools) ++report_.failed_tools[each];
        last_answer_ = turn.answers.empty() ? prompt : turn.answers.back();
        if (turn.outcome != Outcome::Completed) {
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

    // Keeps the shortest walk that finds the problem.
    void note(const std::string& what, const std::string& place, std::string message) {
        const auto [found, is_new] =
            problems_.try_emplace(what + '\n' + place, report_.problems.size());
        if (is_new) {
            report_.problems.push_back({what, std::move(message), report_.walks, steps_});
        } else if (report_.problems[found->second].steps.size() > steps_.size()) {
            report_.problems[found->second] = {what, std::move(message), report_.walks, steps_};
        }
    }

    Engine& engine_;
    const std::string& folder_;
    const StoryParts& parts_;
    WalkReport& report_;
    const std::function<bool()>& is_stopped_;
    std::mt19937_64 random_;
    std::vector<std::string> steps_;
    std::string last_answer_;
    std::map<std::string, std::uint64_t> tried_;   // by answer and prompt
    std::map<std::string, std::size_t> problems_;  // the index by what and where
};

}  // namespace

StoryParts parts_of(const std::string& folder) {
    StoryParts parts;
    std::ifstream file(folder + "/prompts.json", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const json::Document root = json::read(text);
    if (root.IsObject()) PartsReader(parts).read(root);
    return parts;
}

WalkReport walk(Engine& engine, const std::string& folder, const StoryParts& parts,
                std::uint64_t walks, std::uint64_t seed, std::uint64_t steps,
                const std::function<bool()>& is_stopped) {
    WalkReport report;
    Walker walker(engine, folder, parts, report, is_stopped);
    for (std::uint64_t i = 0; i < walks && !is_stopped(); ++i) walker.walk(seed + i, steps);
    // Another narrator than the template narrator has answered.
    if (report.answers.empty()) {
        std::erase_if(report.problems,
                      [](const WalkProblem& each) { return each.what == kNotUnderstood; });
    }
    return report;
}

}  // namespace narratoria::command::story
