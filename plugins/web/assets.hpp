// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files that tools made, by the number of the event that brought them. A path never comes from a
// browser.

#include <narratoria/plugin.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "web/http.hpp"

namespace narratoria::web {

class Assets {
public:
    explicit Assets(const plugin::Host& host) : host_(host) {}

    // The registry may have changed.
    void forget() noexcept { is_known_ = false; }

    // `name` is what stands behind /api/assets/ in the request's path.
    Answer answer(const Request& request, std::string_view name);

private:
    struct File {
        std::string path;
        std::string media_type;
    };

    const File* find(std::string_view name);

    const plugin::Host host_;
    bool is_known_ = false;
    std::map<std::uint64_t, File> files_;
};

}  // namespace narratoria::web
