#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""contributing_samples.py CC CXX [TREE]: checks the samples and paths of CONTRIBUTING.md.

- A whole sample (not indented) of C or C++ compiles without a warning. If its first line is a comment
  with a path, later samples can include it by that path.
- An indented sample of code is a quotation: its lines are consecutive lines of the last file that
  the page names before it.
- A sample of shell uses programs, presets and paths that exist.
- Every path that the page names or links to exists, except those of its own samples.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = "CONTRIBUTING.md"
FOLDERS = "abi|sdk|runtime|plugins|bindings|examples|tests|docs|cmake"
PATH = re.compile(rf"(?:{FOLDERS})/[\w./-]*\w")
FENCE = re.compile(r"^( *)```(\w+)?$")
OWN_PATH = re.compile(rf"^(?://|/\*) ((?:{FOLDERS})/[\w./-]+\w)")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", "-fsyntax-only"]
INCLUDES = ["runtime", "abi/include", "sdk/include"]


def samples(text):
    """Yields (line, language, is_indented, last path named before it, lines) of each fenced sample."""
    last_path, block = "", None
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if fence and block is None:
            block = (number, fence[2] or "", len(fence[1]), last_path, [])
        elif fence:
            yield (*block[:2], block[2] > 0, *block[3:])
            block = None
        elif block is not None:
            block[4].append(line[block[2] :])
        else:
            named = re.findall(rf"`({PATH.pattern})`", line)
            last_path = named[-1] if named else last_path
    if block is not None:
        yield (*block[:2], block[2] > 0, *block[3:])


def quotation_faults(tree, path, lines):
    file = tree / path
    if not file.is_file():
        yield f"the sample quotes {path or 'no file'}, which does not exist"
        return
    source = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    wanted = [line.strip() for line in lines]
    for at in range(len(source) - len(wanted) + 1):
        if all(want in have for want, have in zip(wanted, source[at:])):
            return
    yield f"these lines are not in {path}: {wanted[0]}"


def shell_faults(tree, lines):
    presets = {one["name"] for one in json.loads((tree / "CMakePresets.json").read_text())["configurePresets"]}
    for line in lines:
        words = re.sub(r"\s#.*", "", line).split()
        while words and re.fullmatch(r"\w+=\S*", words[0]):
            words.pop(0)
        if not words or words[0].startswith("#"):
            continue
        program = words[0]
        if "/" in program:
            if not (tree / program).is_file():
                yield f"there is no {program}"
            elif subprocess.run(["bash", "-n", tree / program], check=False).returncode != 0:
                yield f"{program} is not a valid script"
        elif shutil.which(program) is None and not program.startswith("clang-format"):
            yield f"there is no program {program}"
        for at, word in enumerate(words[1:], 1):
            if words[at - 1] == "--preset" and word not in presets:
                yield f"there is no preset {word}"
            if PATH.fullmatch(word) and not (tree / word).exists():
                yield f"there is no {word}"


def compile_faults(compiler, language, tree, work, lines):
    text = "\n".join(lines) + "\n"
    own = OWN_PATH.match(lines[0]) if lines else None
    file = work / (own[1] if own else f"sample.{language}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    standard = "c11" if language == "c" else "c++20"
    kind = "c" if language == "c" else "c++"
    include = [f"-I{root / folder}" for folder in INCLUDES for root in (work, tree)]
    # Compiled as an include, so that #pragma once does not cause a warning.
    ran = subprocess.run(
        [compiler, "-x", kind, f"-std={standard}", *WARNINGS, *include, "-"],
        input=f'#include "{file}"\n' + ("int nothing(void);\n" if kind == "c" else ""),
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        yield f"the sample does not compile:\n{ran.stderr}"


def faults(tree, cc, cxx):
    page = tree / PAGE
    text = page.read_text(encoding="utf-8")
    own = set()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for number, language, is_indented, path, lines in samples(text):
            found = []
            if language == "sh":
                found = shell_faults(tree, lines)
            elif is_indented:
                found = quotation_faults(tree, path, lines)
            elif language in ("c", "cpp"):
                match = OWN_PATH.match(lines[0]) if lines else None
                if match:
                    own.add(match[1])
                compiler = cc if language == "c" else cxx
                found = compile_faults(compiler, language, tree, work, lines)
            for fault in found:
                yield f"{PAGE}:{number}: {fault}"
    for number, line in enumerate(text.splitlines(), 1):
        named = re.findall(rf"`({PATH.pattern})`", line)
        named += [link for link in re.findall(r"\]\(([^)#:]+)\)", line)]
        for path in named:
            if path not in own and not (tree / path).exists():
                yield f"{PAGE}:{number}: there is no {path}"


def main():
    cc, cxx = sys.argv[1:3]
    tree = Path(sys.argv[3] if len(sys.argv) > 3 else ".").resolve()
    found = list(faults(tree, cc, cxx))
    for fault in found:
        print(fault, file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
