// SPDX-License-Identifier: Apache-2.0
#pragma once
// Serves the files that tools announced, by the sequence number of the event. A path never comes
// from a browser. Only the file that existed when the event came is served; a file or link that has
// replaced it is refused.

#include <narratoria/plugin.hpp>

#include <string_view>

#include "web/asset_files.hpp"
#include "web/http.hpp"

namespace narratoria::web {

class Assets {
public:
    explicit Assets(const plugin::Host& host);

    // Must be called for each asset event.
    void on_asset(const plugin::Event& event) {
        files_.on_asset(event.seq(), event.attempt(), event.body());
    }

    // As those of AssetFiles.
    void read() { files_.read(); }
    void on_move() { files_.on_move(); }

    // `name`: the rest of the request's path after /api/assets/.
    Response respond(const Request& request, std::string_view name);

private:
    AssetFiles files_;
};

}  // namespace narratoria::web
