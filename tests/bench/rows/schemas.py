# SPDX-License-Identifier: Apache-2.0
"""The definitions of tools."""

from .bench import median
from .row import Row


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
