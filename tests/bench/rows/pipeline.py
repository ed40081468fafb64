# SPDX-License-Identifier: Apache-2.0
"""Lines of tools, from bytes to sinks."""

import shutil

from .bench import median
from .row import Row


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
