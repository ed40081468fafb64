// SPDX-License-Identifier: Apache-2.0
#include "plugin/metadata.hpp"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "conformance/cases.hpp"
#include "conformance/folder.hpp"
#include "support/folders.hpp"

namespace narratoria::plugin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kGood =
    R"({"schema":"plugin/1","id":"org.example.rain","name":"Rain","version":"1.0.0","abi":"1.2",)"
    R"("extensions":["narratoria.ui_handler/1","narratoria.event_sink/1"],"more":true})";

// The first fault's pointer and message.
std::string reason_of(const std::string& json) {
    Faults faults;
    EXPECT_FALSE(parse_metadata(json, faults)) << json;
    if (faults.empty()) return "no fault";
    return faults.front().pointer + ": " + faults.front().message;
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

TEST(PluginMetadata, HasTheFieldsOfTheJson) {
    Faults faults;
    const auto metadata = parse_metadata(kGood, faults);
    ASSERT_TRUE(metadata && faults.empty());
    EXPECT_EQ(metadata->id, "org.example.rain");
    EXPECT_EQ(metadata->name, "Rain");
    EXPECT_EQ(metadata->version, "1.0.0");
    EXPECT_EQ(metadata->abi_major, 1U);
    EXPECT_EQ(metadata->abi_minor, 2U);
    EXPECT_THAT(metadata->extensions,
                ElementsAre("narratoria.ui_handler/1", "narratoria.event_sink/1"));
}

TEST(PluginMetadata, NamesTheFieldThatIsWrong) {
    EXPECT_THAT(reason_of("{"), HasSubstr(": "));
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

TEST(PluginMetadata, SettingsAreAJsonSchemaThatSettingsAreCheckedAgainst) {
    auto with_settings = [](const std::string& schema) {
        return with("\"more\":true", "\"settings\":" + schema);
    };
    EXPECT_THAT(reason_of(with_settings("7")), HasSubstr("/settings: "));
    EXPECT_THAT(reason_of(with_settings(R"({"properties":{"a":{"type":"strng"}}})")),
                HasSubstr("/settings/properties/a/type: "));
    Faults faults;
    const auto metadata = parse_metadata(
        with_settings(R"({"properties":{"colour":{"type":"string"}},"required":["colour"],)"
                      R"("additionalProperties":false})"),
        faults);
    ASSERT_TRUE(metadata);
    const auto found = [&](const char* settings) {
        return tool::describe(check_settings(*metadata, settings), "");
    };
    EXPECT_EQ(found(R"({"colour":"red"})"), "");
    EXPECT_EQ(found(R"({"color":"red"})"),
              R"("/color" is unknown; did you mean "colour"?; "/colour" is missing)");
    EXPECT_THAT(check_settings(*parse_metadata(kGood, faults), R"({"color":"red"})"), IsEmpty());
}

TEST(PluginMetadata, AcceptsTheIdsOfTheTables) {
    auto faults_with = [](const std::string& from, const std::string& to) {
        Faults faults;
        parse_metadata(with("\"" + from + "\"", test::json_text(to)), faults);
        return faults;
    };
    const test::Json ids = test::cases("plugin-ids");
    for (const std::string& id : ids["valid"].strings()) {
        EXPECT_TRUE(faults_with("org.example.rain", id).empty()) << id;
        EXPECT_TRUE(is_id(id)) << id;
    }
    for (const std::string& id : ids["invalid"].strings()) {
        EXPECT_EQ(faults_with("org.example.rain", id).size(), 1u) << id;
        EXPECT_FALSE(is_id(id)) << id;
    }
    const test::Json extensions = test::cases("extension-ids");
    for (const std::string& id : extensions["valid"].strings()) {
        for (const Fault& fault : faults_with("narratoria.ui_handler/1", id)) {
            EXPECT_TRUE(fault.is_warning) << id;
        }
    }
    for (const std::string& id : extensions["invalid"].strings()) {
        EXPECT_EQ(faults_with("narratoria.ui_handler/1", id).size(), 1u) << id;
    }
}

TEST(PluginMetadata, ListsEveryFault) {
    Faults faults;
    EXPECT_FALSE(
        parse_metadata(R"({"schema":"plugin/2","id":"A","extensions":["x","y/1"]})", faults));
    std::vector<std::string> pointers;
    for (const Fault& fault : faults) pointers.push_back(fault.pointer);
    EXPECT_THAT(pointers,
                ElementsAre("/name", "/version", "/abi", "/schema", "/id", "/extensions/0"));
}

TEST(PluginMetadata, DuplicateExtensionIsAWarning) {
    Faults faults;
    const auto metadata =
        parse_metadata(with("narratoria.event_sink/1", "narratoria.ui_handler/1"), faults);
    EXPECT_TRUE(metadata);
    ASSERT_EQ(faults.size(), 1u);
    EXPECT_TRUE(faults[0].is_warning);
    EXPECT_EQ(faults[0].pointer, "/extensions/1");
}

TEST(PluginNote, IsTheFirstOneOfOurs) {
    const std::string section = note("GNU", "0123") + note("Narratoria", "other", 2) +
                                note("Narratoria", kGood) + note("Narratoria", "later");
    EXPECT_THAT(find_notes(section), ElementsAre(kGood, "later"));
    EXPECT_THAT(find_notes(note("GNU", "x")), IsEmpty());
    EXPECT_THAT(find_notes(""), IsEmpty());
}

TEST(PluginNote, TruncatedNoteIsIgnored) {
    const std::string whole = note("Narratoria", kGood);
    for (size_t size = 0; size + 4 < whole.size(); ++size) {
        EXPECT_THAT(find_notes(std::string_view(whole).substr(0, size)), IsEmpty()) << size;
    }
    std::string huge = whole;
    const uint32_t most = UINT32_MAX;
    std::memcpy(huge.data(), &most, sizeof most);
    EXPECT_THAT(find_notes(huge), IsEmpty());
}

// ---- files

class PluginFile : public ::testing::Test {
protected:
    std::string library() const {
        std::ifstream in(test::in_build("tests/plugins/probe.so"), std::ios::binary);
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
    const auto metadata = read_metadata(test::in_build("tests/plugins/probe.so"), why);
    ASSERT_TRUE(metadata) << why;
    EXPECT_EQ(metadata->id, "test.probe");
    EXPECT_EQ(metadata->extensions.size(), 6U);
}

TEST_F(PluginFile, ThatIsNotALibraryIsNamed) {
    EXPECT_EQ(reason(""), "it is not a shared library");
    EXPECT_EQ(reason("#!/bin/sh\necho hello, I am a script and no library at all, believe me\n"),
              "it is not a shared library");
    std::string why;
    EXPECT_FALSE(read_metadata(folder / "nothing.so", why));
    EXPECT_THAT(why, HasSubstr("No such file"));
    EXPECT_FALSE(read_metadata(folder.path(), why));
    EXPECT_EQ(why, "it is not a regular file");
    EXPECT_FALSE(read_metadata(folder.fifo("pipe.so"), why)) << "nobody writes to it";
    EXPECT_EQ(why, "it is not a regular file");
}

TEST_F(PluginFile, ForAnotherMachineIsNamed) {
    std::string content = library();
    content[offsetof(Elf64_Ehdr, e_machine)] = 8;
    EXPECT_EQ(reason(content), "it is a library for a different processor architecture");
}

TEST_F(PluginFile, TruncatedFileIsRefused) {
    const std::string content = library();
    for (size_t size = 1; size < content.size(); size += content.size() / 200) {
        reason(content.substr(0, size));
    }
}

TEST_F(PluginFile, CorruptHeadersAreHandledSafely) {
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

TEST_F(PluginFile, WithMoreThan64KiBOfMetadataNamesTheLimit) {
    std::string content = library();
    Elf64_Ehdr header;
    std::memcpy(&header, content.data(), sizeof header);
    auto section_at = [&](size_t index) { return header.e_shoff + index * sizeof(Elf64_Shdr); };
    Elf64_Shdr section;
    std::memcpy(&section, &content[section_at(header.e_shstrndx)], sizeof section);
    const size_t names = section.sh_offset;
    for (size_t index = 1; index < header.e_shnum; ++index) {
        std::memcpy(&section, &content[section_at(index)], sizeof section);
        if (std::string_view(&content[names + section.sh_name]) != ".note.narratoria") continue;
        section.sh_size = 65537;
        std::memcpy(&content[section_at(index)], &section, sizeof section);
    }
    content.append(65537, '\0');
    const std::string wrong =
        " has 65537 bytes; at most 65536 are allowed; shorten the schema of the settings";
    EXPECT_EQ(reason(content), "its metadata" + wrong);
    content = library();
    content.replace(content.find(".note.narratoria"), 5, ".nope");
    folder.write("x.so.json", std::string(65537, ' '));
    EXPECT_EQ(reason(content), folder / "x.so.json" + wrong);
}

TEST_F(PluginFile, WithoutNoteUsesTheJsonFileNextToIt) {
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
