// SPDX-License-Identifier: Apache-2.0
#pragma once
// The page's files, which are embedded in the library.

#include <array>
#include <span>
#include <string_view>

#include "web/http.hpp"

namespace narratoria::web {

struct PageFile {
    std::string_view path;  // "/", "/enter.html" or "/app/NAME"
    std::string_view media_type;
    std::string_view tag;  // ETag: a hash of the content, in quotes
    bool is_lasting;       // the name contains a hash of the content, so the file never changes
    std::string_view content;
};

// The files of page/dist, in no particular order. page/embed.cmake generates this function.
std::span<const PageFile> page_files();

const PageFile* find_page_file(std::string_view path);

// The page for a browser without the cookie. Its script posts the token, or it says what to do.
Response entrance_response();

Response page_file_response(const Request& request, const PageFile& file);

}  // namespace narratoria::web
