// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files that tools made, by the number of the event that brought them. A path never comes from a
// browser, and a path alone opens nothing: what is served is the file that was there when its event
// came. A file or a link that has taken its place since is refused.

#include <narratoria/plugin.hpp>

#include <sys/stat.h>

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
    void came(const plugin::Event& event);

    // `name` is what stands behind /api/assets/ in the request's path.
    Response answer(const Request& request, std::string_view name);

private:
    // What tells one file from another, and from itself after a change.
    struct Identity {
        dev_t device = 0;
        ino_t inode = 0;
        off_t size = -1;  // -1: there was no such file
        timespec changed{};
        bool is_link = false;

        static Identity of(const char* path) noexcept;
        bool is(const struct stat& status) const noexcept;
    };
    struct File {
        std::string path;
        std::string media_type;
        Identity identity;
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
    // The registry will be read from the loop.
    bool reads_soon_ = false;
    // Of the events that the registry was not read for yet.
    std::map<std::uint64_t, Identity> seen_;
};

}  // namespace narratoria::web
