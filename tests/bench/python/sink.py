#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sink.py PLAN COUNT [--read]: runs a plan with a tool that prints COUNT patches, and with a sink
that counts them; with --read it reads the body of each. Prints the seconds from submission to
result as JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import narratoria


def main() -> None:
    plan, count = Path(sys.argv[1]).read_text(), int(sys.argv[2])
    events = 0

    def look(event: narratoria.Event) -> None:
        nonlocal events
        events += 1

    def read(event: narratoria.Event) -> None:
        nonlocal events
        if event.body["type"] == "state_patch":
            events += 1

    with narratoria.Session() as session:
        session.add_sink(read if "--read" in sys.argv[3:] else look, ["tool_event"])
        begin = time.perf_counter()
        succeeded = session.execute(plan).success
        seconds = time.perf_counter() - begin
    if not succeeded or events not in (count, count + 1):  # without --read `done` is counted, too
        raise SystemExit(f"{events} events, success {succeeded}")
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
