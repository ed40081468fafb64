// SPDX-License-Identifier: Apache-2.0
#include "tool/schema/uri.hpp"

#include <cstdint>
#include <vector>

namespace narratoria::tool {
namespace {

struct Parts {
    std::string_view scheme;     // with its colon, or empty
    std::string_view authority;  // with its slashes, or empty
    std::string_view path;
    std::string_view query;     // with its question mark, or empty
    std::string_view fragment;  // with its number sign, or empty
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

Parts split(std::string_view text) {
    Parts parts;
    if (const size_t at = text.find('#'); at != std::string_view::npos) {
        parts.fragment = text.substr(at);
        text = text.substr(0, at);
    }
    if (const size_t at = text.find('?'); at != std::string_view::npos) {
        parts.query = text.substr(at);
        text = text.substr(0, at);
    }
    size_t end = 0;
    while (end < text.size() &&
           (is_letter(text[end]) || (end > 0 && text[end] != ':' && text[end] != '/'))) {
        ++end;
    }
    if (end > 0 && end < text.size() && text[end] == ':') {
        parts.scheme = text.substr(0, end + 1);
        text = text.substr(end + 1);
    }
    if (text.substr(0, 2) == "//") {
        size_t slash = text.find('/', 2);
        if (slash == std::string_view::npos) slash = text.size();
        parts.authority = text.substr(0, slash);
        text = text.substr(slash);
    }
    parts.path = text;
    return parts;
}

std::string without_dots(std::string_view path) {
    const bool rooted = path.substr(0, 1) == "/";
    std::vector<std::string_view> kept;
    bool folder = false;  // ends with a slash
    size_t at = rooted ? 1 : 0;
    while (at <= path.size()) {
        size_t end = path.find('/', at);
        if (end == std::string_view::npos) end = path.size();
        const std::string_view segment = path.substr(at, end - at);
        folder = segment == "." || segment == "..";
        if (segment == "..") {
            if (!kept.empty()) kept.pop_back();
        } else if (segment != ".") {
            kept.push_back(segment);
        }
        at = end + 1;
    }
    std::string out(rooted ? "/" : "");
    for (size_t i = 0; i < kept.size(); ++i) {
        if (i > 0) out += '/';
        out += kept[i];
    }
    if (folder && !kept.empty()) out += '/';
    return out;
}

std::string joined(std::string_view scheme, std::string_view authority, std::string_view path,
                   std::string_view query, std::string_view fragment) {
    std::string out(scheme);
    out += authority;
    out += path;
    out += query;
    out += fragment;
    return out;
}

}  // namespace

std::string resolve_uri(std::string_view base, std::string_view reference) {
    const Parts to = split(reference);
    if (!to.scheme.empty()) {
        const bool hierarchical = !to.authority.empty() || to.path.substr(0, 1) == "/";
        return joined(to.scheme, to.authority,
                      hierarchical ? without_dots(to.path) : std::string(to.path), to.query,
                      to.fragment);
    }
    const Parts from = split(base);
    if (!to.authority.empty()) {
        return joined(from.scheme, to.authority, without_dots(to.path), to.query, to.fragment);
    }
    if (to.path.empty()) {
        return joined(from.scheme, from.authority, from.path,
                      to.query.empty() ? from.query : to.query, to.fragment);
    }
    std::string path(to.path);
    if (path[0] != '/') {
        const size_t slash = from.path.rfind('/');
        std::string folder(slash == std::string_view::npos ? std::string_view()
                                                           : from.path.substr(0, slash + 1));
        if (folder.empty() && !from.authority.empty()) folder = "/";
        path = folder + path;
    }
    return joined(from.scheme, from.authority, without_dots(path), to.query, to.fragment);
}

std::string percent_decoded(std::string_view text) {
    const auto digit = [](char c) -> int {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        if (c >= 'A' && c <= 'F') return c - 'A' + 10;
        return -1;
    };
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
            digit(text[i + 2]) >= 0) {
            out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

}  // namespace narratoria::tool
