// SPDX-License-Identifier: Apache-2.0
#include "web/range.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace narratoria::web {
namespace {

// Parses digits only. A number that is too large becomes UINT64_MAX.
std::optional<std::uint64_t> number_in(std::string_view text) noexcept {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || end != text.data() + text.size()) return std::nullopt;
    if (error == std::errc::result_out_of_range) return UINT64_MAX;
    return error == std::errc() ? std::optional(number) : std::nullopt;
}

}  // namespace

Range read_range(std::string_view text, std::uint64_t size) noexcept {
    const Range whole{Range::Kind::Whole, 0, size};
    constexpr std::string_view unit = "bytes=";
    if (!text.starts_with(unit)) return whole;
    text.remove_prefix(unit.size());
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) return whole;
    const auto first = number_in(text.substr(0, dash));
    const auto last = number_in(text.substr(dash + 1));
    const bool has_first = dash > 0;
    const bool has_last = dash + 1 < text.size();
    if ((has_first && !first) || (has_last && !last) || (!has_first && !has_last)) return whole;

    constexpr Range unsatisfiable{Range::Kind::Unsatisfiable, 0, 0};
    if (!has_first) {
        if (*last == 0 || size == 0) return unsatisfiable;
        const std::uint64_t count = std::min(*last, size);
        return {Range::Kind::Part, size - count, count};
    }
    if (has_last && *last < *first) return whole;
    if (*first >= size) return unsatisfiable;
    const std::uint64_t end = has_last ? std::min(*last, size - 1) : size - 1;
    return {Range::Kind::Part, *first, end - *first + 1};
}

}  // namespace narratoria::web
