// SPDX-License-Identifier: Apache-2.0
#include "base/language_tag.hpp"

#include <gtest/gtest.h>

namespace narratoria {
namespace {

// Examples of RFC 5646, appendix A.
TEST(LanguageTag, WellFormedTagsAreAccepted) {
    for (const char* tag :
         {"de", "zh-Hant", "zh-cmn-Hans-CN", "sr-Latn-RS", "sl-rozaj-biske", "de-CH-1901",
          "hy-Latn-IT-arevela", "es-419", "de-CH-x-phonebk", "az-Arab-x-AZE-derbend", "x-whatever",
          "qaa-Qaaa-QM-x-southern", "en-US-u-islamcal", "zh-CN-a-myext-x-private", "PT-br"}) {
        EXPECT_TRUE(is_language_tag(tag)) << tag;
    }
}

TEST(LanguageTag, OtherTextsAreRefused) {
    for (const char* tag : {"",
                            "d",
                            "-",
                            "de-",
                            "-de",
                            "de--DE",
                            "deutsch land",
                            "de_DE",
                            "de-DE.UTF-8",
                            "de-419-DE",
                            "a-DE",
                            "ar-a-aaa-b",
                            "x",
                            "de-x",
                            "de-x-",
                            "de-u",
                            "englishes-GB",
                            "de\"",
                            "dé",
                            "\xF0"}) {
        EXPECT_FALSE(is_language_tag(tag)) << tag;
    }
}

}  // namespace
}  // namespace narratoria
