# SPDX-License-Identifier: Apache-2.0
"""ToolContext of specification 002 in Python: state by key, metadata, and text for a model."""

from __future__ import annotations

import asyncio
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from plans import DONE, line, one

import narratoria
from narratoria import Context, Plan, StateMetadata, aio
from narratoria.events import StatePatch


def patches(session: Any) -> list[tuple[str, Any]]:
    return [(each["toolId"], each["patch"]) for each in session.history()["patches"]]


# covers: 002-context-set-state, 002-context-get-state-value
@pytest.mark.parametrize("kind", ["thread", "inline", "async"])
def test_set_state_takes_effect_at_once_as_tool_patch(session: Any, kind: str) -> None:
    def act(context: Context) -> Any:
        context.log("before")
        context.set_state("door", {"open": True, "age": 9})
        assert context.get_state_value("door") == {"open": True, "age": 9}
        context.set_state("door", {"open": False})
        context.log("after")
        return context.get_state_value("door")

    async def act_async(context: Context) -> Any:
        await asyncio.sleep(0)
        return act(context)

    if kind == "async":
        session.tool(name="act")(act_async)
    else:
        session.tool(name="act", thread=kind == "thread")(act)
    result = session.execute(one("act"))
    assert result["t"].result == {"open": False}, result["t"].error
    assert session.state.to_dict() == {"door": {"open": False}}
    assert [event["type"] for event in result["t"].events] == [
        "log",
        "state_patch",
        "state_patch",
        "log",
        "done",
    ]
    assert patches(session) == [
        ("t", {"door": {"open": True, "age": 9}}),
        ("t", {"door": {"open": False, "age": None}}),
    ]


# covers: 002-context-one-state, 002-context-has-state, 002-context-get-all-state
def test_function_reads_patches_of_process(session: Any, make_tool: Any) -> None:
    process = make_tool(
        "process", line('{"type":"state_patch","patch":{"gold":5,"n":{"a":1}}}') + "\n" + DONE
    )

    @session.tool
    def read(context: Context) -> Any:
        return [
            context.get_state_value("gold"),
            context.get_state_value("silver"),
            context.has_state("gold"),
            context.has_state("n/a"),
            context.get_all_state(),
        ]

    session.execute(one(process))
    result = session.execute(one("read"))
    assert result["t"].result == [5, None, True, False, {"gold": 5, "n": {"a": 1}}]


# covers: 002-context-clear-state
def test_clear_state_removes_keys_and_metadata(session: Any) -> None:
    session.state.set("a", 1, "first")

    @session.tool
    def clear(context: Context) -> None:
        context.clear_state()
        context.set_state("b", 2)

    session.execute(one("clear"))
    assert session.state.to_dict() == {"b": 2}
    assert session.state.all_metadata() == {}
    assert patches(session)[1:] == [("t", {"a": None}), ("t", {"b": 2})]
    session.state.clear()
    assert session.state.to_dict() == {}


# covers: 002-context-register-metadata, 002-context-get-metadata, 002-context-get-all-metadata
def test_tool_registers_metadata(session: Any) -> None:
    def coins(value: Any) -> str:
        return f"{value} coins"

    @session.tool
    def describe(context: Context) -> str:
        context.register_state_metadata("hp", {"description": "health"})
        context.set_state("gold", 5, StateMetadata("of the player", coins))
        assert context.get_state_metadata("gold") == StateMetadata("of the player", coins)
        assert context.get_state_metadata("silver") is None
        assert list(context.get_all_state_metadata()) == ["gold", "hp"]
        return context.format_state_for_prompt()

    result = session.execute(one("describe"))
    assert result["t"].result == "gold: 5 coins (of the player)", result["t"].error
    session.state.set("hp", 7)
    assert session.format_state_for_prompt() == "gold: 5 coins (of the player)\nhp: 7 (health)"
    session.state.describe("gold", None)
    assert session.state.metadata("gold") is None


# covers: 002-language-state-unpacked
def test_value_with_metadata_is_unpacked(session: Any) -> None:
    state = session.state
    state.set("a", {"value": 1, "metadata": {"description": "first"}})
    assert state.format_for_prompt() == "a: 1 (first)"
    state.set("a", {"value": 2, "metadata": {"description": "x", "formatter": lambda value: "two"}})
    assert state.format_for_prompt() == "a: two (x)"
    state.set("a", {"value": 3, "metadata": StateMetadata("third")})
    assert state.format_for_prompt() == "a: 3 (third)"
    state.set("a", 4)
    assert state.format_for_prompt() == "a: 4 (third)"
    state.set("a", {"value": 5, "metadata": None})
    assert state.format_for_prompt() == "a: 5"


# covers: 002-language-state-unpacked
def test_value_with_metadata_may_have_other_members(session: Any) -> None:
    for metadata in ({"source": "lab"}, {"formatter": str, "source": "lab"}, StateMetadata("a")):
        session.state.set("dose", {"value": 5, "metadata": metadata, "unit": "mg"})
        assert session.state["dose"] == 5
    assert session.state.metadata("dose") == StateMetadata("a")


# covers: 002-context-set-state
def test_none_is_stored_as_value(session: Any) -> None:
    @session.tool
    def forget(context: Context) -> list[Any]:
        context.set_state("a", {"b": None, "c": {"d": None}, "e": [None]})
        context.set_state("f", None)
        return [context.get_all_state(), context.has_state("f")]

    session.state.set("f", 1)
    state = {"f": None, "a": {"b": None, "c": {"d": None}, "e": [None]}}
    result = session.execute(Plan([narratoria.Invocation("t", "forget")]))["t"]
    assert result.result == [state, True]
    assert result.output == state
    assert session.state.to_dict() == state
    session.state.set("a", None)
    assert session.state.to_dict() == {"f": None, "a": None}
    assert [each.get("nulls") for each in session.history()["patches"]] == [
        None,
        {"a": {"b": None, "c": {"d": None}}},
        {"f": None},
        {"a": None},
    ]
    session.state.patch({"a": None})
    assert session.state.to_dict() == {"f": None}


def test_reentrant_formatter_gets_default_form(session: Any) -> None:
    session.state.set("a", 1, StateMetadata("", lambda _: f"[{session.format_state_for_prompt()}]"))
    assert session.format_state_for_prompt() == "a: [a: 1]"
    assert session.format_state_for_prompt() == "a: [a: 1]"


# covers: 002-metadata-formatter
def test_failing_formatter_falls_back_to_default_form(
    session: Any, caplog: pytest.LogCaptureFixture
) -> None:
    state = session.state
    state.set("a", 1, StateMetadata("first", lambda value: 1 / 0))
    state.set("b", 2, StateMetadata("", lambda value: value))
    assert state.format_for_prompt() == "a: 1 (first)\nb: 2"
    assert "ZeroDivisionError" in caplog.text
    assert "must return a str" in caplog.text


def test_repeated_formatter_failure_is_logged_once(
    session: Any, caplog: pytest.LogCaptureFixture
) -> None:
    session.state.set("a", 0, StateMetadata("", lambda value: str(6 // value)))
    for value in (0, 0, 2, 0, 0):
        session.state.set("a", value)
        assert session.state.format_for_prompt() == f"a: {3 if value else 0}"
    assert len(caplog.records) == 1
    session.state.describe("a", StateMetadata("", lambda value: value))
    for _ in range(2):
        session.state.format_for_prompt()
    assert len(caplog.records) == 2


INTERRUPTS = pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])


def interrupt(kind: type[BaseException]) -> StateMetadata:
    def formatter(value: Any) -> str:
        raise kind

    return StateMetadata("", formatter)


@INTERRUPTS
def test_formatter_interrupt_is_raised_by_formatting_call(session: Any, kind: Any) -> None:
    formatted: list[Any] = []
    session.state.set("a", 1, interrupt(kind))
    session.state.set("b", 2, StateMetadata("", lambda value: formatted.append(value) or "two"))
    with pytest.raises(kind):
        session.format_state_for_prompt()
    assert formatted == []
    # The interrupt is not raised by a later call.
    assert session.execute(Plan([])).success
    session.state.describe("a", None)
    assert session.state.format_for_prompt() == "a: 1\nb: two"


@INTERRUPTS
@pytest.mark.parametrize("thread", [True, False])
def test_tool_may_catch_formatter_interrupt(session: Any, kind: Any, thread: bool) -> None:
    session.state.set("a", 1, interrupt(kind))

    @session.tool(thread=thread)
    def look(context: Context) -> str:
        try:
            return context.format_state_for_prompt()
        except kind:
            return "interrupted"

    if thread:
        # An interrupt in a tool's thread is also raised by the driving call.
        with pytest.raises(kind):
            session.execute(one("look"))
    else:
        assert session.execute(one("look"))["t"].result == "interrupted"
    session.state.describe("a", None)
    assert session.execute(one("look"))["t"].result == "a: 1"


@INTERRUPTS
async def test_formatter_interrupt_does_not_cancel_running_plan(kind: Any) -> None:
    async with aio.Session() as session:
        started, goes_on = asyncio.Event(), asyncio.Event()

        @session.tool
        async def wait() -> None:
            started.set()
            await goes_on.wait()

        session.state.set("a", 1, interrupt(kind))
        running = asyncio.create_task(session.execute(one("wait")))
        await started.wait()
        with pytest.raises(kind):
            session.format_state_for_prompt()
        goes_on.set()
        assert (await running).success


@INTERRUPTS
def test_sink_interrupt_is_raised_by_state_change(session: Any, kind: Any) -> None:
    def sink(event: Any) -> None:
        raise kind

    session.add_sink(sink, ["state_patched"])
    for change in (
        lambda: session.state.patch({"a": 1}),
        lambda: session.state.set("b", 2),
        lambda: session.state.clear(),
    ):
        with pytest.raises(kind):
            change()
    session.remove_sink(sink)
    assert session.state.to_dict() == {} and session.execute(Plan([])).success


@pytest.mark.parametrize("act", ["clear", "remove", "replace"])
def test_formatter_destructor_may_change_metadata_of_its_key(session: Any, act: str) -> None:
    acts: dict[str, Any] = {
        "clear": session.state.clear,
        "remove": lambda: session.state.describe("a", None),
        "replace": lambda: session.state.describe("a", StateMetadata("", lambda value: "third")),
    }

    class Formatter:
        def __call__(self, value: Any) -> str:
            return "first"

        def __del__(self) -> None:
            acts[act]()

    session.state.describe("a", StateMetadata("", Formatter()))
    session.state.describe("a", StateMetadata("", lambda value: "second"))
    assert list(session.state.all_metadata()) == (["a"] if act == "replace" else [])
    session.state.set("a", 1)
    assert session.state.format_for_prompt() == ("a: third" if act == "replace" else "a: 1")
    # The key accepts a new formatter.
    session.state.describe("a", StateMetadata("", lambda value: "fourth"))
    assert session.state.format_for_prompt() == "a: fourth"
    assert session.state.metadata("a").formatter(1) == "fourth"


def test_refused_formatter_keeps_previous_one(session: Any) -> None:
    state = session.state
    state.set("a", 1, StateMetadata("", lambda value: "first"))
    with pytest.raises(narratoria.Error):
        state.set("a", 2, StateMetadata("x" * 1_000_000, lambda value: "second"))
    assert state.metadata("a").formatter(1) == "first"
    with pytest.raises(narratoria.Error):
        state.describe("b", StateMetadata("x" * 1_000_000, lambda value: "second"))
    assert state.all_metadata().keys() == {"a"} and state.format_for_prompt() == "a: first"


def test_formatter_is_released_on_replacement_and_close() -> None:
    class Formatter:
        def __call__(self, value: Any) -> str:
            return "x"

    session = narratoria.Session()
    first, second = Formatter(), Formatter()
    seen = [weakref.ref(first), weakref.ref(second)]
    session.state.set("a", 1, StateMetadata("", first))
    session.state.set("a", 1, StateMetadata("", second))
    del first, second
    assert seen[0]() is None
    assert seen[1]() is not None
    session.close()
    assert seen[1]() is None


def test_formatter_that_refers_to_session_is_collected() -> None:
    class Formatter:
        def __init__(self, session: Any) -> None:
            self.session = session

        def __call__(self, value: Any) -> str:
            return "x"

    session: Any = narratoria.Session()
    formatter: Any = Formatter(session)
    session.state.describe("a", StateMetadata("", formatter))
    gone = weakref.ref(formatter)
    del session, formatter
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("key", "value", "metadata", "error"),
    [
        (1, 1, None, TypeError),
        ("\ud800", 1, None, ValueError),
        ("a", object(), None, TypeError),
        ("a", float("nan"), None, ValueError),
        ("a", 1, 7, TypeError),
        ("a", 1, {"description": 7}, TypeError),
        ("a", 1, {"formatter": "x"}, TypeError),
        ("a", 1, "x" * 5000, narratoria.InvalidArgumentError),
        ("a", {"value": 1, "metadata": {"description": 7}}, None, narratoria.InvalidDocumentError),
    ],
)
def test_refused_value_changes_nothing(
    session: Any, key: Any, value: Any, metadata: Any, error: Any
) -> None:
    with pytest.raises(error):
        session.state.set(key, value, metadata)

    caught: list[BaseException] = []

    @session.tool
    def act(context: Context) -> None:
        with pytest.raises(error) as refused:
            context.set_state(key, value, metadata)
        caught.append(refused.value)

    result = session.execute(one("act"))
    assert result.success, result["t"].error
    assert len(caught) == 1
    assert session.state.to_dict() == {}
    assert session.state.all_metadata() == {}


def test_ended_tool_cannot_change_state(session: Any) -> None:
    kept: list[Context] = []

    @session.tool
    def keep(context: Context) -> None:
        kept.append(context)

    session.execute(one("keep"))
    with pytest.raises(narratoria.GoneError, match="ended"):
        kept[0].set_state("a", 1)
    with pytest.raises(narratoria.GoneError, match="ended"):
        kept[0].clear_state()
    assert session.state.to_dict() == {}


def test_narrator_and_sink_read_formatted_state(session: Any) -> None:
    session.state.set("gold", 5, "coins")
    told: list[str] = []

    @session.narrator
    def narrate(request: Any) -> Any:
        told.append(session.format_state_for_prompt())
        session.state.set("asked", True)
        return {"requestId": "p", "narrative": "Well.", "tools": []}

    session.add_sink(lambda event: told.append(session.state.format_for_prompt()), ["narrative"])
    session.play("look")
    assert told == ["gold: 5 (coins)", "gold: 5 (coins)\nasked: true"]


async def test_state_calls_work_in_asyncio() -> None:
    async with narratoria.aio.Session(state={"gold": 5}) as session:
        session.state.describe("gold", "coins")

        @session.tool
        async def pay(context: Context) -> str:
            await asyncio.sleep(0)
            context.set_state("gold", context.get_state_value("gold") - 1)
            return context.format_state_for_prompt()

        result = await session.execute(one("pay"))
        assert result["t"].result == "gold: 4 (coins)"
        assert session.format_state_for_prompt() == "gold: 4 (coins)"
        assert isinstance(next(iter(result["t"].typed_events())), StatePatch)


def with_pool(context: Context) -> Any:
    context.patch({"a": 1})
    with ThreadPoolExecutor(1) as pool:
        pool.submit(context.patch, {"b": 2}).result()
        pool.submit(context.set_state, "c", 3).result()
        return pool.submit(context.get_all_state).result()


async def with_to_thread(context: Context) -> Any:
    context.patch({"a": 1})
    await asyncio.to_thread(context.patch, {"b": 2})
    await asyncio.to_thread(context.set_state, "c", 3)
    return await asyncio.to_thread(lambda: dict(context.state))


@pytest.mark.parametrize("function", [with_pool, with_to_thread])
def test_threads_of_tool_use_state(session: Any, function: Any) -> None:
    session.tool(name="t")(function)
    assert session.call("t") == {"a": 1, "b": 2, "c": 3}


@pytest.mark.parametrize("function", [with_pool, with_to_thread])
async def test_threads_of_tool_use_state_of_asyncio_session(function: Any) -> None:
    async with aio.Session() as session:
        session.tool(name="t")(function)
        assert await session.call("t") == {"a": 1, "b": 2, "c": 3}


def test_state_is_assigned_and_deleted(session: Any) -> None:
    state = session.state
    state["gold"] = 5
    state["door"] = None
    state.update(keys=["brass"])
    del state["door"]
    assert state.pop("keys") == ["brass"] and state.to_dict() == {"gold": 5}
    with pytest.raises(KeyError, match="door"):
        del state["door"]
    with pytest.raises(TypeError):
        state[5] = "five"


@pytest.mark.parametrize("thread", [True, False])
def test_changes_of_context_state_are_patches_of_tool(session: Any, thread: bool) -> None:
    @session.tool(thread=thread)
    def trade(context: Context) -> Any:
        context.state["gold"] = 5
        context.state.patch({"keys": ["brass"]})
        context.state.change("gold", lambda gold: gold - 2)
        del context.state["keys"]
        return context.state.to_dict()

    assert session.call("trade") == {"gold": 3}
    assert patches(session) == [
        ("trade", {"gold": 5}),
        ("trade", {"keys": ["brass"]}),
        ("trade", {"gold": 3}),
        ("trade", {"keys": None}),
    ]


def test_concurrent_tools_lose_no_change(session: Any) -> None:
    @session.tool
    def earn(context: Context) -> None:
        for _ in range(50):
            context.state.change("gold", lambda gold: gold + 1, 0)

    plan = Plan(
        [narratoria.Invocation(f"t{n}", "earn", async_=True) for n in range(4)], parallel=True
    )
    assert session.execute(plan).success
    assert session.state["gold"] == 200


def test_exception_of_change_leaves_state(session: Any) -> None:
    session.state["gold"] = "five"
    with pytest.raises(ValueError):
        session.state.change("gold", int)
    assert session.state["gold"] == "five"
