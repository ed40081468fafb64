// SPDX-License-Identifier: Apache-2.0
// A host with a stored session is killed at random moments while tools run concurrently.

#include <sys/wait.h>

#include <csignal>
#include <map>
#include <random>

#include "conformance/folder.hpp"
#include "narratoria/store.hpp"
#include "support/forked.hpp"
#include "support/host.hpp"
#include "support/witness.hpp"

namespace narratoria::hostile {
namespace {

class KilledGame : public HostileTest {
protected:
    // Plays until killed; writes a line "id state" for each turn that was reported durable.
    [[noreturn]] void play(int out) const {
        Engine engine({.jobs = 3, .output_mode = NAR_OUTPUT_NONE});
        uint64_t asked = 0;
        Narrator narrator{.id = "parallel",
                          .generate =
                              [&](std::string_view, const NarratorReply& reply) {
                                  std::vector<std::string> tools;
                                  for (int tool = 0; tool < 3; ++tool) {
                                      const std::string id = "t" + std::to_string(tool);
                                      tools.push_back(tool_json(id, tool_path("patcher"),
                                                                R"({"patch":{")" + id + R"(":)" +
                                                                    std::to_string(asked) + "}}"));
                                  }
                                  reply.plan(plan_json(tools, true, "p" + std::to_string(++asked)));
                              },
                          .cancel = {}};
        Session session(engine, {.id = "s", .narrator = narrator, .store = store.path()});
        for (;;) {
            session.prompt("go", [&](Turn turn) {
                if (!turn.is_durable()) ::_exit(3);
                const std::string line =
                    std::to_string(turn.id()) + " " + std::string(session.state().view()) + "\n";
                if (::write(out, line.data(), line.size()) < 0) ::_exit(4);
            });
            engine.run_until_idle();
            session.patch_state(R"({"between":)" + std::to_string(asked) + "}");
        }
    }

    // Outside the fixture's folder, which must be empty at the end.
    const test::Folder kept;
    const Store store{kept / "saves.db"};
};

TEST_F(KilledGame, KeepsEveryTurnThatWasReportedDurable) {
    constexpr int kRounds = 25;
    std::mt19937 random(static_cast<uint32_t>(::getpid()));
    std::map<uint64_t, std::string> durable;
    for (int round = 0; round < kRounds; ++round) {
        int ends[2];
        ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        const pid_t game = ::fork();
        ASSERT_GE(game, 0);
        if (game == 0) play(ends[1]);
        ::close(ends[1]);
        std::string told;
        char bytes[4096];
        const ssize_t first = ::read(ends[0], bytes, sizeof bytes);
        ASSERT_GT(first, 0) << "round " << round;
        told.append(bytes, static_cast<size_t>(first));
        ::usleep(static_cast<useconds_t>(random() % 30'000));
        ::kill(game, SIGKILL);
        int status = 0;
        ASSERT_EQ(::waitpid(game, &status, 0), game);
        ASSERT_TRUE(WIFSIGNALED(status)) << status;
        for (ssize_t got; (got = ::read(ends[0], bytes, sizeof bytes)) > 0;) {
            told.append(bytes, static_cast<size_t>(got));
        }
        ::close(ends[0]);
        ASSERT_TRUE(reap_all()) << "a tool or its supervisor outlives the host";
        for (size_t at = 0, end; (end = told.find('\n', at)) != std::string::npos; at = end + 1) {
            const std::string line = told.substr(at, end - at);
            durable[std::stoull(line)] = line.substr(line.find(' ') + 1);
        }
        const Json all(store.turns("s").view());
        size_t unfinished = 0;
        for (size_t i = 0; i < all["/turns"].size(); ++i) {
            const Json turn = all["/turns/" + std::to_string(i)];
            const auto id = static_cast<uint64_t>(turn["/id"].integer());
            if (turn["/status"].string() == "completed") continue;
            ++unfinished;
            EXPECT_EQ(turn["/status"].string(), "interrupted");
            EXPECT_EQ(durable.count(id), 0u) << id;
        }
        EXPECT_LE(unfinished, static_cast<size_t>(round) + 1)
            << "each kill interrupts at most one turn";
        for (const auto& [id, state] : durable) {
            ASSERT_EQ(std::string(store.state("s", id).view()), state) << "turn " << id;
        }
    }
}

}  // namespace
}  // namespace narratoria::hostile
