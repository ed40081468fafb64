# SPDX-License-Identifier: Apache-2.0
"""Narrators that run tools before they answer."""

import asyncio
import json

import pytest
from from_schema import SCHEMAS, objects, validator
from hypothesis import given

import narratoria
from narratoria.documents import Outcome

OUTCOME = validator("narrator-outcome-1")


@given(objects(SCHEMAS["narrator-outcome-1"], "narrator-outcome-1"))
def test_outcomes_round_trip(document):
    assert Outcome.from_dict(json.loads(json.dumps(document))).to_dict() == document


def test_narrator_runs_tools_before_answer(session):
    @session.tool
    def roll(sides: int) -> int:
        return min(sides, 4)

    @session.narrator
    async def gambler(request, invoke):
        one = await invoke("roll", sides=6)
        both = await asyncio.gather(invoke("roll", sides=2), invoke("roll", sides=3))
        assert not list(OUTCOME.iter_errors(one.to_dict()))
        return f"{one.result} {[each.result for each in both]}"

    started = []
    session.add_sink(lambda event: started.append(event.tool_id), ["tool_started"])
    assert session.play("Roll").narrative == "4 [2, 3]"
    assert started == ["roll-1", "roll-2", "roll-3"]


def test_failed_tool_does_not_raise_in_narrator(session):
    @session.tool(name="stuck")
    def door() -> None:
        raise narratoria.ToolError("STUCK", "it is stuck")

    @session.narrator
    async def porter(request, *, invoke):
        tried = await invoke("stuck")
        return f"{tried.ok} {tried.error}"

    assert "it is stuck" in session.play("Open").narrative


def test_next_request_has_previous_invocations():
    with narratoria.Session(on_narrator_error="fallback") as session:
        seen = []

        @session.tool
        def look() -> str:
            return "dark"

        @session.narrator
        async def narrator(request, invoke):
            seen.append(request.invocations)
            if len(seen) == 1:
                await invoke("look")
                raise ValueError("no idea")
            return "Dark."

        assert session.play("Look").narrative == "Dark."
        assert seen[0] is None
        assert [each.result for each in seen[1].tool_results] == ["dark"]


def test_narrator_that_invokes_must_be_async(session):
    session.narrator(lambda request, invoke: "Nothing.")
    with pytest.raises(TypeError, match="async"):
        session.play("Look")


def test_invalid_invocation_raises(session):
    @session.narrator
    async def narrator(request, invoke):
        await invoke("a\0b")

    with pytest.raises((narratoria.Error, ValueError)):
        session.play("Look")


async def test_abandoned_invocation_is_cancelled():
    async with narratoria.aio.Session() as session:
        ended = []

        @session.tool
        async def wait() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("wait")

        @session.narrator
        async def narrator(request, invoke):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(invoke("wait"), 0.01)
            return "Enough."

        turn = await session.play("Wait")
        assert turn.narrative == "Enough."
        assert ended == ["wait"]
