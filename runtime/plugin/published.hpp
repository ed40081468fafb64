// SPDX-License-Identifier: Apache-2.0
#pragma once
// The values that a plugin instance publishes to the program (nar_host_config.publish).

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace narratoria::plugin {

// Owned by its instance. Engine thread only.
class Published {
public:
    static constexpr size_t kMaxNames = 32;
    static constexpr size_t kMaxNameBytes = 64;
    static constexpr size_t kMaxValueBytes = 4096;

    // Sets or replaces the value of a name; an empty value removes it. Returns false and a reason
    // if the name or the value is not valid, or if there are too many names.
    bool put(std::string_view name, std::string_view value, std::string& reason);
    // NULL if there is none. Valid until the next put().
    const std::string* find(std::string_view name) const;

private:
    std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace narratoria::plugin
