// SPDX-License-Identifier: Apache-2.0
// The engine in a C++ program: plays one prompt of a story, prints the tools' events while they run,
// then the narrative and the choices.   embed_cpp STORY "I light the torch"
#include <cstdio>
#include <string_view>

#include "narratoria/engine.hpp"

namespace {

void print(const char* label, std::string_view text) {
    std::printf("%s%.*s\n", label, static_cast<int>(text.size()), text.data());
}

}  // namespace

int main(int argument_count, char** arguments) {
    if (argument_count != 3) {
        std::fprintf(stderr, "usage: embed_cpp STORY PROMPT\n");
        return 2;
    }
    try {
        bool completed = false;
        narratoria::Engine engine;
        narratoria::Session session(engine, {.story = arguments[1]});
        session.attach([](narratoria::Event event) { print("event      ", event.body()); },
                       narratoria::kinds(narratoria::Kind::ToolEvent));
        session.prompt(arguments[2], [&](narratoria::Turn turn) {
            completed = turn.outcome() == narratoria::Outcome::Completed;
            print("narrative  ", turn.narrative());
            print("choices    ", turn.choices());
        });
        engine.run_until_idle();
        print("state      ", session.state());
        return completed ? 0 : 1;
    } catch (const narratoria::Error& error) {
        std::fprintf(stderr, "%s\n%s\n", error.what(), error.details().c_str());
        return 1;
    }
}
