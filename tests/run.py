#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the suites, one after the other, and adds up what they say.

Run by ./test, which installs what this needs. Nothing is passed over in silence: a build that
fails, a test program that crashes, a suite that reports nothing each count as a failure; a test
that skips itself is listed with its reason.
"""

import argparse
import os
import platform
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
# What only a sanitizer's own runtime reads; the tools of a plan get a clean environment anyway.
SANITIZERS = {
    "ASAN_OPTIONS": "strict_string_checks=1:detect_stack_use_after_return=1:check_initialization_order=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": f"second_deadlock_stack=1:suppressions={TREE / 'tests' / 'tsan.supp'}",
}
# When everything fails, the first failures say why; the others are named, and then counted.
DETAILED, NAMED = 25, 100
FORMATTED = ("sdk", "runtime", "plugins", "examples", "tests")


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


def run(command, environment=None, limit=None):
    """A command's exit status and its output (both streams). On time-out its children end too."""
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(
            [str(part) for part in command], cwd=TREE, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})},
            start_new_session=True)
        note = ""
        try:
            child.wait(limit)
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

    def __exit__(self, *_):
        print(f"  {self.name}: {time.monotonic() - self.begin:.0f} s", flush=True)


def build(report, preset, *definitions, target="all"):
    with Stage(f"{preset}: build"):
        status, text = run(["cmake", "--preset", preset, *definitions])
        if status == 0:
            status, text = run(["cmake", "--build", "--preset", preset, "--target", target, "-j", JOBS,
                                "--", "-k", "0"])
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
            [*prefix, "ctest", "--test-dir", f"build/{preset}", "-j", JOBS, "--timeout", 60,
             "--no-tests=error", "--output-on-failure", "--output-junit", file, *selection],
            SANITIZERS)
        read_cases(report, preset, file, status, text)


def pytest(report, preset, prefix=()):
    if not any((TREE / "tests").rglob("test_*.py")):
        return
    with Stage(f"{preset}: the command, by pytest"), tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pytest.xml"
        status, text = run(
            [*prefix, sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider",
             "--junit-xml", file, "tests"],
            {**SANITIZERS, "NARRATORIA_BUILD_DIR": str(TREE / "build" / preset),
             "NARRATORIA_SOURCE_DIR": str(TREE)},
            limit=900)
        read_cases(report, f"{preset}, pytest", file, status, text)


def layout(report):
    with Stage("layout of the sources (clang-format 14)"):
        files = sorted(
            file for folder in FORMATTED for file in (TREE / folder).rglob("*")
            if file.suffix in (".c", ".cpp", ".h", ".hpp"))
        status, text = run(["clang-format-14", "--dry-run", "--Werror", *files])
        if status == 0:
            report.passes()
        else:
            wrong = sorted({line.split(":")[0] for line in text.splitlines() if ": error:" in line})
            report.fails("layout: clang-format-14 -i these files",
                         "\n".join(wrong) or text)


def machine(report, preset):
    """The control groups, in a virtual machine: only where there is one to boot."""
    name = "machine: control groups"
    with Stage("control groups, in a virtual machine"):
        status, text = run(["tests/machine/control_groups.sh", f"build/{preset}"], limit=400)
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


def quick(report):
    if not build(report, "release", "-DNARRATORIA_TESTS=ON"):
        return
    ctest(report, "release", "-LE", "^full$")
    pytest(report, "release")


def full(report):
    layout(report)
    if (TREE / "build/release/bin/narratoria").exists():
        ctest(report, "release", "-L", "^full$")
        machine(report, "release")
    # The checks of the tree and its headers were made once, in release.
    once = ("-LE", "^(check|full)$")
    if build(report, "clang", "-DNARRATORIA_TESTS=ON"):
        ctest(report, "clang", *once)
    for preset in ("asan", "tsan"):
        if build(report, preset, "-DNARRATORIA_TESTS=ON"):
            ctest(report, preset, *once, prefix=fixed_addresses())
            pytest(report, preset, prefix=fixed_addresses())
    fuzz(report, seconds=30)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()

    # Ended from outside, it ends what it started before it goes.
    def end(number, _frame):
        raise KeyboardInterrupt(f"signal {number}")

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)

    report = Report()
    begin = time.monotonic()
    try:
        quick(report)
        if options.full:
            full(report)
    except KeyboardInterrupt:
        report.fails("interrupted")

    print()
    for name, reason in report.skipped:
        print(f"skipped  {name}: {reason}")
    for name in report.failures[:NAMED]:
        print(f"FAILED   {name}")
    if len(report.failures) > NAMED:
        print(f"FAILED   … and {len(report.failures) - NAMED} more")
    print(f"{time.monotonic() - begin:.0f} s")
    print(f"{report.passed} passed, {len(report.failures)} failed")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
