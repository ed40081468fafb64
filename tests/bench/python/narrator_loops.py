#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""narrator_loops.py SERVER LIBRARY TURNS: plays turns with a language model; `SERVER serve` is the
model (tests/bench/hosts/narrator.cpp), LIBRARY is narratoria, langgraph or pydantic_ai.

A turn is a prompt, an answer with one use of a tool, whose input the library checks and which it
runs, and the answer after it, which is JSON that the library checks against a schema. The model sees
at most the last 20 turns. Prints as JSON the milliseconds per turn without the server's own, and the
memory: resident after the turns over that before the import, and its growth per turn."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Annotated, Any

WARM_UP = 50
SHOWN = 20
INSTRUCTIONS = "You narrate an interactive story. Answer with a narrative and two choices."
Play = Callable[[str], Awaitable[str]]

lamps = 0


def lamp(oil: Annotated[int, "0 to 9"]) -> dict[str, int]:
    """Lights the lamp."""
    global lamps
    lamps += 1
    return {"hours": 2 * oil}


def narratoria_loop(url: str) -> tuple[Play, str]:
    import narratoria

    session = narratoria.Session(
        narrator="narratoria.narrator_llm",
        plugins=["narratoria.narrator_llm"],
        plugin_settings={
            "narratoria.narrator_llm": {"base_url": url, "model": "small", "format": "json_schema"}
        },
        times=narratoria.Times(narrator_ms=60_000),
        tools=[lamp],
    )

    async def play(prompt: str) -> str:
        return session.play(prompt).narrative

    return play, narratoria.__version__


def langgraph_loop(url: str) -> tuple[Play, str]:
    from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
    from langchain_openai import ChatOpenAI
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition
    from pydantic import BaseModel

    class Answer(BaseModel):
        narrative: str
        choices: list[str]

    model = ChatOpenAI(model="small", base_url=url, api_key="none").bind_tools(
        [lamp], response_format=Answer, strict=True
    )
    system = SystemMessage(INSTRUCTIONS)

    def ask(state: MessagesState) -> dict[str, list[AnyMessage]]:
        return {"messages": [model.invoke([system, *state["messages"]])]}

    builder = StateGraph(MessagesState)
    builder.add_node("ask", ask)
    builder.add_node("tools", ToolNode([lamp]))
    builder.add_edge(START, "ask")
    builder.add_conditional_edges("ask", tools_condition)
    builder.add_edge("tools", "ask")
    graph = builder.compile()
    shown: deque[list[AnyMessage]] = deque(maxlen=SHOWN)

    async def play(prompt: str) -> str:
        before = [message for turn in shown for message in turn]
        messages = graph.invoke({"messages": [*before, HumanMessage(prompt)]})["messages"]
        shown.append(messages[len(before) :])
        return messages[-1].additional_kwargs["parsed"].narrative

    return play, version("langgraph")


def pydantic_ai_loop(url: str) -> tuple[Play, str]:
    from pydantic import BaseModel
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class Answer(BaseModel):
        narrative: str
        choices: list[str]

    agent = Agent(
        OpenAIChatModel("small", provider=OpenAIProvider(base_url=url, api_key="none")),
        output_type=NativeOutput(Answer),
        instructions=INSTRUCTIONS,
        tools=[lamp],
    )
    shown: deque[list[ModelMessage]] = deque(maxlen=SHOWN)

    async def play(prompt: str) -> str:
        before = [message for turn in shown for message in turn]
        result = await agent.run(prompt, message_history=before)
        shown.append(result.new_messages())
        return result.output.narrative

    return play, version("pydantic-ai-slim")


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


async def measure(loop: Callable[[str], tuple[Play, str]], url: str, turns: int) -> dict[str, Any]:
    at_start = resident()
    play, library = loop(url)
    for number in range(WARM_UP):
        await play(f"I light lamp {number}")
    warm = resident()
    begin = time.perf_counter()
    for number in range(turns):
        narrative = await play(f"I light lamp {WARM_UP + number}")
    seconds = time.perf_counter() - begin
    end = resident()
    if not narrative.endswith("down behind it.") or lamps != WARM_UP + turns:
        raise SystemExit(f"{narrative!r} after {lamps} uses of the tool")
    return {
        "seconds": seconds,
        "residentMb": (end - at_start) / 1e6,
        "growthBytes": (end - warm) / turns,
        "version": library,
    }


def main() -> None:
    server, library, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
    loop = {
        "narratoria": narratoria_loop,
        "langgraph": langgraph_loop,
        "pydantic_ai": pydantic_ai_loop,
    }[library]
    with subprocess.Popen(
        [server, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as model:
        assert model.stdin and model.stdout
        url = json.loads(model.stdout.readline())["url"]
        found = asyncio.run(measure(loop, url, turns))
        model.stdin.close()
        served = json.loads(model.stdout.readline())
    if served["requests"] != 2 * (WARM_UP + turns):
        raise SystemExit(f"{served['requests']} requests in {WARM_UP + turns} turns")
    own = served["seconds"] / served["requests"] * 2
    found["turnMs"] = (found.pop("seconds") / turns - own) * 1e3
    found["requestBytes"] = served["bytes"] / served["requests"]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
