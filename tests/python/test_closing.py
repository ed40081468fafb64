# SPDX-License-Identifier: Apache-2.0
"""The end of a session: close, unclosed sessions, and interrupts in functions."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import threading
import time
import weakref
from typing import Any

import pytest
from plans import plan_of

import narratoria
from narratoria import Context, NarratoriaWarning, Session

# Only a guard against hangs; no test takes this long.
PATIENCE_S = 60


class TestClosing:
    def test_tool_that_ignores_cancellation_does_not_block_close(self) -> None:
        began = threading.Event()
        session = Session()

        @session.tool
        async def stubborn(context: Context) -> None:
            began.set()
            context.log("on my way")
            until = time.monotonic() + PATIENCE_S
            while time.monotonic() < until:
                try:
                    await asyncio.sleep(PATIENCE_S)
                except asyncio.CancelledError:
                    continue

        session.add_sink(lambda event: session.cancel(), ["tool_event"])
        session.execute(plan_of("stubborn"))
        with pytest.warns(NarratoriaWarning, match="did not end within 0.1 s: stubborn;"):
            session.close(timeout=0.1)
        assert began.is_set() and session.is_closed

    async def test_tool_that_ignores_cancellation_does_not_block_aclose(self) -> None:
        session = await narratoria.aio.Session(close_timeout=0.1)
        is_over = False

        @session.tool
        async def stubborn() -> None:
            while not is_over:
                try:
                    await asyncio.sleep(0.01)
                except asyncio.CancelledError:
                    continue

        running = asyncio.create_task(session.execute(plan_of("stubborn")))
        await anext(session.events(["attempt_started"]))
        with pytest.warns(NarratoriaWarning, match="did not end within 0.1 s: stubborn;"):
            await session.aclose()
        is_over = True
        with pytest.raises((narratoria.Error, asyncio.CancelledError)):
            (await running).raise_on_failure()

    @pytest.mark.parametrize("what", ["narrator", "handler"])
    async def test_close_names_function_that_is_still_running(self, what: str) -> None:
        session = await narratoria.aio.Session(close_timeout=0.1)
        began = asyncio.Event()
        is_over = False

        async def stubborn(given: Any) -> str:
            while not is_over:
                began.set()
                try:
                    await asyncio.sleep(0.01)
                except asyncio.CancelledError:
                    continue
            return ""

        @session.tool
        async def ring(context: Context) -> None:
            context.ui_event("bell")

        if what == "narrator":
            session.narrator(stubborn)
        else:
            session.on_ui_event("bell")(stubborn)
            session.narrator(lambda request: narratoria.Plan([narratoria.Invocation("ring")]))
        playing = asyncio.create_task(session.play("x"))
        await began.wait()
        with pytest.warns(NarratoriaWarning, match="did not end within 0.1 s: stubborn;"):
            await session.aclose()
        is_over = True
        playing.cancel()

    def test_close_names_thread_tool_that_is_still_running(self) -> None:
        leave = threading.Event()
        session = Session()

        @session.tool
        def busy() -> None:
            leave.wait(PATIENCE_S)

        session.add_sink(lambda event: session.cancel(), ["attempt_started"])
        session.execute(plan_of("busy"))
        with pytest.warns(NarratoriaWarning, match="busy"):
            session.close(timeout=0.05)
        leave.set()

    def test_unclosed_session_gives_resource_warning(self) -> None:
        session = Session()
        with pytest.warns(ResourceWarning, match="was not closed"):
            del session
            gc.collect()

    async def test_unclosed_asyncio_session_is_collected(self) -> None:
        session = await narratoria.aio.Session()

        @session.tool
        async def nap() -> None:
            await asyncio.sleep(0)

        assert (await session.execute(plan_of("nap"))).success
        kept = weakref.ref(session)
        with pytest.warns(ResourceWarning, match="was not closed"):
            del session
            for _ in range(3):
                await asyncio.sleep(0)
                gc.collect()
        assert kept() is None

    @pytest.mark.parametrize("timeout", ["5", True, -2, float("nan")])
    def test_invalid_timeout_is_refused(self, session: Any, timeout: Any) -> None:
        with pytest.raises((TypeError, ValueError), match="timeout"):
            session.close(timeout)


class TestInterrupts:
    @pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
    @pytest.mark.parametrize("is_async", [False, True])
    def test_interrupted_narrator_is_not_asked_again(
        self, session: Any, kind: Any, is_async: bool
    ) -> None:
        asked = []

        def tell(request: Any) -> str:
            asked.append(request)
            raise kind

        async def tell_later(request: Any) -> str:
            return tell(request)

        session.narrator(tell_later if is_async else tell)
        with pytest.raises(kind):
            session.play("x")
        assert len(asked) == 1

    @pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
    def test_interrupted_sink_gets_no_more_events(self, session: Any, kind: Any) -> None:
        got = []

        @session.tool
        def chatty(context: Context) -> None:
            for number in range(10_000):
                context.log(f"{number}")

        def sink(event: narratoria.Event) -> None:
            got.append(event)
            raise kind

        session.add_sink(sink, ["tool_event"])
        with pytest.raises(kind):
            session.execute(plan_of("chatty"))
        assert len(got) == 1

    def test_sys_exit_in_thread_tool_fails_the_tool(self, session: Any) -> None:
        @session.tool
        def leave() -> None:
            sys.exit(7)

        with pytest.raises(narratoria.PlanFailedError, match=r"sys\.exit\(7\)") as raised:
            session.call("leave")
        assert raised.value.code == "TOOL_EXCEPTION"

    @pytest.mark.parametrize("is_async", [False, True])
    def test_sys_exit_on_the_sessions_thread_is_raised(self, session: Any, is_async: bool) -> None:
        def leave() -> None:
            sys.exit(7)

        async def leave_later() -> None:
            sys.exit(7)

        session.tool(leave_later if is_async else leave, name="leave", thread=False)
        with pytest.raises(SystemExit) as raised:
            session.execute(plan_of("leave"))
        assert raised.value.code == 7

    def test_ctrl_c_does_not_wait_for_computing_tool(self, session: Any) -> None:
        is_over = threading.Event()

        @session.tool
        def busy() -> None:
            signal.raise_signal(signal.SIGINT)
            is_over.wait(PATIENCE_S)

        with pytest.raises(KeyboardInterrupt):
            session.execute(plan_of("busy"))
        is_over.set()

    def test_ctrl_c_in_loop_does_not_wait_for_computing_tool(self) -> None:
        is_over = threading.Event()

        async def main() -> None:
            async with narratoria.aio.Session(close_timeout=PATIENCE_S) as session:

                @session.tool
                def busy() -> None:
                    signal.raise_signal(signal.SIGINT)
                    is_over.wait(2 * PATIENCE_S)

                await session.execute(plan_of("busy"))

        began = time.monotonic()
        with pytest.warns(NarratoriaWarning, match="busy"), pytest.raises(KeyboardInterrupt):
            asyncio.run(main())
        is_over.set()
        assert time.monotonic() - began < PATIENCE_S
