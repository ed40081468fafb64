// SPDX-License-Identifier: Apache-2.0
// state_memory KEYS: the resident bytes per key of a state with KEYS short keys and small numbers,
// including scratch memory of reading and merging.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "event/event.hpp"
#include "memory.hpp"
#include "state/tree.hpp"

using namespace narratoria;

int main(int argc, char** argv) {
    const long keys = argc > 1 ? std::atol(argv[1]) : 1000000;
    event::Decoder decoder;
    state::Patch patch;
    std::string line;
    line.reserve(8192);
    const uint64_t before = bench::resident_bytes();
    state::Tree tree;
    for (long first = 0; first < keys; first += 100) {
        line = R"({"version":"0","type":"state_patch","patch":{)";
        for (long i = first; i < first + 100 && i < keys; ++i) {
            char member[32];
            std::snprintf(member, sizeof member, "%s\"k%06ld\":%ld", i > first ? "," : "", i,
                          i % 1000);
            line += member;
        }
        line += "}}";
        const size_t size = line.size();
        line.append(json::kPadding, '\0');
        event::Event event;
        if (!decoder.decode({line.data(), size}, event)) return 1;
        patch.prepare(event.field(event::Field::Patch));
        tree.merge(patch);
    }
    const uint64_t after = bench::resident_bytes();
    if (tree.size() != static_cast<size_t>(keys)) return 1;
    std::printf("%.1f\n", static_cast<double>(after - before) / static_cast<double>(keys));
    return 0;
}
