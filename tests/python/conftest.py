# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests of the Python package. NARRATORIA_BUILD_DIR selects the build to test;
NARRATORIA_WHEEL=1 selects the installed package."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

SOURCE = Path(os.environ.get("NARRATORIA_SOURCE_DIR", Path(__file__).parents[2]))
BUILD = Path(os.environ.get("NARRATORIA_BUILD_DIR", SOURCE / "build" / "release"))
PACKAGES = None if os.environ.get("NARRATORIA_WHEEL") else BUILD / "python"

# The address sanitizer's library is loaded before the interpreter.
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")

if PACKAGES is not None:
    sys.path.insert(0, str(PACKAGES))

try:
    import narratoria._core  # noqa: F401
except ImportError as error:
    # An error, not a skip: a missing build must not silently drop all tests.
    raise pytest.UsageError(
        f"the Python package is missing for this interpreter in {PACKAGES or 'its environment'} "
        f"({error}); build it with -DNARRATORIA_PYTHON=ON -DPython_EXECUTABLE={sys.executable}, or "
        "run pytest with --ignore=tests/python"
    ) from None

# No database in the source tree, and no deadline, which a busy machine would miss.
hypothesis.settings.register_profile("narratoria", database=None, deadline=None)
hypothesis.settings.load_profile("narratoria")


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a test that is an async function, for at most `PATIENCE_S` of its module."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    work = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    asyncio.run(asyncio.wait_for(work, getattr(pyfuncitem.module, "PATIENCE_S", None)))
    return True


WITHOUT_PYDANTIC = (
    "pydantic 2 is missing; pip install 'pydantic>=2' (Debian 12's python3-pydantic is too old)"
)


@pytest.fixture(autouse=True)
def in_the_source_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SOURCE)


@pytest.fixture
def session() -> Iterator[Any]:
    import narratoria

    with narratoria.Session() as made:
        yield made


@pytest.fixture
def torch() -> str:
    return str(SOURCE / "examples" / "stories" / "torch")


@pytest.fixture
def make_tool(tmp_path: Path) -> Callable[[str, str], str]:
    """Writes a tool that is a shell script; returns its path."""

    def make(name: str, script: str) -> str:
        path = tmp_path / name
        path.write_text("#!/bin/sh\nread -r invocation\n" + script + "\n")
        path.chmod(0o755)
        return str(path)

    return make


@pytest.fixture
def pydantic() -> Any:
    # Debian 12 and Ubuntu 24.04 have version 1, which has different models. ./test --full installs
    # version 2 for the tests of the wheel.
    return pytest.importorskip("pydantic", minversion="2", reason=WITHOUT_PYDANTIC)


def child_environment() -> dict[str, str]:
    """The environment for child processes of tests, with the package under test."""
    environment = dict(os.environ)
    if PACKAGES is not None:
        environment["PYTHONPATH"] = str(PACKAGES)
    return environment
