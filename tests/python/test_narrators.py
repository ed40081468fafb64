# SPDX-License-Identifier: Apache-2.0
"""Functions as narrators: their answers, and their exceptions."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable
from typing import Any

import pytest
from plans import DONE

import narratoria
from narratoria import Session


class TestNarrators:
    def test_function_answers_with_plan(self, session: Any, make_tool: Any) -> None:
        path = make_tool("t", DONE)

        @session.narrator
        def tell(request: narratoria.NarratorRequest) -> Any:
            assert request.prompt.text == "Hello"
            return narratoria.Plan(
                tools=[narratoria.Invocation("t", path)], narrative="As you say."
            )

        turn = session.play("Hello")
        assert turn.narrative == "As you say." and turn.result["t"].ok

    @pytest.mark.parametrize("given, told", [(None, 5000), (1500, 1500), (0, None)])
    def test_request_has_the_time_for_the_reply(self, given: int | None, told: int | None) -> None:
        times = narratoria.Times(narrator_ms=given)
        with narratoria.Session(times=times) as session:

            @session.narrator
            def tell(request: narratoria.NarratorRequest) -> str:
                assert "timeoutMs" not in request.to_dict()
                return str(request.timeout_ms)

            assert session.play("x").narrative == str(told)

    def test_async_narrator_tells_pieces_while_it_thinks(self, session: Any) -> None:
        told: list[tuple[str, str]] = []
        session.add_sink(
            lambda event: told.append((event.kind, event.body.get("text", ""))),
            ["narrative_delta", "narrative", "narrative_retracted"],
        )

        @session.narrator
        async def tell(request: narratoria.NarratorRequest, delta: Any) -> Any:
            delta("It ")
            while not told:
                await asyncio.sleep(0)
            delta("opens.")
            return narratoria.Plan(tools=[])

        assert session.play("Push").narrative == "It opens."
        assert told == [
            ("narrative_delta", "It "),
            ("narrative_delta", "opens."),
            ("narrative", "It opens."),
        ]

    def test_pieces_of_a_narrator_that_raises_are_taken_back(self) -> None:
        session = narratoria.Session(on_narrator_error="fallback")
        kinds: list[str] = []
        session.add_sink(
            lambda event: kinds.append(event.kind), ["narrative_delta", "narrative_retracted"]
        )

        @session.narrator
        async def tell(request: narratoria.NarratorRequest, delta: Any) -> Any:
            if request.generation_attempt > 1:
                return "It stays shut."
            with pytest.raises(TypeError, match="must be a str"):
                delta(5)
            delta("It ")
            raise ValueError("no idea")

        assert session.play("Push").narrative == "It stays shut."
        assert kinds == ["narrative_delta", "narrative_retracted"]

    def test_narrator_that_tells_pieces_must_be_async(self, session: Any) -> None:
        @session.narrator
        def tell(request: narratoria.NarratorRequest, delta: Any) -> str:
            return "It opens."

        with pytest.raises(TypeError, match="a narrator with a parameter delta must be async"):
            session.play("Push")

    def test_next_request_has_faults_of_previous_answer(self) -> None:
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

    def test_reason_for_refused_plan_is_logged(
        self, session: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        session.narrator(lambda request: {"requestId": "p", "tools": [{"toolId": "a"}]})
        with caplog.at_level(logging.WARNING, "narratoria"):
            assert session.play("x").outcome == "fallback"
        assert "/tools/0/toolPath" in caplog.text

    def test_narrator_as_session_argument(self) -> None:
        with narratoria.Session(narrator=lambda request: "Yes.") as session:
            assert session.play("x").narrative == "Yes."

    def test_answer_that_is_not_json_is_reported(self) -> None:
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

    def test_plan_may_contain_dicts(self, session: Any) -> None:
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

    def test_narrator_replaces_that_of_story(self, torch: str) -> None:
        with narratoria.Session(story=torch, narrator=lambda request: "Mine.") as session:
            assert session.play("I light the torch").narrative == "Mine."

    def test_async_narrator_is_awaited(self, session: Any) -> None:
        @session.narrator
        async def tell(request: Any) -> str:
            await asyncio.sleep(0.01)
            return "thought about it"

        assert session.play("x").narrative == "thought about it"

    def test_late_async_narrator_is_cancelled(self) -> None:
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


class TestExceptions:
    def test_exception_is_raised_by_play_at_once(self, session: Any) -> None:
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

    async def test_none_from_async_narrator_raises(self) -> None:
        async with narratoria.aio.Session() as session:

            @session.narrator
            async def tell(request: Any) -> None: ...

            with pytest.raises(TypeError, match="NoneType"):
                await session.play("x")

    def test_fallback_option_records_faults_in_turn(self) -> None:
        with Session(on_narrator_error="fallback") as session:

            @session.narrator
            def tell(request: Any) -> str:
                raise ValueError("no idea")

            turn = session.play("x")
        assert turn.outcome == "fallback" and turn.generations == 5
        assert len(turn.faults) == 5 and all("no idea" in fault for fault in turn.faults)

    def test_invalid_on_narrator_error_is_refused(self) -> None:
        with pytest.raises(ValueError, match="on_narrator_error"):
            Session(on_narrator_error="ignore")  # type: ignore[arg-type]


class Late:
    """An async narrator that goes on for as long as it is told after its first request was
    cancelled, then ends as `end` does; it answers the next request when the late end is over."""

    def __init__(self, end: Callable[[Any], object]) -> None:
        self.cancelled = asyncio.Event()
        self.over = asyncio.Event()
        self.end = end
        self.requests = 0

    async def tell(self, request: Any, delta: Any) -> Any:
        self.requests += 1
        if self.requests > 1:
            await self.over.wait()
            # The first task has ended by the next steps of the loop.
            for _ in range(5):
                await asyncio.sleep(0)
            return "good"
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            while self.requests < 2:
                await asyncio.sleep(0.001)
            self.over.set()
            return self.end(delta)


def raise_stale(delta: Any) -> None:
    raise ConnectionError("stale")


ENDS = [
    (raise_stale, "ConnectionError"),
    (lambda delta: None, "NoneType"),
    (lambda delta: delta("bye"), "GoneError"),
]


class TestLateFailures:
    @pytest.mark.parametrize("end, logged", ENDS, ids=["raises", "none", "delta"])
    async def test_next_prompt_is_answered(
        self, end: Any, logged: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        late = Late(end)
        async with narratoria.aio.Session(narrator=late.tell) as session:
            first = asyncio.create_task(session.play("first"))
            while not late.requests:
                await asyncio.sleep(0)
            first.cancel()
            await late.cancelled.wait()
            turn = await session.play("second")
            assert (turn.narrative, turn.faults) == ("good", [])
        assert "a narrator whose request had ended raised" in caplog.text and logged in caplog.text

    def test_next_generation_is_used_after_a_timeout(self) -> None:
        late = Late(raise_stale)
        with Session(narrator=late.tell, times=narratoria.Times(narrator_ms=500)) as session:
            turn = session.play("x")
            assert turn.narrative == "good" and turn.generations == 2

    async def test_call_of_a_tool_is_not_cancelled(self) -> None:
        late = Late(raise_stale)
        async with narratoria.aio.Session(narrator=late.tell) as session:

            @session.tool
            async def work() -> str:
                late.requests = 2
                await late.over.wait()
                for _ in range(5):
                    await asyncio.sleep(0)
                return "done"

            first = asyncio.create_task(session.play("first"))
            while not late.requests:
                await asyncio.sleep(0)
            first.cancel()
            await late.cancelled.wait()
            assert await session.call("work") == "done"

    async def test_close_loses_no_exception(self, caplog: pytest.LogCaptureFixture) -> None:
        lost: list[Any] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: lost.append(context))
        late = Late(raise_stale)
        session = await narratoria.aio.Session(narrator=late.tell)
        playing = asyncio.create_task(session.play("x"))
        while not late.requests:
            await asyncio.sleep(0)
        late.requests = 2
        await session.aclose()
        playing.cancel()
        gc.collect()
        assert "ConnectionError" in caplog.text and not lost


class TestReports:
    @pytest.mark.parametrize(
        "usage, says",
        [
            ({"input_tokens": -5}, "input_tokens must be a whole number from 0"),
            ({"total_ms": 1.5}, "total_ms must be an int"),
            ({"model": ""}, "model must not be empty"),
            ({"cost": 0.1}, "cost and currency belong together"),
            ({"cost": -1, "currency": "EUR"}, "cost must be a number from 0"),
        ],
    )
    def test_usage_that_is_not_valid_is_named(self, session: Any, usage: Any, says: str) -> None:
        @session.narrator
        async def tell(request: Any, usage: Any) -> str:
            usage(**given)
            return ""

        given = usage
        with pytest.raises((TypeError, ValueError), match=says):
            session.play("x")

    async def test_report_after_the_end_says_so(self) -> None:
        kept: list[Any] = []

        async with narratoria.aio.Session() as session:

            @session.narrator
            async def tell(request: Any, delta: Any, usage: Any) -> str:
                kept.extend((delta, usage))
                return "x"

            await session.play("x")
            with pytest.raises(
                narratoria.GoneError, match="a piece of the narrative comes too late"
            ):
                kept[0]("late")
            with pytest.raises(narratoria.GoneError, match="the usage comes too late"):
                kept[1](input_tokens=1)

    def test_too_many_pieces_are_refused_as_such(self, session: Any) -> None:
        @session.narrator
        async def tell(request: Any, delta: Any) -> str:
            for _ in range(40):
                delta("x" * 1_000_000)
            return "x"

        with pytest.raises(narratoria.BusyError, match="16 MiB"):
            session.play("x")
