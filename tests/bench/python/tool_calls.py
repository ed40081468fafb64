#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tool_calls.py COUNT: calls a function as a tool COUNT times in one plan and reads the results,
then COUNT times from a Nuwa script, then calls the function itself COUNT times with the same
arguments. Prints the microseconds per call of each, the median of nine rounds, as JSON."""

from __future__ import annotations

import json
import sys
import time
from statistics import median

import narratoria

ROUNDS = 9


def add(a: int, b: int) -> int:
    return a + b


def main() -> None:
    count = int(sys.argv[1])
    inputs = [{"a": number, "b": 2} for number in range(count)]
    plan = {
        "requestId": "p",
        "tools": [
            {"toolId": f"t{number}", "toolPath": "add", "input": tool_input}
            for number, tool_input in enumerate(inputs)
        ],
    }
    script = "FOR number IN numbers DO LET sum = CALL add {a: number, b: 2} END"
    until_end, as_tool, in_script, as_function = [], [], [], []
    with narratoria.Session() as session:
        session.tool(add)
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            result = session.execute(plan)
            until_end.append(time.perf_counter() - begin)
            returned = [tool.result for tool in result.tool_results]
            as_tool.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            ran = session.run_script(script, {"numbers": list(range(count))})
            in_script.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            sums = [add(**tool_input) for tool_input in inputs]
            as_function.append(time.perf_counter() - begin)
            if returned != sums:
                raise SystemExit(f"{returned[:3]}… is not {sums[:3]}…")
            if len(ran.result.tool_results) != count:
                raise SystemExit(f"the script made {len(ran.result.tool_results)} CALLs")
    micro = 1e6 / count
    print(
        json.dumps(
            {
                "toolUs": median(as_tool) * micro,
                "untilEndUs": median(until_end) * micro,
                "callUs": median(in_script) * micro,
                "functionUs": median(as_function) * micro,
            }
        )
    )


if __name__ == "__main__":
    main()
