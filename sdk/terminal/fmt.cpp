// SPDX-License-Identifier: Apache-2.0
// {fmt} is compiled here, once. Other files include <fmt/core.h>, which only declares vformat: compiling
// the header-only form in each of them took half of their time. (Debian ships {fmt} as a shared library
// only, which the command must not need.)
#define FMT_HEADER_ONLY 1
#include <fmt/format.h>

namespace narratoria {

// The address makes the compiler emit the inline function, under the name that the others link to.
[[gnu::used]] std::string (*const vformat)(fmt::string_view, fmt::format_args) = &fmt::vformat;

}  // namespace narratoria
