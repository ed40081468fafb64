// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files of templates/plugin, which the build embeds in the command.

#include <string_view>

namespace narratoria::command {

// The text of a template. `path` is relative to templates/plugin, without ".in". Empty if unknown.
std::string_view plugin_template(std::string_view path);

}  // namespace narratoria::command
