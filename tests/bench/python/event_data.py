#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""event_data.py [COUNT]: reads `event.body` and `event.data` of COUNT fresh events in turn. Prints,
as JSON, the speed of `data` relative to that of `body` for each kind, and the lowest."""

from __future__ import annotations

import json
import sys
import time
from statistics import median
from typing import Any

import narratoria

ROUNDS = 9


def sample() -> dict[str, narratoria.Event]:
    """One event of each kind and type, as a session delivers it."""
    seen: list[narratoria.Event] = []
    with narratoria.Session() as session:

        @session.tool
        def talk(context: narratoria.Context) -> int:
            context.log("step 12 of 400 done")
            context.emit({"type": "log", "level": "info", "message": "step", "mood": "odd"})
            context.patch({"torch": {"lit": True}})
            context.ui_event("bell", {"times": 3})
            context.error("WET", "The torch is wet.")
            return 1

        session.narrator(
            lambda request: narratoria.Plan(
                [
                    narratoria.Invocation("a", "talk"),
                    narratoria.Invocation("b", "talk", {}, ["a"]),
                ],
                narrative="It talks.",
            )
        )
        session.add_sink(seen.append)
        session.play("x")
        session.state.patch({"a": 1})
    made: dict[str, narratoria.Event] = {}
    for event in seen:
        name = event.type or event.kind
        made.setdefault(f"{name} with an unknown member" if "mood" in event.body else name, event)
    return made


def seconds(event: narratoria.Event, attribute: str, count: int) -> float:
    (restore, state) = event.__reduce__()
    fresh: list[Any] = [restore(*state) for _ in range(count)]
    begin = time.thread_time()
    for each in fresh:
        getattr(each, attribute)
    return time.thread_time() - begin


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    ratios: dict[str, float] = {}
    for name, event in sample().items():
        rounds = [
            seconds(event, "body", count) / seconds(event, "data", count) for _ in range(ROUNDS)
        ]
        ratios[name] = round(median(rounds), 2)
    print(json.dumps({"lowest": min(ratios.values()), "kinds": ratios}))


if __name__ == "__main__":
    main()
