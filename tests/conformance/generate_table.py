#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Maps each requirement of the specifications to the tests that show it.

    tests/conformance/generate_table.py            writes docs/conformance.md
    tests/conformance/generate_table.py --check    changes nothing; exit 1 with what is missing
    tests/conformance/generate_table.py --list     prints the ids, for the author of a test

The requirements are rows of requirements.toml in this folder. A test lists the requirements that it
shows in the comment directly above it; only decorators may stand between them. A comma at the end
of a line continues the list:

    // covers: 000-4.2-merge-deep, 000-4.2-merge-arrays
    TEST(Merge, ReplacesArraysAsAWhole)

Tests are:

    C++          TEST, TEST_F, TEST_P, TYPED_TEST and TYPED_TEST_P
    C            the same macros with one argument, functions `test_…`, and `main` for the whole file
    Python       functions and methods `test_…`
    shell        functions `test_…`, and the head comment for the whole file
    TypeScript   `test("…"` and `it("…"`: the player's page and its browser suite

A disabled test shows nothing and must not carry the mark.
"""

import argparse
import ast
import difflib
import io
import os
import re
import sys
import tokenize
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

LEVELS = ("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "REQUIRED", "MAY", "RULE")
BINDS = ("runtime", "tool", "narrator", "ui")
SPECIFICATIONS = {
    "000": "Spec 000: tool protocol",
    "001": "Spec 001: Python tool protocol",
    "002": "Spec 002: Nuwa Script",
    "003": "Spec 003: plan execution",
    "004": "Spec 004: data model",
}
# The folders with tests; the web page's tests are next to its sources.
FOLDERS = ("tests", "plugins/web/page/src")

MARK = re.compile(r"^covers:\s*(.*)$")
MARK_INSIDE_A_LINE = re.compile(r"\bcovers:\s*\d{3}-")
CPP_TEST = re.compile(
    r"\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\s*\(\s*(\w+)\s*(?:,\s*(\w+)\s*)?\)"
)
C_FUNCTION = re.compile(r"\s*(?:static\s+)?\w[\w\s*]*?\b(main|test_\w+)\s*\(")
TYPESCRIPT_TEST = re.compile(
    r"""\s*(?:test|it)((?:\.\w+)*)\s*\(\s*(["'`])((?:\\.|(?!\2).)+)\2\s*,"""
)
SHELL_FUNCTION = re.compile(r"\s*(?:function\s+)?(test_\w+)\s*\(\s*\)")


@dataclass
class Requirement:
    id: str
    spec: str
    level: str
    binds: str
    text: str
    shown: str = ""
    settled: str = ""
    tests: set = field(default_factory=set)


@dataclass
class CommentBlock:
    """Consecutive comment lines that have a line to themselves."""

    first_line: int
    lines: list

    @property
    def line_after(self):
        return self.first_line + len(self.lines)


def read_requirements(path, findings):
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8")).get("requirement", [])
    except (OSError, ValueError) as fault:
        sys.exit(f"{path}: {fault}")
    known = ("id", "spec", "level", "binds", "text", "shown", "settled")
    requirements = {}
    for number, row in enumerate(rows, 1):
        faults = []
        unknown = sorted(set(row) - set(known))
        missing = [key for key in known[:5] if not row.get(key)]
        if unknown or missing or not all(isinstance(value, str) for value in row.values()):
            faults.append(f"missing {missing}, unknown {unknown}; every value is a text")
        else:
            requirement = Requirement(**row)
            faults += faults_of(requirement)
            if requirement.id in requirements:
                faults.append("the id is used twice")
            requirements[requirement.id] = requirement
        place = f"{path.name}: {row.get('id') or f'row {number}'}"
        findings += [f"{place}: {fault}" for fault in faults]
    return requirements


def faults_of(requirement):
    specification = requirement.spec[:3]
    if specification not in SPECIFICATIONS:
        yield f"spec begins with one of {', '.join(SPECIFICATIONS)}"
    if not re.fullmatch(rf"{re.escape(specification)}(-[0-9a-z.]+)+", requirement.id):
        yield "an id is its specification's number and lower-case words, joined by hyphens"
    if requirement.level not in LEVELS:
        yield f"level is one of {', '.join(LEVELS)}"
    if requirement.binds not in BINDS:
        yield f"binds is one of {', '.join(BINDS)}"


def marks_in(block):
    """The ids that a block names, each with its line, and the lines with a mark in their
    middle."""
    ids, misplaced, continued = [], [], False
    for number, text in enumerate(block.lines, block.first_line):
        match = MARK.match(text)
        if match or continued:
            listed = match[1] if match else text
            ids += [(name.strip(), number) for name in listed.split(",") if name.strip()]
            continued = listed.rstrip().endswith(",")
        elif MARK_INSIDE_A_LINE.search(text):
            misplaced.append(number)
    return ids, misplaced


def c_comment_blocks(lines):
    blocks, block, inside = [], None, False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if inside or text.startswith(("//", "/*")):
            if not inside and text.startswith("/*"):
                inside = True
                text = text[2:]
            if inside and "*/" in text:
                inside = False
                text = text[: text.index("*/")]
            if block is None:
                block = CommentBlock(number, [])
                blocks.append(block)
            block.lines.append(text.lstrip("/*!< \t").rstrip())
        else:
            block = None
    return blocks


def c_test_at(lines, line, file):
    if line > len(lines) or not lines[line - 1].strip():
        return None
    # clang-format may break a long macro call inside the parentheses.
    match = CPP_TEST.match(" ".join(lines[line - 1 : line + 3]))
    if match:
        names = [name for name in match.groups() if name]
        return ".".join(names) if len(names) == 2 else f"{file.name}::{names[0]}"
    match = C_FUNCTION.match(lines[line - 1])
    if match:
        return file.name if match[1] == "main" else f"{file.name}::{match[1]}"
    return None


def typescript_test_at(lines, line, file):
    # Long titles may follow the parenthesis on the next line.
    match = TYPESCRIPT_TEST.match(" ".join(lines[line - 1 : line + 3]))
    if not match:
        return None
    title = re.sub(r"\\(.)", r"\1", match[3])
    runs = set(match[1].split(".")) <= {"", "concurrent", "sequential"}
    return f"{file.name}::{title}" if runs else f"{file.name}::{title} DISABLED_"


def hash_comment_blocks(comment_lines):
    """Blocks of the comment lines given as {line number: text after the hash}."""
    blocks = []
    for number in sorted(comment_lines):
        if not blocks or blocks[-1].line_after != number:
            blocks.append(CommentBlock(number, []))
        blocks[-1].lines.append(comment_lines[number].strip())
    return blocks


def scan_c(text, file):
    lines = text.split("\n")
    return [(block, c_test_at(lines, block.line_after, file)) for block in c_comment_blocks(lines)]


def scan_typescript(text, file):
    lines = text.split("\n")
    return [
        (block, typescript_test_at(lines, block.line_after, file))
        for block in c_comment_blocks(lines)
    ]


def scan_shell(text, file):
    lines = text.split("\n")
    comments = {
        number: line.strip().lstrip("#")
        for number, line in enumerate(lines, 1)
        if line.strip().startswith("#")
    }
    scanned = []
    for block in hash_comment_blocks(comments):
        match = (
            SHELL_FUNCTION.match(lines[block.line_after - 1])
            if block.line_after <= len(lines)
            else None
        )
        if match:
            scanned.append((block, f"{file.name}::{match[1]}"))
        else:
            scanned.append((block, file.name if block.first_line == 1 else None))
    return scanned


def python_tests(tree, file):
    """{first line, including decorators: (name, is skipped)} of every test function."""
    found = {}

    def visit(body, prefix):
        for node in body:
            if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                visit(node.body, f"{prefix}::{node.name}")
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith(
                "test_"
            ):
                first = min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
                skipped = any(
                    re.search(r"\bmark\.skip\b(?!if)", ast.unparse(decorator))
                    for decorator in node.decorator_list
                )
                found[first] = (f"{prefix}::{node.name}", skipped)

    visit(tree.body, file.name)
    return found


def scan_python(text, file):
    comments = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip():
            comments[token.start[0]] = token.string.lstrip("#")
    tests = python_tests(ast.parse(text), file)
    scanned = []
    for block in hash_comment_blocks(comments):
        name, skipped = tests.get(block.line_after, (None, False))
        scanned.append((block, f"{name} DISABLED_" if skipped else name))
    return scanned


SCANNERS = {
    ".c": scan_c,
    ".cc": scan_c,
    ".cpp": scan_c,
    ".h": scan_c,
    ".hpp": scan_c,
    ".py": scan_python,
    ".sh": scan_shell,
    ".ts": scan_typescript,
}


def test_files(folder):
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith((".", "__")) and name != "node_modules"
        )
        for name in sorted(names):
            if Path(name).suffix in SCANNERS:
                yield Path(place, name)


def attach_tests(requirements, root, findings):
    for file in (file for folder in FOLDERS for file in test_files(root / folder)):
        relative = file.relative_to(root).as_posix()
        # Few files carry the mark, so searching the raw bytes first keeps the check fast.
        content = file.read_bytes()
        if b"covers:" not in content or file.resolve() == Path(__file__).resolve():
            continue
        try:
            scanned = SCANNERS[file.suffix](content.decode("utf-8"), file)
        except (SyntaxError, tokenize.TokenError, UnicodeDecodeError) as fault:
            findings.append(f"{relative}: cannot be read: {fault}")
            continue
        for block, test in scanned:
            ids, misplaced = marks_in(block)
            place = f"{relative}:{block.first_line}"
            findings += [f"{relative}:{line}: the mark must begin its line" for line in misplaced]
            if ids and test is None:
                names = ", ".join(name for name, _ in ids)
                findings.append(f"{place}: covers {names}, but no test follows directly below")
                continue
            if ids and "DISABLED_" in test:
                findings.append(f"{place}: {test.split()[0]} is disabled, so it must not cover a requirement")
                continue
            for name, line in ids:
                if name in requirements:
                    requirements[name].tests.add((test, relative))
                else:
                    close = difflib.get_close_matches(name, requirements, 1)
                    hint = f"; did you mean {close[0]}?" if close else ""
                    findings.append(
                        f"{relative}:{line}: {name!r} is not an id in requirements.toml{hint}"
                    )


def escaped(text):
    """Escapes text for a table cell: bars everywhere, angle brackets outside code."""
    parts = text.replace("|", "\\|").split("`")
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
    return "`".join(parts)


def cell_of_tests(requirement):
    return (
        "<br>".join(f"[{escaped(test)}](../{file})" for test, file in sorted(requirement.tests))
        or "**none**"
    )


def cell_of_requirement(requirement):
    parts = [escaped(requirement.text)]
    parts += [f"*Shown:* {escaped(requirement.shown)}"] if requirement.shown else []
    parts += [f"*Settled:* {escaped(requirement.settled)}"] if requirement.settled else []
    return "<br>".join(parts)


def row_of(requirement):
    cells = (
        requirement.id,
        requirement.spec,
        f"{requirement.level} ({requirement.binds})",
        cell_of_requirement(requirement),
        cell_of_tests(requirement),
    )
    return f"| {' | '.join(cells)} |"


def table(requirements):
    rows = requirements.values()
    shown = sum(1 for row in rows if row.tests)
    counts = [f"{len(rows)} requirements", f"{shown} shown by tests"]
    untested = len(rows) - shown
    counts += [f"{untested} without a test"] if untested else []
    lines = [
        "<!-- Generated by tests/conformance/generate_table.py. Change requirements.toml or the tests,",
        "     then run it. -->",
        "# Conformance",
        "",
        "The requirements of the specifications, and the tests that show them. Each row quotes a",
        "sentence. *Shown* says how a test shows it, if that is not obvious. *Settled* says how this",
        "project reads it, where it is open or specifications disagree. The level is the key word of",
        "the sentence; RULE is a requirement without one. The brackets name who is bound: a",
        "requirement on tools or narrators is shown by the runtime's reaction to a violation. Spec 003",
        "§2 to §8 repeat spec 000 word for word and have no rows of their own.",
        "",
        f"{', '.join(counts)}.",
    ]
    for number, title in SPECIFICATIONS.items():
        lines += ["", f"## {title}", ""]
        lines += ["| id | spec | level | requirement | tests |", "|---|---|---|---|---|"]
        lines += [row_of(row) for row in rows if row.spec.startswith(number)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 with a list of findings"
    )
    action.add_argument("--list", action="store_true", help="print the ids with their sentences")
    parser.add_argument(
        "--root",
        type=Path,
        default=Path(__file__).resolve().parents[2],
        help="the source tree (default: the one this script lies in)",
    )
    options = parser.parse_args()

    findings = []
    requirements = read_requirements(
        options.root / "tests" / "conformance" / "requirements.toml", findings
    )
    if options.list:
        for row in requirements.values():
            remarks = "".join(f"  -- {remark}" for remark in (row.shown, row.settled) if remark)
            print(f"{row.id}  [{row.level}, {row.binds}]  {row.text}{remarks}")
        return 1 if findings else 0

    attach_tests(requirements, options.root, findings)
    untested = [row for row in requirements.values() if not row.tests]
    page = options.root / "docs" / "conformance.md"
    text = table(requirements)
    if options.check:
        if not page.is_file() or page.read_bytes() != text.encode("utf-8"):
            findings.append(
                "docs/conformance.md is not what the requirements and tests make it: run "
                "tests/conformance/generate_table.py and commit the page"
            )
        findings += [
            f'{row.id} ({row.spec}, {row.level}): no test shows it; write "covers: {row.id}" '
            "above the one that does"
            for row in untested
        ]
    else:
        page.write_text(text, encoding="utf-8")

    for finding in findings:
        print(finding, file=sys.stderr)
    print(
        f"conformance: {len(requirements)} requirements, {len(untested)} without a test, "
        f"{len(findings)} findings",
        file=sys.stderr,
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
