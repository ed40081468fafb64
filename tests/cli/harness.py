# SPDX-License-Identifier: Apache-2.0
"""Runs the command as users and scripts do: as a process, on pipes or on a terminal.

Nothing here sleeps: a test waits for an event, an end of file or a process exit, with a deadline.
"""

import errno
import fcntl
import json
import os
import pty
import re
import resource
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("NARRATORIA_BUILD_DIR", SOURCE / "build" / "release")).resolve()
NARRATORIA = BUILD / "bin" / "narratoria"
TORCH = SOURCE / "examples" / "stories" / "torch"
DEADLINE = 300
PROMPT_SIGN = r"›(\x1b\[0m)? "

# Variables that depend on the terminal and the locale of the person who runs the tests.
UNSET = ("NO_COLOR", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LANGUAGE", "COLUMNS", "LINES")


def environment(**changes):
    env = {name: value for name, value in os.environ.items() if name not in UNSET}
    env.update(changes)
    return env


def default_signals():
    """Resets signals to what an interactive shell gives a command: none ignored, none blocked."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGTSTP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def tree(folder):
    """The paths of all files in a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def log(message, level="info", **fields):
    return event("log", level=level, message=message, **({"fields": fields} if fields else {}))


def done(ok=True, **more):
    return event("done", ok=ok, **more)


def patch(**changes):
    return event("state_patch", patch=changes)


def event(kind, /, **members):
    return json.dumps({"version": "0", "type": kind, **members}, ensure_ascii=False)


def until(condition):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Finished:
    def __init__(self, status, out, err):
        self.status = status
        self.out = out
        self.err = err

    @property
    def result(self):
        return json.loads(self.out)

    @property
    def lines(self):
        return self.out.splitlines()

    def exits(self, status, *said, out=None):
        """Checks the exit status, the texts on standard error and all of the output; returns itself."""
        assert self.status == status, self
        assert out is None or self.out == out, self
        return self._has(said, self.err)

    def shows(self, *said):
        """Checks that these texts are on standard output; returns itself."""
        return self._has(said, self.out)

    def _has(self, said, where):
        for text in said:
            assert text in where, f"{text!r} is missing: {self}"
        return self

    def __repr__(self):
        return f"exit {self.status}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Traced(NamedTuple):
    """A finished `tool run` and its trace."""

    ran: Finished
    trace: list

    @property
    def result(self):
        """What the tool returned."""
        return json.loads(self.ran.lines[-1])["result"]

    def exits(self, status, *said):
        self.ran.exits(status, *said)
        return self


class Command:
    def __init__(self, folder):
        self.folder = folder
        self.running = []

    # ---------------------------------------------------------------- things to run

    def tool(self, name, *output, before="", after="", exit_status=0):
        """A shell tool that reads its input, prints these lines and exits."""
        lines = "".join(f"{line}\n" for line in output)
        return self.script(
            name,
            f"#!/bin/sh\ncat >/dev/null\n{before}\ncat <<'EVENTS'\n{lines}EVENTS\n{after}\n"
            f"exit {exit_status}\n",
        )

    def waiting_tool(self, name="wait", on_term="exit 0"):
        """A tool that logs "ready" and then waits until it is ended."""
        return self.script(
            name,
            # Without 2>/dev/null the shell would report that SIGTERM killed its sleep.
            "#!/bin/sh\nexec 2>/dev/null\n"
            f"trap '{on_term}' TERM\n"
            f"echo '{log('ready')}'\n"
            "while :; do sleep 60 & wait $!; done\n",
        )

    def script(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def file(self, name, content):
        path = self.folder / name
        if isinstance(content, (dict, list)):
            content = json.dumps(content)
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)
        return path

    def plan(self, *tools, name="plan.json", **members):
        """Writes a plan. A tool is a path, or a dict of members that override the defaults."""
        described = []
        for tool in tools:
            one = dict(tool) if isinstance(tool, dict) else {"toolPath": str(tool)}
            one["toolPath"] = str(one["toolPath"])
            one.setdefault("toolId", Path(one["toolPath"]).name)
            one.setdefault("input", {})
            one.setdefault("retryPolicy", {"maxRetries": 0, "backoffMs": 1})
            described.append(one)
        return self.file(name, {"requestId": "plan-1", "tools": described, **members})

    def story(self, prompts, tools=(), toml='title = "A test"\n', name="story"):
        folder = self.folder / name
        (folder / "tools").mkdir(parents=True, exist_ok=True)
        (folder / "story.toml").write_text(toml)
        document = {
            "prompts": [{"patterns": [words], "answers": answers} for words, answers in prompts.items()],
            "unmatched": {"narrative": "Nothing happens when you try: {prompt}"},
        }
        (folder / "prompts.json").write_text(json.dumps(document))
        for tool, text in dict(tools).items():
            self.script(f"{name}/tools/{tool}", text)
        return folder

    # ---------------------------------------------------------------- running

    def __call__(self, *arguments, stdin=b"", env=None, cwd=None, limit=None, **options):
        """Runs the command to completion. `limit`: a resource, and how much of it the command may use."""
        def prepare():
            default_signals()
            if limit:
                resource.setrlimit(limit[0], (limit[1], limit[1]))

        if isinstance(stdin, str):
            stdin = stdin.encode()
        done = subprocess.run(
            [NARRATORIA, *arguments],
            input=stdin if not isinstance(stdin, int) else None,
            stdin=stdin if isinstance(stdin, int) else None,
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=options.pop("stderr", subprocess.PIPE),
            env=env or environment(),
            cwd=cwd or self.folder,
            timeout=DEADLINE,
            preexec_fn=prepare,
            **options,
        )
        return Finished(
            done.returncode,
            (done.stdout or b"").decode("utf-8"),
            (done.stderr or b"").decode("utf-8"),
        )

    def popen(self, *arguments, **options):
        """Starts the command with its output on pipes."""
        usual = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                 "env": environment(), "cwd": self.folder, "preexec_fn": default_signals}
        return subprocess.Popen([NARRATORIA, *arguments], **{**usual, **options})

    def run_tool(self, tool, project, payload, *options, env=None):
        """Runs a tool of a project; returns the finished command and its trace."""
        trace = self.folder / "trace.ndjson"
        trace.unlink(missing_ok=True)
        ran = self("tool", "run", tool, "--project", project, "--trace", trace,
                   "--input", json.dumps(payload), *options, env=env)
        lines = trace.read_text().splitlines() if trace.exists() else []
        return Traced(ran, [json.loads(line) for line in lines])

    def start(self, *arguments, **options):
        """Starts the command with its event stream on a pipe; see Running."""
        running = Running(self, arguments, **options)
        self.running.append(running)
        return running

    def on_terminal(self, *arguments, **options):
        """Starts the command on its own terminal; see Terminal."""
        terminal = Terminal(self, arguments, **options)
        self.running.append(terminal)
        return terminal

    def end(self):
        for running in self.running:
            running.end()


class Running:
    """`narratoria run` in the background; its event records are read from a pipe."""

    def __init__(self, command, arguments, env=None):
        reader, writer = os.pipe()
        self.process = subprocess.Popen(
            [NARRATORIA, *arguments, "--events", f"/dev/fd/{writer}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env or environment(),
            cwd=command.folder,
            pass_fds=(writer,),
            preexec_fn=default_signals,
        )
        os.close(writer)
        self.reader = reader
        self.buffer = b""
        self.records = []

    def wait_for(self, wanted, deadline=DEADLINE):
        """Reads records until `wanted` accepts one, and returns it."""
        limit = time.monotonic() + deadline
        while True:
            while b"\n" in self.buffer:
                line, self.buffer = self.buffer.split(b"\n", 1)
                record = json.loads(line)
                self.records.append(record)
                if wanted(record):
                    return record
            ready, _, _ = select.select([self.reader], [], [], max(0, limit - time.monotonic()))
            assert ready, f"no such record before the deadline; records: {self.records}"
            piece = os.read(self.reader, 65536)
            assert piece, f"the stream ended too early; records: {self.records}\n{self.finish()}"
            self.buffer += piece

    def wait_for_log(self, message="ready"):
        return self.wait_for(
            lambda record: record["kind"] == "tool_event" and record["event"].get("message") == message
        )

    def signal(self, number):
        self.process.send_signal(number)

    def finish(self):
        out, err = self.process.communicate(timeout=DEADLINE)
        return Finished(self.process.returncode, out.decode(), err.decode())

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        os.close(self.reader)


class Terminal:
    """The command on its own pseudo-terminal; `seen` is the output so far."""

    def __init__(self, command, arguments, env=None, columns=80, rows=24, stdout=None,
                 is_controlling=True):
        ours, theirs = pty.openpty()
        self.descriptor = ours
        self.resize(columns, rows)
        self.seen = b""
        self.read_to = 0

        def lead():
            if is_controlling:
                os.setsid()
                fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
            else:
                os.setpgid(0, 0)
            default_signals()

        self.process = subprocess.Popen(
            [NARRATORIA, *arguments],
            stdin=theirs,
            stdout=theirs if stdout is None else stdout,
            stderr=theirs,
            env=env or environment(TERM="xterm-256color"),
            cwd=command.folder,
            preexec_fn=lead,
            pass_fds=(theirs,),
        )
        os.close(theirs)

    def resize(self, columns, rows=24):
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text, until=None):
        """Types; returns the output up to a pattern, if one is given."""
        os.write(self.descriptor, text if isinstance(text, bytes) else text.encode())
        return self.read_until(until) if until else None

    def prompt(self, text, until=None):
        """Types as soon as the game prompts for it."""
        self.read_until(PROMPT_SIGN)
        return self.type(text, until)

    def read_until(self, pattern, deadline=DEADLINE):
        """Reads until the output after the previous match matches; returns it up to there."""
        limit = time.monotonic() + deadline
        expression = re.compile(pattern.encode())
        start = self.read_to
        while True:
            found = expression.search(self.seen, start)
            if found:
                self.read_to = found.end()
                return self.seen[start : found.end()].decode("utf-8", "replace")
            assert self._read(limit - time.monotonic()), (
                f"{pattern!r} did not appear; output since the last match: {self.seen[start:]!r}"
            )

    def _read(self, seconds):
        ready, _, _ = select.select([self.descriptor], [], [], max(0, seconds))
        if not ready:
            return False
        try:
            piece = os.read(self.descriptor, 65536)
        except OSError as error:
            if error.errno != errno.EIO:  # EIO: every process has closed the other side
                raise
            piece = b""
        self.seen += piece
        return bool(piece)

    def finish(self):
        limit = time.monotonic() + DEADLINE
        while self._read(limit - time.monotonic()):
            pass
        status = self.process.wait(timeout=DEADLINE)
        return Finished(status, self.seen.decode("utf-8", "replace"), "")

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.descriptor)


def screen(text, columns=80):
    """The lines that a terminal shows after all cursor movements.

    Supports only what the live display uses: cursor up, erase below, erase line, colours, and
    cursor on and off. It fails on every other sequence.
    """
    lines = [""]
    row = 0
    column = 0
    at = 0
    while at < len(text):
        escape = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])").match(text, at)
        if escape:
            argument, action = escape.groups()
            if action == "A":
                row = max(0, row - int(argument or 1))
            elif action == "J":
                lines[row] = lines[row][:column]
                del lines[row + 1 :]
            elif action == "K":
                lines[row] = lines[row][:column]
            else:
                assert action in "m" or argument == "?25", f"an unexpected escape: {escape[0]!r}"
            at = escape.end()
            continue
        one = text[at]
        at += 1
        if one == "\r":
            column = 0
        elif one == "\n":
            row += 1
            if row == len(lines):
                lines.append("")
        else:
            assert one >= " ", f"an unexpected control character: {one!r}"
            if column >= columns:
                row, column = row + 1, 0
                if row == len(lines):
                    lines.append("")
            lines[row] = lines[row][:column].ljust(column) + one + lines[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines]
