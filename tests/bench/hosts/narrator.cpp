// SPDX-License-Identifier: Apache-2.0
// What narratoria.narrator_llm adds to the time of a model. The model is a server in a thread.
//
// narrator delta COUNT   from the write of a token at the server to the record narrative_delta in an
//                        event sink, for tokens that follow each other after 5 ms
// narrator turn COUNT    from a prompt to the end of its turn, without the time of the server, which
//                        answers after 20 ms
// narrator cancel COUNT  from nar_session_cancel in the middle of an answer to the server's reading
//                        the end of the connection
//     They print as JSON the median, the 99th percentile and the longest, in microseconds.
// narrator serve         prints as JSON the url of a server for narrator_loops.py, and at the end of
//                        the standard input its requests, their bytes and its seconds

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "chat_server.hpp"
#include "narratoria/engine.hpp"
#include "narratoria/event_sink.h"

using namespace narratoria;
using bench::ChatServer;

namespace {

constexpr int kTokens = 100;  // of an answer
constexpr std::chrono::milliseconds kBetween{5};
constexpr std::chrono::milliseconds kThinking{20};

int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// ---- the server's side; each function replies to one request

// The text of a token is the time of its write.
void write_slowly(ChatServer& server) {
    server.send(std::string(ChatServer::kStream) + ChatServer::piece(R"({\"narrative\":\")"));
    for (int token = 0; token < kTokens; ++token) {
        std::this_thread::sleep_for(kBetween);
        server.send(ChatServer::piece("#" + std::to_string(now()) + " "));
    }
    server.send(ChatServer::piece(R"(\",\"tools\":[],\"choices\":[]})") + ChatServer::end());
}

// An answer in pieces, in one write.
std::string streamed(std::string_view narrative, std::string_view rest) {
    std::string reply(ChatServer::kStream);
    reply += ChatServer::piece(R"({\"narrative\":\")");
    for (size_t at = 0; at < narrative.size(); at += 4) {
        reply += ChatServer::piece(narrative.substr(at, 4));
    }
    return reply + ChatServer::piece(std::string(R"(\",)") + std::string(rest)) + ChatServer::end();
}

constexpr std::string_view kFirst =
    "You strike a match and hold it to the wick. It catches at the second try, and the shadows "
    "draw "
    "back to the corners of the room.";
constexpr std::string_view kSecond =
    "The lamp burns steadily now. In its light you see a door that you had taken for a part of the "
    "wall, and a stair that leads down behind it.";
constexpr std::string_view kChoices = R"(\"choices\":[\"I go down\",\"I wait\"]})";

const std::string kUse =
    streamed(kFirst, R"(\"tools\":[{\"tool\":\"lamp\",\"input\":{\"oil\":3}}],\"choices\":[]})");
const std::string kEnd = streamed(kSecond, R"(\"tools\":[],)" + std::string(kChoices));

// The same answers for programs that do not stream: the use of the tool in the form of the server.
const std::string kWholeUse = ChatServer::whole(
    R"({"id":"c","object":"chat.completion","created":1,"model":"small","choices":[{"index":0,)"
    R"("finish_reason":"tool_calls","message":{"role":"assistant","content":"{\"narrative\":\")" +
    std::string(kFirst) +
    R"(\",\"choices\":[]}","tool_calls":[{"id":"call_1","type":"function","function":{"name":"lamp",)"
    R"("arguments":"{\"oil\":3}"}}]}}]})");
const std::string kWholeEnd = ChatServer::whole(
    R"({"id":"c","object":"chat.completion","created":1,"model":"small","choices":[{"index":0,)"
    R"("finish_reason":"stop","message":{"role":"assistant","content":"{\"narrative\":\")" +
    std::string(kSecond) + R"(\",)" + std::string(kChoices) + R"("}}]})");

// From the arrival of a request to the write of the reply, which is not included.
std::atomic<int64_t> server_time{0};

[[noreturn]] void serve() {
    ChatServer server;
    std::printf("{\"url\":\"%s\"}\n", server.url().c_str());
    std::fflush(stdout);
    std::atomic<int64_t> requests{0}, bytes{0};
    std::thread([&] {
        for (;;) {
            const std::string body = server.request();
            const int64_t begin = now();
            const bool is_streamed = body.find(R"("stream":true)") != body.npos;
            bytes += static_cast<int64_t>(body.size());
            const bool is_second = requests++ % 2 == 1;
            const std::string& reply =
                is_streamed ? (is_second ? kEnd : kUse) : (is_second ? kWholeEnd : kWholeUse);
            server_time += now() - begin;
            server.send(reply);
        }
    }).detach();
    while (std::getchar() != EOF) {
    }
    std::printf("{\"requests\":%lld,\"bytes\":%lld,\"seconds\":%.6f}\n",
                static_cast<long long>(requests), static_cast<long long>(bytes),
                static_cast<double>(server_time) / 1e9);
    std::fflush(stdout);
    std::_Exit(0);  // the thread waits for a request
}

// ---- the host's side

struct Watch {
    std::vector<int64_t> late;  // of the tokens
    bool has_begun = false;     // the narrative of this turn

    static void event(void* instance, const nar_event* event) noexcept {
        const int64_t time = now();
        auto& self = *static_cast<Watch*>(instance);
        self.has_begun = true;
        const std::string_view body(event->body.data, event->body.size);
        for (size_t at = 0; (at = body.find('#', at)) != body.npos; ++at) {
            self.late.push_back(time - std::strtoll(body.data() + at + 1, nullptr, 10));
        }
    }
};

[[noreturn]] void fail(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::_Exit(1);
}

std::vector<int64_t> measure(std::string_view what, int count) {
    ChatServer server;
    std::atomic<int64_t> closed{0};
    std::thread([&] {
        for (;;) {
            server.request();
            const int64_t begin = now();
            if (what == "delta") {
                write_slowly(server);
            } else if (what == "turn") {
                std::this_thread::sleep_for(kThinking);
                server_time = now() - begin;
                server.send(kEnd);
            } else {
                server.send(std::string(ChatServer::kStream) +
                            ChatServer::piece(R"({\"narrative\":\"It is dark.)"));
                server.wait_for_close();
                closed = now();
            }
        }
    }).detach();

    Engine engine;
    Times times;
    times.narrator_ms = 60'000;
    const std::string_view id = "narratoria.narrator_llm";
    const std::string settings = R"({"narratoria.narrator_llm":{"base_url":")" + server.url() +
                                 R"(","model":"small","format":"json_schema"}})";
    const std::string_view plugins[] = {id};
    Session session(
        engine,
        {.times = times, .plugins = plugins, .narrator_id = id, .plugin_settings = settings});
    Watch watch;
    nar_event_sink_extension sink{};
    sink.size = sizeof sink;
    sink.kinds = NAR_KIND_BIT(NAR_KIND_NARRATIVE_DELTA);
    sink.event = Watch::event;
    session.extend("bench", NAR_EXTENSION_EVENT_SINK, &sink, &watch);

    std::vector<int64_t> found;
    const int turns = what == "delta" ? (count + kTokens - 1) / kTokens : count;
    for (int turn = -1; turn < turns; ++turn) {  // the first warms up
        watch = {};
        closed = 0;
        bool has_ended = false;
        Outcome outcome{};
        int64_t begin = now();
        session.prompt("I look around", [&](Turn ended) {
            has_ended = true;
            outcome = ended.outcome();
        });
        if (what == "cancel") {
            while (!watch.has_begun && !has_ended) engine.run_once();
            begin = now();
            session.cancel();
        }
        while (!has_ended) engine.run_once();
        const int64_t end = now();
        if (outcome != (what == "cancel" ? Outcome::Cancelled : Outcome::Completed)) {
            fail("a turn ended otherwise");
        }
        if (what == "cancel") {
            while (closed == 0) engine.run_for(std::chrono::microseconds(0));
        }
        if (what == "delta" && watch.late.size() != kTokens) {
            fail("a turn had " + std::to_string(watch.late.size()) + " tokens");
        }
        if (turn < 0) continue;
        if (what == "delta") found.insert(found.end(), watch.late.begin(), watch.late.end());
        if (what == "turn") found.push_back(end - begin - server_time);
        if (what == "cancel") found.push_back(closed - begin);
    }
    return found;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "serve" && argc == 2) serve();
    const int count = argc == 3 ? std::atoi(argv[2]) : 0;
    if (count <= 0 || (what != "delta" && what != "turn" && what != "cancel")) {
        std::fprintf(stderr, "usage: %s delta|turn|cancel COUNT, or serve\n", argv[0]);
        return 2;
    }
    try {
        std::vector<int64_t> found = measure(what, count);
        std::sort(found.begin(), found.end());
        const auto part = [&](size_t percent) {
            return static_cast<double>(
                       found[std::min(found.size() - 1, found.size() * percent / 100)]) /
                   1e3;
        };
        std::printf("{\"count\":%zu,\"median\":%.1f,\"p99\":%.1f,\"longest\":%.1f}\n", found.size(),
                    part(50), part(99), part(100));
    } catch (const std::exception& error) {
        fail(error.what());
    }
    std::fflush(stdout);
    std::_Exit(0);  // the server's thread waits for a request
}
