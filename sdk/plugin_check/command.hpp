// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arguments/command_line.hpp"

namespace narratoria::command::plugin_check {

void add_plugin_check(Command plugin);

}  // namespace narratoria::command::plugin_check
