// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collects an execution result as text.

#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "plan/event_log.hpp"

namespace narratoria::plan {

class TextOutput : public Output {
public:
    bool write(std::string_view piece) override {
        text.append(piece);
        return true;
    }
    bool write_file(int file, uint64_t offset, uint64_t size) override {
        const size_t start = text.size();
        text.resize(start + size);
        return ::pread(file, text.data() + start, size, static_cast<off_t>(offset)) ==
               static_cast<ssize_t>(size);
    }
    std::string text;
};

}  // namespace narratoria::plan
