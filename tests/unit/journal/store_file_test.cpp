// SPDX-License-Identifier: Apache-2.0
#include "journal/store_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "conformance/folder.hpp"

namespace narratoria::journal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Access = Connection::Access;

class StoreFileTest : public testing::Test {
protected:
    test::Folder folder;
    const std::string path = folder / "saves.db";

    std::string code_of(const std::function<void()>& act) {
        try {
            act();
        } catch (const StoreError& error) {
            EXPECT_THAT(error.what(), HasSubstr(folder / ""));
            return error.code();
        }
        return "nothing";
    }
    std::string code_of_opening(Access access = Access::ReadWrite) {
        return code_of([&] { StoreFile(path, access); });
    }
    static TurnId add_turn(StoreFile& store, int64_t session, std::optional<TurnId> parent,
                           std::string_view prompt, int64_t patch_bytes = 0) {
        const TurnId turn = store.last_turn(session) + 1;
        store.begin();
        store.begin_turn(session, {turn, parent, TurnKind::Prompt, prompt, 1000});
        store.add_part(session, turn, 0, prompt);
        store.end_turn(session, turn, {TurnStatus::Completed, 2000, 77, 3, patch_bytes, "", "{}"});
        store.go_to(session, turn);
        store.commit();
        return turn;
    }
    static int64_t create_session(StoreFile& store, std::string_view name = "s") {
        return store.create_session(name, 7, "{}", R"({"a":0})").id;
    }
    static std::vector<std::string> parts_of(StoreFile& store, int64_t session) {
        std::vector<std::string> all;
        store.each_part(session, 1, [&](std::string_view body) { all.emplace_back(body); });
        return all;
    }
    static std::vector<std::string> shown(StoreFile& store, int64_t session) {
        std::vector<std::string> all;
        for (const TurnRow& turn : store.turns(session)) {
            const std::string parent =
                turn.parent ? store.turn(session, *turn.parent)->prompt : "-";
            all.push_back(parent + ">" + turn.prompt + " " + std::string(name_of(turn.status)));
        }
        return all;
    }
};

TEST_F(StoreFileTest, KeepsSessionsWithTheirTurns) {
    {
        StoreFile store(path, Access::ReadWrite);
        EXPECT_FALSE(store.session("evening"));
        const int64_t evening = create_session(store, "evening");
        create_session(store, "other");
        add_turn(store, evening, add_turn(store, evening, {}, "one"), "two");
    }
    StoreFile store(path, Access::ReadOnly);
    const SessionRow evening = store.session("evening").value();
    EXPECT_EQ(store.sessions().size(), 2u);
    EXPECT_EQ(evening.created_ms, 7);
    EXPECT_EQ(store.initial_state(evening.id), R"({"a":0})");
    EXPECT_THAT(shown(store, evening.id), ElementsAre("->one completed", "one>two completed"));
    const TurnRow last = store.turn(evening.id, evening.current.value()).value();
    EXPECT_EQ(last.prompt, "two");
    EXPECT_EQ(last.began_ms, 1000);
    EXPECT_EQ(last.ended_ms, 2000);
    EXPECT_EQ(last.state_digest, 77u);
    EXPECT_EQ(store.rest(evening.id, last.id), "{}");
}

TEST_F(StoreFileTest, TurnAfterGoToIsAnotherChild) {
    StoreFile store(path, Access::ReadWrite);
    const int64_t session = create_session(store);
    const TurnId one = add_turn(store, session, {}, "one");
    add_turn(store, session, one, "two");
    store.go_to(session, one);
    EXPECT_EQ(store.session("s")->current, one);
    add_turn(store, session, one, "two again");
    EXPECT_THAT(shown(store, session),
                ElementsAre("->one completed", "one>two completed", "one>two again completed"));
}

TEST_F(StoreFileTest, PartsAreReadInOrderWithAllBytes) {
    StoreFile store(path, Access::ReadWrite);
    const int64_t session = create_session(store);
    store.begin_turn(session, {1, {}, TurnKind::Prompt, "p", 0});
    const std::string bytes("a\0b\xFF", 4);
    store.add_part(session, 1, 1, "");
    store.add_part(session, 1, 0, bytes);
    EXPECT_THAT(parts_of(store, session), ElementsAre(bytes, ""));
}

TEST_F(StoreFileTest, StepsHaveSnapshotsAndTheBytesSinceThem) {
    StoreFile store(path, Access::ReadWrite);
    const int64_t session = create_session(store);
    const TurnId one = add_turn(store, session, {}, "one", 10);
    const TurnId two = add_turn(store, session, one, "two", 20);
    EXPECT_EQ(store.bytes_since_snapshot(session, two), 30);
    store.add_snapshot(session, two, R"({"a":1})");
    add_turn(store, session, one, "elsewhere", 5);
    const TurnId three = add_turn(store, session, two, "three", 40);
    EXPECT_EQ(store.bytes_since_snapshot(session, three), 40);
    std::vector<std::string> steps;
    for (std::optional<TurnId> at = three; at;) {
        const Step step = store.step(session, *at).value();
        steps.push_back(std::to_string(step.turn) + (step.has_snapshot ? "*" : ""));
        EXPECT_EQ(step.patches, 3);
        at = step.parent;
    }
    EXPECT_THAT(steps, ElementsAre("4", "2*", "1"));
    EXPECT_EQ(store.snapshot(session, two), R"({"a":1})");
}

TEST_F(StoreFileTest, RolledBackTurnIsNotStored) {
    StoreFile store(path, Access::ReadWrite);
    const int64_t session = create_session(store);
    store.begin();
    store.begin_turn(session, {1, {}, TurnKind::Prompt, "one", 0});
    store.roll_back();
    EXPECT_TRUE(store.turns(session).empty());
}

TEST_F(StoreFileTest, SessionHasOneWriterAndManyReaders) {
    StoreFile store(path, Access::ReadWrite);
    const int64_t session = create_session(store);
    const int64_t other = create_session(store, "t");
    EXPECT_FALSE(store.is_locked(session));
    EXPECT_TRUE(store.lock(session));
    EXPECT_TRUE(StoreFile(path, Access::ReadOnly).is_locked(session));
    std::filesystem::create_symlink(path, folder / "link.db");
    EXPECT_FALSE(StoreFile(folder / "link.db", Access::ReadWrite).lock(session));
    {
        StoreFile second(path, Access::ReadWrite);
        EXPECT_FALSE(second.lock(session));
        EXPECT_TRUE(second.lock(other));
    }
    add_turn(store, session, {}, "one");
    StoreFile reader(path, Access::ReadOnly);
    store.begin();
    store.begin_turn(session, {2, {}, TurnKind::Prompt, "two", 0});
    EXPECT_EQ(reader.turns(session).size(), 1u) << "not committed yet";
    store.commit();
    EXPECT_EQ(reader.turns(session).size(), 2u);
}

// A child process writes turns and reports each durable one, until it is killed.
TEST_F(StoreFileTest, DurableTurnsSurviveAKilledHost) {
    const int64_t session = [&] {
        StoreFile store(path, Access::ReadWrite);
        return create_session(store);
    }();
    size_t durable = 0;
    for (int round = 0; round < 40; ++round) {
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            StoreFile store(path, Access::ReadWrite);
            if (!store.lock(session)) ::_exit(1);
            std::optional<TurnId> last = store.session("s")->current;
            for (;;) {
                const TurnId turn = store.last_turn(session) + 1;
                store.begin(false);
                store.begin_turn(session, {turn, last, TurnKind::Prompt, "p", 0});
                for (int part = 0; part < 20; ++part) store.add_part(session, turn, part, "body");
                store.commit();
                store.begin();
                store.end_turn(session, turn, {TurnStatus::Completed, 0, 0, 0, 0, "", "{}"});
                store.go_to(session, turn);
                store.commit();
                last = turn;
                if (::write(ends[1], "", 1) != 1) ::_exit(2);
            }
        }
        ::close(ends[1]);
        char bytes[64];
        for (int turns = 0; turns < 1 + round % 3; ++turns) {
            const ssize_t got = ::read(ends[0], bytes, 1);
            ASSERT_EQ(got, 1);
            ++durable;
        }
        ::usleep(static_cast<useconds_t>(round * 37 % 900));
        ::kill(child, SIGKILL);
        for (ssize_t got; (got = ::read(ends[0], bytes, sizeof bytes)) > 0;) {
            durable += static_cast<size_t>(got);
        }
        ::close(ends[0]);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status));

        StoreFile store(path, Access::ReadWrite);
        ASSERT_TRUE(store.lock(session)) << "the killed process no longer holds the lock";
        size_t completed = 0;
        size_t others = 0;
        for (const TurnRow& turn : store.turns(session)) {
            size_t parts = 0;
            store.each_part(session, turn.id, [&](std::string_view) { ++parts; });
            if (turn.status == TurnStatus::Completed) {
                ++completed;
                EXPECT_EQ(parts, 20u);
            } else {
                EXPECT_EQ(turn.status, TurnStatus::Running);
                ++others;
            }
        }
        // One more turn may be durable than the child could report.
        EXPECT_GE(completed, durable);
        EXPECT_LE(completed, durable + static_cast<size_t>(round) + 1);
        EXPECT_LE(others, static_cast<size_t>(round) + 1);
        EXPECT_EQ(store.turn(session, store.session("s")->current.value())->status,
                  TurnStatus::Completed);
        Connection connection(path, Access::ReadOnly);
        Statement check(connection, "PRAGMA integrity_check");
        ASSERT_TRUE(check.next());
        EXPECT_EQ(check.view(0), "ok");
        check.reset();
    }
}

TEST_F(StoreFileTest, ProcessesMayCreateAStoreConcurrently) {
    for (int round = 0; round < 10; ++round) {
        const std::string fresh = folder / ("store" + std::to_string(round));
        int gate[2];
        ASSERT_EQ(::pipe(gate), 0);
        std::vector<pid_t> children;
        for (int i = 0; i < 24; ++i) {
            children.push_back(::fork());
            if (children.back() != 0) continue;
            ::close(gate[1]);
            char byte;
            if (::read(gate[0], &byte, 1) != 0) ::_exit(2);  // waits until all children exist
            try {
                StoreFile(fresh, Access::ReadWrite);
                ::_exit(0);
            } catch (const StoreError&) {
                ::_exit(1);
            }
        }
        ::close(gate[0]);
        ::close(gate[1]);
        for (const pid_t child : children) {
            int status = 0;
            ASSERT_EQ(::waitpid(child, &status, 0), child);
            EXPECT_EQ(status, 0);
        }
    }
}

TEST_F(StoreFileTest, RefusesAFileThatIsNotAStore) {
    EXPECT_EQ(code_of_opening(Access::ReadOnly), "STORE_IO") << "the file does not exist";
    EXPECT_FALSE(std::filesystem::exists(path));
    std::ofstream(path)
        << "a plain text file and not a database, but large enough to be examined as one\n";
    EXPECT_EQ(code_of_opening(), "STORE_DAMAGED");
    std::filesystem::remove(path);
    Connection(path, Access::ReadWrite).run("CREATE TABLE other(a)");
    EXPECT_EQ(code_of_opening(), "STORE_DAMAGED");
    EXPECT_EQ(code_of_opening(Access::ReadOnly), "STORE_DAMAGED");
    {
        Connection connection(path, Access::ReadOnly);
        Statement mode(connection, "PRAGMA journal_mode");
        ASSERT_TRUE(mode.next());
        EXPECT_EQ(mode.view(0), "delete") << "it was not changed";
        mode.reset();
    }
    std::filesystem::remove(path);
    std::filesystem::create_directory(path);
    EXPECT_EQ(code_of_opening(), "STORE_IO");
    std::filesystem::remove(path);
    EXPECT_EQ(code_of([&] { StoreFile(folder / "no/such/saves.db", Access::ReadWrite); }),
              "STORE_IO");
}

TEST_F(StoreFileTest, RefusesALaterVersion) {
    StoreFile(path, Access::ReadWrite).create_session("s", 0, "{}", "{}");
    Connection(path, Access::ReadWrite).run("PRAGMA user_version = 3");
    EXPECT_EQ(code_of_opening(), "STORE_NEWER");
    EXPECT_EQ(code_of_opening(Access::ReadOnly), "STORE_NEWER");
}

TEST_F(StoreFileTest, ReadingLeavesNoFileBeside) {
    StoreFile(path, Access::ReadWrite).create_session("s", 0, "{}", "{}");
    { EXPECT_EQ(StoreFile(path, Access::ReadOnly).sessions().size(), 1u); }
    EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
    EXPECT_FALSE(std::filesystem::exists(path + "-shm"));
}

TEST_F(StoreFileTest, RemovedSessionLeavesTheOthers) {
    StoreFile store(path, Access::ReadWrite);
    const int64_t removed = create_session(store, "removed");
    const int64_t kept = create_session(store, "kept");
    for (const int64_t session : {removed, kept}) add_turn(store, session, std::nullopt, "p");
    store.set_name(removed, "camp", 1);
    EXPECT_EQ(store.remove_session(removed), 1);
    EXPECT_FALSE(store.session("removed"));
    EXPECT_THAT(shown(store, kept), ElementsAre("->p completed"));
}

TEST_F(StoreFileTest, StoreOfVersion1IsReadAndChangedWhenOpenedForWriting) {
    StoreFile(path, Access::ReadWrite).create_session("s", 0, "{}", "{}");
    Connection(path, Access::ReadWrite)
        .run(
            "PRAGMA user_version = 1; "
            "INSERT INTO turn(session, number, kind, status, prompt, began_ms) "
            "VALUES(1, 1, 0, 1, 'p', 0); INSERT INTO part VALUES(1, 0, x'0102FF')");
    auto version = [&] { return Connection(path, Access::ReadOnly).number("PRAGMA user_version"); };
    for (const Access access : {Access::ReadOnly, Access::ReadWrite}) {
        EXPECT_EQ(version(), 1);
        StoreFile store(path, access);
        EXPECT_THAT(parts_of(store, 1), ElementsAre("\x01\x02\xFF"));
    }
    EXPECT_EQ(version(), 2);
}

TEST_F(StoreFileTest, ReportsADamagedPart) {
    StoreFile store(path, Access::ReadWrite);
    const int64_t session = create_session(store);
    add_turn(store, session, {}, std::string(5000, 'p'));
    for (const char* const body : {"x'00'", "x'00FFFFFF7D00'", "substr(body, 1, 9)"}) {
        Connection(path, Access::ReadWrite)
            .run(("UPDATE part SET body = " + std::string(body)).c_str());
        EXPECT_EQ(code_of([&] { parts_of(store, session); }), "STORE_DAMAGED") << body;
    }
}

TEST_F(StoreFileTest, PartsAreCompressed) {
    StoreFile store(path, Access::ReadWrite);
    const int64_t session = create_session(store);
    const std::string part(100'000, 'p');
    store.begin_turn(session, {1, {}, TurnKind::Prompt, "", 0});
    store.add_part(session, 1, 0, part);
    EXPECT_THAT(parts_of(store, session), ElementsAre(part));
    EXPECT_LT(Connection(path, Access::ReadOnly).number("SELECT length(body) FROM part"), 500);
}

TEST_F(StoreFileTest, ReportsATruncatedFile) {
    {
        StoreFile store(path, Access::ReadWrite);
        const int64_t session = create_session(store);
        for (int i = 0; i < 20; ++i) add_turn(store, session, {}, std::string(5000, 'p'));
    }
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    EXPECT_EQ(code_of([&] {
                  StoreFile store(path, Access::ReadWrite);
                  store.turns(store.session("s")->id);
              }),
              "STORE_DAMAGED");
}

TEST_F(StoreFileTest, CommitReportsARemovedFile) {
    StoreFile store(path, Access::ReadWrite);
    const int64_t session = create_session(store);
    std::filesystem::remove(path);
    store.begin();
    store.begin_turn(session, {1, {}, TurnKind::Prompt, "one", 0});
    EXPECT_EQ(code_of([&] { store.commit(); }), "STORE_REMOVED");
}

TEST_F(StoreFileTest, FullDiskRollsTheTurnBackWithoutDamage) {
    StoreFile store(path, Access::ReadWrite);
    const int64_t session = create_session(store);
    const TurnId one = add_turn(store, session, {}, "one");
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handled = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{64 * 1024, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    store.begin();
    const std::string code = code_of([&] {
        store.begin_turn(session, {2, one, TurnKind::Prompt, "two", 0});
        store.add_part(session, 2, 0, std::string(10'000'000, 'r'));
        store.commit();
    });
    store.roll_back();
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handled);
    EXPECT_EQ(code, "STORE_FULL");
    EXPECT_THAT(shown(store, session), ElementsAre("->one completed"));
    add_turn(store, session, one, "three");
    EXPECT_THAT(shown(store, session), ElementsAre("->one completed", "one>three completed"));
}

TEST_F(StoreFileTest, ErrorOfOpeningNamesItsCause) {
    auto message_of = [](const std::string& file) {
        try {
            StoreFile(file, Access::ReadWrite);
        } catch (const StoreError& error) {
            return std::string(error.what());
        }
        return std::string("nothing");
    };
    EXPECT_THAT(message_of(folder / "missing/saves.db"), HasSubstr("No such file or directory"));
    { StoreFile(path, Access::ReadWrite); }
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const int next = ::dup(0);
    ::close(next);
    // Then the database itself can be opened, but no file beside it, and then nothing at all.
    for (const rlim_t more : {1u, 0u}) {
        const rlimit few{static_cast<rlim_t>(next) + more, before.rlim_max};
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
        const std::string message = message_of(path);
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
        EXPECT_THAT(message, testing::AllOf(HasSubstr("Too many open files"),
                                            testing::Not(HasSubstr("writable"))));
    }
}

}  // namespace
}  // namespace narratoria::journal
