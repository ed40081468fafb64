# SPDX-License-Identifier: Apache-2.0
"""Runs acts in one plan under one set of guarantees and collects their reports."""

import json
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("NARRATORIA_BUILD_DIR", SOURCE / "build" / "release")).resolve()
NARRATORIA = BUILD / "bin" / "narratoria"
ACTS = BUILD / "tests" / "escape" / "escape_acts"
MASKED = BUILD / "tests" / "escape" / "escape_masked"
DEADLINE = 300


def names_of_acts():
    text = (Path(__file__).parent / "acts.c").read_text()
    return [name for name in re.findall(r"\bACT\((\w+)\)", text) if name != "name"]


def listed(wrong):
    """Formats all acts with their reports, because pytest shortens the values that it compares."""
    return "".join(f"\n{act}: {how}" for act, how in wrong.items())


class Place:
    """A folder with the targets of the acts, and services that the acts should not reach."""

    def __init__(self, folder):
        self.folder = folder
        folder.chmod(0o755)
        for name in names_of_acts():
            (folder / f"{name}.file").write_text("kept")
            (folder / f"{name}.folder").mkdir()
        self.sockets = []
        self.tcp = self.listen(socket.AF_INET, ("127.0.0.1", 0))
        self.port = self.tcp.getsockname()[1]
        self.abstract = self.listen(socket.AF_UNIX, f"\0narratoria-escape-{self.port}")
        self.service = self.listen(socket.AF_UNIX, str(folder / "service"))
        self.datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.datagrams.bind(str(folder / "datagrams"))
        self.sockets.append(self.datagrams)
        threading.Thread(target=self.serve, daemon=True).start()
        self.sibling = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"],
                                        stdin=subprocess.PIPE)

    def listen(self, family, address):
        one = socket.socket(family, socket.SOCK_STREAM)
        one.bind(address)
        one.listen(64)
        self.sockets.append(one)
        return one

    def serve(self):
        """Sends each client a writable descriptor."""
        while True:
            try:
                connection, _ = self.service.accept()
            except OSError:
                return
            with connection, open(self.folder / "receive_descriptor.file", "a") as file:
                try:
                    socket.send_fds(connection, [b"x"], [file.fileno()])
                except OSError:
                    pass  # the client has closed the connection

    def end(self):
        for one in self.sockets:
            one.close()
        self.sibling.kill()
        self.sibling.communicate()
        # Acts that ran without guarantees may have left mounts.
        for line in Path("/proc/self/mounts").read_text().splitlines():
            point = line.split()[1]
            if point.startswith(f"{self.folder}/"):
                subprocess.run(["umount", "--lazy", point], check=True)
        shutil.rmtree(self.folder)

    def plan(self, acts, tool=ACTS):
        given = {"place": str(self.folder), "host": os.getpid(), "sibling": self.sibling.pid,
                 "port": self.port}
        tools = [{"toolId": act, "toolPath": str(tool), "required": False,
                  "retryPolicy": {"maxRetries": 0}, "input": {"act": act, **given}} for act in acts]
        path = self.folder / "plan.json"
        path.write_text(json.dumps({"requestId": "escape", "tools": tools}))
        return path


def run(place, guarantees, acts, tool=ACTS, before=(), environment=None, user=None, options=()):
    """Runs the acts; returns {act: report} and the whole result."""
    line = [*before, NARRATORIA, "run", place.plan(acts, tool), "--quiet", "--jobs", "1", *options]
    if guarantees:
        line += ["--sandbox", guarantees]
    env = {**os.environ, "HOME": "/home-of-the-host", **(environment or {})}
    more = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
    ended = subprocess.run(line, cwd=place.folder, env=env, capture_output=True, text=True,
                           timeout=DEADLINE, **more)
    assert ended.returncode in (0, 1), ended.stderr
    result = json.loads(ended.stdout)
    told = {}
    for each in result["toolResults"]:
        told[each["toolId"]] = each.get("result") or f"{each['errorCode']}: {each['error']}"
    return told, result
