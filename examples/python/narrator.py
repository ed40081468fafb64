#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A narrator in Python: it plans with the tools of a story and with functions of this file.

    python examples/python/narrator.py "I light the torch and pull the lever"

The lever is rusted, and its tool fails. The runtime then asks again, with that skill disabled and
with the result of the first plan, and the narrator uses another tool for the same purpose.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import PurePath

import narratoria
from narratoria import Context, Invocation, NarratorRequest, Plan, RetryPolicy, ToolResult
from narratoria.events import ErrorEvent

ONCE = RetryPolicy(max_retries=0)

#: The tools for each word that the player may use, the best one first.
DEEDS: dict[str, list[Invocation]] = {
    "torch": [Invocation("torch", "tools/torch-lighter", {"action": "light_torch"})],
    "lever": [
        Invocation("lever", "tools/rusty-lever", {"action": "pull_lever"}, retry_policy=ONCE),
        Invocation("lever", "pry", {"strength": 3}),
    ],
    "door": [Invocation("door", "tools/door-examiner", {"target": "mysterious_door"})],
}


def pry(strength: int, context: Context) -> str:
    """Pries something loose that does not move by hand."""
    if not context.state.at("/inventory/torch/lit", False):
        context.log("You cannot see where to put the iron.", "warn")
    for blow in range(1, strength + 1):
        context.progress(blow / strength, f"Blow {blow} of {strength}")
    context.patch({"lever": {"pulled": True}})
    context.ui_event("narrative_choice", {"choices": ["Go down the stairs", "Turn back"]})
    return "loose"


def reason(failed: ToolResult) -> str:
    """Returns why a tool failed, from its error event."""
    for event in failed.typed_events():
        match event:
            case ErrorEvent(_, message):
                return message
    return f"The {failed.tool_id} resists."


def narrate(request: NarratorRequest) -> Plan | str:
    """Turns the prompt into a plan, or into a narrative alone."""
    words = request.prompt.text.lower()
    before = request.previous_result
    said = [reason(tool) for tool in before.failed] if before is not None else []
    tools: list[Invocation] = []
    for deed, ways in DEEDS.items():
        if deed not in words or (before is not None and deed in before and before[deed].ok):
            continue
        for way in ways:
            # The name of a skill is the last part of its tool's path.
            if PurePath(way.tool_path).name not in request.disabled_skills:
                # Each tool depends on the previous one, in the order of DEEDS.
                after = [tools[-1].tool_id] if tools else []
                tools.append(replace(way, dependencies=after))
                said.append(f"You see to the {deed}{' another way' if way is not ways[0] else ''}.")
                break
        else:
            return f"You have tried everything you know with the {deed}."
    return Plan(tools, " ".join(said)) if tools else "There is a torch here, a lever and a door."


def main() -> None:
    prompt = " ".join(sys.argv[1:]) or "I light the torch and pull the lever"
    with narratoria.Session(story=narratoria.sample_story(), narrator=narrate) as session:
        session.tool(pry)
        session.add_sink(print, ["plan_started", "tool_event", "tool_ended"])
        turn = session.play(prompt)
        print(turn.narrative)
        for choice in turn.choices:
            print(f"  - {choice}")
        print(f"after {turn.generations} plans: {session.state.to_dict()}")


if __name__ == "__main__":
    main()
