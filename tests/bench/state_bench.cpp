// SPDX-License-Identifier: Apache-2.0
// One state_patch line with five keys, decoded and merged into a state with few or many keys. A
// million keys may cost only what the caches cost. Names: the number of keys in the state; `same`
// writes the same hundred keys repeatedly, `random` any of them.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "event/event.hpp"
#include "state/store.hpp"

using namespace narratoria;

namespace {

constexpr uint32_t kFew = 100, kMany = 1000000;
constexpr size_t kLines = 100000;

void append_member(std::string& text, uint32_t key, uint32_t value) {
    char member[40];
    std::snprintf(member, sizeof member, "\"k%06u\":%u", key, value % 1000);
    text += member;
}

// Lines as the framer leaves them in its buffer, each followed by a zero.
struct Lines {
    std::string text;
    std::vector<std::pair<uint32_t, uint32_t>> places;

    void add(const std::string& line) {
        places.emplace_back(static_cast<uint32_t>(text.size()), static_cast<uint32_t>(line.size()));
        text += line;
        text += '\0';
    }
    std::string_view at(size_t i) const {
        return {text.data() + places[i].first, places[i].second};
    }
};

const char* const kStart = R"({"version":"0","type":"state_patch","patch":{)";

const Lines& lines_over(uint32_t keys) {
    static std::map<uint32_t, Lines> made;
    Lines& lines = made[keys];
    if (!lines.places.empty()) return lines;
    uint32_t random = 7;
    for (size_t i = 0; i < kLines; ++i) {
        std::string line = kStart;
        for (int member = 0; member < 5; ++member) {
            random = random * 1664525u + 1013904223u;
            if (member > 0) line += ',';
            append_member(line, static_cast<uint32_t>((uint64_t{random} * keys) >> 32),
                          random >> 8);
        }
        lines.add(line + "}}");
    }
    lines.text.append(json::kPadding, '\0');
    return lines;
}

state::Tree& tree_of(uint32_t keys) {
    static std::map<uint32_t, std::unique_ptr<state::Tree>> made;
    std::unique_ptr<state::Tree>& tree = made[keys];
    if (tree) return *tree;
    tree = std::make_unique<state::Tree>();
    json::Tape tape;
    json::ParseError error;
    state::Patch patch;
    for (uint32_t first = 0; first < keys; first += 100) {
        std::string text = "{";
        for (uint32_t i = first; i < first + 100; ++i) {
            if (i > first) text += ',';
            append_member(text, i, i);
        }
        text += '}';
        const size_t size = text.size();
        text.append(json::kPadding, '\0');
        if (!tape.parse({text.data(), size}, error)) std::abort();
        patch.prepare(tape.root());
        tree->merge(patch);
    }
    return *tree;
}

void patch_lines(benchmark::State& state, uint32_t keys, uint32_t written) {
    state::Tree& tree = tree_of(keys);
    const Lines& lines = lines_over(written);
    event::Decoder decoder;
    event::Event event;
    state::Patch patch;
    size_t at = 0;
    for (auto _ : state) {
        if (!decoder.decode(lines.at(at), event)) std::abort();
        patch.prepare(event.field(event::Field::Patch));
        tree.merge(patch);
        if (++at == kLines) at = 0;
    }
    if (tree.size() != keys) state.SkipWithError("the state has grown");
}

// Snapshots and restores of a state. A restore releases the state that it replaces. With `nested`,
// the keys are in objects of ten, and each value is too long to be stored inline, so a million
// allocations are needed.
state::Store& store_of(uint32_t keys, bool nested) {
    static std::unique_ptr<state::Store> made[2];
    std::unique_ptr<state::Store>& store = made[nested ? 1 : 0];
    if (store) return *store;
    store = std::make_unique<state::Store>(0);
    const auto origin = std::make_shared<const state::HistoryOrigin>();
    const state::Writer writer = store->open_writer(true);
    std::string text;
    for (uint32_t first = 0; first < keys; first += 10) {
        text = nested ? "{\"group" + std::to_string(first) + "\":{" : "{";
        for (uint32_t i = first; i < first + 10; ++i) {
            if (i > first) text += ',';
            if (nested) text += "\"k" + std::to_string(i) + "\":\"a text that is not short\"";
            else append_member(text, i, i);
        }
        text += nested ? "}}" : "}";
        json::Document document;
        json::ParseError error;
        if (!document.parse(text, error)) std::abort();
        store->apply(document.root(), writer, {0, 0, 1, origin}, nullptr);
    }
    store->close_writer(writer);
    return *store;
}

void take_snapshot(benchmark::State& state, bool nested) {
    const state::Store& store = store_of(kMany, nested);
    std::optional<state::Snapshot> snapshot;
    for (auto _ : state) {
        snapshot.emplace(store.snapshot());
        state.PauseTiming();
        snapshot.reset();
        state.ResumeTiming();
    }
}

void restore_snapshot(benchmark::State& state, bool nested) {
    state::Store& store = store_of(kMany, nested);
    for (auto _ : state) {
        state.PauseTiming();
        state::Snapshot snapshot = store.snapshot();
        state.ResumeTiming();
        store.restore(std::move(snapshot));
    }
}

BENCHMARK_CAPTURE(take_snapshot, flat_1000000, false)->Unit(benchmark::kMillisecond)->Iterations(5);
BENCHMARK_CAPTURE(take_snapshot, nested_1000000, true)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);
BENCHMARK_CAPTURE(restore_snapshot, flat_1000000, false)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);
BENCHMARK_CAPTURE(restore_snapshot, nested_1000000, true)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);
BENCHMARK_CAPTURE(patch_lines, same_100, kFew, kFew);
BENCHMARK_CAPTURE(patch_lines, same_1000000, kMany, kFew);
BENCHMARK_CAPTURE(patch_lines, random_1000000, kMany, kMany);

}  // namespace
