# SPDX-License-Identifier: Apache-2.0
"""Functions as tools of a session: how they are called, on which thread, and how they end."""

from __future__ import annotations

import asyncio
import functools
import logging
import pickle
import threading
import time
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from plans import one, plan_of, roll_dice

import narratoria
from narratoria import Context, Invocation, Plan, Session
from narratoria.events import Log
from narratoria.tool import ToolError

# Only a guard against hangs; no test takes this long.
PATIENCE_S = 60


class TestTools:
    def test_function_is_called_as_tool(self, session: Any) -> None:
        @session.tool
        def add(a: int, b: int = 10) -> int:
            """Adds two numbers."""
            return a + b

        assert add(1, 2) == 3, "the function stays a function"
        assert session.execute(one("add", {"a": 2**62}))["t"].result == 2**62 + 10

    def test_input_that_violates_schema_fails_attempt(self, session: Any) -> None:
        calls = []

        @session.tool
        def add(a: int, way: Literal["up", "down"] = "up") -> None:
            calls.append(a)

        for wrong in ({}, {"a": "1"}, {"a": 1, "way": "left"}, {"a": 1, "b": 2}, {"a": True}):
            assert session.execute(one("add", wrong))["t"].error_code == "INPUT_INVALID", wrong
        assert calls == []

    @pytest.mark.parametrize("kind", ["plain", "open", "async"])
    def test_tool_error_fails_tool_without_traceback(
        self, session: Any, kind: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        wet = ToolError("TORCH_WET", "The torch is too wet.", {"wetness": 0.9})

        def plain() -> None:
            raise wet

        def open_(context: narratoria.Context) -> None:
            raise wet

        async def async_() -> None:
            raise wet

        session.tool(name="light")({"plain": plain, "open": open_, "async": async_}[kind])
        tool = session.execute(one("light"))["t"]
        assert (tool.error_code, tool.error) == ("TORCH_WET", "The torch is too wet.")
        assert tool.events[0] == {
            "version": "0",
            "type": "error",
            "errorCode": "TORCH_WET",
            "errorMessage": "The torch is too wet.",
            "details": {"wetness": 0.9},
        }
        assert tool.events[1]["ok"] is False and tool.stderr is None
        assert caplog.text == "", "a ToolError needs no traceback"

    def test_tool_error_details_that_are_not_json_are_dropped(self, session: Any) -> None:
        @session.tool
        def light() -> None:
            raise ToolError("WET", "too wet \ud800", {"what": object()})

        tool = session.execute(one("light"))["t"]
        assert (tool.error_code, tool.error) == ("WET", "too wet ?"), "programs rely on the code"
        assert "details" not in tool.events[0]
        assert tool.stderr is not None and "/details/what" in tool.stderr

    def test_tool_error_without_text(self, session: Any) -> None:
        @session.tool
        def light() -> None:
            raise ToolError("", "")

        assert session.execute(one("light"))["t"].error == "ToolError"

    def test_exception_without_readable_text_is_reported(self, session: Any) -> None:
        class Mute(Exception):
            def __str__(self) -> str:
                raise ValueError("no text")

            __repr__ = __str__

        @session.tool
        def plain() -> None:
            raise Mute

        @session.tool
        async def async_() -> None:
            raise Mute

        for name in ("plain", "async_"):
            tool = session.execute(one(name))["t"]
            assert tool.error_code == "TOOL_EXCEPTION", tool.error
            assert "Mute" in tool.error and "Traceback" in tool.stderr

    def test_lambda_needs_name(self, session: Any) -> None:
        session.tool(name="six", description="Always.")(lambda: 6)
        assert session.execute(one("six"))["t"].result == 6
        with pytest.raises(ValueError, match="name="):
            session.tool(lambda: 6)

    def test_non_function_is_refused_at_registration(self, session: Any) -> None:
        for give in (
            lambda: session.tool(5),
            lambda: session.tool("name"),
            lambda: session.narrator(5),
            lambda: session.on_ui_event("x")(5),
            lambda: session.asset_renderer("x/y")(5),
            lambda: session.add_sink(5),
            lambda: narratoria.Session(narrator=5),  # type: ignore[arg-type]
        ):
            with pytest.raises(TypeError, match="function, not|function or the id"):
                give()

    def test_decorated_async_function_is_awaited(self, session: Any) -> None:
        def doubled(function: Any) -> Any:
            @functools.wraps(function)
            def call(*arguments: Any, **named: Any) -> Any:
                return function(*arguments, **named)

            return call

        @session.tool
        @doubled
        async def nap(seconds: float = 0.0) -> str:
            await asyncio.sleep(seconds)
            return "rested"

        @session.tool
        def dream(context: narratoria.Context) -> Any:
            return asyncio.sleep(0, "dreamt")

        @session.tool
        def late() -> Any:
            return asyncio.sleep(0, "at last")

        @session.tool(thread=False)
        def quick() -> Any:
            async def later() -> None: ...

            return later()

        assert session.execute(one("nap", {"seconds": 0.01}))["t"].result == "rested"
        assert session.execute(one("dream"))["t"].result == "dreamt"
        assert session.execute(one("late"))["t"].result == "at last"
        # A bare function on the session's own thread is only found to be async when it returns.
        assert "functools.wraps" in session.execute(one("quick"))["t"].error

    @pytest.mark.parametrize("kind", ["CancelledError", "GeneratorExit", "Own"])
    def test_async_function_fails_for_any_exception(self, session: Any, kind: str) -> None:
        class Own(BaseException):
            pass

        made = {
            "CancelledError": asyncio.CancelledError,
            "GeneratorExit": GeneratorExit,
            "Own": Own,
        }[kind]

        @session.tool
        async def odd() -> None:
            await asyncio.sleep(0)
            raise made

        tool = session.execute(one("odd"))["t"]
        assert tool.error == kind and "Traceback" in tool.stderr

    def test_async_generator_may_emit_much(self, session: Any) -> None:
        @session.tool
        async def much() -> Any:
            for _ in range(30):
                yield {"type": "log", "level": "info", "message": "x" * 1_000_000}

        tool = session.execute(one("much"))["t"]
        assert tool.ok and len(tool.events) == 31, tool.error

    def test_generator_gets_busy_error_for_too_much_output(self, session: Any) -> None:
        seen = []

        @session.tool(thread=False)
        def much() -> Any:
            try:
                for _ in range(30):
                    yield {"type": "log", "level": "info", "message": "x" * 1_000_000}
            except narratoria.BusyError as error:
                seen.append(str(error))
            return "as much as there was room for"

        tool = session.execute(one("much"))["t"]
        assert tool.result == "as much as there was room for", tool.error
        assert "async generator" in seen[0]

    def test_dataclass_input_and_result(self, session: Any) -> None:
        @dataclass
        class Point:
            x: int
            y: int = 0

        @session.tool
        def mirror(point: Point) -> Point:
            assert isinstance(point, Point)
            return Point(point.y, point.x)

        # The annotations are text, and Point is local to this function.
        result = session.execute(one("mirror", {"point": {"x": 1, "y": 2}}))
        assert result["t"].result == {"x": 2, "y": 1}, result["t"].error

    def test_tool_name_can_be_set(self, session: Any) -> None:
        @session.tool(name="roll-dice", description="Rolls.")
        def anything() -> int:
            return 4

        assert session.execute(one("roll-dice"))["t"].result == 4

    def test_function_replaces_tool_of_same_name(self, session: Any) -> None:
        @session.tool
        def f() -> int:
            return 1

        @session.tool  # type: ignore[no-redef]
        def f() -> int:  # noqa: F811
            return 2

        assert session.execute(one("f"))["t"].result == 2

    def test_exception_fails_attempt_with_traceback(
        self, session: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        @session.tool
        def broken(key: str) -> None:
            {}[key]

        with caplog.at_level(logging.ERROR, "narratoria"):
            result = session.execute(one("broken", {"key": "k"}))
        tool = result["t"]
        assert not tool.ok and tool.state == "failed"
        assert "KeyError: 'k'" in tool.error
        error = next(event for event in tool.events if event["type"] == "error")
        assert error["errorCode"] == "TOOL_EXCEPTION"
        assert "in broken" in tool.stderr and "KeyError" in tool.stderr
        assert "in broken" in caplog.text

    def test_result_that_is_not_json_fails_attempt(self, session: Any) -> None:
        @session.tool
        def broken() -> Any:
            return {"a": [{1, 2}]}

        assert "/a/0" in session.execute(one("broken"))["t"].error

    def test_retry_calls_function_again(self, session: Any) -> None:
        attempts = []

        @session.tool
        def flaky() -> int:
            attempts.append(1)
            if len(attempts) < 3:
                raise OSError("not yet")
            return len(attempts)

        result = session.execute(one("flaky", retryPolicy={"maxRetries": 3, "backoffMs": 1}))
        assert result["t"].result == 3 and result["t"].retry_count == 2

    def test_context_emits_events(self, session: Any, tmp_path: Any) -> None:
        picture = tmp_path / "p.png"
        picture.write_bytes(b"x")

        @session.tool
        def busy(context: narratoria.Context, n: int = 2) -> str:
            context.log("begun", "debug", step=1)
            context.progress(0.5)
            context.patch({"n": n})
            context.asset("p", "image", "image/png", picture, {"width": 1})
            context.ui_event("bell", {"times": 1})
            context.error("SMALL", "nothing serious")
            context.emit({"type": "log", "level": "info", "message": "raw"})
            assert context.request["tool"] == "busy"
            assert context.state.to_dict() == {"n": n}
            assert not context.is_cancelled
            return "done"

        events = session.execute(one("busy"))["t"].events
        assert [event["type"] for event in events] == [
            "log", "log", "state_patch", "asset", "ui_event", "error", "log", "done",
        ]  # fmt: skip
        assert events[1]["fields"] == {"progress": 0.5}
        assert session.state["n"] == 2
        assert session.assets[0].asset_id == "p"

    def test_event_after_end_is_dropped_with_warning(self, session: Any) -> None:
        kept: list[narratoria.Context] = []

        @session.tool
        def early(context: narratoria.Context) -> None:
            kept.append(context)

        session.call("early")
        with pytest.warns(narratoria.NarratoriaWarning, match="a log event was dropped") as warned:
            kept[0].log("late")
        assert warned[0].filename == __file__
        for change in (
            lambda: kept[0].patch({"late": True}),
            lambda: kept[0].state.patch({"late": True}),
            lambda: kept[0].emit({"type": "state_patch", "patch": {"late": True}}),
        ):
            with pytest.raises(narratoria.GoneError, match="the tool has ended"):
                change()
        assert session.state.to_dict() == {}

    @pytest.mark.parametrize("kind", ["thread", "inline", "async"])
    def test_tool_reads_its_own_patches(self, session: Any, kind: str) -> None:
        def count(context: narratoria.Context) -> int:
            for _ in range(100):
                context.patch({"n": context.state.get("n", 0) + 1})
            return context.state["n"]

        async def count_async(context: narratoria.Context) -> int:
            return count(context)

        if kind == "async":
            session.tool(name="count")(count_async)
        else:
            session.tool(thread=kind == "thread")(count)
        assert session.call("count") == 100

    @pytest.mark.parametrize("kind", ["generator", "async generator", "emit"])
    def test_function_may_emit_its_own_done(
        self, session: Any, kind: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        done = {"type": "done", "ok": True, "result": 4}

        def generator() -> Any:
            yield done

        async def async_generator() -> Any:
            yield done

        def emit(context: Context) -> None:
            context.emit(done)

        functions = {"generator": generator, "async generator": async_generator, "emit": emit}
        session.tool(name="t")(functions[kind])
        events = []
        session.add_sink(lambda event: events.append(event.data), ["tool_event"])
        with caplog.at_level(logging.WARNING):
            assert session.call("t") == 4
        assert (len(events), caplog.messages) == (1, [])

    def test_result_after_own_done_is_warned_about(
        self, session: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        @session.tool
        def twice(context: Context) -> int:
            context.emit({"type": "done", "ok": True, "result": 4})
            return 5

        with caplog.at_level(logging.WARNING):
            assert session.call("twice") == 4
        assert "after" in caplog.text

    def test_generator_yields_events(self, session: Any) -> None:
        @session.tool
        def steps(n: int) -> Any:
            for i in range(n):
                yield {"type": "log", "level": "info", "message": str(i)}
            yield Log("typed")
            return "over"

        tool = session.execute(one("steps", {"n": 2}))["t"]
        assert [event.get("message") for event in tool.events[:3]] == ["0", "1", "typed"]
        assert tool.result == "over"

    def test_invalid_event_is_protocol_error(self, session: Any) -> None:
        @session.tool
        def wrong() -> Any:
            yield {"type": "poem"}

        assert session.execute(one("wrong"))["t"].error_code == "PROTOCOL_ERROR"

    def test_context_has_dependencies(self, session: Any) -> None:
        @session.tool
        def first(context: narratoria.Context) -> int:
            context.patch({"a": 1})
            return 5

        @session.tool
        def second(context: narratoria.Context) -> Any:
            return [context.dependencies, context.request["results"]]

        plan = {
            "requestId": "p",
            "tools": [
                {"toolId": "b", "toolPath": "second", "dependencies": ["a"]},
                {"toolId": "a", "toolPath": "first"},
            ],
        }
        assert session.execute(plan)["b"].result == [{"a": {"a": 1}}, {"a": 5}]

    def test_async_functions_run_concurrently(self, session: Any) -> None:
        running = []
        most = []

        @session.tool
        async def nap(context: narratoria.Context) -> int:
            running.append(1)
            most.append(len(running))
            context.log("sleeping")
            await asyncio.sleep(0.05)
            running.pop()
            return 1

        tools = [{"toolId": f"t{i}", "toolPath": "nap", "async": True} for i in range(2)]
        result = session.execute({"requestId": "p", "tools": tools, "parallel": True})
        assert result.success and max(most) == 2

    def test_async_generator_yields_events(self, session: Any) -> None:
        @session.tool
        async def steps() -> Any:
            yield {"type": "state_patch", "patch": {"a": 1}}

        assert session.execute(one("steps")).success
        assert session.state["a"] == 1

    def test_async_function_is_cancelled_at_timeout(self) -> None:
        told = []
        with narratoria.Session(times=narratoria.Times(try_ms=50)) as session:

            @session.tool
            async def forever() -> None:
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    told.append("cancelled")
                    raise

            assert session.execute(one("forever"))["t"].state == "timeout"
        assert told == ["cancelled"]

    def test_uncancellable_async_function_is_waited_for_once(self) -> None:
        is_over = False
        with narratoria.Session(times=narratoria.Times(try_ms=50, grace_ms=3000)) as session:

            @session.tool
            async def stubborn() -> None:
                while not is_over:
                    try:
                        await asyncio.sleep(0.01)
                    except asyncio.CancelledError:
                        continue

            assert session.execute(one("stubborn"))["t"].state == "timeout"
            begin = time.monotonic()
            for _ in range(20):
                session.execute({"requestId": "p", "tools": []})
            # A grace period for each would take 60 seconds.
            assert time.monotonic() - begin < 30
            is_over = True

    def test_tool_cannot_make_blocking_calls(self, session: Any) -> None:
        refused = []

        @session.tool
        def inside() -> None:
            for call in (lambda: session.execute(one("inside")), lambda: session.close()):
                try:
                    call()
                except narratoria.ReentrantError as error:
                    refused.append(error.code)

        assert session.execute(one("inside")).success
        assert len(refused) == 2

    def test_narrator_request_describes_tool(self, session: Any) -> None:
        @session.tool
        def weather(city: str) -> None:
            """What the weather is.

            A second paragraph, which is left out."""

        requests = []

        @session.narrator
        def tell(request: Any) -> str:
            requests.append(request)
            return "x"

        session.play("x")
        tool = next(tool for tool in requests[0].tools if tool.name == "weather")
        assert tool.description == "What the weather is."
        assert tool.input_schema["required"] == ["city"]


class TestCalls:
    def test_call_runs_tool_by_name(self, session: Any) -> None:
        session.tool(name="roll")(roll_dice)
        assert session.call("roll", sides=3) == 3
        with pytest.raises(narratoria.PlanFailedError) as raised:
            session.call("roll", sides="x")
        assert raised.value.code == "INPUT_INVALID" and not raised.value.result.success
        assert pickle.loads(pickle.dumps(raised.value)).code == "INPUT_INVALID"

    def test_cause_of_a_failed_call_is_the_exception_and_is_not_logged(
        self, session: Any, caplog: Any
    ) -> None:
        @session.tool
        def boom() -> None:
            raise ValueError("out of luck")

        with pytest.raises(narratoria.PlanFailedError) as caught:
            session.call("boom")
        assert repr(caught.value.__cause__) == "ValueError('out of luck')"
        assert "out of luck" not in caplog.text
        # A result has no exceptions, so that of a plan's tool is logged.
        session.execute(one("boom"))
        assert "ValueError: out of luck" in caplog.text

    def test_misspelled_tool_is_suggested(self, session: Any) -> None:
        @session.tool
        def roll() -> None: ...

        with pytest.raises(narratoria.PlanFailedError, match='did you mean "roll"'):
            session.call("rol")

    def test_result_above_the_limit_is_described_without_lines(self, session: Any) -> None:
        @session.tool
        def big() -> str:
            return "x" * 9_000_000

        with pytest.raises(
            narratoria.PlanFailedError, match="the result .* is longer than the limit"
        ):
            session.call("big")

    def test_default_of_another_type_is_refused(self, session: Any) -> None:
        wrong: Any = "six"

        def roll(sides: int = wrong) -> None: ...

        with pytest.raises(
            TypeError, match="sides .* default 'six' is not of the annotated type int"
        ):
            session.tool(roll)
        missing: Any = None

        @session.tool
        def walk(weight: float = 1, way: str = missing) -> None: ...

    async def test_asyncio_call_runs_tool_by_name(self) -> None:
        async with narratoria.aio.Session() as session:
            session.tool(name="roll")(roll_dice)
            assert await session.call("roll", sides=2) == 2

    def test_raise_on_failure_raises(self, session: Any) -> None:
        with pytest.raises(narratoria.PlanFailedError, match="nowhere"):
            session.execute(
                plan_of("tools/nowhere", retry_policy=narratoria.RetryPolicy(0, 1))
            ).raise_on_failure()
        assert session.execute(Plan()).raise_on_failure().success

    def test_sessions_share_toolset(self) -> None:
        tools = narratoria.Toolset()
        tools.tool(name="roll")(roll_dice)

        @tools.tool(thread=False)
        def where() -> bool:
            return threading.current_thread() is threading.main_thread()

        with Session(tools=[tools]) as first, Session() as second:
            second.use(tools)
            assert first.call("roll", sides=1) == 1 and second.call("where") is True
        with Session(tools=[roll_dice, tools]) as third:
            assert third.call("roll_dice", sides=1) == 1 and third.call("roll", sides=1) == 1
        with warnings.catch_warnings():
            # The session is closed, although its constructor failed.
            warnings.simplefilter("error", ResourceWarning)
            with pytest.raises(TypeError, match="Toolset"):
                Session(tools=[5])  # type: ignore[list-item]


class TestToolEnd:
    @pytest.mark.parametrize("thread", [True, False])
    def test_result_is_accepted_when_output_is_full(self, session: Any, thread: bool) -> None:
        refused = []

        @session.tool(thread=thread)
        def much(context: Context) -> str:
            for _ in range(20):
                try:
                    context.log("x" * 1_000_000)
                except narratoria.BusyError:
                    refused.append(1)
            return "all of it"

        tool = session.execute(plan_of("much"))["t"]
        assert tool.ok and tool.result == "all of it", tool.error
        assert bool(refused) is not thread

    def test_input_that_violates_schema_is_not_retried(self, session: Any) -> None:
        session.tool(name="roll")(roll_dice)
        tool = session.execute(plan_of("roll", {"sides": "six"}))["t"]
        assert (tool.error_code, tool.retry_count) == ("INPUT_INVALID", 0)

    def test_tool_can_disable_retries(self, session: Any) -> None:
        calls = []

        @session.tool
        def open_door(again: bool) -> None:
            calls.append(again)
            raise ToolError("NO_DOOR", "There is no door.", retry=again)

        plan = plan_of("open_door", {"again": False}, retry_policy=narratoria.RetryPolicy(2, 1))
        tool = session.execute(plan)["t"]
        assert (tool.error_code, tool.retry_count, len(calls)) == ("NO_DOOR", 0, 1)
        plan.tools[0].input["again"] = True
        assert session.execute(plan)["t"].retry_count == 2

    @pytest.mark.parametrize(
        "error, attempts",
        [
            (TypeError, 1),
            (KeyError, 1),
            (OSError, 3),
            (ValueError, 3),
            (narratoria.ReentrantError, 1),
            (narratoria.InvalidDocumentError, 1),
            (narratoria.BusyError, 3),
        ],
    )
    def test_bug_is_not_retried(self, session: Any, error: Any, attempts: int) -> None:
        calls = []

        @session.tool
        async def fail() -> None:
            calls.append(1)
            raise error("no")

        plan = plan_of("fail", retry_policy=narratoria.RetryPolicy(2, 1))
        assert session.execute(plan)["t"].error_code == "TOOL_EXCEPTION" and len(calls) == attempts

    def test_huge_exception_text_is_cut(self, session: Any) -> None:
        @session.tool
        def shout() -> None:
            raise ValueError("x" * 10_000_000)

        tool = session.execute(plan_of("shout", retry_policy=narratoria.RetryPolicy(0, 1)))["t"]
        assert len(tool.error) < 50_000 and "characters left out" in tool.error


class TestThreads:
    def test_progress_arrives_while_function_runs(self, session: Any) -> None:
        heard = threading.Event()

        @session.tool
        def dig(context: Context) -> bool:
            context.progress(0.5, "half of it")
            return heard.wait(PATIENCE_S)

        session.add_sink(lambda event: heard.set(), ["tool_event"])
        assert session.execute(plan_of("dig"))["t"].result is True

    def test_thread_tool_times_out(self) -> None:
        leave = threading.Event()
        seen: list[bool] = []

        def long(context: Context) -> None:
            leave.wait(PATIENCE_S)
            seen.append(context.is_cancelled)

        plan = plan_of("long", timeout_ms=50, retry_policy=narratoria.RetryPolicy(0, 1))
        with Session(times=narratoria.Times(grace_ms=1)) as quick:
            quick.tool(long)
            tool = quick.execute(plan)["t"]
            leave.set()
        assert (tool.state, tool.error_code, seen) == ("timeout", "TIMEOUT", [True])

    def test_thread_tool_reads_its_own_patches(self, session: Any) -> None:
        @session.tool
        def walk(context: Context) -> Any:
            context.patch({"steps": 3})
            session.state.patch({"host": True})
            return [context.state.at("/steps"), "host" in session.state, len(session.state)]

        assert session.execute(plan_of("walk"))["t"].result == [3, True, 2]

    def test_thread_tools_run_concurrently(self) -> None:
        meet = threading.Barrier(2, timeout=PATIENCE_S)
        with Session(jobs=2) as session:

            @session.tool
            def come() -> int:
                return meet.wait()

            invocations = [Invocation(f"t{n}", "come", async_=True) for n in range(2)]
            result = session.execute(Plan(invocations, parallel=True))
        assert sorted(tool.result for tool in result.tool_results) == [0, 1]

    async def test_loop_continues_while_thread_tool_runs(self) -> None:
        leave = threading.Event()
        async with narratoria.aio.Session() as session:

            @session.tool
            def block(context: Context) -> Any:
                leave.wait(PATIENCE_S)
                return context.state.at("/who")

            session.state.patch({"who": "Ada"})
            running = asyncio.create_task(session.execute(plan_of("block")))
            await anext(session.events(["attempt_started"]))
            leave.set()
            assert str((await running)["t"].result) == "Ada"

    def test_tool_without_thread_runs_on_session_thread(self, session: Any) -> None:
        @session.tool(thread=False)
        def here() -> bool:
            return threading.current_thread() is threading.main_thread()

        assert session.call("here") is True

    def test_waiting_async_tools_take_no_job_slot(self) -> None:
        meet: list[int] = []
        with Session() as session:

            @session.tool
            async def nap() -> int:
                meet.append(1)
                until = time.monotonic() + PATIENCE_S
                while len(meet) < 50 and time.monotonic() < until:
                    await asyncio.sleep(0.001)
                return len(meet)

            naps = [Invocation(f"n{n}", "nap", async_=True) for n in range(50)]
            result = session.execute(Plan(naps, parallel=True))
        assert [tool.result for tool in result.tool_results] == [50] * 50

    async def test_waiting_tools_of_asyncio_session_take_no_job_slot(self) -> None:
        together: list[int] = []
        all_there = asyncio.Event()
        async with narratoria.aio.Session() as session:

            @session.tool
            async def nap() -> int:
                together.append(1)
                if len(together) == 50:
                    all_there.set()
                await all_there.wait()
                return len(together)

            naps = [Invocation(f"n{n}", "nap", async_=True) for n in range(50)]
            result = await session.execute(Plan(naps, parallel=True))
        assert [tool.result for tool in result.tool_results] == [50] * 50

    def test_explicit_jobs_limit_applies_to_async_tools(self) -> None:
        most = running = 0
        with Session(jobs=3) as session:

            @session.tool
            async def nap() -> None:
                nonlocal most, running
                running += 1
                most = max(most, running)
                await asyncio.sleep(0.001)
                running -= 1

            naps = [Invocation(f"n{n}", "nap", async_=True) for n in range(12)]
            assert session.execute(Plan(naps, parallel=True)).success
        assert most == 3
