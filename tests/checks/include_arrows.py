#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""include_arrows.py [TREE]: checks which folder includes headers of which other folder.

No file outside runtime/ includes a header of runtime/, which proves that the ABI is sufficient.
Only the tests of internals (INSIDERS) may, because they link the runtime's objects.
Inside runtime/ a folder includes itself and the folders below it, never one above. abi/ includes
only itself and the C standard library; sdk/ may also include abi/. No folders include each other in
a circle, at any depth.
"""

import re
import sys
from pathlib import Path

# From top to bottom. A folder may include only itself and folders to its right.
ORDER = [
    "api", "session", "engine", "journal", "plan", "script", "plugin", "tool",
    "event", "state", "asset", "http", "process", "base",
]
INSIDERS = ("tests/unit/", "tests/fuzz/", "tests/bench/", "tests/grammar/")
# The rule for similar names exists once: these folders compile its sources, too.
SHARED = {"base/near_name.hpp", "base/near_file.hpp"}
SHARERS = ("sdk/command/", "bindings/python/src/")
# The folders that headers are included from, besides that of the including file.
BASES = ["runtime", "sdk", "sdk/command", "plugins", "plugins/web"]
SOURCES = {".h", ".hpp", ".c", ".cpp", ".inl"}
FOLDERS = ["abi", "sdk", "runtime", "plugins", "bindings", "examples", "tests"]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def runtime_header(tree, file, name, quoted):
    """The header of runtime/ that an include reaches, as a path below runtime/, or None."""
    runtime = tree / "runtime"
    candidates = [runtime / name, tree / name]
    if quoted:
        candidates.insert(0, file.parent / name)
    for candidate in candidates:
        resolved = candidate.resolve()
        if resolved.is_file():
            # The header next to the including file wins, as it does for the compiler.
            return resolved.relative_to(runtime) if resolved.is_relative_to(runtime) else None
    return None


def faults(tree):
    tree = tree.resolve()
    for folder in FOLDERS:
        for file in sorted((tree / folder).rglob("*")):
            if file.suffix not in SOURCES or not file.is_file():
                continue
            place = file.relative_to(tree).as_posix()
            text = file.read_text(encoding="utf-8", errors="replace")
            for number, line in enumerate(text.splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                quoted, name = match[1] == '"', match[2]
                where = f"{place}:{number}"
                if folder == "abi" and quoted and not (tree / "abi/include" / name).is_file():
                    yield f"{where}: {name}: abi/ includes itself and the C standard library only"
                target = runtime_header(tree, file, name, quoted)
                if target is None:
                    continue
                if folder != "runtime":
                    if not place.startswith(INSIDERS) and not (
                            place.startswith(SHARERS) and name in SHARED):
                        yield (f"{where}: {name} is a header of the runtime; outside runtime/ "
                               f"everything goes through abi/ and sdk/")
                    continue
                source = file.relative_to(tree / "runtime").parts[0]
                aim = target.parts[0]
                for part in (source, aim):
                    if part not in ORDER:
                        yield f"{where}: runtime/{part} is not a folder of the design: {', '.join(ORDER)}"
                        break
                else:
                    if ORDER.index(source) > ORDER.index(aim):
                        yield (f"{where}: {source}/ includes {name}; a folder may include only those "
                               f"below it: {' > '.join(ORDER)}")


def folder_includes(tree):
    """{folder: {included folder: a place}}, for folders of the runtime, the SDK and the plugins."""
    found = {}
    for top in ("runtime", "sdk", "plugins"):
        for file in sorted((tree / top).rglob("*")):
            if file.suffix not in SOURCES or not file.is_file():
                continue
            for number, line in enumerate(
                    file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
                match = INCLUDE.match(line)
                if not match or match[1] != '"':
                    continue
                for base in (file.parent, *(tree / each for each in BASES)):
                    target = (base / match[2]).resolve()
                    if target.is_file() and target.parent.is_relative_to(tree):
                        folder = target.parent.relative_to(tree).as_posix()
                        source = file.parent.relative_to(tree).as_posix()
                        if folder != source:
                            place = f"{file.relative_to(tree).as_posix()}:{number}: {match[2]}"
                            found.setdefault(source, {}).setdefault(folder, place)
                        break
    return found


def circles(includes):
    """Each set of folders that reach each other, by Tarjan's algorithm."""
    number, low, path, out = {}, {}, [], []

    def visit(folder):
        number[folder] = low[folder] = len(number)
        path.append(folder)
        for target in includes.get(folder, {}):
            if target not in number:
                visit(target)
                low[folder] = min(low[folder], low[target])
            elif target in path:
                low[folder] = min(low[folder], number[target])
        if low[folder] == number[folder]:
            group = set(path[path.index(folder):])
            del path[path.index(folder):]
            if len(group) > 1:
                out.append(group)

    for folder in includes:
        if folder not in number:
            visit(folder)
    return out


def circle_faults(tree):
    tree = tree.resolve()
    includes = folder_includes(tree)
    for group in circles(includes):
        places = [place for folder in sorted(group)
                  for target, place in sorted(includes[folder].items()) if target in group]
        yield "folders include each other in a circle: " + "; ".join(places)


def main():
    tree = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2]
    found = [*faults(tree), *circle_faults(tree)]
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
