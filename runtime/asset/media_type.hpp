// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace narratoria::asset {

// Whether a text is a MIME type: type/subtype of RFC 6838 names, and parameters of RFC 9110 tokens
// or quoted texts in ASCII. The same as the pattern in abi/schemas/event-0.schema.json.
bool is_media_type(std::string_view text);

}  // namespace narratoria::asset
