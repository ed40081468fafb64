# SPDX-License-Identifier: Apache-2.0
"""Runs commands within the time of the stage that they belong to."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
JOBS = len(os.sched_getaffinity(0))
PR_SET_CHILD_SUBREAPER = 36


class TimeIsUp(Exception):
    """The time of the stage is used up."""


class Deadline:
    """The end of the running stage's time, in seconds of the monotonic clock."""

    at = float("inf")

    @classmethod
    def start(cls, minutes, latest):
        cls.at = min(time.monotonic() + minutes * 60, latest)

    @classmethod
    def remaining(cls):
        return cls.at - time.monotonic()


def adopt_orphans():
    """Makes orphans children of this process, so that kill_children() finds all of them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    while True:
        try:
            return {int(child) for thread in Path("/proc/self/task").iterdir()
                    for child in (thread / "children").read_text().split()}
        except OSError:
            continue  # the thread has ended, and its children now belong to another thread


def kill_children(spared=()):
    """Kills and reaps every process below this one, except the spared children."""
    while found := children() - {child.pid for child in spared}:
        for child in found:
            try:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def run(command, environment=None, folder=TREE, progress=None, limit=None):
    """Runs a command; returns its exit status and its output (both streams).

    A variable of `environment` that is None is removed. When the stage's time is up, the command is
    killed with its process group, and TimeIsUp is raised with the output. After `limit` seconds it
    is killed in the same way, but its status is returned.
    """
    variables = {**os.environ, **(environment or {})}
    variables = {name: value for name, value in variables.items() if value is not None}
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(
            [str(part) for part in command], cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, env=variables, start_new_session=True)

        def text():
            # Read at a position, because the child shares the offset of the open file.
            return os.pread(output.fileno(), 1 << 30, 0).decode(errors="replace")

        end = min(Deadline.at, time.monotonic() + limit if limit else float("inf"))
        try:
            while True:
                try:
                    child.wait(max(0.01, min(end - time.monotonic(), 1 if progress else 1e6)))
                    return child.returncode, text()
                except subprocess.TimeoutExpired:
                    if progress:
                        progress.update(output.fileno())
                    if time.monotonic() < end:
                        continue
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                if Deadline.remaining() <= 0:
                    raise TimeIsUp(f"{text()}\nended: the stage's time is up")
                return child.returncode, f"{text()}\nended after {limit} seconds"
        except BaseException:
            if child.returncode is None:
                os.killpg(child.pid, signal.SIGTERM)
            raise
        finally:
            if progress:
                progress.clear()


class Progress:
    """Shows the progress of a command: on a terminal in one line that is redrawn, elsewhere in a
    new line every LINE_SECONDS.

    `pattern` finds "done" and "total" in the output; the last match wins.
    """

    LINE_SECONDS = 30

    def __init__(self, name, pattern):
        self.name, self.pattern = name, re.compile(pattern)
        self.live = sys.stdout.isatty()
        self.begin = self.printed_at = time.monotonic()
        self.rest, self.position = "", 0

    def update(self, descriptor):
        new = os.pread(descriptor, 1 << 24, self.position)
        self.position += len(new)
        text = self.rest + new.decode(errors="replace")
        found = None
        for found in self.pattern.finditer(text):
            pass
        self.rest = text[found.end() if found else 0:][-200:]
        now = time.monotonic()
        if found and (self.live or now - self.printed_at >= self.LINE_SECONDS):
            self.printed_at = now
            line = f"  {self.name}: {found[1]} of {found[2]}, {now - self.begin:.0f} s"
            print(f"\r\x1b[K{line}" if self.live else line, end="" if self.live else "\n", flush=True)

    def clear(self):
        if self.live:
            print("\r\x1b[K", end="", flush=True)
