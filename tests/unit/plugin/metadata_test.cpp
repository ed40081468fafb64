// SPDX-License-Identifier: Apache-2.0
#include "plugin/metadata.hpp"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "conformance/folder.hpp"

namespace narratoria::plugin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kGood =
    R"({"schema":"plugin/1","id":"org.example.rain","name":"Rain","version":"1.0.0","abi":"1.2",)"
    R"("extensions":["narratoria.ui_handler/1","narratoria.event_sink/1"],"more":true})";

std::string reason_of(const std::string& json) {
    std::string reason;
    EXPECT_FALSE(parse_metadata(json, reason)) << json;
    return reason;
}

std::string with(const std::string& from, const std::string& to) {
    std::string text = kGood;
    return text.replace(text.find(from), from.size(), to);
}

std::string note(const std::string& owner, const std::string& text, uint32_t type = 1) {
    const uint32_t head[] = {static_cast<uint32_t>(owner.size() + 1),
                             static_cast<uint32_t>(text.size() + 1), type};
    std::string out(reinterpret_cast<const char*>(head), sizeof head);
    for (const std::string& part : {owner, text}) {
        out += part;
        out.append(4 - part.size() % 4, '\0');
    }
    return out;
}

TEST(PluginMetadata, HasWhatThePluginSays) {
    std::string reason;
    const auto metadata = parse_metadata(kGood, reason);
    ASSERT_TRUE(metadata) << reason;
    EXPECT_EQ(metadata->id, "org.example.rain");
    EXPECT_EQ(metadata->name, "Rain");
    EXPECT_EQ(metadata->version, "1.0.0");
    EXPECT_EQ(metadata->abi_major, 1U);
    EXPECT_EQ(metadata->abi_minor, 2U);
    EXPECT_THAT(metadata->extensions,
                ElementsAre("narratoria.ui_handler/1", "narratoria.event_sink/1"));
}

TEST(PluginMetadata, NamesTheFieldThatIsWrong) {
    EXPECT_THAT(reason_of("{"), HasSubstr("byte 1"));
    EXPECT_THAT(reason_of("[]"), HasSubstr("a JSON object"));
    EXPECT_THAT(reason_of(with("plugin/1", "plugin/2")), HasSubstr("/schema"));
    EXPECT_THAT(reason_of(with("\"name\":\"Rain\"", "\"name\":7")), HasSubstr("/name"));
    for (const char* id : {"", "Org.Example", "a b", ".hidden", "a/b"}) {
        EXPECT_THAT(reason_of(with("org.example.rain", id)), HasSubstr("/id")) << id;
    }
    for (const char* abi : {"1", "1.", "a.b", "1.0.0", "70000.0", "-1.0"}) {
        EXPECT_THAT(reason_of(with("1.2", abi)), HasSubstr("/abi")) << abi;
    }
    for (const char* extension : {"no version", "narratoria.x", "/1", "x/", "X/1", "a..b/1"}) {
        EXPECT_THAT(reason_of(with("narratoria.ui_handler/1", extension)), HasSubstr("/extensions"))
            << extension;
    }
}

TEST(PluginNote, IsTheFirstOneThatIsOurs) {
    const std::string section = note("GNU", "0123") + note("Narratoria", "other", 2) +
                                note("Narratoria", kGood) + note("Narratoria", "later");
    EXPECT_EQ(find_note(section), kGood);
    EXPECT_EQ(find_note(note("GNU", "x")), std::nullopt);
    EXPECT_EQ(find_note(""), std::nullopt);
}

TEST(PluginNote, ThatClaimsMoreThanIsThereIsNone) {
    const std::string whole = note("Narratoria", kGood);
    for (size_t size = 0; size + 4 < whole.size(); ++size) {
        EXPECT_EQ(find_note(std::string_view(whole).substr(0, size)), std::nullopt) << size;
    }
    std::string huge = whole;
    const uint32_t most = UINT32_MAX;
    std::memcpy(huge.data(), &most, sizeof most);
    EXPECT_EQ(find_note(huge), std::nullopt);
}

// ---- files

class PluginFile : public ::testing::Test {
protected:
    std::string library() const {
        std::ifstream in(NARRATORIA_BUILD_DIR "/tests/plugins/probe.so", std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    std::string reason(const std::string& content) const {
        std::string why;
        EXPECT_FALSE(read_metadata(folder.write("x.so", content), why));
        return why;
    }
    test::Folder folder;
};

TEST_F(PluginFile, IsReadWithoutBeingLoaded) {
    std::string why;
    const auto metadata = read_metadata(NARRATORIA_BUILD_DIR "/tests/plugins/probe.so", why);
    ASSERT_TRUE(metadata) << why;
    EXPECT_EQ(metadata->id, "test.probe");
    EXPECT_EQ(metadata->extensions.size(), 6U);
}

TEST_F(PluginFile, ThatIsNoLibraryIsNamed) {
    EXPECT_EQ(reason(""), "it is no shared library");
    EXPECT_EQ(reason("#!/bin/sh\necho hello, I am a script and no library at all, believe me\n"),
              "it is no shared library");
    std::string why;
    EXPECT_FALSE(read_metadata(folder / "nothing.so", why));
    EXPECT_THAT(why, HasSubstr("No such file"));
    EXPECT_FALSE(read_metadata(folder.path(), why));
    EXPECT_EQ(why, "it is no regular file");
    EXPECT_FALSE(read_metadata(folder.fifo("pipe.so"), why)) << "nobody writes to it";
    EXPECT_EQ(why, "it is no regular file");
}

TEST_F(PluginFile, OfAnotherMachineIsNamed) {
    std::string content = library();
    content[offsetof(Elf64_Ehdr, e_machine)] = 8;
    EXPECT_EQ(reason(content), "it is a library for another kind of machine");
}

TEST_F(PluginFile, CutAnywhereIsRefused) {
    const std::string content = library();
    for (size_t size = 1; size < content.size(); size += content.size() / 200) {
        reason(content.substr(0, size));
    }
}

TEST_F(PluginFile, WithAnyByteOfItsHeadersChangedDoesNoHarm) {
    const std::string content = library();
    Elf64_Ehdr header;
    std::memcpy(&header, content.data(), sizeof header);
    std::string why;
    for (size_t i = 0; i < sizeof header; ++i) {
        std::string changed = content;
        changed[i] = static_cast<char>(0xFF);
        read_metadata(folder.write("x.so", changed), why);
    }
    for (size_t i = header.e_shoff; i < content.size(); i += 7) {
        std::string changed = content;
        changed[i] = static_cast<char>(0xFF);
        read_metadata(folder.write("x.so", changed), why);
    }
}

TEST_F(PluginFile, WithoutANoteHasAFileBesideIt) {
    std::string content = library();
    const size_t name = content.find(".note.narratoria");
    content.replace(name, 5, ".nope");
    EXPECT_THAT(reason(content), HasSubstr("x.so.json"));
    folder.write("x.so.json", kGood);
    std::string why;
    const auto metadata = read_metadata(folder / "x.so", why);
    ASSERT_TRUE(metadata) << why;
    EXPECT_EQ(metadata->id, "org.example.rain");
    folder.write("x.so.json", "{}");
    EXPECT_FALSE(read_metadata(folder / "x.so", why));
    EXPECT_THAT(why, HasSubstr("x.so.json: "));
}

}  // namespace
}  // namespace narratoria::plugin
