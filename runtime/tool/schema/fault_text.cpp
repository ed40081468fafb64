// SPDX-License-Identifier: Apache-2.0
#include "tool/schema/fault_text.hpp"

#include "base/bytes/utf8.hpp"
#include "base/json/writer.hpp"

namespace narratoria::tool {

std::string cut(std::string_view text, size_t most) {
    if (text.size() <= most) return std::string(text);
    text = text.substr(0, most);
    text = text.substr(0, utf8::valid_prefix(text));
    return std::string(text) + "…";
}

std::string excerpt(json::Value value) {
    if (value.is_string()) {
        return json::quoted(cut(value.text(), kExcerpt));
    }
    std::string line;
    json::append_compact(line, value.raw().substr(0, 4 * kExcerpt));
    return utf8::repaired(cut(line, kExcerpt));
}

std::string counted(uint64_t count, const char* one, const char* many) {
    return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace narratoria::tool
