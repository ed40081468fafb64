#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the numbers of docs/performance.md, ours and those of the peers.

    tests/bench/run.py                    all rows, fifteen minutes; writes docs/performance.md
    tests/bench/run.py spawn pipeline     these rows; the others stay unchanged
    tests/bench/run.py --quick            all rows, smaller, in three minutes; only prints

Needs the preset "release", built with Google Benchmark (NARRATORIA_BENCH), ninja and make. The rows
of Python need the package built for the Python that runs this program. Two of them need a Python
with packages of PyPI: NARRATORIA_MCP_PYTHON and NARRATORIA_FRAMEWORKS_PYTHON name it, or an
environment is made in the build folder. Compared programs run in turn, after one round of each to
warm up. A ratio is the median of the ratios of the rounds, because other load on the machine
disturbs both programs of a round. The exit status is 1 if a row fails.
"""

import argparse
import datetime
import json
import math
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
PAGE = TREE / "docs/performance.md"
SCRIPTS = TREE / "tests/bench/python"
MCP = "mcp==2.3.0"
FRAMEWORKS = ("langgraph==1.2.24", "langchain-openai==1.7.4", "pydantic-ai-slim[openai]==2.68.0")
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
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


class Row:
    """One row of the table. `value` must be at least `least` or at most `most`; None: not measured."""

    def __init__(self, key, what, value, unit, ours="", peer="", least=None, most=None, note=""):
        self.key, self.what, self.note = key, what, note
        self.ours, self.peer = ours, peer
        # Rounded to the failing side, so that 0.8995 is not printed as a 0.90 that fails.
        digits = 2 if unit == "×" else 3 if unit == "s" else 1
        self.value = ""
        if value is not None:
            scaled = value * 10**digits
            shown = math.floor(scaled) if least is not None else math.ceil(scaled)
            self.value = f"{shown / 10**digits:.{digits}f} {unit}"
        bar = least if least is not None else most
        sign = "≥" if least is not None else "≤"
        self.bar = "" if bar is None else f"{sign} {bar:g} {unit}"
        reaches = (lambda goal: value >= goal) if least is not None else (lambda goal: value <= goal)
        if value is None:
            self.verdict = "not measured"
        elif bar is None:
            self.verdict = "—"
        else:
            self.verdict = "pass" if reaches(bar) else "**fail**"

    def cells(self, command, when):
        what = self.what + (f" ({self.note})" if self.note else "")
        return [f"`{self.key}`", f"`{command}`", what, self.ours, self.peer, self.value, self.bar,
                self.verdict, when]


# ---- the rows, in the order of the table

def spawn(bench):
    count = 300 if bench.quick else 2000
    plan = bench.plan(f"independent-{count}.json", bench.program("log_done"), count)
    rules = "".join(f"build t{i}: tool\n" for i in range(count))
    ninja = bench.file(f"build-{count}.ninja",
                       f"rule tool\n  command = {bench.program('log_done')}\n{rules}")
    targets = " ".join(f"t{i}" for i in range(count))
    makefile = bench.file(f"Makefile-{count}",
                          f"all: {targets}\n.PHONY: all {targets}\n{targets}:\n"
                          f"\t@{bench.program('log_done')}\n")
    results = bench.in_turn(
        lambda: bench.document(bench.program("run_plan"), plan, "--jobs", "2")["seconds"],
        lambda: bench.number(bench.program("spawn_loop"), count, "2", bench.program("log_done")),
        lambda: bench.document(bench.program("run_plan"), plan, "--jobs", "2",
                               "--resident-mb", "1024")["seconds"],
        lambda: bench.seconds("ninja", "-f", ninja, "-j2"),
        lambda: bench.seconds("make", "-s", "-f", makefile, "-j2"))
    rate = [f"{count / median(column):.0f} tools/s" for column in zip(*results)]
    ratio = lambda peer, ours: median(row[peer] / row[ours] for row in results)
    return [
        Row("spawn", f"{count:,} independent tools, 2 at a time, against a bare "
            "`posix_spawn` and pipe loop", ratio(1, 0), "×", rate[0], rate[1],
            least=0.90),
        Row("spawn-1gb", "the same with 1 GB resident in the host", ratio(1, 2), "×", rate[2],
            rate[1], least=0.80),
        Row("spawn-ninja", "the same against ninja -j2", ratio(3, 0), "×", rate[0], rate[3]),
        Row("spawn-make", "the same against make -j2", ratio(4, 0), "×", rate[0], rate[4]),
    ]


def chain(bench):
    count = 200 if bench.quick else 1000
    rows = []
    for program in ("log_done", "log_done_nolibc"):
        if not bench.program(program).exists():
            print(f"  {program} is not built on this processor; its row is left out")
            continue
        plan = bench.plan(f"chain-{program}-{count}.json", bench.program(program), count, chain=True)
        results = bench.in_turn(
            lambda: bench.document(bench.program("run_plan"), plan, "--jobs", "2")["seconds"],
            lambda: bench.number(bench.program("spawn_loop"), count, "1", bench.program(program)))
        each = [f"{median(column) / count * 1e6:.0f} µs" for column in zip(*results)]
        if program == "log_done":
            rows.append(Row("chain", f"a chain of {count:,} tools against a sequential loop",
                            median(peer / ours for ours, peer in results), "×", each[0], each[1],
                            least=0.85))
        else:
            rows.append(Row("chain-nolibc",
                            "the same with a tool without libc: added time per tool",
                            median((ours - peer) / count * 1e6 for ours, peer in results), "µs",
                            each[0], each[1], most=80))
    return rows


def sandbox(bench):
    """A chain of a small C tool with and without guarantees, measured in the same run."""
    count = 200 if bench.quick else 1000
    plan = bench.plan(f"chain-log_done-{count}.json", bench.program("log_done"), count, chain=True)
    guarantees = ("none", "all", "no_network", "no_filesystem_write", "no_filesystem_read",
                  "no_subprocess")
    options = [[] if each == "none" else ["--sandbox", each] for each in guarantees]
    results = bench.in_turn(*[
        lambda option=option: bench.document(bench.program("run_plan"), plan, "--jobs", "2",
                                             *option)["seconds"] / count * 1e3
        for option in options])
    column = list(zip(*results))
    more = [median(row[i] - row[0] for row in results) for i in range(len(guarantees))]
    singles = ", ".join(f"`{name}` {value:.2f} ms"
                        for name, value in zip(guarantees[2:], more[2:]))
    return [Row("sandbox", f"a chain of {count:,} tools in C with all guarantees against the same "
                "without: added time per tool", more[1], "ms", f"{median(column[1]):.2f} ms",
                f"{median(column[0]):.2f} ms", most=0.6, note=f"one guarantee: {singles}")]


def pipeline(bench):
    pipeline, dom = bench.program("pipeline"), bench.program("rapidjson_dom")
    rows = []
    for shape in ("flat", "nested"):
        lines, count = bench.lines(shape)
        results = bench.in_turn(
            lambda: bench.number(pipeline, lines, "2"),
            lambda: bench.number(dom, lines, "2"),
            lambda: bench.number(pipeline, lines, "2", "one-tree"),
            lambda: bench.number(pipeline, lines, "2", "with-log"),
            lambda: bench.number(dom, lines, "2", "fresh"))
        rate = [f"{count / median(column) / 1e6:.2f} M/s" for column in zip(*results)]
        ratio = lambda peer, ours: median(row[peer] / row[ours] for row in results)
        if shape == "nested":
            rows.append(Row("pipeline-nested", "the same lines with the five keys in four nested "
                            "objects", ratio(4, 0), "×", rate[0], rate[4]))
            continue
        length = lines.stat().st_size / count
        rows += [
            Row("pipeline", f"{count:,} `state_patch` lines of {length:.0f} bytes in memory, five "
                "keys: framing, decoding, validation, merge (state and the tool's output), history, "
                "one C sink; against a RapidJSON document for each line", ratio(4, 0), "×",
                rate[0], rate[4], least=1.5),
            Row("pipeline-one-tree", "the same, merged into the state only", ratio(4, 2), "×",
                rate[2], rate[4]),
            Row("pipeline-pool", "the same against documents that share one pool of memory",
                ratio(1, 0), "×", rate[0], rate[1]),
            Row("pipeline-with-log", "the same as the first, and kept for the result", ratio(4, 3),
                "×", rate[3], rate[4]),
        ]
    return rows


def cat_plan(bench):
    """A plan with one tool that prints the lines of the pipeline; the lines, and their count."""
    lines, count = bench.lines("flat")
    output = bench.work / f"output-{count}.ndjson"
    if not output.exists():
        shutil.copy(lines, output)
        with output.open("a") as file:
            file.write('{"version":"0","type":"done","ok":true}\n')
    tool = bench.file(f"cat-{count}.sh", f"#!/bin/sh\nexec cat '{output}'\n")
    tool.chmod(0o755)
    return bench.plan(f"cat-{count}.json", tool, 1), lines, count


def cat(bench):
    plan, lines, count = cat_plan(bench)
    result = bench.work / "result.json"

    def run():
        # A new file each time, because replacing a file would measure the file system.
        result.unlink(missing_ok=True)
        return bench.seconds(bench.build / "bin/narratoria", "run", plan, "--quiet",
                             "--result", result)

    results = bench.in_turn(
        run, lambda: bench.number(bench.program("rapidjson_dom"), lines, "2", "fresh"))
    result.unlink()
    rate = [f"{count / median(column) / 1e6:.2f} M/s" for column in zip(*results)]
    return [Row("cat", "the same lines from `cat FILE` as a tool of a plan, by `narratoria run "
                "--result FILE`, start and exit included",
                median(peer / ours for ours, peer in results), "×", rate[0], rate[1])]


def store(bench):
    """A session with a store against one without."""
    path = bench.work / "saves.db"

    def fresh():
        for file in bench.work.glob("saves.db*"):
            file.unlink()
        return path

    program = bench.program("kept_session")
    turns, large = (300, 200_000) if bench.quick else (2000, 1_000_000)
    plan, _, count = cat_plan(bench)
    run = bench.program("run_plan")
    results = bench.in_turn(
        lambda: bench.document(program, fresh(), turns, "1")["turn_thread_us"],
        lambda: bench.document(program, "-", turns, "1")["turn_thread_us"],
        lambda: bench.document(run, plan, "--store", fresh())["seconds"],
        lambda: bench.document(run, plan)["seconds"])
    long = bench.document(program, fresh(), turns * 5, "100")
    wide = bench.document(program, fresh(), "20", "5", large)
    empty = bench.document(program, fresh(), "0", "5", large)
    fresh()
    us = [f"{median(column):.1f} µs" for column in zip(*results)]
    rate = [f"{count / median(column) / 1e6:.2f} M/s" for column in zip(*results)]
    return [
        Row("store-turn", "a turn with one patch of a tool of the host in a session with a store, over one "
            "without: the engine thread's time", median(row[0] - row[1] for row in results), "µs",
            us[0], us[1], most=30),
        Row("store-pipeline", f"{count:,} lines from `cat FILE` as a tool, with a store against without",
            median(row[3] / row[2] for row in results), "×", rate[2], rate[3], least=0.9),
        Row("store-open", f"opening a session of {turns * 5:,} turns and {turns * 500:,} patches",
            long["open_ms"], "ms", most=50),
        Row("store-state", "reading the state of any of its turns", long["slowest_state_ms"], "ms",
            most=100),
        Row("store-bytes", f"what a turn writes that changes 5 of {large:,} keys",
            (wide["bytes"] - empty["bytes"]) / 20 / 1024, "KiB", most=64),
    ]


def state(bench):
    done = bench.document(bench.benchmark("state_bench"), "--benchmark_format=json",
                          f"--benchmark_repetitions={bench.rounds}",
                          "--benchmark_enable_random_interleaving=true",
                          f"--benchmark_min_time={0.05 if bench.quick else 0.3}")
    times = {}
    for run in done["benchmarks"]:
        if run["run_type"] == "iteration":
            times.setdefault(run["run_name"].removeprefix("patch_lines/"), []).append(run["cpu_time"])
    few, same, random = times["same_100"], times["same_1000000"], times["random_1000000"]
    ns = lambda values: f"{median(values):.0f} ns"
    ratio = lambda ours: median(many / one for many, one in zip(ours, few))
    snapshot = lambda what, shape: median(times[f"{what}_snapshot/{shape}_1000000/iterations:5"])
    nested = lambda what: f"in objects of ten with longer texts: {snapshot(what, 'nested'):.0f} ms"
    return [
        Row("state-same", "a line with a patch of 5 keys, parsing included, into 1,000,000 keys "
            "against 100: the same keys", ratio(same), "×", ns(same), ns(few), most=1.2),
        Row("state-random", "the same: random keys", ratio(random), "×", ns(random), ns(few),
            most=4.0),
        Row("state-snapshot", "a snapshot of a state of 1,000,000 keys with short values in one object",
            snapshot("take", "flat"), "ms", note=nested("take")),
        Row("state-restore", "restoring it, including the release of the state that it replaces",
            snapshot("restore", "flat"), "ms", note=nested("restore")),
    ]


def memory(bench):
    taken = median(bench.number(bench.program("state_memory"), "1000000")
                   for _ in range(bench.rounds))
    return [Row("state-memory", "a state of 1,000,000 short keys: memory per key", taken, "bytes",
                most=80)]


def plan(bench):
    load = bench.program("plan_load")
    large, small = [], []
    def measure(tools, results):
        document = bench.document(load, tools)
        results.append(document)
        return document["seconds"]
    results = bench.in_turn(lambda: measure(100000, large), lambda: measure(10000, small))
    seconds = median(row[0] for row in results)
    return [
        Row("plan", "a plan of 100,000 tools and 1,000,000 dependencies "
            f"({large[0]['textMegabytes']:.0f} MB): parse, validate, order", seconds, "s",
            most=0.35),
        Row("plan-memory", "the same: memory", median(d["megabytes"] for d in large), "MB", most=150),
        Row("plan-growth", "the same against 10,000 tools and 100,000 dependencies",
            median(row[0] / row[1] for row in results), "×", f"{seconds * 1e3:.0f} ms",
            f"{median(row[1] for row in results) * 1e3:.1f} ms", most=12),
    ]


# Not a package of npm or PyPI, so it is not measured again here.
PEER_OF_SCRIPTS = "peer: the TypeScript interpreter of Nuwa Script, on a machine of this kind"


def script(bench):
    program = bench.program("script")
    rates = {what: [] for what in ("loop", "call", "parse", "compile")}
    session = {what: [] for what in ("none", "sink", "ordinary")}
    for _ in range(bench.rounds):
        for what, found in rates.items():
            found.append(bench.number(program, what) / 1e6)
        for what, found in session.items():
            found.append(bench.number(bench.program("script_calls"), what) / 1e6)
    waiting = bench.number(program, "waiting", 1000 if bench.quick else 10000)
    return [
        Row("script-loop", "Nuwa Script: 200,000 rounds of a nested FOR with four arithmetic "
            "operations and a LET", median(rates["loop"]), "M/s", peer="1.0 M/s", least=40,
            note=PEER_OF_SCRIPTS),
        Row("script-machine-call",
            "100,000 CALLs of a function by the interpreter alone, without a session",
            median(rates["call"]), "M/s"),
        Row("script-call", "100,000 CALLs of a synchronous tool of the host, with a schema, by "
            "nar_session_run_script", median(session["none"]), "M/s", peer="0.97 M/s", least=2,
            note=PEER_OF_SCRIPTS),
        Row("script-call-sink", "the same with a sink, which gets every record",
            median(session["sink"]), "M/s"),
        Row("script-call-ordinary", "the same with a tool that does not promise to end before it returns",
            median(session["ordinary"]), "M/s", least=1),
        Row("script-call-memory", "the same: memory for each CALL, until 8 MiB; then a file",
            bench.number(bench.program("script_calls"), "ordinary", "memory"), "bytes", most=100),
        Row("script-parse", "10 MB of script into the syntax tree", median(rates["parse"]), "MB/s",
            peer="2.2 MB/s", least=100, note=PEER_OF_SCRIPTS),
        Row("script-compile", "the same into a program", median(rates["compile"]), "MB/s"),
        Row("script-waiting", "10,000 scripts of ten lines that wait in a CALL: each, with its "
            "program", waiting / 1024, "KiB", most=8),
    ]


def many(bench):
    ticks = 60 if bench.quick else 120
    runs = [bench.document(bench.program("many_tools"), bench.program("every_100_ms"), "1000", ticks)
            for _ in range(1 if bench.quick else 3)]
    worst = max(run["latestMs"] for run in runs)
    note = (f"{sum(run['judged'] for run in runs):,} events, 99.9 % within "
            f"{max(run['p999Ms'] for run in runs):.1f} ms; while all were started, "
            f"{median(run['startSeconds'] for run in runs):.1f} s, within "
            f"{max(run['latestWhileStartingMs'] for run in runs):.0f} ms")
    return [
        Row("many",
            "1,000 tools at once that each print an event every 100 ms: the maximum latency",
            worst, "ms", most=50, note=note),
        Row("many-memory", "the same: the host's memory per tool",
            median(run["bytesPerTool"] for run in runs) / 1024, "KiB", most=64),
    ]


def million(bench):
    tool = bench.program("million_logs")
    plan = bench.plan("million.json", tool, 1)
    result = bench.work / "million-result.json"
    runs = [bench.document(bench.program("run_plan"), plan, "--result", result)
            for _ in range(2 if bench.quick else bench.rounds)]
    result.unlink()
    if any(run["toolEvents"] != 1000001 for run in runs):
        raise RuntimeError(f"events are missing: {runs}")
    return [Row("million", "one million log events from one tool: the host's memory over its start",
                max(run["grownBytes"] for run in runs) / 1e6, "MB", most=32,
                note=f"{1 / median(run['seconds'] for run in runs):.2f} M events/s, result written")]


def command(bench):
    count = 30 if bench.quick else 100
    plan = bench.plan("one.json", bench.program("log_done"), 1)
    timer = bench.program("command_time")
    results = bench.in_turn(
        lambda: bench.number(timer, count, bench.build / "bin/narratoria", "run", plan, "--quiet"),
        lambda: bench.number(timer, count, bench.program("log_done")))
    each = [f"{median(column) * 1e3:.2f} ms" for column in zip(*results)]
    return [Row("command", "`narratoria run` of a one-tool plan, start to exit, over the tool itself",
                median((ours - peer) * 1e3 for ours, peer in results), "ms", each[0], each[1],
                most=12)]


def plugins(bench):
    done = bench.document(bench.benchmark("plugin_bench"), "--benchmark_format=json",
                          f"--benchmark_repetitions={bench.rounds}",
                          "--benchmark_enable_random_interleaving=true",
                          f"--benchmark_min_time={0.05 if bench.quick else 0.3}")
    times, allocations = {}, 0
    for run in done["benchmarks"]:
        if run["run_type"] == "iteration":
            times.setdefault(run["run_name"], []).append(run["real_time"])
            allocations += run.get("allocations", 0)
    if allocations:
        raise RuntimeError(f"an event to a sink allocated memory {allocations:g} times")
    one, sixteen = times["virtual_calls/1"], times["virtual_calls/16"]
    more = lambda ours, peer: median(mine - other for mine, other in zip(ours, peer))
    ns = lambda values: f"{median(values):.1f} ns"
    return [
        Row("plugin-sink", "one event to one C sink in a loaded library over a direct virtual call "
            "of the same work", more(times["plugin_sinks/c/1"], one), "ns",
            ns(times["plugin_sinks/c/1"]), ns(one), most=6),
        Row("plugin-sink-cpp", "the same through the C++ wrapper",
            more(times["plugin_sinks/cpp/1"], one), "ns", ns(times["plugin_sinks/cpp/1"]), ns(one)),
        Row("plugin-sinks-16", "one event to 16 sinks over 16 virtual calls, without an allocation",
            more(times["plugin_sinks/c/16"], sixteen), "ns", ns(times["plugin_sinks/c/16"]),
            ns(sixteen), most=100),
        Row("plugin-scan", "the metadata of 200 plugin files, none loaded",
            median(times["scan_200_files"]), "ms", most=20),
        Row("plugin-life", "load, init, deinit and unload of an empty plugin",
            median(times["load_init_deinit_unload"]), "ms", most=1),
    ]


def schemas(bench):
    done = bench.document(bench.benchmark("schema_bench"), "--benchmark_format=json",
                          f"--benchmark_repetitions={bench.rounds}",
                          "--benchmark_enable_random_interleaving=true",
                          f"--benchmark_min_time={0.05 if bench.quick else 0.3}")
    times = {}
    for run in done["benchmarks"]:
        if run["run_type"] == "iteration":
            times.setdefault(run["run_name"], []).append(run["cpu_time"])
    of = lambda name: median(times[name])
    return [
        Row("schema-check", "an input of 1 KB, parsed, against a JSON Schema of 20 properties",
            1e3 / of("check"), "M/s", least=1,
            note=f"with parsing: {1e3 / of('parse_and_check'):.2f} M/s; compiling the schema, "
            f"once: {of('compile') / 1e3:.0f} µs"),
        Row("tool-find", "looking up a name among 10,000 tools", of("find_tool"), "ns", most=50),
    ]


def page(bench):
    streams = 60  # the server has at most 64
    if not (bench.build / "lib/narratoria/plugins/web.so").exists():
        return [Row("page-streams", f"{streams} open event streams of the page", None, "ms",
                    most=20, note="built without libmicrohttpd")]
    run = bench.python("page_streams.py", bench.build / "bin/narratoria",
                       bench.program("million_logs"), streams, 10 if bench.quick else 40)
    return [
        Row("page-streams", f"{streams} open event streams on one session: processor time of the "
            "engine's thread for 1,000 events, over that with one stream",
            run["allMs"] - run["oneMs"], "ms", f"{run['allMs']:.1f} ms", f"{run['oneMs']:.1f} ms",
            most=20, note=f"until every stream has the last one, with a reader in Python on the "
            f"same machine: {run['allWallMs']:.0f} ms, {run['oneWallMs']:.0f} ms with one"),
        Row("page-first-byte",
            "`narratoria serve`, from its start to the first response with the page",
            run["firstByteMs"], "ms"),
    ]


def embedding(bench):
    """Engines and sessions that do nothing."""
    story = TREE / "examples/stories/torch"
    runs = []
    for number in range(bench.rounds):
        folder = bench.work / f"embedding-{number}"
        folder.mkdir(exist_ok=True)
        runs.append(bench.document(bench.program("embedding"), story, folder,
                                   100_000 if bench.quick else 1_000_000))
    one = runs[0]

    def row(key, what, name, note):
        return Row(key, f"{what}: memory", median(run[name]["kib"] for run in runs), "KiB",
                   note=f"created in {median(run[name]['us'] for run in runs):.0f} µs; {note}")

    return [
        row("engine", "an engine", "engine",
            f"{one['engine']['descriptors']:.0f} descriptors and no thread; {one['descriptors_after_a_tool']} "
            "more descriptors after its first tool"),
        row("session", "a session without a story", "session", "no descriptor"),
        row("session-story", "a session with the story torch", "story_session",
            "no descriptor; with a store, "
            f"{one['store_session']['descriptors']:.0f} descriptors a session and "
            f"{one['threads_of_a_store']} thread in the process, and "
            f"{median(run['store_session']['us'] for run in runs) / 1e3:.1f} ms for a new one"),
        Row("frame-idle", "`nar_engine_run_for` with a budget of 0 and nothing to do",
            median(run["frame_ns"] for run in runs), "ns",
            note=f"with 2,000 sessions {median(run['frame_2000_sessions_ns'] for run in runs):.0f} ns"),
    ]


def frame(bench):
    return [frame_row(bench, "frame", ""), frame_row(bench, "frame-store", ", in a session with a store",
                                                     "500", bench.work / "frames.db")]


def frame_row(bench, name, where, *options):
    for file in bench.work.glob("frames.db*"):
        file.unlink()
    run = bench.document(bench.program("frame_loop"), bench.program("long_lines"), "16",
                         "5" if bench.quick else "20", *options)
    note = (f"preempted calls excluded, {run['preempted']} of "
            f"{run['frames']}; 99.9 % within {run['undisturbedP999Us'] / 1e3:.2f} ms; "
            f"all calls: wall {run['wallLongestUs'] / 1e3:.2f} ms, 99.9 % "
            f"{run['wallP999Us'] / 1e3:.2f} ms; processor time {run['processorLongestUs'] / 1e3:.2f} ms, "
            f"99.9 % {run['processorP999Us'] / 1e3:.2f} ms, median "
            f"{run['processorMedianUs'] / 1e3:.2f} ms; while the tools were started "
            f"{run['startingLongestUs'] / 1e3:.2f} ms")
    if run["preempted"] == run["frames"]:
        # No call was undisturbed, so only the processor time can be judged.
        longest, note = run["processorLongestUs"], "by processor time; " + note
    else:
        longest = run["undisturbedLongestUs"]
    return Row(name, f"a frame loop at 60 Hz, 16 tools writing lines of up to 64 KiB{where}: the longest "
               "time inside a run call with a budget of 500 µs", longest / 1e3, "ms", most=1.0, note=note)


def has_package(bench):
    """True if the Python package can be measured; otherwise prints why not."""
    done = subprocess.run([sys.executable, "-c", "import narratoria._core"], env=bench.environment,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print("  the Python package is not built for this Python; its rows are left out: "
              + (done.stderr.strip().splitlines() or ["it cannot be imported"])[-1])
    return done.returncode == 0


def python_plan(bench):
    if not has_package(bench):
        return []
    count = 300 if bench.quick else 2000
    plan = bench.plan(f"independent-{count}.json", bench.program("log_done"), count)
    arguments = (plan, "--jobs", "2", "--resident-mb", "500")
    results = bench.in_turn(
        lambda: bench.python("run_plan.py", *arguments)["seconds"],
        lambda: bench.document(bench.program("run_plan"), *arguments)["seconds"])
    rate = [f"{count / median(column):.0f} tools/s" for column in zip(*results)]
    return [Row("python-plan", f"the {count:,} tools of `spawn` from Python, `session.execute(plan)`, "
                "with a sink, 500 MB resident in the host: the time against the same host in C++",
                median(ours / peer for ours, peer in results), "×", rate[0], rate[1], most=1.1)]


def python_with(variable, folder, packages, modules):
    """The Python that the variable names, or one with these packages in a folder of build/.

    Raises RuntimeError with the reason if there is none.
    """
    def run(*command, seconds):
        try:
            done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                                  timeout=seconds, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RuntimeError(str(error)) from error
        if done.returncode != 0:
            raise RuntimeError((done.stderr.strip().splitlines() or ["it failed"])[-1])

    def checked(python):
        run(python, "-c", f"import {modules}", seconds=60)
        return python

    if variable in os.environ:
        return checked(os.environ[variable])
    folder = TREE / "build" / folder
    python = folder / "bin/python"
    try:
        return checked(python)
    except RuntimeError:
        run(sys.executable, "-m", "venv", folder, seconds=120)
        run(python, "-m", "pip", "install", "--quiet", *packages, seconds=300)
        return checked(python)


def python_tool(bench):
    if not has_package(bench):
        return []
    count, mcp_count = 1000, 100 if bench.quick else 500
    runs, versions = [], set()

    def tool():
        runs.append(bench.python("tool_calls.py", count))
        return runs[-1]["toolUs"]

    measures, missing = [tool], ""
    try:
        interpreter = python_with("NARRATORIA_MCP_PYTHON", "mcp", [MCP], "mcp")

        def mcp():
            run = bench.python("mcp_calls.py", mcp_count, interpreter=interpreter)
            versions.add(run["version"])
            return run["callUs"]

        measures.append(mcp)
    except RuntimeError as error:
        missing = f"the package {MCP} is not available: {error}"
    results = bench.in_turn(*measures)
    functions = [run["functionUs"] for run in runs[1:]]
    ours = f"{median(row[0] for row in results):.1f} µs"
    what = "the same against a call of a tool on standard input and output by the reference Python " \
           "client of the Model Context Protocol, its server warm"
    if missing:
        compared = Row("python-tool-mcp", what, None, "×", ours, least=20, note=missing)
    else:
        compared = Row("python-tool-mcp", what, median(peer / mine for mine, peer in results), "×", ours,
                       f"{median(row[1] for row in results):.0f} µs", least=20,
                       note=f"mcp {', '.join(sorted(versions))}")
    return [
        Row("python-tool", f"a Python function as a tool (`@session.tool`), {count:,} in one plan, their "
            "results read: time per tool, minus a direct call of the function",
            median(row[0] - function for row, function in zip(results, functions)), "µs", ours,
            f"{median(functions):.2f} µs", most=20,
            note=f"{median(run['untilEndUs'] for run in runs[1:]):.1f} µs until the plan has ended"),
        Row("python-script-call", f"{count:,} CALLs of such a tool, one after the other, by a Nuwa script",
            1e6 / median(run["callUs"] for run in runs[1:]), "CALLs/s", least=50_000),
        compared,
    ]


def python_sink(bench):
    if not has_package(bench):
        return []
    plan, lines, count = cat_plan(bench)
    results = bench.in_turn(
        lambda: bench.python("sink.py", plan, count)["seconds"],
        lambda: bench.python("sink.py", plan, count, "--read")["seconds"],
        lambda: bench.python("json_loads.py", lines)["seconds"])
    rate = [f"{count / median(column) / 1e6:.2f} M/s" for column in zip(*results)]
    ratio = lambda ours: median(row[2] / row[ours] for row in results)
    return [
        Row("python-sink", f"{count:,} `state_patch` lines from `cat FILE` as a tool to a sink in Python, "
            "from submission to `result.success`; against `json.loads` of the same lines in memory",
            ratio(0), "×", rate[0], rate[2], least=1.5),
        Row("python-sink-read", "the same with the body of each event read", ratio(1), "×", rate[1],
            rate[2], least=0.8),
    ]


def python_import(bench):
    if not has_package(bench):
        return []
    count = 10 if bench.quick else 30
    timer = bench.program("command_time")
    results = bench.in_turn(
        lambda: bench.number(timer, count, sys.executable, "-c", "import narratoria; narratoria.Session"),
        lambda: bench.number(timer, count, sys.executable, "-c", "pass"))
    each = [f"{median(column) * 1e3:.1f} ms" for column in zip(*results)]
    return [Row("python-import", "`import narratoria` with its compiled part, start to exit, over "
                "`python -c pass`", median((ours - peer) * 1e3 for ours, peer in results), "ms",
                each[0], each[1], most=30)]


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


def narrator(bench):
    """A narrator that is a language model: plugins/narrator_llm."""
    program = bench.program("narrator")
    counts = {"delta": 100, "turn": 20, "cancel": 20} if bench.quick else \
             {"delta": 1000, "turn": 200, "cancel": 200}
    found = {}
    for what, count in counts.items():
        runs = [bench.document(program, what, count) for _ in range(3)]
        found[what] = {part: median(run[part] for run in runs) / 1e3
                       for part in ("median", "p99", "longest")}

    def row(what, text, most):
        times = found[what]
        return Row(f"narrator-{what}", text, times["p99"], "ms", most=most,
                   note=f"the 99th percentile of {counts[what]}; median {times['median']:.3f} ms, "
                        f"longest {times['longest']:.3f} ms")

    rows = [
        row("delta", "a language model as narrator (`narrator_llm`): from the write of a token at the server to "
            "the record `narrative_delta` in an event sink", 5),
        row("turn", "from a prompt to the end of its turn, without the time of the server, which answers after 20 ms", 5),
        row("cancel", "from `nar_session_cancel` to the server's reading the end of the connection", 100),
    ]
    return rows + (frameworks(bench, program) if has_package(bench) else [])


def frameworks(bench, program):
    """The loop of narrator_loops.py in this package and in others."""
    turns = 50 if bench.quick else 500
    names = {"langgraph": "LangGraph", "pydantic_ai": "Pydantic AI"}
    runs = {name: [] for name in ("narratoria", *names)}

    def play(name, interpreter):
        runs[name].append(bench.python("narrator_loops.py", program, name, turns, interpreter=interpreter))

    measures, missing = [lambda: play("narratoria", sys.executable)], ""
    try:
        python = python_with("NARRATORIA_FRAMEWORKS_PYTHON", "frameworks", FRAMEWORKS,
                             "langgraph, langchain_openai, pydantic_ai")
        measures += [lambda name=name: play(name, python) for name in names]
    except RuntimeError as error:
        missing = f"the packages {' '.join(FRAMEWORKS)} are not available: {error}"
    bench.in_turn(*measures, rounds=3)
    of = lambda name, what: [run[what] for run in runs[name][1:]]  # without the warm-up
    rows = []
    for name, title in names.items():
        key = f"narrator-{name.replace('_', '-')}"
        loop = f"{turns} turns with one use of a tool from Python, against the same in {title}: time per " \
               "turn, without the server's own"
        memory = "the same: resident memory of the process after the turns over that before the import"
        if missing:
            rows += [Row(key, loop, None, "×", least=5, note=missing),
                     Row(key + "-memory", memory, None, "×", least=5)]
            continue

        def compared(key, text, what, shape, note):
            both = list(zip(of(name, what), of("narratoria", what)))
            return Row(key, text, median(peer / ours for peer, ours in both), "×",
                       shape.format(median(ours for _, ours in both)), shape.format(median(peer for peer, _ in both)),
                       least=5, note=note)

        size = lambda each: f"{median(of(each, 'requestBytes')) / 1e3:.1f} KB"
        growth = lambda each: f"{median(of(each, 'growthBytes')):.0f} bytes"
        rows += [
            compared(key, loop, "turnMs", "{:.2f} ms",
                     f"{title} {runs[name][0]['version']}; a request has {size('narratoria')}, with {title} {size(name)}"),
            compared(key + "-memory", memory, "residentMb", "{:.1f} MB",
                     f"during the turns it grows by {growth('narratoria')} per turn, with {title} by {growth(name)}"),
        ]
    return rows


MEASURES = {
    "spawn": spawn, "chain": chain, "sandbox": sandbox, "pipeline": pipeline, "cat": cat, "state": state, "store": store,
    "memory": memory, "plan": plan, "script": script, "many": many, "million": million,
    "command": command, "embedding": embedding, "frame": frame, "plugins": plugins, "schemas": schemas, "page": page,
    "python-plan": python_plan,
    "python-tool": python_tool, "python-sink": python_sink, "python-import": python_import,
    "python-call": python_call,
    "service-call": service_call, "narrator": narrator,
}
ORDER = [
    "spawn", "spawn-1gb", "spawn-ninja", "spawn-make", "chain", "chain-nolibc", "sandbox",
    "pipeline",
    "pipeline-one-tree", "pipeline-nested", "pipeline-pool", "pipeline-with-log", "cat", "state-same", "state-random",
    "state-memory", "state-snapshot", "state-restore",
    "store-turn", "store-pipeline", "store-open", "store-state", "store-bytes", "plan", "plan-memory", "plan-growth",
    "script-loop", "script-machine-call", "script-call", "script-call-sink", "script-call-ordinary", "script-call-memory", "script-parse", "script-compile", "script-waiting", "many", "many-memory", "million",
    "command", "engine", "session", "session-story", "frame-idle", "frame", "frame-store", "plugin-sink", "plugin-sink-cpp", "plugin-sinks-16", "plugin-scan",
    "plugin-life", "schema-check", "tool-find", "page-streams", "page-first-byte", "python-plan", "python-tool", "python-script-call", "python-tool-mcp", "python-sink",
    "python-sink-read", "python-import", "python-call", "python-call-python", "python-call-fresh",
    "service-call", "service-many", "narrator-delta", "narrator-turn", "narrator-cancel", "narrator-langgraph",
    "narrator-langgraph-memory", "narrator-pydantic-ai", "narrator-pydantic-ai-memory",
]
HEAD = ["row", "command", "work", "ours", "peer", "measured", "bar", "", "when"]


def machine():
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return (f"{model}, {len(os.sched_getaffinity(0))} cores, Linux {platform.release()} "
            f"{platform.machine()}")


def table(lines):
    return "\n".join(["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD),
                      *("| " + " | ".join(cells) + " |" for cells in lines)])


def kept(text, begin, end):
    """The rows of an earlier table: {key: cells}."""
    rows = {}
    for line in text[text.index(begin):text.index(end)].splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if cells[0].startswith("`"):
            rows[cells[0].strip("`")] = cells
    return rows


def write_page(measured):
    page = PAGE.read_text()
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    rows = kept(page, BEGIN, END) | measured
    lines = [rows[key] for key in ORDER if key in rows]
    PAGE.write_text(f"{page[:begin]}\n{machine()}\n\n{table(lines)}\n{page[end:]}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=" ".join(MEASURES))
    parser.add_argument("--quick", action="store_true", help="smaller, three minutes, prints only")
    parser.add_argument("--build", type=Path, default=TREE / "build/release", metavar="FOLDER")
    parser.add_argument("--keep", type=Path, metavar="FOLDER",
                        help="leave the generated plans and files there")
    options = parser.parse_args()
    for name in options.rows:
        if name not in MEASURES:
            parser.error(f"there is no row {name}; there are {' '.join(MEASURES)}")
    build = options.build.resolve()
    if not (build / "tests/bench/run_plan").exists():
        sys.exit(f"{build}/tests/bench has no programs; build the preset \"release\" with "
                 "-DNARRATORIA_BENCH=ON, or name its folder with --build")
    for tool in ("ninja", "make"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is missing, but some rows compare with it; install it")

    measured, failed = {}, []
    print(machine())
    with tempfile.TemporaryDirectory(prefix="narratoria-bench-") as folder:
        work = (options.keep or Path(folder)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        for name in options.rows or MEASURES:
            bench = Bench(build, work, options.quick)
            load = os.getloadavg()[0]
            try:
                rows = MEASURES[name](bench)
            except Missing as missing:
                print(f"{name:18} not measured: {missing}", flush=True)
                continue
            load = max(load, os.getloadavg()[0]) if name in ("state", "memory", "plan") else load
            when = f"{datetime.datetime.now():%Y-%m-%d %H:%M}, load {load:.1f}"
            for text in bench.commands:
                print(f"  $ {text}", flush=True)
            for row in rows:
                cells = row.cells(name, when)
                measured[row.key] = cells
                failed += [row.key] if "fail" in row.verdict else []
                print(f"{row.key:18} {row.value:>12}  {row.bar:>12}  {row.verdict.strip('*'):14}"
                      f" {row.ours} | {row.peer}  {row.note}", flush=True)
    if options.quick:
        print("(--quick: docs/performance.md stays as it is)")
    else:
        write_page(measured)
    if failed:
        print("below the bar: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
