#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""comments.py FILE: prints a header with its plain comments marked for Doxygen.

The headers are written for people, so the marks for Doxygen are added here. A comment on its own
line belongs to the following declaration, a comment after code to that code, and the first comment
of a file to the file.
"""

import re
import sys
from pathlib import Path


def c_comments(text):
    # The comment of the file: the first block after the include guard.
    text = re.sub(r"^(#define NARRATORIA_\w+_H\n)/\*\n", r"\1/** \\file\n", text, count=1,
                  flags=re.M)
    text = re.sub(r"^(#define NARRATORIA_\w+_H\n)/\* ", r"\1/** \\file ", text, count=1, flags=re.M)
    text = re.sub(r"^(\s*)/\* (?!SPDX|----)", r"\1/** ", text, flags=re.M)
    text = re.sub(r"^(\s*)/\*\n", r"\1/**\n", text, flags=re.M)
    return re.sub(r"(\S[ \t]+)/\* (?!\*)", r"\1/**< ", text)


def cpp_comments(text):
    lines, behind_code, first = [], False, True
    for line in text.splitlines():
        own = re.match(r"^(\s*)// ?(.*)$", line)
        if own and not own[2].startswith(("SPDX", "----")):
            # A comment after code may continue below it.
            mark = "///<" if behind_code and len(own[1]) > 12 else "///"
            start = " \\file" if first and mark == "///" else ""
            first = False
            lines.append(f"{own[1]}{mark}{start} {own[2]}")
            continue
        if line.strip() and not line.startswith(("#pragma", "// SPDX")):
            first = False
        trailing = re.match(r"^(\s*\S.*?)\s// (.*)$", line)
        behind_code = bool(trailing) and '"' not in line.split("//")[0]
        lines.append(f"{trailing[1]} ///< {trailing[2]}" if behind_code else line)
    return "\n".join(lines) + "\n"


def main():
    path = Path(sys.argv[1])
    text = path.read_text(encoding="utf-8")
    if "@file" in text:  # already written for Doxygen
        sys.stdout.write(text)
        return
    # Escape text that Doxygen would read as its own commands or as HTML.
    marked = c_comments(text) if path.suffix == ".h" else cpp_comments(text)
    out = []
    for line in marked.splitlines():
        code, mark, words = line, "", ""
        match = re.search(r"/\*\*<?|///<?|^ *\*", line)
        if match:
            code, mark, words = line[:match.start()], match[0], line[match.end():]
            file = words.startswith(" \\file")
            words = words.removeprefix(" \\file").replace("#", "\\#")
            words = words.replace("@", "\\@")
            words = words.replace("<", "\\<").replace(">", "\\>").replace("&", "\\&")
            words = words.replace("%", "\\%").replace("$", "\\$")
            words = re.sub(r"\\(?![@#<>&%$])", r"\\\\", words)
            words = (f" \\file {path.name}\n{mark if mark != '/**' else ' *'}" if file else "") + words
        out.append(code + mark + words)
    sys.stdout.write("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
