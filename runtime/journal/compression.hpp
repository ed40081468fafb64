// SPDX-License-Identifier: Apache-2.0
#pragma once
// The form in which a store contains the parts of its turns: compressed with LZ4.

#include <optional>
#include <string>
#include <string_view>

namespace narratoria::journal {

// Returns the part itself if compression would not make it smaller.
std::string compress_part(std::string_view part);

// Returns the part; nothing if the stored form is damaged. Needs at most 255 times the memory of
// the stored form.
std::optional<std::string> expand_part(std::string_view stored);

}  // namespace narratoria::journal
