# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of the rows, and writes their inputs."""

import json
import os
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

TREE = Path(__file__).resolve().parents[3]
SCRIPTS = TREE / "tests/bench/python"
REQUEST_ID = "6f0c7a52-1d7e-4a0e-9c55-2b9f4a1d8e77"


class Missing(Exception):
    """The reason why a row cannot be measured here."""


class Bench:
    def __init__(self, build, work, quick):
        self.build = build
        self.programs = build / "tests/bench"
        self.work = work
        self.quick = quick
        self.rounds = 3 if quick else 7
        self.commands = []
        # Uses the package of the build. Its byte code is kept, like that of an installed package.
        self.environment = {**os.environ, "PYTHONPATH": str(build / "python")}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def program(self, name):
        return self.programs / name

    def benchmark(self, name):
        """A program that is built only with Google Benchmark."""
        program = self.program(name)
        if not program.exists():
            raise Missing(f"{name} was not built, because Google Benchmark is missing; install it "
                          "(Debian: apt-get install libbenchmark-dev) and build again")
        return program

    def note(self, command):
        """Records a command in the form in which a reader would type it."""
        text = " ".join(shlex.quote(str(part)) for part in command)
        text = text.replace(str(self.programs), "$BENCH").replace(str(self.build), "$BUILD")
        text = text.replace(str(self.work), "$WORK").replace(f"{TREE}/", "")
        text = text.replace(sys.executable, "python3")
        for variable in ("NARRATORIA_MCP_PYTHON", "NARRATORIA_FRAMEWORKS_PYTHON"):
            if variable in os.environ:
                text = text.replace(os.environ[variable], f"${variable}")
        if text not in self.commands:
            self.commands.append(text)

    def run(self, command, output=True):
        """Runs a command; returns its output and its wall-clock seconds."""
        self.note(command)
        begin = time.perf_counter()
        done = subprocess.run([str(part) for part in command], cwd=self.work,
                              stdin=subprocess.DEVNULL, text=True, check=False,
                              env=self.environment,
                              stdout=subprocess.PIPE if output else subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
        seconds = time.perf_counter() - begin
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: exit status {done.returncode}\n"
                               f"{done.stdout or ''}{done.stderr}")
        return done.stdout, seconds

    def number(self, *command):
        """Runs a command; returns the number at the end of its output."""
        return float(self.run(command)[0].split()[-1])

    def python(self, script, *arguments, interpreter=sys.executable):
        """Runs a script of tests/bench/python; returns the JSON that it prints."""
        return self.document(interpreter, SCRIPTS / script, *arguments)

    def document(self, *command):
        return json.loads(self.run(command)[0])

    def seconds(self, *command):
        return self.run(command, output=False)[1]

    def in_turn(self, *measures, rounds=None):
        """Runs each measure once to warm up, then all in turn; returns results[round][measure].

        Every second round runs in reverse order.
        """
        for measure in measures:
            measure()
        results = []
        for number in range(rounds or self.rounds):
            places = list(range(len(measures)))
            if number % 2:
                places.reverse()
            row = [0.0] * len(measures)
            for place in places:
                row[place] = measures[place]()
            results.append(row)
        return results

    def file(self, name, text):
        path = self.work / name
        if not path.exists():
            path.write_text(text)
        return path

    # ---- inputs

    def plan(self, name, program, count, chain=False):
        tools = [{
            "toolId": f"t{i}", "toolPath": str(program), "input": {},
            "dependencies": [f"t{i - 1}"] if chain and i > 0 else [],
            "required": True, "async": True, "retryPolicy": {"maxRetries": 0, "backoffMs": 0},
        } for i in range(count)]
        return self.file(name, json.dumps(
            {"requestId": REQUEST_ID, "narrative": "", "parallel": not chain, "tools": tools}))

    def lines(self, shape):
        """A file of patches with five keys, flat or as the leaves of four nested objects; its count."""
        count = 50000 if self.quick else 400000
        path = self.work / f"{shape}-{count}.ndjson"
        if not path.exists():
            with path.open("w") as file:
                for i in range(count):
                    lit, fuel, torch, door = "true" if i & 1 else "false", 10 + i % 90, i % 500, i % 200
                    if shape == "flat":
                        patch = (f'"torch_{torch:03}_lit":{lit},"torch_{torch:03}_fuel":{fuel}.25,'
                                 f'"torch_{torch:03}_holder":"player","door_{door:03}":"closed",'
                                 '"said":"The gate creaks in the wind."')
                    else:
                        patch = (f'"world":{{"torch_{torch:03}":{{"lit":{lit},"fuel":{fuel}.25,'
                                 f'"holder":"player"}}}},"doors":{{"door_{door:03}":{{"open":false,'
                                 '"name":"the gate to the north"}}')
                    file.write(f'{{"version":"0","type":"state_patch","requestId":"{REQUEST_ID}",'
                               f'"timestamp":"2026-11-21T09:{i // 60000 % 60:02}:'
                               f'{i // 1000 % 60:02}.{i % 1000:03}Z","patch":{{{patch}}}}}\n')
        return path, count


def median(values):
    return statistics.median(values)
