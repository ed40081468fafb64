# SPDX-License-Identifier: Apache-2.0
# Reads the section `Args:` of a docstring, in Google's style.

from __future__ import annotations

import re

_SECTION = re.compile(r"^Args:[ ]*\n((?:[ \t]+.*\n?|[ \t]*\n)+)", re.MULTILINE)
# A name, perhaps its type, and the first line of the description.
_ENTRY = re.compile(r"(\w+)(?: *\([^)]*\))?: *(.*)")


def described_parameters(docstring: str) -> dict[str, str]:
    """Returns the descriptions of parameters by name.

    >>> described_parameters("Rolls.\\n\\nArgs:\\n    sides: how many faces,\\n        at least 2.\\n")
    {'sides': 'how many faces, at least 2.'}
    """
    section = _SECTION.search(docstring)
    if section is None:
        return {}
    described: dict[str, list[str]] = {}
    lines = [line for line in section[1].expandtabs().splitlines() if line.strip()]
    margin = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    words: list[str] = []
    for line in lines:
        entry = _ENTRY.fullmatch(line[margin:]) if line[:margin].isspace() else None
        if entry is not None:
            words = described[entry[1]] = []
            line = entry[2]
        words += line.split()
    return {name: " ".join(words) for name, words in described.items() if words}
