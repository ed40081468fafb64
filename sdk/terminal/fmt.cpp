// SPDX-License-Identifier: Apache-2.0
// Compiles {fmt} once. Other files include only <fmt/core.h>, which declares vformat; the
// header-only form took half of their compile time. (Debian has {fmt} only as a shared library,
// which the command must not depend on.)
#define FMT_HEADER_ONLY 1
#include <fmt/format.h>

namespace narratoria {

// Taking the address makes the compiler emit the inline function, so that the other files can link.
[[gnu::used]] std::string (*const vformat)(fmt::string_view, fmt::format_args) = &fmt::vformat;

}  // namespace narratoria
