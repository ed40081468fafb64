# SPDX-License-Identifier: Apache-2.0
"""Starts a real `narratoria serve` and sends requests over sockets, like browsers and attackers."""

import http.client
import json
import re
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cli"))

from harness import (BUILD, DEADLINE, NARRATORIA, SOURCE, TORCH, Command, default_signals, done,  # noqa: E402
                     environment, event, log, patch)

__all__ = ["default_signals", "BUILD", "DEADLINE", "NARRATORIA", "SOURCE", "TORCH", "Command", "Page", "done", "environment", "sanitizers",
           "assets_of", "event", "exchange", "has_page", "head", "is_asset", "log", "page_with_a_picture", "patch",
           "picture", "plan", "said", "statuses", "tool_that_waits"]


def has_page():
    return (BUILD / "lib/narratoria/plugins/web.so").exists()


def said(*lines, before="", after=""):
    """Returns a shell tool that writes these lines."""
    text = "".join(f"{line}\n" for line in lines)
    return f"#!/bin/sh\ncat >/dev/null\n{before}\ncat <<'EVENTS'\n{text}EVENTS\n{after}\n"


def tool_that_waits():
    """Returns a shell tool that logs "ready" and then runs until it is terminated."""
    return (f"#!/bin/sh\nexec 2>/dev/null\ntrap 'exit 0' TERM\necho '{log('ready')}'\n"
            "while :; do sleep 60 & wait $!; done\n")


def picture(path, media_type="image/png"):
    """Returns the event of a picture, or of another file."""
    return event("asset", assetId="a", kind=media_type.partition("/")[0], mediaType=media_type, path=str(path))


def is_asset(record):
    return record["event"].get("type") == "asset"


def assets_of(records):
    """The numbers of the assets among these records."""
    return [record["seq"] for record in records if is_asset(record)]


def plan(*tools, **members):
    return {"plan": {"tools": [
        {"toolId": tool, "toolPath": f"tools/{tool}", "retryPolicy": {"maxRetries": 0, "backoffMs": 1}}
        for tool in tools], **members}}


def sanitizers():
    """The sanitizer libraries that the command is linked with."""
    needed = subprocess.run(["ldd", NARRATORIA], capture_output=True, text=True, check=True).stdout
    return re.findall(r"=> (\S*/lib[at]san\S*)", needed)


class Page:
    """The page of one session, with the cookie of an authenticated browser."""

    def __init__(self, folder, story, *arguments, env=None, program=(NARRATORIA, "serve", "--json", "--story")):
        self.errors = open(folder / "serve.err", "w+b")
        self.process = subprocess.Popen(
            [*program, story, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors,
            env=env or environment(), cwd=folder, preexec_fn=default_signals)
        ready, _, _ = select.select([self.process.stdout], [], [], DEADLINE)
        line = self.process.stdout.readline() if ready else b""
        assert line, self.said()
        self.address = json.loads(line)["url"]
        self.port = json.loads(line)["port"]
        self.token = self.address.partition("#token=")[2]
        self.host = self.address.partition("//")[2].partition(":")[0]
        self.origin = f"http://{self.host}:{self.port}"
        self.open = []
        self.cookie = self.enter().has(200).headers["Set-Cookie"].partition(";")[0]

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode()

    # ---------------------------------------------------------------- requests

    def enter(self, token=None, cookie=None, **headers):
        """Posts the token, as the entrance does."""
        headers.setdefault("Content_Type", "application/json")
        body = json.dumps({"token": self.token if token is None else token}).encode()
        return self.post("/api/enter", body, cookie=cookie, **headers)

    def connect(self, timeout=DEADLINE, **options):
        made = socket.create_connection((self.host, self.port), timeout=timeout, **options)
        self.open.append(made)
        return made

    def ask(self, method, path, body=None, cookie="", **headers):
        """`cookie`: "" sends the right one, None sends none. Header names have _ for -."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=DEADLINE)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if cookie is not None:
            named["Cookie"] = cookie or self.cookie
        try:
            connection.request(method, path, body, named)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def post(self, path, body=b"", **headers):
        headers.setdefault("Origin", self.origin)
        return self.ask("POST", path, body, **headers)

    def prompt(self, text):
        return self.post("/api/prompt", json.dumps({"text": text}).encode(),
                         Content_Type="application/json")

    def play(self, text="go"):
        """Plays a prompt; returns the records up to the end of its turn."""
        self.prompt(text)
        return self.stream().until_turn_ended()

    def raw(self, request):
        """Sends bytes unchanged and returns everything until the server closes the connection. The
        request must cause it to do so."""
        with socket.create_connection((self.host, self.port), timeout=DEADLINE) as connection:
            connection.sendall(request)
            came = b""
            while piece := connection.recv(65536):
                came += piece
            return came

    def stream(self, after=0, last_event_id=None, receive_buffer=None):
        one = Stream(self, after, last_event_id, receive_buffer)
        self.open.append(one)
        return one

    # ---------------------------------------------------------------- shutdown

    def end(self, number=signal.SIGTERM):
        for one in self.open:
            one.close()
        if self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise
        self.process.stdout.close()
        return self.process.returncode


def page_with_a_picture(folder, content):
    """Serves a story whose only turn has made a picture; its number is the page's `asset`."""
    (folder / "picture.png").write_bytes(content)
    tool = said(picture(folder / "picture.png"), done())
    page = Page(folder, Command(folder).story({"go": [plan("make")]}, {"make": tool}))
    [page.asset] = assets_of(page.play())
    return page


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def has(self, status, code=None):
        """Checks the status, and the code of a refusal; returns itself."""
        assert self.status == status, (self.status, self.body)
        assert code is None or self.code == code, self.body
        return self

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json["code"]


class Message:
    """One message of the stream."""

    def __init__(self, lines):
        self.size = sum(len(line) for line in lines)
        assert not any(b"\r" in line for line in lines), "a carriage return ends a line for a browser"
        fields = [line.decode().rstrip("\n").partition(": ")[::2] for line in lines]
        self.data = [json.loads(value) for name, value in fields if name == "data"]
        self.name = next((value for name, value in fields if name == "event"), "message")
        self.id = next((int(value) for name, value in fields if name == "id"), None)


class Stream:
    """An event stream: its session message and its records."""

    def __init__(self, page, after, last_event_id, receive_buffer):
        self.connection = socket.socket()
        if receive_buffer:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.connection.settimeout(DEADLINE)
        self.connection.connect((page.host, page.port))
        head = f"GET /api/events?after={after} HTTP/1.1\r\nHost: {page.host}:{page.port}\r\nCookie: {page.cookie}\r\n"
        if last_event_id is not None:
            head += f"Last-Event-ID: {last_event_id}\r\n"
        self.connection.sendall(f"{head}\r\n".encode())
        self.response = None
        self.is_begun = False
        self.messages = []
        self.last = last_event_id if last_event_id is not None else after

    def begin(self):
        """Reads the headers and the session message."""
        if not self.is_begun:
            self.is_begun = True
            self.response = http.client.HTTPResponse(self.connection)
            self.response.begin()
            assert self.response.status == 200
            assert self.response.readline() == b"retry: 1000\n"
            assert self.response.readline() == b"\n"
            first = self.message()
            assert first.name == "session"
            [self.session] = first.data
            self.last = max(self.last, self.session["after"])
        return self

    def message(self):
        lines = []
        while True:
            line = self.response.readline()
            assert line, "the stream ended"
            if line == b"event: alive\n":
                self.response.readline()
                self.response.readline()
            elif line != b"\n":
                lines.append(line)
            else:
                return Message(lines)

    def batch(self):
        """The next batch of records. Fails if their numbers are not consecutive."""
        self.begin()
        one = self.message()
        self.messages.append(one)
        for record in one.data:
            is_first = self.last == 0 and self.session["last"] == 0
            assert is_first or record["seq"] == self.last + 1, "a record is missing or repeated"
            self.last = record["seq"]
        assert one.id == self.last
        return one.data

    def until(self, wanted):
        """All records up to the batch with the first one that `wanted` accepts."""
        records = []
        limit = time.monotonic() + DEADLINE
        while not any(wanted(record) for record in records[-2000:]):
            assert time.monotonic() < limit, f"timeout; the last record was {records[-1:]}"
            records += self.batch()
        return records

    def until_turn_ended(self):
        return self.until(lambda record: record["kind"] == "turn_ended")

    def until_log(self, message="ready"):
        return self.until(lambda record: record["event"].get("message") == message)

    def close(self):
        self.connection.close()
        if self.response:
            self.response.close()


# ---------------------------------------------------------------- requests as bytes


def head(page, method, path, *lines, host=None, cookie=None):
    """The bytes of a request. `cookie`: None sends none, "" sends the right one."""
    first = [f"{method} {path} HTTP/1.1", f"Host: {host or f'{page.host}:{page.port}'}"]
    if cookie is not None:
        first.append(f"Cookie: {cookie or page.cookie}")
    return "\r\n".join([*first, *lines, "", ""]).encode()


def exchange(page, request, patience=DEADLINE):
    """Sends the bytes. Returns the response until the server closes or is silent for `patience`."""
    with socket.create_connection((page.host, page.port), timeout=DEADLINE) as connection:
        came = b""
        try:
            connection.sendall(request)
            while select.select([connection], [], [], patience)[0]:
                piece = connection.recv(65536)
                if not piece:
                    break
                came += piece
        except ConnectionError:
            pass
        return came


def statuses(came):
    return [int(part.split(b" ", 1)[0]) for part in came.split(b"HTTP/1.1 ")[1:]]
