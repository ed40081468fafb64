#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""one_definition.py [TREE]: no type is defined twice in one namespace of the runtime or the command.

Two definitions of one name in one program are an error that no compiler reports: the linker keeps
one destructor for both. The layout of clang-format is taken for granted: namespaces and their types
begin in the first column.
"""

import re
import sys
from pathlib import Path

PROGRAMS = ["runtime", "sdk/command"]
OPENS = re.compile(r"^(?:inline )?namespace ?([\w:]*) \{")
CLOSES = re.compile(r"^\}\s*// namespace")
DEFINES = re.compile(r"^(?:struct|class|enum class|enum|union) (?:alignas\(.*?\) )?(\w+)(?: final)?(?: :(?!:).*)? ?\{")


def definitions(file):
    """(namespace, name, line number) of each type that another file could clash with."""
    spaces = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if match := OPENS.match(line):
            spaces.append(match[1])
        elif CLOSES.match(line) and spaces:
            spaces.pop()
        elif (match := DEFINES.match(line)) and "" not in spaces:
            yield "::".join(spaces), match[1], number


def faults(tree):
    for program in PROGRAMS:
        first = {}
        for file in sorted((tree / program).rglob("*")):
            if file.suffix not in {".hpp", ".cpp"}:
                continue
            place = file.relative_to(tree).as_posix()
            for space, name, number in definitions(file):
                before = first.setdefault((space, name), f"{place}:{number}")
                if before != f"{place}:{number}":
                    yield f"{place}:{number}: {space}::{name} is defined in {before}, too"


def main():
    tree = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2]
    found = list(faults(tree))
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
