# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs of a session: plans, state, turns, the sample story, and refusals."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest
from plans import plan_of, roll_dice

import narratoria
from narratoria import Context, Invocation, NarratoriaWarning, Plan, Session
from narratoria.__main__ import main
from narratoria.events import event_from_dict


class TestSample:
    def test_python_m_plays_the_sample_story(self, monkeypatch: Any, capsys: Any) -> None:
        said = "I light the torch and examine the door\n1\n"
        monkeypatch.setattr("sys.stdin", io.StringIO(said))
        assert main([]) == 0
        told = capsys.readouterr().out
        assert "sample story" in told and "1. Open" in told and "2. Leave" in told

    def test_missing_story_is_reported(self, capsys: Any) -> None:
        assert main(["/nowhere"]) == 1
        assert "nowhere" in capsys.readouterr().err

    def test_notebook_shows_narrative_once(self) -> None:
        with Session(story=narratoria.sample_story()) as session:
            turn = session.play("I light the torch")
        assert turn._repr_html_().count(turn.narrative) == 1


class TestPlans:
    def test_warnings_are_shown_and_strict_refuses(self, session: Any) -> None:
        session.tool(name="roll")(roll_dice)
        tools = [{"toolId": "t", "toolPath": "roll", "dependancies": []}]
        plan = {"requestId": "p", "tools": tools}
        with pytest.warns(NarratoriaWarning, match="dependancies"):
            assert session.execute(plan).success
        with pytest.raises(narratoria.InvalidDocumentError, match="dependancies"):
            session.execute(plan, strict=True)
        [fault] = narratoria.validate("plan", plan, warnings=True)
        assert fault.pointer == "/tools/0/dependancies"
        assert not narratoria.validate("plan", plan)

    def test_invalid_plan_has_repr(self) -> None:
        wrong: list[Any] = [5, None, [5]]
        for tools in wrong:
            assert repr(tools) in repr(Plan(tools=tools))

    def test_one_invocation_in_place_of_a_list_is_refused(self) -> None:
        wrong: list[Any] = [Invocation("a"), {"toolId": "a"}, "a"]
        for tools in wrong:
            with pytest.raises(TypeError, match=r"write Plan\(\[Invocation\(…\)\]\)"):
                Plan(tools)

    def test_retry_policy_is_checked_when_it_is_given(self) -> None:
        wrong: Any = 5
        with pytest.raises(TypeError, match=r"RetryPolicy\(max_retries=…\)"):
            Invocation("a", retry_policy=wrong)
        policy: Any = {"maxRetries": 2}
        assert Invocation("a", retry_policy=policy).retry_policy.max_retries == 2


class TestState:
    def test_state_is_read_by_pointer(self) -> None:
        with Session(state={"a": {"b": [1, 2, {"c": None}]}, "d": ""}) as session:
            state = session.state
            assert "a" in state and "b" not in state and 5 not in state
            assert [len(state), *map(state.size, ("/a", "/a/b", "/d"))] == [2, 1, 3, 0]
            assert state.size("/a/b/2") == 1 and state.has("/a/b/2/c") and not state.has("/a/b/3")
            assert bool(state) and not state.has("/d/x")
            with pytest.raises(narratoria.NotFoundError):
                state.size("/x")
            with pytest.raises(narratoria.InvalidArgumentError):
                state.has("x")


class TestValues:
    def test_turns_and_events_can_be_copied_and_pickled(self, session: Any) -> None:
        seen: list[narratoria.Event] = []
        session.tool(name="roll")(roll_dice)
        session.add_sink(seen.append)
        session.narrator(lambda request: Plan([Invocation("r", "roll")], narrative="It rolls."))
        turn = session.play("x")
        for again in (copy.deepcopy(turn), pickle.loads(pickle.dumps(turn)), copy.copy(turn)):
            assert again.narrative == "It rolls." and again.result["r"].result == 4
            assert repr(again) == repr(turn)
        for event in seen:
            for other in (copy.deepcopy(event), pickle.loads(pickle.dumps(event))):
                assert other.to_json() == event.to_json() and other.data == event.data

    def test_data_equals_event_from_dict(self, session: Any) -> None:
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
        session.execute(plan_of("talk"))
        for event in seen:
            read = event_from_dict(event.kind, event.body)
            assert event.data == read and type(event.data) is type(read)
            assert repr(event.data) == repr(read) and event.data.to_dict() == read.to_dict()


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
    def test_context_refuses_invalid_events(self, session: Any, say: Any, error: Any) -> None:
        raised = []

        @session.tool
        def tool(context: Context) -> None:
            try:
                say(context)
            except Exception as exception:
                raised.append(type(exception))

        assert session.execute(plan_of("tool")).success and raised == [error]

    def test_missing_plugin_is_refused(self) -> None:
        with pytest.raises(FileNotFoundError, match="plugin"):
            Session(plugins=["/nope.so"])

    @pytest.mark.parametrize("arguments", [{"plugins": 5}, {"allow_paths": 5}, {"tools": 5}])
    def test_argument_that_is_not_list_is_refused(self, arguments: Any) -> None:
        with pytest.raises(TypeError, match="must be a list, not int"):
            Session(**arguments)

    @pytest.mark.parametrize("arguments", [{"name": 5}, {"description": 5}, {"thread": 5}])
    def test_invalid_tool_arguments_are_refused(self, session: Any, arguments: Any) -> None:
        with pytest.raises(TypeError, match="description of a tool|name of a tool|thread must be"):
            session.tool(**arguments)(roll_dice)
