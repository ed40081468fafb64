#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Describes the C ABI as JSON, for bindings in other languages.

    abi/describe.py OUTPUT         writes the description; the build makes abi/narratoria-1.json

Functions, structs, callbacks and thread marks are read from the headers in abi/include/narratoria,
whose layout is regular; sizes, offsets and the values of constants come from the C compiler ($CC,
cc). docs/other-languages.md describes the result.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ABI = Path(__file__).resolve().parent
HEADERS = ABI / "include" / "narratoria"
MARKS = {"engine-thread", "thread-safe", "signal-safe", "callback-ok", "entry", "init", "deinit",
         "active", "any state"}

COMMENT = re.compile(r"/\*.*?\*/", re.S)
MARK = re.compile(r"\[([a-z, -]+)\]")


def fail(message):
    sys.exit(f"abi/describe.py: {message}")


def plain(text):
    """Returns the text without comments, on one line."""
    return " ".join(COMMENT.sub(" ", text).split())


def marks_of(comment):
    """Returns the thread marks of a comment: its last brackets that contain only marks."""
    for found in reversed(MARK.findall(" ".join(comment.split()))):
        marks = [mark.strip() for mark in found.split(",")]
        if set(marks) <= MARKS:
            return marks
    return []


def since_of(comment):
    """Returns the version of the ABI that brought what the comment describes: "since 1.2"."""
    found = re.search(r"\bsince (\d+\.\d+)\b", " ".join(comment.split()))
    return found[1] if found else "1.0"


def text_of(comment):
    """Returns a comment's text without its delimiters."""
    lines = [re.sub(r"^\s*(/\*|\*/|\*)?\s?", "", line) for line in comment.splitlines()]
    return " ".join(" ".join(lines).replace("*/", "").split())


def split_arguments(text):
    """Splits at the commas outside parentheses."""
    parts, depth, part = [], 0, ""
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return parts + [part.strip()]


def declared(text):
    """Returns 'const nar_str *names' or 'void (*f)(int)' as {name, type[, count][, callback]}."""
    function = re.fullmatch(r"(.+?)\(\*\s*(\w+)\)\s*\((.*)\)", text)
    if function:
        return {"name": function[2], "type": "callback", "callback": signature(function[1], function[3])}
    plain_one = re.fullmatch(r"(.+?)\s*(\w+)(?:\[(\w+)\])?", text)
    if not plain_one:
        fail(f"this declaration is not understood: {text}")
    type_name = re.sub(r"\s*\*", "*", plain_one[1]).replace("*", " *").replace("* *", "**").strip()
    out = {"name": plain_one[2], "type": type_name}
    if plain_one[3]:
        out["count"] = int(plain_one[3])
    return out


def signature(returns, parameters):
    given = [] if parameters.strip() in ("", "void") else split_arguments(parameters)
    out = []
    for position, each in enumerate(given):
        # A callback's parameters may have no name.
        if re.fullmatch(r"(const )?\w+( \*+)?", each) and " " not in each.replace("const ", "").replace(" *", ""):
            each = f"{each} argument{position}"
        out.append(declared(each))
    return {"returns": declared(f"{returns.strip()} _")["type"], "parameters": out}


def marks_for(field, comment):
    """Returns the thread marks of a member in the comment of its struct: its own, or those of all."""
    own = re.search(rf"^ \*   {field} +(\[.*?\])", comment, re.M)
    return marks_of(own[1] if own else comment)


def fields_of(body, about):
    """Returns the members of a struct, callbacks with their thread marks: those of the comment before
    them, or of `about`, the comment of the struct."""
    fields, comment, rest = [], "", body
    while rest.strip():
        rest = rest.lstrip()
        if rest.startswith("/*"):
            end = rest.index("*/") + 2
            comment, rest = rest[:end], rest[end:]
            continue
        depth = 0
        for end, letter in enumerate(rest):
            depth += (letter == "(") - (letter == ")")
            if letter == ";" and depth == 0:
                break
        field = declared(plain(rest[:end]))
        if field["type"] == "callback":
            field["threads"] = marks_of(comment) or marks_for(field["name"], about)
        fields.append(field)
        rest = rest[end + 1:]
        # A comment on the same line belongs to this field, not to the next one.
        same_line = re.match(r"[ \t]*/\*.*?\*/", rest, re.S)
        if same_line and "\n" not in rest[:len(same_line[0]) - len(same_line[0].lstrip())]:
            comment += same_line[0]
            rest = rest[same_line.end():]
        field["since"] = since_of(comment)
        comment = ""
    return fields


def read_headers():
    api = {"constants": [], "extensions": [], "opaque": [], "aliases": [], "callbacks": [],
           "structs": [], "functions": []}
    defined = set()
    for path in sorted(HEADERS.glob("*.h")):
        text, header = path.read_text(), path.name
        for name, value in re.findall(r'^#define (NAR_\w+) ("[^"\n]*"|[^\s(\\][^\n\\]*|\(\([^\n]*)$',
                                      text, re.M):
            value = plain(value)
            if value.startswith('"'):
                kind = "extensions" if re.search(r"/\d+\"$", value) else "constants"
                api[kind].append({"name": name, "value": value.strip('"'), "header": header})
            elif not value.startswith(("{", "__attribute__")):
                api["constants"].append({"name": name, "header": header})
        for body in re.findall(r"^enum \{(.*?)\};", COMMENT.sub(" ", text), re.S | re.M):
            listed = plain(body)
            if "NAR_STATUS_LIST" in listed:
                names = re.findall(r"X\((NAR_\w+),", text)
            else:
                names = [each.split("=")[0].strip() for each in listed.split(",") if each.strip()]
            api["constants"] += [{"name": name, "header": header} for name in names]
        for about, name, body in re.findall(
                r"(?:(/\*(?:(?!\*/).)*\*/)\s*)?^(?:typedef )?struct (\w+) \{(.*?)^\}", text,
                re.S | re.M):
            fields = fields_of(body, about)
            for field in fields:
                if field.get("threads") == []:
                    fail(f"{header}: {field['name']} of {name} has no thread mark")
            api["structs"].append({"name": name, "header": header, "fields": fields})
            defined.add(name)
        for alias, name in re.findall(r"^typedef (u?int\d+_t) (\w+);", text, re.M):
            api["aliases"].append({"name": name, "type": alias, "header": header})
        for returns, name, parameters in re.findall(
                r"^typedef ([\w ]+) \(\*(\w+)\)\((.*?)\);", text, re.S | re.M):
            api["callbacks"].append({"name": name, "header": header,
                                     **signature(returns, plain(parameters))})
        for comment, returns, name, parameters in re.findall(
                r"(?:(/\*(?:(?!\*/).)*\*/)\s*)?^NAR_API ([\w ]+?\**)(nar_\w+)\((.*?)\);",
                text, re.S | re.M):
            marks = marks_of(comment)
            if not marks:
                fail(f"{header}: the comment of {name} has no thread mark")
            api["functions"].append({"name": name, "header": header, "threads": marks,
                                     **signature(returns, plain(parameters)),
                                     "since": since_of(comment), "description": text_of(comment)})
    for path in sorted(HEADERS.glob("*.h")):
        for name in re.findall(r"^typedef struct (\w+) \1;", path.read_text(), re.M):
            if name not in defined:
                api["opaque"].append({"name": name, "header": path.name})
    return api


def measure(api):
    """Adds values, sizes and offsets, which only the compiler knows."""
    numbers = [each for each in api["constants"] if "value" not in each]
    lines = ["#include <stddef.h>", "#include <stdio.h>"]
    lines += [f'#include "narratoria/{path.name}"' for path in sorted(HEADERS.glob("*.h"))]
    lines.append("int main(void) {")
    lines += [f'    printf("%lld\\n", (long long)({each["name"]}));' for each in numbers]
    for struct in api["structs"]:
        lines.append(f'    printf("%zu\\n", sizeof({struct["name"]}));')
        for field in struct["fields"]:
            lines.append(f'    printf("%zu\\n%zu\\n", offsetof({struct["name"]}, {field["name"]}), '
                         f'sizeof((({struct["name"]} *)0)->{field["name"]}));')
    lines += ["    return 0;", "}"]
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "measure.c"), Path(folder, "measure")
        source.write_text("\n".join(lines) + "\n")
        compiler = shlex.split(os.environ.get("CC", "cc"))
        subprocess.run([*compiler, "-std=c11", "-I", str(HEADERS.parent), str(source), "-o",
                        str(program)], check=True)
        values = iter(subprocess.run([str(program)], check=True, capture_output=True,
                                     text=True).stdout.split())
    for each in numbers:
        each["value"] = int(next(values))
    for struct in api["structs"]:
        struct["size"] = int(next(values))
        for field in struct["fields"]:
            field["offset"], field["size"] = int(next(values)), int(next(values))


def describe():
    api = read_headers()
    measure(api)
    values = {each["name"]: each["value"] for each in api["constants"]}
    exported = set((ABI / "exports.txt").read_text().split())
    missing = {name for name in exported if name.startswith("nar_")} - {
        each["name"] for each in api["functions"]}
    if missing:
        fail(f"no header declares what the library exports: {', '.join(sorted(missing))}")
    return json.dumps({
        "description": "The C ABI of Narratoria, generated from abi/include by abi/describe.py",
        "library": f"libnarratoria.so.{values['NAR_ABI_MAJOR']}",
        "major": values["NAR_ABI_MAJOR"],
        "minor": values["NAR_ABI_MINOR"],
        "platforms": ["x86_64-linux-gnu", "aarch64-linux-gnu"],
        **api,
    }, indent=1, ensure_ascii=False) + "\n"


def main():
    if len(sys.argv) != 2:
        fail("usage: describe.py OUTPUT")
    Path(sys.argv[1]).write_text(describe())


if __name__ == "__main__":
    main()
