# SPDX-License-Identifier: Apache-2.0
"""Sessions of asyncio, which their loop drives without a thread and without polling."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from plans import DONE, line, one

import narratoria
from narratoria import aio

#: At most this long does a test take.
PATIENCE_S = 30


async def test_play_returns_turn(torch: str) -> None:
    async with aio.Session(story=torch) as session:
        turn = await session.play("I light the torch")
        assert turn.outcome == "completed"
        assert session.state["inventory"]["torch"]["lit"] is True
        assert [asset.asset_id for asset in turn.assets] == ["lit_torch"]


def until_there(file: Path) -> str:
    """Shell code of a tool that waits until the file exists."""
    return f"until [ -e '{file}' ]; do sleep 0.01; done\n"


async def test_other_tasks_run_during_plan(make_tool: Any, tmp_path: Path) -> None:
    async def tick() -> None:
        for _ in range(10):
            await asyncio.sleep(0.01)
        (tmp_path / "ticked").touch()

    async with aio.Session() as session:
        ticking = asyncio.create_task(tick())
        tool = make_tool("t", until_there(tmp_path / "ticked") + DONE)
        assert (await session.execute(one(tool))).success
        await ticking


async def test_uses_neither_thread_nor_polling(make_tool: Any) -> None:
    threads = threading.active_count()
    async with aio.Session() as session:
        turns = 0
        driver = session._driver
        assert driver is not None
        turn = driver.turn

        # Counts how often the loop wakes for the engine.
        def counting() -> None:
            nonlocal turns
            turns += 1
            turn()

        driver.turn = counting  # type: ignore[method-assign]
        asyncio.get_running_loop().add_reader(driver._descriptor, counting)
        await session.execute(one(make_tool("t", f"sleep 1\n{DONE}")))
        assert threading.active_count() == threads
    assert turns < 30


async def test_second_prompt_waits_and_third_is_refused() -> None:
    async with aio.Session() as session:

        @session.narrator
        async def tell(request: Any) -> str:
            await asyncio.sleep(0.02)
            return request.prompt.text.upper()

        first = asyncio.create_task(session.play("a"))
        second = asyncio.create_task(session.play("b"))
        await asyncio.sleep(0)
        with pytest.raises(narratoria.BusyError):
            await session.play("c")
        assert [(await first).narrative, (await second).narrative] == ["A", "B"]


async def test_cancelled_task_cancels_plan(make_tool: Any) -> None:
    async with aio.Session() as session:
        ended = session.events(["tool_ended"])
        task = asyncio.create_task(session.execute(one(make_tool("t", "sleep 60"))))
        started = session.events(["tool_started"])
        await anext(started)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        event = await anext(ended)
        assert event.body["errorCode"] == "CANCELLED"
        assert (await session.execute({"requestId": "p", "tools": []})).success


async def test_asyncio_timeout_cancels_plan(make_tool: Any) -> None:
    async with aio.Session() as session:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(session.execute(one(make_tool("t", "sleep 60"))), 0.1)


async def test_events_arrive_while_plan_runs(make_tool: Any, tmp_path: Path) -> None:
    log = line('{"type":"log","level":"info","message":"early"}')
    async with aio.Session() as session:
        stream = session.events(["tool_event"])
        task = asyncio.create_task(
            session.execute(one(make_tool("t", f"{log}\n{until_there(tmp_path / 'heard')}{DONE}")))
        )
        event = await anext(stream)
        assert event.body["message"] == "early" and not task.done()
        (tmp_path / "heard").touch()
        stream.close()
        await task
        with pytest.raises(StopAsyncIteration):
            while True:
                await anext(stream)


async def test_stream_ends_with_session() -> None:
    seen = []

    async def read(stream: aio.EventStream) -> None:
        async for event in stream:
            seen.append(event.kind)

    async with aio.Session() as session:
        reading = asyncio.create_task(read(session.events()))
        await session.execute({"requestId": "p", "tools": []})
    await reading
    assert seen == ["plan_started", "plan_ended"]


async def test_async_tools_run_in_session_loop() -> None:
    loop = asyncio.get_running_loop()
    async with aio.Session() as session:

        @session.tool
        async def where(context: narratoria.Context) -> bool:
            await asyncio.sleep(0)
            context.patch({"seen": True})
            await asyncio.sleep(0.01)
            assert context.state["seen"] is True, "its own patch is visible soon after"
            return asyncio.get_running_loop() is loop

        result = await session.execute(one("where"))
        assert result["t"].result is True, result["t"].error


async def test_async_tool_may_emit_from_thread() -> None:
    async with aio.Session() as session:

        @session.tool
        async def threaded(context: narratoria.Context) -> int:
            await asyncio.to_thread(context.log, "from elsewhere")
            return await asyncio.to_thread(lambda: 5)

        result = await session.execute(one("threaded"))
        assert result["t"].result == 5
        assert result["t"].events[0]["message"] == "from elsewhere"


async def test_async_handler_is_awaited(make_tool: Any) -> None:
    rung = asyncio.Event()
    async with aio.Session() as session:

        @session.on_ui_event("bell")
        async def ring(event: Any) -> None:
            await asyncio.sleep(0)
            rung.set()

        bell = line('{"type":"ui_event","event":"bell"}')
        await session.execute(one(make_tool("t", f"{bell}\n{DONE}")))
        await rung.wait()


async def test_call_before_entering_names_async_with() -> None:
    session = aio.Session()
    with pytest.raises(RuntimeError, match="async with"):
        await session.play("x")


async def test_block_end_cancels_running_plan(make_tool: Any) -> None:
    async with aio.Session() as session:
        task = asyncio.create_task(session.execute(one(make_tool("t", "sleep 60"))))
        await asyncio.sleep(0.1)
    with pytest.raises((narratoria.GoneError, asyncio.CancelledError)):
        result = await asyncio.wait_for(task, 300)
        # The result arrived before the session was closed.
        assert result["t"].error_code == "CANCELLED"
        raise asyncio.CancelledError


async def test_block_end_cancels_running_turn(make_tool: Any) -> None:
    async with aio.Session() as session:
        path = make_tool("t", "sleep 60")
        session.narrator(lambda request: {**one(path), "narrative": "Wait."})
        task = asyncio.create_task(session.play("x"))
        await anext(session.events(["tool_started"]))
    assert (await asyncio.wait_for(task, 300)).outcome == "cancelled"


async def test_cancel_works_from_any_thread(make_tool: Any) -> None:
    async with aio.Session() as session:
        task = asyncio.create_task(session.execute(one(make_tool("t", "sleep 6000"))))
        await anext(session.events(["tool_started"]))
        threading.Thread(target=session.cancel).start()
        assert (await task)["t"].error_code == "CANCELLED"


async def test_two_sessions_run_in_one_loop(make_tool: Any, tmp_path: Path) -> None:
    # Each waits until the other has started.
    plans = [
        one(
            make_tool(
                mine, f"touch '{tmp_path}/{mine}-runs'\n{until_there(tmp_path / other)}{DONE}"
            )
        )
        for mine, other in (("a", "b-runs"), ("b", "a-runs"))
    ]
    async with aio.Session() as first, aio.Session() as second:
        results = await asyncio.gather(first.execute(plans[0]), second.execute(plans[1]))
        assert all(result.success for result in results)


async def test_blocking_session_in_running_loop_names_aio() -> None:
    with narratoria.Session() as session:

        @session.tool
        async def nap() -> None:
            await asyncio.sleep(0)

        with pytest.raises(RuntimeError, match="aio"):
            session.execute(one("nap"))


# ---- calls that wait for each other


async def test_waiting_call_is_dropped_individually(make_tool: Any, tmp_path: Path) -> None:
    plan = one(make_tool("t", f"{until_there(tmp_path / 'go')}{DONE}"))
    async with aio.Session() as session:
        running = asyncio.create_task(session.execute(plan))
        await asyncio.sleep(0.1)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(session.execute(plan), 0.1)
        waiting = [asyncio.create_task(session.execute(plan)) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        (tmp_path / "go").touch()
        assert (await running).success
        assert (await waiting[1]).success
        assert waiting[0].cancelled()


async def test_cancelled_prompt_frees_waiting_place(make_tool: Any) -> None:
    path = make_tool("t", "sleep 60")
    async with aio.Session() as session:
        started = session.events(["tool_started"])
        running = asyncio.create_task(session.execute(one(path)))
        waiting = asyncio.create_task(session.execute({"requestId": "p", "tools": []}))
        await anext(started)
        running.cancel()
        assert (await asyncio.wait_for(waiting, 5)).success
        assert running.cancelled()


async def test_cancel_drops_waiting_calls(make_tool: Any) -> None:
    plan = one(make_tool("t", "sleep 60"))
    async with aio.Session() as session:
        calls = [asyncio.create_task(session.execute(plan)) for _ in range(3)]
        await anext(session.events(["tool_started"]))
        session.cancel()
        for call in calls:
            result = await asyncio.wait_for(call, 5)
            assert result["t"].error_code == "CANCELLED"
        assert (await session.execute({"requestId": "p", "tools": []})).success


async def test_invalid_plan_does_not_block_next_plan() -> None:
    async with aio.Session() as session:
        calls = [{"requestId": "p"}, {"requestId": "q", "tools": []}]
        first, second = await asyncio.gather(
            *(session.execute(plan) for plan in calls), return_exceptions=True
        )
        assert isinstance(first, narratoria.InvalidDocumentError)
        assert isinstance(second, narratoria.Result) and second.success


async def test_turn_has_only_its_own_assets(tmp_path: Any) -> None:
    (tmp_path / "a.png").write_text("x")

    async with aio.Session() as session:

        @session.tool
        async def draw(name: str, context: narratoria.Context) -> None:
            await asyncio.sleep(0.02)
            context.asset(name, "image", "image/png", tmp_path / "a.png")

        @session.narrator
        def tell(request: Any) -> Any:
            return one("draw", {"name": request.prompt.text})

        turns = await asyncio.gather(session.play("first"), session.play("second"))
        assert [[each.asset_id for each in turn.assets] for turn in turns] == [
            ["first"],
            ["second"],
        ]


async def test_close_ends_waiting_calls(make_tool: Any) -> None:
    async with aio.Session() as session:
        plan = one(make_tool("t", "sleep 60"))
        calls = [asyncio.create_task(session.execute(plan)) for _ in range(2)]
        await anext(session.events(["tool_started"]))
    assert (await asyncio.wait_for(calls[0], 5))["t"].error_code == "CANCELLED"
    with pytest.raises(narratoria.GoneError):
        await asyncio.wait_for(calls[1], 5)


# ---- calls that would wait for themselves, other threads, other loops


@pytest.mark.parametrize("call", ["execute", "play", "aclose"])
@pytest.mark.parametrize("kind", ["tool", "child", "narrator", "handler"])
async def test_call_that_would_wait_for_itself_is_refused(call: str, kind: str) -> None:
    refused: list[str] = []
    async with aio.Session() as session:

        async def again() -> None:
            calls = {
                "execute": lambda: session.execute({"requestId": "q", "tools": []}),
                "play": lambda: session.play("x"),
                "aclose": session.aclose,
            }
            try:
                await asyncio.wait_for(calls[call](), 5)
            except narratoria.ReentrantError as error:
                refused.append(error.code)

        @session.tool
        async def tool(context: narratoria.Context) -> None:
            if kind == "handler":
                context.ui_event("bell")
            await {"child": lambda: asyncio.create_task(again())}.get(kind, again)()

        @session.on_ui_event("bell")
        async def ring(event: Any) -> None:
            await again()

        @session.narrator
        async def tell(request: Any) -> str:
            if kind == "narrator":
                await again()
            return "x"

        if kind == "narrator":
            await session.play("x")
            assert refused == ["REENTRANT"]
            return
        assert (await session.execute(one("tool"))).success
        await session.execute({"requestId": "p", "tools": []})
        await asyncio.sleep(0.05)
        # No plan waits for a handler, so a handler may call play.
        assert refused == ["REENTRANT"] * (2 if (kind, call) == ("handler", "aclose") else 1)


async def test_task_that_outlives_its_tool_may_use_session() -> None:
    async with aio.Session() as session:
        left: list[asyncio.Task[Any]] = []

        async def later() -> bool:
            await asyncio.sleep(0.05)
            return (await session.execute({"requestId": "q", "tools": []})).success

        @session.tool
        async def tool() -> None:
            left.append(asyncio.create_task(later()))

        await session.execute(one("tool"))
        assert await left[0]


def test_calls_from_other_threads_are_refused() -> None:
    async def main() -> None:
        async with aio.Session(narrator=lambda request: "x") as session:
            state = session.state
            stream = session.events()
            for call in (
                lambda: state.patch({"a": 1}),
                lambda: state.to_dict(),
                lambda: session.assets,
                lambda: session.history(),
                lambda: session.tool(name="x")(lambda: 1),
                lambda: session.add_sink(print),
                lambda: session.events(),
                lambda: stream.close(),
                lambda: asyncio.run(session.play("x")),
                lambda: asyncio.run(session.aclose()),
            ):
                with pytest.raises(narratoria.ThreadError, match="thread of its loop"):
                    await asyncio.to_thread(call)
            # These are thread-safe.
            await asyncio.to_thread(session.cancel)
            assert session._id in await asyncio.to_thread(repr, session)
            assert (await session.play("x")).narrative == "x"

    asyncio.run(asyncio.wait_for(main(), 300), debug=True)


async def test_timer_fires_after_other_thread_held_session() -> None:
    async with aio.Session(times=narratoria.Times(try_ms=200)) as session:

        @session.tool
        async def forever() -> None:
            await asyncio.sleep(60)

        def hold() -> None:
            session._core.begin_use()
            time.sleep(0.4)
            session._core.end_use()

        task = asyncio.create_task(session.execute(one("forever")))
        await asyncio.sleep(0.05)
        # Not an allowed use of the session, but it must not lose the timer of the timeout.
        await asyncio.to_thread(hold)
        assert (await asyncio.wait_for(task, 300))["t"].state == "timeout"


def test_use_in_other_loop_is_refused() -> None:
    session = aio.Session()

    async def enter() -> None:
        await session.__aenter__()
        assert (await session.execute({"requestId": "p", "tools": []})).success

    async def use() -> None:
        with pytest.raises(RuntimeError, match="event loop in which it was entered"):
            await session.execute({"requestId": "p", "tools": []})
        with pytest.raises(RuntimeError, match="event loop in which it was entered"):
            await session.__aenter__()
        await session.aclose()
        assert session.is_closed

    asyncio.run(enter())
    asyncio.run(use())


async def test_entering_twice_keeps_one_driver() -> None:
    async with aio.Session(narrator=lambda request: "x") as session:
        driver = session._driver
        assert await session is session and session._driver is driver
        assert (await session.play("x")).narrative == "x"


async def test_dropped_stream_collects_nothing() -> None:
    async with aio.Session() as session:
        plan = {"requestId": "p", "tools": []}
        task = asyncio.create_task(session.execute(plan))
        async for _ in session.events():
            break
        await task
        await session.execute(plan)
        gc.collect()
        assert len(session._streams) == 0
        kept = [each for each in gc.get_objects() if isinstance(each, aio.EventStream)]
        assert kept == []


def test_plain_with_says_async_with() -> None:
    session: Any = aio.Session()
    with pytest.raises(TypeError, match="`async with`"):
        with session:
            pass
    asyncio.run(session.aclose())
