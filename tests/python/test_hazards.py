# SPDX-License-Identifier: Apache-2.0
"""C and Python interact at a bad moment: nothing crashes, hangs or leaks."""

from __future__ import annotations

import asyncio
import gc
import os
import tempfile
import threading
import unittest.mock
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from plans import DONE, line, one
from test_lifetime import prints

import narratoria
from narratoria import aio


async def test_session_closed_during_plan_conversion() -> None:
    class Slow:
        def __init__(self, core: Any) -> None:
            self.core = core

        def to_dict(self) -> dict[str, Any]:
            self.core.close()
            return {}

    async with aio.Session() as session:

        @session.narrator
        async def tell(request: Any) -> Any:
            return {"requestId": "p", "tools": [], "metadata": Slow(session._core)}

        turn = await asyncio.wait_for(session.play("x"), 20)
        assert turn.outcome == "cancelled"


def test_sink_destructors_may_run_code() -> None:
    kept: list[Any] = []

    class Sink:
        def __call__(self, event: Any) -> None: ...

        def __del__(self) -> None:
            kept.append([b"\xff" * n for n in range(1, 120) for _ in range(20)])
            gc.collect()

    session = narratoria.Session()
    for _ in range(8):
        session.add_sink(Sink())
    session._sinks.clear()
    session.close()
    gc.collect()
    assert len(kept) == 8


def test_session_with_running_plan_is_collected() -> None:
    # The sink and the session form a cycle, and the sink still gets the last events of the session.
    script = """
        import gc, tempfile, os, narratoria
        path = os.path.join(tempfile.mkdtemp(), "t")
        with open(path, "w") as file:
            file.write("#!/bin/sh\\nsleep 60\\n")
        os.chmod(path, 0o755)
        told = []
        def sink(event):
            return told.append(event.kind)
        def make(sink):
            session = narratoria.Session()
            session.add_sink(sink)
            sink.session = session
            session._core.execute({"requestId": "p", "tools": [
                {"toolId": "t", "toolPath": path}]}, "", None)
            session._core.run(50000)
        gc.disable()
        make(sink)
        del sink
        gc.collect()
        print(told[-1])
    """
    assert prints(script) == "plan_ended\n"


def test_interpreter_ends_while_daemon_thread_in_callback() -> None:
    script = """
        import threading, time, narratoria
        session = narratoria.Session()
        started = threading.Event()
        @session.tool
        def forever() -> None:
            started.set()
            # Releases and takes the GIL again and again, so that the end comes at any moment.
            while True:
                time.sleep(0.0005)
        plan = {"requestId": "p", "tools": [{"toolId": "t", "toolPath": "forever"}]}
        threading.Thread(target=lambda: session.execute(plan), daemon=True).start()
        started.wait()
        print("over")
    """
    assert prints(script) == "over\n"


@pytest.mark.parametrize("mock", [unittest.mock.Mock, unittest.mock.MagicMock])
def test_tool_that_returns_mock_fails(session: Any, mock: Any) -> None:
    @session.tool
    def fake() -> Any:
        return mock()

    assert not session.execute(one("fake")).success


def test_result_that_is_not_json_is_reported_with_traceback(session: Any) -> None:
    @session.tool
    def circle() -> Any:
        out: list[Any] = []
        out.append(out)
        return out

    tool = session.execute(one("circle"))["t"]
    assert "contains itself" in tool.error and "ValueError" in tool.stderr


def test_open_call_does_not_keep_session_alive(make_tool: Any, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    tool = make_tool("t", f": >'{begun}'; sleep 60")

    async def has_begun() -> None:
        while not begun.exists():
            await asyncio.sleep(0.001)

    async def main() -> weakref.ref[Any]:
        session = aio.Session()
        await session.__aenter__()
        asyncio.get_running_loop().create_task(session.execute(one(tool)))
        await asyncio.wait_for(has_begun(), 60)
        watched = weakref.ref(session)
        await session.aclose()
        return watched

    watched = asyncio.run(main())
    gc.collect()
    assert watched() is None


def test_fork_while_other_thread_drives_session() -> None:
    script = """
        import os, sys, threading, time, narratoria
        session = narratoria.Session()
        started = threading.Event()
        session.add_sink(lambda event: started.set(), ["tool_started"])
        plan = {"requestId": "p", "tools": [{"toolId": "t", "toolPath": "/bin/sleep"}]}
        plan["tools"][0]["toolPath"] = sys.argv[1]
        thread = threading.Thread(target=lambda: session.execute(plan))
        thread.start()
        started.wait()
        if os.fork() == 0:
            for call in (lambda: session.execute(plan), session.cancel):
                try:
                    call()
                except narratoria.ForkedError as error:
                    print("refused", flush=True)
            begin = time.monotonic()
            import atexit
            atexit._run_exitfuncs()
            print(time.monotonic() - begin < 30, flush=True)
            os._exit(0)
        os.wait()
        session.cancel()
        thread.join()
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t")
        with open(path, "w") as file:
            file.write("#!/bin/sh\nsleep 60\n")
        os.chmod(path, 0o755)
        assert prints(script, path) == "refused\nrefused\nTrue\n"


def test_threads_share_one_event_body(session: Any, make_tool: Any) -> None:
    events: list[narratoria.Event] = []
    session.add_sink(events.append)
    log = line('{"type":"log","level":"info","message":"hello"}')
    session.execute(one(make_tool("t", f"{log}\n{DONE}")))
    bodies: list[Any] = []
    threads = [
        threading.Thread(target=lambda: bodies.append([event.body for event in events]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(seen is body for row in bodies for seen, body in zip(row, bodies[0], strict=True))


def test_initial_state_accepts_same_types_as_patch() -> None:
    @dataclass
    class Point:
        x: int

    with narratoria.Session(state={"at": Point(1)}) as session:
        assert session.state.to_dict() == {"at": {"x": 1}}


def test_held_session_refuses_other_threads_and_callbacks(session: Any) -> None:
    core = session._core
    core.begin_use()
    refused: list[str] = []

    def use() -> None:
        try:
            core.state("")
        except narratoria.BusyError:
            refused.append("busy")

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    with pytest.raises(narratoria.ReentrantError):
        core.refuse_inside()
    core.end_use()
    core.refuse_inside()
    assert refused == ["busy"]
