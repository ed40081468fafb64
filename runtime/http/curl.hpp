// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of libcurl, loaded when the first exchange starts. libcurl depends on thirty
// libraries: linking it would add 12 ms to the start of every host, and most hosts never use HTTP.

#include <curl/curl.h>

#include <string>

#if LIBCURL_VERSION_NUM < 0x075800
#error "Narratoria needs the headers of libcurl 7.88 or newer"
#endif

namespace narratoria::http {

#define NARRATORIA_CURL_LIST(X) \
    X(global_init)              \
    X(version_info)             \
    X(slist_append)             \
    X(slist_free_all)           \
    X(easy_init)                \
    X(easy_setopt)              \
    X(easy_getinfo)             \
    X(easy_strerror)            \
    X(easy_cleanup)             \
    X(multi_init)               \
    X(multi_setopt)             \
    X(multi_add_handle)         \
    X(multi_remove_handle)      \
    X(multi_socket_action)      \
    X(multi_info_read)          \
    X(multi_strerror)           \
    X(multi_cleanup)

// Immutable after loading, hence thread-safe.
struct Curl {
#define NARRATORIA_CURL_MEMBER(name) decltype(&::curl_##name) name = nullptr;
    NARRATORIA_CURL_LIST(NARRATORIA_CURL_MEMBER)
#undef NARRATORIA_CURL_MEMBER

    // Loads the library in the first call of the process; it stays loaded. Returns NULL if it
    // cannot be used; `reason` then names the reason and the package to install. Thread-safe.
    static const Curl* load(std::string& reason);
};

}  // namespace narratoria::http
