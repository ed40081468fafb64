// SPDX-License-Identifier: Apache-2.0
// The plugin narratoria.event_log writes complete records in order, even if the file causes errors.

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>

#include "narratoria/event_sink.h"
#include "plugin/story_host.hpp"

namespace narratoria::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class EventLogTest : public ::testing::Test, protected StoryHost {
protected:
    EventLogTest() : StoryHost("event_log") {}

    void settings(const std::string& toml) {
        story("[plugins.\"narratoria.event_log\"]\n" + toml);
        folder.write("prompts.json",
                     R"({"prompts":[{"patterns":["go"],"answers":[{"narrative":"Onwards."}]}]})");
    }
    // A tool that writes `count` log events.
    std::string talks(int count) {
        folder.tool("talks", "i=0; while [ $i -lt " + std::to_string(count) +
                                 " ]; do printf '{\"version\":\"0\",\"type\":\"log\",\"level\":"
                                 "\"info\",\"message\":\"Zeile „%d“\"}\\n' $i; i=$((i+1)); done\n"
                                 "printf '%s\\n' '" +
                                 kDone + "'");
        return "talks";
    }
    // The records in all files, oldest first; each line must be JSON.
    std::vector<Json> records(const std::string& name = "events.ndjson") const {
        std::vector<Json> all;
        for (int number = 1000; number >= 0; --number) {
            const std::string file = number == 0 ? name : name + "." + std::to_string(number);
            if (!folder.has(file)) continue;
            const std::string text = folder.read(file);
            EXPECT_TRUE(text.empty() || text.back() == '\n') << file << " ends in a torn line";
            for (const std::string& line : lines_of(text)) all.emplace_back(line);
        }
        return all;
    }
    void expect_everything(const std::vector<Json>& found) const {
        ASSERT_EQ(found.size(), recorder.records.size());
        for (size_t i = 0; i < found.size(); ++i) {
            EXPECT_EQ(found[i]["seq"].integer(), static_cast<int64_t>(i + 1));
            EXPECT_EQ(found[i]["event"].text(), recorder.records[i].body.text());
        }
    }
    size_t count_in_log(const std::string& text) const {
        size_t count = 0;
        for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) {
            ++count;
        }
        return count;
    }
};

TEST_F(EventLogTest, RecordsMatchTheLibrarysForm) {
    settings("");
    open();
    std::vector<std::string> expected;
    session->attach([&](Event event) { expected.emplace_back(event.json().view()); });
    run_path(talks(3));
    prompt("go");
    close();
    EXPECT_EQ(lines_of(folder.read("events.ndjson")), expected);
    EXPECT_THAT(folder.read("events.ndjson"), HasSubstr("Zeile „2“"));
}

TEST_F(EventLogTest, FileMayBeAnywhereAndItsFoldersAreCreated) {
    settings("file = \"logs/of/today.ndjson\"");
    open();
    prompt("go");
    close();
    expect_everything(records("logs/of/today.ndjson"));
}

TEST_F(EventLogTest, NextSessionAppendsToTheFile) {
    settings("");
    open();
    prompt("go");
    close();
    const size_t first = records().size();
    recorder.records.clear();
    open();
    prompt("go");
    close();
    EXPECT_EQ(records().size(), first + recorder.records.size());
}

TEST_F(EventLogTest, NamesAreEscaped) {
    settings("");
    open();
    run(R"({"requestId":"a \"plan\" \\ of\nmine","tools":[]})");
    close();
    for (const Json& record : records()) {
        EXPECT_EQ(record["planId"].string(), "a \"plan\" \\ of\nmine");
    }
    expect_everything(records());
}

TEST_F(EventLogTest, FlushTurnWritesAtTheEndOfATurn) {
    settings("flush = \"turn\"");
    open();
    run_path(talks(3));
    expect_everything(records());
}

TEST_F(EventLogTest, FlushLineWritesAtOnce) {
    settings("flush = \"line\"");
    open();
    recorder.on_record = [&](const Record& record) {
        // This sink is called after the plugin's sink.
        EXPECT_EQ(records().size(), record.seq);
    };
    run_path(talks(3));
}

TEST_F(EventLogTest, FlushCloseWritesWhenTheSessionCloses) {
    settings("flush = \"close\"");
    open();
    run_path(talks(3));
    EXPECT_EQ(folder.read("events.ndjson"), "");
    close();
    expect_everything(records());
}

TEST_F(EventLogTest, LongTurnIsWrittenAfterASecond) {
    settings("");
    const std::string gate = folder.fifo("gate");
    folder.tool("waits", "read -r word <'" + gate + "'; printf '%s\\n' '" + kDone + "'");
    open();
    std::optional<Json> result;
    session->execute(plan_of({entry("t", "waits")}), folder.path(),
                     [&](Result ended) { result.emplace(ended.json().view()); });
    EXPECT_TRUE(until([&] { return records().size() >= 3; }));
    EXPECT_FALSE(result.has_value());
    folder.write("gate", "go\n");
    EXPECT_TRUE(until([&] { return result.has_value(); }));
}

// ---------------------------------------------------------------- rotation

TEST_F(EventLogTest, RotationNeitherSplitsNorLosesRecords) {
    settings("max_bytes = 4000\nkeep = 1000\nflush = \"line\"");
    open();
    run_path(talks(300));
    close();
    expect_everything(records());
    int files = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
        if (!file.path().filename().string().starts_with("events.ndjson")) continue;
        ++files;
        EXPECT_LE(file.file_size(), 4000U) << file.path();
    }
    EXPECT_GT(files, 10);
}

TEST_F(EventLogTest, OneWriteMaySpanFiles) {
    settings("max_bytes = 4000\nkeep = 1000\nflush = \"close\"");
    open();
    run_path(talks(1000));
    close();
    expect_everything(records());
    EXPECT_GT(std::filesystem::file_size(folder / "events.ndjson.1"), 3000U)
        << "the file is almost full";
    EXPECT_LE(std::filesystem::file_size(folder / "events.ndjson.1"), 4000U);
}

TEST_F(EventLogTest, OldFilesAreRemoved) {
    settings("max_bytes = 2000\nkeep = 2\nflush = \"line\"");
    open();
    run_path(talks(100));
    close();
    EXPECT_TRUE(folder.has("events.ndjson.1"));
    EXPECT_TRUE(folder.has("events.ndjson.2"));
    EXPECT_FALSE(folder.has("events.ndjson.3"));
    const std::vector<Json> found = records();
    const auto last = static_cast<int64_t>(recorder.records.size());
    for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i]["seq"].integer(), last - static_cast<int64_t>(found.size() - 1 - i));
    }
}

TEST_F(EventLogTest, KeepZeroKeepsNoOldFile) {
    settings("max_bytes = 2000\nkeep = 0\nflush = \"line\"");
    open();
    run_path(talks(100));
    close();
    EXPECT_FALSE(folder.has("events.ndjson.1"));
    EXPECT_LE(std::filesystem::file_size(folder / "events.ndjson"), 2000U);
    EXPECT_EQ(records().back()["seq"].integer(), static_cast<int64_t>(recorder.records.size()));
}

TEST_F(EventLogTest, OversizedRecordHasItsOwnFile) {
    settings("max_bytes = 10\nkeep = 1000\nflush = \"line\"");
    open();
    run_path(talks(5));
    close();
    expect_everything(records());
    EXPECT_EQ(lines_of(folder.read("events.ndjson.1")).size(), 1U);
}

TEST_F(EventLogTest, FailedRotationKeepsWritingAndIsLogged) {
    settings("max_bytes = 2000\nkeep = 1\nflush = \"line\"");
    folder.write("events.ndjson.1/in/the/way", "a folder");
    open();
    run_path(talks(50));
    close();
    expect_everything([&] {
        std::vector<Json> all;
        for (const std::string& line : lines_of(folder.read("events.ndjson"))) {
            all.emplace_back(line);
        }
        return all;
    }());
    EXPECT_EQ(count_in_log("cannot be rotated"), 1U) << log;
}

TEST_F(EventLogTest, IncompleteLineIsTerminatedFirst) {
    settings("");
    folder.write("events.ndjson", "{\"seq\":1,\"time\":\"2026-01");
    open();
    prompt("go");
    close();
    const std::vector<std::string> lines = lines_of(folder.read("events.ndjson"));
    EXPECT_EQ(lines[0], "{\"seq\":1,\"time\":\"2026-01");
    EXPECT_EQ(lines.size(), recorder.records.size() + 1);
}

// ---------------------------------------------------------------- what goes wrong

TEST_F(EventLogTest, UnwritableFolderIsLoggedOnce) {
    // Even root cannot use a file as a folder.
    settings("file = \"story.toml/events.ndjson\"\nflush = \"line\"");
    open();
    EXPECT_TRUE(run_path(talks(50))["ok"].boolean());
    EXPECT_EQ(count_in_log("events are not logged"), 1U) << log;
    EXPECT_THAT(log, HasSubstr("Not a directory"));
    close();
    EXPECT_THAT(log,
                HasSubstr(std::to_string(recorder.records.size()) + " events are not in the log"));
}

TEST_F(EventLogTest, NonRegularFileIsRefused) {
    settings("file = \"/dev/null\"");
    open();
    prompt("go");
    EXPECT_THAT(log, HasSubstr("is not a regular file"));
}

TEST_F(EventLogTest, BufferedRecordsAreWrittenOnceThePathWorks) {
    settings("file = \"way/events.ndjson\"\nflush = \"line\"");
    folder.write("way", "a file");
    open();
    run_path(talks(50));
    std::filesystem::remove(folder / "way");
    close();
    expect_everything(records("way/events.ndjson"));
}

// A full disk: a part of a line is written, then nothing.
class FullDisk {
public:
    explicit FullDisk(rlim_t bytes) {
        ::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }

private:
    rlimit before_{};
};

TEST_F(EventLogTest, FullDiskSplitsNoLineAndBufferIsWrittenLater) {
    settings("flush = \"line\"");
    open();
    {
        const FullDisk full(2000);
        for (int i = 0; i < 20; ++i) prompt("go");
        EXPECT_GT(recorder.records.size(), 40U);
        const std::vector<Json> found = records();
        EXPECT_LT(found.size(), recorder.records.size());
        EXPECT_GT(found.size(), 3U);
        EXPECT_EQ(count_in_log("events are not logged"), 1U) << log;
        EXPECT_THAT(log, HasSubstr("File too large"));
    }
    close();
    expect_everything(records());
    EXPECT_THAT(log, Not(HasSubstr("not in the log")));
}

TEST_F(EventLogTest, ForeignLockDoesNotBlock) {
    settings("flush = \"line\"");
    open();
    prompt("go");
    const int other = ::open((folder / "events.ndjson").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(::flock(other, LOCK_EX), 0);
    const size_t before = records().size();
    EXPECT_EQ(prompt("go").narrative, "Onwards.");
    EXPECT_EQ(records().size(), before);
    ::close(other);
    EXPECT_TRUE(until([&] { return records().size() == recorder.records.size(); }));
    close();
    expect_everything(records());
}

TEST_F(EventLogTest, WrongSettingsDisableThePluginWithTheReason) {
    const std::map<std::string, std::string> wrong = {
        {"file = 1", "\"file\" must be a string"},
        {"file = \"\"", "\"file\" must be the path of a file"},
        {"max_bytes = -1", "\"max_bytes\" must be a whole number from 0"},
        {"max_bytes = \"64 MiB\"", "\"max_bytes\" must be a whole number from 0"},
        {"keep = 100000", "\"keep\" must be a whole number from 0 to 1000"},
        {"flush = \"often\"", "\"flush\" must be \"line\", \"turn\" or \"close\""},
    };
    for (const auto& [toml, message] : wrong) {
        log.clear();
        settings(toml);
        open();
        EXPECT_THAT(log, HasSubstr("narratoria.event_log is left out")) << toml;
        EXPECT_THAT(log, HasSubstr(message)) << toml;
        EXPECT_EQ(prompt("go").narrative, "Onwards.");
        close();
    }
}

// ---------------------------------------------------------------- several writers

TEST_F(EventLogTest, TwoSessionsShareAFile) {
    settings("max_bytes = 3000\nkeep = 1000\nflush = \"line\"");
    open();
    std::optional<Session> other(std::in_place, *engine, SessionOptions{.story = folder.path()});
    talks(200);
    int ended = 0;
    for (Session* each : {&*session, &*other}) {
        each->execute(plan_of({entry("t", "talks")}), folder.path(), [&](Result) { ++ended; });
    }
    ASSERT_TRUE(until([&] { return ended == 2; }));
    const std::string one(session->id()), another(other->id());
    other.reset();
    close();
    std::map<std::string, std::vector<int64_t>> numbers;
    for (const Json& record : records()) {
        numbers[record["sessionId"].string()].push_back(record["seq"].integer());
    }
    ASSERT_EQ(numbers.size(), 2U);
    for (const std::string& id : {one, another}) {
        ASSERT_GT(numbers[id].size(), 200U);
        for (size_t i = 0; i < numbers[id].size(); ++i) {
            ASSERT_EQ(numbers[id][i], static_cast<int64_t>(i + 1)) << id;
        }
    }
    for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
        if (!file.path().filename().string().starts_with("events.ndjson")) continue;
        EXPECT_LE(file.file_size(), 3000U) << file.path();
    }
}

TEST_F(EventLogTest, TwoProcessesShareAFile) {
    settings("max_bytes = 3000\nkeep = 1000\nflush = \"line\"");
    talks(200);
    const pid_t child = ::fork();
    if (child == 0) {
        open();
        run_path("talks");
        close();
        ::_exit(0);
    }
    open();
    run_path("talks");
    close();
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    std::map<std::string, std::vector<int64_t>> numbers;
    for (const Json& record : records()) {
        numbers[record["sessionId"].string()].push_back(record["seq"].integer());
    }
    ASSERT_EQ(numbers.size(), 2U);
    for (const auto& [id, all] : numbers) {
        ASSERT_EQ(all.size(), recorder.records.size());
        for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<int64_t>(i + 1));
    }
}

// ---------------------------------------------------------------- other hosts

// The smallest host that the contract allows: log and settings, but no timers.
class SmallHost {
public:
    SmallHost(const std::string& library, std::string settings, std::string story)
        : settings_(std::move(settings)), story_(std::move(story)) {
        void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) throw std::runtime_error(::dlerror());
        const auto entry = reinterpret_cast<nar_plugin_entry_fn>(::dlsym(handle, NAR_PLUGIN_ENTRY));
        const nar_host_description description{sizeof description, NAR_ABI_VERSION, {}, {}};
        auto failure = sized<nar_failure>();
        if (entry(&description, &plugin_, &failure) != NAR_OK ||
            plugin_->init(&host_, &instance_, &failure) != NAR_OK) {
            throw std::runtime_error(failure.message);
        }
        sink_ = static_cast<const nar_event_sink_extension*>(
            plugin_->get_extension(detail::to_c(NAR_EXTENSION_EVENT_SINK)));
    }
    ~SmallHost() { plugin_->deinit(instance_); }

    void send(uint32_t kind, std::string_view body) {
        auto event = sized<nar_event>();
        event.kind = kind;
        event.seq = ++sent_;
        event.time_us = 1769248800000001;
        event.session_id = detail::to_c("s");
        event.body = detail::to_c(body);
        sink_->event(instance_, &event);
    }

private:
    static SmallHost& of(const nar_host* host) { return *static_cast<SmallHost*>(host->context); }
    static const void* extension(const nar_host*, nar_str id) {
        static constexpr nar_host_log log = {sizeof(nar_host_log), 0,
                                             [](const nar_host*, uint32_t, nar_str) {}};
        // An older host: its struct ends before `title`.
        static constexpr nar_host_config config = {
            sizeof(nar_host_config),
            0,
            [](const nar_host* host) { return detail::to_c(of(host).settings_); },
            [](const nar_host* host) { return detail::to_c(of(host).story_); },
            [](const nar_host*) { return nar_str{}; },
            [](const nar_host*) { return nar_str{}; },
            [](const nar_host*) { return nar_str{}; },
            [](const nar_host*, nar_str, nar_str) -> nar_status { return NAR_OK; },
            [](const nar_host*, nar_str) -> nar_status { return NAR_OK; }};
        if (detail::to_view(id) == NAR_HOST_LOG) return &log;
        if (detail::to_view(id) == NAR_HOST_CONFIG) return &config;
        return nullptr;
    }

    const std::string settings_;
    const std::string story_;
    const nar_host host_{sizeof(nar_host), NAR_ABI_VERSION, this, extension, {}};
    const nar_plugin* plugin_ = nullptr;
    void* instance_ = nullptr;
    const nar_event_sink_extension* sink_ = nullptr;
    uint64_t sent_ = 0;
};

TEST(EventLogInAnotherHost, UnknownKindsAreWrittenAsNumbers) {
    const Folder folder;
    SmallHost host(built_plugin("event_log"), R"({"flush":"line"})", folder.path());
    host.send(99, R"({"a":1})");
    EXPECT_EQ(folder.read("events.ndjson"),
              R"({"seq":1,"time":"2026-01-24T10:00:00.000001Z","sessionId":"s","planId":null,)"
              R"("toolId":null,"attempt":null,"kind":"kind_99","event":{"a":1}})"
              "\n");
}

TEST(EventLogInAnotherHost, RecordIsOneLineWhateverItsWhiteSpace) {
    const Folder folder;
    SmallHost host(built_plugin("event_log"), R"({"flush":"line"})", folder.path());
    host.send(NAR_KIND_TOOL_EVENT, "{\"a\":\r\n1,\r\"b\":\"\\r\"}");
    EXPECT_THAT(folder.read("events.ndjson"), HasSubstr("{\"a\":  1, \"b\":\"\\r\"}}\n"));
}

TEST(EventLogInAnotherHost, WithoutTimersTheEndOfATurnWritesTheBuffer) {
    const Folder folder;
    SmallHost host(built_plugin("event_log"), R"({"flush":"turn"})", folder.path());
    host.send(NAR_KIND_PLAN_STARTED, "{}");
    EXPECT_EQ(folder.read("events.ndjson"), "");
    host.send(NAR_KIND_PLAN_ENDED, "{}");
    EXPECT_EQ(lines_of(folder.read("events.ndjson")).size(), 2U);
}

}  // namespace
}  // namespace narratoria::test
