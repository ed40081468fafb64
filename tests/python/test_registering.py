# SPDX-License-Identifier: Apache-2.0
"""Functions of a session may register functions in that session while they run."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from plans import one

import narratoria
from narratoria import Context, Invocation, Plan, aio

# Only a guard against hangs; no test takes this long.
PATIENCE_S = 60


class Registering:
    """Registers one function of each kind in a session, and records the outcome."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.refused: list[str] = []
        self.heard: list[str] = []

    def __call__(self) -> None:
        for register in (self.tool, self.toolset, self.handler, self.renderer, self.narrator):
            try:
                register()
            except narratoria.ReentrantError as error:
                assert "async" in str(error) and "thread" in str(error)
                self.refused.append(register.__name__)

    def tool(self) -> None:
        self.session.tool(name="learned")(lambda: "by heart")

    def toolset(self) -> None:
        tools = narratoria.Toolset()
        tools.tool(name="shared")(lambda: "by all")
        self.session.use(tools)

    def handler(self) -> None:
        self.session.on_ui_event("bell")(lambda event: self.heard.append(event.event))

    def renderer(self) -> None:
        self.session.asset_renderer("*/*")(lambda asset: self.heard.append(asset.asset_id))

    def narrator(self) -> None:
        self.session.narrator(lambda request: "The new one.")


EXTENSIONS = ["handler", "renderer", "narrator"]


def give(session: Any, kind: str, work: Callable[[], object]) -> None:
    """Registers a function of this kind that calls `work`."""
    if kind == "thread":
        session.tool(name="t")(lambda: work() and None)
    elif kind == "generator":

        @session.tool(name="t")
        def generator() -> Any:
            yield {"type": "log", "level": "info", "message": "first"}
            work()

    elif kind == "async":

        @session.tool(name="t")
        async def tool() -> None:
            await asyncio.sleep(0)
            work()

    elif kind == "async generator":

        @session.tool(name="t")
        async def async_generator() -> Any:
            yield {"type": "log", "level": "info", "message": "first"}
            work()

    elif kind == "on the session's thread":
        session.tool(name="t", thread=False)(lambda: work() and None)
    else:

        @session.tool(name="t")
        def ask(context: Context) -> None:
            context.ui_event("start")

        if kind == "sink":
            session.add_sink(lambda event: work(), ["plan_started"])
        elif kind == "handler":
            session.on_ui_event("start")(lambda event: work() and None)
        elif kind == "async handler":

            @session.on_ui_event("start")
            async def handle(event: Any) -> None:
                work()

        else:
            assert kind == "narrator"
            session.narrator(lambda request: [work(), one("t")][1])


FREE = ["thread", "generator", "async", "async generator", "async handler"]
BOUND = ["on the session's thread", "sink", "handler", "narrator"]


@pytest.mark.parametrize("kind", FREE + BOUND)
def test_functions_of_blocking_session_may_register(session: Any, kind: str) -> None:
    register = Registering(session)
    give(session, kind, register)
    if kind == "narrator":
        assert session.play("x").outcome == "completed"
    else:
        assert session.execute(one("t")).success
    assert register.refused == (EXTENSIONS if kind in BOUND else [])
    if kind in FREE:
        assert session.call("learned") == "by heart" and session.call("shared") == "by all"
        assert session.play("x").narrative == "The new one."

        @session.tool
        def ring(context: Context) -> None:
            context.ui_event("bell")

        session.call("ring")
        assert register.heard == ["bell"]


@pytest.mark.parametrize("kind", FREE + BOUND)
async def test_functions_of_asyncio_session_may_register(kind: str) -> None:
    async with aio.Session() as session:
        register = Registering(session)
        done = asyncio.Event()
        loop = asyncio.get_running_loop()

        def work() -> None:
            register()
            loop.call_soon_threadsafe(done.set)

        give(session, kind, work)
        if kind == "narrator":
            await session.play("x")
        else:
            assert (await session.execute(one("t"))).success
        await done.wait()
        assert register.refused == (EXTENSIONS if kind in BOUND else [])
        if kind in FREE:
            assert await session.call("learned") == "by heart"
            assert await session.call("shared") == "by all"
            assert (await session.play("x")).narrative == "The new one."


@pytest.mark.parametrize("kind", FREE + BOUND)
def test_sinks_can_be_changed_in_every_function(session: Any, kind: str) -> None:
    seen: list[str] = []

    def sink(event: narratoria.Event) -> None:
        seen.append(event.kind)

    def work() -> None:
        if not seen:
            session.add_sink(sink, ["tool_ended"])
            session.add_sink(print, ["tool_ended"])
            session.remove_sink(print)
            seen.append("added")

    give(session, kind, work)
    if kind == "narrator":
        session.play("x")
    else:
        session.execute(one("t"))
    # The sink was attached from then on.
    session.execute(one("t"))
    session.remove_sink(sink)
    assert seen[0] == "added" and seen[-1] == "tool_ended"


def test_later_tool_of_same_plan_is_found(session: Any) -> None:
    @session.tool
    def teach() -> None:
        session.tool(name="sing")(lambda: "la")

    plan = Plan([Invocation("teach", "teach"), Invocation("sing", "sing", {}, ["teach"])])
    assert session.execute(plan)["sing"].result == "la"


def test_async_narrator_plans_with_tool_it_registered(session: Any) -> None:
    @session.narrator
    async def tell(request: narratoria.NarratorRequest) -> Plan:
        session.tool(name="sing")(lambda: "la")
        return Plan([Invocation("sing", "sing")], narrative="It sings.")

    turn = session.play("x")
    assert turn.result is not None and turn.result["sing"].result == "la"


def test_invalid_registration_raises_in_registering_function(session: Any) -> None:
    said: list[str] = []

    @session.tool
    def teach() -> None:
        for wrong in (lambda: session.tool(name="größe")(len), lambda: session.on_ui_event("x")(5)):
            with pytest.raises((TypeError, ValueError)) as raised:
                wrong()
            said.append(str(raised.value))

    assert session.execute(one("teach")).success
    assert "is not a valid tool name" in said[0] and "a handler must be a function" in said[1]


def test_thread_tool_registers_after_its_output() -> None:
    order: list[str] = []
    with narratoria.Session() as session:
        session.add_sink(lambda event: order.append(event.body.get("message")), ["tool_event"])

        @session.tool
        def teach(context: Context) -> Any:
            for number in range(3):
                context.log(f"{number}")
            session.tool(name="sing")(lambda: "la")
            yield {"type": "log", "level": "info", "message": "+".join(order)}

        session.execute(one("teach"))
    assert order[:4] == ["0", "1", "2", "0+1+2"]


def test_cancelled_tool_cannot_register() -> None:
    begun, go, ended = threading.Event(), threading.Event(), threading.Event()
    said: list[str] = []
    with narratoria.Session(times=narratoria.Times(grace_ms=1)) as session:

        @session.tool
        def late() -> None:
            begun.set()
            go.wait(PATIENCE_S)
            try:
                session.tool(name="sing")(lambda: "la")
            except narratoria.GoneError as error:
                said.append(error.code)
            ended.set()

        session.add_sink(lambda event: session.cancel(), ["attempt_started"])
        session.execute(one("late"))
        go.set()
        assert ended.wait(PATIENCE_S) and said == ["CANCELLED"]


def test_replaced_function_is_freed(session: Any) -> None:
    def first() -> int:
        return 1

    def tell(request: Any) -> str:
        return "first"

    session.tool(name="sing")(first)
    session.narrator(tell)
    assert session.call("sing") == 1
    watched = [weakref.ref(first), weakref.ref(tell)]
    del first, tell
    session.tool(name="sing")(lambda: 2)
    session.narrator(lambda request: "second")
    gc.collect()
    assert [each() for each in watched] == [None, None]
    assert session.call("sing") == 2 and session.play("x").narrative == "second"


def test_function_replaced_by_tool_is_freed_when_idle(session: Any) -> None:
    watched: list[Any] = []

    @session.tool
    def learn() -> None:
        def sing() -> None: ...

        watched.append(weakref.ref(sing))
        session.tool(name="sing")(sing)

    for _ in range(3):
        assert session.execute(one("learn")).success
    gc.collect()
    assert [each() is None for each in watched] == [True, True, False]


def test_retry_runs_tool_that_replaced_itself(session: Any) -> None:
    calls: list[str] = []

    @session.tool(name="sing")
    async def first() -> None:
        calls.append("first")
        session.tool(name="sing")(second)
        raise OSError("once more")

    def second() -> None:
        calls.append("second")

    retry = narratoria.RetryPolicy(1, 1)
    session.execute(Plan([Invocation("t", "sing", retry_policy=retry)]))
    assert calls[0] == "first" and len(calls) == 2
    assert session.call("sing") is None and calls[-1] == "second"


async def test_thread_tool_opens_and_closes_streams() -> None:
    kinds: list[str] = []
    async with aio.Session() as session:

        @session.tool
        def listen() -> None:
            session.events().close()
            # With a limit of 1, the end of this tool would fill the stream before it is read.
            made = session.events(["tool_ended"], limit=2)
            streams.append(made)
            # Dropped on a thread where the destructor cannot wait for the session's thread.
            dropped = session.events(limit=1)
            del dropped

        @session.tool
        def close() -> None:
            streams[0].close()

        streams: list[aio.EventStream] = []
        assert (await session.execute(one("listen"))).success

        async def read() -> None:
            async for event in streams[0]:
                kinds.append(event.kind)

        reading = asyncio.create_task(read())
        assert (await session.execute(one("close"))).success
        await reading
    assert kinds == ["tool_ended"]


class _Interrupting:
    def to_dict(self) -> Any:
        raise KeyboardInterrupt


def test_interrupt_in_tool_thread_is_raised_in_both_threads(session: Any) -> None:
    seen: list[type[BaseException]] = []

    @session.tool
    def write() -> None:
        try:
            session.state.patch({"x": _Interrupting()})
        except BaseException as exception:
            seen.append(type(exception))
            raise

    with pytest.raises(KeyboardInterrupt):
        session.execute(one("write"))
    session._tool_threads.wait(time.monotonic() + PATIENCE_S)
    assert seen == [KeyboardInterrupt]
    assert session.execute(Plan([])).success


def test_interrupt_does_not_skip_deferred_calls(session: Any) -> None:
    called: list[str] = []

    def interrupt() -> None:
        raise KeyboardInterrupt

    session._core.post(interrupt, False)
    session._core.post(lambda: called.append("deferred"), True)
    with pytest.raises(KeyboardInterrupt):
        session._core.run(1_000_000)
    assert called == ["deferred"]
