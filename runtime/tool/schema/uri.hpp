// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace narratoria::tool {

// Resolves a URI reference against a base (RFC 3986 §5.2). The base may be empty.
std::string resolve_uri(std::string_view base, std::string_view reference);

// Decodes %XX. An invalid escape stays as it is.
std::string percent_decoded(std::string_view text);

}  // namespace narratoria::tool
