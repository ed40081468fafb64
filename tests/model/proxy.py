# SPDX-License-Identifier: Apache-2.0
"""A proxy that records what a narrator asks a model's server, and what the server answers."""

import io
import json
import select
import socket
import threading
import time
from dataclasses import dataclass
from http.client import HTTPResponse, IncompleteRead
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REQUEST = "POST {} HTTP/1.1\r\nHost: model\r\nContent-Type: application/json\r\n" \
          "Connection: close\r\nContent-Length: {}\r\n\r\n"


@dataclass
class Exchange:
    """A request and its response, as bytes, and the times of the response's first and last piece.

    `left`: the narrator closed the connection before the server did.
    """

    request: bytes
    first: float = 0
    last: float = 0
    response: bytes = b""
    left: bool = False

    @property
    def messages(self):
        return json.loads(self.request)["messages"]

    @property
    def body(self):
        class Recorded:
            def makefile(_, *_arguments):
                return io.BytesIO(self.response)

        response = HTTPResponse(Recorded())
        response.begin()
        try:
            return response.read()
        except IncompleteRead as error:
            return error.partial

    @property
    def events(self):
        return [json.loads(line[6:]) for line in self.body.decode().splitlines()
                if line.startswith("data: {")]

    @property
    def answer(self):
        return "".join(text_of(choice["delta"]) for event in self.events for choice in event["choices"])

    @property
    def is_cut(self):
        return any(choice["finish_reason"] == "length"
                   for event in self.events for choice in event["choices"])

    @property
    def usage(self):
        return next(event["usage"] for event in reversed(self.events) if event.get("usage"))


def text_of(delta):
    calls = "".join(call["function"].get("arguments") or "" for call in delta.get("tool_calls") or [])
    return (delta.get("content") or "") + calls


class Proxy:
    """Listens on `url` in threads of its own. `exchanges` are in the order of the requests; the questions
    by which a narrator finds out the server's format are in `probes` instead, requests to count tokens in
    `counts`."""

    def __init__(self, host, port):
        self.exchanges = exchanges = []
        self.probes = probes = []
        self.counts = counts = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                exchange = Exchange(self.rfile.read(int(self.headers["Content-Length"])))
                kept = probes if b"traveller" in exchange.request else exchanges
                (counts if self.path == "/tokenize" else kept).append(exchange)
                with socket.create_connection((host, port)) as server:
                    server.sendall(REQUEST.format(self.path, len(exchange.request)).encode())
                    server.sendall(exchange.request)
                    relay(server, self.connection, exchange)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def relay(server, narrator, exchange):
    """Passes the response on, until the server ends it or the narrator leaves."""
    while True:
        ready, _, _ = select.select([server, narrator], [], [])
        if narrator in ready:
            exchange.left = True
            return
        piece = server.recv(65536)
        if not piece:
            return
        exchange.last = time.monotonic()
        exchange.first = exchange.first or exchange.last
        exchange.response += piece
        try:
            narrator.sendall(piece)
        except OSError:
            exchange.left = True
            return
