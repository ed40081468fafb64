# SPDX-License-Identifier: Apache-2.0
"""The examples as users run them: real processes, a real terminal, real connections."""

from __future__ import annotations

import http.client
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import BUILD, SOURCE, child_environment
from plans import DONE, line

EXAMPLES = SOURCE / "examples" / "python"
SECONDS = 300


def run(name: str, *arguments: str, words: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        input=words,
        capture_output=True,
        text=True,
        env=child_environment(),
        cwd=SOURCE,
        timeout=SECONDS,
        check=False,
    )


def is_gone(pid: int) -> bool:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            if "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text():
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


# covers: 002-function-example
def test_specification_002_example_runs() -> None:
    ended = run("get_user_profile.py", "123")
    assert ended.returncode == 0, ended.stderr
    profile, state = ended.stdout.splitlines()
    assert profile == "{'id': '123', 'name': 'Alice', 'email': 'alice@example.com'}"
    assert state == 'last_fetched_user_id: "123" (the user whose profile was read last)'


@pytest.mark.parametrize("name", ["chat.py", "narrator.py", "notebook.py"])
def test_example_runs_outside_source_tree(name: str, tmp_path: Path) -> None:
    copy = shutil.copy(EXAMPLES / name, tmp_path)
    ended = subprocess.run(
        [sys.executable, copy],
        input="I light the torch\n",
        capture_output=True,
        text=True,
        env=child_environment(),
        cwd=tmp_path,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


# The first terminal that the leader of a session opens becomes its controlling one.
_TAKE_TERMINAL = """
import os, sys
os.close(os.open(sys.argv[1], os.O_RDWR))
os.execv(sys.argv[2], sys.argv[2:])
"""


class Terminal:
    """A program with a controlling terminal, so that Ctrl-C can be typed."""

    def __init__(self, *command: str) -> None:
        self._master, slave = pty.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _TAKE_TERMINAL, os.ttyname(slave), sys.executable, *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**child_environment(), "TERM": "dumb"},
            cwd=SOURCE,
            start_new_session=True,
        )
        os.close(slave)
        self._seen = ""

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def interrupt_until(self, pattern: str) -> str:
        """Types Ctrl-C repeatedly. Python does not notice one that arrives between the prompt and
        the reading of the line until a line has been read."""
        for _ in range(SECONDS):
            self.type("\x03")
            try:
                return self.until(pattern, 1)
            except AssertionError:
                continue
        return self.until(pattern)

    def until(self, pattern: str, seconds: float = SECONDS) -> str:
        """Returns and removes the output up to the match of the pattern."""
        deadline = time.monotonic() + seconds
        while (found := re.search(pattern, self._seen)) is None:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self._master], [], [], left)[0], self._seen
            try:
                more = os.read(self._master, 65536)
            except OSError:  # the other end is closed
                more = b""
            assert more, f"it ended before {pattern!r}: {self._seen}"
            self._seen += more.decode(errors="replace").replace("\r\n", "\n")
        shown, self._seen = self._seen[: found.end()], self._seen[found.end() :]
        return shown

    def status(self) -> int:
        return self._process.wait(SECONDS)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open_(*command: str) -> Terminal:
        opened.append(Terminal(*command))
        return opened[-1]

    yield open_
    for each in opened:
        each.close()


@pytest.fixture
def slow_story(tmp_path: Path) -> Path:
    """A story with a slow tool, which reports its process id and sleeps."""
    story = tmp_path / "story"
    (story / "tools").mkdir(parents=True)
    (story / "story.toml").write_text('title = "Slow"\n[narrator]\nname = "template"\n')
    tool = story / "tools" / "wait"
    waiting = line('{"type":"log","level":"info","message":"waiting as \'$$\'"}')
    tool.write_text(f"#!/bin/sh\n{waiting}\nsleep 600\n{DONE}\n")
    tool.chmod(0o755)
    plan = {"narrative": "Time passes.", "tools": [{"toolId": "w", "toolPath": "tools/wait"}]}
    prompts = {
        "prompts": [{"patterns": ["i wait"], "answers": [{"plan": plan}]}],
        "unmatched": {"narrative": "You hear {prompt}."},
    }
    (story / "prompts.json").write_text(json.dumps(prompts))
    return story


class TestChat:
    def test_chat_accepts_number_of_choice(self) -> None:
        done = run("chat.py", words="I light the torch and examine the door\n1\n\n7\n")
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        shown = done.stdout
        assert "… Lighting torch..." in shown and "… Examining door..." in shown
        assert "[image: " in shown and "  1. Open\n  2. Leave\n" in shown
        assert "the door swings inward" in shown
        assert '"7"' in shown, "not the number of a choice, so it is the prompt"

    def test_ctrl_c_cancels_turn_but_not_game(
        self, terminal: Callable[..., Terminal], slow_story: Path
    ) -> None:
        chat = terminal(str(EXAMPLES / "chat.py"), str(slow_story))
        chat.until("> ")
        chat.type("I wait\n")
        tool = int(chat.until(r"waiting as \d+\n").split()[-1])
        chat.type("\x03")
        chat.until(r"\(cancelled\)\n> ")
        chat.type("an owl\n")
        chat.until("You hear an owl.\n> ")
        assert is_gone(tool)
        chat.interrupt_until(r"\(cancelled\)\n> ")
        chat.type("\x04")
        assert chat.status() == 0

    def test_missing_story_is_reported(self) -> None:
        done = run("chat.py", "/nowhere")
        assert done.returncode == 1
        assert "/nowhere" in done.stderr and "Traceback" not in done.stderr


class TestNarrator:
    def test_narrator_replans_only_failed_tools(self) -> None:
        done = run("narrator.py")
        assert done.returncode == 0 and done.stderr == "", done.stderr
        assert done.stdout.count("plan_started") == 2
        assert done.stdout.count("Lighting torch...") == 1, (
            "the tool that succeeded does not run again"
        )
        assert "The lever is rusted fast. You see to the lever another way." in done.stdout
        assert "Blow 3 of 3" in done.stdout and "cannot see" not in done.stdout
        assert "- Go down the stairs" in done.stdout
        assert "after 2 plans" in done.stdout and "{'pulled': True}" in done.stdout

    def test_tools_read_state(self) -> None:
        done = run("narrator.py", "I pull the lever")
        assert "You cannot see where to put the iron." in done.stdout

    def test_prompt_from_arguments_is_played(self) -> None:
        done = run("narrator.py", "I sing")
        assert "There is a torch here, a lever and a door." in done.stdout
        assert "after 1 plans: {}" in done.stdout


class TestNotebook:
    def test_notebook_writes_page(self, tmp_path: Path) -> None:
        page = tmp_path / "story.html"
        done = run("notebook.py", str(page))
        assert done.returncode == 0 and done.stderr == "", done.stderr
        text = page.read_text(encoding="utf-8")
        assert text.startswith("<!doctype html>")
        assert "You reach for the torch" in text and "data:image/png;base64," in text
        assert "door_inscription" in text and "Nobody should drink that." in text
        assert "skipped" in text

    def test_notebook_without_file_name_writes_nothing(self) -> None:
        assert run("notebook.py").returncode == 0
        assert list(SOURCE.glob("*.html")) == []


class Serving:
    """The server as a process, and a client of it."""

    def __init__(self, *story: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(EXAMPLES / "server.py"), "0", *story],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=child_environment(),
            cwd=SOURCE,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rpartition(":")[2])

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection = self.connect()
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        connection.request(method, path, text)
        answer = connection.getresponse()
        assert answer.getheader("Content-Type") == "application/json"
        document = json.loads(answer.read())
        connection.close()
        return answer.status, document

    def play(self, prompt: Any, player: str = "ada") -> tuple[int, Any]:
        return self.request("POST", f"/prompt?player={player}", {"prompt": prompt})

    def events(self, player: str = "ada") -> http.client.HTTPResponse:
        connection = self.connect()
        connection.request("GET", f"/events?player={player}")
        answer = connection.getresponse()
        assert answer.getheader("Content-Type") == "text/event-stream"
        return answer

    def stop(self, number: signal.Signals = signal.SIGTERM) -> str:
        """Ends the server; returns its standard error."""
        self.process.send_signal(number)
        said = self.process.communicate(timeout=SECONDS)[1]
        assert self.process.returncode == 0, said
        return said


def read_event(stream: http.client.HTTPResponse) -> dict[str, Any] | None:
    """Returns the next server-sent event; None at the end of the stream."""
    fields: dict[str, str] = {}
    while text := stream.readline().decode().rstrip("\n"):
        name, _, value = text.partition(": ")
        fields[name] = value
    if not fields:
        return None
    record: dict[str, Any] = json.loads(fields["data"])
    assert fields["id"] == str(record["seq"]) and fields["event"] == record["kind"]
    return record


def waiting_tool(stream: http.client.HTTPResponse) -> int:
    """Reads the stream up to the event of the slow tool; returns the tool's process id."""
    while (record := read_event(stream)) is not None:
        if "waiting as " in record["event"].get("message", ""):
            return int(record["event"]["message"].split()[-1])
    raise AssertionError("the tool said nothing")


def served(*story: str) -> Iterator[Serving]:
    server = Serving(*story)
    yield server
    server.process.kill()
    server.process.communicate()


@pytest.fixture
def serving() -> Iterator[Serving]:
    yield from served()


@pytest.fixture
def serving_slowly(slow_story: Path) -> Iterator[Serving]:
    yield from served(str(slow_story))


class TestServer:
    def test_prompt_returns_turn_with_choices(self, serving: Serving) -> None:
        status, turn = serving.play("I light the torch and examine the door")
        assert status == 200
        assert turn["narrative"].startswith("You reach for the torch")
        assert turn["outcome"] == "completed" and turn["choices"] == ["Open", "Leave"]
        assert serving.stop() == ""

    def test_events_arrive_while_plan_runs(self, serving: Serving) -> None:
        stream = serving.events()
        playing = serving.connect()
        playing.request("POST", "/prompt?player=ada", json.dumps({"prompt": "I light the torch"}))
        kinds = []
        while (record := read_event(stream)) is not None:
            kinds.append(record["kind"])
            if record["kind"] == "plan_ended":
                break
        assert kinds[:2] == ["prompt", "plan_started"] and "tool_event" in kinds
        assert playing.getresponse().status == 200
        assert serving.stop() == ""

    def test_slow_turn_does_not_block_other_players(self, serving_slowly: Serving) -> None:
        stream = serving_slowly.events()
        playing = serving_slowly.connect()
        playing.request("POST", "/prompt?player=ada", json.dumps({"prompt": "I wait"}))
        waiting_tool(stream)
        assert serving_slowly.play("an owl", "bob")[1]["narrative"] == "You hear an owl."
        assert not select.select([playing.sock], [], [], 0)[0]
        second, third = serving_slowly.connect(), serving_slowly.connect()
        for each in (second, third):
            each.request("POST", "/prompt?player=ada", json.dumps({"prompt": "a mouse"}))
        # The order of the two is undefined: one waits, the other is refused.
        by_socket = {second.sock: second, third.sock: third}
        [refused] = select.select(list(by_socket), [], [], SECONDS)[0]
        assert by_socket[refused].getresponse().status == 409, "only one prompt may wait"

    def test_each_player_has_own_session(self, serving: Serving) -> None:
        ada, bob = serving.events("ada"), serving.events("bob")
        assert serving.play("I examine the door", "ada")[0] == 200
        assert serving.play("I sing", "bob")[0] == 200
        first, second = read_event(ada), read_event(bob)
        assert first is not None and second is not None
        assert first["event"]["text"] == "I examine the door"
        assert second["event"]["text"] == "I sing"
        assert first["sessionId"] != second["sessionId"]

    def test_invalid_requests_get_error_status(self, serving: Serving) -> None:
        assert serving.request("GET", "/nowhere")[0] == 404
        assert serving.request("GET", "/prompt")[0] == 405
        assert serving.request("POST", "/prompt", "no JSON")[0] == 400
        assert serving.play(5)[0] == 400
        status, document = serving.play("")
        assert status == 400 and "empty" in document["error"]
        for sent, status in (
            (b"what is this thing\r\n\r\n", 400),
            (b"POST /prompt HTTP/1.1\r\nContent-Length: some\r\n\r\n", 400),
            (b"POST /prompt HTTP/1.1\r\nContent-Length: 70000\r\n\r\n", 413),
        ):
            with socket.create_connection(("127.0.0.1", serving.port), SECONDS) as raw:
                raw.sendall(sent)
                assert raw.recv(4096).startswith(b"HTTP/1.1 %d " % status), sent
        assert serving.play("I sing")[0] == 200, "the server still works"
        assert serving.stop() == ""

    def test_disconnected_client_is_dropped(self, serving: Serving) -> None:
        stream = serving.events()
        stream.close()
        socket.create_connection(("127.0.0.1", serving.port), SECONDS).close()
        assert serving.play("I sing")[0] == 200
        assert serving.stop() == ""

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_signal_ends_server_cleanly(
        self, serving_slowly: Serving, number: signal.Signals
    ) -> None:
        serving = serving_slowly
        stream = serving.events()
        playing = serving.connect()
        playing.request("POST", "/prompt?player=ada", json.dumps({"prompt": "I wait"}))
        tool = waiting_tool(stream)
        idle = socket.create_connection(("127.0.0.1", serving.port), SECONDS)
        assert serving.stop(number) == ""
        assert is_gone(tool)
        while read_event(stream) is not None:
            pass
        answer = playing.getresponse()
        assert answer.status == 200, "a waiting client is answered"
        assert json.loads(answer.read())["outcome"] == "cancelled"
        assert idle.recv(1) == b""
        idle.close()


# covers: 002-context-one-state
def test_ferry_runs_four_kinds_of_tools_in_one_trace(tmp_path: Path) -> None:
    trace = tmp_path / "trace.ndjson"
    ended = run(
        "ferry.py",
        str(BUILD / "share" / "narratoria" / "stories" / "ferry"),
        "--events",
        str(trace),
    )
    assert ended.returncode == 0, ended.stderr
    plan, level, bell, state = ended.stdout.splitlines()
    assert plan == "You ring the bell, twice."
    assert level == "The water stands at 7 feet. The ferryman takes 7 coins and has 7 now."
    assert bell == "He has heard the bell before."
    assert json.loads(state) == {
        "bell": {"rung": True},
        "river": {"level": 7},
        "ferryman": {"purse": 7},
    }

    records = [json.loads(record) for record in trace.read_text().splitlines()]
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    patches = [
        (record["toolId"], record["event"]["patch"])
        for record in records
        if record["kind"] == "tool_event" and record["event"]["type"] == "state_patch"
    ]
    assert patches == [
        ("bell", {"bell": {"rung": True}}),  # the plan's process
        ("tide-1", {"river": {"level": 7}}),  # the plugin's function
        ("pay_toll-2", {"ferryman": {"purse": 7}}),  # the function in Python
        ("ring-bell-3", {"bell": {"rung": True}}),  # the script's process
    ]
    # The script: its CALLs with their lines, and its output.
    source = (SOURCE / "examples" / "stories" / "ferry" / "ferry.nuwa").read_text().splitlines()
    lines = [
        record["event"]["line"]
        for record in records
        if record["kind"] == "tool_pending" and "line" in record["event"]
    ]
    assert ["CALL tide" in source[lines[0] - 1], "CALL pay_toll" in source[lines[1] - 1]] == [
        True,
        True,
    ]
    assert [record["event"]["text"] for record in records if record["kind"] == "narrative"] == [
        plan,
        f"{level}\n{bell}",
    ]
    assert records[-1]["kind"] == "turn_ended"
