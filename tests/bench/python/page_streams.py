#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page_streams.py NARRATORIA TOOL STREAMS TURNS: measures what open event streams cost the engine.

Serves a story in which every turn runs TOOL (million_logs) for 1,000 events. In each round one
reader, then STREAMS + 1 readers, follow the turns over separate sockets in a separate process; a
turn is over when every reader has its last record. Prints for both, as JSON, the median
milliseconds of a turn in processor time of the engine thread and in wall-clock time. Also prints
the time from the start of `narratoria serve` to the first byte of the page.
"""

import http.client
import json
import os
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EVENTS = 1000
TURN_ENDED = b'"kind":"turn_ended"'


def processor_ns(pid):
    with open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[0])


class Served:
    def __init__(self, narratoria, tool):
        self.folder = tempfile.TemporaryDirectory(prefix="narratoria-page-")
        story = Path(self.folder.name)
        (story / "story.toml").write_text('title = "Streams"\n')
        plan = {"tools": [{"toolId": "count", "toolPath": str(tool), "input": {"count": EVENTS}}]}
        (story / "prompts.json").write_text(json.dumps(
            {"prompts": [{"patterns": ["count"], "answers": [{"plan": plan}]}],
             "unmatched": {"narrative": "?"}}))
        begun = time.perf_counter()
        self.process = subprocess.Popen([narratoria, "serve", "--json", "--story", story],
                                        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        ready = json.loads(self.process.stdout.readline())
        self.origin, _, token = ready["url"].partition("/#token=")
        self.host, self.port = self.origin.removeprefix("http://").split(":")[0], ready["port"]
        try:
            self.cookie = None
            entered = self.post("/api/enter", {"token": token})
            self.cookie = entered.headers["Set-Cookie"].partition(";")[0]
            self.ask("GET", "/", Cookie=self.cookie)
            self.first_byte_ms = (time.perf_counter() - begun) * 1e3
        except BaseException:
            self.end()
            raise

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(self.host, self.port)
        connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        assert answer.status in (200, 202), answer.status
        return answer

    def post(self, path, body):
        headers = {"Cookie": self.cookie} if self.cookie else {}
        return self.ask("POST", path, json.dumps(body).encode(), Content_Type="application/json",
                        Origin=self.origin, **headers)

    def prompt(self):
        self.post("/api/prompt", {"text": "count"})

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def open_stream(served, after):
    one = socket.create_connection((served.host, served.port))
    one.sendall(f"GET /api/events?after={after} HTTP/1.1\r\nHost: {served.host}:{served.port}\r\n"
                f"Cookie: {served.cookie}\r\n\r\n".encode())
    return one


def last_record(served):
    """The number of the newest record, from the first message of a stream."""
    with open_stream(served, 10**9) as stream:
        text = b""
        while b"}" not in text.partition(b'"last":')[2]:
            text += stream.recv(65536)
        return int(text.partition(b'"last":')[2].partition(b"}")[0])


def read_turns(served, streams, after, reports):
    """Reads on all sockets; reports when all are open, and each turn that all have read."""
    poll = select.epoll()
    # by descriptor: [the end of the data read so far, turns seen]
    sockets = [open_stream(served, after) for _ in range(streams)]
    seen = {one.fileno(): [b"", 0] for one in sockets}
    for one in sockets:
        poll.register(one, select.EPOLLIN)
    buffer = bytearray(1 << 20)
    greeted, turns = 0, 0
    while True:
        for number, _ in poll.poll():
            got = os.readv(number, [buffer])
            if got == 0:
                return
            piece = seen[number][0] + bytes(memoryview(buffer)[:got])
            if b"event: session" in piece:
                greeted += 1
                if greeted == streams:
                    os.write(reports, b"r")
            seen[number][1] += piece.count(TURN_ENDED)
            seen[number][0] = piece[1 - len(TURN_ENDED):]
        if min(count for _, count in seen.values()) > turns:
            turns += 1
            os.write(reports, b"t")


def measure(served, streams, turns):
    """The medians per turn: the engine thread's processor time, and the time until all have it."""
    after = last_record(served)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            read_turns(served, streams, after, writer)
        finally:
            os._exit(1)
    os.close(writer)
    assert os.read(reader, 1) == b"r"
    processor, wall = [], []
    for _ in range(turns + 1):
        before, begun = processor_ns(served.process.pid), time.perf_counter()
        served.prompt()
        assert os.read(reader, 1) == b"t"
        wall.append((time.perf_counter() - begun) * 1e3)
        processor.append((processor_ns(served.process.pid) - before) / 1e6)
    os.kill(child, 9)
    os.waitpid(child, 0)
    os.close(reader)
    # The first turn warms up.
    return statistics.median(processor[1:]), statistics.median(wall[1:])


def main():
    narratoria, tool, streams, turns = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    rows = {1: [], streams + 1: []}
    first = []
    for _ in range(3):
        served = Served(narratoria, tool)
        first.append(served.first_byte_ms)
        try:
            for count, results in rows.items():
                results.append(measure(served, count, turns))
        finally:
            served.end()
    print(json.dumps({
        "oneMs": statistics.median(each[0] for each in rows[1]),
        "allMs": statistics.median(each[0] for each in rows[streams + 1]),
        "oneWallMs": statistics.median(each[1] for each in rows[1]),
        "allWallMs": statistics.median(each[1] for each in rows[streams + 1]),
        "firstByteMs": statistics.median(first)}))


if __name__ == "__main__":
    main()
