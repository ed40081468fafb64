// SPDX-License-Identifier: Apache-2.0
#include "tool_check/media_type.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

namespace narratoria::command {
namespace {

struct Signature {
    std::string_view name;
    std::string_view types;  // separated and surrounded by spaces
    std::size_t offset;
    std::string_view bytes;
    std::size_t second_offset = 0;
    std::string_view second_bytes = {};
};

using namespace std::string_view_literals;

constexpr Signature kSignatures[] = {
    {"a PNG image", " image/png image/apng ", 0, "\x89PNG\r\n\x1A\n"sv},
    {"a JPEG image", " image/jpeg image/jpg ", 0, "\xFF\xD8\xFF"sv},
    {"a GIF image", " image/gif ", 0, "GIF8"sv},
    {"a WebP image", " image/webp ", 0, "RIFF"sv, 8, "WEBP"sv},
    {"a BMP image", " image/bmp image/x-ms-bmp ", 0, "BM"sv},
    {"a TIFF image", " image/tiff ", 0, "II*\0"sv},
    {"a TIFF image", " image/tiff ", 0, "MM\0*"sv},
    {"WAVE audio", " audio/wav audio/wave audio/x-wav audio/vnd.wave ", 0, "RIFF"sv, 8, "WAVE"sv},
    {"an Ogg file", " audio/ogg audio/opus audio/vorbis video/ogg application/ogg ", 0, "OggS"sv},
    {"FLAC audio", " audio/flac audio/x-flac ", 0, "fLaC"sv},
    {"MP3 audio", " audio/mpeg audio/mp3 ", 0, "ID3"sv},
    {"MP3 audio", " audio/mpeg audio/mp3 ", 0, "\xFF\xFB"sv},
    {"MP3 audio", " audio/mpeg audio/mp3 ", 0, "\xFF\xF3"sv},
    {"MP3 audio", " audio/mpeg audio/mp3 ", 0, "\xFF\xF2"sv},
    {"a MIDI file", " audio/midi audio/x-midi ", 0, "MThd"sv},
    {"an MP4 file", " video/mp4 audio/mp4 video/quicktime image/avif image/heic ", 4, "ftyp"sv},
    {"a WebM or Matroska file", " video/webm audio/webm video/x-matroska audio/x-matroska ", 0,
     "\x1A\x45\xDF\xA3"sv},
    {"a PDF document", " application/pdf ", 0, "%PDF-"sv},
    {"a binary glTF model", " model/gltf-binary ", 0, "glTF"sv},
};

bool has(const Signature& signature, std::string_view content) {
    const auto at = [&](std::size_t offset, std::string_view bytes) {
        return content.size() >= offset + bytes.size() &&
               content.substr(offset, bytes.size()) == bytes;
    };
    return at(signature.offset, signature.bytes) &&
           (signature.second_bytes.empty() || at(signature.second_offset, signature.second_bytes));
}

bool is_name(std::string_view name) {
    constexpr std::string_view kOthers = "!#$&-^_.+";
    if (name.empty() || name.size() > 127) return false;
    if (std::isalnum(static_cast<unsigned char>(name.front())) == 0) return false;
    return std::all_of(name.begin(), name.end(), [&](char one) {
        return std::isalnum(static_cast<unsigned char>(one)) != 0 ||
               kOthers.find(one) != std::string_view::npos;
    });
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

bool is_token(std::string_view text) {
    constexpr std::string_view kSpecials = "()<>@,;:\\\"/[]?=";
    return !text.empty() && std::all_of(text.begin(), text.end(), [&](char one) {
        return one > ' ' && one < '\x7F' && kSpecials.find(one) == std::string_view::npos;
    });
}

// ; name=token or ; name="quoted \" text", any number of them.
bool are_parameters(std::string_view text) {
    while (!(text = trimmed(text)).empty()) {
        if (text.front() != ';') return false;
        text = trimmed(text.substr(1));
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos || !is_token(text.substr(0, equals))) return false;
        text.remove_prefix(equals + 1);
        if (text.starts_with('"')) {
            std::size_t end = 1;
            while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
            if (end >= text.size()) return false;
            text.remove_prefix(end + 1);
        } else {
            const std::size_t end = std::min(text.find_first_of("; \t"), text.size());
            if (!is_token(text.substr(0, end))) return false;
            text.remove_prefix(end);
        }
    }
    return true;
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& one : out) one = static_cast<char>(std::tolower(static_cast<unsigned char>(one)));
    return out;
}

}  // namespace

bool is_media_type(std::string_view text) {
    const std::size_t semicolon = std::min(text.find(';'), text.size());
    const std::string_view essence = text.substr(0, semicolon);
    const std::size_t slash = essence.find('/');
    if (slash == std::string_view::npos) return false;
    std::string_view subtype = essence.substr(slash + 1);
    if (semicolon < text.size()) subtype = trimmed(subtype);
    return is_name(essence.substr(0, slash)) && is_name(subtype) &&
           are_parameters(text.substr(semicolon));
}

std::string contradiction(std::string_view media_type, std::string_view first_bytes) {
    const std::string wanted =
        fmt::format(" {} ", lower(trimmed(media_type.substr(0, media_type.find(';')))));
    bool known = false;
    const Signature* found = nullptr;
    for (const Signature& signature : kSignatures) {
        const bool is_wanted = signature.types.find(wanted) != std::string_view::npos;
        known = known || is_wanted;
        if (!has(signature, first_bytes)) continue;
        if (is_wanted) return {};
        if (found == nullptr) found = &signature;
    }
    if (!known) return {};
    if (first_bytes.empty()) return "the file is empty";
    return found != nullptr ? fmt::format("the file is {}", found->name)
                            : std::string("the content of the file is something else");
}

}  // namespace narratoria::command
