// SPDX-License-Identifier: Apache-2.0
#pragma once
// The option --log of commands that play a story.

#include <cstdint>
#include <string>

#include "arguments/command_line.hpp"
#include "narratoria/engine.h"

namespace narratoria::command {

class LogOption {
public:
    void add_to(Command command);

    // The lowest level that is shown, NAR_LOG_…; `otherwise` if the option is not given.
    std::uint32_t level(std::uint32_t otherwise = NAR_LOG_WARN) const;

private:
    std::string name_;
};

}  // namespace narratoria::command
