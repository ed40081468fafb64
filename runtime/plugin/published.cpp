// SPDX-License-Identifier: Apache-2.0
#include "plugin/published.hpp"

#include "base/bytes/utf8.hpp"

namespace narratoria::plugin {

bool Published::put(std::string_view name, std::string_view value, std::string& reason) {
    const bool is_name =
        !name.empty() && name.size() <= kMaxNameBytes &&
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-") == std::string_view::npos;
    if (!is_name) {
        reason = "a name must be 1 to " + std::to_string(kMaxNameBytes) +
                 " bytes of a-z 0-9 . _ -, not \"" + utf8::repaired(name.substr(0, kMaxNameBytes)) +
                 "\"";
        return false;
    }
    const std::string of_name = "the value of \"" + std::string(name) + "\" ";
    if (value.size() > kMaxValueBytes) {
        reason = of_name + "has " + std::to_string(value.size()) + " bytes; the limit is " +
                 std::to_string(kMaxValueBytes);
        return false;
    }
    if (!utf8::is_valid(value)) {
        reason = of_name + "is not UTF-8";
        return false;
    }
    const auto known = values_.find(name);
    if (value.empty()) {
        if (known != values_.end()) values_.erase(known);
    } else if (known != values_.end()) {
        known->second = value;
    } else if (values_.size() == kMaxNames) {
        reason = "it has already published " + std::to_string(kMaxNames) +
                 " names, which is the limit; remove one before \"" + std::string(name) + "\"";
        return false;
    } else {
        values_.emplace(name, value);
    }
    return true;
}

const std::string* Published::find(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
}

}  // namespace narratoria::plugin
