// SPDX-License-Identifier: Apache-2.0
#include "plugin/given_extension.hpp"

#include <string_view>

#include "base/bytes/utf8.hpp"
#include "base/view.hpp"

namespace narratoria::plugin {
namespace {

constexpr uint64_t kMaxName = 4096;

}  // namespace

bool read_names(const nar_str* names, uint64_t count, const char* what,
                std::vector<std::string>& out, std::string& reason) {
    if (count > kMaxListed || (count > 0 && names == nullptr)) {
        reason = std::string("its list of ") + what + " is not valid";
        return false;
    }
    for (uint64_t i = 0; i < count; ++i) {
        // The plugin's size is untrusted.
        const std::string_view name = names[i].size <= kMaxName ? view(names[i]) : "";
        if (name.empty() || !utf8::is_valid(name)) {
            reason = std::string("its list of ") + what +
                     " has an entry that is empty, too long or not UTF-8";
            return false;
        }
        out.emplace_back(name);
    }
    return true;
}

}  // namespace narratoria::plugin
