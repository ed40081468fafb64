// SPDX-License-Identifier: Apache-2.0
// The conventions of narratoria/base.h, call by call: structs smaller or larger than this
// version's, NULL arguments, invalid text, and the error that the caller owns.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/bytes/utf8.hpp"
#include "base/view.hpp"
#include "conformance/folder.hpp"
#include "conformance/json.hpp"
#include "narratoria/narratoria.h"
#include "support/sized.hpp"

namespace {

using narratoria::view;
using narratoria::test::Folder;
using narratoria::test::Json;
using narratoria::test::sized;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string text(nar_str view) {
    return view.size == 0 ? std::string() : std::string(view.data, static_cast<size_t>(view.size));
}

// One nar_error for several calls; cleared by the destructor.
struct CallError {
    CallError() = default;
    ~CallError() { nar_error_clear(&error); }
    CallError(const CallError&) = delete;
    CallError& operator=(const CallError&) = delete;
    operator nar_error*() { return &error; }
    std::string message() const { return text(error.message); }
    std::string code() const { return text(error.code); }
    std::string details() const { return text(error.details); }
    nar_error error = NAR_ERROR_INIT;
};

const nar_str kEmptyPlan = NAR_STR("{\"requestId\":\"r\",\"tools\":[]}");

class CContract : public ::testing::Test {
protected:
    CContract() {
        EXPECT_EQ(nar_engine_create(nullptr, &engine, error), NAR_OK) << error.message();
        EXPECT_EQ(nar_session_create(engine, nullptr, &session, error), NAR_OK) << error.message();
    }
    ~CContract() override { EXPECT_EQ(nar_engine_destroy(engine, error), NAR_OK); }

    CallError error;
    nar_engine* engine = nullptr;
    nar_session* session = nullptr;
};

// A struct of exactly `size` bytes on the heap, so that sanitizers report a read past its end.
template <typename Struct>
class Sized {
public:
    Sized(const Struct& whole, uint32_t size) : bytes_(new char[size]) {
        Struct copy = whole;
        copy.size = size;
        std::memset(bytes_.get(), 0xEE, size);
        std::memcpy(bytes_.get(), &copy, std::min<size_t>(size, sizeof copy));
    }
    const Struct* get() const { return reinterpret_cast<const Struct*>(bytes_.get()); }

private:
    std::unique_ptr<char[]> bytes_;
};

// ---- names and versions

TEST(CStatus, EveryStatusHasANameAndASentence) {
#define EXPECT_STATUS(name, value, sentence)     \
    EXPECT_STREQ(nar_status_name(value), #name); \
    EXPECT_STREQ(nar_status_text(value), sentence);
    NAR_STATUS_LIST(EXPECT_STATUS)
#undef EXPECT_STATUS
    EXPECT_STREQ(nar_status_name(1), "NAR_UNKNOWN");
    EXPECT_STREQ(nar_status_name(NAR_STATUS_LAST_ - 1), "NAR_UNKNOWN");
    EXPECT_STRNE(nar_status_text(12345), "");
}

TEST(CStatus, LibraryVersionMatchesHeaders) {
    EXPECT_EQ(nar_abi_version(), NAR_ABI_VERSION);
    EXPECT_THAT(nar_library_version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+.*"));
}

TEST(CStatus, OnlyKnownEventKindsHaveNames) {
    for (uint32_t kind = 1; kind <= NAR_KIND_NARRATOR_USAGE; ++kind)
        EXPECT_NE(nar_kind_name(kind), nullptr);
    EXPECT_STREQ(nar_kind_name(NAR_KIND_TOOL_EVENT), "tool_event");
    for (const uint32_t kind : {0u, NAR_KIND_NARRATOR_USAGE + 1u, 64u, UINT32_MAX}) {
        EXPECT_EQ(nar_kind_name(kind), nullptr) << kind;
    }
}

// ---- sessions

// A view with null data is the empty text, whatever its size.
TEST(CSession, StateWithoutDataIsEmpty) {
    nar_engine* engine = nullptr;
    nar_session* session = nullptr;
    nar_text* state = nullptr;
    ASSERT_EQ(nar_engine_create(nullptr, &engine, nullptr), NAR_OK);
    auto options = sized<nar_session_options>();
    options.state = {nullptr, 5};
    ASSERT_EQ(nar_session_create(engine, &options, &session, nullptr), NAR_OK);
    ASSERT_EQ(nar_session_read_state(session, NAR_STR(""), &state, nullptr), NAR_OK);
    EXPECT_EQ(nar_text_view(state).size, 2u) << "{}";
    nar_text_release(state);
    EXPECT_EQ(nar_engine_destroy(engine, nullptr), NAR_OK);
}

// ---- NULL

TEST(CNull, IsAllowedWhereThereIsNothingToDo) {
    EXPECT_EQ(nar_engine_destroy(nullptr, nullptr), NAR_OK);
    EXPECT_EQ(nar_session_destroy(nullptr, nullptr), NAR_OK);
    nar_text_release(nullptr);
    nar_result_release(nullptr);
    EXPECT_EQ(nar_result_retain(nullptr), nullptr);
    nar_error_clear(nullptr);
    EXPECT_EQ(nar_text_view(nullptr).size, 0u);
    EXPECT_EQ(nar_engine_is_busy(nullptr), 0u);
    EXPECT_EQ(nar_engine_descriptor(nullptr), -1);
    EXPECT_EQ(nar_engine_timeout(nullptr), -1);
    EXPECT_EQ(nar_session_id(nullptr).size, 0u);
    EXPECT_EQ(nar_result_success(nullptr), 0u);
    EXPECT_EQ(nar_result_cancelled(nullptr), 0u);
}

TEST(CNull, IsAnInvalidArgumentElsewhere) {
    CallError error;
    for (nar_error* each : {static_cast<nar_error*>(nullptr), static_cast<nar_error*>(error)}) {
        nar_text* place = nullptr;
        EXPECT_EQ(nar_engine_create(nullptr, nullptr, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_engine_run_once(nullptr, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_engine_run_for(nullptr, 0, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_engine_run_until_idle(nullptr, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_engine_adopt_thread(nullptr, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_engine_post(
                      nullptr, [](void*) {}, nullptr, nullptr, each),
                  NAR_INVALID_ARGUMENT);
        nar_session* session = nullptr;
        EXPECT_EQ(nar_session_create(nullptr, nullptr, &session, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_session_prompt(nullptr, NAR_STR("x"), nullptr, nullptr, each),
                  NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_session_execute(nullptr, kEmptyPlan, {}, nullptr, nullptr, each),
                  NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_session_cancel(nullptr), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_session_read_state(nullptr, {}, &place, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_session_patch_state(nullptr, NAR_STR("{}"), each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_session_read_history(nullptr, &place, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_session_check_script(nullptr, nullptr, &place, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_session_read_current(nullptr, &place, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_session_read_assets(nullptr, &place, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_session_read_assets_after(nullptr, nullptr, &place, each),
                  NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_session_attach_sink(nullptr, nullptr, nullptr, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_session_detach_sink(nullptr, 1, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_narrator_reply(nullptr, 1, kEmptyPlan, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_narrator_fail(nullptr, 1, {}, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_result_write(nullptr, 0, nullptr, nullptr, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_result_write_to(nullptr, 0, 1, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_result_json(nullptr, 0, &place, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(nar_event_to_json(nullptr, &place, each), NAR_INVALID_ARGUMENT);
        EXPECT_EQ(place, nullptr);
        EXPECT_EQ(session, nullptr);
    }
    EXPECT_FALSE(error.message().empty());
}

TEST_F(CContract, OutputArgumentMustNotBeNull) {
    EXPECT_EQ(nar_session_read_state(session, {}, nullptr, error), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(nar_session_read_history(session, nullptr, error), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(nar_session_check_script(session, nullptr, nullptr, error), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(nar_session_read_current(session, nullptr, error), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(nar_session_read_assets(session, nullptr, error), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(nar_session_read_assets_after(session, nullptr, nullptr, error),
              NAR_INVALID_ARGUMENT);
    EXPECT_EQ(nar_session_create(engine, nullptr, nullptr, error), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(nar_engine_post(engine, nullptr, nullptr, nullptr, error), NAR_INVALID_ARGUMENT);
    const nar_event event{};
    EXPECT_EQ(nar_event_to_json(&event, nullptr, error), NAR_INVALID_ARGUMENT);
}

TEST(CNull, CountWithoutListIsRefused) {
    CallError error;
    nar_engine* engine = nullptr;
    auto options = sized<nar_engine_options>();
    options.environment_count = 2;
    EXPECT_EQ(nar_engine_create(&options, &engine, error), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(error.message(), HasSubstr("environment"));
    options.environment_count = 0;
    options.allow_path_count = 1;
    EXPECT_EQ(nar_engine_create(&options, &engine, error), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(error.message(), HasSubstr("allow_paths"));
    EXPECT_EQ(engine, nullptr);
}

TEST_F(CContract, NullTextIsEmptyText) {
    EXPECT_EQ(nar_session_patch_state(session, {nullptr, 0}, error), NAR_INVALID_DOCUMENT);
    EXPECT_EQ(nar_session_execute(session, {nullptr, 7}, {nullptr, 7}, nullptr, nullptr, error),
              NAR_INVALID_DOCUMENT);
    nar_text* state = nullptr;
    ASSERT_EQ(nar_session_read_state(session, {nullptr, 7}, &state, error), NAR_OK);
    EXPECT_EQ(text(nar_text_view(state)), "{}");
    nar_text_release(state);
}

// ---- sizes

// A struct smaller than in 1.0 is refused, and not read past its end.
TEST(CSize, ShorterOptionsAreRefused) {
    CallError error;
    nar_engine* engine = nullptr;
    const Sized<nar_engine_options> shorter({}, sizeof(nar_engine_options) - 1);
    EXPECT_EQ(nar_engine_create(shorter.get(), &engine, error), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(error.message(), HasSubstr("nar_engine_options has the size"));
    EXPECT_EQ(engine, nullptr);
}

TEST(CSize, UnknownFieldsOfLongerOptionsAreIgnored) {
    CallError error;
    nar_engine_options options{};
    options.jobs = 3;
    nar_times times{};
    times.try_ms = 10;
    const Sized<nar_times> longer_times(times, sizeof times + 64);
    options.times = longer_times.get();
    const Sized<nar_engine_options> longer(options, sizeof options + 128);
    nar_engine* engine = nullptr;
    ASSERT_EQ(nar_engine_create(longer.get(), &engine, error), NAR_OK) << error.message();
    EXPECT_EQ(nar_engine_destroy(engine, error), NAR_OK);
}

TEST_F(CContract, ValueInAReservedFieldIsRefusedByName) {
    nar_session* other = nullptr;
    auto options = sized<nar_session_options>();
    options.reserved = 77;
    EXPECT_EQ(nar_session_create(engine, &options, &other, error), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(error.message(), "nar_session_options has a value in a reserved field; set it to 0");
    auto handler = sized<nar_execution_handler>();
    handler.reserved = 1;
    EXPECT_EQ(nar_session_execute(session, kEmptyPlan, {}, &handler, nullptr, error),
              NAR_INVALID_ARGUMENT);
    EXPECT_THAT(error.message(), StartsWith("nar_execution_handler"));
}

TEST_F(CContract, StructWithoutSizeIsRefusedByName) {
    nar_engine* other = nullptr;
    nar_engine_options options{};
    EXPECT_EQ(nar_engine_create(&options, &other, error), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(error.message(), HasSubstr("size"));
    options.size = sizeof options;
    nar_times times{};
    options.times = &times;
    EXPECT_EQ(nar_engine_create(&options, &other, error), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(error.message(), HasSubstr("times"));
    nar_session* one = nullptr;
    const nar_session_options session_options{};
    EXPECT_EQ(nar_session_create(engine, &session_options, &one, error), NAR_INVALID_ARGUMENT);
    const nar_turn_handler turn_handler{};
    EXPECT_EQ(nar_session_prompt(session, NAR_STR("x"), &turn_handler, nullptr, error),
              NAR_INVALID_ARGUMENT);
    const nar_execution_handler handler{};
    EXPECT_EQ(nar_session_execute(session, kEmptyPlan, {}, &handler, nullptr, error),
              NAR_INVALID_ARGUMENT);
    nar_event_sink sink{};
    sink.event = [](void*, const nar_event*) {};
    EXPECT_EQ(nar_session_attach_sink(session, &sink, nullptr, error), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(nar_session_attach_sink(session, nullptr, nullptr, error), NAR_INVALID_ARGUMENT);
    sink.size = sizeof sink;
    sink.event = nullptr;
    EXPECT_EQ(nar_session_attach_sink(session, &sink, nullptr, error), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(other, nullptr);
    EXPECT_EQ(one, nullptr);
}

TEST(CSize, EventWithNullTextsIsWritten) {
    CallError error;
    auto event = sized<nar_event>();
    event.session_id = {nullptr, 5};
    event.body = {nullptr, 5};
    nar_text* json = nullptr;
    ASSERT_EQ(nar_event_to_json(&event, &json, error), NAR_OK);
    EXPECT_EQ(Json(text(nar_text_view(json)))["kind"].string(), "kind_0");
    nar_text_release(json);
}

// ---- invalid texts

TEST_F(CContract, InvalidUtf8IsRefusedWithAValidMessage) {
    const nar_str broken = NAR_STR("{\"a\":\"\xFF\"}");
    const auto expect_readable = [&] {
        EXPECT_TRUE(narratoria::utf8::is_valid(error.message())) << error.message();
        EXPECT_TRUE(narratoria::utf8::is_valid(error.details()));
        EXPECT_FALSE(error.message().empty());
    };
    EXPECT_EQ(nar_session_patch_state(session, broken, error), NAR_INVALID_DOCUMENT);
    expect_readable();
    EXPECT_EQ(nar_session_execute(session, broken, {}, nullptr, nullptr, error),
              NAR_INVALID_DOCUMENT);
    expect_readable();
    nar_text* place = nullptr;
    EXPECT_EQ(nar_session_read_state(session, NAR_STR("/\xFF"), &place, error), NAR_NOT_FOUND);
    expect_readable();
    EXPECT_EQ(nar_session_read_state(session, NAR_STR("\xFF"), &place, error),
              NAR_INVALID_ARGUMENT);
    expect_readable();
    nar_session* other = nullptr;
    auto options = sized<nar_session_options>();
    options.id = NAR_STR("\xC0\x80");
    EXPECT_EQ(nar_session_create(engine, &options, &other, error), NAR_INVALID_ARGUMENT);
    expect_readable();
    options.id = {};
    options.state = broken;
    EXPECT_EQ(nar_session_create(engine, &options, &other, error), NAR_INVALID_DOCUMENT);
    expect_readable();
    options.state = {};
    options.story = NAR_STR("/no/such/\xFF");
    EXPECT_EQ(nar_session_create(engine, &options, &other, error), NAR_INVALID_DOCUMENT);
    expect_readable();
    EXPECT_EQ(other, nullptr);

    nar_engine* another = nullptr;
    auto engine_options = sized<nar_engine_options>();
    engine_options.root = NAR_STR("/no/such/\xFF");
    EXPECT_EQ(nar_engine_create(&engine_options, &another, error), NAR_IO);
    expect_readable();
    engine_options.root = NAR_STR("/etc/passwd");
    EXPECT_EQ(nar_engine_create(&engine_options, &another, error), NAR_IO);
    EXPECT_EQ(error.code(), "ROOT");
    const nar_str environment[] = {NAR_STR("\xFF")};
    engine_options.root = {};
    engine_options.environment = environment;
    engine_options.environment_count = 1;
    EXPECT_EQ(nar_engine_create(&engine_options, &another, error), NAR_INVALID_ARGUMENT);
    expect_readable();
}

TEST_F(CContract, EnvironmentVariableWithNulIsNamed) {
    nar_engine* another = nullptr;
    auto options = sized<nar_engine_options>();
    const nar_str variable{"KEY=secret\0more", 15};
    options.environment = &variable;
    options.environment_count = 1;
    EXPECT_EQ(nar_engine_create(&options, &another, error), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(error.message(), "the environment variable \"KEY\" contains a NUL character");
}

TEST_F(CContract, PathWithNulIsNotTruncated) {
    const Folder folder;
    nar_engine* another = nullptr;
    auto options = sized<nar_engine_options>();
    const std::string root = folder.path() + std::string("\0/elsewhere", 11);
    options.root = view(root);
    EXPECT_EQ(nar_engine_create(&options, &another, error), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(error.message(), HasSubstr("NUL"));
    EXPECT_EQ(nar_session_execute(session, kEmptyPlan, view(root), nullptr, nullptr, error),
              NAR_INVALID_ARGUMENT);
    EXPECT_THAT(error.message(), HasSubstr("NUL"));
    auto session_options = sized<nar_session_options>();
    session_options.story = view(root);
    nar_session* other = nullptr;
    EXPECT_EQ(nar_session_create(engine, &session_options, &other, error), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(error.message(), HasSubstr("NUL"));
}

TEST_F(CContract, ProcessGroupLimitsNeedAWorkingCgroupFolder) {
    const Folder folder;
    nar_engine* another = nullptr;
    auto limits = sized<nar_limits>();
    auto options = sized<nar_engine_options>();
    options.limits = &limits;

    limits.processes = 20;
    EXPECT_EQ(nar_engine_create(&options, &another, error), NAR_IO);
    EXPECT_EQ(error.code(), "CGROUP");
    EXPECT_THAT(error.message(), StartsWith("processes cannot be limited: that needs a cgroup"));
    limits.resident_bytes = 1024 * 1024;
    EXPECT_EQ(nar_engine_create(&options, &another, error), NAR_IO);
    EXPECT_THAT(error.message(), StartsWith("processes and resident_bytes cannot be limited"));
    limits.resident_bytes = 1024 * 1024 - 1;
    EXPECT_EQ(nar_engine_create(&options, &another, error), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(error.message(), HasSubstr("at least 1 MiB (1048576), not 1048575"));

    const std::string path = folder.path();
    options.cgroup = view(path);
    limits.resident_bytes = 0;
    EXPECT_EQ(nar_engine_create(&options, &another, error), NAR_IO);
    EXPECT_EQ(error.code(), "CGROUP");
    EXPECT_THAT(error.message(), StartsWith("\"" + path + "\" is not a cgroup2 folder"));
    options.limits = nullptr;
    EXPECT_EQ(nar_engine_create(&options, &another, error), NAR_IO) << "even without limits";
    EXPECT_EQ(another, nullptr);

    // Unlimited values need no cgroup folder.
    options.cgroup = {};
    options.limits = &limits;
    limits.processes = NAR_NONE;
    limits.resident_bytes = UINT64_MAX;
    EXPECT_EQ(nar_engine_create(&options, &another, error), NAR_OK) << error.message();
    nar_engine_destroy(another, nullptr);
}

TEST_F(CContract, StoryWithProcessLimitsNeedsACgroupFolder) {
    const Folder folder;
    const std::string path = folder.path();
    folder.write("story.toml", "title = \"t\"\n[limits]\nprocesses = 9\n");
    auto options = sized<nar_session_options>();
    options.story = view(path);
    nar_session* other = nullptr;
    EXPECT_EQ(nar_session_create(engine, &options, &other, error), NAR_IO);
    EXPECT_EQ(error.code(), "CGROUP");
    EXPECT_THAT(error.message(), StartsWith("processes cannot be limited: that needs a cgroup"));
    EXPECT_EQ(other, nullptr);
}

TEST_F(CContract, StateThatIsNotAnObjectIsRefusedWithItsPosition) {
    for (const char* state : {"[]", "1", "null", "{\"a\":}", "{} {}"}) {
        auto options = sized<nar_session_options>();
        options.state = view(state);
        nar_session* other = nullptr;
        EXPECT_EQ(nar_session_create(engine, &options, &other, error), NAR_INVALID_DOCUMENT)
            << state;
        EXPECT_EQ(error.code(), "STATE");
        EXPECT_EQ(Json(error.details())[0]["line"].integer(), 1);
        EXPECT_EQ(other, nullptr);
    }
}

TEST_F(CContract, StatePointersAreReadOrRefused) {
    ASSERT_EQ(nar_session_patch_state(
                  session, NAR_STR("{\"a\":{\"b/c\":[1,{\"d\":null}],\"~\":\"x\"}}"), error),
              NAR_OK);
    const auto read = [&](std::string_view pointer) {
        nar_text* place = nullptr;
        const nar_status status = nar_session_read_state(session, view(pointer), &place, error);
        std::string out = status == NAR_OK ? text(nar_text_view(place)) : nar_status_name(status);
        nar_text_release(place);
        return out;
    };
    EXPECT_EQ(read("/a/~0"), "\"x\"");
    EXPECT_EQ(read("/a/b~1c/0"), "1");
    EXPECT_EQ(read("/a/b~1c/1/d"), "null");
    EXPECT_EQ(read("/a/b~1c/2"), "NAR_NOT_FOUND");
    EXPECT_EQ(read("/a/b~1c/00"), "NAR_NOT_FOUND");
    EXPECT_EQ(read("/"), "NAR_NOT_FOUND");
    EXPECT_EQ(read("a"), "NAR_INVALID_ARGUMENT");
    EXPECT_EQ(read("/~2"), "NAR_INVALID_ARGUMENT");
    EXPECT_EQ(read("/a~"), "NAR_INVALID_ARGUMENT");
}

TEST_F(CContract, StateSizeAtAPointerNeedsNoCopy) {
    ASSERT_EQ(
        nar_session_patch_state(
            session, NAR_STR("{\"a\":{\"b\":[1,{\"d\":null,\"e\":2}]},\"s\":\"[1,2]\"}"), error),
        NAR_OK);
    const auto measure = [&](std::string_view pointer) -> std::string {
        uint64_t count = 77;
        const nar_status status = nar_session_state_size(session, view(pointer), &count, error);
        // A null count gives the same status.
        EXPECT_EQ(nar_session_state_size(session, view(pointer), nullptr, error), status);
        return status == NAR_OK ? std::to_string(count) : nar_status_name(status);
    };
    EXPECT_EQ(measure(""), "2");
    EXPECT_EQ(measure("/a"), "1");
    EXPECT_EQ(measure("/a/b"), "2");
    EXPECT_EQ(measure("/a/b/1"), "2");
    EXPECT_EQ(measure("/a/b/1/d"), "0");
    EXPECT_EQ(measure("/s"), "0");
    EXPECT_EQ(measure("/s/0"), "NAR_NOT_FOUND");
    EXPECT_EQ(measure("/a/b/2"), "NAR_NOT_FOUND");
    EXPECT_EQ(measure("/x"), "NAR_NOT_FOUND");
    EXPECT_EQ(measure("a"), "NAR_INVALID_ARGUMENT");
    EXPECT_EQ(nar_session_state_size(nullptr, {}, nullptr, error), NAR_INVALID_ARGUMENT);
}

// ---- the error

TEST_F(CContract, FailureReplacesAndSuccessClearsTheError) {
    EXPECT_EQ(nar_session_patch_state(session, NAR_STR("[]"), error), NAR_INVALID_DOCUMENT);
    EXPECT_EQ(error.error.status, NAR_INVALID_DOCUMENT);
    EXPECT_EQ(error.code(), "PATCH");
    EXPECT_THAT(error.details(), HasSubstr("patch-object"));
    EXPECT_EQ(nar_session_detach_sink(session, 77, error), NAR_NOT_FOUND);
    EXPECT_EQ(error.error.status, NAR_NOT_FOUND);
    EXPECT_EQ(error.code(), "SINK");
    EXPECT_EQ(error.details(), "");
    EXPECT_EQ(nar_session_patch_state(session, NAR_STR("{}"), error), NAR_OK);
    EXPECT_EQ(error.error.status, NAR_OK);
    EXPECT_EQ(error.message(), "");
    EXPECT_EQ(error.error.storage, nullptr);
    nar_error_clear(error);
    nar_error_clear(error);
}

TEST_F(CContract, CallsPreserveErrno) {
    errno = 4711;
    auto options = sized<nar_session_options>();
    options.story = NAR_STR("/no/such/story");
    nar_session* other = nullptr;
    EXPECT_EQ(nar_session_create(engine, &options, &other, nullptr), NAR_INVALID_DOCUMENT);
    EXPECT_EQ(errno, 4711);
    ASSERT_EQ(nar_session_execute(session,
                                  NAR_STR("{\"requestId\":\"r\",\"tools\":[{\"toolId\":\"a\","
                                          "\"toolPath\":\"/no/such/tool\"}]}"),
                                  {}, nullptr, nullptr, nullptr),
              NAR_OK);
    ASSERT_EQ(nar_session_cancel(session), NAR_OK);
    ASSERT_EQ(nar_engine_run_until_idle(engine, nullptr), NAR_OK);
    EXPECT_EQ(errno, 4711);
}

TEST(CErrors, ErrorWithoutASizeIsNotTouched) {
    nar_error error;
    std::memset(&error, 0xEE, sizeof error);
    error.size = 0;
    const nar_error before = error;
    EXPECT_EQ(nar_engine_create(nullptr, nullptr, &error), NAR_INVALID_ARGUMENT);
    nar_error_clear(&error);
    EXPECT_EQ(std::memcmp(&error, &before, sizeof error), 0);
}

// ---- submissions

TEST_F(CContract, RecordsBelongToTheirSubmission) {
    struct Seen {
        nar_session* session;
        std::vector<uint64_t> submissions;
    } seen{session, {}};
    auto sink = sized<nar_event_sink>();
    sink.user = &seen;
    sink.event = [](void* user, const nar_event*) {
        auto& its = *static_cast<Seen*>(user);
        its.submissions.push_back(nar_session_submission(its.session));
    };
    ASSERT_EQ(nar_session_attach_sink(session, &sink, nullptr, error), NAR_OK);
    uint64_t first = 0, second = 0;
    ASSERT_EQ(nar_session_execute(session, kEmptyPlan, {}, nullptr, &first, error), NAR_OK);
    ASSERT_EQ(nar_session_execute(session, kEmptyPlan, {}, nullptr, &second, error), NAR_OK);
    EXPECT_EQ(nar_session_submission(session), 0u) << "none runs yet";
    ASSERT_EQ(nar_engine_run_until_idle(engine, error), NAR_OK);
    ASSERT_EQ(nar_session_patch_state(session, NAR_STR("{}"), error), NAR_OK);
    EXPECT_NE(first, second);
    EXPECT_THAT(seen.submissions, ElementsAre(first, first, second, second, 0));
}

TEST_F(CContract, OneSubmissionIsCancelledAndTheOthersRun) {
    struct Ended {
        std::vector<std::string>* order;
        const char* name;
    };
    std::vector<std::string> order;
    Ended ended[3] = {{&order, "first"}, {&order, "second"}, {&order, "third"}};
    uint64_t ids[3] = {};
    for (int i = 0; i < 3; ++i) {
        auto handler = sized<nar_execution_handler>();
        handler.user = &ended[i];
        handler.ended = [](void* user, nar_result* result) {
            const auto& its = *static_cast<Ended*>(user);
            its.order->push_back(
                its.name + std::string(nar_result_cancelled(result) != 0 ? " cancelled" : ""));
        };
        ASSERT_EQ(nar_session_execute(session, kEmptyPlan, {}, &handler, &ids[i], error), NAR_OK);
    }
    EXPECT_EQ(nar_session_cancel_submission(session, ids[1], error), NAR_OK);
    ASSERT_EQ(nar_engine_run_until_idle(engine, error), NAR_OK);
    EXPECT_THAT(order, ElementsAre("first", "second cancelled", "third"));
    EXPECT_EQ(nar_session_cancel_submission(session, ids[1], error), NAR_NOT_FOUND);
    EXPECT_THAT(error.message(), HasSubstr("has ended or never existed"));
    EXPECT_EQ(nar_session_cancel_submission(session, 0, error), NAR_NOT_FOUND);
}

// ---- faults of the host's callbacks, and the log

TEST_F(CContract, ThrowingSinkIsReportedByTheDrivingCallAndDetached) {
    auto sink = sized<nar_event_sink>();
    int calls = 0;
    sink.user = &calls;
    sink.event = [](void* user, const nar_event*) {
        ++*static_cast<int*>(user);
        throw std::runtime_error("no room on the page");
    };
    ASSERT_EQ(nar_session_attach_sink(session, &sink, nullptr, error), NAR_OK);
    int ended = 0;
    auto handler = sized<nar_execution_handler>();
    handler.user = &ended;
    handler.ended = [](void* user, nar_result*) { ++*static_cast<int*>(user); };
    ASSERT_EQ(nar_session_execute(session, kEmptyPlan, nar_str{}, &handler, nullptr, error),
              NAR_OK);
    EXPECT_EQ(nar_engine_run_until_idle(engine, error), NAR_FAILED);
    EXPECT_EQ(error.code(), "CALLBACK_THREW");
    EXPECT_THAT(error.message(), HasSubstr("event sink"));
    EXPECT_THAT(error.message(), HasSubstr("no room on the page"));
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(ended, 1) << "the plan still completes";
    EXPECT_EQ(nar_engine_run_until_idle(engine, error), NAR_OK) << "reported once";
}

TEST_F(CContract, ThrowingHandlerIsReportedByTheDrivingCall) {
    auto handler = sized<nar_execution_handler>();
    handler.ended = [](void*, nar_result* result) {
        nar_result_release(result);
        throw std::runtime_error("no handler today");
    };
    ASSERT_EQ(nar_session_execute(session, kEmptyPlan, nar_str{}, &handler, nullptr, error),
              NAR_OK);
    nar_status status = NAR_OK;
    for (int i = 0; i < 1000 && status == NAR_OK; ++i) status = nar_engine_run_once(engine, error);
    EXPECT_EQ(status, NAR_FAILED);
    EXPECT_THAT(error.message(), HasSubstr("no handler today"));
}

TEST(CLog, LineNamesItsSession) {
    std::vector<std::string> lines;
    auto options = sized<nar_engine_options>();
    options.user = &lines;
    options.log = [](void* user, const nar_log_line* line) {
        EXPECT_EQ(line->size, sizeof(nar_log_line));
        static_cast<std::vector<std::string>*>(user)->push_back(std::to_string(line->level) + " " +
                                                                text(line->session_id) + ": " +
                                                                text(line->message));
        EXPECT_EQ(text(line->code), "PLUGIN_LEFT_OUT");
    };
    CallError error;
    nar_engine* engine = nullptr;
    ASSERT_EQ(nar_engine_create(&options, &engine, error), NAR_OK);
    const nar_str plugins[] = {NAR_STR("/no/such/file.so")};
    auto session_options = sized<nar_session_options>();
    session_options.id = NAR_STR("evening");
    session_options.plugins = plugins;
    session_options.plugin_count = 1;
    nar_session* session = nullptr;
    ASSERT_EQ(nar_session_create(engine, &session_options, &session, error), NAR_OK);
    EXPECT_EQ(nar_engine_destroy(engine, error), NAR_OK);
    EXPECT_THAT(lines, ElementsAre(StartsWith("3 evening: plugin /no/such/file.so is left out")));
}

TEST(CLog, WarningsGoToStderrByDefault) {
    CallError error;
    nar_engine* engine = nullptr;
    ASSERT_EQ(nar_engine_create(nullptr, &engine, error), NAR_OK);
    const nar_str plugins[] = {NAR_STR("/no/such/file.so")};
    auto options = sized<nar_session_options>();
    options.id = NAR_STR("evening");
    options.plugins = plugins;
    options.plugin_count = 1;
    nar_session* session = nullptr;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(nar_session_create(engine, &options, &session, error), NAR_OK);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(nar_engine_destroy(engine, error), NAR_OK);
    EXPECT_THAT(said, StartsWith("narratoria: session evening: plugin /no/such/file.so is left "
                                 "out"));
    EXPECT_THAT(said, ::testing::EndsWith("\n"));
}

// ---- limits of the options

TEST(COptions, JobsHaveALimit) {
    CallError error;
    auto options = sized<nar_engine_options>();
    options.jobs = 4097;
    nar_engine* engine = nullptr;
    EXPECT_EQ(nar_engine_create(&options, &engine, error), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(error.message(), HasSubstr("4096"));
}

TEST(COptions, HistoryMayBeUnlimited) {
    CallError error;
    auto limits = sized<nar_limits>();
    limits.history_patches = NAR_NONE;
    auto options = sized<nar_engine_options>();
    options.limits = &limits;
    nar_engine* engine = nullptr;
    ASSERT_EQ(nar_engine_create(&options, &engine, error), NAR_OK);
    nar_session* session = nullptr;
    ASSERT_EQ(nar_session_create(engine, nullptr, &session, error), NAR_OK);
    for (int i = 0; i < 12000; ++i) {
        ASSERT_EQ(nar_session_patch_state(session, NAR_STR("{\"a\":1}"), error), NAR_OK);
    }
    nar_text* history = nullptr;
    ASSERT_EQ(nar_session_read_history(session, &history, error), NAR_OK);
    const Json read(text(nar_text_view(history)));
    nar_text_release(history);
    EXPECT_EQ(read["dropped"].integer(), 0);
    EXPECT_EQ(read["patches"].size(), 12000u);
    EXPECT_EQ(nar_engine_destroy(engine, error), NAR_OK);
}

TEST(COptions, PatchAndStateAboveTheirLimitsAreRefused) {
    CallError error;
    auto limits = sized<nar_limits>();
    limits.patch_bytes = 30;
    limits.state_bytes = 40;
    auto options = sized<nar_engine_options>();
    options.limits = &limits;
    nar_engine* engine = nullptr;
    ASSERT_EQ(nar_engine_create(&options, &engine, error), NAR_OK);
    nar_session* session = nullptr;
    ASSERT_EQ(nar_session_create(engine, nullptr, &session, error), NAR_OK);
    EXPECT_EQ(nar_session_patch_state(
                  session, NAR_STR("{\"a\":\"0123456789012345678901234567890\"}"), error),
              NAR_INVALID_ARGUMENT);
    EXPECT_EQ(error.code(), "PATCH_TOO_LARGE");
    EXPECT_EQ(nar_session_patch_state(session, NAR_STR("{\"a\":\"01234567890123\"}"), error),
              NAR_OK);
    EXPECT_EQ(nar_session_patch_state(session, NAR_STR("{\"b\":\"01234567890123\"}"), error),
              NAR_INVALID_ARGUMENT);
    EXPECT_EQ(error.code(), "STATE_TOO_LARGE");
    auto other = sized<nar_session_options>();
    const std::string state = R"({"a":")" + std::string(50, 'x') + R"("})";
    other.state = view(state);
    EXPECT_EQ(nar_session_create(engine, &other, &session, error), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(error.code(), "STATE_TOO_LARGE");
    EXPECT_EQ(nar_engine_destroy(engine, error), NAR_OK);
}

TEST(COptions, AllowedSchemesMustBeValidSchemes) {
    CallError error;
    auto options = sized<nar_engine_options>();
    const nar_str schemes[] = {NAR_STR("http:")};
    options.allow_schemes = schemes;
    options.allow_scheme_count = 1;
    nar_engine* engine = nullptr;
    EXPECT_EQ(nar_engine_create(&options, &engine, error), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(error.message(), HasSubstr("\"http:\" in allow_schemes is not a scheme"));
}

// The output folder is refused because other users can enter it.
TEST(COptions, SessionWithoutOutputFolderRunsAndSaysWhy) {
    Folder folder;
    std::filesystem::create_directories(folder / "open");
    std::filesystem::permissions(folder / "open", std::filesystem::perms(0755));
    folder.write("tool",
                 "#!/bin/sh\necho '{\"version\":\"0\",\"type\":\"done\",\"ok\":true,"
                 "\"summary\":\"'\"[$NARRATORIA_OUTPUT_DIR]\"'\"}'\n",
                 0755);
    const std::string output = folder / "open";
    const std::string root = folder.path();
    std::string log;
    CallError error;
    auto options = sized<nar_engine_options>();
    options.root = view(root);
    options.output = view(output);
    options.user = &log;
    options.log = [](void* user, const nar_log_line* line) {
        *static_cast<std::string*>(user) += text(line->message);
    };
    nar_engine* engine = nullptr;
    ASSERT_EQ(nar_engine_create(&options, &engine, error), NAR_OK);
    nar_session* session = nullptr;
    ASSERT_EQ(nar_session_create(engine, nullptr, &session, error), NAR_OK);
    std::string result;
    auto handler = sized<nar_execution_handler>();
    handler.user = &result;
    handler.ended = [](void* user, nar_result* ended) {
        nar_text* json = nullptr;
        ASSERT_EQ(nar_result_json(ended, 0, &json, nullptr), NAR_OK);
        *static_cast<std::string*>(user) = text(nar_text_view(json));
        nar_text_release(json);
    };
    ASSERT_EQ(nar_session_execute(
                  session,
                  NAR_STR("{\"requestId\":\"r\",\"tools\":[{\"toolId\":\"t\",\"toolPath\":"
                          "\"tool\"}]}"),
                  nar_str{}, &handler, nullptr, error),
              NAR_OK);
    EXPECT_EQ(nar_engine_run_until_idle(engine, error), NAR_OK);
    EXPECT_EQ(nar_engine_destroy(engine, error), NAR_OK);
    EXPECT_THAT(result, HasSubstr("\"success\":true"));
    EXPECT_THAT(result, HasSubstr("[]"));
    EXPECT_THAT(log, HasSubstr("NARRATORIA_OUTPUT_DIR"));
    EXPECT_THAT(log, HasSubstr("name a folder that only this user may enter"));
}

TEST_F(CContract, WritingReturnsTheStatusOfARefusingWriter) {
    auto handler = sized<nar_execution_handler>();
    nar_result* kept = nullptr;
    handler.user = &kept;
    handler.ended = [](void* user, nar_result* result) {
        *static_cast<nar_result**>(user) = nar_result_retain(result);
    };
    ASSERT_EQ(nar_session_execute(session, kEmptyPlan, {}, &handler, nullptr, error), NAR_OK);
    ASSERT_EQ(nar_engine_run_until_idle(engine, error), NAR_OK);
    ASSERT_NE(kept, nullptr);
    const nar_write_fn refuse = [](void*, nar_str) -> nar_status { return NAR_BUSY; };
    EXPECT_EQ(nar_result_write(kept, 0, refuse, nullptr, error), NAR_BUSY);
    const nar_write_fn thrower = [](void*, nar_str) -> nar_status {
        throw std::runtime_error("no ink");
    };
    EXPECT_EQ(nar_result_write(kept, 0, thrower, nullptr, error), NAR_FAILED);
    EXPECT_EQ(error.code(), "CALLBACK_THREW");
    EXPECT_THAT(error.message(), HasSubstr("no ink"));
    EXPECT_EQ(nar_result_write(kept, 0, nullptr, nullptr, error), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(nar_result_write(kept, 2, refuse, nullptr, error), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(nar_result_write_to(kept, 2, 1, error), NAR_INVALID_ARGUMENT);
    nar_text* json = nullptr;
    EXPECT_EQ(nar_result_json(kept, 2, &json, error), NAR_INVALID_ARGUMENT);
    EXPECT_EQ(nar_result_write_to(kept, 0, -1, error), NAR_IO);
    EXPECT_THAT(error.message(), HasSubstr("Bad file descriptor"));
    nar_result_release(kept);
}

TEST_F(CContract, PromptNeedsANarrator) {
    EXPECT_EQ(nar_session_prompt(session, NAR_STR("go"), nullptr, nullptr, error),
              NAR_INVALID_ARGUMENT);
    EXPECT_EQ(error.code(), "NO_NARRATOR");
    EXPECT_THAT(error.message(), HasSubstr("story"));
}

TEST_F(CContract, NarratorNeedsGenerate) {
    auto narrator = sized<nar_narrator>();
    auto options = sized<nar_session_options>();
    options.narrator = &narrator;
    nar_session* other = nullptr;
    EXPECT_EQ(nar_session_create(engine, &options, &other, error), NAR_INVALID_ARGUMENT);
    EXPECT_THAT(error.message(), HasSubstr("generate"));
}

}  // namespace
