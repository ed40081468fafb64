# SPDX-License-Identifier: Apache-2.0
"""Schemas of typed functions: of the input, which accepts exactly the valid calls, and of the
result."""

import collections
import copy
import dataclasses
import enum
import functools
import json
import random
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict, Union

import jsonschema
import pytest
from from_schema import json_values
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import NotRequired, Required

from narratoria import DocumentError, Field, _core
from narratoria._function import describe
from narratoria._hooks import to_plain
from narratoria.documents import Invocation, Plan
from narratoria.events import Log


def plain(value):
    """Converts a Python value to its JSON form."""
    return _core.from_json(_core.to_json(value, to_plain))


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"
    NONE = None


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Point:
    """A place on the map.

    More of it.
    """

    x: int
    y: int = 0


@dataclasses.dataclass
class Room:
    name: str
    corners: list[Point] = dataclasses.field(default_factory=list)
    door: Optional[Point] = None
    colour: Colour = Colour.RED


class Torch(TypedDict):
    lit: bool
    hours: NotRequired[float]


class Loose(TypedDict, total=False):
    name: Required[str]
    torch: Torch


Name = NewType("Name", str)

ANNOTATIONS = [
    bool,
    int,
    float,
    str,
    None,
    Any,
    object,
    Colour,
    Level,
    Point,
    Room,
    Torch,
    Loose,
    Name,
    list,
    dict,
    tuple,
    Literal["a", 1, True, None],
    Literal[0, False, Colour.GREEN],
    Literal[1],
    tuple[int, str],
    tuple[()],
    Union[int, float],
    Union[float, int],
    Union[Point, Torch, str],
    Union[Colour, Level],
    Optional[list[int]],
    Union[str, Name],
    int | None,
    dict[str, Any] | Point,
    Point | dict[str, Any],
]

annotations = st.recursive(
    st.sampled_from(ANNOTATIONS),
    lambda inner: st.one_of(
        inner.map(lambda one: list[one]),
        inner.map(lambda one: Sequence[one]),
        inner.map(lambda one: Optional[one]),
        inner.map(lambda one: dict[str, one]),
        inner.map(lambda one: Mapping[str, one]),
        inner.map(lambda one: tuple[one, ...]),
        inner.map(lambda one: Annotated[one, "described"]),
        st.tuples(inner, inner).map(lambda pair: tuple[pair[0], pair[1]]),
        st.tuples(inner, inner).map(lambda pair: Union[pair[0], pair[1]]),
        st.tuples(inner, inner).map(
            lambda pair: dataclasses.make_dataclass(
                "Made",
                [("one", pair[0]), ("two", Optional[pair[1]], dataclasses.field(default=None))],
            )
        ),
    ),
    max_leaves=4,
)


def tool_of(annotation):
    def take(value): ...

    take.__annotations__["value"] = annotation
    return describe(take)


def checker(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


ODD = [0, 1, -1, 0.0, 1.0, 2.5, True, False, None, "", "red", "1", [], [1, "a"], {}, {"x": 1}]


def near(schema, chance):
    """A strategy for values that fit the schema."""
    if "enum" in schema:
        return chance.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return near(chance.choice(schema["anyOf"]), chance)
    kind = schema.get("type")
    if kind is None:
        return chance.choice(ODD)
    if isinstance(kind, list):
        kind = chance.choice(kind)
    if kind == "array":
        if "prefixItems" in schema:
            return [near(one, chance) for one in schema["prefixItems"]]
        items = schema.get("items", {})
        count = min(chance.randrange(4), schema.get("maxItems", 3))
        return [near(items, chance) for _ in range(count)]
    if kind == "object":
        required = schema.get("required", ())
        made = {
            name: near(one, chance)
            for name, one in schema.get("properties", {}).items()
            if name in required or chance.random() < 0.5
        }
        more = schema.get("additionalProperties", True)
        if more is not False:
            for name in chance.sample(["", "a", "b/~", "ü"], chance.randrange(3)):
                made[name] = near({} if more is True else more, chance)
        return made
    simple = {
        "boolean": [True, False],
        "integer": [0, 1, -(2**63), 2**64 - 1],
        "number": [0, 1, -7, 0.0, 1.0, -2.5, 1e300],
        "string": ["", "a", "red", "1", "ü"],
        "null": [None],
    }
    return chance.choice(simple[kind])


def changed(value, chance):
    """A strategy for the value with something removed, added or replaced."""
    way = chance.randrange(4)
    if isinstance(value, dict) and way == 0:
        return {**value, "more": 1}
    if isinstance(value, dict) and value and way < 3:
        name = chance.choice(sorted(value))
        if way == 1:
            return {key: one for key, one in value.items() if key != name}
        return {**value, name: changed(value[name], chance)}
    if isinstance(value, list) and value and way < 3:
        at = chance.randrange(len(value))
        inner = [] if way == 1 else [changed(value[at], chance)]
        return [*value[:at], *inner, *value[at + 1 :]]
    return chance.choice(ODD)


@settings(max_examples=400, deadline=None)
@given(annotations, st.integers(0, 2**32))
def test_schema_and_bind_accept_same_inputs(annotation, seed):
    chance = random.Random(seed)
    tool = tool_of(annotation)
    schema = checker(tool.input_schema)
    inner = tool.input_schema["properties"]["value"]
    for turn in range(12):
        value = near(inner, chance)
        for _ in range(turn % 3):
            value = changed(value, chance)
        given = {"value": value}
        before = copy.deepcopy(given)
        try:
            tool.bind(given)
            fault = None
        except DocumentError as caught:
            fault = caught
            assert fault.pointer.startswith("/value")
        assert schema.is_valid(given) == (fault is None), (annotation, value, fault)
        assert repr(given) == repr(before), "the input stays as it was"


@settings(max_examples=200, deadline=None)
@given(annotations, st.integers(0, 2**32))
def test_bound_values_round_trip(annotation, seed):
    chance = random.Random(seed)
    tool = tool_of(annotation)
    for _ in range(6):
        value = near(tool.input_schema["properties"]["value"], chance)
        bound = tool.bind({"value": value})["value"]
        # The round trip only adds the defaults of missing members.
        assert plain(tool.bind({"value": plain(bound)})["value"]) == plain(bound)


@pytest.mark.parametrize(
    "annotation, value, bound",
    [
        (int, 5, 5),
        (int, 1.0, 1),
        (Union[int, str], -3.0, -3),
        (Union[Point, int, float], 5.0, 5.0),
        (Union[Point, int, float], 5, 5),
        (float, 5, 5.0),
        (Union[int, float], 5, 5),
        (Union[float, int], 5, 5),
        (Union[float, int], 5.0, 5.0),
        (Optional[float], 5, 5.0),
        (list[float], [1, 2.5], [1.0, 2.5]),
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple[int, str], [1, "a"], (1, "a")),
        (Sequence[int], [1], [1]),
        (Colour, "red", Colour.RED),
        (Colour, None, Colour.NONE),
        (Level, 2, Level.HIGH),
        (Literal[Colour.GREEN, "blue"], "green", Colour.GREEN),
        (Literal[1, True], True, True),
        (Literal[1, True], 1, 1),
        (Literal[1], 1.0, 1),
        (Point, {"x": 1}, Point(1)),
        (Point | dict[str, Any], {"x": 1}, Point(1)),
        (Point | dict[str, Any], {"x": "1"}, {"x": "1"}),
        (
            Room,
            {"name": "hall", "corners": [{"x": 1, "y": 2}], "door": {"x": 3}, "colour": "green"},
            Room("hall", [Point(1, 2)], Point(3), Colour.GREEN),
        ),
        (Torch, {"lit": True, "hours": 2}, {"lit": True, "hours": 2.0}),
        (dict[str, tuple[int, int]], {"a": [1, 2]}, {"a": (1, 2)}),
        (Name, "Ada", "Ada"),
    ],
)
def test_input_is_converted(annotation, value, bound):
    result = tool_of(annotation).bind({"value": value})["value"]
    assert result == bound and type(result) is type(bound)


@pytest.mark.parametrize(
    "annotation, value, pointer, says",
    [
        (int, True, "/value", "must be an integer, is a boolean"),
        (int, 1.5, "/value", "must be an integer, is the number 1.5"),
        (float, True, "/value", "must be a number, is a boolean"),
        (bool, 1, "/value", "must be a boolean, is a number"),
        (str, None, "/value", "must be a string, is null"),
        (None, 1, "/value", "must be null"),
        (Room, {"name": "a", "corners": [{"x": 1}, {"x": "b"}]}, "/value/corners/1/x", "integer"),
        (Room, {"corners": []}, "/value/name", "is missing"),
        (Room, {"name": "a", "size": 3}, "/value/size", "is not a member of Room"),
        (Room, {"name": "a", "door": {"x": "1"}}, "/value/door/x", "must be an integer"),
        (Torch, {"lit": 1}, "/value/lit", "must be a boolean"),
        (Colour, "blue", "/value", "must be one of 'red', 'green', None, is 'blue'"),
        (Colour, ["red"], "/value", "is an array"),
        (Union[int, str], [], "/value", "must be an integer or a string, is an array"),
        (tuple[int, int], [1], "/value", "must have 2 elements, has 1"),
        (tuple[int, int], [1, "b"], "/value/1", "must be an integer"),
        (dict[str, int], {"a/b~": "c"}, "/value/a~1b~0", "must be an integer"),
        (list[int], {"a": 1}, "/value", "must be an array, is an object"),
    ],
)
def test_faults_have_pointers(annotation, value, pointer, says):
    with pytest.raises(DocumentError) as caught:
        tool_of(annotation).bind({"value": value})
    assert caught.value.pointer == pointer and says in str(caught.value)


def test_schema_of_function():
    def examine(target: Annotated[str, "what to look at"], /): ...

    def look(
        target: Annotated[str, "what to look at"],
        light: float = 0.5,
        *,
        closely: bool = False,
        room: Room = Room("hall"),
        how=None,
        opaque: Any = object(),
    ):
        """Looks at something
        more closely.

        And more."""

    tool = describe(look)
    assert tool.name == "look" and tool.description == "Looks at something more closely."
    assert not tool.is_async and not tool.is_generator and tool.context_parameter is None
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "target": {"type": "string", "description": "what to look at"},
            "light": {"type": "number", "default": 0.5},
            "closely": {"type": "boolean", "default": False},
            "room": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "corners": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "x": {"type": "integer"},
                                "y": {"type": "integer", "default": 0},
                            },
                            "required": ["x"],
                            "additionalProperties": False,
                            "description": "A place on the map.",
                        },
                        "default": [],
                    },
                    "door": {
                        "anyOf": [
                            {
                                "type": "object",
                                "properties": {
                                    "x": {"type": "integer"},
                                    "y": {"type": "integer", "default": 0},
                                },
                                "required": ["x"],
                                "additionalProperties": False,
                                "description": "A place on the map.",
                            },
                            {"type": "null"},
                        ],
                        "default": None,
                    },
                    "colour": {"enum": ["red", "green", None], "default": "red"},
                },
                "required": ["name"],
                "additionalProperties": False,
                "default": {"name": "hall", "corners": [], "door": None, "colour": "red"},
            },
            "how": {"default": None},
            "opaque": {},
        },
        "required": ["target"],
        "additionalProperties": False,
    }
    checker(tool.input_schema)
    assert tool.bind({"target": "door"}) == {"target": "door"}
    with pytest.raises(DocumentError, match="/target: is missing"):
        tool.bind({})
    with pytest.raises(DocumentError, match="/sides: is unknown to the tool look"):
        tool.bind({"target": "door", "sides": 6})
    with pytest.raises(DocumentError, match="must be an object, is an array"):
        tool.bind([])
    with pytest.raises(TypeError, match="parameter target of the tool examine: is positional-only"):
        describe(examine)


def test_section_args_describes_parameters() -> None:
    def fish(bait: str, hours: Annotated[int, "at most 12"] = 1, *, river: Any = None) -> None:
        """Catches a fish.

        Args:
            bait: what is on the hook,
                such as: a worm.
            hours: not used, because the annotation describes it.
            river (str): where.

        Returns:
            river: not a parameter.
        """

    properties = describe(fish).input_schema["properties"]
    assert {name: schema["description"] for name, schema in properties.items()} == {
        "bait": "what is on the hook, such as: a worm.",
        "hours": "at most 12",
        "river": "where.",
    }


def test_unknown_members_follow_var_keyword():
    def take(first: int, **others: float): ...

    def open_to_all(**others): ...

    tool = describe(take)
    assert tool.input_schema["additionalProperties"] == {"type": "number"}
    assert tool.bind({"first": 1, "second": 2}) == {"first": 1, "second": 2.0}
    with pytest.raises(DocumentError, match="/third: must be a number"):
        tool.bind({"first": 1, "third": "3"})
    assert describe(open_to_all).input_schema == {
        "type": "object",
        "properties": {},
        "additionalProperties": True,
    }


class Context:
    __narratoria_context__ = True


def test_context_parameter_is_not_an_input():
    def first(context: Context, a: int): ...

    def by_name(a: int, where: "Context", **others): ...

    def twice(one: Context, two: Context): ...

    tool = describe(first)
    assert tool.context_parameter == "context"
    assert list(tool.input_schema["properties"]) == ["a"]
    with pytest.raises(DocumentError, match="/context: is unknown"):
        tool.bind({"a": 1, "context": 5})
    tool = describe(by_name)
    assert tool.context_parameter == "where"
    for said, fits in (({"a": 1, "b": 2}, True), ({"a": 1, "where": 2}, False)):
        assert checker(tool.input_schema).is_valid(said) is fits
        if not fits:
            with pytest.raises(DocumentError):
                tool.bind(said)
    with pytest.raises(TypeError, match="second Context"):
        describe(twice)


def test_annotations_as_text_are_evaluated(tmp_path, monkeypatch):
    (tmp_path / "texts.py").write_text("""
from __future__ import annotations
import dataclasses
from typing import TYPE_CHECKING, TypedDict
from typing_extensions import NotRequired
if TYPE_CHECKING:
    from narratoria import Context, Something
    from collections.abc import Iterator

class Torch(TypedDict):
    lit: bool
    hours: NotRequired[float]

@dataclasses.dataclass
class Point:
    x: int
    torch: Torch | None = None

def look(point: Point, ctx: Context, how: list[str] | None = None) -> Iterator[Something]:
    yield

def make():
    @dataclasses.dataclass
    class Local:
        a: int
    def take(one: Local):
        return Local
    return take

def missing(one: Something): ...
""")
    monkeypatch.syspath_prepend(tmp_path)
    import texts

    tool = describe(texts.look)
    assert tool.context_parameter == "ctx" and tool.is_generator
    bound = tool.bind({"point": {"x": 1, "torch": {"lit": True, "hours": 1}}})
    assert bound == {"point": texts.Point(1, {"lit": True, "hours": 1.0})}
    torch = tool.input_schema["properties"]["point"]["properties"]["torch"]["anyOf"][0]
    assert torch["required"] == ["lit"]
    assert describe(texts.make()).input_schema["required"] == ["one"]
    with pytest.raises(TypeError, match="tool missing cannot be evaluated: name 'Something'"):
        describe(texts.missing)


def test_function_kinds_are_recognized():
    async def waits(a: int): ...

    def yields(a: int):
        yield

    async def both(a: int):
        yield

    class Callable:
        "Can be called."

        async def __call__(self, a: int): ...

        def method(self, a: int): ...

    def kinds(function, **options):
        tool = describe(function, **options)
        assert tool.function is function
        assert tool.bind({"a": 1}) == {"a": 1}
        return tool.is_async, tool.is_generator

    assert kinds(waits) == (True, False)
    assert kinds(yields) == (False, True)
    assert kinds(both) == (True, True)
    assert kinds(Callable()) == (True, False)
    assert kinds(Callable().method) == (False, False)
    assert describe(Callable().method).name == "method"
    assert kinds(functools.partial(waits)) == (True, False)
    assert describe(functools.partial(waits)).name == "waits"

    @functools.wraps(waits)
    async def wrapped(*arguments, **more): ...

    assert kinds(wrapped) == (True, False)


def test_tool_name_is_checked():
    def café(): ...

    with pytest.raises(ValueError, match="is not a valid tool name"):
        describe(lambda: 1)
    with pytest.raises(ValueError, match=r"letters \(a-z, A-Z\), digits"):
        describe(café)
    assert len(describe(lambda: 1, name="x" * 128).name) == 128
    with pytest.raises(ValueError, match="at most 128 characters, not 129"):
        describe(lambda: 1, name="x" * 129)
    assert describe(lambda: 1, name="one-1_A", description="x").description == "x"


def test_unbound_method_is_refused():
    class Dice:
        def roll(self, sides: int = 6) -> int:
            return sides

        def told(self: Any, sides: int) -> None: ...

    assert describe(Dice().roll).bind({"sides": 4}) == {"sides": 4}
    with pytest.raises(TypeError, match=r"method of Dice.*session\.tool\(thing\.roll\)"):
        describe(Dice.roll)
    # An annotated `self` is an ordinary parameter.
    assert describe(Dice.told).input_schema["required"] == ["self", "sides"]

    def roll(self, sides: int) -> None: ...

    assert describe(roll).input_schema["required"] == ["self", "sides"]


def test_function_without_signature_is_refused():
    with pytest.raises(TypeError, match="the tool dict: its parameters are unknown"):
        describe(dict)


@pytest.mark.parametrize("text", ["list[", "1/0", "[].pop()", "f(\n"])
def test_invalid_annotation_is_refused(text):
    def tool(x): ...

    tool.__annotations__["x"] = text
    with pytest.raises(TypeError, match="annotations of the tool tool cannot be evaluated"):
        describe(tool)

    class Members(TypedDict):
        x: int

    Members.__annotations__["x"] = typing.ForwardRef("1/0")

    def another(of: Members): ...

    with pytest.raises(TypeError, match="annotations of Members cannot be evaluated: Zero"):
        describe(another)


X = typing.TypeVar("X")
Number = typing.TypeVar("Number", int, float)
Text = typing.TypeVar("Text", bound=str)


@dataclasses.dataclass
class Box(typing.Generic[X]):
    item: X
    others: "list[X]" = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class NumberedBox(Box[str]):
    number: int = 0


@dataclasses.dataclass
class Chain(typing.Generic[X]):
    value: X
    next: "Chain[X] | None" = None


@dataclasses.dataclass
class Growing(typing.Generic[X]):
    value: X
    next: "Growing[list[X]] | None" = None


def test_generic_class_uses_its_arguments():
    def tool(box: Box[int], inner: Box[Box[str]], named: NumberedBox): ...

    about = describe(tool)
    assert about.bind(
        {
            "box": {"item": 1, "others": [2]},
            "inner": {"item": {"item": "a"}},
            "named": {"item": "b"},
        }
    ) == {"box": Box(1, [2]), "inner": Box(Box("a")), "named": NumberedBox("b")}
    for wrong, place in (
        ({"box": {"item": "1"}}, "/box/item"),
        ({"box": {"item": 1, "others": ["2"]}}, "/box/others/0"),
        ({"inner": {"item": {"item": 1}}}, "/inner/item/item"),
        ({"named": {"item": 1}}, "/named/item"),
    ):
        with pytest.raises(DocumentError) as raised:
            about.bind(wrong)
        assert raised.value.pointer == place


Y = typing.TypeVar("Y")


@dataclasses.dataclass
class LabelledBox(Box[str], typing.Generic[X]):
    label: X = dataclasses.field(kw_only=True)


@dataclasses.dataclass
class RenamedBox(Box[Y], typing.Generic[Y]):
    pass


@dataclasses.dataclass
class SmallBox(RenamedBox[int]):
    pass


GENERIC_DOCUMENTS = """
class Item(TypedDict, Generic[X]):
    item: X

class Labelled(Item[str], Generic[X]):
    label: X
"""


def test_generic_class_and_base_may_share_type_parameter():
    def tool(box: LabelledBox[int]): ...

    about = describe(tool)
    made = about.bind({"box": {"item": "a", "others": ["b"], "label": 1}})
    assert made == {"box": LabelledBox("a", ["b"], label=1)}
    for wrong in ({"item": 1, "label": 1}, {"item": "a", "label": "b"}):
        with pytest.raises(DocumentError):
            about.bind({"box": wrong})


def test_type_argument_reaches_indirect_base():
    def tool(box: SmallBox): ...

    about = describe(tool)
    assert about.bind({"box": {"item": 1}}) == {"box": SmallBox(1)}
    with pytest.raises(DocumentError):
        about.bind({"box": {"item": "a"}})


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a TypedDict is not generic before 3.11")
def test_generic_typed_dict_and_base_may_share_type_parameter():
    names = {"TypedDict": typing.TypedDict, "Generic": typing.Generic, "X": X}
    exec(GENERIC_DOCUMENTS, names)

    def tool(labelled): ...

    tool.__annotations__["labelled"] = names["Labelled"][int]
    about = describe(tool)
    assert about.bind({"labelled": {"item": "a", "label": 1}})
    for wrong in ({"item": 1, "label": 1}, {"item": "a", "label": "b"}):
        with pytest.raises(DocumentError):
            about.bind({"labelled": wrong})


def test_type_parameter_uses_its_bound():
    def tool(number: Number, text: Text): ...

    assert describe(tool).bind({"number": 1, "text": "a"}) == {"number": 1, "text": "a"}
    for wrong in ({"number": "1"}, {"text": 1}):
        with pytest.raises(DocumentError):
            describe(tool).bind(wrong)


@pytest.mark.parametrize(
    "annotation, says",
    [
        (Box, r"member item of Box: ~X has no JSON equivalent; use Any, or .* Box\[int\]"),
        (Growing[int], "Growing contains itself with different arguments"),
    ],
)
def test_unbounded_or_unparametrized_generic_is_refused(annotation, says):
    def tool(x): ...

    tool.__annotations__["x"] = annotation
    with pytest.raises(TypeError, match=says):
        describe(tool)


def test_unpacked_typed_dict_gives_keywords():
    unpack = getattr(typing, "Unpack", None)
    if unpack is None:
        unpack = pytest.importorskip("typing_extensions").Unpack

    class Options(TypedDict, total=False):
        sides: int
        mood: Literal["fair", "kind"]

    class Needed(Options):
        who: str

    def roll(**options): ...

    roll.__annotations__["options"] = unpack[Needed]
    about = describe(roll)
    assert about.input_schema["required"] == ["who"]
    assert about.input_schema["additionalProperties"] is False
    assert about.bind({"who": "Ada", "sides": 4}) == {"who": "Ada", "sides": 4}
    for wrong in ({"sides": 4}, {"who": "Ada", "sides": "4"}, {"who": "Ada", "more": 1}):
        with pytest.raises(DocumentError):
            about.bind(wrong)
    roll.__annotations__["options"] = unpack[int]
    with pytest.raises(TypeError, match="Unpack.* needs a TypedDict"):
        describe(roll)


@dataclasses.dataclass
class Needs:
    a: int
    b: dataclasses.InitVar[int]


class Node(TypedDict):
    inner: "list[Node]"


@dataclasses.dataclass
class Tree:
    left: "Tree | None" = None
    right: "Tree | None" = None


class Link(typing.NamedTuple):
    value: int
    next: "Link | None" = None


@dataclasses.dataclass
class Door:
    room: "Hall | None" = None


@dataclasses.dataclass
class Hall:
    doors: list[Door]


RECURSIVE = [Node, Tree, Link, Door, Hall, Chain[int], Optional[Tree], dict[str, Chain[str]]]


def fitting(schema, root, chance, depth=0):
    """Like `near`, for schemas with references."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in schema:
        options = schema["anyOf"]
        small = [one for one in options if one.get("type") == "null"]
        return fitting(
            chance.choice(small if small and depth > 4 else options), root, chance, depth
        )
    inner = [
        schema.get("items"),
        schema.get("additionalProperties"),
        *schema.get("prefixItems", ()),
    ]
    if schema.get("type") == "array" and "prefixItems" in schema:
        return [fitting(one, root, chance, depth + 1) for one in schema["prefixItems"]]
    if schema.get("type") == "array" and isinstance(inner[0], dict):
        return [fitting(inner[0], root, chance, depth + 1) for _ in range(depth < 4)]
    if schema.get("type") == "object":
        made = {
            name: fitting(one, root, chance, depth + 1)
            for name, one in schema.get("properties", {}).items()
        }
        if isinstance(inner[1], dict):
            made["a"] = fitting(inner[1], root, chance, depth + 1)
        return made
    return near(schema, chance)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(RECURSIVE), st.integers(0, 2**32))
def test_recursive_class_is_bound(annotation, seed):
    chance = random.Random(seed)
    tool = tool_of(annotation)
    schema = checker(tool.input_schema)
    assert "$ref" in json.dumps(tool.input_schema)
    for turn in range(6):
        value = fitting(tool.input_schema["properties"]["value"], tool.input_schema, chance)
        for _ in range(turn % 3):
            value = changed(value, chance)
        try:
            bound = tool.bind({"value": value})["value"]
            fits = True
            assert plain(tool.bind({"value": plain(bound)})["value"]) == plain(bound)
        except DocumentError:
            fits = False
        assert schema.is_valid({"value": value}) == fits, (annotation, value)


def test_schema_of_recursive_class():
    def take(tree: Tree, other: Tree | None, node: Node): ...

    about = describe(take)
    reference = {"$ref": "#/$defs/Tree"}
    optional = {"anyOf": [reference, {"type": "null"}], "default": None}
    assert about.input_schema["properties"]["tree"] == reference
    assert about.input_schema["properties"]["other"] == {"anyOf": [reference, {"type": "null"}]}
    assert about.input_schema["$defs"] == {
        "Tree": {
            "type": "object",
            "properties": {"left": optional, "right": optional},
            "additionalProperties": False,
        },
        "Node": {
            "type": "object",
            "properties": {"inner": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
            "required": ["inner"],
            "additionalProperties": False,
        },
    }
    bound = about.bind({"tree": {"left": {"right": {}}}, "other": None, "node": {"inner": []}})
    assert bound["tree"] == Tree(Tree(None, Tree()))
    with pytest.raises(DocumentError) as raised:
        about.bind({"tree": {"left": {"right": {"left": 5}}}})
    assert raised.value.pointer == "/tree/left/right/left"
    assert tool_of(Link).bind({"value": [1, [2, None]]})["value"] == Link(1, Link(2, None))


def test_input_nested_too_deeply_is_refused():
    deep = {}
    for _ in range(20_000):
        deep = {"left": deep}
    with pytest.raises(DocumentError, match="nested too deeply"):
        tool_of(Tree).bind({"value": deep})


def test_classes_with_same_name_have_two_definitions():
    def made(kind):
        @dataclasses.dataclass
        class Tree:
            label: kind
            left: "Tree | None" = None

        Tree.__annotations__["left"] = Tree | None
        return Tree

    def take(a, b): ...

    first, second = made(int), made(str)
    take.__annotations__.update(a=first, b=second)
    about = describe(take)
    assert sorted(about.input_schema["$defs"]) == ["Tree", "Tree_2"]
    given = {"a": {"label": 1, "left": {"label": 2}}, "b": {"label": "a", "left": {"label": "b"}}}
    assert checker(about.input_schema).is_valid(given)
    assert about.bind(given)["b"] == second("a", second("b"))
    given["b"]["left"]["label"] = 5
    assert not checker(about.input_schema).is_valid(given)


class Flags(enum.Flag):
    A = 1


@pytest.mark.parametrize(
    "annotation, says",
    [
        (set[int], r"set\[int\] has no JSON equivalent; use list"),
        (bytes, "bytes has no JSON equivalent; use str"),
        (dict[int, str], "the keys of an object must be strings"),
        (list[set[int]], "has no JSON equivalent"),
        (complex, "complex has no JSON equivalent"),
        (collections.Counter, "no JSON equivalent"),
        (typing.Callable, "no JSON equivalent"),
        (type, "no JSON equivalent"),
        (Flags, "no JSON equivalent"),
        (Needs, "needs b, which is not a field"),
        (Literal[b"x"], "is not a JSON value"),
        (enum.Enum("Empty", []), "it has no values"),
        (enum.Enum("Strange", [("A", (1, 2))]), "is not a JSON value"),
        (typing.TypeVar("T"), "no JSON equivalent"),
        (5, "no JSON equivalent"),
    ],
)
def test_type_without_json_equivalent_is_refused(annotation, says):
    def take(value): ...

    take.__annotations__["value"] = annotation
    with pytest.raises(TypeError, match=says) as caught:
        describe(take)
    if annotation != 5:
        assert "parameter value of the tool take" in str(caught.value)


def test_variable_positional_parameters_are_refused():
    def take(*values: int): ...

    with pytest.raises(TypeError, match=r"make it values: list\[\.\.\.\]"):
        describe(take)


def test_dataclass_rules_are_applied():
    @dataclasses.dataclass
    class Even:
        n: int

        def __post_init__(self):
            if self.n % 2:
                raise ValueError("must be even")

    assert tool_of(Even).bind({"value": {"n": 2}})["value"] == Even(2)
    with pytest.raises(DocumentError, match="/value: must be even"):
        tool_of(Even).bind({"value": {"n": 1}})


@pytest.mark.skipif(sys.version_info < (3, 12), reason="written as Python 3.12 has it")
def test_type_statement_is_compiled():
    names = {}
    exec("type Number = int | float\ntype Chain = list[Chain]", names)
    assert tool_of(names["Number"]).bind({"value": 1}) == {"value": 1}
    assert tool_of(names["Chain"]).bind({"value": [[], [[]]]}) == {"value": [[], [[]]]}
    exec("type Itself = Itself", names)
    with pytest.raises(TypeError, match="Itself is defined only as itself"):
        tool_of(names["Itself"])


# --------------------------------------------------------------------------------------------------
# Results of functions
# --------------------------------------------------------------------------------------------------


@given(json_values)
def test_json_is_unchanged(value):
    assert plain(value) == value
    json.dumps(plain(value), allow_nan=False)


def test_result_is_converted_to_json():
    class Text(str):
        pass

    class Pair(typing.NamedTuple):
        a: int
        b: int

    room = Room("hall", [Point(1, 2)], None, Colour.GREEN)
    assert plain({"room": room, "pair": Pair(1, 2), "level": Level.HIGH}) == {
        "room": {"name": "hall", "corners": [{"x": 1, "y": 2}], "door": None, "colour": "green"},
        "pair": [1, 2],
        "level": 2,
    }
    assert type(plain(Level.HIGH)) is int and type(plain(Text("a"))) is str
    assert plain(types.MappingProxyType({Text("a"): ()})) == {"a": []}
    plan = Plan([Invocation("a", "b")], request_id="p")
    assert plain([plan, Log("x")]) == [plan.to_dict(), Log("x").to_dict()]


class Open(TypedDict):
    lit: bool
    hours: NotRequired[float]


class Pair(typing.NamedTuple):
    a: int
    b: int


INTEGER = {"type": ["integer", "boolean"]}
NUMBER = {"type": ["number", "boolean"]}


@pytest.mark.parametrize(
    "annotation, schema",
    [
        (bool, {"type": "boolean"}),
        (int, INTEGER),
        (float, NUMBER),
        (Optional[str], {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (list[int], {"type": "array", "items": INTEGER}),
        (list, {"type": "array"}),
        (list[typing.ForwardRef("Unknown")], None),
        (tuple[int, ...], {"type": "array", "items": INTEGER}),
        (
            tuple[int, Any],
            {"type": "array", "prefixItems": [INTEGER, {}], "minItems": 2, "maxItems": 2},
        ),
        (dict[str, float], {"type": "object", "additionalProperties": NUMBER}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Colour, {"enum": ["red", "green", None]}),
        (Name, {"type": "string"}),
        (Point, {"type": "object", "properties": {"x": INTEGER, "y": INTEGER}}),
        (
            Open,
            {
                "type": "object",
                "properties": {"lit": {"type": "boolean"}, "hours": NUMBER},
                "required": ["lit"],
            },
        ),
        (
            Box[str],
            {
                "type": "object",
                "properties": {
                    "item": {"type": "string"},
                    "others": {"type": "array", "items": {"type": "string"}},
                },
            },
        ),
        (Annotated[int, "how many"], {**INTEGER, "description": "how many"}),
        (Annotated[str, Field(min_length=1)], {"type": "string", "minLength": 1}),
        (Tree, {"type": "object", "properties": {}}),
        # Types with any JSON form, or without one.
        (None, None),
        (Any, None),
        (Plan, None),
        (Sequence[str], None),
        (Mapping[str, int], None),
        (Pair, None),
        (set[int], None),
        (Union[int, set[int]], None),
        (Flags, None),
        (X, None),
    ],
)
def test_result_schema(annotation, schema):
    def give(): ...

    give.__annotations__["return"] = annotation
    assert describe(give).result_schema == schema
    if schema is not None:
        checker(schema)


def test_no_result_schema_without_usable_annotation():
    def told() -> "int": ...

    def untold(): ...

    def missing() -> "Something": ...  # noqa: F821

    @functools.wraps(told)
    def decorated():
        return str(told())

    def steps() -> typing.Generator[dict, None, int]:
        yield {}
        return 1

    def iterates() -> typing.Iterator[dict]:
        yield {}

    class Callable:
        def __call__(self) -> str: ...

    async def waits() -> int: ...

    assert describe(told).result_schema == INTEGER
    assert describe(functools.partial(told), name="p").result_schema == INTEGER
    assert describe(waits).result_schema == INTEGER
    assert describe(steps).result_schema == INTEGER
    assert describe(Callable()).result_schema == {"type": "string"}
    for function in (untold, missing, decorated, iterates):
        assert describe(function).result_schema is None


@settings(max_examples=200, deadline=None)
@given(annotations, st.integers(0, 2**32))
def test_value_of_annotated_type_fits_result_schema(annotation, seed):
    chance = random.Random(seed)
    tool = tool_of(annotation)

    def give(): ...

    give.__annotations__["return"] = annotation
    schema = describe(give).result_schema
    if schema is None:
        return
    for _ in range(6):
        bound = tool.bind({"value": near(tool.input_schema["properties"]["value"], chance)})
        assert checker(schema).is_valid(plain(bound["value"])), (annotation, bound)


def test_value_that_contains_itself_is_refused():
    value = []
    value.append(value)
    with pytest.raises(ValueError, match="contains itself|nested"):
        plain(value)
    point = Point(1)
    point.y = point
    with pytest.raises(ValueError, match="contains itself|nested"):
        plain(point)
    deep = json.loads("[" * 512 + "]" * 512)
    assert plain(deep) == deep


def test_endless_conversion_is_refused():
    class There:
        def to_dict(self):
            return Back()

    class Back:
        def to_dict(self):
            return There()

    with pytest.raises(ValueError, match="/a/0: a (There|Back) has no JSON form"):
        plain({"a": [There()]})
