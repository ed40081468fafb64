// SPDX-License-Identifier: Apache-2.0
#include "asset/media_type.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace std::string_literals;
using narratoria::asset::is_media_type;

// covers: 000-4.3-media-type, 004-asset-media-type
TEST(MediaType, IsTypeSubtypeAndParameters) {
    const std::string valid[] = {
        "image/png",
        "IMAGE/PNG",
        "image/svg+xml",
        "application/vnd.oasis.opendocument.text",
        "application/octet-stream",
        "model/gltf-binary",
        "x-story/x-smell",
        "audio/32kadpcm",
        "a/b",
        "1/2",
        "a!#$&-^_.+/b!#$&-^_.+",
        "text/plain;charset=utf-8",
        "text/plain; charset=utf-8",
        "text/plain ;\tcharset=utf-8 ; format=flowed",
        "text/plain; charset=\"utf-8\"",
        "text/plain; title=\"a; b = \\\" c\"",
        "multipart/form-data; boundary=a'b",
        "text/plain; x=*",
        std::string(127, 'a') + "/" + std::string(127, 'b'),
    };
    for (const std::string& text : valid) EXPECT_TRUE(is_media_type(text)) << text;
}

// covers: 000-4.3-media-type, 004-asset-media-type
TEST(MediaType, IsNothingElse) {
    const std::string invalid[] = {
        "",
        "image",
        "image/",
        "/png",
        "/",
        "image//png",
        "image/png/x",
        "image png",
        "image / png",
        " image/png",
        "image/png\n",
        "image/png x",
        "png",
        ".png",
        "*/*",
        "image/*",
        ".image/png",
        "image/+xml",
        "-a/b",
        "image/p(n)g",
        "image/png,image/gif",
        "image/png;",
        "image/png;charset",
        "image/png;charset=",
        "image/png;=utf-8",
        "image/png; charset = utf-8",
        "text/plain; charset=\"utf-8",
        "text/plain; charset=\"utf-8\\\"",
        "text/plain; charset=\"a\"b",
        "text/plain; charset=\"a\nb\"",
        "text/plain; charset=a b",
        "text/plain; charset=utf-8;",
        "text/plain; x=a;b",
        "bild/größe",
        "image/png\0"s,
        "image\0/png"s,
        "text/plain; x=\xFF",
        "text/plain; x=\"é\"",
        "text/plain; x=\"\x7F\"",
        "text/plain; x=\"\\\n\"",
        "text/plain; x=\"\\",
        "text/plain; x={a}",
        "image/png ",
        "image/png\t",
        "text/plain; x=a ",
        std::string(128, 'a') + "/b",
        "a/" + std::string(128, 'b'),
    };
    for (const std::string& text : invalid) EXPECT_FALSE(is_media_type(text)) << text;
}

}  // namespace
