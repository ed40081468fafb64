// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files that tools made, by the number of the event that brought them. A path never comes from a
// browser, and a path alone opens nothing: what is served is the file that was there when its event
// came. A file or a link that has taken its place since is refused.

#include <narratoria/plugin.hpp>

#include <string_view>

#include "web/asset_files.hpp"
#include "web/http.hpp"

namespace narratoria::web {

class Assets {
public:
    explicit Assets(const plugin::Host& host);

    // A tool told of an asset.
    void came(const plugin::Event& event) {
        files_.came(event.seq(), event.attempt(), event.body());
    }

    // `name` is what stands behind /api/assets/ in the request's path.
    Response answer(const Request& request, std::string_view name);

private:
    AssetFiles files_;
};

}  // namespace narratoria::web
