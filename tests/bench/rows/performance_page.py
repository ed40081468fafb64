# SPDX-License-Identifier: Apache-2.0
"""Writes the table of docs/performance.md."""

import os
import platform
from pathlib import Path

from .bench import TREE
from .list import ORDER

PAGE = TREE / "docs/performance.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
HEAD = ["row", "command", "work", "ours", "peer", "measured", "bar", "", "when"]


def machine():
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return (f"{model}, {len(os.sched_getaffinity(0))} cores, Linux {platform.release()} "
            f"{platform.machine()}")


def table(lines):
    return "\n".join(["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD),
                      *("| " + " | ".join(cells) + " |" for cells in lines)])


def kept(text, begin, end):
    """The rows of an earlier table: {key: cells}."""
    rows = {}
    for line in text[text.index(begin):text.index(end)].splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if cells[0].startswith("`"):
            rows[cells[0].strip("`")] = cells
    return rows


def write_page(measured):
    page = PAGE.read_text()
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    rows = kept(page, BEGIN, END) | measured
    lines = [rows[key] for key in ORDER if key in rows]
    PAGE.write_text(f"{page[:begin]}\n{machine()}\n\n{table(lines)}\n{page[end:]}")
