// SPDX-License-Identifier: Apache-2.0
#pragma once
// A test of a story: what the player says, and what the story must answer.
//
//     # A comment.
//     seed 7
//     state {"torch": {"lit": false}}
//     > I light the torch
//     It catches.
//     * I open the door
//     = /torch/lit true
//     ! The ending's name
//
// Before the first prompt, `seed` determines the dice and `state` replaces the story's [state]. After
// a prompt come the text that is told, the choices, values of the state (`none`: it has none) and the
// ending. What is left out is not compared. `...` in the text stands for any text, white space
// does not matter, and a line that begins with \ is text.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "narratoria/engine.hpp"

namespace narratoria::command::story {

struct TranscriptStep {
    std::size_t line;
    std::string prompt;
    struct Value {
        std::size_t line;
        std::string pointer;
        std::string json;  // empty: none
    };
    std::string told;
    std::vector<std::string> choices;
    std::vector<Value> values;
    std::string ending;
};

struct Transcript {
    std::uint64_t seed = 1;
    std::string state;  // a JSON object, or empty
    std::vector<TranscriptStep> steps;
};

// "line 3: what is wrong"
struct TranscriptFault {
    std::size_t line;
    std::string message;
};

Transcript read_transcript(std::string_view text, std::vector<TranscriptFault>& faults);

// What happened in transcripts.
struct Played {
    std::set<std::string> answers;  // that were given, and rules: JSON Pointers into prompts.json
    std::set<std::string> tools;    // the toolPaths that ran
    std::set<std::string> endings;
    std::set<std::string> expected_failures;  // FailedTool::error, where the text was as expected
};

// Plays the transcript and returns what differs. Adds to `played`.
std::vector<TranscriptFault> play_transcript(Engine& engine, const std::string& folder,
                                             const Transcript& transcript, Played& played);

// Plays it, and returns its text with what the story answers now where it expected something else,
// or nothing.
std::string updated_transcript(Engine& engine, const std::string& folder, std::string_view text,
                               const Transcript& transcript);

}  // namespace narratoria::command::story
