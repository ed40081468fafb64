# SPDX-License-Identifier: Apache-2.0
"""The Python package: its types, its wheels, and its tests under the address sanitizer."""

import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

from .commands import TREE, Deadline, run
from .suites import SANITIZERS, fixed_addresses, of_build, pytest

# The supported versions. A wheel takes WHEEL_MINUTES; none is started with less time left.
PYTHON_VERSIONS = ("3.10", "3.11", "3.12", "3.13")
WHEEL_MINUTES = 3
QUIET_PIP = ("-m", "pip", "--disable-pip-version-check")


def under_asan(report):
    """Tests the package in an ordinary interpreter with the sanitizer's library preloaded.

    Programs that the tests start inherit the preload; tools have their own environment.
    """
    library = run(["clang-14", f"-print-file-name=libclang_rt.asan-{platform.machine()}.so"])[1].strip()
    with tempfile.TemporaryDirectory() as folder:
        # Reports go to files: pytest captures standard error, and a report aborts the process.
        def reports():
            return "".join(f"\n{file.read_text(errors='replace')}"
                           for file in sorted(Path(folder).iterdir()))

        options = {
            name: ":".join((value, f"log_path={folder}/report", *more))
            for name, value, more in (
                # Memory that the interpreter holds when it exits is not a leak of the package.
                ("ASAN_OPTIONS", SANITIZERS["ASAN_OPTIONS"], ("detect_leaks=0",)),
                ("UBSAN_OPTIONS", SANITIZERS["UBSAN_OPTIONS"], ()))}
        pytest(report, "asan, Python", ["tests/python"],
               {**of_build("asan"), **options, "LD_PRELOAD": library, "PYTHONMALLOC": "malloc"},
               interpreter=[*fixed_addresses(), sys.executable, "-B", "-X", "dev"], more=reports)
        text = reports()
        if text:
            report.add_failure("asan, Python: a sanitizer's report", text)


def make_venv(report, folder, interpreter, *packages):
    """Makes or updates a virtual environment with these packages of PyPI.

    Returns its Python, or None.
    """
    made = folder / "bin" / "python"
    status, text = (0, "") if made.exists() else run(
        [interpreter, "-m", "venv", "--clear", folder])
    if status == 0 and packages:
        status, text = run([made, *QUIET_PIP, "install", "-q", *packages])
    if status != 0:
        report.add_failure(f"packages of PyPI for {folder.name}", text)
        return None
    return made


def tools_of(report):
    """A Python with mypy, pyright and ruff, or None."""
    return make_venv(report, TREE / "build/python-tools", sys.executable, "-r",
                     TREE / "tests/python/requirements.txt")


def types(report):
    """Runs mypy, pyright and ruff on the package and on programs that use it."""
    tools = tools_of(report)
    if tools is None:
        return
    package, sample = TREE / "bindings/python", TREE / "tests/python/typing_sample.py"
    sources = [".", TREE / "tests/python", TREE / "tests/wheel"]
    configured = ("--config", "pyproject.toml")
    for name, command in (
            ("mypy --strict", ["mypy"]),
            ("mypy --strict, a sample", ["mypy", "--config-file", "pyproject.toml", sample]),
            ("pyright", ["pyright", "--warnings"]),
            ("pyright, a sample", ["pyright", "--warnings", "--pythonversion", "3.10", sample]),
            ("ruff check", ["ruff", "check", "--no-cache", *configured, *sources]),
            # F811: a test's argument has the name of the fixture that its module imports.
            ("ruff check, names in programs", ["ruff", "check", "--no-cache", "--select", "F",
                                               "--ignore", "F811", "--target-version", "py312",
                                               TREE / "tests", TREE / "examples"]),
            ("ruff format", ["ruff", "format", "--no-cache", "--diff", *configured, *sources])):
        status, text = run(
            [tools.parent / command[0], *command[1:]],
            {"MYPYPATH": str(package), "MYPY_CACHE_DIR": str(TREE / "build/mypy"),
             "PATH": f"{tools.parent}:{os.environ['PATH']}"}, folder=package)
        report.add_result(f"Python package: {name}", status, text)


def interpreters():
    """Finds one Python of each version that can build extensions and make virtual environments."""
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": sys.executable}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    probe = ("import ensurepip, os, sys, sysconfig; assert os.path.exists("
             "os.path.join(sysconfig.get_path('include'), 'Python.h')); "
             "print('%d.%d' % sys.version_info[:2])")
    for version in PYTHON_VERSIONS:
        for candidate in (f"python{version}", *sorted(pyenv.glob(f"{version}.*/bin/python3"))):
            if version not in found and shutil.which(candidate):
                status, text = run([candidate, "-c", probe])
                if status == 0 and text.strip() == version:
                    found[version] = str(candidate)
    return found


def wheels(report):
    """Builds a wheel for each Python found, and tests it in a clean environment."""
    tools = tools_of(report)
    if tools is None:
        return
    found = interpreters()
    for version in sorted(found, key=lambda each: (found[each] != sys.executable, each)):
        if Deadline.remaining() < WHEEL_MINUTES * 60:
            report.add_skipped(f"wheel for Python {version}",
                               "the stage's time would not be enough")
            continue
        with tempfile.TemporaryDirectory() as folder:
            wheel(report, version, found[version], tools, Path(folder))
    for version in PYTHON_VERSIONS:
        if version not in found:
            report.add_skipped(f"wheel for Python {version}",
                               f"no Python {version} with its headers here")


def wheel(report, version, interpreter, tools, folder):
    suite = f"wheel, Python {version}"
    # This Python builds with the packages of its virtual environment, the others in isolation.
    own = interpreter == sys.executable
    builder = tools if own else make_venv(report, folder / "builder", interpreter)
    if builder is None:
        return
    status, text = run(
        [builder, *QUIET_PIP, "wheel", "--no-deps", "-w", folder,
         *(["--no-build-isolation"] if own else []), TREE / "bindings/python"],
        {"PYTHONPATH": None})
    made = sorted(folder.glob("narratoria-*.whl"))
    if status != 0 or len(made) != 1:
        report.add_failure(f"{suite}: build (its tests are not run)", text)
        return
    # With pydantic 2, which the system's Python of Debian 12 and Ubuntu 24.04 does not have.
    python = make_venv(report, folder / "venv", interpreter, made[0], "pytest", "pytest-xdist",
                       "jsonschema", "hypothesis", "typing_extensions", "pydantic>=2")
    if python is None:
        return
    installed = {"PYTHONPATH": None, "LD_LIBRARY_PATH": None, "NARRATORIA_WHEEL": "1",
                 "NARRATORIA_SOURCE_DIR": str(TREE)}
    for name, tests in ((suite, "tests/python"), (f"{suite}, its files", "tests/wheel")):
        pytest(report, name, ["--rootdir", TREE, "--confcutdir", TREE / "tests", TREE / tests],
               installed, interpreter=[python, "-B"], folder=folder)
    if own:
        # pyright can tell only for an installed package how many of its public names have types.
        status, text = run(
            [tools.parent / "pyright", "--verifytypes", "narratoria", "--ignoreexternal"],
            {**installed, "VIRTUAL_ENV": str(folder / "venv"),
             "PATH": f"{python.parent}:{os.environ['PATH']}"}, folder=folder)
        report.add_result(f"{suite}: pyright --verifytypes",
                          status or "score: 100%" not in text, text)
