# SPDX-License-Identifier: Apache-2.0
"""Sessions of asyncio: driven by the loop they are in, without a thread and without polling."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from plans import DONE, line, one

import narratoria
from narratoria import aio


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 30))


def test_a_turn(torch: str) -> None:
    async def main() -> None:
        async with aio.Session(story=torch) as session:
            turn = await session.play("I light the torch")
            assert turn.outcome == "completed"
            assert session.state["inventory"]["torch"]["lit"] is True
            assert [asset.asset_id for asset in turn.assets] == ["lit_torch"]

    run(main())


def test_others_in_the_loop_have_their_turn(make_tool: Any) -> None:
    async def main() -> None:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        async with aio.Session() as session:
            ticking = asyncio.create_task(tick())
            await session.execute(one(make_tool("t", f"sleep 0.3\n{DONE}")))
            ticking.cancel()
        assert ticks > 10

    run(main())


def test_no_thread_and_no_polling(make_tool: Any) -> None:
    async def main() -> None:
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

    run(main())


def test_two_prompts_wait_for_each_other_and_a_third_is_refused() -> None:
    async def main() -> None:
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

    run(main())


def test_cancelling_the_task_cancels_the_plan(make_tool: Any) -> None:
    async def main() -> None:
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

    run(main())


def test_a_timeout_of_asyncio_cancels_it(make_tool: Any) -> None:
    async def main() -> None:
        async with aio.Session() as session:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(session.execute(one(make_tool("t", "sleep 60"))), 0.1)

    run(main())


def test_events_come_while_the_plan_runs(make_tool: Any) -> None:
    async def main() -> None:
        log = line('{"type":"log","level":"info","message":"early"}')
        async with aio.Session() as session:
            stream = session.events(["tool_event"])
            task = asyncio.create_task(
                session.execute(one(make_tool("t", f"{log}\nsleep 0.5\n{DONE}")))
            )
            event = await anext(stream)
            assert event.body["message"] == "early" and not task.done()
            stream.close()
            await task
            with pytest.raises(StopAsyncIteration):
                while True:
                    await anext(stream)

    run(main())


def test_the_stream_ends_with_the_session() -> None:
    async def main() -> None:
        seen = []

        async def read(stream: aio.EventStream) -> None:
            async for event in stream:
                seen.append(event.kind)

        async with aio.Session() as session:
            reading = asyncio.create_task(read(session.events()))
            await session.execute({"requestId": "p", "tools": []})
        await reading
        assert seen == ["plan_started", "plan_ended"]

    run(main())


def test_async_tools_run_in_the_same_loop() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with aio.Session() as session:

            @session.tool
            async def where(context: narratoria.Context) -> bool:
                await asyncio.sleep(0)
                context.patch({"seen": True})
                await asyncio.sleep(0.01)
                assert context.state["seen"] is True, "what it patched is there soon after"
                return asyncio.get_running_loop() is loop

            result = await session.execute(one("where"))
            assert result["t"].result is True, result["t"].error

    run(main())


def test_an_async_tool_may_answer_from_a_thread() -> None:
    async def main() -> None:
        async with aio.Session() as session:

            @session.tool
            async def threaded(context: narratoria.Context) -> int:
                await asyncio.to_thread(context.log, "from elsewhere")
                return await asyncio.to_thread(lambda: 5)

            result = await session.execute(one("threaded"))
            assert result["t"].result == 5
            assert result["t"].events[0]["message"] == "from elsewhere"

    run(main())


def test_an_async_handler(make_tool: Any) -> None:
    async def main() -> None:
        rung = asyncio.Event()
        async with aio.Session() as session:

            @session.on_ui_event("bell")
            async def ring(event: Any) -> None:
                await asyncio.sleep(0)
                rung.set()

            bell = line('{"type":"ui_event","event":"bell"}')
            await session.execute(one(make_tool("t", f"{bell}\n{DONE}")))
            await rung.wait()

    run(main())


def test_outside_of_async_with_it_says_so() -> None:
    async def main() -> None:
        session = aio.Session()
        with pytest.raises(RuntimeError, match="async with"):
            await session.play("x")

    run(main())


def test_the_end_of_the_block_ends_what_runs(make_tool: Any) -> None:
    async def main() -> None:
        async with aio.Session() as session:
            task = asyncio.create_task(session.execute(one(make_tool("t", "sleep 60"))))
            await asyncio.sleep(0.1)
        with pytest.raises((narratoria.GoneError, asyncio.CancelledError)):
            result = await asyncio.wait_for(task, 5)
            # It was told before the session was gone.
            assert result["t"].error_code == "CANCELLED"
            raise asyncio.CancelledError

    run(main())


def test_the_end_of_the_block_ends_a_turn(make_tool: Any) -> None:
    async def main() -> None:
        async with aio.Session() as session:
            path = make_tool("t", "sleep 60")
            session.narrator(lambda request: {**one(path), "narrative": "Wait."})
            task = asyncio.create_task(session.play("x"))
            await anext(session.events(["tool_started"]))
        assert (await asyncio.wait_for(task, 5)).outcome == "cancelled"

    run(main())


def test_cancel_from_another_thread(make_tool: Any) -> None:
    async def main() -> None:
        async with aio.Session() as session:
            threading.Timer(0.1, session.cancel).start()
            begin = time.monotonic()
            result = await session.execute(one(make_tool("t", "sleep 60")))
            assert result["t"].error_code == "CANCELLED"
            assert time.monotonic() - begin < 5

    run(main())


def test_two_sessions_in_one_loop(make_tool: Any) -> None:
    async def main() -> None:
        path = make_tool("t", f"sleep 0.3\n{DONE}")
        async with aio.Session() as first, aio.Session() as second:
            begin = time.monotonic()
            results = await asyncio.gather(first.execute(one(path)), second.execute(one(path)))
            assert all(result.success for result in results)
            assert time.monotonic() - begin < 0.55

    run(main())


def test_a_blocking_session_in_a_loop_names_the_way_out() -> None:
    async def main() -> None:
        with narratoria.Session() as session:

            @session.tool
            async def nap() -> None:
                await asyncio.sleep(0)

            with pytest.raises(RuntimeError, match="aio"):
                session.execute(one("nap"))

    run(main())
