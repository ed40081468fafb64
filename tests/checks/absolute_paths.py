#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""absolute_paths.py [TREE]: checks that no file of the tree names a folder of a particular machine.

A path that is right on one machine is wrong on all others. Forbidden are the folder of this
checkout, the home of this user, and the folders where people and build machines keep their work.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOTS = "home|root|Users|work|workspace|workspaces|builds|mnt|srv|github|scratch"
# A slash at the beginning of a path, and not inside a longer path or a URL, in a later part of a
# JSON Pointer, or after the letters of an option. At least two parts, so that "/root" alone is
# allowed.
PLACES = re.compile(rb"(?<![\w.$}~*/:#@\\)\]-])/(?:" + ROOTS.encode() + rb")/[\w.@+-]+[/\w]")
# Placeholders for a user's name in documents.
ANYBODY = re.compile(rb"^/home/(?:user|you|me|player|somebody)\b")


def files(tree):
    """The files that git tracks or would add; in an unpacked archive, all files outside build/."""
    listing = subprocess.run(
        ["git", "-C", str(tree), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True)
    if listing.returncode == 0:
        names = {name for name in listing.stdout.decode().split("\0") if name}
        found = (tree / name for name in names)
    else:
        found = (path for path in tree.rglob("*")
                 if path.relative_to(tree).parts[0] not in ("build", ".git"))
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def own_places(tree):
    """This checkout and this user's home, unless they have only one part, as in a container."""
    for place in {str(tree), os.path.expanduser("~")}:
        if place.count("/") >= 2:
            yield re.compile(re.escape(place.encode()) + rb"(?=[/\"'\s]|$)", re.MULTILINE)


def faults(tree):
    tree = tree.resolve()
    patterns = [PLACES, *own_places(tree)]
    for file in files(tree):
        content = file.read_bytes()
        if b"\0" in content[:8000]:
            continue
        for number, line in enumerate(content.split(b"\n"), 1):
            for pattern in patterns:
                match = pattern.search(line)
                if match and not ANYBODY.match(match[0]):
                    text = match[0].decode(errors="replace")
                    yield (f"{file.relative_to(tree)}:{number}: “{text}” exists only on one machine; "
                           f"use a relative path, or find the path at run time")
                    break


def main():
    tree = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2]
    found = list(faults(tree))
    for fault in found:
        print(fault, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
