// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text that the library made for you to keep: a state, a history, a list of faults.

#include "narratoria/base.h"
#include "narratoria/status.hpp"

#include <string_view>
#include <utility>

namespace narratoria {

// Owns one text. Movable, not copyable; a state of a gigabyte is never copied by accident.
// Any thread may read it.
class Text {
public:
    Text() = default;
    // Takes `text` over, which may be NULL.
    explicit Text(nar_text* text) noexcept : text_(text) {}
    Text(Text&& other) noexcept : text_(std::exchange(other.text_, nullptr)) {}
    Text& operator=(Text&& other) noexcept {
        std::swap(text_, other.text_);
        return *this;
    }
    Text(const Text&) = delete;
    Text& operator=(const Text&) = delete;
    ~Text() { nar_text_release(text_); }

    // UTF-8, alive as long as this object.
    std::string_view view() const noexcept { return detail::to_view(nar_text_view(text_)); }
    operator std::string_view() const noexcept { return view(); }

private:
    nar_text* text_ = nullptr;
};

}  // namespace narratoria
