// SPDX-License-Identifier: Apache-2.0
#pragma once
// The page's files, which are inside the library.

#include <array>
#include <span>
#include <string_view>

#include "web/http.hpp"

namespace narratoria::web {

struct PageFile {
    std::string_view path;  // "/", "/enter.html" or "/app/NAME"
    std::string_view media_type;
    std::string_view tag;  // of what is in it, with its quotes
    bool is_lasting;       // its name changes with what is in it
    std::string_view content;
};

// Made when it is built, of what lies in page/dist; sorted by nothing.
std::span<const PageFile> page_files();

const PageFile* find_page_file(std::string_view path);

// The page for who has not been let in. It shows the token for the browser, or says what to do.
Response answer_entrance();

Response answer_page_file(const Request& request, const PageFile& file);

}  // namespace narratoria::web
