// SPDX-License-Identifier: Apache-2.0
#pragma once
// Encodes requests to a supervisor, and the input of a program.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "process/command.hpp"
#include "process/sandbox.hpp"
#include "process/supervisor/protocol.h"

namespace narratoria::process {

supervisor_limits protocol_of(const Limits& limits);

// A request to a supervisor: the struct, and the texts after it in the order that protocol.h gives.
class Request {
public:
    explicit Request(uint32_t kind) { head.kind = kind; }

    supervisor_request head{};

    void add(std::string_view text) {
        has_nul_ |= text.find('\0') != std::string_view::npos;
        packet_.append(text);
        packet_ += '\0';
    }
    void add_arguments(const std::vector<std::string>& texts) {
        add_all(texts, head.argument_count);
    }
    void add_environment(const std::vector<std::string>& variables) {
        add_all(variables, head.environment_count);
    }
    void add_sandbox(const Sandboxed& sandboxed) {
        head.sandbox = sandboxed.bits;
        head.scratch_variables = sandboxed.scratch_variables;
        add_all(sandboxed.readable, head.readable_count);
    }

    // True if a text contains a NUL, which the supervisor would read as its end.
    bool has_nul() const { return has_nul_; }
    // Valid until the next change.
    std::string_view packet() {
        std::memcpy(packet_.data(), &head, sizeof head);
        return packet_;
    }

private:
    void add_all(const std::vector<std::string>& texts, uint32_t& count) {
        count = static_cast<uint32_t>(texts.size());
        for (const std::string& text : texts) add(text);
    }

    std::string packet_ = std::string(sizeof head, '\0');
    bool has_nul_ = false;
};

// Writes the input into a pipe that is not read yet. Returns false if it does not fit.
bool fill_pipe(Pipe& pipe, std::string_view input);

// Returns a memory file with the input. On failure returns an empty descriptor and sets errno.
Descriptor input_file(std::string_view input);

}  // namespace narratoria::process
