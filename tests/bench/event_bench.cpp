// SPDX-License-Identifier: Apache-2.0
// Each stage between bytes and sinks alone, to find the stage that a change has slowed down.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "event/line_framer.hpp"
#include "event/stream.hpp"
#include "state/history.hpp"
#include "state/tree.hpp"

using namespace narratoria;

namespace {

constexpr std::string_view kLine =
    R"({"version":"0","type":"state_patch","requestId":"6f0c7a52-1d7e-4a0e-9c55-2b9f4a1d8e77",)"
    R"("timestamp":"2026-11-21T09:30:00.123Z","patch":{"world":{"torch_017":{"lit":true,)"
    R"("fuel":73.25,"holder":"player"}},"doors":{"door_004":{"open":false,"name":"north gate"}}}})";

std::string padded(std::string_view text) {
    std::string copy(text);
    copy.append(json::kPadding, '\0');
    return copy;
}

void frame(benchmark::State& state) {
    std::string block;
    for (int i = 0; i < 200; ++i) block += std::string(kLine) + '\n';
    const size_t size = block.size();
    block.append(json::kPadding, '\0');
    event::LineFramer framer(8u << 20);
    uint64_t bytes = 0;
    std::vector<char*> ends;
    for (size_t at = kLine.size(); at < size; at += kLine.size() + 1) ends.push_back(&block[at]);
    for (auto _ : state) {
        for (char* end : ends) *end = '\n';
        framer.feed(block.data(), size, [&](const event::Line& line) {
            bytes += line.text.size();
            return true;
        });
    }
    benchmark::DoNotOptimize(bytes);
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * 200);
}
BENCHMARK(frame);

void parse(benchmark::State& state) {
    const std::string line = padded(kLine);
    json::Tape tape;
    json::ParseError error;
    for (auto _ : state) benchmark::DoNotOptimize(tape.parse({line.data(), kLine.size()}, error));
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(parse);

void decode(benchmark::State& state) {
    const std::string line = padded(kLine);
    event::Decoder decoder;
    event::Event event;
    for (auto _ : state)
        benchmark::DoNotOptimize(decoder.decode({line.data(), kLine.size()}, event));
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(decode);

void merge(benchmark::State& state) {
    const std::string line = padded(kLine);
    event::Decoder decoder;
    event::Event event;
    if (!decoder.decode({line.data(), kLine.size()}, event)) std::abort();
    state::Tree tree;
    state::Patch patch;
    for (auto _ : state) {
        patch.prepare(event.field(event::Field::Patch));
        tree.merge(patch);
    }
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(merge);

void remember(benchmark::State& state) {
    state::History history(10000);
    const std::string_view patch = kLine.substr(kLine.find("{\"world"));
    uint64_t number = 0;
    const auto origin =
        std::make_shared<state::HistoryOrigin>(state::HistoryOrigin{"plan", "tool"});
    for (auto _ : state) history.add(++number, 1, origin, 1, patch);
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(remember);

void publish(benchmark::State& state) {
    const std::string line = padded(kLine);
    event::Decoder decoder;
    event::Event event;
    if (!decoder.decode({line.data(), kLine.size()}, event)) std::abort();
    uint32_t depth = 0;
    uint64_t seen = 0;
    event::Stream stream("session", depth);
    nar_event_sink sink{};
    sink.size = sizeof sink;
    sink.user = &seen;
    sink.event = [](void* user, const nar_event*) { ++*static_cast<uint64_t*>(user); };
    stream.attach(sink);
    const event::Subject subject{"plan", "tool", 1};
    for (auto _ : state) stream.publish_tool_event(stream.take_number(), subject, event);
    benchmark::DoNotOptimize(seen);
    state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(publish);

}  // namespace
