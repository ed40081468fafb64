// SPDX-License-Identifier: Apache-2.0
// embedding STORY WORK [FRAMES]: what engines and sessions cost a program: memory, time, descriptors
// and threads of each, the time of a frame in which there is nothing to do, and that of a turn. WORK
// is a folder for a store and a story. Prints JSON.

#include <dirent.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "memory.hpp"
#include "narratoria/engine.hpp"
#include "narratoria/store.hpp"

using namespace narratoria;

namespace {

double microseconds() {
    return std::chrono::duration<double, std::micro>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// The entries of a folder of /proc, without "." and "..", and without the descriptor that reads it.
int entries_of(const char* folder, int own) {
    int count = -2 - own;
    if (DIR* entries = ::opendir(folder)) {
        while (::readdir(entries) != nullptr) ++count;
        ::closedir(entries);
    }
    return count;
}
int descriptors() { return entries_of("/proc/self/fd", 1); }
int threads() { return entries_of("/proc/self/task", 0); }

// What `count` calls of `make` cost, each. The objects stay in `kept`.
template <class Object, class Make>
void print_cost(const char* name, int count, std::vector<Object>& kept, Make&& make) {
    kept.reserve(kept.size() + static_cast<size_t>(count) + 1);
    kept.push_back(make(0));  // the first one also pays for what all share
    const double bytes = static_cast<double>(bench::resident_bytes());
    const int open = descriptors();
    const double begin = microseconds();
    for (int number = 1; number <= count; ++number) kept.push_back(make(number));
    const double time = microseconds() - begin;
    std::printf("\"%s\":{\"us\":%.1f,\"kib\":%.1f,\"descriptors\":%.2f},\n", name, time / count,
                (static_cast<double>(bench::resident_bytes()) - bytes) / count / 1024,
                static_cast<double>(descriptors() - open) / count);
}

// A turn of a story that reads three values, sets two and applies a rule, with a state of this size.
double turn_microseconds(Engine& engine, const std::string& work, int kib) {
    std::ofstream(work + "/story.toml") << "title = \"Turns\"\n[narrator]\nname = \"template\"\n";
    std::ofstream(work + "/prompts.json") << R"({
        "prompts": [{"patterns": ["take {thing:/things}"], "when": {"/things/{thing}/at": "hall"},
                     "answers": [{"narrative": "You take it at {/minutes}.",
                                  "set": {"/minutes": {"+": 1}, "/taken/{thing}": true}}]}],
        "after": [{"when": {"/minutes": {">": 2}}, "set": {"/minutes": 0}}]})";
    Session player(engine, {.story = work});
    player.set_state("things", R"({"lamp":{"at":"hall"},"axe":{"at":"cellar"}})");
    const std::string filler = "{\"text\":\"" + std::string(1000, '.') + "\",\"list\":[1,2,3]}";
    for (int number = 0; number < kib; ++number) {
        player.set_state("filler" + std::to_string(number), filler);
    }
    engine.run_until_idle();
    constexpr int kTurns = 500;
    const double begin = microseconds();
    for (int turn = 0; turn < kTurns; ++turn) {
        player.prompt("take the lamp");
        engine.run_until_idle();
    }
    return (microseconds() - begin) / kTurns;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3 && argc != 4) {
        std::fprintf(stderr, "usage: %s STORY WORK [FRAMES]\n", argv[0]);
        return 2;
    }
    const std::string story = argv[1];
    const int frames = argc == 4 ? std::atoi(argv[3]) : 1'000'000;
    try {
        std::printf("{");
        {
            std::vector<std::unique_ptr<Engine>> engines;
            print_cost("engine", 100, engines, [](int) { return std::make_unique<Engine>(); });
        }
        Engine engine;
        std::vector<Session> sessions;
        const auto print_frame = [&](const char* name) {
            const double begin = microseconds();
            for (int frame = 0; frame < frames; ++frame)
                engine.run_for(std::chrono::microseconds(0));
            std::printf("\"%s\":%.1f,\n", name, (microseconds() - begin) * 1000 / frames);
        };
        print_frame("frame_ns");
        print_cost("session", 1000, sessions, [&](int) { return Session(engine); });
        print_cost("story_session", 1000, sessions,
                   [&](int) { return Session(engine, {.story = story}); });
        print_frame("frame_2000_sessions_ns");
        sessions.clear();

        const int without_tool = descriptors();
        Session player(engine, {.story = story});
        player.prompt("I light the torch");
        engine.run_until_idle();
        const int without_store = threads();
        std::printf("\"descriptors_after_a_tool\":%d,\"threads\":%d,\n",
                    descriptors() - without_tool, without_store);
        const std::string store = std::string(argv[2]) + "/embedding.db";
        print_cost("store_session", 20, sessions, [&](int number) {
            return Session(engine, {.id = "s" + std::to_string(number), .store = store});
        });
        std::printf("\"threads_of_a_store\":%d,\n", threads() - without_store);
        sessions.clear();
        std::printf("\"turn_us\":%.1f,\"turn_16_mib_us\":%.1f}\n",
                    turn_microseconds(engine, argv[2], 16),
                    turn_microseconds(engine, argv[2], 16384));
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
