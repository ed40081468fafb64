# SPDX-License-Identifier: Apache-2.0
"""A server with the chat completions of OpenAI, for tests, that answers what a script tells it to.

    with ChatServer(says({"narrative": "It is dark."})) as server:
        ...
    assert server.requests[0].messages[-1]["content"] == "I look"

The first request gets the first reply, and so on; further requests get the last one. A reply is a
function of the connection (Peer). It may misbehave in any way; connections are plain sockets.

The question by which a client finds out whether the server keeps to a form is not among `requests`, but
among `probes`. It is answered in this form, or with what the function `probe` returns for it. Requests to
count tokens are among `counted`; the server does not count, unless `counter` replies.
"""

import json
import select
import socket
import struct
import threading
import time

DEADLINE = 60
USAGE = {"prompt_tokens": 900, "completion_tokens": 120, "prompt_tokens_details": {"cached_tokens": 800}}


class Request:
    """A request as the server received it. `closed` is set when the client has closed the connection."""

    def __init__(self, line, headers, body, at):
        self.line = line
        self.headers = headers  # by name, in lower case
        self.body = json.loads(body)
        self.at = at  # time.monotonic()
        self.closed = threading.Event()
        self.sent = 0  # bytes of the reply

    @property
    def messages(self):
        return self.body["messages"]

    @property
    def text(self):
        """What the model reads."""
        return "\n".join(message["content"] for message in self.messages)


SIGN = {"sign": "heron"}


class ChatServer:
    def __init__(self, *replies, probe=lambda request: says(SIGN, usage=None), counter=None):
        self.replies = replies
        self.probe = probe
        self.counter = counter or whole(b"", "404 Not Found")
        self.probes = []
        self.counted = []
        self.requests = []
        self.connections = 0
        self.ended = threading.Event()
        self.lock = threading.Lock()
        self.has_request = threading.Condition(self.lock)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        # Only shutdown() wakes a thread that is in accept().
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def wait_for_request(self, number=1):
        """Returns the request with this number, from 1, when it has arrived."""
        with self.has_request:
            arrived = self.has_request.wait_for(lambda: len(self.requests) >= number, DEADLINE)
        assert arrived, f"request {number} did not arrive; {len(self.requests)} did"
        return self.requests[number - 1]

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        peer = Peer(self, connection)
        try:
            while peer.read_request():
                peer.reply(peer)
        except (OSError, EOFError):
            pass
        finally:
            if peer.request:
                peer.request.closed.set()
            peer.file.close()
            connection.close()


class Peer:
    """A connection. `request` is the request that is being answered."""

    def __init__(self, server, connection):
        self.server = server
        self.connection = connection
        self.file = connection.makefile("rb")
        self.request = None
        self.reply = None

    def read_request(self):
        line = self.file.readline()
        if not line:
            return False
        at = time.monotonic()
        headers = {}
        while (header := self.file.readline().strip()):
            name, _, value = header.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        body = self.file.read(int(headers.get("content-length", 0)))
        with self.server.has_request:
            if self.request:
                self.request.closed.set()  # its connection serves this request now
            self.request = Request(line.decode("latin-1").strip(), headers, body, at)
            if "/tokenize" in line.decode("latin-1"):
                self.reply = self.server.counter
                self.server.counted.append(self.request)
            elif "traveller" in self.request.text:
                self.reply = self.server.probe(self.request)
                self.server.probes.append(self.request)
            else:
                self.reply = self.server.replies[min(len(self.server.requests), len(self.server.replies) - 1)]
                self.server.requests.append(self.request)
            self.server.has_request.notify_all()
        return True

    def send(self, data):
        self.connection.sendall(data)
        self.request.sent += len(data)

    def is_closed(self, wait=0.0):
        """Whether the client closes the connection, or the test ends, within this many seconds."""
        if self.server.ended.is_set():
            return True
        ready, _, _ = select.select([self.connection], [], [], wait)
        return bool(ready) and not self.connection.recv(65536)

    def stall(self):
        """Waits until the client has closed the connection or the test has ended."""
        while not self.is_closed(0.02):
            pass
        raise EOFError

    def close(self):
        raise EOFError

    def reset(self):
        """Closes the connection with RST instead of FIN."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise EOFError


# ---------------------------------------------------------------- bodies


def answer(content):
    """The text of an answer: text as it is, anything else as JSON."""
    return content if isinstance(content, str) else json.dumps(content)


def delta(text=None, finish=None, **members):
    """An event with the next piece of an answer."""
    return {"object": "chat.completion.chunk", "model": "small", "choices": [
        {"index": 0, "delta": members if text is None else {"content": text, **members}, "finish_reason": finish}]}


def deltas(content, piece=16, finish="stop", usage=USAGE, reasoning=""):
    """The events of an answer in pieces of this many characters."""
    text = answer(content)
    return [
        delta("", role="assistant"),
        *(delta(reasoning_content=reasoning[at:at + piece]) for at in range(0, len(reasoning), piece)),
        *(delta(text[at:at + piece]) for at in range(0, len(text), piece)),
        delta(finish=finish),
        *([{"object": "chat.completion.chunk", "choices": [], "usage": usage}] if usage is not None else []),
    ]


def events(*documents, end="\n", colon=": ", is_done=True):
    """Server-sent events. Text is not changed; other documents become JSON."""
    texts = [each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in documents]
    texts += ["[DONE]"] if is_done else []
    return "".join(f"data{colon}{text}{end}{end}" for text in texts).encode("utf-8", "surrogatepass")


def completion(content, finish="stop", usage=USAGE, **members):
    """The body of a server that does not stream."""
    return json.dumps({"object": "chat.completion", "model": "small", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": answer(content), **members},
         "finish_reason": finish}], "usage": usage}).encode()


def error(message, **members):
    return json.dumps({"error": {"message": message, "type": "test", **members}}).encode()


# ---------------------------------------------------------------- replies


def head(status="200 OK", *headers, kind="text/event-stream", version="1.1"):
    lines = [f"HTTP/{version} {status}", *([f"Content-Type: {kind}"] if kind else []), *headers]
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode("latin-1")


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def chunked(body, *headers, piece=1 << 16, **options):
    """Replies with a chunked body; each chunk has this many bytes."""
    def reply(peer):
        peer.send(head("200 OK", "Transfer-Encoding: chunked", *headers, **options) +
                  b"".join(chunk(body[at:at + piece]) for at in range(0, len(body), piece)) + b"0\r\n\r\n")
    return reply


def whole(body=b"", status="200 OK", *headers, kind="application/json", then=lambda peer: None, **options):
    """Replies with a body of known length, then does `then`."""
    def reply(peer):
        peer.send(head(status, f"Content-Length: {len(body)}", *headers, kind=kind, **options) + body)
        then(peer)
    return reply


def says(content, **options):
    """Streams an answer."""
    return chunked(events(*deltas(content, **options)))


def begins(body, then, *headers, **options):
    """Sends the beginning of a chunked body, then does `then`."""
    def reply(peer):
        peer.send(head("200 OK", "Transfer-Encoding: chunked", *headers, **options) + (chunk(body) if body else b""))
        then(peer)
    return reply


def repeats(piece, most=1 << 30):
    """For begins(): sends chunks with the piece until they have `most` bytes, a gigabyte."""
    def then(peer):
        data = chunk(piece) * max(1, (1 << 18) // len(piece))
        for _ in range(most // len(data)):
            peer.send(data)
        peer.send(b"0\r\n\r\n")
    return then


def trickles(piece, seconds=0.02):
    """For begins(): sends the piece again and again, until the client closes the connection."""
    def then(peer):
        while not peer.is_closed(seconds):
            peer.send(chunk(piece))
        peer.close()
    return then


def waits(event, rest):
    """For begins(): sends the rest of the body when the event is set."""
    def then(peer):
        assert event.wait(DEADLINE)
        peer.send(chunk(rest) + b"0\r\n\r\n")
    return then


def calls(*arguments, usage=USAGE):
    """Streams calls of the function "answer" with these arguments, in pieces."""
    pieces = [delta("", role="assistant")]
    for index, each in enumerate(arguments):
        text = answer(each)
        pieces.append(delta(None, tool_calls=[{"index": index, "id": f"c{index}", "type": "function",
                                               "function": {"name": "answer", "arguments": ""}}]))
        pieces += [delta(None, tool_calls=[{"index": index, "function": {"arguments": text[at:at + 16]}}])
                   for at in range(0, len(text), 16)]
    return chunked(events(*pieces, delta(finish="tool_calls"),
                          *([{"choices": [], "usage": usage}] if usage is not None else [])))


def format_of(request):
    """The format in which a request asks for its answer, as story.toml names it."""
    body = request.body
    if "grammar" in body or "tools" in body:
        return "grammar" if "grammar" in body else "tools"
    return body.get("response_format", {"type": "none"})["type"]
