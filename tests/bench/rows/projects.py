# SPDX-License-Identifier: Apache-2.0
"""Tools of projects: services and functions of Python modules."""

import json
import subprocess
import sys

from .bench import TREE, median
from .row import Row


class Server:
    """A process that prints {"port": N} when it listens."""

    def __init__(self, *command):
        self.process = subprocess.Popen([sys.executable, *command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.port = json.loads(self.process.stdout.readline())["port"]

    def __enter__(self):
        return f"http://127.0.0.1:{self.port}"

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def service_call(bench):
    """A project tool that is an HTTP service on loopback."""
    count, at_once = (300 if bench.quick else 1000), 1000
    with Server(TREE / "examples/service/service.py", "--port", "0") as service:
        results = bench.in_turn(
            lambda: bench.number(bench.program("service_calls"), f"{service}/tools", count, "one"),
            lambda: bench.number(bench.program("curl_calls"), f"{service}/tools", count))
    with Server(TREE / "tests/support/http_server.py") as service:
        all_at_once = bench.in_turn(
            lambda: bench.number(bench.program("service_calls"), f"{service}/gate/{at_once}", at_once, "all"))
    each = [f"{median(column) * 1e3:.3f} ms" for column in zip(*results)]
    return [
        Row("service-call", "a tool that is an HTTP service on loopback (`examples/service`), its trace "
            "included: the median of a call over the same request by libcurl alone",
            median((ours - peer) * 1e3 for ours, peer in results), "ms", each[0], each[1], most=0.25),
        Row("service-many",
            f"{at_once:,} such calls at once on one thread, each on its own connection "
            "and answered once all have arrived: total time, including the server in Python",
            median(row[0] * 1e3 for row in all_at_once), "ms"),
    ]


def python_call(bench):
    """A project tool that is a function of a module, in its own process."""
    count = 20 if bench.quick else 60
    bench.file("greeter.py", "def greet(payload):\n"
               "    return {'message': 'Hello ' + payload['name'], 'ok': True}\n")
    calls = lambda how: bench.number(bench.program("python_calls"), bench.work, "greeter:greet",
                                     sys.executable, count, how)
    results = bench.in_turn(
        lambda: calls("warm"), lambda: calls("fresh"),
        lambda: bench.number(bench.program("command_time"), count, sys.executable, "-c",
                             "import greeter; greeter.greet({'name': 'Ada'})"))
    each = [f"{median(column) * 1e3:.2f} ms" for column in zip(*results)]
    return [
        Row("python-call", "a trivial Python tool of a project (`module:function`), in a sandbox, forked "
            "from the server of its module: the median of a call, beside a fresh `python3 -c` that calls the function",
            median(row[0] * 1e3 for row in results), "ms", each[0], each[2], most=3),
        Row("python-call-python", "the same against that `python3`",
            median(row[2] / row[0] for row in results), "×", each[0], each[2], least=5),
        Row("python-call-fresh", "the same with `warm = false`, without the sandbox: over that `python3`",
            median((row[1] - row[2]) * 1e3 for row in results), "ms", each[1], each[2]),
    ]
