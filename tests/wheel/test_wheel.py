# SPDX-License-Identifier: Apache-2.0
"""An installed wheel: complete, self-contained, and with the right metadata."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import narratoria

SOURCE = Path(__file__).parents[2]
PACKAGE = Path(narratoria.__file__).parent
WHEEL = importlib.metadata.distribution("narratoria")
LIBRARIES = sorted(PACKAGE.glob("*.so*"))
# The folder where sessions look for plugins. The page needs the system's libmicrohttpd.
PLUGINS = PACKAGE / "narratoria/plugins"
# Libraries that every Linux with glibc has.
OF_THE_SYSTEM = re.compile(
    r"linux-vdso|ld-linux|libc\.so|libm\.so|libdl\.so|libpthread\.so|librt\.so|libstdc\+\+|libgcc_s"
)


def test_tests_use_installed_package() -> None:
    assert PACKAGE.is_relative_to(sys.prefix)
    assert not PACKAGE.is_relative_to(SOURCE)
    assert "PYTHONPATH" not in os.environ and "LD_LIBRARY_PATH" not in os.environ


def test_readme_example_runs_in_any_folder(tmp_path: Path) -> None:
    text = (SOURCE / "bindings/python/README.md").read_text(encoding="utf-8")
    [code] = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    shutil.copytree(SOURCE / "examples/stories/torch", tmp_path / "examples/stories/torch")
    environment = {"PATH": os.environ["PATH"]}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert (ran.stdout, ran.stderr) == ("You reach for the torch on the wall.\n", "")


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_needed_libraries_are_in_wheel(library: Path) -> None:
    said = subprocess.run(
        ["ldd", str(library)], capture_output=True, text=True, check=True, cwd="/"
    ).stdout
    assert "not found" not in said
    for line in said.splitlines():
        name, _, place = (part.strip() for part in line.partition("=>"))
        if not OF_THE_SYSTEM.search(name):
            assert Path(place.split(" ")[0]).resolve().parent == PACKAGE.resolve(), line


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_library_search_path_is_only_its_own_folder(library: Path) -> None:
    said = subprocess.run(
        ["readelf", "-d", str(library)], capture_output=True, text=True, check=True
    ).stdout
    # An empty entry, as in "$ORIGIN:", would mean the current folder.
    folders = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", said)
    assert folders == ([] if library.name.startswith(("libuv", "libyaml")) else ["$ORIGIN"])


def test_libraries_contain_no_build_path() -> None:
    for library in LIBRARIES:
        assert str(SOURCE).encode() not in library.read_bytes(), library.name


def test_wheel_contains_expected_files() -> None:
    files = {str(file) for file in WHEEL.files or ()}
    own = {name for name in files if name.startswith("narratoria/")}
    others = {name for name in files - own if not re.search("dist-info/|__pycache__", name)}
    assert others == {"narratoria_runner.py"}
    names = {name.removeprefix("narratoria/") for name in own if "__pycache__" not in name}
    written = {path.name for path in (SOURCE / "bindings/python/narratoria").iterdir()}
    written -= {"__pycache__"}
    schemas = {f"schemas/{path.name}" for path in (SOURCE / "abi/schemas").glob("*.json")}
    compiled = {path.name for path in LIBRARIES}
    torch = SOURCE / "examples/stories"
    story = {
        f"stories/{path.relative_to(torch)}" for path in torch.glob("torch/**/*") if path.is_file()
    }
    plugins = {f"narratoria/plugins/{path.name}" for path in PLUGINS.glob("*")}
    assert plugins <= {"narratoria/plugins/web.so"}
    assert names == written | schemas | story | compiled | plugins
    assert len([name for name in compiled if name.startswith("_core.")]) == 1
    assert compiled >= {"libnarratoria.so.1", "libuv.so.1"}


def test_wheel_contains_page_if_built(caplog: pytest.LogCaptureFixture) -> None:
    if not (PLUGINS / "web.so").exists():
        pytest.skip("the wheel was built without libmicrohttpd-dev")
    caplog.set_level("INFO", "narratoria")
    with narratoria.Session(plugins=["narratoria.web"]) as session:
        session.execute({"requestId": "p", "tools": []})
    assert "the page is at http://127." in caplog.text


def test_metadata() -> None:
    about = WHEEL.metadata
    assert about["Name"] == "narratoria"
    assert about["Version"] == narratoria.__version__
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"] == ">=3.10"
    assert about["Description-Content-Type"] == "text/markdown"
    description = about.get_payload()  # type: ignore[attr-defined]
    written = (SOURCE / "bindings/python/README.md").read_text(encoding="utf-8")
    assert description.strip() == written.strip()
    assert WHEEL.requires is None
    classifiers = about.get_all("Classifier") or []
    for minor in (10, 11, 12, 13):
        assert f"Programming Language :: Python :: 3.{minor}" in classifiers
    assert "Typing :: Typed" in classifiers
    assert "Operating System :: POSIX :: Linux" in classifiers


def test_licenses() -> None:
    assert WHEEL.metadata.get_all("License-File") == ["LICENSE", "LICENSE.third-party"]
    for name, text in (
        ("LICENSE", "Apache License"),
        ("LICENSE.third-party", "libuv"),
        ("LICENSE.third-party", "libyaml"),
        ("LICENSE.third-party", "LZ4"),
    ):
        held = WHEEL.read_text(f"licenses/{name}")
        assert held is not None and text in held
