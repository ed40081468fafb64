#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One state that four kinds of tools change: the process tool of a plan, a Nuwa script as narrator,
the tool of a C plugin, and a Python function.

    python examples/python/ferry.py STORY [--events FILE]

STORY is examples/stories/ferry with its plugin compiled: the copy in the build folder,
share/narratoria/stories/ferry, or the installed one. FILE gets the trace: the records of the
session's event stream in order, one per line.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import narratoria
from narratoria import Context


def pay_toll(coins: int, context: Context) -> dict[str, int]:
    """Pays the ferryman."""
    purse = context.state.at("/ferryman/purse", 0) + coins
    context.patch({"ferryman": {"purse": purse}})
    return {"paid": coins, "purse": purse}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("story", type=Path)
    parser.add_argument("--events", type=Path)
    options = parser.parse_args()

    with narratoria.Session(story=options.story) as session:
        records: list[str] = []
        session.add_sink(lambda event: records.append(event.to_json()))
        session.tool(pay_toll)
        print(session.execute((options.story / "bell-plan.json").read_text()).narrative)
        turn = session.play("I cross")
        print(turn.narrative)
        print(json.dumps(session.state.to_dict(), sort_keys=True))
        if options.events:
            options.events.write_text("".join(f"{record}\n" for record in records))
        return 0 if turn.outcome == "completed" else 1


if __name__ == "__main__":
    sys.exit(main())
