// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files that tools made, by the number of the event that brought them. A path never comes from a
// browser.

#include <narratoria/plugin.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "web/http.hpp"

namespace narratoria::web {

class Assets {
public:
    explicit Assets(const plugin::Host& host) : host_(host) {}

    // A tool told of an asset. Only one of a later attempt can replace what the registry had.
    void came(std::uint32_t attempt) noexcept {
        has_news_ = true;
        if (attempt > 1) is_known_ = false;
    }

    // `name` is what stands behind /api/assets/ in the request's path.
    Response answer(const Request& request, std::string_view name);

private:
    struct File {
        std::string path;
        std::string media_type;
    };

    const File* find(std::string_view name);
    void read_registry();

    const plugin::Host host_;
    bool has_news_ = true;
    // What was read of the registry so far still stands in it.
    bool is_known_ = false;
    // How much of its text that was, without the closing bracket.
    std::size_t read_ = 0;
    std::map<std::uint64_t, File> files_;
};

}  // namespace narratoria::web
