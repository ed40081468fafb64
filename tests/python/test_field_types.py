# SPDX-License-Identifier: Apache-2.0
"""Constraints of tool parameters, and parameter types of the standard library and of pydantic."""

from __future__ import annotations

import datetime
import decimal
import pathlib
import uuid
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union

import pytest
from plans import plan_of

import narratoria
from narratoria import Field
from narratoria._function import describe


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
    def test_field_constraint_is_enforced(
        self, session: Any, annotation: Any, good: Any, bad: Any, said: str
    ) -> None:
        def tool(x: Any) -> Any:
            return x

        tool.__annotations__["x"] = annotation
        session.tool(tool)
        assert session.call("tool", x=good) == good
        result = session.execute(plan_of("tool", {"x": bad}))["t"]
        assert (result.error_code, result.retry_count) == ("INPUT_INVALID", 0)
        with pytest.raises(narratoria.DocumentError, match=said):
            describe(tool).bind({"x": bad})

    def test_constraint_of_other_library_is_enforced(self, session: Any) -> None:
        annotated_types = pytest.importorskip("annotated_types")

        @session.tool
        def roll(sides: int) -> int:
            return sides

        roll.__annotations__["sides"] = Annotated[int, annotated_types.Interval(gt=1, le=9)]
        session.tool(roll)
        assert session.execute(plan_of("roll", {"sides": 10}))["t"].error_code == "INPUT_INVALID"
        roll.__annotations__["sides"] = Annotated[int, annotated_types.Predicate(bool)]
        with pytest.raises(TypeError, match="cannot express"):
            session.tool(roll)

    @pytest.mark.parametrize(
        "annotation",
        [
            Annotated[bool, Field(gt=0)],
            Annotated[Any, Field(min_length=1)],
            Annotated[int, Field(pattern="a")],
        ],
    )
    def test_constraint_for_other_type_is_refused(self, session: Any, annotation: Any) -> None:
        def tool(x: Any) -> None: ...

        tool.__annotations__["x"] = annotation
        with pytest.raises(TypeError, match="does not apply to"):
            session.tool(tool)

    def test_invalid_constraint_is_refused_at_definition(self, session: Any) -> None:
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

        with pytest.raises(TypeError, match="Field is not a default"):
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
    def test_value_of_type_round_trips(
        self, session: Any, kind: Any, json: Any, value: Any
    ) -> None:
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

    def test_invalid_date_is_refused(self, session: Any) -> None:
        @session.tool
        def wait(until: datetime.date) -> None: ...

        tool = session.execute(plan_of("wait", {"until": "tomorrow"}))["t"]
        assert (tool.error_code, tool.retry_count) == ("INPUT_INVALID", 0)
        assert "/until" in tool.error

    def test_pydantic_model_is_validated(self, session: Any, pydantic: Any) -> None:
        Torch = pydantic.create_model("Torch", hours=(Annotated[int, pydantic.Field(gt=0)], 3))
        Room = pydantic.create_model("Room", torch=(Torch, ...), names=(list[str], []))

        def enter(room: Any) -> Any:
            return room

        enter.__annotations__["room"] = Room
        session.tool(enter)
        assert session.call("enter", room={"torch": {}}) == {"torch": {"hours": 3}, "names": []}
        tool = session.execute(plan_of("enter", {"room": {"torch": {"hours": 0}}}))["t"]
        assert tool.error_code == "INPUT_INVALID" and "hours" in tool.error

    def test_union_error_names_inner_fault(self) -> None:
        def go(where: Any) -> None: ...

        go.__annotations__["where"] = Place | Stay
        with pytest.raises(narratoria.DocumentError, match="/until"):
            describe(go).bind({"where": {"who": "Ada", "until": "soon"}})

    def test_pydantic_models_keep_their_definitions(self, session: Any, pydantic: Any) -> None:
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
            assert session.execute(plan_of("walk", wrong))["t"].error_code == "INPUT_INVALID"

    def test_pydantic_checks_rules_beyond_schema(self, session: Any, pydantic: Any) -> None:
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
            tool = session.execute(plan_of("buy", {"basket": wrong}))["t"]
            assert tool.error_code == "INPUT_INVALID", wrong
