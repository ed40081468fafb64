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

    // NAR_LOG_…: what is below it is not told.
    std::uint32_t level() const;

private:
    std::string name_ = "warning";
};

}  // namespace narratoria::command
