// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random walks through a story: they take any of its choices, and type some prompts, until it ends.

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "narratoria/engine.hpp"

namespace narratoria::command::story {

// What a story for the template narrator consists of, for walks and their coverage.
struct StoryParts {
    struct Answer {
        std::size_t line;     // of prompts.json
        std::string pattern;  // the first one of its entry
        std::string words;    // the beginning of what it tells
        std::string ending;   // without names
    };
    // By JSON Pointer into prompts.json. Also the rules of "after".
    std::map<std::string, Answer> answers;
    std::set<std::string> tools;       // toolPaths without names
    std::vector<std::string> hints;    // without names
    std::vector<std::string> prompts;  // patterns without names
    std::vector<std::string> named;    // patterns with names
    bool offers_choices = false;
};
// Empty for a story without a valid prompts.json.
StoryParts parts_of(const std::string& folder);

struct WalkProblem {
    std::string what;   // "dead end", "tool failed", "turn failed", "not understood"
    std::string place;  // the prompt, the answer or the error; a problem is reported once for each
    std::string message;
    std::uint64_t walk;              // its number, from 1
    std::vector<std::string> steps;  // the prompts of the shortest walk that found it
};

struct WalkReport {
    std::uint64_t walks = 0;
    std::uint64_t turns = 0;
    std::uint64_t unfinished = 0;  // walks that did not end within their steps
    // There were fewer walks than asked for, because the last `last_round` of them all ended at a
    // tool that failed.
    bool has_given_up = false;
    std::size_t last_round = 0;
    std::map<std::string, std::uint64_t> endings;
    struct Failures {
        std::uint64_t count = 0;
        std::uint64_t retries = 0;
    };
    std::vector<WalkProblem> problems;             // each once
    std::map<std::string, Failures> failed_tools;  // by FailedTool::error
    std::set<std::string> answers;                 // that were given, and rules
    std::set<std::string> tools;                   // that ran
};

struct WalkOptions {
    std::uint64_t walks;
    std::uint64_t seed;
    std::uint64_t steps;
    std::set<std::string> expected_failures;  // FailedTool::error
    // Ends the walks early. Called on all threads.
    std::function<bool()> is_stopped;
    // Shows the walks and turns so far. Called on the calling thread, a few times a second.
    std::function<void(std::uint64_t walks, std::uint64_t turns)> show_progress;
};

// Plays on several threads, each with an engine with these options. The engines' log is called on
// all of these threads.
WalkReport walk(const EngineOptions& engine_options, const std::string& folder,
                const StoryParts& parts, const WalkOptions& options);

}  // namespace narratoria::command::story
