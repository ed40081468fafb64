# SPDX-License-Identifier: Apache-2.0
"""What users of the Python package run into: each once, as they would meet it."""

from __future__ import annotations

import asyncio
import copy
import datetime
import pathlib
import pickle
import resource
import signal
import threading
import time
import uuid
import warnings
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union

import pytest

import narratoria
from narratoria import Context, Field, Invocation, NarratoriaWarning, Plan, Session, ToolError
from narratoria._function import describe

# Against a hang only; nothing here takes so long.
PATIENCE_S = 60


def one(path: str, input: dict[str, Any] | None = None, **more: Any) -> Plan:
    return Plan([Invocation("t", path, input or {}, **more)])


class TestClosing:
    def test_an_async_tool_that_swallows_its_cancellation_does_not_hold_close(self) -> None:
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
        session.execute(one("stubborn"))
        with pytest.warns(NarratoriaWarning, match="did not end within 0.1 s"):
            session.close(timeout=0.1)
        assert began.is_set() and session.is_closed

    def test_nor_does_it_hold_aclose(self) -> None:
        async def main() -> None:
            session = await narratoria.aio.Session(close_timeout=0.1)
            is_over = False

            @session.tool
            async def stubborn() -> None:
                while not is_over:
                    try:
                        await asyncio.sleep(0.01)
                    except asyncio.CancelledError:
                        continue

            running = asyncio.create_task(session.execute(one("stubborn")))
            await anext(session.events(["attempt_started"]))
            with pytest.warns(NarratoriaWarning, match="did not end within 0.1 s"):
                await session.aclose()
            is_over = True
            with pytest.raises((narratoria.Error, asyncio.CancelledError)):
                (await running).raise_on_failure()

        asyncio.run(asyncio.wait_for(main(), PATIENCE_S))

    def test_close_waits_for_a_tool_in_a_thread_and_names_one_that_goes_on(self) -> None:
        leave = threading.Event()
        session = Session()

        @session.tool
        def busy() -> None:
            leave.wait(PATIENCE_S)

        session.add_sink(lambda event: session.cancel(), ["attempt_started"])
        session.execute(one("busy"))
        with pytest.warns(NarratoriaWarning, match="busy"):
            session.close(timeout=0.05)
        leave.set()

    def test_a_session_that_was_not_closed_is_told(self) -> None:
        import gc

        session = Session()
        with pytest.warns(ResourceWarning, match="was not closed"):
            del session
            gc.collect()

    def test_a_session_of_asyncio_that_was_forgotten_is_collected(self) -> None:
        import gc
        import weakref

        async def main() -> None:
            session = await narratoria.aio.Session()

            @session.tool
            async def nap() -> None:
                await asyncio.sleep(0)

            assert (await session.execute(one("nap"))).success
            kept = weakref.ref(session)
            with pytest.warns(ResourceWarning, match="was not closed"):
                del session
                for _ in range(3):
                    await asyncio.sleep(0)
                    gc.collect()
            assert kept() is None

        asyncio.run(main())

    @pytest.mark.parametrize("timeout", ["5", True, -2, float("nan")])
    def test_a_wrong_timeout_is_refused(self, session: Any, timeout: Any) -> None:
        with pytest.raises((TypeError, ValueError), match="timeout"):
            session.close(timeout)


class TestInterrupts:
    @pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
    def test_a_narrator_is_not_asked_again(self, session: Any, kind: Any) -> None:
        asked = []

        @session.narrator
        def tell(request: Any) -> str:
            asked.append(request)
            raise kind

        with pytest.raises(kind):
            session.play("x")
        assert len(asked) == 1

    @pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
    def test_an_async_narrator_is_not_asked_again(self, session: Any, kind: Any) -> None:
        asked = []

        @session.narrator
        async def tell(request: Any) -> str:
            asked.append(request)
            raise kind

        with pytest.raises(kind):
            session.play("x")
        assert len(asked) == 1

    @pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
    def test_a_sink_gets_nothing_more(self, session: Any, kind: Any) -> None:
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
            session.execute(one("chatty"))
        assert len(got) == 1

    def test_sys_exit_in_a_tool_with_a_thread_leaves_execute(self, session: Any) -> None:
        import sys

        @session.tool
        def leave() -> None:
            sys.exit(7)

        with pytest.raises(SystemExit) as raised:
            session.execute(one("leave"))
        assert raised.value.code == 7

    def test_ctrl_c_leaves_a_tool_that_computes_behind(self, session: Any) -> None:
        is_over = threading.Event()

        @session.tool
        def busy() -> None:
            signal.raise_signal(signal.SIGINT)
            is_over.wait(PATIENCE_S)

        with pytest.raises(KeyboardInterrupt):
            session.execute(one("busy"))
        is_over.set()


class TestEnds:
    @pytest.mark.parametrize("thread", [True, False])
    def test_the_end_of_a_tool_that_says_much_has_room(self, session: Any, thread: bool) -> None:
        refused = []

        @session.tool(thread=thread)
        def much(context: Context) -> str:
            for _ in range(20):
                try:
                    context.log("x" * 1_000_000)
                except narratoria.BusyError:
                    refused.append(1)
            return "all of it"

        tool = session.execute(one("much"))["t"]
        assert tool.ok and tool.result == "all of it", tool.error
        assert bool(refused) is not thread

    def test_input_that_violates_the_schema_is_not_tried_again(self, session: Any) -> None:
        session.tool(name="roll")(_roll)
        tool = session.execute(one("roll", {"sides": "six"}))["t"]
        assert (tool.error_code, tool.retry_count) == ("INPUT_INVALID", 0)

    def test_a_tool_says_that_another_attempt_is_useless(self, session: Any) -> None:
        calls = []

        @session.tool
        def open_door(again: bool) -> None:
            calls.append(again)
            raise ToolError("NO_DOOR", "There is no door.", retry=again)

        plan = one("open_door", {"again": False}, retry_policy=narratoria.RetryPolicy(2, 1))
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
    def test_a_bug_is_not_tried_again(self, session: Any, error: Any, attempts: int) -> None:
        calls = []

        @session.tool
        async def fail() -> None:
            calls.append(1)
            raise error("no")

        plan = one("fail", retry_policy=narratoria.RetryPolicy(2, 1))
        tool = session.execute(plan)["t"]
        assert tool.error_code == "TOOL_EXCEPTION" and len(calls) == attempts

    def test_an_exception_of_ten_megabytes_is_cut(self, session: Any) -> None:
        @session.tool
        def shout() -> None:
            raise ValueError("x" * 10_000_000)

        tool = session.execute(one("shout", retry_policy=narratoria.RetryPolicy(0, 1)))["t"]
        assert len(tool.error) < 50_000 and "characters left out" in tool.error


def _roll(sides: int = 6) -> int:
    return min(sides, 4)


class TestThreads:
    def test_progress_arrives_while_the_function_runs(self, session: Any) -> None:
        heard = threading.Event()

        @session.tool
        def dig(context: Context) -> bool:
            context.progress(0.5, "half of it")
            return heard.wait(PATIENCE_S)

        session.add_sink(lambda event: heard.set(), ["tool_event"])
        assert session.execute(one("dig"))["t"].result is True

    def test_its_time_is_limited(self, session: Any) -> None:
        leave = threading.Event()
        seen: list[bool] = []

        @session.tool
        def long(context: Context) -> None:
            leave.wait(PATIENCE_S)
            seen.append(context.is_cancelled)

        plan = one("long", timeout_ms=50, retry_policy=narratoria.RetryPolicy(0, 1))
        with Session(times=narratoria.Times(grace_ms=1)) as quick:
            quick.tool(long)
            tool = quick.execute(plan)["t"]
            leave.set()
        assert (tool.state, tool.error_code, seen) == ("timeout", "TIMEOUT", [True])

    def test_it_reads_what_it_has_patched(self, session: Any) -> None:
        @session.tool
        def walk(context: Context) -> Any:
            context.patch({"steps": 3})
            session.state.patch({"host": True})
            return [context.state.at("/steps"), "host" in session.state, len(session.state)]

        assert session.execute(one("walk"))["t"].result == [3, True, 2]

    def test_it_cannot_wait_for_its_own_session(self, session: Any) -> None:
        said = []

        @session.tool
        def echo() -> None:
            for call in (lambda: session.execute(one("echo")), session.close):
                with pytest.raises(narratoria.ReentrantError) as raised:
                    call()
                said.append(str(raised.value))

        assert session.execute(one("echo")).success and len(said) == 2

    def test_two_run_at_the_same_time(self) -> None:
        meet = threading.Barrier(2, timeout=PATIENCE_S)
        with Session(jobs=2) as session:

            @session.tool
            def come() -> int:
                return meet.wait()

            invocations = [Invocation(f"t{n}", "come", async_=True) for n in range(2)]
            result = session.execute(Plan(invocations, parallel=True))
        assert sorted(tool.result for tool in result.tool_results) == [0, 1]

    def test_asyncio_goes_on_meanwhile(self) -> None:
        async def main() -> str:
            leave = threading.Event()
            async with narratoria.aio.Session() as session:

                @session.tool
                def block(context: Context) -> Any:
                    leave.wait(PATIENCE_S)
                    return context.state.at("/who")

                session.state.patch({"who": "Ada"})
                running = asyncio.create_task(session.execute(one("block")))
                await anext(session.events(["attempt_started"]))
                leave.set()
                return str((await running)["t"].result)

        assert asyncio.run(asyncio.wait_for(main(), PATIENCE_S)) == "Ada"

    def test_without_a_thread_it_runs_where_the_session_runs(self, session: Any) -> None:
        @session.tool(thread=False)
        def here() -> bool:
            return threading.current_thread() is threading.main_thread()

        assert session.call("here") is True

    def test_many_that_wait_take_no_core(self) -> None:
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

    def test_nor_do_they_in_a_session_of_asyncio(self) -> None:
        async def main() -> list[Any]:
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
            return [tool.result for tool in result.tool_results]

        assert asyncio.run(asyncio.wait_for(main(), PATIENCE_S)) == [50] * 50

    def test_jobs_that_somebody_chose_hold_for_all(self) -> None:
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


class TestNarrators:
    def test_a_bug_is_raised_from_play_at_once(self, session: Any) -> None:
        asked = []

        @session.narrator
        def tell(request: Any) -> str:
            asked.append(1)
            return nonsense  # type: ignore[name-defined,no-any-return]  # noqa: F821

        with pytest.raises(NameError, match="nonsense"):
            session.play("x")
        assert len(asked) == 1
        session.narrator(lambda request: "It is dark.")
        assert session.play("x").narrative == "It is dark."

    def test_none_is_a_bug_also_of_an_async_narrator(self) -> None:
        async def main() -> None:
            async with narratoria.aio.Session() as session:

                @session.narrator
                async def tell(request: Any) -> None: ...

                with pytest.raises(TypeError, match="NoneType"):
                    await session.play("x")

        asyncio.run(main())

    def test_asked_otherwise_it_falls_back_and_the_turn_says_why(self) -> None:
        with Session(on_narrator_error="fallback") as session:

            @session.narrator
            def tell(request: Any) -> str:
                raise ValueError("no idea")

            turn = session.play("x")
        assert turn.outcome == "fallback" and turn.generations == 5
        assert len(turn.faults) == 5 and all("no idea" in fault for fault in turn.faults)

    def test_a_wrong_choice_is_refused(self) -> None:
        with pytest.raises(ValueError, match="on_narrator_error"):
            Session(on_narrator_error="ignore")  # type: ignore[arg-type]


class TestSample:
    def test_python_m_plays_the_sample_story(self, monkeypatch: Any, capsys: Any) -> None:
        import io

        from narratoria.__main__ import main

        said = "I light the torch and examine the door\n1\n"
        monkeypatch.setattr("sys.stdin", io.StringIO(said))
        assert main([]) == 0
        told = capsys.readouterr().out
        assert "sample story" in told and "1. Open" in told and "2. Leave" in told

    def test_a_story_that_is_none(self, capsys: Any) -> None:
        from narratoria.__main__ import main

        assert main(["/nowhere"]) == 1
        assert "nowhere" in capsys.readouterr().err

    def test_a_turn_is_told_once_in_a_notebook(self) -> None:
        with Session(story=narratoria.sample_story()) as session:
            turn = session.play("I light the torch")
        assert turn._repr_html_().count(turn.narrative) == 1


class TestCalls:
    def test_a_tool_is_called_by_its_name(self, session: Any) -> None:
        session.tool(name="roll")(_roll)
        assert session.call("roll", sides=3) == 3
        with pytest.raises(narratoria.PlanFailedError) as raised:
            session.call("roll", sides="x")
        assert raised.value.code == "INPUT_INVALID" and not raised.value.result.success
        assert pickle.loads(pickle.dumps(raised.value)).code == "INPUT_INVALID"

    def test_its_twin_of_asyncio(self) -> None:
        async def main() -> Any:
            async with narratoria.aio.Session() as session:
                session.tool(name="roll")(_roll)
                return await session.call("roll", sides=2)

        assert asyncio.run(main()) == 2

    def test_a_failure_is_raised_when_asked(self, session: Any) -> None:
        with pytest.raises(narratoria.PlanFailedError, match="nowhere"):
            session.execute(
                one("tools/nowhere", retry_policy=narratoria.RetryPolicy(0, 1))
            ).raise_on_failure()
        assert session.execute(Plan()).raise_on_failure().success

    def test_sessions_share_a_toolset(self) -> None:
        tools = narratoria.Toolset()
        tools.tool(name="roll")(_roll)

        @tools.tool(thread=False)
        def where() -> bool:
            return threading.current_thread() is threading.main_thread()

        with Session(tools=[tools]) as first, Session() as second:
            second.use(tools)
            assert first.call("roll", sides=1) == 1 and second.call("where") is True
        with warnings.catch_warnings():
            # It is closed, though nobody has it.
            warnings.simplefilter("error", ResourceWarning)
            with pytest.raises(TypeError, match="Toolset"):
                Session(tools=[5])  # type: ignore[list-item]


class TestRefusals:
    @pytest.mark.parametrize(
        "say, error",
        [
            (lambda c: c.log(5), TypeError),
            (lambda c: c.log(""), ValueError),
            (lambda c: c.log("x", "warning"), ValueError),
            (lambda c: c.ui_event(""), ValueError),
            (lambda c: c.ui_event("x", [1]), TypeError),
            (lambda c: c.ui_event("narrative_choice", {"choices": ["a", 5]}), TypeError),
            (lambda c: c.ui_event("narrative_choice"), TypeError),
            (lambda c: c.asset("a", "image", "image/png", None), TypeError),
            (lambda c: c.asset("", "image", "image/png", "/x"), ValueError),
            (lambda c: c.patch([]), TypeError),
            (lambda c: c.error("", "x"), ValueError),
            (lambda c: c.progress("half"), TypeError),
            (lambda c: c.emit("x"), TypeError),
        ],
    )
    def test_what_a_context_cannot_say(self, session: Any, say: Any, error: Any) -> None:
        raised = []

        @session.tool
        def tool(context: Context) -> None:
            try:
                say(context)
            except Exception as exception:
                raised.append(type(exception))

        assert session.execute(one("tool")).success and raised == [error]

    def test_a_plugin_that_is_not_there(self) -> None:
        with pytest.raises(FileNotFoundError, match="plugin"):
            Session(plugins=["/nope.so"])

    @pytest.mark.parametrize("arguments", [{"plugins": 5}, {"allow_paths": 5}, {"tools": 5}])
    def test_a_list_that_is_none(self, arguments: Any) -> None:
        with pytest.raises(TypeError, match="is a list, not int"):
            Session(**arguments)

    @pytest.mark.parametrize("arguments", [{"name": 5}, {"description": 5}, {"thread": 5}])
    def test_arguments_of_a_tool(self, session: Any, arguments: Any) -> None:
        with pytest.raises(TypeError, match="description of a tool|name of a tool|thread is"):
            session.tool(**arguments)(_roll)


class TestPlans:
    def test_warnings_are_shown_and_strict_refuses(self, session: Any) -> None:
        session.tool(name="roll")(_roll)
        tools = [{"toolId": "t", "toolPath": "roll", "dependancies": []}]
        plan = {"requestId": "p", "tools": tools}
        with pytest.warns(NarratoriaWarning, match="dependancies"):
            assert session.execute(plan).success
        with pytest.raises(narratoria.InvalidDocumentError, match="dependancies"):
            session.execute(plan, strict=True)
        [fault] = narratoria.validate("plan", plan, warnings=True)
        assert fault.pointer == "/tools/0/dependancies"
        assert not narratoria.validate("plan", plan)

    def test_a_plan_that_is_none_can_be_shown(self) -> None:
        wrong: list[Any] = ["x", 5, None, [5]]
        for tools in wrong:
            assert repr(tools) in repr(Plan(tools=tools))


class TestState:
    def test_it_is_read_by_pointer(self) -> None:
        with Session(state={"a": {"b": [1, 2, {"c": None}]}, "d": ""}) as session:
            state = session.state
            assert "a" in state and "b" not in state and 5 not in state
            assert (len(state), state.size("/a"), state.size("/a/b"), state.size("/d")) == (
                2,
                1,
                3,
                0,
            )
            assert state.size("/a/b/2") == 1 and state.has("/a/b/2/c") and not state.has("/a/b/3")
            assert bool(state) and not state.has("/d/x")
            with pytest.raises(narratoria.NotFoundError):
                state.size("/x")
            with pytest.raises(narratoria.InvalidArgumentError):
                state.has("x")


class TestValues:
    def test_turns_and_events_can_be_copied_and_pickled(self, session: Any) -> None:
        seen: list[narratoria.Event] = []
        session.tool(name="roll")(_roll)
        session.add_sink(seen.append)
        session.narrator(lambda request: Plan([Invocation("r", "roll")], narrative="It rolls."))
        turn = session.play("x")
        for again in (copy.deepcopy(turn), pickle.loads(pickle.dumps(turn)), copy.copy(turn)):
            assert again.narrative == "It rolls." and again.result["r"].result == 4
            assert repr(again) == repr(turn)
        for event in seen:
            for other in (copy.deepcopy(event), pickle.loads(pickle.dumps(event))):
                assert other.to_json() == event.to_json() and other.data == event.data

    def test_data_is_what_python_would_read(self, session: Any) -> None:
        from narratoria.events import event_from_dict

        seen: list[narratoria.Event] = []

        @session.tool
        def talk(context: Context) -> list[int]:
            context.log("a", "warn", n=1)
            context.emit({"type": "log", "level": "info", "message": "b", "mood": "odd"})
            context.patch({"x": 1})
            context.ui_event("bell")
            context.error("E", "e")
            return [1]

        session.add_sink(seen.append)
        session.execute(one("talk"))
        for event in seen:
            read = event_from_dict(event.kind, event.body)
            assert event.data == read and type(event.data) is type(read)
            assert repr(event.data) == repr(read) and event.data.to_dict() == read.to_dict()


class TestStreams:
    def test_a_full_stream_holds_the_tools(self) -> None:
        async def main() -> list[int]:
            sizes = []
            async with narratoria.aio.Session() as session:

                @session.tool
                async def chatty() -> Any:
                    for number in range(20_000):
                        yield {"type": "log", "level": "info", "message": f"{number}"}

                stream = session.events(["tool_event"], limit=100)
                running = asyncio.create_task(session.execute(one("chatty")))
                count = 0
                async for event in stream:
                    count += 1
                    sizes.append(len(stream._waiting))
                    if event.type == "done":
                        break
                stream.close()
                assert (await running).success and count == 20_001
            return sizes

        assert max(asyncio.run(asyncio.wait_for(main(), PATIENCE_S))) < 5_000

    @pytest.mark.parametrize("reader", ["slow", "fast"])
    def test_a_million_events_come_in_order_through_a_little_memory(
        self, reader: str, tmp_path: pathlib.Path
    ) -> None:
        count = 1_000_000
        line = '{"version":"0","type":"log","level":"info","message":"step"}'
        tool = tmp_path / "steps"
        tool.write_text(
            f"#!/bin/sh\nread -r invocation\nyes '{line}' | head -n {count}\n"
            'echo \'{"version":"0","type":"done","ok":true}\'\n'
        )
        tool.chmod(0o755)

        def resident() -> int:
            pages = pathlib.Path("/proc/self/statm").read_text().split()[1]
            return int(pages) * resource.getpagesize()

        async def main() -> None:
            times = narratoria.Times(try_ms=0, plan_ms=0)
            async with narratoria.aio.Session(times=times) as session:
                stream = session.events(["tool_event"], limit=1000)
                running = asyncio.create_task(session.execute(one(str(tool))))
                first = await anext(stream)
                seq, seen, most, before, highest = first.seq, 1, 0, resident(), 0
                async for event in stream:
                    seen += 1
                    assert event.seq > seq
                    seq = event.seq
                    if seen % 1000 == 0:
                        most = max(most, len(stream._waiting))
                        highest = max(highest, resident())
                        if reader == "slow":
                            # All others in the loop have their turn, and the tool runs on meanwhile.
                            for _ in range(5):
                                await asyncio.sleep(0)
                    if event.type == "done":
                        break
                grown = highest - before
                stream.close()
                assert (await running).success and seen == count + 1
                # All of them would take 300 bytes each.
                assert most < 20_000 and grown < 64 << 20, (most, grown)

        asyncio.run(asyncio.wait_for(main(), 10 * PATIENCE_S))

    def test_a_stream_that_nobody_reads_any_more_holds_nobody(self) -> None:
        async def main() -> bool:
            async with narratoria.aio.Session() as session:

                @session.tool
                def chatty(context: Context) -> None:
                    for _ in range(1000):
                        context.log("x")

                stream = session.events(limit=1)
                running = asyncio.create_task(session.execute(one("chatty")))
                await anext(stream)
                del stream
                return (await running).success

        assert asyncio.run(asyncio.wait_for(main(), PATIENCE_S))

    def test_a_limit_is_a_whole_number(self) -> None:
        async def main() -> None:
            async with narratoria.aio.Session() as session:
                with pytest.raises(ValueError, match="limit"):
                    session.events(limit=0)

        asyncio.run(main())


class TestConstraints:
    @pytest.mark.parametrize(
        "annotation, good, bad, said",
        [
            (Annotated[int, Field(gt=0)], 1, 0, "greater than 0"),
            (Annotated[float, Field(ge=0.5, le=1)], 1, 2, "at most 1"),
            (Annotated[int, Field(multiple_of=3)], 9, 10, "multiple of 3"),
            (Annotated[str, Field(min_length=2, max_length=3)], "ab", "abcd", "at most 3"),
            (Annotated[list[int], Field(min_length=1)], [1], [], "at least 1"),
            (Annotated[str, Field(pattern="^a+$")], "aa", "ab", "match"),
            (Annotated[int | None, Field(lt=5)], None, 5, "less than 5"),
            (list[Annotated[int, Field(gt=0)]], [1], [1, 0], "greater than 0"),
        ],
    )
    def test_they_count(
        self, session: Any, annotation: Any, good: Any, bad: Any, said: str
    ) -> None:
        from narratoria._function import describe

        def tool(x: Any) -> Any:
            return x

        tool.__annotations__["x"] = annotation
        session.tool(tool)
        assert session.call("tool", x=good) == good
        result = session.execute(one("tool", {"x": bad}))["t"]
        assert (result.error_code, result.retry_count) == ("INPUT_INVALID", 0)
        with pytest.raises(narratoria.DocumentError, match=said):
            describe(tool).bind({"x": bad})

    def test_those_of_other_libraries_count_too(self, session: Any) -> None:
        annotated_types = pytest.importorskip("annotated_types")

        @session.tool
        def roll(sides: int) -> int:
            return sides

        roll.__annotations__["sides"] = Annotated[int, annotated_types.Interval(gt=1, le=9)]
        session.tool(roll)
        result = session.execute(one("roll", {"sides": 10}))["t"]
        assert result.error_code == "INPUT_INVALID"
        roll.__annotations__["sides"] = Annotated[int, annotated_types.Predicate(bool)]
        with pytest.raises(TypeError, match="cannot say"):
            session.tool(roll)

    @pytest.mark.parametrize(
        "annotation",
        [
            Annotated[bool, Field(gt=0)],
            Annotated[Any, Field(min_length=1)],
            Annotated[int, Field(pattern="a")],
        ],
    )
    def test_one_that_says_nothing_is_refused(self, session: Any, annotation: Any) -> None:
        def tool(x: Any) -> None: ...

        tool.__annotations__["x"] = annotation
        with pytest.raises(TypeError, match="says nothing about"):
            session.tool(tool)

    def test_wrong_ones_are_refused_where_they_are_written(self, session: Any) -> None:
        wrong: list[dict[str, Any]] = [
            {"gt": "1"},
            {"min_length": -1},
            {"pattern": "("},
            {"multiple_of": 0},
            {"multiple_of": 0.1},
            {"description": 5},
        ]
        for arguments in wrong:
            with pytest.raises((TypeError, ValueError)):
                Field(**arguments)

        def tool(x: int = Field(gt=0)) -> None: ...  # type: ignore[assignment]

        with pytest.raises(TypeError, match="Field is no default"):
            session.tool(tool)


class Place(NamedTuple):
    x: int
    y: int


@dataclass
class Stay:
    who: str
    until: datetime.date


class TestTypes:
    @pytest.mark.parametrize(
        "kind, json, value",
        [
            (datetime.datetime, "2026-01-24T18:30:00Z", None),
            (datetime.date, "2026-01-24", datetime.date(2026, 1, 24)),
            (datetime.time, "18:30:00", datetime.time(18, 30)),
            (uuid.UUID, "12345678-1234-5678-1234-567812345678", None),
            (pathlib.Path, "/tmp/x", pathlib.Path("/tmp/x")),
            (Place, [1, 2], Place(1, 2)),
            (Stay, {"who": "Ada", "until": "2026-01-24"}, None),
        ],
    )
    def test_they_come_and_go(self, session: Any, kind: Any, json: Any, value: Any) -> None:
        got: list[Any] = []

        def tool(x: Any) -> Any:
            got.append(x)
            return x

        tool.__annotations__["x"] = kind
        session.tool(tool)
        back = session.call("tool", x=json)
        assert type(got[0]) is kind or isinstance(got[0], kind)
        if value is not None:
            assert got[0] == value and back == json
        assert session.call("tool", x=back) == back

    def test_a_text_that_is_no_date_is_no_input(self, session: Any) -> None:
        @session.tool
        def wait(until: datetime.date) -> None: ...

        tool = session.execute(one("wait", {"until": "tomorrow"}))["t"]
        assert (tool.error_code, tool.retry_count) == ("INPUT_INVALID", 0)
        assert "/until" in tool.error

    def test_models_of_pydantic(self, session: Any, pydantic: Any) -> None:
        Torch = pydantic.create_model("Torch", hours=(Annotated[int, pydantic.Field(gt=0)], 3))
        Room = pydantic.create_model("Room", torch=(Torch, ...), names=(list[str], []))

        def enter(room: Any) -> Any:
            return room

        enter.__annotations__["room"] = Room
        session.tool(enter)
        assert session.call("enter", room={"torch": {}}) == {"torch": {"hours": 3}, "names": []}
        tool = session.execute(one("enter", {"room": {"torch": {"hours": 0}}}))["t"]
        assert tool.error_code == "INPUT_INVALID" and "hours" in tool.error

    def test_an_alternative_says_what_is_wrong_inside(self) -> None:
        from narratoria._function import describe

        def go(where: Any) -> None: ...

        go.__annotations__["where"] = Place | Stay
        with pytest.raises(narratoria.DocumentError, match="/until"):
            describe(go).bind({"where": {"who": "Ada", "until": "soon"}})

    def test_models_of_pydantic_keep_their_definitions(self, session: Any, pydantic: Any) -> None:
        def made(kind: Any) -> Any:
            class Node(pydantic.BaseModel):
                label: kind
                children: list["Node"] = []

            return Node

        first, second = made(int), made(str)

        def walk(a: Any, b: Any = None, c: Any = None) -> Any:
            return [a, b]

        walk.__annotations__.update(a=first, b=Optional[second], c=Optional[first])
        session.tool(walk)
        schema = describe(walk).input_schema
        assert sorted(schema["$defs"]) == ["Node", "Node_2"]
        assert schema["properties"]["a"] == {"$ref": "#/$defs/Node"}
        inner = schema["$defs"]["Node_2"]["properties"]["children"]["items"]
        assert inner == {"$ref": "#/$defs/Node_2"}
        a = {"label": 1, "children": [{"label": 2, "children": []}]}
        b = {"label": "x", "children": [{"label": "y", "children": []}]}
        assert session.call("walk", a=a, b=b, c=a) == [a, b]
        for wrong in ({"a": b}, {"a": a, "b": a}, {"a": a, "b": b, "c": b}):
            assert session.execute(one("walk", wrong))["t"].error_code == "INPUT_INVALID"

    def test_what_only_pydantic_can_say_is_checked_by_pydantic(
        self, session: Any, pydantic: Any
    ) -> None:
        import decimal

        class Cat(pydantic.BaseModel):
            kind: Literal["cat"]
            lives: int

        class Dog(pydantic.BaseModel):
            kind: Literal["dog"]

        class Basket(pydantic.BaseModel):
            price: decimal.Decimal
            code: Annotated[str, pydantic.Field(pattern=r"(?i)^[a-z]+\z")] = "a"
            animal: Union[Cat, Dog] = pydantic.Field(discriminator="kind")

        def buy(basket: Any) -> str:
            return f"{basket.price + 1} {basket.animal.kind}"

        buy.__annotations__["basket"] = Basket
        session.tool(buy)
        cat = {"kind": "cat", "lives": 9}
        assert session.call("buy", basket={"price": "1.50", "animal": cat}) == "2.50 cat"
        for wrong in (
            {"price": "much", "animal": cat},
            {"price": 1, "animal": {"kind": "cat"}},
            {"price": 1, "animal": cat, "code": "7"},
        ):
            tool = session.execute(one("buy", {"basket": wrong}))["t"]
            assert tool.error_code == "INPUT_INVALID", wrong
