// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files below templates/plugin, as the build put them into the command.

#include <string_view>

namespace narratoria::command {

// The text of a template by its path below templates/plugin, without ".in"; empty when there is none.
std::string_view plugin_template(std::string_view path);

}  // namespace narratoria::command
