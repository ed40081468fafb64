# SPDX-License-Identifier: Apache-2.0
"""Plans and helpers that several tests use."""

from __future__ import annotations

from typing import Any

from narratoria import Invocation, Plan


def one(path: str, tool_input: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A plan with one tool, "t", and no retries."""
    entry = {
        "toolId": "t",
        "toolPath": path,
        "input": tool_input or {},
        "retryPolicy": {"maxRetries": 0},
        **more,
    }
    return {"requestId": "plan", "tools": [entry]}


def plan_of(path: str, tool_input: dict[str, Any] | None = None, **more: Any) -> Plan:
    """A plan with one tool, "t", as an object."""
    return Plan([Invocation("t", path, tool_input or {}, **more)])


def line(event: str) -> str:
    """A shell command that prints an event; `event` is JSON without its version."""
    return "echo '" + '{"version":"0",' + event[1:] + "'"


DONE = line('{"type":"done","ok":true}')


def roll_dice(sides: int = 6) -> int:
    return min(sides, 4)
