# SPDX-License-Identifier: Apache-2.0
"""Modules loaded by an import of the package: tools and scripts start fast."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import child_environment

import narratoria


def loaded_by(script: str) -> set[str]:
    done = subprocess.run(
        # Without site, which may load other modules at start.
        [sys.executable, "-S", "-c", f"{script}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        env={**child_environment(), "PYTHONPATH": str(Path(narratoria.__file__).parents[1])},
        timeout=600,
        check=True,
    )
    return set(done.stdout.split())


def test_session_loads_only_needed_modules() -> None:
    loaded = loaded_by("import narratoria; narratoria.Session")
    assert "narratoria._core" in loaded
    late = {"asyncio", "json", "logging", "typing", "narratoria.aio"}
    late |= {"narratoria.events", "narratoria._function", "narratoria._html", "narratoria.tool"}
    assert loaded & late == set()


def test_tool_does_not_load_compiled_part() -> None:
    for script in ("from narratoria.tool import run", "from narratoria import ToolError"):
        loaded = loaded_by(script)
        late = {"narratoria._core", "narratoria.session", "dataclasses", "typing"}
        assert loaded & late == set(), script
