// SPDX-License-Identifier: Apache-2.0
#include "process/script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "conformance/folder.hpp"

namespace {

using narratoria::process::script_fault;
using narratoria::process::shell_word;
using narratoria::test::Folder;
using testing::HasSubstr;

std::string trouble_with(std::string_view text) {
    const Folder folder;
    const std::string path = folder.write("script", text);
    std::string trouble = script_fault(path);
    const size_t place = trouble.find(path);
    if (place != std::string::npos) trouble.replace(place, path.size(), "FILE");
    return trouble;
}

TEST(Script, AcceptsExistingInterpreter) {
    for (const char* text : {"#!/bin/sh\n", "#! /bin/sh -e\necho\r\n", "#!/usr/bin/env python3", "",
                             "\x7F"
                             "ELF",
                             "#!relative\n", "#!\n"}) {
        EXPECT_EQ(trouble_with(text), "") << text;
    }
    EXPECT_EQ(script_fault("/nowhere/at/all"), "");
    EXPECT_EQ(script_fault("/"), "");
}

TEST(Script, ReportsMissingInterpreterLine) {
    for (const char* text : {"#", "echo\r\n", " #!/bin/sh\n"}) {
        EXPECT_EQ(trouble_with(text),
                  "is not a program; a script needs a first line like #!/bin/sh");
    }
}

TEST(Script, ReportsCarriageReturnAndItsRemoval) {
    EXPECT_EQ(trouble_with("#!/usr/bin/env python3\r\nprint()\r\n"),
              "has a carriage return at the end of its interpreter line (#!/usr/bin/env "
              "python3\\r), like a file from Windows; remove it: sed -i 's/\\r$//' FILE");
    EXPECT_THAT(trouble_with("#!/no/interpreter\r\n"), HasSubstr("carriage return"));
}

TEST(Script, QuotesShellPathIfNeeded) {
    EXPECT_EQ(shell_word("/story/tools/lamp_2.py"), "/story/tools/lamp_2.py");
    EXPECT_EQ(shell_word("/my story/$(lamp)"), "'/my story/$(lamp)'");
    EXPECT_EQ(shell_word("/Rose's/lamp"), "'/Rose'\\''s/lamp'");
    EXPECT_EQ(shell_word(""), "''");
}

TEST(Script, ReportsMissingInterpreterAndByteOrderMark) {
    EXPECT_EQ(trouble_with("#! /no/interpreter -x\n"),
              "names an interpreter that does not exist: #! /no/interpreter -x");
    EXPECT_THAT(trouble_with("\xEF\xBB\xBF#!/bin/sh\n"), HasSubstr("byte order mark"));
}

TEST(Script, DoesNotBlockOnPipe) {
    const Folder folder;
    EXPECT_EQ(script_fault(folder.fifo("pipe")), "");
}

}  // namespace
