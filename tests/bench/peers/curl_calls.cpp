// SPDX-License-Identifier: Apache-2.0
// curl_calls URL COUNT: the peer of service_calls, with the same requests by libcurl alone, on one
// handle that keeps its connection. Prints the median seconds of a request.

#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Steady = std::chrono::steady_clock;

constexpr const char* kBody =
    R"({"protocol_version":1,"tool_name":"greeter","kind":"python","entry":"tools.sample_tool:greet",)"
    R"("payload":{"name":"Ada"},"timeout_ms":10000,"trace_id":"6f0c7a52-1d7e-4a0e-9c55-2b9f4a1d8e77",)"
    R"("project":{"app_root":"/path/to/app","flow":"demo"}})";

size_t take(char* data, size_t size, size_t count, void* to) {
    static_cast<std::string*>(to)->append(data, size * count);
    return size * count;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) return 2;
    CURL* const handle = curl_easy_init();
    curl_slist* const headers = curl_slist_append(nullptr, "Content-Type: application/json");
    std::string reply;
    curl_easy_setopt(handle, CURLOPT_URL, arguments[1]);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, kBody);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &take);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, static_cast<void*>(&reply));
    std::vector<double> seconds;
    for (int i = 0; i <= std::atoi(arguments[2]); ++i) {
        reply.clear();
        const Steady::time_point begin = Steady::now();
        if (curl_easy_perform(handle) != CURLE_OK) return 1;
        if (i > 0) {
            seconds.push_back(std::chrono::duration<double>(Steady::now() - begin).count());
        }
    }
    std::sort(seconds.begin(), seconds.end());
    std::printf("%.9f\n", seconds[seconds.size() / 2]);
    curl_slist_free_all(headers);
    curl_easy_cleanup(handle);
    return 0;
}
