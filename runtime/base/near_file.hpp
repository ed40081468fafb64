// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace narratoria {

// Returns `path` with its last part replaced by a similar entry of the folder, such as "tools/lamp"
// for "tools/lmap". An entry that differs only in its extension takes precedence. Empty if there is
// none. `file` is the absolute form of `path`. Reads the folder.
std::string near_file(const std::string& path, const std::string& file);

}  // namespace narratoria
