# SPDX-License-Identifier: Apache-2.0
"""Sessions that are stored."""

from .bench import median
from .pipeline import cat_plan
from .row import Row


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
