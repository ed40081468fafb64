// SPDX-License-Identifier: Apache-2.0
#include "narrator_llm/server_events.hpp"

#include <utility>

namespace narratoria::llm {

void ServerEvents::feed(std::string_view bytes, const OnData& on_data) {
    while (!bytes.empty()) {
        if (std::exchange(after_return_, false) && bytes.front() == '\n') {
            bytes.remove_prefix(1);
            continue;
        }
        const std::size_t end = bytes.find_first_of("\r\n");
        line_ += bytes.substr(0, end);
        if (end == std::string_view::npos) return;
        after_return_ = bytes[end] == '\r';
        bytes.remove_prefix(end + 1);
        take_line(on_data);
    }
}

void ServerEvents::end(const OnData& on_data) {
    if (!line_.empty()) take_line(on_data);
    if (has_data_) take_line(on_data);
}

void ServerEvents::take_line(const OnData& on_data) {
    const std::string line = std::exchange(line_, {});
    if (line.empty()) {
        const std::string data = std::exchange(data_, {});
        if (std::exchange(has_data_, false)) on_data(data);
        return;
    }
    constexpr std::string_view kData = "data:";
    // Comments and other fields carry nothing that a reply needs.
    if (!line.starts_with(kData)) return;
    std::string_view value = std::string_view(line).substr(kData.size());
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (std::exchange(has_data_, true)) data_ += '\n';
    data_ += value;
}

}  // namespace narratoria::llm
