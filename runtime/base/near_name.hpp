// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace narratoria {

// Returns the known name that `name` probably misspells, or an empty view. Names are similar if at
// most two letters differ (one in short names, three in long ones; two swapped letters count as one
// difference), if only case, "_" or "-" differ, or if `name` is the beginning of a known one.
// `name` must not be a known name.
std::string_view near_name(std::string_view name, std::span<const std::string_view> known);

// Returns `did you mean "NAME"?`, or an empty text if there is no similar name.
std::string ask_for_near_name(std::string_view name, std::span<const std::string_view> known);

}  // namespace narratoria
