# SPDX-License-Identifier: Apache-2.0
"""The tools of a session: listed, looked up, registered and removed; and checks of their
results."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import pytest
from conftest import BUILD
from plans import line, one

import narratoria
from narratoria import Context, Limits, Times, aio


class Door(TypedDict):
    open: bool


@dataclass
class Point:
    x: int


class TestListing:
    def test_function_is_found_by_name(self, session: Any) -> None:
        @session.tool
        def roll(sides: int = 6) -> int:
            """Rolls a die."""
            return sides

        tool = session.tools["roll"]
        assert (tool.name, tool.script_name, tool.description) == ("roll", "roll", "Rolls a die.")
        assert tool.input_schema["properties"]["sides"]["type"] == "integer"
        assert tool.result_schema == {"type": ["integer", "boolean"]}
        assert (tool.runner, tool.origin, tool.place) == ("function", "host", "python")
        assert (tool.target, tool.problem) == (None, None)

    def test_script_calls_tool_by_script_name(self, session: Any) -> None:
        session.tool(lambda: 3, name="roll-dice")
        assert session.tools["roll-dice"].script_name == "roll_dice"
        assert session.run_script("LET a = CALL roll_dice {}").scope == {"a": 3}

    def test_tools_is_a_mapping(self, session: Any) -> None:
        tools = session.tools
        assert not tools and list(tools) == [] and "roll" not in tools and 5 not in tools
        session.tool(lambda: 1, name="roll")
        session.tool(lambda: 1, name="sing")
        assert list(tools) == ["roll", "sing"] and len(tools) == 2 and "sing" in tools
        assert [each.name for each in tools.values()] == ["roll", "sing"] and tools.get("x") is None
        assert repr(tools) == "<Tools roll sing>"
        with pytest.raises(KeyError):
            tools["dance"]

    def test_files_of_story_are_listed(self, torch: str) -> None:
        with narratoria.Session(story=torch) as session:
            files = [each for each in session.tools.all() if each.origin == "file"]
            assert files and all(each.runner == "process" for each in files)
            assert all(Path(each.place).is_file() for each in files)
            assert files[0].name in session.tools

    def test_tools_of_closed_session_are_refused(self) -> None:
        with narratoria.Session() as session:
            tools = session.tools
        assert repr(tools) == "<Tools closed>"
        with pytest.raises(narratoria.GoneError):
            list(tools)

    async def test_tools_are_usable_in_asyncio_session_and_its_tools(self) -> None:
        async with aio.Session() as session:

            @session.tool
            def look() -> list[str]:
                session.tools.register(lambda: 1, name="learned")
                return sorted(session.tools)

            assert await session.call("look") == ["learned", "look"]


class TestForModels:
    def test_tools_have_formats_of_models(self, session: Any) -> None:
        @session.tool
        def roll(sides: int = 6) -> int:
            """Rolls a die."""
            return sides

        (tool,) = session.tools.openai()
        assert tool["type"] == "function"
        assert tool["function"]["name"] == "roll"
        assert tool["function"]["description"] == "Rolls a die."
        assert tool["function"]["parameters"]["properties"]["sides"]["type"] == "integer"
        (tool,) = session.tools.mcp()
        assert tool["inputSchema"] == session.tools["roll"].input_schema
        assert "outputSchema" not in tool
        session.tool(lambda: 1, name="any")
        assert session.tools.mcp()[1] == {
            "name": "any",
            "description": "",
            "inputSchema": session.tools["any"].input_schema,
        }

    def test_tool_unusable_by_model_is_left_out_with_warning(self, session: Any) -> None:
        session.tools.register_path("odd", "/bin/true", input_schema={"type": "string"})
        session.tools.register_path("gone", "nobody:x")
        for tools in (session.tools.openai, session.tools.mcp):
            with pytest.warns(narratoria.NarratoriaWarning) as warned:
                assert tools() == []
            odd, gone = (str(each.message) for each in warned)
            assert "the tool odd is left out: " in odd and "input schema" in odd
            assert "the tool gone is left out: it cannot run" in gone
            assert {each.filename for each in warned} == {__file__}


class TestRegistering:
    def test_path_is_registered_under_name(self, session: Any, make_tool: Any) -> None:
        path = make_tool("t", line('{"type":"done","ok":true,"result":5}'))
        session.tools.register_path(
            "five", path, description="Five.", result_schema={"type": "integer", "maximum": 4}
        )
        tool = session.tools["five"]
        assert (tool.description, tool.runner) == ("Five.", "process")
        assert (tool.result_schema["maximum"], tool.target) == (4, path)
        assert session.execute(one("five"))["t"].error_code == "RESULT_INVALID"
        session.tools.register_path("five", path)
        assert session.call("five") == 5

    def test_path_has_own_times_and_limits(self, session: Any, make_tool: Any) -> None:
        path = make_tool("endless", "while :; do :; done")
        session.tools.register_path("endless", path, times=Times(try_ms=50))
        tool = session.execute(one("endless"))["t"]
        assert tool.state == "timeout" and "50 ms" in tool.error
        assert session.tools["endless"].times == Times(try_ms=50)
        limits = Limits(line_bytes=40, cpu_seconds=0)
        session.tools.register_path("endless", path, times=Times(try_ms=0), limits=limits)
        assert session.tools["endless"].times == Times(try_ms=0)
        assert session.tools["endless"].limits == limits

    def test_limit_of_path_is_enforced(self, session: Any, make_tool: Any) -> None:
        path = make_tool("talks", line('{"type":"done","ok":true,"result":"' + "x" * 100 + '"}'))
        session.tools.register_path("talks", path, limits=Limits(line_bytes=40))
        assert "40 bytes" in session.execute(one("talks"))["t"].error
        session.tools.register_path("talks", path)
        assert session.call("talks") == "x" * 100

    def test_times_and_limits_of_sessions_are_refused_for_tools(self, session: Any) -> None:
        register = session.tools.register_path
        with pytest.raises(ValueError, match="the time plan_ms cannot be set for one tool"):
            register("t", "/bin/true", times=Times(plan_ms=5))
        with pytest.raises(
            narratoria.InvalidArgumentError, match="limit history_patches cannot be set"
        ):
            register("t", "/bin/true", limits=Limits(history_patches=5))
        with pytest.raises(TypeError, match="times must be a narratoria.Times, not int"):
            register("t", "/bin/true", times=5)
        with pytest.raises(TypeError, match="limits must be a narratoria.Limits, not Times"):
            register("t", "/bin/true", limits=Times(try_ms=5))
        assert "t" not in session.tools

    # covers: 002-schema-parameters
    def test_input_schema_may_have_form_of_spec_002(self, session: Any, make_tool: Any) -> None:
        path = make_tool("t", line('{"type":"done","ok":true,"result":5}'))
        parameter = {"name": "user_id", "type": "string", "description": "The user."}
        session.tools.register_path(
            "users", path, input_schema={"parameters": [parameter], "returns": "number"}
        )
        tool = session.tools["users"]
        assert tool.input_schema["required"] == ["user_id"]
        assert tool.result_schema == {"type": "number"}
        assert session.call("users", user_id="ann") == 5
        with pytest.raises(
            narratoria.InvalidDocumentError, match='/parameters/0/type: "type" is missing'
        ):
            session.tools.register_path(
                "users", path, input_schema={"parameters": [{"name": "user_id"}]}
            )

    def test_invalid_schema_is_refused_with_pointer(self, session: Any) -> None:
        with pytest.raises(narratoria.InvalidDocumentError, match="/properties/x/type"):
            session.tools.register_path(
                "t", "/bin/true", input_schema={"properties": {"x": {"type": "text"}}}
            )
        with pytest.raises(TypeError, match="input_schema must be a dict, not str"):
            session.tools.register_path("t", "/bin/true", input_schema="{}")
        assert "t" not in session.tools

    def test_tool_is_removed(self, session: Any) -> None:
        def roll() -> int:
            return 4

        session.tools.register(roll)
        watched = weakref.ref(roll)
        del roll
        assert session.call("roll") == 4
        session.tools.remove("roll")
        assert "roll" not in session.tools
        gc.collect()
        assert watched() is None
        assert not session.execute(one("roll")).success
        with pytest.raises(KeyError, match="roll"):
            session.tools.remove("roll")

    def test_misspelled_name_of_a_tool_gets_a_suggestion(self, session: Any) -> None:
        session.tool(lambda: 1, name="roll_dice")
        for look_up in (session.tools.__getitem__, session.tools.remove):
            with pytest.raises(KeyError, match='did you mean "roll_dice"'):
                look_up("roll_dise")
        assert session.tools.get("roll_dise") is None

    def test_plugin_tool_is_not_replaced(self) -> None:
        plugin = BUILD / "tests/plugins/get_user_profile.so"
        if not plugin.exists():
            pytest.skip("the plugin is built with the tests only")
        with narratoria.Session(plugins=[plugin]) as session:
            both = "the host python.*the plugin org.example.users"
            with pytest.raises(narratoria.InvalidArgumentError, match=both):
                session.tool(lambda: 1, name="get_user_profile")
            with pytest.raises(narratoria.InvalidArgumentError, match=both):
                session.tools.register_path("get_user_profile", "/bin/true")
            assert session.tools["get_user_profile"].origin == "plugin"
            session.tools.remove("get_user_profile")
            for result in (1, 2):
                session.tool(lambda result=result: result, name="get_user_profile")
                assert session.call("get_user_profile") == result
            session.tools.register_path("get_user_profile", "/bin/true")
            assert session.tools["get_user_profile"].target == "/bin/true"

    def test_tool_may_remove_itself(self, session: Any) -> None:
        @session.tool
        def once() -> str:
            session.tools.remove("once")
            return "done"

        assert session.execute(one("once"))["t"].result == "done"
        assert "once" not in session.tools

    def test_sink_may_register_and_remove_tools(self, session: Any) -> None:
        def sink(event: Any) -> None:
            session.tools.register(lambda: "la", name="sing")
            session.tools.remove("dance")

        session.tool(lambda: 1, name="dance")
        session.add_sink(sink, ["plan_started"])
        session.execute({"requestId": "p", "tools": []})
        assert list(session.tools) == ["sing"] and session.call("sing") == "la"

    def test_invalid_name_is_refused(self, session: Any) -> None:
        with pytest.raises(ValueError):
            session.tools.register_path("größe", "/bin/true")
        with pytest.raises(TypeError):
            session.tools.remove(5)


class TestResults:
    @pytest.mark.parametrize("kind", ["thread", "here", "async"])
    def test_result_of_wrong_type_fails(self, session: Any, kind: str) -> None:
        def name() -> str:
            return 5  # type: ignore[return-value]

        async def name_later() -> str:
            return name()

        given = name_later if kind == "async" else name
        session.tool(name="name", thread=kind == "thread")(given)
        tool = session.execute(one("name"))["t"]
        assert tool.error_code == "RESULT_INVALID" and "/result" in tool.error

    def test_result_of_wrong_type_is_retried(self, session: Any) -> None:
        answers: list[Any] = ["two", 2]

        @session.tool
        def ask_a_model() -> int:
            return answers.pop(0)

        ran = session.execute(one("ask_a_model", retryPolicy={"maxRetries": 1, "backoffMs": 1}))
        assert (ran["t"].result, len(ran["t"].attempts)) == (2, 2)

    def test_result_may_have_more_members_than_its_type(self, session: Any) -> None:
        @dataclass
        class Place(Point):
            name: str = "hall"

        @session.tool
        def door() -> Door:
            made: Any = {"open": True, "colour": "red"}
            return made

        @session.tool
        def point() -> Point:
            return Place(1)

        @session.tool
        def count() -> int:
            return True

        @session.tool
        def nothing() -> str:
            return None  # type: ignore[return-value]

        assert session.call("door") == {"open": True, "colour": "red"}
        assert session.call("point") == {"x": 1, "name": "hall"}
        assert session.call("count") is True and session.call("nothing") is None

    def test_result_of_generator_is_checked(self, session: Any) -> None:
        @session.tool
        def steps(context: Context) -> Generator[dict[str, Any], None, int]:
            yield {"type": "log", "level": "info", "message": "x"}
            return "x"  # type: ignore[return-value]

        assert session.execute(one("steps"))["t"].error_code == "RESULT_INVALID"
