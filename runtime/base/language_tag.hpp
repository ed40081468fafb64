// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace narratoria {

// True for a well-formed language tag (RFC 5646, BCP 47), such as "de" or "pt-BR". Does not look up
// its subtags, and refuses the irregular tags that RFC 5646 keeps for compatibility ("i-klingon").
bool is_language_tag(std::string_view tag);

}  // namespace narratoria
