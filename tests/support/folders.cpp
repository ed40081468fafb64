// SPDX-License-Identifier: Apache-2.0
#include "support/folders.hpp"

namespace narratoria::test {

std::string in_source(const std::string& path) { return NARRATORIA_SOURCE_DIR "/" + path; }
std::string in_build(const std::string& path) { return NARRATORIA_BUILD_DIR "/" + path; }

}  // namespace narratoria::test
