// SPDX-License-Identifier: Apache-2.0
#pragma once
// Paths in the source tree and in its build. Only folders.cpp is compiled with them, so that a
// compiler cache serves the other files in every clone.

#include <string>

namespace narratoria::test {

// `path` is relative, such as "examples/stories/torch".
std::string in_source(const std::string& path);
std::string in_build(const std::string& path);

}  // namespace narratoria::test
