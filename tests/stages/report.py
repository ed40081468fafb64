# SPDX-License-Identifier: Apache-2.0
"""Collects passed, failed and skipped cases of the stages, and the time that each case took."""

import sys
import xml.etree.ElementTree as XML
from pathlib import Path

# The first failures are printed with their output, further ones by name; the rest is only counted.
DETAILED, NAMED, SLOWEST = 25, 100, 10
# {part of a name: what it tests}. Skipped tests with these names are reported once more at the end.
LOUD = {"tests.containers": "tools of projects in containers, with a real podman",
        "tests.cluster": "tools on a Slurm cluster",
        "tests.model": "a narrator with a real language model",
        "machine: control groups": "limits on all processes of a tool, in a virtual machine",
        "machine: ./play": "./play and ./test on a bare Debian 12",
        "wheel for Python": "a wheel for each supported Python"}


class Report:
    def __init__(self):
        self.passed = 0
        self.failures = []
        self.skipped = []
        self.times = []  # (seconds, name of the case)
        self.rows = []  # (stage, seconds, cases)

    @property
    def cases(self):
        return self.passed + len(self.failures) + len(self.skipped)

    def add_passed(self, count=1):
        self.passed += count

    def add_failure(self, name, text=""):
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

    def add_skipped(self, name, reason):
        self.skipped.append((name, reason))

    def add_result(self, name, status, text):
        """One case: it passes if the exit status is 0."""
        if status == 0:
            self.add_passed()
        else:
            self.add_failure(name, text)
        return status == 0

    def add_junit_file(self, suite, file, status, text, may_be_empty=False):
        """Adds the cases of a JUnit file of GoogleTest, CTest, pytest, Vitest or Node."""
        try:
            # GoogleTest writes parameters unchanged, even if they are not valid UTF-8.
            content = Path(file).read_bytes().decode(errors="replace").encode()
            cases = list(XML.fromstring(content).iter("testcase"))
        except (OSError, XML.ParseError) as error:
            self.add_failure(f"{suite}: no report ({error}); exit status {status}", text)
            return
        failures = len(self.failures)
        for case in cases:
            self._add_case(suite, case)
        if status != 0 and failures == len(self.failures):
            self.add_failure(f"{suite}: exit status {status}, though no case failed", text)
        if not cases and not may_be_empty:
            self.add_failure(f"{suite}: it ran no test", text)

    def _add_case(self, suite, case):
        name = case.get("name", "?")
        if case.get("classname") not in (None, "", name):
            name = f"{case.get('classname')}::{name}"
        name = f"{suite}: {name}"
        self.times.append((float(case.get("time") or 0), name))
        output = "\n".join(part.text or "" for part in case.findall("system-out"))
        problems = [part for kind in ("failure", "error") for part in case.findall(kind)]
        skip = case.find("skipped")
        if problems or case.get("status") == "fail":
            detail = "\n".join(text for problem in problems
                               for text in (problem.get("message"), problem.text) if text)
            self.add_failure(name, f"{output}\n{detail}")
        elif case.get("status") in ("disabled", "notrun") and skip is None:
            self.add_skipped(name, "disabled in the source")
        elif skip is None:
            self.add_passed()
        elif case.get("status") == "notrun" and "SKIP_" not in (skip.get("message") or ""):
            # CTest reports a test with a missing program as skipped.
            self.add_failure(name, f"{skip.get('message')}\n{output}")
        else:
            message = skip.get("message") or skip.text or ""
            self.add_skipped(name, (output if "SKIP_" in message else message).strip())

    def print_summary(self, seconds):
        """Prints the summary. Its last line is "N passed, N failed"."""
        print()
        if self.rows:
            print(f"{'stage':<28}{'seconds':>9}{'cases':>8}")
            for stage, taken, cases in self.rows:
                print(f"{stage:<28}{taken:>9.0f}{cases or '':>8}")
            print(f"{'all':<28}{seconds:>9.0f}{self.cases:>8}")
        slowest = sorted(self.times, reverse=True)[:SLOWEST]
        if slowest:
            print("\nthe slowest tests, in seconds")
            for taken, name in slowest:
                print(f"{taken:>9.1f}  {name}")
        print()
        for name, reason in self.skipped:
            print(f"skipped  {name}: {reason}")
        for name in self.failures[:NAMED]:
            print(f"FAILED   {name}")
        if len(self.failures) > NAMED:
            print(f"FAILED   … and {len(self.failures) - NAMED} more")
        for part, what in LOUD.items():
            reasons = [reason for name, reason in self.skipped if part in name]
            if reasons:
                print(f"NOT TESTED  {what} ({len(reasons)} tests): {reasons[0]}")
        print(f"{self.passed} passed, {len(self.failures)} failed")
