# SPDX-License-Identifier: Apache-2.0
"""What is written in Python and given to a session: tools, handlers, narrators, sinks."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from plans import DONE, line, one

import narratoria
from narratoria.events import Log, UiEvent
from narratoria.tool import ToolError


class TestTools:
    def test_a_function_is_a_tool(self, session: Any) -> None:
        @session.tool
        def add(a: int, b: int = 10) -> int:
            """Adds two numbers."""
            return a + b

        assert add(1, 2) == 3, "the function stays a function"
        result = session.execute(one("add", {"a": 2**62}))
        assert result["t"].result == 2**62 + 10

    def test_an_input_that_breaks_the_schema_fails_the_attempt(self, session: Any) -> None:
        calls = []

        @session.tool
        def add(a: int, way: Literal["up", "down"] = "up") -> None:
            calls.append(a)

        for wrong in ({}, {"a": "1"}, {"a": 1, "way": "left"}, {"a": 1, "b": 2}, {"a": True}):
            result = session.execute(one("add", wrong))
            assert result["t"].error_code == "INPUT_INVALID", wrong
        assert calls == []

    @pytest.mark.parametrize("kind", ["plain", "open", "async"])
    def test_a_failure_in_good_order(
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
        assert tool.error == "TORCH_WET: The torch is too wet."
        assert tool.events[0]["errorMessage"] == "The torch is too wet."
        assert tool.events[0]["details"] == {"wetness": 0.9}
        assert tool.events[1]["ok"] is False and tool.stderr is None
        assert caplog.text == "", "a tool that says why needs no traceback"

    def test_a_tool_error_that_is_no_json(self, session: Any) -> None:
        @session.tool
        def light() -> None:
            raise ToolError("WET", "too wet \ud800", {"what": object()})

        tool = session.execute(one("light"))["t"]
        assert tool.error == "WET: too wet ?", "its code is what programs look at"
        assert "details" not in tool.events[0]
        assert tool.stderr is not None and "/details/what" in tool.stderr

    def test_a_tool_error_that_says_nothing(self, session: Any) -> None:
        @session.tool
        def light() -> None:
            raise ToolError("", "")

        assert session.execute(one("light"))["t"].error == "TOOL_EXCEPTION: ToolError"

    def test_an_exception_whose_text_cannot_be_read(self, session: Any) -> None:
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

    def test_a_name_for_a_lambda(self, session: Any) -> None:
        session.tool(name="six", description="Always.")(lambda: 6)
        assert session.execute(one("six"))["t"].result == 6
        with pytest.raises(ValueError, match="name="):
            session.tool(lambda: 6)

    def test_what_is_no_function_is_refused_at_once(self, session: Any) -> None:
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

    def test_an_async_function_within_a_decorator(self, session: Any) -> None:
        import asyncio
        import functools

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
        # Of a bare function on the session's own thread nobody knows it before.
        assert "functools.wraps" in session.execute(one("quick"))["t"].error

    @pytest.mark.parametrize("kind", ["CancelledError", "GeneratorExit", "Own"])
    def test_an_async_function_fails_by_whatever_it_raises(self, session: Any, kind: str) -> None:
        import asyncio

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
        assert tool.error == f"TOOL_EXCEPTION: {kind}" and "Traceback" in tool.stderr

    def test_an_async_generator_may_say_much(self, session: Any) -> None:
        @session.tool
        async def much() -> Any:
            for _ in range(30):
                yield {"type": "log", "level": "info", "message": "x" * 1_000_000}

        tool = session.execute(one("much"))["t"]
        assert tool.ok and len(tool.events) == 31, tool.error

    def test_a_generator_is_told_that_it_says_too_much(self, session: Any) -> None:
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

    def test_dataclasses_come_and_go(self, session: Any) -> None:
        @dataclass
        class Point:
            x: int
            y: int = 0

        @session.tool
        def mirror(point: Point) -> Point:
            assert isinstance(point, Point)
            return Point(point.y, point.x)

        # Its annotations are texts, and Point is of this function.
        result = session.execute(one("mirror", {"point": {"x": 1, "y": 2}}))
        assert result["t"].result == {"x": 2, "y": 1}, result["t"].error

    def test_a_name_of_its_own(self, session: Any) -> None:
        @session.tool(name="roll-dice", description="Rolls.")
        def anything() -> int:
            return 4

        assert session.execute(one("roll-dice"))["t"].result == 4

    def test_a_second_function_of_the_name_takes_its_place(self, session: Any) -> None:
        @session.tool
        def f() -> int:
            return 1

        @session.tool  # type: ignore[no-redef]
        def f() -> int:  # noqa: F811
            return 2

        assert session.execute(one("f"))["t"].result == 2

    def test_an_exception_fails_the_attempt_with_its_traceback(
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

    def test_an_error_of_the_tools_own(self, session: Any) -> None:
        from narratoria.tool import ToolError

        @session.tool
        def wet() -> None:
            raise ToolError("TORCH_WET", "too wet to burn", {"wetness": 0.9})

        error = session.execute(one("wet"))["t"].events[0]
        assert error == {
            "version": "0",
            "type": "error",
            "errorCode": "TORCH_WET",
            "errorMessage": "too wet to burn",
            "details": {"wetness": 0.9},
        }

    def test_a_result_that_is_no_json_fails_the_attempt(self, session: Any) -> None:
        @session.tool
        def broken() -> Any:
            return {"a": [{1, 2}]}

        assert "/a/0" in session.execute(one("broken"))["t"].error

    def test_a_retry_calls_it_again(self, session: Any) -> None:
        attempts = []

        @session.tool
        def flaky() -> int:
            attempts.append(1)
            if len(attempts) < 3:
                raise OSError("not yet")
            return len(attempts)

        result = session.execute(one("flaky", retryPolicy={"maxRetries": 3, "backoffMs": 1}))
        assert result["t"].result == 3 and result["t"].retry_count == 2

    def test_the_context_says_events(self, session: Any, tmp_path: Any) -> None:
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
            assert context.state.to_dict() == {}
            assert not context.is_cancelled
            return "done"

        events = session.execute(one("busy"))["t"].events
        assert [event["type"] for event in events] == [
            "log", "log", "state_patch", "asset", "ui_event", "error", "log", "done",
        ]  # fmt: skip
        assert events[1]["fields"] == {"progress": 0.5}
        assert session.state["n"] == 2
        assert session.assets[0].asset_id == "p"

    def test_a_generator_yields_events(self, session: Any) -> None:
        @session.tool
        def steps(n: int) -> Any:
            for i in range(n):
                yield {"type": "log", "level": "info", "message": str(i)}
            yield Log("typed")
            return "over"

        tool = session.execute(one("steps", {"n": 2}))["t"]
        assert [event.get("message") for event in tool.events[:3]] == ["0", "1", "typed"]
        assert tool.result == "over"

    def test_an_event_that_is_none_is_a_protocol_error(self, session: Any) -> None:
        @session.tool
        def wrong() -> Any:
            yield {"type": "poem"}

        assert session.execute(one("wrong"))["t"].error_code == "PROTOCOL_ERROR"

    def test_dependencies_reach_it(self, session: Any) -> None:
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

    def test_async_functions_run_beside_each_other(self, session: Any) -> None:
        import asyncio

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

    def test_an_async_generator_yields_events(self, session: Any) -> None:
        @session.tool
        async def steps() -> Any:
            yield {"type": "state_patch", "patch": {"a": 1}}

        assert session.execute(one("steps")).success
        assert session.state["a"] == 1

    def test_an_async_function_that_takes_too_long_is_cancelled(self, make_tool: Any) -> None:
        import asyncio

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

    def test_an_async_function_that_goes_on_all_the_same_is_waited_for_once(self) -> None:
        import asyncio
        import time

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
            # With a grace period each it would be 60 seconds.
            assert time.monotonic() - begin < 30
            is_over = True

    def test_what_a_tool_may_not_call(self, session: Any) -> None:
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

    def test_narrators_are_told_of_it(self, session: Any) -> None:
        @session.tool
        def weather(city: str) -> None:
            """What the weather is.

            More that nobody needs."""

        requests = []

        @session.narrator
        def tell(request: Any) -> str:
            requests.append(request)
            return "x"

        session.play("x")
        tool = next(tool for tool in requests[0].tools if tool.name == "weather")
        assert tool.description == "What the weather is."
        assert tool.input_schema["required"] == ["city"]


class TestHandlers:
    def test_a_handler_gets_what_it_named(self, session: Any, make_tool: Any) -> None:
        seen: list[UiEvent] = []
        session.on_ui_event("narrative_choice")(seen.append)
        bell = line('{"type":"ui_event","event":"bell"}')
        choice = line('{"type":"ui_event","event":"narrative_choice","payload":{"choices":["a"]}}')
        placeholders = []
        session.add_sink(lambda event: placeholders.append(event.body), ["ui_placeholder"])
        session.execute(one(make_tool("t", f"{bell}\n{choice}\n{DONE}")))
        assert [(each.event, each.payload) for each in seen] == [
            ("narrative_choice", {"choices": ["a"]})
        ]
        assert [each["event"] for each in placeholders] == ["bell"]

    def test_false_leaves_it_to_the_next(self, session: Any, make_tool: Any) -> None:
        asked = []

        @session.on_ui_event()
        def early(event: Any) -> None:
            asked.append("early")

        @session.on_ui_event(priority=5)
        def important(event: Any) -> bool:
            asked.append("important")
            return False

        @session.on_ui_event()
        def late(event: Any) -> bool:
            asked.append("late")
            return False

        bell = line('{"type":"ui_event","event":"bell"}')
        session.execute(one(make_tool("t", f"{bell}\n{DONE}")))
        assert asked == ["important", "late", "early"]

    def test_an_exception_is_logged_and_the_next_is_asked(
        self, session: Any, make_tool: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        asked = []
        session.on_ui_event()(asked.append)

        @session.on_ui_event()
        def broken(event: Any) -> None:
            raise RuntimeError("oh")

        bell = line('{"type":"ui_event","event":"bell"}')
        with caplog.at_level(logging.ERROR, "narratoria"):
            assert session.execute(one(make_tool("t", f"{bell}\n{DONE}"))).success
        assert len(asked) == 1 and "RuntimeError: oh" in caplog.text

    def test_an_asset_renderer(self, torch: str) -> None:
        shown: list[narratoria.Asset] = []
        with narratoria.Session(story=torch) as session:
            session.asset_renderer("image/*")(shown.append)
            session.play("I light the torch")
        assert [(asset.asset_id, asset.tool_id) for asset in shown] == [("lit_torch", "light1")]

    def test_an_async_handler_runs_to_its_end(self, session: Any, make_tool: Any) -> None:
        import asyncio

        ended = []

        @session.on_ui_event("bell")
        async def ring(event: UiEvent) -> None:
            await asyncio.sleep(0.05)
            try:
                session.execute({"requestId": "q", "tools": []})
            except narratoria.ReentrantError:
                ended.append(event.event)

        bell = line('{"type":"ui_event","event":"bell"}')
        assert session.execute(one(make_tool("t", f"{bell}\n{DONE}"))).success
        assert ended == ["bell"]

    def test_an_async_renderer_runs_to_its_end(self, torch: str) -> None:
        import asyncio

        shown = []
        with narratoria.Session(story=torch) as session:

            @session.asset_renderer("image/*")
            async def show(asset: narratoria.Asset) -> None:
                await asyncio.sleep(0.05)
                shown.append(asset.asset_id)

            session.play("I light the torch")
            assert shown == ["lit_torch"]

    def test_forgotten_parentheses_are_named(self, session: Any) -> None:
        with pytest.raises(TypeError, match="parentheses"):
            session.on_ui_event(lambda event: None)
        with pytest.raises(TypeError, match="media types"):
            session.asset_renderer(lambda asset: None)


class TestNarrators:
    def test_a_function_answers_with_a_plan(self, session: Any, make_tool: Any) -> None:
        path = make_tool("t", DONE)

        @session.narrator
        def tell(request: narratoria.NarratorRequest) -> Any:
            assert request.prompt.text == "Hello"
            return narratoria.Plan(
                tools=[narratoria.Invocation("t", path)], narrative="As you say."
            )

        turn = session.play("Hello")
        assert turn.narrative == "As you say." and turn.result["t"].ok

    def test_what_went_wrong_comes_back(self) -> None:
        session = narratoria.Session(on_narrator_error="fallback")
        requests = []

        @session.narrator
        def tell(request: Any) -> Any:
            requests.append(request)
            if request.generation_attempt == 1:
                return {"requestId": "p", "tools": [{"toolId": ""}]}
            if request.generation_attempt == 2:
                raise ValueError("no idea")
            if request.generation_attempt == 3:
                return 5
            return "at last"

        turn = session.play("x")
        assert turn.narrative == "at last" and turn.generations == 4
        assert requests[1].plan_faults[0].pointer == "/tools/0/toolId"
        assert "no idea" in requests[2].plan_faults[0].message
        assert "int" in requests[3].plan_faults[0].message
        assert ["refused", "no idea", "int"] == [
            next(word for word in ("refused", "no idea", "int") if word in fault)
            for fault in turn.faults
        ]
        session.close()

    def test_why_a_plan_was_refused_stands_in_the_log(
        self, session: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        session.narrator(lambda request: {"requestId": "p", "tools": [{"toolId": "a"}]})
        with caplog.at_level(logging.WARNING, "narratoria"):
            assert session.play("x").outcome == "fallback"
        assert "/tools/0/toolPath" in caplog.text

    def test_as_an_argument(self) -> None:
        with narratoria.Session(narrator=lambda request: "Yes.") as session:
            assert session.play("x").narrative == "Yes."

    def test_an_answer_that_is_no_json_says_so(self) -> None:
        session = narratoria.Session(on_narrator_error="fallback")

        class Odd:
            def to_dict(self) -> Any:
                raise RuntimeError("not today")

        told = []
        session.add_sink(lambda event: told.append(event.body["message"]), ["warning"])
        answers: list[Any] = [
            narratoria.Plan(metadata={"x": {1, 2}}),
            {"requestId": "p", "tools": [Odd()]},
            "at last",
        ]
        session.narrator(lambda request: answers.pop(0))
        assert session.play("x").narrative == "at last"
        assert "set" in told[0] and "not today" in told[1]
        session.close()

    def test_a_plan_of_dicts(self, session: Any) -> None:
        session.tool(name="six")(lambda: 6)
        plan = narratoria.Plan(tools=[{"toolId": "a", "toolPath": "six"}])
        assert repr(plan).endswith(": a>")
        plan.tools.append({"toolId": "b", "toolPath": "six"})  # type: ignore[arg-type]
        session.narrator(lambda request: plan)
        assert session.play("x").result["b"].result == 6
        plan.tools.append(5)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="/tools/2: must be a document or a dict, is a number"):
            plan.to_dict()
        with pytest.raises(narratoria.DocumentError, match="/tools/0/toolPath"):
            narratoria.Plan(tools=[{"toolId": "a"}])

    def test_over_the_storys(self, torch: str) -> None:
        with narratoria.Session(story=torch, narrator=lambda request: "Mine.") as session:
            assert session.play("I light the torch").narrative == "Mine."

    def test_an_async_function(self, session: Any) -> None:
        import asyncio

        @session.narrator
        async def tell(request: Any) -> str:
            await asyncio.sleep(0.01)
            return "thought about it"

        assert session.play("x").narrative == "thought about it"

    def test_one_that_is_late_is_cancelled(self) -> None:
        import asyncio

        told = []
        with narratoria.Session(times=narratoria.Times(narrator_ms=20)) as session:

            @session.narrator
            async def tell(request: Any) -> str:
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    told.append(request.generation_attempt)
                    raise
                return ""

            assert session.play("x").outcome == "fallback"
        assert told == [1, 2, 3, 4, 5]


class TestSinks:
    def test_a_sink_gets_the_whole_stream(self, session: Any, make_tool: Any) -> None:
        seen: list[narratoria.Event] = []
        assert session.add_sink(seen.append) == seen.append
        log = line('{"type":"log","level":"info","message":"ä"}')
        session.execute(one(make_tool("t", f"{log}\n{DONE}")))
        assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
        kinds = [event.kind for event in seen]
        assert kinds[0] == "plan_started" and kinds[-1] == "plan_ended"
        said = next(event for event in seen if event.type == "log")
        assert said.body["message"] == "ä" and said.body is said.body
        assert said.text == '{"version":"0","type":"log","level":"info","message":"ä"}'
        assert said.plan_id == "plan" and said.tool_id == "t" and said.attempt == 1
        assert said.session_id == session.id
        assert said.time.tzinfo is not None
        assert "log of t" in repr(said)
        assert seen[0].tool_id is None and seen[0].type is None and seen[0].attempt is None

    def test_records_are_those_of_the_schema(self, session: Any, make_tool: Any) -> None:
        import json
        from pathlib import Path

        jsonschema = pytest.importorskip("jsonschema")
        folder = Path(narratoria.__file__).parent / "schemas"
        schema = json.loads((folder / "event-record-1.schema.json").read_text())
        validator = jsonschema.Draft202012Validator(schema)
        seen: list[narratoria.Event] = []
        session.add_sink(seen.append)
        session.execute(one(make_tool("t", DONE)))
        for event in seen:
            validator.validate(event.to_dict())
            assert json.loads(event.to_json()) == event.to_dict()

    def test_pattern_matching(self, session: Any, make_tool: Any) -> None:
        lines = []

        def look(event: narratoria.Event) -> None:
            match event:
                case narratoria.Event(data=Log(level="info", message=message)):
                    lines.append(message)
                case narratoria.Event("plan_ended", data):
                    lines.append(f"success={data.success}")

        session.add_sink(look)
        log = line('{"type":"log","level":"info","message":"hello"}')
        session.execute(one(make_tool("t", f"{log}\n{DONE}")))
        assert lines == ["hello", "success=True"]

    def test_only_some_kinds(self, session: Any) -> None:
        seen = []
        session.add_sink(lambda event: seen.append(event.kind), ["plan_ended"])
        session.execute({"requestId": "p", "tools": []})
        assert seen == ["plan_ended"]
        with pytest.raises(ValueError, match="tool_event"):
            session.add_sink(print, ["poem"])
        with pytest.raises(ValueError, match="empty"):
            session.add_sink(print, [])

    def test_it_may_take_itself_off(self, session: Any) -> None:
        seen = []

        def once(event: Any) -> None:
            seen.append(event)
            session.remove_sink(once)

        session.add_sink(once)
        session.execute({"requestId": "p", "tools": []})
        assert len(seen) == 1
        with pytest.raises(ValueError, match="not attached"):
            session.remove_sink(once)

    def test_an_exception_is_logged_and_others_get_theirs(
        self, session: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        seen = []

        def broken(event: Any) -> None:
            raise RuntimeError("oh")

        session.add_sink(broken)
        session.add_sink(seen.append)
        with caplog.at_level(logging.ERROR, "narratoria"):
            assert session.execute({"requestId": "p", "tools": []}).success
        assert seen and "RuntimeError: oh" in caplog.text

    def test_events_outlive_the_session(self, session: Any) -> None:
        seen: list[narratoria.Event] = []
        session.add_sink(seen.append)
        session.execute({"requestId": "p", "tools": []})
        session.close()
        assert seen[-1].body["success"] is True

    def test_an_async_function_is_refused(self, session: Any) -> None:
        class Sink:
            async def __call__(self, event: Any) -> None: ...

            async def method(self, event: Any) -> None: ...

        import functools

        async def function(event: Any) -> None: ...

        for sink in (function, Sink(), Sink().method, functools.partial(function)):
            with pytest.raises(TypeError, match="async"):
                session.add_sink(sink)

    def test_it_cannot_be_made(self) -> None:
        with pytest.raises(TypeError):
            narratoria.Event()


def test_an_interrupt_in_a_callback_gets_out(session: Any, make_tool: Any) -> None:
    def stop(event: Any) -> None:
        raise KeyboardInterrupt

    session.add_sink(stop, ["tool_started"])
    with pytest.raises(KeyboardInterrupt):
        session.execute(one(make_tool("t", "sleep 60")))
    session.remove_sink(stop)
    assert session.execute({"requestId": "p", "tools": []}).success
