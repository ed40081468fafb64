# SPDX-License-Identifier: Apache-2.0
"""The state of a session."""

from .bench import median
from .row import Row


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
