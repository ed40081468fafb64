# SPDX-License-Identifier: Apache-2.0
"""A session for scripts: prompts, plans, state, assets, errors."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
from pathlib import Path
from typing import Any

import pytest
from plans import DONE, line, one

import narratoria
from narratoria.documents import Invocation, Plan


def test_sample_story_turn(torch: str) -> None:
    with narratoria.Session(story=torch) as session:
        turn = session.play("I light the torch and examine the door")
        assert turn.outcome == "completed"
        assert turn.generations == 1
        assert turn.narrative
        assert turn.choices
        assert [asset.asset_id for asset in turn.assets] == ["lit_torch"]
        assert turn.assets[0].media_type == "image/png"
        assert Path(turn.assets[0].path).read_bytes().startswith(b"\x89PNG")
        assert turn.result is not None and turn.result.success
        assert session.state["inventory"]["torch"]["lit"] is True
        assert turn.narrative in repr(turn)


def test_watched_story_is_changed_by_a_save(tmp_path: Path) -> None:
    def save(narrative: str) -> None:
        answer = {"patterns": ["look"], "answers": [{"narrative": narrative}]}
        (tmp_path / "prompts.json").write_text(json.dumps({"prompts": [answer]}))

    (tmp_path / "story.toml").write_text('title = "The Well"\n')
    save("Water.")
    seen: list[narratoria.Event] = []
    with narratoria.Session(story=tmp_path, watch=True) as session:
        session.add_sink(seen.append, ["story_reloaded"])
        assert session.play("look").narrative == "Water."
        save("Dark water.")
        assert session.play("look").narrative == "Dark water."
        assert [dict(event.body) for event in seen] == [{"title": "The Well", "faults": []}]
    with pytest.raises(TypeError):
        narratoria.Session(story=tmp_path, watch=1)  # type: ignore[arg-type]


def test_opening_is_that_of_story(torch: str, tmp_path: Path) -> None:
    with narratoria.Session(story=torch) as session:
        opening = session.opening
        assert opening is not None
        assert opening.text.startswith("The stair ends in the dark")
        assert opening.choices[0] == "I light the torch"
        assert session.play(opening.choices[0]).outcome == "completed"
    with pytest.raises(narratoria.GoneError):
        _ = session.opening
    (tmp_path / "story.toml").write_text('title = "T"\n[opening]\ntext = "Nacht – still."\n')
    with narratoria.Session(story=tmp_path, narrator=lambda request: "x") as session:
        assert session.opening == narratoria.Opening("Nacht – still.", [])


def test_unpublished_value_is_none(session: Any) -> None:
    assert session.published("narratoria.web", "url") is None
    with pytest.raises(TypeError):
        session.published("narratoria.web", 5)


def test_page_publishes_its_address(torch: str) -> None:
    with narratoria.Session(story=torch, plugins=["narratoria.web"]) as session:
        if not any(
            each["id"] == "narratoria.web" and each["state"] == "active" for each in session.plugins
        ):
            pytest.skip("the page was not built")
        session.execute({"requestId": "p", "tools": []})
        url = session.published("narratoria.web", "url")
        assert url is not None
        assert url.startswith("http://127.")


def test_current_turn_of_a_continued_session(torch: str, tmp_path: Path) -> None:
    saved = {"story": torch, "store": str(tmp_path / "saves.db"), "id": "evening"}
    with narratoria.Session(**saved) as session:
        assert (session.current.turn, session.current.narrative) == (0, "")
        turn = session.play("I light the torch")
    with narratoria.Session(**saved) as session:
        assert (session.current.turn, session.current.choices) == (1, turn.choices)
        # Also what the tools said.
        assert session.current.narrative == turn.narrative + "\n\nTorch lit."


def test_opening_is_none_without_story(session: Any) -> None:
    assert session.opening is None


@pytest.mark.parametrize(("mode", "stays"), [("remove", False), ("keep", True)])
def test_output_mode(torch: str, mode: str, stays: bool) -> None:
    with narratoria.Session(story=torch, output_mode=mode) as session:
        path = Path(session.play("I light the torch").assets[0].path)
        assert path.exists()
    assert path.exists() is stays


def test_unknown_output_mode_is_refused(torch: str) -> None:
    with pytest.raises(ValueError, match='output_mode must be "remove", "keep" or "none"'):
        narratoria.Session(story=torch, output_mode="kept")


def test_turn_has_only_its_own_assets(torch: str) -> None:
    with narratoria.Session(story=torch) as session:
        session.play("I light the torch")
        assert session.play("I sing").assets == []
        assert len(session.assets) == 1


def test_turn_becomes_json(torch: str) -> None:
    with narratoria.Session(story=torch) as session:
        turn = session.play("I light the torch and examine the door")
    made = json.loads(json.dumps(turn.to_dict()))
    assert made == dict(turn)
    assert (made["outcome"], made["choices"]) == ("completed", ["Open", "Leave"])
    assert narratoria.Asset.from_dict(made["assets"][0]) == turn.assets[0]
    assert narratoria.Result.from_dict(made["result"]) == turn.result


def test_turn_without_plan_becomes_json() -> None:
    with narratoria.Session(narrator=lambda request: "Night falls.") as session:
        assert json.loads(json.dumps(session.play("I wait").to_dict()))["assets"] == []


def test_pydantic_writes_turn(pydantic: Any) -> None:
    # FastAPI writes the results of handlers with pydantic.
    with narratoria.Session(narrator=lambda request: "Night falls.") as session:
        turn = session.play("I wait")
    adapter = pydantic.TypeAdapter(list[narratoria.Turn])
    assert json.loads(adapter.dump_json([turn])) == [turn.to_dict()]
    assert adapter.json_schema(mode="serialization")["items"]["type"] == "object"


def test_choice_is_next_prompt(torch: str) -> None:
    with narratoria.Session(story=torch) as session:
        first = session.play("I light the torch and examine the door")
        assert session.play(first.choices[0]).narrative


@pytest.mark.parametrize(
    "form", [dict, Plan.from_dict, lambda plan: __import__("json").dumps(plan)]
)
def test_plan_may_be_dict_plan_or_text(session: Any, make_tool: Any, form: Any) -> None:
    path = make_tool("t", line('{"type":"state_patch","patch":{"seen":1}}') + "\n" + DONE)
    result = session.execute(form(one(path)))
    assert result.success
    assert result["t"].output == {"seen": 1}
    assert session.state.to_dict() == {"seen": 1}


def test_plan_object_is_executed(session: Any, make_tool: Any) -> None:
    plan = Plan(tools=[Invocation("a", make_tool("t", DONE))])
    assert session.execute(plan).plan_id == plan.request_id


def test_failed_plan_returns_result(session: Any, make_tool: Any) -> None:
    result = session.execute(one(make_tool("t", "exit 3")))
    assert not result.success
    assert result["t"].error_code == "EXIT_STATUS"
    assert result.failed_tools == ["t"]


def test_result_outlives_session(make_tool: Any) -> None:
    with narratoria.Session() as session:
        result = session.execute(one(make_tool("t", DONE)))
    assert result["t"].events == [{"version": "0", "type": "done", "ok": True}]


def test_relative_tool_paths_start_at_folder(session: Any, make_tool: Any, tmp_path: Path) -> None:
    make_tool("t", DONE)
    assert session.execute(one("./t"), folder=tmp_path).success


def test_options_reach_engine(make_tool: Any, tmp_path: Path) -> None:
    with narratoria.Session(
        id="mine",
        root=tmp_path,
        environment={"COLOUR": "blue"},
        times=narratoria.Times(try_ms=3000, grace_ms=10),
        limits=narratoria.Limits(open_files=64),
        jobs=1,
    ) as session:
        assert session.id == "mine"
        said = make_tool(
            "said",
            'echo "{\\"version\\":\\"0\\",\\"type\\":\\"state_patch\\",\\"patch\\":'
            '{\\"colour\\":\\"$COLOUR\\",\\"folder\\":\\"$PWD\\",\\"files\\":$(ulimit -n)}}"\n'
            + DONE,
        )
        assert session.execute(one(said)).success
        assert session.state.to_dict() == {
            "colour": "blue",
            "folder": str(tmp_path.resolve()),
            "files": 64,
        }
        assert session.execute(one(make_tool("slow", "sleep 600")))["t"].state == "timeout"


@pytest.mark.parametrize("sandbox", ["no_network,no_env_read", ["no_network", "no_env_read"]])
def test_guarantees_hold_for_every_tool(sandbox: Any, make_tool: Any) -> None:
    with narratoria.Session(sandbox=sandbox, environment={"COLOUR": "blue"}) as session:
        ran = session.execute(one(make_tool("t", 'test -z "$COLOUR" || exit 1\n' + DONE)))["t"]
        if ran.error_code == "GUARANTEE_UNAVAILABLE":
            pytest.skip(f"this machine cannot enforce it: {ran.error}")
        assert ran.ok, ran.error
        [attempt] = ran.attempts
        assert [each.guarantee for each in attempt.guarantees] == ["no_network", "no_env_read"]
        assert all(each.proven and each.mechanism and each.version for each in attempt.guarantees)

        session.tool(name="mine")(lambda: None)
        assert session.execute(one("mine"))["t"].error_code == "GUARANTEE_UNAVAILABLE"


def test_unknown_guarantee_is_refused() -> None:
    make: Any = narratoria.Session
    with pytest.raises(narratoria.InvalidArgumentError, match="sandbox: .*no_netwrok"):
        make(sandbox="no_netwrok")
    with pytest.raises(TypeError, match="sandbox must be a str or a list of str, not bool"):
        make(sandbox=True)
    with pytest.raises(TypeError, match="each element of sandbox must be a str, not int"):
        make(sandbox=["no_network", 5])


def test_unusable_control_group_is_refused(tmp_path: Path) -> None:
    with pytest.raises(narratoria.SystemRefusedError, match="cgroup"):
        narratoria.Session(cgroup=tmp_path, limits=narratoria.Limits(processes=10))


def test_tools_outside_allowed_folders_are_refused(make_tool: Any, tmp_path: Path) -> None:
    (tmp_path / "allowed").mkdir()
    with (
        narratoria.Session(allow_paths=[tmp_path / "allowed"]) as session,
        pytest.raises(narratoria.InvalidDocumentError),
    ):
        session.execute(one(make_tool("t", DONE)))


class TestState:
    def test_state_reads_like_mapping(self) -> None:
        with narratoria.Session(
            state={"a": {"b": [1, {"c": None}]}, "d/e": 1, "f~g": 2}
        ) as session:
            state = session.state
            assert state["a"]["b"][0] == 1
            assert state["d/e"] == 1 and state["f~g"] == 2
            assert list(state) == ["a", "d/e", "f~g"]
            assert len(state) == 3 and "a" in state and "z" not in state and 1 not in state
            assert dict(state) == state.to_dict() == state
            assert dict(state.items())["d/e"] == 1
            assert state.get("z", 7) == 7
            with pytest.raises(KeyError, match="z"):
                state["z"]

    def test_pointer_reads_any_value(self) -> None:
        with narratoria.Session(state={"a": [{"b/c": 5}]}) as session:
            assert session.state.at("/a/0/b~1c") == 5
            assert session.state.at("") == {"a": [{"b/c": 5}]}
            assert session.state.at("/nothing", None) is None
            with pytest.raises(narratoria.NotFoundError):
                session.state.at("/nothing")
            with pytest.raises(narratoria.InvalidArgumentError):
                session.state.at("a")

    def test_patch_merges_and_is_in_history(self) -> None:
        with narratoria.Session(state={"a": {"x": 1}}) as session:
            session.state.patch({"a": {"y": 2, "x": None}})
            assert session.state.to_dict() == {"a": {"y": 2}}
            patches = session.history()["patches"]
            assert [each["patch"] for each in patches] == [{"a": {"y": 2, "x": None}}]

    def test_returned_value_is_copy(self) -> None:
        with narratoria.Session(state={"a": {"x": 1}}) as session:
            session.state["a"]["x"] = 2
            assert session.state["a"]["x"] == 1

    def test_state_of_closed_session_is_refused(self) -> None:
        with narratoria.Session() as session:
            state = session.state
        assert repr(state) == "<State of a closed session>"
        assert "closed" in state._repr_html_()
        with pytest.raises(narratoria.GoneError):
            state.to_dict()

    def test_state_repr_is_short(self) -> None:
        with narratoria.Session(state={"a": "x" * 1000}) as session:
            assert len(repr(session.state)) < 300

    def test_state_that_is_not_json_is_refused(self) -> None:
        with pytest.raises(ValueError, match="/a/0: JSON has no NaN"):
            narratoria.Session(state={"a": [math.nan]})


class TestErrors:
    def test_invalid_plan_lists_all_faults(self, session: Any) -> None:
        with pytest.raises(narratoria.InvalidDocumentError) as caught:
            session.execute({"requestId": "p", "tools": [{"toolId": ""}]})
        pointers = [fault.pointer for fault in caught.value.faults]
        assert pointers == ["/tools/0/toolId", "/tools/0/toolPath"]
        assert "/tools/0/toolId" in str(caught.value)
        assert isinstance(caught.value, ValueError)

    def test_missing_story_raises(self, tmp_path: Path) -> None:
        with pytest.raises(narratoria.Error, match="nowhere"):
            narratoria.Session(story=tmp_path / "nowhere")

    def test_prompt_without_narrator_raises(self, session: Any) -> None:
        with pytest.raises(narratoria.InvalidArgumentError, match="narrator"):
            session.play("Hello")

    def test_empty_prompt_raises(self, torch: str) -> None:
        with narratoria.Session(story=torch) as session, pytest.raises(narratoria.Error):
            session.play("")

    def test_prompt_that_is_not_text_is_refused(self, torch: str) -> None:
        with narratoria.Session(story=torch) as session:
            with pytest.raises(TypeError, match="a prompt must be a str, not int"):
                session.play(5)  # type: ignore[arg-type]
            with pytest.raises(ValueError, match="surrogate, as at 2"):
                session.play("I \ud800")

    def test_closed_session_cannot_be_entered(self, session: Any) -> None:
        session.close()
        with pytest.raises(narratoria.GoneError, match="closed"), session:
            pass

    @pytest.mark.parametrize("sandbox", ["", " ", [""], ["no_network", ""]])
    def test_empty_guarantee_is_refused(self, sandbox: Any) -> None:
        with pytest.raises(ValueError, match="sandbox contains an empty str"):
            narratoria.Session(sandbox=sandbox)

    def test_calls_on_closed_session_raise(self, session: Any) -> None:
        session.close()
        session.close()
        assert session.is_closed
        assert repr(session) == "<Session closed>"
        for call in (
            lambda: session.play("x"),
            lambda: session.execute(one("x")),
            lambda: session.state["x"],
            lambda: session.cancel(),
            lambda: session.id,
            lambda: session.add_sink(print),
        ):
            with pytest.raises(narratoria.GoneError, match="closed"):
                call()

    def test_value_that_is_not_json_has_pointer(self, session: Any) -> None:
        for value, message in (
            (math.inf, "infinity"),
            (2**64, "64 bits"),
            (-(2**63) - 1, "64 bits"),
            ({1, 2}, "set"),
            (b"bytes", "bytes"),
            ("\ud800", "surrogate"),
        ):
            with pytest.raises((ValueError, TypeError), match=f"/tools/0/input/v.*{message}"):
                session.execute(one("x", {"v": value}))
        with pytest.raises(TypeError, match="int"):
            session.execute(one("x", {"v": {1: 2}}))

    def test_value_that_contains_itself_is_refused(self, session: Any) -> None:
        loop: list[Any] = []
        loop.append(loop)
        with pytest.raises(ValueError, match="contains itself"):
            session.execute(one("x", {"v": loop}))

    def test_invalid_times_and_limits_are_refused(self) -> None:
        with pytest.raises(ValueError, match="try_ms"):
            narratoria.Session(times=narratoria.Times(try_ms=-1))
        with pytest.raises(ValueError, match="cpu_seconds"):
            narratoria.Session(limits=narratoria.Limits(cpu_seconds=True))

    def test_limits_has_field_for_each_library_limit(self) -> None:
        from narratoria import _core

        fields = {field.name for field in dataclasses.fields(narratoria.Limits)}
        assert fields == set(_core.largest_limits)
        for name, largest in _core.largest_limits.items():
            assert narratoria.Limits(**{name: largest}).to_dict() == {name: largest}
            with pytest.raises(ValueError, match=f"{name} must be at most {largest}"):
                narratoria.Limits(**{name: largest + 1}).to_dict()

    def test_invalid_arguments_are_named_in_python_terms(self, session: Any) -> None:
        session.narrator(lambda request: "x")
        make: Any = narratoria.Session
        wrong: list[tuple[type[Exception], str, Any]] = [
            (ValueError, "jobs must be a whole number", lambda: make(jobs=-1)),
            (ValueError, "jobs must be a whole number from 1", lambda: make(jobs=0)),
            (TypeError, "jobs must be an int, not str", lambda: make(jobs="x")),
            (ValueError, "try_ms", lambda: make(times=narratoria.Times(try_ms=2**40))),
            (
                ValueError,
                "memory_bytes",
                lambda: make(limits=narratoria.Limits(memory_bytes=2**70)),
            ),
            (TypeError, "narratoria.Times, not dict", lambda: make(times={"try_ms": 5})),
            (TypeError, "state must be a dict, not list", lambda: make(state=[1])),
            (ValueError, "story must be UTF-8", lambda: make(story="/\udcff")),
            (TypeError, "story must be a path", lambda: make(story=b"examples")),
            (ValueError, "root must be UTF-8", lambda: make(root=Path("/\udcff"))),
            (TypeError, "without_plugins must be True", lambda: make(without_plugins="no")),
            (TypeError, "plugin_settings must be a dict", lambda: make(plugin_settings="{}")),
            (ValueError, "must be a JSON object", lambda: make(plugin_settings={"a": 1})),
            (TypeError, r"^Session\.__init__\(\) got an unexpected", lambda: make(moon="full")),
            (TypeError, r"environment\['A'\] must be a str", lambda: make(environment={"A": 5})),
            (ValueError, "must not contain =", lambda: make(environment={"A=B": "x"})),
            (TypeError, "id must be a str", lambda: make(id=5)),
            (ValueError, "priority", lambda: session.on_ui_event("x", priority=2**40)),
            (TypeError, "ui event must be a str", lambda: session.on_ui_event(5)),
            (TypeError, "media type must be a str", lambda: session.asset_renderer(5)),
            (TypeError, "a prompt must be a str, not bytes", lambda: session.play(b"abc")),
            (TypeError, "a plan must be a Plan, a dict or a str", lambda: session.execute(None)),
            (TypeError, "a plan must be a Plan, a dict or a str", lambda: session.execute([1])),
            (TypeError, "folder must be a path", lambda: session.execute("{}", folder=5)),
            (TypeError, "a patch must be a dict, not int", lambda: session.state.patch(5)),
            (TypeError, "a JSON Pointer must be a str", lambda: session.state.at(5)),
            (KeyError, "ud800", lambda: session.state["\ud800"]),
        ]
        for kind, message, call in wrong:
            with pytest.raises(kind, match=message):
                call()
        assert "\ud800" not in session.state

    def test_reentrant_call_is_reported_in_python_terms(self, session: Any) -> None:
        told = []

        @session.narrator
        def tell(request: Any) -> str:
            for call in (lambda: session.on_ui_event()(print), lambda: session.play("x")):
                try:
                    call()
                except narratoria.ReentrantError as error:
                    told.append(str(error))
            return "x"

        session.play("x")
        assert len(told) == 2 and not any("nar_" in each for each in told)

    def test_single_path_is_not_accepted_as_list(self) -> None:
        with pytest.raises(TypeError, match="must be a list"):
            narratoria.Session(plugins="event_log")  # type: ignore[arg-type]

    def test_errors_can_be_pickled(self, session: Any) -> None:
        with pytest.raises(narratoria.InvalidDocumentError) as caught:
            session.execute({"tools": 1})
        copy = pickle.loads(pickle.dumps(caught.value))
        assert str(copy) == str(caught.value) and copy.faults == caught.value.faults


class TestValidate:
    def test_valid_and_invalid_plan(self) -> None:
        assert narratoria.validate("plan", {"requestId": "p", "tools": []}) == []
        faults = narratoria.validate("plan", '{"requestId":"p",\n"tools":[{}]}')
        assert faults[0].line == 2 and faults[0].pointer == "/tools/0/toolId"

    def test_plan_object_is_validated(self) -> None:
        assert narratoria.validate("plan", Plan([Invocation("a", "x")])) == []

    def test_story_folder_is_validated(self, torch: str) -> None:
        assert narratoria.validate("story", Path(torch)) == []

    def test_file_is_validated(self, tmp_path: Path) -> None:
        path = tmp_path / "plan.json"
        path.write_text('{"tools":[]}')
        assert [fault.pointer for fault in narratoria.validate("plan", path)] == ["/requestId"]
        # A str is the text itself.
        assert narratoria.validate("plan", str(path))[0].rule == "json-syntax"
        path.write_bytes(b'{"requestId":"\xff","tools":[]}')
        assert narratoria.validate("plan", path) != []
        with pytest.raises(FileNotFoundError, match="nowhere"):
            narratoria.validate("plan", tmp_path / "nowhere.json")
        with pytest.raises(TypeError, match="not int"):
            narratoria.validate("plan", 5)  # type: ignore[arg-type]

    def test_unknown_document_kind_is_refused(self) -> None:
        with pytest.raises(ValueError, match="event, plan, result, story"):
            narratoria.validate("poem", "x")  # type: ignore[arg-type]


def test_project_tools_are_called_by_name(tmp_path: Path) -> None:
    (tmp_path / ".namel3ss").mkdir()
    bindings = tmp_path / ".namel3ss" / "tools.yaml"
    bindings.write_text("tools:\n  greeter:\n    entry: greeting:greet\n")
    (tmp_path / "greeting.py").write_text(
        "def greet(payload):\n    return 'Hello ' + payload['name']\n"
    )
    with narratoria.Session(project=tmp_path) as session:
        ran = session.execute(one("greeter", {"name": "Ada"}))
        assert ran["t"].result == "Hello Ada"
        [attempt] = ran["t"].attempts
        assert [trace["type"] for trace in attempt.traces] == ["tool_call"]
        assert attempt.guarantees == []
        assert (session.tools["greeter"].runner, session.tools["greeter"].origin) == (
            "local",
            "project",
        )
    bindings.write_text("tools:\n  greeter: &anchor\n    entry: 5\n")
    with pytest.raises(narratoria.InvalidDocumentError) as refused:
        narratoria.Session(project=tmp_path)
    assert [fault.line for fault in refused.value.faults] == [2]


def test_missing_plugin_is_reported_once(caplog: pytest.LogCaptureFixture, torch: Any) -> None:
    with pytest.raises(narratoria.NotFoundError, match="no folder has a plugin"):
        narratoria.Session(plugins=["nope"])
    with pytest.raises(narratoria.NotFoundError, match="no folder has a plugin"):
        narratoria.Session(story=torch, narrator="nope")
    assert caplog.text == ""
    # Without an exception, the log is the only report.
    narratoria.Session(plugins=["/dev/null"]).close()
    assert caplog.text.count("left out") == 1


def test_settings_for_a_misspelled_plugin_name_the_plugin(caplog: pytest.LogCaptureFixture) -> None:
    settings = {"narratoria.wbe": {"port": 0}}
    narratoria.Session(plugins=["narratoria.web"], plugin_settings=settings).close()
    assert 'did you mean "narratoria.web"?' in caplog.text


def test_unknown_plugin_and_a_wrong_strict_are_refused() -> None:
    with pytest.raises(narratoria.NotFoundError, match='did you mean "narratoria.web"'):
        narratoria.Session(plugins=["narratoria.wbe"])
    wrong: Any = "x"
    with narratoria.Session() as session, pytest.raises(TypeError, match="strict"):
        session.execute({"requestId": "p", "tools": []}, strict=wrong)
