# SPDX-License-Identifier: Apache-2.0
"""The Python snippets of the documentation run unchanged, in order, in the repository's root."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SOURCE, child_environment

PAGES = ["README.md", "docs/python-tutorial.md", "docs/python.md", "bindings/python/README.md"]


def snippets(page: Path) -> str:
    """Returns all snippets as one script, each on its line in the page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    script, is_inside = [], False
    for line in lines:
        if is_inside and line == "```":
            is_inside = False
        script.append(line if is_inside else "")
        if re.fullmatch(r"```python", line):
            is_inside = True
    assert not is_inside, f"{page}: a snippet is not closed"
    return "\n".join(script)


@pytest.mark.parametrize("page", PAGES)
def test_snippets_of_page_run(page: str, tmp_path: Path) -> None:
    script = snippets(SOURCE / page)
    assert script.strip(), "the page has no snippets"
    # As a file, so that annotations resolve and a traceback names the line of the page.
    program = tmp_path / "snippets.py"
    program.write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        env=child_environment(),
        cwd=SOURCE,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
