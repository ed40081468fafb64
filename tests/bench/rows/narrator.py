# SPDX-License-Identifier: Apache-2.0
"""Narrators that are language models."""

import sys

from .bench import median
from .python import has_package, python_with
from .row import Row

FRAMEWORKS = ("langgraph==1.2.24", "langchain-openai==1.7.4", "pydantic-ai-slim[openai]==2.68.0")


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
