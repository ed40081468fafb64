// SPDX-License-Identifier: Apache-2.0
// host STORY PROMPT: plays one turn. Exit 0 when it completed.
#include <exception>
#include <iostream>
#include <narratoria/engine.hpp>

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    try {
        narratoria::Engine engine;
        narratoria::Session session(engine, {.story = argv[1]});
        bool completed = false;
        session.prompt(argv[2], [&](narratoria::Turn turn) {
            completed = turn.outcome() == narratoria::Outcome::Completed;
            std::cout << turn.narrative() << '\n';
        });
        engine.run_until_idle();
        return completed ? 0 : 1;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
