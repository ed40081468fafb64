// SPDX-License-Identifier: Apache-2.0
#include <narratoria/tool.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <functional>
#include <thread>

#include "conformance/cases.hpp"

namespace json = narratoria::tool::json;
using narratoria::tool::Events;
using narratoria::tool::Failure;
using narratoria::tool::InvalidInput;
using narratoria::tool::Invocation;
using narratoria::tool::Level;
using narratoria::tool::OutputLost;

namespace {

/// A pipe that closes its ends; drain() closes the writing end and returns everything written.
class Pipe {
public:
    Pipe() { EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0); }
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    int reading() const { return ends_[0]; }
    int writing() const { return ends_[1]; }

    void close_end(std::size_t which) {
        if (ends_[which] >= 0) {
            ::close(ends_[which]);
            ends_[which] = -1;
        }
    }

    std::string drain() {
        close_end(1);
        std::string text;
        std::array<char, 4096> buffer{};
        ssize_t got = 0;
        while ((got = ::read(ends_[0], buffer.data(), buffer.size())) != 0) {
            if (got > 0) {
                text.append(buffer.data(), static_cast<std::size_t>(got));
            }
        }
        return text;
    }

private:
    std::array<int, 2> ends_{-1, -1};
};

/// Everything that `emit` writes.
std::string emitted(const std::function<void(Events&)>& emit) {
    Pipe pipe;
    Events events(pipe.writing());
    emit(events);
    return pipe.drain();
}

struct Outcome {
    int status;
    std::string lines;
};

template <class Function>
Outcome run_with(const std::string& invocation, Function function) {
    Pipe input;
    Pipe output;
    EXPECT_EQ(::write(input.writing(), invocation.data(), invocation.size()),
              static_cast<ssize_t>(invocation.size()));
    input.close_end(1);
    const int status = narratoria::tool::run(function, input.reading(), output.writing());
    return {status, output.drain()};
}

/// The byte at which parsing fails, or -1 if it succeeds.
long fault_offset(std::string_view text) {
    try {
        json::parse(text);
    } catch (const json::ParseError& fault) {
        return static_cast<long>(fault.offset());
    }
    return -1;
}

std::string round_trip(std::string_view text) { return json::parse(text).text(); }

std::string nested(std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
}

}  // namespace

// ---- JSON: reading -------------------------------------------------------------------------------

TEST(ToolJsonReader, KeepsEveryTypeAndTheOrderOfMembers) {
    const std::string text =
        R"({"z":null,"a":[true,false,0,-7,1.5,"x",[],{}],"m":{"deep":{"er":[1]}}})";
    EXPECT_EQ(round_trip(text), text);
    EXPECT_EQ(round_trip(" \t\r\n{ \"a\" : [ 1 , 2 ] } \n"), R"({"a":[1,2]})");
}

TEST(ToolJsonReader, KeepsTheDigitsOfIntegersOf64Bits) {
    for (const char* text : {"9223372036854775807", "-9223372036854775808", "9223372036854775808",
                             "18446744073709551615", "0"}) {
        EXPECT_EQ(round_trip(text), text);
    }
    EXPECT_EQ(round_trip("18446744073709551616"), "18446744073709551616");
}

TEST(ToolJsonReader, ReadsRealNumbersExactly) {
    double number = 0;
    ASSERT_TRUE(json::parse("0.1").get_number(number));
    EXPECT_EQ(number, 0.1);
    ASSERT_TRUE(json::parse("-1.7976931348623157e+308").get_number(number));
    EXPECT_EQ(number, -std::numeric_limits<double>::max());
    ASSERT_TRUE(json::parse("5e-324").get_number(number));
    EXPECT_EQ(number, std::numeric_limits<double>::denorm_min());
    ASSERT_TRUE(json::parse("-0").get_number(number));
    EXPECT_TRUE(std::signbit(number));
}

TEST(ToolJsonReader, UnderflowIsZeroAndOverflowIsRefused) {
    double number = 1;
    for (const char* text : {"1e-400", "0.0001e-330", "1E-99999999999999999999"}) {
        ASSERT_TRUE(json::parse(text).get_number(number)) << text;
        EXPECT_EQ(number, 0.0) << text;
    }
    ASSERT_TRUE(json::parse("0." + std::string(400, '0') + "1").get_number(number));
    EXPECT_EQ(number, 0.0);
    ASSERT_TRUE(json::parse("0e99999999999").get_number(number));
    EXPECT_EQ(number, 0.0);
    EXPECT_EQ(fault_offset("[1e400]"), 1);
    EXPECT_EQ(fault_offset("1" + std::string(400, '0')), 0);
}

TEST(ToolJsonReader, DecodesEscapesAndSurrogatePairs) {
    const json::Value value =
        json::parse(R"("\"\\\/\b\f\n\r\t\u0041\u00e4\u20AC\ud83d\ude00\u0000")");
    EXPECT_EQ(*value.if_string(),
              std::string("\"\\/\b\f\n\r\tA\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\0", 19));
}

TEST(ToolJsonReader, RefusesInvalidJsonWithItsPosition) {
    EXPECT_EQ(fault_offset(""), 0);
    EXPECT_EQ(fault_offset("  "), 2);
    EXPECT_EQ(fault_offset("tru"), 0);
    EXPECT_EQ(fault_offset("nulls"), 4);
    EXPECT_EQ(fault_offset("{\"a\":1}x"), 7);
    EXPECT_EQ(fault_offset(std::string_view("{\"a\":1}\0", 8)), 7);
    EXPECT_EQ(fault_offset("\xEF\xBB\xBF{}"), 0);
    EXPECT_EQ(fault_offset("{\"a\":1,}"), 7);
    EXPECT_EQ(fault_offset("[1,]"), 3);
    EXPECT_EQ(fault_offset("[1 2]"), 3);
    EXPECT_EQ(fault_offset("{\"a\" 1}"), 5);
    EXPECT_EQ(fault_offset("{a:1}"), 1);
    EXPECT_EQ(fault_offset("{\"a\":1"), 6);
    EXPECT_EQ(fault_offset("\"abc"), 4);
    EXPECT_EQ(fault_offset("\"a\nb\""), 2);
}

TEST(ToolJsonReader, RefusesNonJsonNumbers) {
    for (const char* text :
         {"01", "+1", ".5", "1.", "1.e1", "1e", "1e+", "-", "-a", "0x10", "NaN", "Infinity"}) {
        EXPECT_NE(fault_offset(text), -1) << text;
    }
}

TEST(ToolJsonReader, RefusesBrokenEscapesSurrogatesAndUtf8) {
    for (const char* text :
         {R"("\x")", R"("\u12")", R"("\u12G4")", R"("\u+123")", R"("\ud800")", R"("\ud800x")",
          R"("\ud800\n")", R"("\ud800\u0041")", R"("\udc00")", "\"\\"}) {
        EXPECT_NE(fault_offset(text), -1) << text;
    }
    for (const char* text : {"\"\x80\"", "\"\xC0\xAF\"", "\"\xE0\x80\x80\"", "\"\xED\xA0\x80\"",
                             "\"\xF4\x90\x80\x80\"", "\"\xF5\x80\x80\x80\"", "\"\xE2\x82\""}) {
        EXPECT_EQ(fault_offset(text), 1) << text;
    }
}

TEST(ToolJsonReader, RefusesDeepNestingWithoutStackOverflow) {
    EXPECT_EQ(fault_offset(nested(json::kDeepestNesting)), -1);
    EXPECT_EQ(fault_offset(nested(json::kDeepestNesting + 1)),
              static_cast<long>(json::kDeepestNesting));
    EXPECT_EQ(fault_offset(std::string(1'000'000, '[')), static_cast<long>(json::kDeepestNesting));
}

TEST(ToolJsonReader, LastDuplicateNameWins) {
    EXPECT_EQ(round_trip(R"({"a":1,"b":2,"a":3,"c":4,"a":5,"b":6})"), R"({"a":5,"b":6,"c":4})");
}

TEST(ToolJsonReader, ReadsAHugeObjectInLinearTime) {
    std::string text = "{";
    for (int index = 0; index < 200'000; ++index) {
        text += (index == 0 ? "\"k" : ",\"k") + std::to_string(index) + "\":0";
    }
    EXPECT_EQ(json::parse(text + "}").names().size(), 200'000U);
}

// ---- JSON: values and writing --------------------------------------------------------------------

TEST(ToolJsonValue, IsBuiltInPlace) {
    const std::string name = "torch";
    const json::Value value =
        json::object({{"a", 1},
                      {"b", "x"},
                      {name, json::array({true, nullptr, 1.5, name, std::string_view("v")})},
                      {"o", json::object()},
                      {"e", json::array()}});
    EXPECT_EQ(value.text(), R"({"a":1,"b":"x","torch":[true,null,1.5,"torch","v"],"o":{},"e":[]})");
}

TEST(ToolJsonValue, GrowsMemberByMember) {
    json::Value value;
    value.set("a", 1).set("b", json::Value().append(1).append("two")).set("a", 3U);
    EXPECT_EQ(value.text(), R"({"a":3,"b":[1,"two"]})");
    EXPECT_THROW(json::Value(1).set("a", 1), std::logic_error);
    EXPECT_THROW(json::object().append(1), std::logic_error);
    EXPECT_EQ(json::object({{"a", 1}, {"a", 2}}).text(), R"({"a":2})");
}

TEST(ToolJsonValue, FindsByJsonPointer) {
    const json::Value value =
        json::parse(R"({"a":[{"b":1}],"":2,"x/y":3,"m~n":4,"~1":5,"0":6,"a b":{"":7}})");
    const auto at = [&](std::string_view pointer) {
        const json::Value* found = value.find(pointer);
        return found == nullptr ? "none" : found->text();
    };
    EXPECT_EQ(at(""), value.text());
    EXPECT_EQ(at("/a/0/b"), "1");
    EXPECT_EQ(at("/"), "2");
    EXPECT_EQ(at("/x~1y"), "3");
    EXPECT_EQ(at("/m~0n"), "4");
    EXPECT_EQ(at("/~01"), "5");
    EXPECT_EQ(at("/0"), "6");
    EXPECT_EQ(at("/a b/"), "7");
    for (const char* pointer : {"/none", "/a/1", "/a/00", "/a/-", "/a/-1", "/a/", "/a/0/b/c"}) {
        EXPECT_EQ(at(pointer), "none") << pointer;
    }
    EXPECT_THROW(value.find("a"), std::invalid_argument);
    EXPECT_THROW(value.find("/~2"), std::invalid_argument);
    EXPECT_THROW(value.find("/~"), std::invalid_argument);
}

TEST(ToolJsonValue, DistinguishesWholeNumbers) {
    std::int64_t whole = 0;
    for (const char* text : {"3", "3.0", "3e0", "30E-1"}) {
        ASSERT_TRUE(json::parse(text).get_integer(whole)) << text;
        EXPECT_EQ(whole, 3) << text;
    }
    for (const char* text : {"3.5", "1e300", "9223372036854775808", "\"3\"", "true"}) {
        EXPECT_FALSE(json::parse(text).get_integer(whole)) << text;
    }
}

TEST(ToolJsonValue, WritesNumbersThatReadBackTheSame) {
    for (const double number : {0.1, 1.0 / 3, 1e22, 1e-7, 123456789.0, -2.5e-300}) {
        double again = 0;
        ASSERT_TRUE(json::parse(json::Value(number).text()).get_number(again));
        EXPECT_EQ(again, number);
    }
    EXPECT_EQ(json::Value(std::numeric_limits<double>::infinity()).text(), "null");
    EXPECT_EQ(json::Value(std::nan("")).text(), "null");
    EXPECT_EQ(json::Value(std::numeric_limits<std::uint64_t>::max()).text(),
              "18446744073709551615");
}

TEST(ToolJsonValue, EscapesOnlyWhereRequired) {
    EXPECT_EQ(json::Value(std::string("\"\\/\n\r\t\b\x01\x1F\x7F\0", 11)).text(),
              "\"\\\"\\\\/\\n\\r\\t\\u0008\\u0001\\u001f\x7F\\u0000\"");
}

TEST(ToolJsonValue, AcceptsTheSameUtf8AsTheRuntime) {
    for (const narratoria::test::ByteCase& each : narratoria::test::utf8_cases()) {
        size_t at = 0;
        while (at < each.text.size() && json::utf8_step(each.text, at).well_formed) {
            at += json::utf8_step(each.text, at).length;
        }
        EXPECT_EQ(at, each.valid) << each.what;
    }
}

TEST(ToolJsonValue, ReplacesIllFormedUtf8) {
    const auto quoted = [](std::string text) { return json::Value(std::move(text)).text(); };
    const std::string mark = "\xEF\xBF\xBD";
    EXPECT_EQ(quoted("\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80"),
              "\"\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80\"");
    EXPECT_EQ(quoted("a\xFFz"), "\"a" + mark + "z\"");
    EXPECT_EQ(quoted("\xE2\x82"), "\"" + mark + "\"");
    EXPECT_EQ(quoted("\xE2\x82z"), "\"" + mark + "z\"");
    EXPECT_EQ(quoted("\xC0\xAF"), "\"" + mark + mark + "\"");
    EXPECT_EQ(quoted("\xED\xA0\x80"), "\"" + mark + mark + mark + "\"");
    EXPECT_EQ(quoted("\xF0\x9F\x98"), "\"" + mark + "\"");
    EXPECT_EQ(quoted("\x80\xBF"), "\"" + mark + mark + "\"");
}

// ---- The invocation ------------------------------------------------------------------------------

TEST(ToolInvocation, HasTheFieldsThatTheRuntimeWrote) {
    const Invocation invocation = Invocation::parse(
        R"({"requestId":"r1","tool":"dice","operation":"roll","future":[],)"
        R"("input": {"sides" : 6.0, "name":"d\u00e4"} ,)"
        R"("state":{"torch":{"lit":true}},"seed":4294967295,)"
        R"("dependencies":{"light1":{"lit":true},"gone":null},"results":{"light1":42}})");
    EXPECT_EQ(invocation.request_id(), "r1");
    EXPECT_EQ(invocation.tool(), "dice");
    EXPECT_EQ(invocation.operation(), "roll");
    EXPECT_EQ(invocation.input_text(), R"({"sides" : 6.0, "name":"d\u00e4"})");
    EXPECT_EQ(invocation.integer("/sides"), 6);
    EXPECT_EQ(invocation.string("/name"), "d\xC3\xA4");
    EXPECT_EQ(invocation.dependencies().find("/light1/lit")->text(), "true");
    EXPECT_TRUE(invocation.dependencies().find("/gone")->is_null());
    EXPECT_EQ(invocation.results().find("/light1")->text(), "42");
    EXPECT_EQ(invocation.state().find("/torch/lit")->text(), "true");
    EXPECT_EQ(invocation.seed(), 4294967295u);
}

TEST(ToolInvocation, IsEmptyWhenNothingWasWritten) {
    for (const char* text : {"", " \r\n", "{}"}) {
        const Invocation invocation = Invocation::parse(text);
        EXPECT_EQ(invocation.request_id(), "");
        EXPECT_EQ(invocation.input().text(), "{}");
        EXPECT_EQ(invocation.input_text(), "{}");
        EXPECT_EQ(invocation.state().text(), "{}");
        EXPECT_EQ(invocation.seed(), 0u);
    }
}

TEST(ToolInvocation, LastDuplicateInputWins) {
    const Invocation invocation = Invocation::parse(R"({"input":{"a":1},"input":{"a":2}})");
    EXPECT_EQ(invocation.integer("/a"), 2);
    EXPECT_EQ(invocation.input_text(), R"({"a":2})");
}

TEST(ToolInvocation, RefusesInvalidInvocations) {
    for (const char* text :
         {"nonsense", "[]", R"({"input":[]})", R"({"requestId":1})", R"({"seed":-1})", "{"}) {
        EXPECT_THROW(Invocation::parse(text), InvalidInput) << text;
    }
}

TEST(ToolInvocation, ReturnsFallbacksForMissingAndNull) {
    const Invocation invocation =
        Invocation::parse(R"({"input":{"n":null,"b":true,"d":2.5,"s":"x"}})");
    EXPECT_EQ(invocation.string_or("/n", "f"), "f");
    EXPECT_EQ(invocation.string_or("/s", "f"), "x");
    EXPECT_EQ(invocation.integer_or("/none", 7), 7);
    EXPECT_EQ(invocation.number_or("/d", 1), 2.5);
    EXPECT_TRUE(invocation.boolean_or("/b", false));
    EXPECT_FALSE(invocation.boolean_or("/none", false));
    EXPECT_FALSE(invocation.has("/n"));
    EXPECT_TRUE(invocation.has("/b"));
}

TEST(ToolInvocation, NamesTheMissingOrMistypedMember) {
    const Invocation invocation = Invocation::parse(R"({"input":{"a":{"b":"x"},"d":2.5}})");
    const auto message = [](const std::function<void()>& access) -> std::string {
        try {
            access();
        } catch (const InvalidInput& fault) {
            return fault.what() + (" " + fault.details().text());
        }
        return "nothing was thrown";
    };
    EXPECT_EQ(message([&] { invocation.string("/none"); }),
              R"(input /none: is missing, must be a string {"pointer":"/none"})");
    EXPECT_EQ(message([&] { invocation.number("/a/b"); }),
              R"(input /a/b: must be a number, is a string {"pointer":"/a/b"})");
    EXPECT_EQ(message([&] { invocation.boolean_or("/a", true); }),
              R"(input /a: must be a boolean, is an object {"pointer":"/a"})");
    EXPECT_EQ(message([&] { invocation.integer("/d"); }),
              R"(input /d: must be a whole number of 64 bits, is 2.5 {"pointer":"/d"})");
}

TEST(ToolInvocation, IsReadCompletelyInAnyPieces) {
    Pipe pipe;
    ASSERT_EQ(::fcntl(pipe.reading(), F_SETFL, O_NONBLOCK), 0);
    const std::string value(300'000, 'v');
    std::thread writer([&] {
        const std::string text = R"({"input":{"v":")" + value + R"("}})";
        for (std::size_t at = 0; at < text.size();) {
            const ssize_t written = ::write(pipe.writing(), text.data() + at,
                                            std::min<std::size_t>(9973, text.size() - at));
            at += written > 0 ? static_cast<std::size_t>(written) : 0;
        }
        pipe.close_end(1);
    });
    const Invocation invocation = Invocation::read(pipe.reading());
    writer.join();
    EXPECT_EQ(invocation.string("/v"), value);
    EXPECT_THROW(Invocation::read(-1), InvalidInput);
}

// ---- The events ----------------------------------------------------------------------------------

TEST(ToolEvents, AreTheSixOfTheProtocol) {
    EXPECT_EQ(
        emitted([](Events& events) {
            events.log(Level::Debug, "d");
            events.log(Level::Warn, "w", json::object({{"n", 1}}));
            events.progress(0.5, "half");
            events.patch(json::object({{"torch", json::object({{"lit", true}})}}));
            events.asset("id", "image", "image/png", "/tmp/x.png", json::object({{"width", 2}}));
            events.asset("id2", "audio", "audio/ogg", "y.ogg");
            events.ui_event("narrative_choice",
                            json::object({{"choices", json::array({"Open", "Leave"})}}));
            events.ui_event("flash");
            events.error("CODE", "message", json::object({{"k", nullptr}}));
            events.done(false, "over", 7);
        }),
        R"({"version":"0","type":"log","level":"debug","message":"d"}
{"version":"0","type":"log","level":"warn","message":"w","fields":{"n":1}}
{"version":"0","type":"log","level":"info","message":"half","fields":{"progress":0.5}}
{"version":"0","type":"state_patch","patch":{"torch":{"lit":true}}}
{"version":"0","type":"asset","assetId":"id","kind":"image","mediaType":"image/png","path":"/tmp/x.png","metadata":{"width":2}}
{"version":"0","type":"asset","assetId":"id2","kind":"audio","mediaType":"audio/ogg","path":"y.ogg"}
{"version":"0","type":"ui_event","event":"narrative_choice","payload":{"choices":["Open","Leave"]}}
{"version":"0","type":"ui_event","event":"flash"}
{"version":"0","type":"error","errorCode":"CODE","errorMessage":"message","details":{"k":null}}
{"version":"0","type":"done","ok":false,"summary":"over","result":7}
)");
}

TEST(ToolEvents, AreOneValidLineForAnyText) {
    const std::string line = emitted([](Events& events) {
        events.log(Level::Error, std::string_view("two\nlines \xFF \0 \"quoted\"", 22));
    });
    EXPECT_EQ(line,
              "{\"version\":\"0\",\"type\":\"log\",\"level\":\"error\",\"message\":"
              "\"two\\nlines \xEF\xBF\xBD \\u0000 \\\"quoted\\\"\"}\n");
    EXPECT_NO_THROW(json::parse(line));
}

TEST(ToolEvents, ClampProgressToItsRange) {
    const auto shown = [](double fraction) {
        const std::string line = emitted([&](Events& events) { events.progress(fraction, "m"); });
        return json::parse(line).find("/fields/progress")->text();
    };
    EXPECT_EQ(shown(-3), "0");
    EXPECT_EQ(shown(1.0000001), "1");
    EXPECT_EQ(shown(std::nan("")), "0");
}

TEST(ToolEvents, RefuseWhatTheProtocolForbids) {
    EXPECT_EQ(emitted([](Events& events) {
                  EXPECT_THROW(events.log(Level::Info, ""), std::logic_error);
                  EXPECT_THROW(events.log(Level::Info, "m", 1), std::logic_error);
                  EXPECT_THROW(events.patch(json::array()), std::logic_error);
                  EXPECT_THROW(events.patch(nullptr), std::logic_error);
                  EXPECT_THROW(events.asset("", "k", "a/b", "p"), std::logic_error);
                  EXPECT_THROW(events.asset("i", "", "a/b", "p"), std::logic_error);
                  EXPECT_THROW(events.asset("i", "k", "", "p"), std::logic_error);
                  EXPECT_THROW(events.asset("i", "k", "a/b", ""), std::logic_error);
                  EXPECT_THROW(events.ui_event(""), std::logic_error);
                  EXPECT_THROW(events.error("", "m"), std::logic_error);
                  EXPECT_THROW(events.error("c", ""), std::logic_error);
                  EXPECT_FALSE(events.had_error());
              }),
              "");
}

TEST(ToolEvents, EndWithDone) {
    EXPECT_EQ(emitted([](Events& events) {
                  EXPECT_FALSE(events.is_done());
                  events.done(true);
                  EXPECT_TRUE(events.is_done());
                  EXPECT_THROW(events.log(Level::Info, "late"), std::logic_error);
                  EXPECT_THROW(events.done(true), std::logic_error);
              }),
              "{\"version\":\"0\",\"type\":\"done\",\"ok\":true}\n");
}

TEST(ToolEvents, ArriveCompleteThroughANonBlockingPipe) {
    Pipe pipe;
    ASSERT_GT(::fcntl(pipe.writing(), F_SETPIPE_SZ, 4096), 0);
    ASSERT_EQ(::fcntl(pipe.writing(), F_SETFL, O_NONBLOCK), 0);
    const std::string message(1'000'000, 'm');
    std::thread writer([&] {
        Events events(pipe.writing());
        events.log(Level::Info, message);
        pipe.close_end(1);
    });
    std::string text;
    std::array<char, 4096> buffer{};
    ssize_t got = 0;
    while ((got = ::read(pipe.reading(), buffer.data(), buffer.size())) > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    writer.join();
    EXPECT_EQ(*json::parse(text).find("/message")->if_string(), message);
}

TEST(ToolEvents, ArriveCompleteDespiteSignals) {
    Pipe pipe;
    struct sigaction action = {};
    struct sigaction before = {};
    action.sa_handler = [](int) {};
    ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
    const std::string message(1'000'000, 'm');
    std::thread writer([&] {
        Events events(pipe.writing());
        events.log(Level::Info, message);
        pipe.close_end(1);
    });
    std::string text;
    std::array<char, 512> buffer{};
    ssize_t got = 0;
    while ((got = ::read(pipe.reading(), buffer.data(), buffer.size())) > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(got));
        if (text.size() < message.size() / 2) {
            ::pthread_kill(writer.native_handle(), SIGUSR1);
        }
    }
    writer.join();
    ::sigaction(SIGUSR1, &before, nullptr);
    EXPECT_EQ(*json::parse(text).find("/message")->if_string(), message);
}

TEST(ToolEvents, FromSeveralThreadsDoNotInterleave) {
    const std::string lines = emitted([](Events& events) {
        std::vector<std::thread> threads;
        for (int thread = 0; thread < 4; ++thread) {
            threads.emplace_back([&events] {
                for (int count = 0; count < 100; ++count) {
                    events.log(Level::Info, std::string(50, 'x'));
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    });
    std::istringstream stream(lines);
    std::string line;
    int count = 0;
    while (std::getline(stream, line)) {
        EXPECT_NO_THROW(json::parse(line));
        ++count;
    }
    EXPECT_EQ(count, 400);
}

TEST(ToolEvents, ReportThatTheRuntimeIsGone) {
    Pipe pipe;
    pipe.close_end(0);
    struct sigaction ignored = {};
    struct sigaction before = {};
    ignored.sa_handler = SIG_IGN;
    ASSERT_EQ(::sigaction(SIGPIPE, &ignored, &before), 0);
    Events events(pipe.writing());
    EXPECT_THROW(events.log(Level::Info, "anyone?"), OutputLost);
    ::sigaction(SIGPIPE, &before, nullptr);
}

// ---- run -----------------------------------------------------------------------------------------

TEST(ToolRun, PassesTheInvocationAndKeepsTheFunctionsDone) {
    const Outcome run =
        run_with(R"({"input":{"who":"Ada"}})", [](const Invocation& invocation, Events& events) {
            events.done(true, "Hello " + invocation.string("/who"));
        });
    EXPECT_EQ(run.status, 0);
    EXPECT_EQ(run.lines,
              "{\"version\":\"0\",\"type\":\"done\",\"ok\":true,\"summary\":\"Hello Ada\"}\n");
}

TEST(ToolRun, EmitsDoneIfTheFunctionDoesNot) {
    EXPECT_EQ(run_with("", [](const Invocation&, Events&) {}).lines,
              "{\"version\":\"0\",\"type\":\"done\",\"ok\":true}\n");
    const Outcome failed =
        run_with("", [](const Invocation&, Events& events) { events.error("C", "m"); });
    EXPECT_NE(failed.lines.find(R"("type":"done","ok":false)"), std::string::npos);
    EXPECT_EQ(failed.status, 0);
}

TEST(ToolRun, TurnsAFailureIntoAnErrorAndDone) {
    const Outcome run = run_with("", [](const Invocation&, Events&) {
        throw Failure("TORCH_WET", "The torch is wet.", json::object({{"damp", 0.9}}));
    });
    EXPECT_EQ(run.status, 0);
    EXPECT_EQ(
        run.lines,
        R"({"version":"0","type":"error","errorCode":"TORCH_WET","errorMessage":"The torch is wet.","details":{"damp":0.9}}
{"version":"0","type":"done","ok":false,"summary":"The torch is wet."}
)");
}

TEST(ToolRun, TurnsAnyExceptionIntoAnErrorAndDone) {
    const auto code_of = [](const Outcome& run) {
        EXPECT_EQ(run.status, 0);
        EXPECT_NE(run.lines.find(R"("type":"done","ok":false)"), std::string::npos);
        return *json::parse(run.lines.substr(0, run.lines.find('\n')))
                    .find("/errorCode")
                    ->if_string();
    };
    EXPECT_EQ(code_of(run_with("", [](const Invocation& i, Events&) { i.string("/x"); })),
              "INVALID_INPUT");
    EXPECT_EQ(code_of(run_with("not JSON", [](const Invocation&, Events&) {})), "INVALID_INPUT");
    EXPECT_EQ(code_of(run_with("", [](const Invocation&, Events&) { throw std::bad_alloc(); })),
              "TOOL_EXCEPTION");
    EXPECT_EQ(code_of(run_with("",
                               [](const Invocation&, Events&) {
                                   throw std::system_error(ENOENT, std::generic_category());
                               })),
              "TOOL_EXCEPTION");
    EXPECT_EQ(code_of(run_with("", [](const Invocation&, Events&) { throw 42; })),
              "TOOL_EXCEPTION");
    EXPECT_EQ(code_of(run_with("", [](const Invocation&, Events&) { throw Failure("", ""); })),
              "TOOL_FAILURE");
}

TEST(ToolRun, ExitsWithOneOnFailureAfterDone) {
    testing::internal::CaptureStderr();
    const Outcome run = run_with("", [](const Invocation&, Events& events) {
        events.done(true);
        throw std::runtime_error("too late");
    });
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "tool failed: too late (after done)\n");
    EXPECT_EQ(run.status, 1);
    EXPECT_EQ(run.lines, "{\"version\":\"0\",\"type\":\"done\",\"ok\":true}\n");
}

TEST(ToolRun, RedirectsOtherOutputToStandardError) {
    Pipe output;
    Pipe diagnostics;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::dup2(output.writing(), STDOUT_FILENO);
        ::dup2(diagnostics.writing(), STDERR_FILENO);
        const int nothing = ::open("/dev/null", O_RDONLY);
        const int status = narratoria::tool::run(
            [](const Invocation&, Events& events) {
                (void)!::write(STDOUT_FILENO, "stray\n", 6);
                events.done(true);
            },
            nothing);
        ::_exit(status);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(output.drain(), "{\"version\":\"0\",\"type\":\"done\",\"ok\":true}\n");
    EXPECT_EQ(diagnostics.drain(), "stray\n");
}
