# SPDX-License-Identifier: Apache-2.0
"""Plugins in loaded libraries."""

from .bench import median
from .row import Row


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
