# SPDX-License-Identifier: Apache-2.0
# pyright: strict
"""The whole public API as a program uses it, for `mypy --strict` and pyright. It is never run. Each
ignored error is a mistake that the type checker must find."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import assert_type

import narratoria
from narratoria import aio, documents, errors, events, tool
from narratoria.context import Context
from narratoria.state import State

assert_type(narratoria.__version__, str)
if TYPE_CHECKING:
    narratoria.Nonsense  # type: ignore[attr-defined]


# ---- a session


def sessions(folder: Path) -> None:
    with narratoria.Session(
        folder,
        state={"torch": {"lit": False}},
        narrator="org.example.oracle",
        plugins=["launcher", folder / "plugin.so"],
        id="cellar",
        jobs=2,
        root=folder,
        environment={"LANG": "C"},
        allow_paths=[folder],
        sandbox=["no_network", "no_subprocess"],
        times=narratoria.Times(try_ms=500),
        limits=narratoria.Limits(cpu_seconds=5),
    ) as session:
        assert_type(session, narratoria.Session)
        turn = session.play("I light the torch")
        assert_type(turn, narratoria.Turn)
        assert_type(turn.narrative, str)
        assert_type(turn.choices, list[str])
        assert_type(turn.assets, list[narratoria.Asset])
        assert_type(turn.generations, int)
        assert_type(turn.outcome, Literal["completed", "fallback", "cancelled", "timeout"])
        assert_type(turn.result, "narratoria.Result | None")
        result = session.execute({"requestId": "p", "tools": []}, folder=folder)
        assert_type(result, narratoria.Result)
        assert_type(result.raise_on_failure(), narratoria.Result)
        assert_type(turn.faults, list[str])
        session.execute(narratoria.Plan([{"toolId": "a", "toolPath": "b"}]), strict=True)
        session.call("roll", sides=6)
        session.use(narratoria.Toolset())
        assert_type(session.state.has("/torch"), bool)
        assert_type(session.state.size("/torch"), int)
        session.close(timeout=1)
        assert_type(session.id, str)
        assert_type(session.opening, "narratoria.Opening | None")
        assert_type(session.current, "narratoria.CurrentTurn")
        assert_type(session.is_closed, bool)
        assert_type(session.assets, list[narratoria.Asset])
        assert_type(session.plugins, list[dict[str, Any]])
        assert_type(session.history(), dict[str, Any])
        session.cancel()
        assert_type(session.tools, narratoria.Tools)
        assert_type(session.tools["roll"], narratoria.ToolInfo)
        assert_type(session.tools["roll"].input_schema, "dict[str, Any] | None")
        assert_type(list(session.tools), list[str])
        session.tools.register_path("light", folder / "light", description="Makes light.")
        session.tools.register_path(
            "torch",
            folder / "light",
            times=narratoria.Times(try_ms=500),
            limits=narratoria.Limits(),
        )
        assert_type(session.tools["torch"].times, narratoria.Times)
        assert_type(session.tools.openai(), list[dict[str, Any]])
        assert_type(session.tools.mcp(), list[dict[str, Any]])
        session.tools.remove("light")
        ran = session.run_script("PRINT(1)", {"n": 1}, tools=folder, on_print=print)
        assert_type(ran, narratoria.ScriptResult)
        assert_type(ran.output, list[str])
        assert_type(ran.scope, dict[str, Any])
        assert_type(ran.result, "narratoria.Result | None")
        assert_type(narratoria.parse_script(folder / "a.nuwa"), dict[str, Any])
        session.run_script(5)  # type: ignore[arg-type]
        session.play(5)  # type: ignore[arg-type]
        session.state = {}  # type: ignore[misc, assignment]


def states(session: narratoria.Session) -> None:
    state = session.state
    assert_type(state, State)
    mapping: Mapping[str, Any] = state
    assert_type(len(mapping), int)
    assert_type(state.at("/torch/lit"), Any)
    assert_type(state.to_dict(), dict[str, Any])
    state.patch({"torch": None})
    for name in state:
        assert_type(name, str)


# ---- tools: a decorator keeps the type of the function


def tools(session: narratoria.Session) -> None:
    @session.tool
    def roll(sides: int = 6) -> int:
        return sides

    assert_type(roll(4), int)
    roll("six")  # type: ignore[arg-type]

    @session.tool(name="dice", description="Rolls several.")
    def rolls(count: int, context: narratoria.Context) -> list[int]:
        context.log("Rolling", level="debug", count=count)
        return [count]

    @session.tool()
    async def nap(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "rested"

    async def use() -> None:
        assert_type(await nap(0.1), str)

    asyncio.run(use())

    @session.tool
    def steps(count: int) -> Iterator[dict[str, Any]]:
        yield {"type": "log", "level": "info", "message": "step"}

    assert_type(steps(2), Iterator[dict[str, Any]])

    @session.tool
    async def slow_steps(count: int) -> AsyncIterator[dict[str, Any]]:
        yield {"type": "log", "level": "info", "message": "step"}

    assert_type(slow_steps(2), AsyncIterator[dict[str, Any]])


def contexts(context: Context) -> None:
    assert_type(context.request, dict[str, Any])
    assert_type(context.dependencies, dict[str, Any])
    assert_type(context.state, State)
    assert_type(context.is_cancelled, bool)
    context.emit({"type": "done", "ok": True})
    context.progress(0.5, "half")
    context.patch({"torch": {"lit": True}})
    context.asset("map", "image", "image/png", Path("map.png"), {"width": 3})
    context.ui_event("bell", {"times": 3})
    context.error("WET", "It is wet.", {"wetness": 0.5})
    context.emit("done")  # type: ignore[arg-type]


# ---- handlers, narrators, sinks


def handlers(session: narratoria.Session) -> None:
    @session.on_ui_event("bell", priority=3)
    def ring(event: events.UiEvent) -> bool:
        return bool(event.payload)

    assert_type(ring(events.UiEvent("bell")), bool)

    @session.asset_renderer("image/*", "audio/*")
    async def show(asset: narratoria.Asset) -> None:
        print(asset.path)

    assert_type(show.__name__, str)

    @session.narrator
    def narrate(request: narratoria.NarratorRequest) -> narratoria.Plan | str:
        assert_type(request.prompt.text, str)
        assert_type(request.plan_faults, list[narratoria.Fault])
        assert_type(request.previous_result, "narratoria.Result | None")
        assert_type(request.invocations, "narratoria.Result | None")
        return request.prompt.text

    @session.narrator  # type: ignore[type-var]
    def counts(request: narratoria.NarratorRequest) -> int:
        return 5

    @session.narrator
    async def asks(request: narratoria.NarratorRequest, invoke: Any) -> dict[str, str]:
        return {"narrative": "It is dark."}

    def sink(event: narratoria.Event) -> None:
        assert_type(event.seq, int)
        assert_type(event.time, datetime)
        assert_type(event.session_id, str)
        assert_type(event.plan_id, "str | None")
        assert_type(event.tool_id, "str | None")
        assert_type(event.attempt, "int | None")
        assert_type(event.kind, str)
        assert_type(event.type, "str | None")
        assert_type(event.text, str)
        assert_type(event.body, dict[str, Any])
        assert_type(event.to_dict(), dict[str, Any])
        match event.data:
            case events.Log(message=message, level=level):
                assert_type(message, str)
                assert_type(level, Literal["debug", "info", "warn", "error"])
            case events.Done(ok=ok):
                assert_type(ok, bool)
            case _:
                pass

    session.add_sink(sink, ["tool_event"])
    session.remove_sink(sink)
    session.add_sink(5)  # type: ignore[arg-type]
    with narratoria.Session(narrator=narrate):
        pass


# ---- asyncio


async def awaited() -> None:
    async def ask(request: narratoria.NarratorRequest) -> str:
        return "Yes?"

    async with aio.Session("story", narrator=ask) as session:
        assert_type(session, aio.Session)

        @session.tool
        async def nap(seconds: float) -> str:
            return str(seconds)

        assert_type(await nap(1), str)
        turn = await session.play("Hello")
        assert_type(turn, narratoria.Turn)
        assert_type(await session.execute(narratoria.Plan()), narratoria.Result)
        assert_type(await session.run_script("", scope={}), narratoria.ScriptResult)
        assert_type(session.state, State)
        stream = session.events(["plan_ended"])
        assert_type(stream, aio.EventStream)
        async for event in stream:
            assert_type(event, narratoria.Event)
        stream.close()
        await stream.aclose()
    await session.aclose()


# ---- documents and events


def read_documents() -> None:
    plan = narratoria.Plan(
        [narratoria.Invocation("torch", "light", retry_policy=narratoria.RetryPolicy(0))],
        narrative="It is dark.",
        parallel=True,
    )
    assert_type(narratoria.Plan.from_dict(plan.to_dict()), narratoria.Plan)
    assert_type(plan.tool("torch").input, dict[str, Any])
    result = documents.Result("p", True, "", 0, [], [], 1, False)
    assert_type(result["torch"], narratoria.ToolResult)
    assert_type(result["torch"].attempts, list[narratoria.Attempt])
    assert_type(result["torch"].attempts[0].guarantees, list[documents.Receipt])
    narratoria.Session(sandbox="all", project=".")
    narratoria.Session(sandbox=True)  # type: ignore[arg-type]
    assert_type(result.failed, list[narratoria.ToolResult])
    for body in result["torch"].typed_events():
        assert_type(body, "events.EventBody | events.UnknownEvent")
    record = events.EventRecord.from_dict({})
    assert_type(record, events.EventRecord)
    assert_type(record.kind, str)
    for fault in narratoria.validate("plan", plan.to_dict()):
        assert_type(fault, narratoria.Fault)
        assert_type(fault.line, "int | None")
    narratoria.validate("poem", "")  # type: ignore[arg-type]
    narratoria.Plan(tools=5)  # type: ignore[arg-type]


# ---- errors


def fails(session: narratoria.Session) -> None:
    try:
        session.execute("{}")
    except narratoria.InvalidDocumentError as error:
        assert_type(error.faults, list[narratoria.Fault])
        assert_type(error.code, str)
        assert_type(error.status, str)
    except narratoria.ScriptError as error:
        assert_type(error.name, str)
        assert_type(error.line, "int | None")
        assert_type(error.text, str)
    except narratoria.DocumentError as error:
        assert_type(error.pointer, str)
    except (narratoria.BusyError, narratoria.GoneError, errors.Error):
        raise


# ---- a tool's own program


def greet(request: tool.Request) -> str:
    assert_type(request.input, dict[str, Any])
    tool.log("Greeting", "info")
    tool.progress(0.5)
    tool.patch({"greeted": True})
    tool.asset("map", "image", "image/png", "map.png")
    tool.ui_event("bell")
    if "who" not in request.input:
        raise tool.InvalidInput("is missing", "/who")
    return "Good evening."


def program() -> None:
    tool.run(greet)
    tool.run(greet(tool.Request()))  # type: ignore[arg-type]
