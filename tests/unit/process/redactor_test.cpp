// SPDX-License-Identifier: Apache-2.0
#include "process/redactor.hpp"

#include <gtest/gtest.h>

namespace narratoria::process {
namespace {

std::string redacted(const std::vector<std::string>& secrets, std::string_view text, size_t piece) {
    Redactor redactor(secrets);
    std::string out;
    for (size_t at = 0; at < text.size(); at += piece) out += redactor.pass(text.substr(at, piece));
    return out + redactor.finish();
}

TEST(Redactor, FindsASecretHoweverTheTextIsCut) {
    const std::string text = "key=hunter22 hunter2 hunterhunter2\nhunte";
    for (size_t piece = 1; piece <= text.size(); ++piece) {
        EXPECT_EQ(redacted({"hunter2"}, text, piece), "key=***2 *** hunter***\nhunte");
    }
}

TEST(Redactor, PrefersTheLongerOfTwoSecrets) {
    for (size_t piece = 1; piece < 12; ++piece) {
        EXPECT_EQ(redacted({"abcd", "abcdefgh"}, "abcdefgh abcdefg abcd", piece), "*** ***efg ***");
    }
}

TEST(Redactor, FindsASecretAsJsonWritesIt) {
    const std::vector<std::string> secrets = {"p\"s\\\xC3\xA4\xF0\x9F\x98\x80"};
    EXPECT_EQ(redacted(secrets, "\"p\\\"s\\\\\xC3\xA4\xF0\x9F\x98\x80\"", 3), "\"***\"");
    EXPECT_EQ(redacted(secrets, R"("p\"s\\\u00e4\ud83d\ude00")", 3), "\"***\"");
    EXPECT_EQ(redacted(secrets, secrets.front(), 2), "***");
}

TEST(Redactor, LeavesShortValuesAndWordsOfJsonAlone) {
    EXPECT_FALSE(Redactor({"abc", "true", "false", "null", ""}).is_needed());
    EXPECT_EQ(redacted({"true"}, "true", 1), "true");
}

TEST(Redactor, KeepsNothingBackThatIsNoStartOfASecret) {
    Redactor redactor({"secret"});
    EXPECT_EQ(redactor.pass("{\"ok\":true}\n"), "{\"ok\":true}\n");
    EXPECT_EQ(redactor.pass("a sec"), "a ");
    EXPECT_EQ(redactor.pass("ond"), "second");
}

TEST(Redactor, TakesBytesThatAreNoUtf8) {
    EXPECT_EQ(redacted({"\xFF\xFE\xFD\xFC"}, "a\xFF\xFE\xFD\xFC", 2), "a***");
}

}  // namespace
}  // namespace narratoria::process
