# SPDX-License-Identifier: Apache-2.0
"""The contents and the versions of the package."""

from __future__ import annotations

import importlib.resources
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import SOURCE, child_environment

import narratoria
from narratoria import _core

# Modules that slow down a program's start.
COSTLY = {"asyncio", "inspect", "logging", "unittest", "importlib.metadata", "ssl"}


def test_package_and_library_versions_agree() -> None:
    project = (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
    package = (SOURCE / "bindings/python/pyproject.toml").read_text(encoding="utf-8")
    [version] = re.findall(r"^    VERSION (\S+)", project, re.MULTILINE)
    assert re.findall(r'^version = "(.*)"', package, re.MULTILINE) == [version]
    assert narratoria.__version__ == version
    assert _core.abi_version == _core.header_abi_version


def test_package_contains_schemas() -> None:
    folder = importlib.resources.files("narratoria") / "schemas"
    carried = {file.name: json.loads(file.read_text(encoding="utf-8")) for file in folder.iterdir()}
    written = {
        path.name: json.loads(path.read_text(encoding="utf-8"))
        for path in (SOURCE / "abi/schemas").glob("*.json")
    }
    assert carried == written and len(carried) > 4


def test_editable_installation_has_sample_story() -> None:
    # Its Python files are in the checkout, all others in site-packages.
    installed = str(Path(_core.__file__).parent)
    script = (
        f"import narratoria; narratoria.__path__.append({installed!r})\n"
        "with narratoria.Session(story=narratoria.sample_story()) as session:\n"
        "    print(session.play('I light the torch').outcome)"
    )
    ran = subprocess.run(
        [sys.executable, "-B", "-c", script],
        env={**child_environment(), "PYTHONPATH": str(SOURCE / "bindings/python")},
        capture_output=True,
        text=True,
    )
    assert (ran.stdout, ran.stderr) == ("completed\n", "")


def test_star_import_brings_no_modules() -> None:
    names: dict[str, object] = {}
    exec("from narratoria import *", names)
    modules = {name for name, value in names.items() if isinstance(value, ModuleType)}
    assert modules == set() and {"Session", "Context", "Plan"} <= set(names)


def test_configuring_names_all_missing_libraries(tmp_path: Path) -> None:
    # pip shows only this message to someone without apt-get.
    ran = subprocess.run(
        ["cmake", "-S", SOURCE, "-B", tmp_path, "-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON"],
        env={**os.environ, "PKG_CONFIG_LIBDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    named = re.findall(r"\(Debian: (.*)\)", ran.stderr)
    assert named == ["libuv1-dev", "libseccomp-dev", "libcli11-dev"]


def test_package_is_typed() -> None:
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


def test_package_import_loads_nothing_else() -> None:
    loaded = loaded_by("import narratoria")
    assert {name for name in loaded if name.startswith("narratoria")} == {"narratoria"}
    assert not loaded & (COSTLY | {"dataclasses", "json", "typing", "enum"}), loaded


@pytest.mark.parametrize("use", ["Session", "Session(state={'a': 1}).state['a']", "errors.Error"])
def test_session_does_not_load_document_classes(use: str) -> None:
    # They need dataclasses, which takes longer to import than this whole package.
    loaded = loaded_by(f"import narratoria; narratoria.{use}")
    assert not loaded & (COSTLY | {"dataclasses", "re", "json", "enum", "narratoria.documents"})


def test_turn_loads_neither_asyncio_nor_logging() -> None:
    # dataclasses imports inspect.
    play = "narratoria.Session(narrator=lambda request: 'Hello').play('Hi').result"
    loaded = loaded_by(f"import narratoria; {play}")
    assert not loaded & (COSTLY - loaded_by("import dataclasses"))
