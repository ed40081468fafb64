// SPDX-License-Identifier: Apache-2.0
#include "http/curl.hpp"

#include <dlfcn.h>

namespace narratoria::http {
namespace {

// Since 7.88, TLS writes cannot raise SIGPIPE in the host: curl's "connection filters" send with
// MSG_NOSIGNAL. In earlier versions OpenSSL wrote to the socket itself.
constexpr unsigned kOldest = 0x075800;

struct Loaded {
    Curl curl;
    std::string reason;  // empty: usable
};

Loaded load_once() {
    Loaded loaded;
    const std::string needed =
        "HTTP needs libcurl 7.88 or newer (Debian: apt-get install libcurl4), but ";
    void* library = nullptr;
    std::string first;
    for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
        library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library != nullptr) break;
        const char* why = ::dlerror();
        if (first.empty()) first = why != nullptr ? why : name;
    }
    if (library == nullptr) {
        loaded.reason = needed + "it cannot be loaded: " + first;
        return loaded;
    }
    const char* missing = nullptr;
#define NARRATORIA_CURL_LOAD(name)                                                     \
    loaded.curl.name =                                                                 \
        reinterpret_cast<decltype(loaded.curl.name)>(::dlsym(library, "curl_" #name)); \
    if (loaded.curl.name == nullptr) missing = "curl_" #name;
    NARRATORIA_CURL_LIST(NARRATORIA_CURL_LOAD)
#undef NARRATORIA_CURL_LOAD
    if (missing != nullptr) {
        loaded.reason = needed + "the installed one has no " + missing;
        return loaded;
    }
    const curl_version_info_data* version = loaded.curl.version_info(CURLVERSION_NOW);
    if (version->version_num < kOldest) {
        loaded.reason = needed + "the installed one is " + version->version;
        return loaded;
    }
    const CURLcode code = loaded.curl.global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) {
        loaded.reason = std::string("libcurl cannot start: ") + loaded.curl.easy_strerror(code);
    }
    return loaded;
}

}  // namespace

const Curl* Curl::load(std::string& reason) {
    static const Loaded loaded = load_once();
    reason = loaded.reason;
    return loaded.reason.empty() ? &loaded.curl : nullptr;
}

}  // namespace narratoria::http
