// SPDX-License-Identifier: Apache-2.0
#include "tool_check/file_signature.hpp"

#include <fmt/core.h>

#include <cctype>

namespace narratoria::command::tool_check {
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

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& one : out) one = static_cast<char>(std::tolower(static_cast<unsigned char>(one)));
    return out;
}

}  // namespace

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
                            : std::string("the content of the file has a different type");
}

}  // namespace narratoria::command::tool_check
