// SPDX-License-Identifier: Apache-2.0
// rapidjson_dom FILE ROUNDS [fresh]: parses each line of a file, in memory, into a RapidJSON DOM;
// the lines are located beforehand. Prints the processor seconds of each round. One memory pool
// serves all lines, which is RapidJSON's fastest way; with `fresh`, each line has its own document,
// which is the common way.

#include <rapidjson/document.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "processor_clock.hpp"

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: %s FILE ROUNDS [fresh]\n", argv[0]);
        return 2;
    }
    const bool fresh = argc > 3 && std::strcmp(argv[3], "fresh") == 0;
    std::ifstream file(argv[1], std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    std::vector<const char*> lines;
    for (size_t at = 0; at < text.size();) {
        const size_t newline = text.find('\n', at);
        if (newline == std::string::npos) break;
        text[newline] = '\0';
        lines.push_back(text.data() + at);
        at = newline + 1;
    }
    std::vector<char> values(64 * 1024), stack(16 * 1024);
    for (int round = std::atoi(argv[2]); round > 0; --round) {
        size_t objects = 0;
        const double begin = narratoria::bench::processor_seconds();
        if (fresh) {
            for (const char* line : lines) {
                rapidjson::Document document;
                document.Parse(line);
                objects += document.IsObject();
            }
        } else {
            using Pool = rapidjson::MemoryPoolAllocator<>;
            using Document = rapidjson::GenericDocument<rapidjson::UTF8<>, Pool, Pool>;
            for (const char* line : lines) {
                Pool value_pool(values.data(), values.size());
                Pool stack_pool(stack.data(), stack.size());
                Document document(&value_pool, 1024, &stack_pool);
                document.Parse(line);
                objects += document.IsObject();
            }
        }
        const double seconds = narratoria::bench::processor_seconds() - begin;
        if (objects != lines.size()) {
            std::fprintf(stderr, "%zu of %zu lines are objects\n", objects, lines.size());
            return 1;
        }
        std::printf("%.6f\n", seconds);
    }
    return 0;
}
