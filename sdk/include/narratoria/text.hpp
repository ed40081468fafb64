// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text that a call returns and the caller owns: a state, a history, a list of faults.

#include "narratoria/base.h"
#include "narratoria/exceptions.hpp"
#include "narratoria/status.hpp"

#include <string_view>
#include <utility>

namespace narratoria {

// Owns one text. Movable, not copyable, so that a large state is not copied by accident. Reading is
// thread-safe.
class Text {
public:
    Text() = default;
    // Takes ownership of `text`, which may be NULL.
    explicit Text(nar_text* text) noexcept : text_(text) {}
    Text(Text&& other) noexcept : text_(std::exchange(other.text_, nullptr)) {}
    Text& operator=(Text&& other) noexcept {
        std::swap(text_, other.text_);
        return *this;
    }
    Text(const Text&) = delete;
    Text& operator=(const Text&) = delete;
    ~Text() { nar_text_release(text_); }

    // UTF-8, valid as long as this object.
    std::string_view view() const noexcept { return detail::to_view(nar_text_view(text_)); }
    operator std::string_view() const noexcept { return view(); }

private:
    nar_text* text_ = nullptr;
};

}  // namespace narratoria
