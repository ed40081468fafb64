// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace narratoria {

// The folder of this library, so that an installation can be relocated. Empty if it is unknown.
std::string library_folder();

// The absolute entries of a list like PATH. Empty and relative entries are dropped, because they
// would depend on the working folder.
std::vector<std::string> folders_in(std::string_view list);

}  // namespace narratoria
