// SPDX-License-Identifier: Apache-2.0
#pragma once
// The option --log of commands that play a story.

#include <cstdint>
#include <string>

#include "arguments/command_line.hpp"

namespace narratoria::command {

class LogOption {
public:
    void add_to(Command command);

    // The lowest level that is shown, NAR_LOG_….
    std::uint32_t level() const;

private:
    std::string name_ = "warning";
};

}  // namespace narratoria::command
