// SPDX-License-Identifier: Apache-2.0
#include "web/page.hpp"

#include <stdexcept>
#include <string>

namespace narratoria::web {
namespace {

constexpr const char* kPolicyOfPage =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "media-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

// Complements the policy in the entrance's <meta> element, which has the hashes of its script and
// style (page/build/entrance.ts). frame-ancestors has no effect there.
constexpr const char* kPolicyOfEntrance =
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr std::string_view kEntrance = "/enter.html";

bool has_it_already(const Request& request, std::string_view tag) {
    for (const std::string_view known : request.headers("If-None-Match")) {
        if (known.find(tag) != std::string_view::npos) return true;
    }
    return false;
}

const PageFile* find(std::string_view path) {
    for (const PageFile& file : page_files()) {
        if (file.path == path) return &file;
    }
    return nullptr;
}

}  // namespace

const PageFile* find_page_file(std::string_view path) {
    // The entrance has its own policy; only entrance_response() serves it.
    return path == kEntrance ? nullptr : find(path);
}

Response entrance_response() {
    const PageFile* file = find(kEntrance);
    if (file == nullptr) throw std::runtime_error("the page was not built into the plugin");
    Response response = Response::with_lasting_body(200, file->content);
    response.set("Content-Type", std::string(file->media_type));
    response.set("Content-Security-Policy", kPolicyOfEntrance);
    response.set("Cache-Control", "no-store");
    return response;
}

Response page_file_response(const Request& request, const PageFile& file) {
    const bool is_known = file.path != "/" && has_it_already(request, file.tag);
    Response response = Response::with_lasting_body(is_known ? 304 : 200,
                                                    is_known ? std::string_view() : file.content);
    response.set("Content-Type", std::string(file.media_type));
    response.set("Content-Security-Policy", kPolicyOfPage);
    if (file.path == "/") return std::move(response.set("Cache-Control", "no-store"));
    response.set("Cache-Control",
                 file.is_lasting ? "public, max-age=31536000, immutable" : "no-cache");
    response.set("ETag", std::string(file.tag));
    return response;
}

}  // namespace narratoria::web
