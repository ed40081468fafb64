// SPDX-License-Identifier: Apache-2.0
// Feeds every file of the given folders to a fuzz target, as libFuzzer would, so that past findings
// are tested with compilers that have no libFuzzer.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
    namespace fs = std::filesystem;
    if (argc < 2) {
        std::fprintf(stderr, "usage: %s FOLDER-OR-FILE…\n", argv[0]);
        return 2;
    }
    size_t replayed = 0;
    for (int i = 1; i < argc; ++i) {
        std::vector<fs::path> files;
        if (fs::is_directory(argv[i])) {
            for (const auto& entry : fs::recursive_directory_iterator(argv[i]))
                if (entry.is_regular_file()) files.push_back(entry.path());
        } else {
            files.emplace_back(argv[i]);
        }
        std::sort(files.begin(), files.end());
        for (const fs::path& file : files) {
            std::ifstream stream(file, std::ios::binary);
            if (!stream) {
                std::fprintf(stderr, "%s: cannot be read\n", file.c_str());
                return 2;
            }
            // Printed before the run: if the target crashes, this is the last line.
            std::fprintf(stderr, "%s\n", file.c_str());
            const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
            // A heap copy of exactly this size, so that a sanitizer detects reads past its end.
            std::vector<uint8_t> input(bytes.begin(), bytes.end());
            input.shrink_to_fit();
            LLVMFuzzerTestOneInput(input.data(), input.size());
            ++replayed;
        }
    }
    std::fprintf(stderr, "%zu seeds replayed\n", replayed);
    if (replayed == 0) {
        std::fprintf(stderr, "a fuzz target needs seeds: tests/fuzz/seeds/<name>.zip\n");
        return 1;
    }
    return 0;
}
