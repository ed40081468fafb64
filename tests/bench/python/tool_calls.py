#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tool_calls.py COUNT: a function as a tool, COUNT times in one plan, the results read, and the
function itself called as often with the same arguments. Prints the microseconds of a call of each, as
JSON."""

from __future__ import annotations

import json
import sys
import time

import narratoria


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
    with narratoria.Session() as session:
        session.tool(add)
        session.execute(plan)  # to warm up
        begin = time.perf_counter()
        returned = [tool.result for tool in session.execute(plan).tool_results]
        as_tool = time.perf_counter() - begin
    begin = time.perf_counter()
    sums = [add(**tool_input) for tool_input in inputs]
    as_function = time.perf_counter() - begin
    if returned != sums:
        raise SystemExit(f"{returned[:3]}… is not {sums[:3]}…")
    micro = 1e6 / count
    print(json.dumps({"toolUs": as_tool * micro, "functionUs": as_function * micro}))


if __name__ == "__main__":
    main()
