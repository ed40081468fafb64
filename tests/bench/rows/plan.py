# SPDX-License-Identifier: Apache-2.0
"""Plans before their execution."""

from .bench import median
from .row import Row


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
