# SPDX-License-Identifier: Apache-2.0
"""Sessions in several processes: copies, pickles, forks, and flags of the interpreter."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import sys
from typing import Any

import pytest
from plans import one
from test_lifetime import prints, python

import narratoria
from narratoria import Context


def double(number: int) -> int:
    """The work of a pool process, with a session of its own."""
    with narratoria.Session() as session:

        @session.tool
        def twice(n: int) -> int:
            return 2 * n

        return int(session.call("twice", n=number))


@pytest.mark.parametrize("way", ["spawn", "fork", "forkserver"])
def test_each_pool_process_has_own_session(way: str) -> None:
    with narratoria.Session() as session, multiprocessing.get_context(way).Pool(2) as pool:
        assert pool.map_async(double, range(4)).get(300) == [0, 2, 4, 6]
        assert session.execute({"requestId": "p", "tools": []}).success


def test_result_can_be_sent_to_other_process(session: Any) -> None:
    session.tool(name="six")(lambda: 6)
    result = session.execute(one("six"))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply_async(repr, (result,)).get(300) == repr(result)


@pytest.mark.parametrize("take", [copy.copy, copy.deepcopy, pickle.dumps])
def test_session_cannot_be_copied(session: Any, take: Any) -> None:
    with pytest.raises(TypeError, match="a session cannot be copied or pickled; create"):
        take(session)
    with pytest.raises(TypeError, match=r"a view of its session.*to_dict\(\)"):
        take(session.state)
    with pytest.raises(TypeError, match="a session cannot be copied"):
        take(narratoria.aio.Session())
    assert session.execute({"requestId": "p", "tools": []}).success


@pytest.mark.parametrize("say", ["log", "state"])
def test_forked_child_of_tool_gets_forked_error(session: Any, say: str) -> None:
    @session.tool
    def fork(context: Context) -> int:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                context.log("from the child") if say == "log" else session.state.to_dict()
            except narratoria.ForkedError:
                code = 7
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    assert session.call("fork") == 7


@pytest.mark.parametrize("thread", [True, False])
def test_call_in_forked_child_of_tool_gets_forked_error(session: Any, thread: bool) -> None:
    @session.tool(thread=thread)
    def fork() -> int:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                session.execute({"requestId": "p", "tools": []})
            except narratoria.ForkedError:
                session.close()
                code = 7
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    assert session.call("fork") == 7


def test_forked_child_exits_after_tool_returns(session: Any) -> None:
    # The thread that forked is the only one of the child.
    @session.tool
    def fork() -> int:
        pid = os.fork()
        if pid == 0:
            return 0
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    assert session.call("fork") == 0


async def test_forked_child_leaves_the_block_of_asyncio_without_an_error() -> None:
    async with narratoria.aio.Session() as session:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                await session.aclose()
                code = 7
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert await session.execute({"requestId": "p", "tools": []})


@pytest.mark.parametrize(
    "flags", [["-O"], ["-OO"], ["-bb"], ["-W", "error"], ["-OO", "-bb", "-W", "error"]]
)
def test_session_works_with_interpreter_flags(flags: list[str]) -> None:
    script = """
        import asyncio, subprocess, sys
        if len(sys.argv) > 1:
            sys.exit(subprocess.run([sys.executable, *sys.argv[2:], "-c", sys.argv[1]]).returncode)
    """
    program = """
import asyncio
import narratoria
from narratoria import Context, Invocation, Plan

async def main():
    async with narratoria.aio.Session() as session:
        @session.tool
        def add(n: int = 1) -> int:
            "Adds one."
            return n + 1
        @session.tool
        async def talk(context: Context):
            context.log("x")
            return add(1)
        @session.narrator
        async def tell(request):
            return Plan([Invocation("a", "add"), Invocation("b", "talk")], narrative="Told.")
        stream = session.events()
        turn = await session.play("x")
        stream.close()
        kinds = {type(event.data).__name__ async for event in stream}
        return turn.outcome, turn.result["b"].result, "PlanEnded" in kinds

print(*asyncio.run(main()))
with narratoria.Session(story=narratoria.sample_story()) as session:
    print(session.play("I light the torch").outcome, bool(session.state._repr_html_()))
    try:
        session.execute({"tools": []})
    except narratoria.InvalidDocumentError as error:
        print(error.faults[0].pointer)
"""
    assert prints(script, program, *flags).splitlines() == [
        "completed 2 True",
        "completed True",
        "/requestId",
    ]


def test_unclosed_session_ends_where_warnings_are_errors() -> None:
    script = """
        import gc, os, warnings, narratoria
        warnings.simplefilter("error", ResourceWarning)
        def descriptors():
            gc.collect()
            return len(os.listdir("/proc/self/fd"))
        def leave():
            session = narratoria.Session()
            @session.tool
            async def nap() -> None: ...
            session.call("nap")
            return descriptors()
        leave()
        before = descriptors()
        print(leave() > before, descriptors() == before)
    """
    done = python(script)
    assert done.stdout == "True True\n", done.stderr
    assert "was not closed" in done.stderr


def test_session_is_usable_after_recursion_error_anywhere(session: Any) -> None:
    session.tool(name="six")(lambda: 6)
    session.call("six")

    def deep(levels: int) -> Any:
        return session.call("six") if levels == 0 else deep(levels - 1)

    limit = sys.getrecursionlimit()
    met = 0
    for levels in range(limit - 120, limit, 7):
        try:
            deep(levels)
        except (RecursionError, narratoria.Error):
            met += 1
    assert met > 0 and session.call("six") == 6
