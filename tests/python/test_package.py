# SPDX-License-Identifier: Apache-2.0
"""What the package carries, which versions it is of, and what an import of it costs."""

from __future__ import annotations

import importlib.resources
import json
import os
import re
import statistics
import subprocess
import sys
import time

import pytest
from conftest import SOURCE, child_environment

import narratoria
from narratoria import _core

# What a program that only starts must not pay for.
COSTLY = {"asyncio", "inspect", "logging", "unittest", "importlib.metadata", "ssl"}
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
SLOWEST_MS = 300 if SANITIZED else 30


def test_versions() -> None:
    project = (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
    package = (SOURCE / "bindings/python/pyproject.toml").read_text(encoding="utf-8")
    [version] = re.findall(r"^    VERSION (\S+)", project, re.MULTILINE)
    assert re.findall(r'^version = "(.*)"', package, re.MULTILINE) == [version]
    assert narratoria.__version__ == version
    assert _core.abi_version == _core.header_abi_version


def test_schemas() -> None:
    folder = importlib.resources.files("narratoria") / "schemas"
    carried = {file.name: json.loads(file.read_text(encoding="utf-8")) for file in folder.iterdir()}
    written = {
        path.name: json.loads(path.read_text(encoding="utf-8"))
        for path in (SOURCE / "abi/schemas").glob("*.json")
    }
    assert carried == written and len(carried) > 4


def test_it_is_typed() -> None:
    package = importlib.resources.files("narratoria")
    assert (package / "py.typed").is_file() and (package / "_core.pyi").is_file()


def loaded_by(statement: str) -> set[str]:
    script = (
        "import sys; before = set(sys.modules); "
        f"{statement}; print(*sorted(set(sys.modules) - before))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        env=child_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(ran.stdout.split())


def test_the_package_alone_loads_nothing() -> None:
    loaded = loaded_by("import narratoria")
    assert {name for name in loaded if name.startswith("narratoria")} == {"narratoria"}
    assert not loaded & (COSTLY | {"dataclasses", "json", "typing", "enum"}), loaded


@pytest.mark.parametrize("use", ["Session", "Session(state={'a': 1}).state['a']", "errors.Error"])
def test_a_session_loads_no_class_of_a_document(use: str) -> None:
    # dataclasses, which those are made with, costs more than all that is of this package.
    loaded = loaded_by(f"import narratoria; narratoria.{use}")
    assert not loaded & (COSTLY | {"dataclasses", "re", "json", "enum", "narratoria.documents"})


def test_a_turn_loads_neither_asyncio_nor_logging() -> None:
    # dataclasses loads inspect by itself.
    play = "narratoria.Session(narrator=lambda request: 'Hello').play('Hi').result"
    loaded = loaded_by(f"import narratoria; {play}")
    assert not loaded & (COSTLY - loaded_by("import dataclasses"))


def test_the_time_of_an_import(capsys: pytest.CaptureFixture[str]) -> None:
    def start(statement: str) -> float:
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], env=environment, check=True)
        return (time.perf_counter() - begin) * 1000

    environment = child_environment()
    statements = ("pass", "import narratoria", "import narratoria; narratoria.Session")
    taken: dict[str, list[float]] = {each: [] for each in statements}
    for _ in range(15):
        for statement in statements:
            taken[statement].append(start(statement))
    medians = [statistics.median(taken[each]) for each in statements]
    said = ", ".join(f"{each!r} {median:.1f} ms" for each, median in zip(statements, medians))
    with capsys.disabled():
        print(f"\nmedians of 15 starts: {said}")
    # The machine may be busy with something else: then the quickest starts say more.
    quickest = [min(taken[each]) for each in statements]
    over = min(medians[2] - medians[0], quickest[2] - quickest[0])
    assert over <= SLOWEST_MS, said
