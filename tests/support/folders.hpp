// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the tree and its build are. Only folders.cpp is compiled with their paths, so that a compiler
// cache serves the other files in every clone.

#include <string>

namespace narratoria::test {

// path: relative, "examples/stories/torch".
std::string in_source(const std::string& path);
std::string in_build(const std::string& path);

}  // namespace narratoria::test
