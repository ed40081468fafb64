# SPDX-License-Identifier: Apache-2.0
"""Checks the layout of the sources and the names of their types, enumerators and constants."""

import json
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .commands import JOBS, TREE, run

FORMATTED = ("sdk", "runtime", "plugins", "bindings", "examples", "tests")
NAMED = tuple(TREE / folder for folder in ("runtime", "sdk", "plugins", "bindings"))
NAMES = "-*,readability-identifier-naming"


def layout(report):
    files = sorted(
        file for folder in FORMATTED for file in (TREE / folder).rglob("*")
        if file.suffix in (".c", ".cpp", ".h", ".hpp") and "node_modules" not in file.parts)
    status, text = run(["clang-format-14", "--dry-run", "--Werror", *files])
    wrong = sorted({line.split(":")[0] for line in text.splitlines() if ": error:" in line})
    report.add_result("layout: clang-format-14 -i these files", status, "\n".join(wrong) or text)


def commands_of(folder):
    """Yields the compile command of each source, also of those compiled in a unity build."""
    for command in json.loads((folder / "compile_commands.json").read_text()):
        joined = Path(command["file"])
        sources = [command["file"]]
        if joined.suffix == ".cxx":
            sources = re.findall(r'^#include "(.+)"$', joined.read_text(), re.M)
        for source in sources:
            yield {**command, "file": source, "command": command["command"].replace(str(joined), source)}


def names(report):
    """Checks the names in the shipped sources against .clang-tidy."""
    commands = list(commands_of(TREE / "build/asan"))
    files = sorted({command["file"] for command in commands if command["file"].endswith(".cpp")
                    and any(TREE.joinpath(command["file"]).is_relative_to(part) for part in NAMED)})

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(JOBS) as pool:
        Path(folder, "compile_commands.json").write_text(json.dumps(commands))

        def look(file):
            return run(["clang-tidy-14", "--quiet", f"--checks={NAMES}", f"--warnings-as-errors={NAMES}",
                        "--extra-arg=-w", "-p", folder, file])

        found = [text for status, text in pool.map(look, files) if status != 0]
    lines = sorted({line for text in found for line in text.splitlines() if " error: " in line})
    report.add_result("names: see .clang-tidy", not files or len(found), "\n".join(lines or found))
