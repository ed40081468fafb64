# SPDX-License-Identifier: Apache-2.0
"""Sessions in a store."""

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

import narratoria
import narratoria.aio


@pytest.fixture
def path(tmp_path):
    return tmp_path / "saves.db"


def opened(path, **options):
    session = narratoria.Session(store=path, id="s", **options)

    @session.narrator
    def narrate(request):
        return {
            "requestId": "p",
            "narrative": request.prompt.text,
            "tools": [{"toolId": "t", "toolPath": "note", "input": {"text": request.prompt.text}}],
        }

    @session.tool
    def note(text: str) -> None:
        session.state.patch({"notes": {text: True}, "last": text})

    return session


def test_session_continues_in_other_process(path):
    with opened(path, state={"first": 1}) as session:
        turn = session.play("one")
        assert (turn.id, turn.durable) == (1, True)
        kept = dict(session.state)
    with opened(path) as session:
        assert dict(session.state) == kept
        assert session.play("two").id == 2
        assert [(turn.id, turn.parent, turn.prompt) for turn in session.turns] == [
            (1, None, "one"),
            (2, 1, "two"),
        ]
        assert session.turns[0].narrative == "one"


def test_undo_and_branches(path):
    with opened(path) as session:
        session.play("one")
        session.play("two")
        session.state.patch({"between": 1})
        session.undo()
        assert dict(session.state) == {"notes": {"one": True}, "last": "one"}
        assert session.current_turn == 1
        session.play("three")
        assert [(turn.id, turn.parent, turn.kind) for turn in session.turns] == [
            (1, None, "prompt"),
            (2, 1, "prompt"),
            (3, 2, "host"),
            (4, 1, "prompt"),
        ]
        session.undo(2)
        assert session.state == {} and session.current_turn is None
        with pytest.raises(narratoria.NotFoundError, match="there is no turn to undo"):
            session.undo()
        session.go_to(2)
        assert session.state["last"] == "two"
        with pytest.raises(narratoria.NotFoundError, match="no turn 9"):
            session.go_to(9)


def test_undo_of_too_many_turns_says_how_many_there_are(path):
    with opened(path) as session:
        session.play("one")
        with pytest.raises(narratoria.NotFoundError, match="only 1 turn to undo, not 99"):
            session.undo(99)
        session.state.patch({"between": 1})
        session.play("two")
        with pytest.raises(narratoria.NotFoundError, match="only 2 turns to undo, not 99"):
            session.undo(99)


def test_beginning_of_session_can_be_passed_back(path):
    with opened(path) as session:
        beginning = session.current_turn
        session.play("one")
        session.go_to(beginning)
        assert session.current_turn is None and session.state == {}
        session.go_to(1)
        session.go_to(session.turns[0].parent)
        assert session.current_turn is None
        session.go_to(1)
    narratoria.Store(path).go_to("s", None)
    assert narratoria.Store(path).current("s") is None


def test_prune_at_the_beginning_requires_a_turn(path):
    with opened(path) as session:
        for prompt in "abc":
            session.play(prompt)
        session.undo(3)
    store = narratoria.Store(path)
    with pytest.raises(
        narratoria.InvalidArgumentError, match="at its beginning.*name a turn"
    ) as refused:
        store.prune("s")
    assert refused.value.code == "TURN_REQUIRED"
    assert [turn.id for turn in store.turns("s")] == [1, 2, 3]
    assert store.prune("s", 2) == 2


def test_text_of_many_turns_shows_the_last_ones(path):
    with opened(path) as session:
        for number in range(12):
            session.play(f"go {number}")
        shown = repr(session.turns)
    assert shown.startswith("[… 2 more, <StoredTurn 3 'go 2' completed>, ")
    assert shown.endswith("<StoredTurn 12 'go 11' completed>]")


def test_go_to_in_tool_says_when_to_call_it(path):
    with opened(path) as session:
        refused = []

        @session.tool
        def leave() -> None:
            for call in (lambda: session.go_to(0), session.undo):
                try:
                    call()
                except narratoria.ReentrantError as error:
                    refused.append(str(error))

        session.play("one")
        session.call("leave")
    assert len(refused) == 2
    assert all(why.endswith("after play or execute has returned") for why in refused)
    assert not any("own thread" in why for why in refused)


@pytest.mark.parametrize("name", ["3", " lit", "lit  up"])
def test_name_that_console_cannot_read_is_refused(path, name):
    with opened(path) as session:
        session.play("one")
        with pytest.raises(narratoria.InvalidArgumentError, match="the name must not"):
            narratoria.Store(path).set_name("s", name)


NEXT_CALLS = pytest.mark.parametrize(
    "call", [lambda s: s.undo(), lambda s: s.go_to(1), lambda s: s.again(1)]
)


@NEXT_CALLS
def test_interrupt_in_narrator_leaves_turns_usable(path, call):
    def narrate(request):
        if request.prompt.text == "stop":
            raise KeyboardInterrupt
        return "told"

    with narratoria.Session(store=path, id="s", narrator=narrate) as session:
        session.play("one")
        with pytest.raises(KeyboardInterrupt):
            session.play("stop")
        call(session)
        assert [turn.status for turn in session.turns][:2] == ["completed", "cancelled"]


@NEXT_CALLS
def test_ctrl_c_in_tool_leaves_turns_usable(path, call):
    def narrate(request):
        if request.prompt.text == "one":
            return "told"
        return {"requestId": "p", "tools": [{"toolId": "t", "toolPath": "interrupt"}]}

    def interrupt(context: narratoria.Context) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        deadline = time.monotonic() + 60
        while not context.is_cancelled and time.monotonic() < deadline:
            time.sleep(0.001)

    with narratoria.Session(store=path, id="s", narrator=narrate, tools=[interrupt]) as session:
        session.play("one")
        with pytest.raises(KeyboardInterrupt):
            session.play("stop")
        call(session)
        assert [turn.status for turn in session.turns][:2] == ["completed", "cancelled"]


async def test_cancelled_task_leaves_turns_usable(path):
    asked = asyncio.Event()

    async def narrate(request):
        asked.set()
        await asyncio.sleep(600)

    async with narratoria.aio.Session(store=path, id="s", narrator=narrate) as session:
        playing = asyncio.create_task(session.play("go"))
        await asked.wait()
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing
        session.go_to(0)
        assert [turn.status for turn in session.turns] == ["cancelled"]


def counting(path):
    """A session with prompts that run tool a, then tool b. Both count their runs."""
    session = narratoria.Session(store=path, id="s")
    runs = {"a": 0, "b": 0}

    @session.narrator
    def narrate(request):
        return {
            "requestId": "p",
            "tools": [
                {"toolId": "a", "toolPath": "count", "input": {"name": "a"}},
                {"toolId": "b", "toolPath": "count", "input": {"name": "b"}},
            ],
        }

    @session.tool
    def count(name: str) -> int:
        runs[name] += 1
        session.state.patch({name: runs[name], f"{name}{runs[name]}": True})
        return runs[name]

    return session, runs


def test_again_runs_only_selected_tools(path):
    session, runs = counting(path)
    with session:
        session.play("go")
        turn = session.again(tools=["b"])
        assert runs == {"a": 1, "b": 2}
        assert dict(session.state) == {"a": 1, "a1": True, "b": 2, "b2": True}
        assert turn.id == 2
        assert turn.result["a"].events == session.again(1, tools=["b"]).result["a"].events
        assert [[turn.id for turn in way] for way in session.branches] == [[1], [2], [3]]
        with pytest.raises(narratoria.NotFoundError, match='no tool "z"'):
            session.again(tools=["z"])
        for wrong, error in (("b", TypeError), ([], ValueError)):
            with pytest.raises(error):
                session.again(tools=wrong)


async def test_asyncio_session_plays_again(path):
    async with narratoria.aio.Session(
        store=path, id="s", narrator=lambda request: "told"
    ) as session:
        await session.play("go")
        assert (await session.again()).id == 2
        with pytest.raises(narratoria.NotFoundError):
            await session.resume()


def test_resume_continues_prompt_after_process_died(path):
    code = f"""
import os, signal, narratoria
session = narratoria.Session(store={str(path)!r}, id="s")

@session.narrator
def narrate(request):
    return {{"requestId": "p", "tools": [{{"toolId": "a", "toolPath": "a"}},
                                         {{"toolId": "b", "toolPath": "b"}}]}}

@session.tool
def a() -> None:
    session.state.patch({{"a": 1}})

@session.tool
def b() -> None:
    session.state.patch({{"b": "half"}})
    session.turns    # waits until the store has all that happened
    os.kill(os.getpid(), signal.SIGKILL)

session.play("go")
"""
    killed = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": ":".join(sys.path)}
    )
    assert killed.returncode == -9
    session, runs = counting(path)
    with session:

        @session.tool
        def a() -> None:
            pytest.fail("a had ended")

        @session.tool(repeatable=False)
        def b() -> None:
            session.state.patch({"b": "whole"})

        with pytest.raises(narratoria.InvalidArgumentError, match='"b" had started') as caught:
            session.resume()
        assert caught.value.code == "NOT_REPEATABLE"
        session.resume(repeat=True)
        assert dict(session.state) == {"a": 1, "b": "whole"}
        assert [turn.status for turn in session.turns] == ["interrupted", "completed"]


def test_sinks_get_session_moved(path):
    with opened(path) as session:
        seen = []
        session.add_sink(lambda event: seen.append(dict(event.body)), ["session_moved"])
        session.play("one")
        session.go_to(1)
        session.go_to(0)
    assert seen == [
        {"turn": 1, "narrative": "one", "choices": []},
        {"turn": 0, "narrative": "", "choices": []},
    ]


def test_stored_session_is_locked_while_played(path):
    with opened(path), pytest.raises(narratoria.BusyError) as refused:
        opened(path)
    assert refused.value.code == "STORE_LOCKED"


def test_must_be_new_refuses_existing_session(path):
    opened(path).close()
    with pytest.raises(narratoria.InvalidArgumentError) as refused:
        opened(path, must_be_new=True)
    assert refused.value.code == "SESSION_EXISTS"


def test_invalid_resume_argument_is_named(path):
    with opened(path) as session, pytest.raises(TypeError, match="repeat must be True or False"):
        session.resume(repeat="yes")


def test_lazy_turn_is_stored(path):
    with opened(path, durability="lazy") as session:
        assert not session.play("one").durable
        assert session.turns[0].durable, "reading the turns waits for the disk"
    assert narratoria.Store(path).state("s")["last"] == "one"


def test_turns_without_store_are_refused(session):
    for ask in (lambda: session.turns, lambda: session.current_turn, session.undo):
        with pytest.raises(narratoria.UnsupportedError, match="the session has no store"):
            ask()


def test_store_is_readable_during_play(path):
    with opened(path) as session:
        session.play("one")
        store = narratoria.Store(path)
        assert store.sessions()[0]["id"] == "s"
        assert [turn.status for turn in store.turns("s")] == ["completed"]
        with pytest.raises(narratoria.BusyError):
            store.go_to("s", 0)
    store.go_to("s", 0)
    assert store.current("s") is None
    assert store.state("s") == {} and store.state("s", 1)["last"] == "one"
    assert pickle.loads(pickle.dumps(store.turns("s")[0])).id == 1


@pytest.mark.parametrize(
    "options, error",
    [
        ({"store": 3}, TypeError),
        ({"store": ""}, ValueError),
        ({"id": ""}, ValueError),
        ({"must_be_new": 1}, TypeError),
        ({"durability": "always"}, ValueError),
    ],
)
def test_invalid_options_are_refused(options, error):
    with pytest.raises(error):
        narratoria.Session(**options)


@pytest.mark.parametrize("options", [{"must_be_new": True}, {"durability": "lazy"}])
def test_options_of_store_without_store_are_refused(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} needs a store"):
        narratoria.Session(**options)
