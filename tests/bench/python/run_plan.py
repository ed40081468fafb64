#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_plan.py PLAN [--jobs N] [--resident-mb N]: tests/bench/hosts/run_plan.cpp in Python. Runs a
plan as a host does and prints the seconds from its submission to its result as JSON."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import narratoria


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("plan", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--resident-mb", type=int, default=0)
    arguments = parser.parse_args()
    plan = arguments.plan.read_text()
    ballast = bytearray(arguments.resident_mb << 20)
    # Write to each page, so that it is resident.
    for place in range(0, len(ballast), 4096):
        ballast[place] = 1

    events = 0

    def count(event: narratoria.Event) -> None:
        nonlocal events
        events += 1

    times = narratoria.Times(try_ms=0, plan_ms=0)
    with narratoria.Session(jobs=arguments.jobs, times=times) as session:
        session.add_sink(count, ["tool_event"])
        begin = time.perf_counter()
        result = session.execute(plan)
        seconds = time.perf_counter() - begin
    if not result.success or len(result.tool_results) * 2 != events:
        raise SystemExit(f"{result!r}, {events} events")
    print(json.dumps({"seconds": seconds, "toolEvents": events}))


if __name__ == "__main__":
    main()
