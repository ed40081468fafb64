// SPDX-License-Identifier: Apache-2.0
#include "plugin/given_metadata.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes/utf8.hpp"

namespace narratoria::plugin {
namespace {

// The maximum size of a formatted value: a longer text is too long for a prompt.
constexpr size_t kLongestText = 64 * 1024;

nar_status append(void* to, nar_str piece) noexcept {
    try {
        auto& text = *static_cast<std::string*>(to);
        if (text.size() > kLongestText) return NAR_INVALID_ARGUMENT;
        if (piece.size > kLongestText - text.size()) {
            text.assign(kLongestText + 1, ' ');
            return NAR_INVALID_ARGUMENT;
        }
        if (piece.data != nullptr) text.append(piece.data, piece.size);
        return NAR_OK;
    } catch (...) {
        return NAR_OUT_OF_MEMORY;
    }
}

}  // namespace

struct GivenMetadata::Owner {
    nar_state_metadata given;
    GuardedCall call;
    GuardedCall release;
    bool is_taken = false;

    ~Owner() {
        if (!is_taken || given.released == nullptr) return;
        release([&] { given.released(given.user); });
    }

    std::optional<std::string> format(std::string_view value) const {
        std::string text;
        nar_status status = NAR_FAILED;  // stays if the guard does not make the call
        call([&] {
            status = given.format(given.user, {value.data(), value.size()}, append, &text);
        });
        if (status != NAR_OK || text.size() > kLongestText) return std::nullopt;
        return utf8::repaired(text);
    }
};

GivenMetadata::GivenMetadata(const nar_state_metadata& given, GuardedCall call, GuardedCall release)
    : owner_(std::make_shared<Owner>(Owner{given, std::move(call), std::move(release)})) {}

state::Description GivenMetadata::description() const {
    const nar_str text = owner_->given.description;
    state::Description description;
    if (text.data != nullptr) description.text = utf8::repaired({text.data, text.size});
    description.owner = owner_;
    if (owner_->given.format != nullptr) {
        description.formatter = [owner = owner_](std::string_view value) {
            return owner->format(value);
        };
    }
    return description;
}

void GivenMetadata::keep() { owner_->is_taken = true; }

}  // namespace narratoria::plugin
