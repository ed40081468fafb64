// SPDX-License-Identifier: Apache-2.0
#include "http/url.hpp"

#include <gtest/gtest.h>

namespace narratoria::http {
namespace {

Url parse(std::string_view text) {
    std::string reason;
    const auto url = Url::parse(text, reason);
    EXPECT_TRUE(url) << text << ": " << reason;
    return url.value_or(Url{});
}

TEST(Url, HasParts) {
    const Url url = parse("HTTPS://ann:pass@Example.COM:8443/a/b?c=d#e");
    EXPECT_EQ(url.scheme, "https");
    EXPECT_EQ(url.credentials, "ann:pass");
    EXPECT_EQ(url.host, "example.com");
    EXPECT_EQ(url.port, 8443);
    EXPECT_EQ(url.target, "/a/b?c=d");
    EXPECT_EQ(url.text(), "https://ann:pass@example.com:8443/a/b?c=d");
}

TEST(Url, DefaultsToSchemePortAndRootPath) {
    EXPECT_EQ(parse("http://a").text(), "http://a/");
    EXPECT_EQ(parse("http://a:80").text(), "http://a/");
    EXPECT_EQ(parse("https://a").port, 443);
    EXPECT_EQ(parse("http://a?b").target, "/?b");
    EXPECT_EQ(parse("http://a.b.:81/").authority(), "a.b:81");
}

TEST(Url, AcceptsIpv6Addresses) {
    const Url url = parse("http://[::1]:8000/x");
    EXPECT_EQ(url.host, "::1");
    EXPECT_EQ(url.text(), "http://[::1]:8000/x");
}

TEST(Url, IsShownWithoutCredentialsAndQuery) {
    EXPECT_EQ(shown("http://ann:secret@h:81/a?key=secret"), "http://h:81/a?…");
    EXPECT_EQ(shown("ftp://ann:secret@h"), "(no URL: it does not begin with http:// or https://)");
}

TEST(Url, ChangedPathKeepsServerAndDropsQuery) {
    EXPECT_EQ(parse("http://ann:s@h:81/tools?a=b").with_path("/capabilities/handshake").text(),
              "http://ann:s@h:81/capabilities/handshake");
}

TEST(Url, AmbiguousUrlsAreRefused) {
    for (const char* text : {"",
                             "http:",
                             "http://",
                             "http:///a",
                             "//a",
                             "a",
                             "file:///etc/passwd",
                             "http://a b",
                             "http://a\\b",
                             "http://a\nb",
                             "http://ü/",
                             "http://a@b@c/",
                             "http://a:b:c/",
                             "http://a:0/",
                             "http://a:65536/",
                             "http://a:/",
                             "http://a:8x/",
                             "http://[::1/",
                             "http://[::1]x/",
                             "http://[::g]/",
                             "http://[fe80::1%25eth0]/",
                             "http://a..b/",
                             "http://%31/",
                             "http://a;b/"}) {
        std::string reason;
        EXPECT_FALSE(Url::parse(text, reason)) << text;
        EXPECT_FALSE(reason.empty()) << text;
    }
}

}  // namespace
}  // namespace narratoria::http
