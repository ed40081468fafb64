# SPDX-License-Identifier: Apache-2.0
"""Runs builds and the three kinds of suites: GoogleTest, CTest and pytest."""

import platform
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .commands import JOBS, TREE, Progress, run

# Only the runtime of a sanitizer reads these. The tools of a plan get a clean environment anyway.
SANITIZERS = {
    "ASAN_OPTIONS": "strict_string_checks=1:detect_stack_use_after_return=1:check_initialization_order=1",
    "LSAN_OPTIONS": f"print_suppressions=0:suppressions={TREE / 'tests' / 'lsan.supp'}",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": f"second_deadlock_stack=1:suppressions={TREE / 'tests' / 'tsan.supp'}",
}
# Tests spend about half of their time waiting for processes.
WORKERS = 2 * JOBS


def of_build(preset):
    return {**SANITIZERS, "NARRATORIA_BUILD_DIR": str(TREE / "build" / preset),
            "NARRATORIA_SOURCE_DIR": str(TREE)}


def build(report, preset, definitions, targets):
    """Configures a preset and builds these targets of it."""
    progress = Progress(f"build of {preset}", r"\n\[(\d+)/(\d+)\] ")
    status, text = run(["cmake", "--preset", preset, *definitions])
    if status == 0:
        status, text = run(["cmake", "--build", "--preset", preset, "-j", JOBS, "--target", *targets, "--",
                            "-k", "0"], progress=progress)
    if status != 0:
        report.add_failure(f"build of {preset} (stages that need it do not run)",
                           broken_steps(text) or text)
    return status == 0


def broken_steps(text):
    """The output of the failed steps of ninja."""
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


def fixed_addresses():
    """A prefix that turns address randomization off, if possible.

    The sanitizers of these compilers need less randomness than new kernels give.
    """
    prefix = ["setarch", platform.machine(), "-R"]
    usable = shutil.which("setarch") and run([*prefix, "true"])[0] == 0
    return prefix if usable else []


def googletest(report, preset, programs, prefix=()):
    """Runs the test programs, each in WORKERS shards."""
    folder = TREE / "build" / preset / "tests"
    shards = [(program, shard) for program in programs for shard in range(WORKERS)]

    def run_shard(job):
        program, shard = job
        with tempfile.TemporaryDirectory() as results:
            file = Path(results) / "cases.xml"
            status, text = run(
                [*prefix, folder / f"narratoria_{program}_tests", f"--gtest_output=xml:{file}"],
                {**SANITIZERS, "GTEST_TOTAL_SHARDS": str(WORKERS), "GTEST_SHARD_INDEX": str(shard)})
            return program, shard, status, text, file.read_bytes() if file.exists() else b""

    with ThreadPoolExecutor(WORKERS) as pool, tempfile.TemporaryDirectory() as results:
        for program, shard, status, text, cases in pool.map(run_shard, shards):
            suite = f"{preset}, {program}"
            file = Path(results) / "cases.xml"
            if cases:
                file.write_bytes(cases)
                # On a machine with many cores, a shard may have no case.
                report.add_junit_file(suite, file, status, text, may_be_empty=shard > 0)
            else:
                # The program writes its report at exit, so it crashed. Later cases did not run.
                ran = re.findall(r"^\[ RUN      \] (\S+)", text, re.M)
                report.add_failure(
                    f"{suite}: {ran[-1] if ran else 'no case'} ended the program with status "
                    f"{status}; the later cases of shard {shard} did not run", text)


def ctest(report, preset, *selection, prefix=()):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ctest.xml"
        status, text = run(
            [*prefix, "ctest", "--test-dir", f"build/{preset}", "-j", JOBS, "--timeout", 600,
             "--no-tests=error", "--output-on-failure", "--output-junit", file, *selection],
            SANITIZERS, progress=Progress(preset, r"\n *(\d+)/(\d+) Test "))
        report.add_junit_file(preset, file, status, text)


def pytest(report, suite, selection, environment, interpreter=(sys.executable, "-B"), folder=TREE,
           more=lambda: ""):
    """Runs pytest. `more` returns text from files that is added to the output."""
    with tempfile.TemporaryDirectory() as results:
        file = Path(results) / "pytest.xml"
        status, text = run(
            [*interpreter, "-m", "pytest", "-p", "no:cacheprovider", "--junit-xml", file,
             # One line for each test, so that the progress can be read.
             "-v", "-o", "console_output_style=count",
             # A test that hangs says where, before the stage's time is up.
             "-o", "faulthandler_timeout=150",
             "-n", WORKERS, "--dist", "load", *selection],
            environment, folder=folder, progress=Progress(suite, r"\[ *(\d+)/(\d+)\]"))
        report.add_junit_file(suite, file, status, text + more())
