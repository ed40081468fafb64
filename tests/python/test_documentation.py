# SPDX-License-Identifier: Apache-2.0
"""The Python snippets of the documentation run unchanged, in order, in the repository's root."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import SOURCE, child_environment

import narratoria

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


async def test_host_of_the_page_ends_with_the_reason_if_the_port_is_taken(torch: str) -> None:
    (snippet,) = re.findall(
        r"```python\n(.*?)```", (SOURCE / "docs/page.md").read_text(), re.DOTALL
    )
    with socket.create_server(("0.0.0.0", 0)) as taken:
        port = taken.getsockname()[1]
        script = snippet.replace("8080", str(port)).replace("stories/torch", torch)
        scope = {"asyncio": asyncio, "narratoria": narratoria}
        exec("async def host():\n" + textwrap.indent(script, "    "), scope)
        with pytest.raises(RuntimeError, match=f"port {port} .* is in use|libmicrohttpd|no such"):
            await scope["host"]()  # type: ignore[operator]
