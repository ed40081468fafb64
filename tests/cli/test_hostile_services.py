# SPDX-License-Identifier: Apache-2.0
"""Project tools that are HTTP services with hostile servers.

Each call ends with the right result or with an error that says what was wrong, and does not affect
the next call.
"""

import gzip
import json
import socket
import struct
import threading

import pytest

BIG = 100_000_000
OK = b'{"ok": true, "result": "right"}'
TIME = "timeout_ms: 500"


def answer(body=OK, head="HTTP/1.1 200 OK", *headers):
    lines = [head, f"Content-Length: {len(body)}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def chunk(body):
    return f"{len(body):x}\r\n".encode() + body + b"\r\n"


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class Server:
    """Serves each connection with `act(peer, number)`; `requests` are the requests it has read."""

    def __init__(self, act):
        self.act = act
        self.requests = []
        self.ended = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/tools"
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.listener.close()

    def accept(self):
        number = 0
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            number += 1
            threading.Thread(target=self.serve, args=(connection, number), daemon=True).start()

    def serve(self, connection, number):
        with connection:
            try:
                self.act(Peer(self, connection), number)
            except (ConnectionError, TimeoutError, EOFError):
                pass


class Peer:
    def __init__(self, server, connection):
        self.server = server
        self.connection = connection
        self.file = connection.makefile("rb")

    def request(self):
        """The path and the body of the next request."""
        line = self.file.readline()
        if not line:
            raise EOFError
        length = 0
        while (header := self.file.readline()) != b"\r\n":
            name, _, value = header.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        request = line.split()[1].decode(), self.file.read(length)
        self.server.requests.append(request)
        return request

    def send(self, data):
        self.connection.sendall(data)

    def stall(self):
        """Waits until the client has closed the connection or the test has ended."""
        self.connection.settimeout(0.05)
        while not self.server.ended.is_set():
            try:
                if not self.connection.recv(65536):
                    return
            except TimeoutError:
                pass

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # The file shares the socket, which stays open until both are closed.
        self.file.close()


def sends(data, then=None):
    """Reads the request and sends `data`; then closes the connection or calls `then`."""

    def act(peer, _):
        peer.request()
        peer.send(data)
        if then is not None:
            then(peer)

    return act


def floods(begin, piece):
    def act(peer, _):
        peer.request()
        peer.send(begin)
        while True:
            peer.send(piece)

    return act


def dribbles(peer, _):
    peer.request()
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    peer.connection.settimeout(0.01)
    while not peer.server.ended.is_set():
        peer.send(b" ")
        try:
            peer.connection.recv(1)
            return
        except TimeoutError:
            pass


@pytest.fixture
def call(command):
    """Calls the tool "one" at a URL; returns the finished command and the trace of the call."""
    project = command.folder / "project"
    (project / ".namel3ss").mkdir(parents=True)

    def bind(url, *fields, settings=""):
        lines = ["entry: tools:run", "runner: service", f"url: {url}", *fields]
        (project / ".namel3ss" / "tools.yaml").write_text(
            "tools:\n  one:\n" + "".join(f"    {line}\n" for line in lines))
        (project / "namel3ss.toml").write_text(settings)

    def call(url, *fields, settings="", payload=None):
        bind(url, *fields, settings=settings)
        trace = command.folder / "trace.ndjson"
        given = command.file("input.json", payload or {})
        ran = command("tool", "run", "one", "--project", project, "--trace", trace, "--input", f"@{given}")
        return ran, json.loads(trace.read_text().splitlines()[-1])

    call.project = project
    call.bind = bind
    return call


def stalls(peer, _):
    peer.stall()


def reads_and_stalls(peer, _):
    peer.request()
    peer.stall()


def resets(peer, _):
    peer.request()
    peer.reset()


STALL = Peer.stall
FAULTS = {
    # Stalls at each stage.
    "reads nothing": (stalls, "TIMEOUT"),
    "answers nothing": (reads_and_stalls, "TIMEOUT"),
    "stalls in the status": (sends(b"HTTP/1.", STALL), "TIMEOUT"),
    "stalls in the headers": (sends(b"HTTP/1.1 200 OK\r\nContent-Le", STALL), "TIMEOUT"),
    "stalls before the body": (sends(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", STALL), "TIMEOUT"),
    "stalls in the body": (sends(answer()[:-5], STALL), "TIMEOUT"),
    "stalls in a chunk": (sends(CHUNKED + b"20\r\nhalf", STALL), "TIMEOUT"),
    "stalls before the last chunk": (sends(CHUNKED + chunk(OK), STALL), "TIMEOUT"),
    "stalls in the trailers": (sends(CHUNKED + chunk(OK) + b"0\r\nX: y\r\n", STALL), "TIMEOUT"),
    "stalls without a length": (sends(b"HTTP/1.1 200 OK\r\n\r\n" + OK, STALL), "TIMEOUT"),
    "sends a byte now and then": (dribbles, "TIMEOUT"),
    # Ends early or lies about lengths.
    "resets": (resets, "SERVICE_LOST"),
    "closes": (sends(b""), "SERVICE_LOST"),
    "resets in the body": (sends(answer()[:-5], Peer.reset), "SERVICE_LOST"),
    "has a length that is too long": (sends(answer(OK + b" " * 5)[:-5]), "SERVICE_LOST"),
    "has a length that is too short": (sends(answer(OK).replace(b": 31", b": 20")), "PROTOCOL_ERROR"),
    "has a negative length": (sends(answer(OK).replace(b": 31", b": -31")), "PROTOCOL_ERROR"),
    "has a length that is not a number": (sends(answer(OK).replace(b": 31", b": many")), "PROTOCOL_ERROR"),
    "has a length beyond 64 bits": (sends(answer(OK).replace(b": 31", b": 99999999999999999999")),
                                      "PROTOCOL_ERROR"),
    "has two lengths": (sends(answer(OK, "HTTP/1.1 200 OK", "Content-Length: 5")), None),
    "has a chunk beyond 64 bits": (sends(CHUNKED + b"fffffffffffffffff\r\n" + OK), "PROTOCOL_ERROR"),
    "has a chunk length that is not a number": (sends(CHUNKED + b"some\r\n" + OK + b"\r\n0\r\n\r\n"),
                                                "PROTOCOL_ERROR"),
    "has a chunk that exceeds its length": (sends(CHUNKED + b"5\r\n" + OK + b"\r\n0\r\n\r\n"), "PROTOCOL_ERROR"),
    "has no last chunk": (sends(CHUNKED + chunk(OK)), "SERVICE_LOST"),
    # Too much.
    "sends 100 MB": (floods(f"HTTP/1.1 200 OK\r\nContent-Length: {BIG}\r\n\r\n".encode(), b"x" * 100_000),
                     "PROTOCOL_ERROR"),
    "sends chunks without end": (floods(CHUNKED, chunk(b" " * 100_000)), "PROTOCOL_ERROR"),
    "sends small chunks without end": (floods(CHUNKED, chunk(b"1") * 1000), "PROTOCOL_ERROR"),
    "sends headers without end": (floods(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n" * 1000), "PROTOCOL_ERROR"),
    "sends trailers without end": (floods(CHUNKED + chunk(OK) + b"0\r\n", b"X-A: b\r\n" * 1000), None),
    "sends hints without end": (floods(b"", b"HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n" * 100), None),
    "sends a packed bomb": (sends(answer(gzip.compress(b" " * BIG), "HTTP/1.1 200 OK",
                                         "Content-Encoding: gzip")), "PROTOCOL_ERROR"),
    # Not HTTP, or an unsupported version or feature.
    "speaks HTTP/0.9": (sends(OK), "PROTOCOL_ERROR"),
    "speaks HTTP/3.0": (sends(answer(OK, "HTTP/3.0 200 OK")), "PROTOCOL_ERROR"),
    "has a status that is not a number": (sends(answer(OK, "HTTP/1.1 yes OK")), "PROTOCOL_ERROR"),
    "has a status of 7": (sends(answer(OK, "HTTP/1.1 7 OK")), "PROTOCOL_ERROR"),
    "switches protocols": (sends(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + OK), None),
    "redirects": (sends(answer(b"", "HTTP/1.1 307 Temporary Redirect", "Location: /tools")), "PROTOCOL_ERROR"),
    "redirects to a file": (sends(answer(b"", "HTTP/1.1 301 Moved", "Location: file:///etc/passwd")),
                            "PROTOCOL_ERROR"),
    # HTTP, but not a valid reply.
    "answers with nothing": (sends(answer(b"")), "PROTOCOL_ERROR"),
    "answers with no content": (sends(b"HTTP/1.1 204 No Content\r\n\r\n"), "PROTOCOL_ERROR"),
    "answers with half of JSON": (sends(answer(OK[:-1])), "PROTOCOL_ERROR"),
    "answers with two objects": (sends(answer(OK + OK)), "PROTOCOL_ERROR"),
    "answers with a list": (sends(answer(b"[" + OK + b"]")), "PROTOCOL_ERROR"),
    "answers with deep JSON": (sends(answer(b"[" * 200_000)), "PROTOCOL_ERROR"),
    "answers with invalid UTF-8": (sends(answer(b'{"ok": true, "result": "\xff\xfe"}')), "PROTOCOL_ERROR"),
    "answers with a NUL": (sends(answer(OK + b"\0")), "PROTOCOL_ERROR"),
    "answers in another version": (sends(answer(b'{"ok": true, "protocol_version": 2}')), "PROTOCOL_ERROR"),
    "answers with an error that is not a reply": (sends(answer(b"\x1b[2J oh", "HTTP/1.1 500 Oh")), "HTTP_STATUS"),
}
# libcurl decides which of two lengths it uses.
MAY_SUCCEED = {"has two lengths"}


@pytest.mark.parametrize("how", FAULTS, ids=lambda how: how.replace(" ", "-"))
def test_call_ends_cleanly_if_the_service(call, how):
    act, code = FAULTS[how]
    with Server(act) as server:
        ran, trace = call(server.url, TIME if code == "TIMEOUT" else "timeout_ms: 60000")
    if how in MAY_SUCCEED and ran.status == 0:
        assert json.loads(ran.out)["result"] == "right" and trace["status"] == "ok", (ran, trace)
        return
    assert ran.status == 1, ran
    assert code is None or code in ran.err, ran
    assert trace["type"] == "tool_call" and trace["status"] == "error" and trace["error_message"], trace
    assert "\x1b" not in ran.err, ran


def test_trailers_and_early_hints_are_ignored(call):
    reply = b"HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n" + CHUNKED
    reply += chunk(OK[:7]) + chunk(OK[7:]) + b"0\r\nContent-Length: 3\r\nX-Trailer: y\r\n\r\n"
    with Server(sends(reply)) as server:
        ran, trace = call(server.url)
    assert ran.status == 0 and trace["status"] == "ok", ran


def test_reply_before_the_request_is_read_is_accepted(call):
    def act(peer, _):
        peer.file.readline()
        peer.send(answer(b'{"ok": false, "error": {"type": "TooLarge", "message": "no"}}', "HTTP/1.1 413 Large",
                         "Connection: close"))
        peer.stall()

    with Server(act) as server:
        ran, trace = call(server.url, payload={"text": "x" * 5_000_000})
    assert ran.status == 1, ran
    assert trace["error_type"] == "TooLarge", (ran, trace)


GOOD = {"ok": True, "enforcement": "enforced", "supported_guarantees": {"no_network": True}}
HANDSHAKES = {
    "version 2": ({**GOOD, "protocol_version": 2}, "with protocol version 2"),
    "version as text": ({**GOOD, "protocol_version": "1"}, "with protocol version"),
    "declared": ({**GOOD, "enforcement": "declared"}, '"declared"'),
    "verified": ({**GOOD, "enforcement": "verified"}, '"verified"'),
    "enforcement true": ({**GOOD, "enforcement": True}, '"none"'),
    "ok as text": ({**GOOD, "ok": "true"}, 'without "ok"'),
    "ok missing": ({"enforcement": "enforced"}, 'without "ok"'),
    "nothing supported": ({**GOOD, "supported_guarantees": None}, "does not enforce no_network"),
    "a list": ([GOOD], "something that is not a JSON object"),
}


@pytest.mark.parametrize("how", HANDSHAKES, ids=lambda how: how.replace(" ", "-"))
def test_no_call_follows_a_handshake_with(call, how):
    document, told = HANDSHAKES[how]

    def act(peer, _):
        while True:
            peer.request()
            peer.send(answer(json.dumps(document).encode()))

    with Server(act) as server:
        ran, trace = call(server.url, settings="[capability_overrides]\none = { no_network = true }\n")
    assert ran.status == 1 and "COVERAGE_MISSING" in ran.err and told in ran.err, ran
    assert [path for path, _ in server.requests] == ["/capabilities/handshake"]
    assert trace["error_type"] == "CapabilityViolation"


@pytest.mark.parametrize("act, code", [
    (reads_and_stalls, "TIMEOUT"), (resets, "SERVICE_LOST"), (sends(answer(b" " * 2_000_000)), "PROTOCOL_ERROR"),
    (sends(answer(b"", "HTTP/1.1 302 Found", "Location: /other")), "PROTOCOL_ERROR"),
], ids=["stalls", "resets", "is too long", "redirects"])
def test_no_call_follows_a_handshake_that(call, act, code):
    with Server(act) as server:
        ran, _ = call(server.url, TIME if code == "TIMEOUT" else "timeout_ms: 60000",
                      settings="[capability_overrides]\none = { no_network = true }\n")
    assert ran.status == 1 and code in ran.err, ran
    # Before a timeout the server may not have read the request.
    assert {path for path, _ in server.requests} <= {"/capabilities/handshake"}
    assert server.requests or code == "TIMEOUT"


TWICE = 'PRINT(CALL one { n: 1 })\nPRINT(CALL one { n: 2 })\n'


def twice(command, call, server):
    """Makes two calls in one session, one after the other."""
    call.bind(server.url)
    script = command.file("twice.nuwa", TWICE)
    return command("script", script, "--project", call.project)


@pytest.fixture
def number():
    """Answers a request with the number in its payload."""
    def act(peer, extra=b""):
        _, body = peer.request()
        payload = json.loads(body)["payload"]
        peer.send(answer(json.dumps({"ok": True, "result": payload.get("n")}).encode()) + extra)
    return act


def test_closed_connection_is_reopened_or_the_call_is_lost(command, call, number):
    with Server(lambda peer, _: number(peer)) as server:
        ran = twice(command, call, server)
    # The second request may be sent before the client sees that the connection has closed.
    assert ran.lines == ["1", "2"] or (ran.lines == ["1"] and "is not sent again" in ran.err), ran
    assert len(set(server.requests)) == len(server.requests)


def test_request_on_a_closing_connection_is_not_sent_twice(command, call, number):
    def act(peer, _):
        number(peer)
        peer.request()

    with Server(act) as server:
        ran = twice(command, call, server)
    assert ran.status == 1 and ran.lines == ["1"] and "is not sent again" in ran.err, ran
    assert len(server.requests) == 2


@pytest.mark.parametrize("extra", [answer(b'{"ok": true, "result": "forged"}'), b"\0" * 100, b"HTTP/1.1 200 "],
                         ids=["an answer", "zeros", "half an answer"])
def test_data_after_a_reply_is_not_taken_as_a_reply(command, call, number, extra):
    def act(peer, _):
        while True:
            number(peer, extra)

    with Server(act) as server:
        ran = twice(command, call, server)
    assert "forged" not in ran.out, ran
    assert ran.lines[:1] == ["1"], ran
    assert ran.status == 1 or ran.lines == ["1", "2"], ran
