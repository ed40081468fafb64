// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace narratoria::asset {

// True if `text` is a MIME type: type/subtype in RFC 6838 names, with RFC 9110 parameters that are
// tokens or quoted strings in ASCII. Equal to the pattern in abi/schemas/event-0.schema.json.
bool is_media_type(std::string_view text);

}  // namespace narratoria::asset
