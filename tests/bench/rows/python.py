# SPDX-License-Identifier: Apache-2.0
"""The Python package."""

import os
import subprocess
import sys

from .bench import TREE, median
from .pipeline import cat_plan
from .row import Row

MCP = "mcp==2.3.0"


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
