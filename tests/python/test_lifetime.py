# SPDX-License-Identifier: Apache-2.0
"""Threads, signals, forks, the end of the interpreter, and leaks."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import tracemalloc
import weakref
from pathlib import Path
from typing import Any

import pytest
from conftest import SANITIZED, SOURCE, child_environment
from plans import DONE, one

import narratoria
from narratoria._private_loop import PrivateLoop


def python(
    script: str, *arguments: str, timeout: float = 500, **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = child_environment() | variables
    if SANITIZED:
        # A small quarantine of freed memory, so that growth means a leak.
        environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=4"
    return subprocess.run(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(script), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        cwd=SOURCE,
        timeout=timeout,
        check=False,
    )


def prints(script: str, *arguments: str, quietly: bool = False) -> str:
    """Returns the output of a script, which must succeed; `quietly`: without errors and warnings."""
    done = python(script, *arguments)
    assert done.returncode == 0 and not (quietly and done.stderr), done.stderr
    return done.stdout


@pytest.fixture
def sleeper(tmp_path: Path) -> tuple[Path, Path]:
    """A tool that writes the number of its process to a file and then sleeps, and that file."""
    tool, pid = tmp_path / "t", tmp_path / "pid"
    tool.write_text(f"#!/bin/sh\necho $$ > {pid}.new; mv {pid}.new {pid}\nsleep 60\n")
    tool.chmod(0o755)
    return tool, pid


def gone(pid: Path, seconds: float = 30) -> bool:
    """Whether the process whose number is in the file ends in time."""
    deadline = time.monotonic() + seconds
    number = int(pid.read_text())
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


class TestThreads:
    def test_session_moves_to_calling_thread(self, session: Any, make_tool: Any) -> None:
        path = make_tool("t", DONE)
        assert session.execute(one(path)).success
        results = []
        thread = threading.Thread(target=lambda: results.append(session.execute(one(path))))
        thread.start()
        thread.join()
        assert results[0].success
        assert session.execute(one(path)).success

    def test_concurrent_thread_is_refused(self, session: Any, make_tool: Any) -> None:
        started = threading.Event()
        session.add_sink(lambda event: started.set(), ["tool_started"])
        results = []
        thread = threading.Thread(
            target=lambda: results.append(session.execute(one(make_tool("t", "sleep 60"))))
        )
        thread.start()
        assert started.wait(300)
        with pytest.raises(narratoria.BusyError, match="thread"):
            session.state.to_dict()
        session.cancel()
        thread.join(300)
        assert results[0]["t"].error_code == "CANCELLED"

    @pytest.mark.parametrize("call", ["execute", "close", "state"])
    def test_concurrent_thread_is_refused_during_async_function(self, call: str) -> None:
        calls: dict[str, Any] = {
            "execute": lambda: session.execute(one("nap")),
            "close": lambda: session.close(),
            "state": lambda: session.state.to_dict(),
        }
        started, finished = threading.Event(), threading.Event()
        refused: list[Exception] = []

        def use() -> None:
            started.wait(300)
            for _ in range(20):
                try:
                    calls[call]()
                except narratoria.BusyError as error:
                    refused.append(error)
                time.sleep(0.005)
            finished.set()

        with narratoria.Session() as session:

            @session.tool
            async def nap() -> int:
                started.set()
                while not finished.is_set():
                    await asyncio.sleep(0.005)
                return 5

            thread = threading.Thread(target=use)
            thread.start()
            assert session.execute(one("nap"))["t"].result == 5
            thread.join()
            assert len(refused) == 20 and "another thread" in str(refused[0])

    def test_async_function_cannot_make_blocking_calls(self) -> None:
        refused = []
        with narratoria.Session(narrator=lambda request: "x") as session:

            @session.tool
            async def inside() -> str:
                for call in (
                    lambda: session.execute(one("inside")),
                    lambda: session.play("x"),
                    lambda: session.close(),
                ):
                    await asyncio.sleep(0)
                    try:
                        call()
                    except narratoria.ReentrantError as error:
                        refused.append(error.code)
                return "fine"

            assert session.execute(one("inside"))["t"].result == "fine"
            assert refused == ["REENTRANT"] * 3
            assert session.play("x").narrative == "x"

    def test_other_threads_run_while_session_waits(
        self, session: Any, make_tool: Any, tmp_path: Path
    ) -> None:
        counted = 0
        is_over = threading.Event()

        def count() -> None:
            nonlocal counted
            while not is_over.is_set():
                counted += 1
                if counted == 50:
                    (tmp_path / "counted").touch()
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        wait = f"until [ -e '{tmp_path}/counted' ]; do sleep 0.01; done"
        assert session.execute(one(make_tool("t", f"{wait}\n{DONE}"))).success
        is_over.set()
        thread.join()

    def test_each_thread_may_have_session(self, make_tool: Any) -> None:
        path = make_tool("t", DONE)
        results: list[bool] = []

        def work() -> None:
            with narratoria.Session() as session:

                @session.tool
                def twice(x: int) -> int:
                    return 2 * x

                for i in range(10):
                    results.append(session.execute(one("twice", {"x": i}))["t"].result == 2 * i)
                results.append(session.execute(one(path)).success)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 88 and all(results)


class TestInterrupts:
    @pytest.mark.parametrize("call", ["execute", "play"])
    def test_ctrl_c_returns_at_once_and_ends_tools(self, call: str, sleeper: Any) -> None:
        tool, pid = sleeper
        tool.write_text(tool.read_text().replace("sleep", "trap '' TERM\nsleep"))
        script = """
            import os, signal, sys, threading, time, narratoria
            plan = {"requestId": "p", "tools": [{"toolId": "t", "toolPath": sys.argv[1]}]}
            def interrupt():
                while not os.path.exists(sys.argv[2]):
                    time.sleep(0.01)
                os.kill(os.getpid(), signal.SIGINT)
            # A grace period longer than the test, which must not wait for it.
            times = narratoria.Times(grace_ms=600_000)
            with narratoria.Session(narrator=lambda request: plan, times=times) as session:
                threading.Thread(target=interrupt).start()
                try:
                    session.play("x") if sys.argv[3] == "play" else session.execute(plan)
                except KeyboardInterrupt:
                    print("interrupted")
                print(session.execute({"requestId": "q", "tools": []}).success)
        """
        assert prints(script, str(tool), str(pid), call).splitlines() == ["interrupted", "True"]
        assert gone(pid)

    @pytest.mark.parametrize("call", ["execute", "play"])
    def test_ctrl_c_in_session_with_async_functions(self, call: str) -> None:
        script = """
            import asyncio, os, signal, sys, threading, time, narratoria
            plan = {"requestId": "p", "tools": [{"toolId": "t", "toolPath": "nap"}]}
            started = threading.Event()
            def interrupt():
                started.wait()
                time.sleep(0.1)
                os.kill(os.getpid(), signal.SIGINT)
            with narratoria.Session(narrator=lambda request: plan) as session:
                @session.tool
                async def nap():
                    started.set()
                    try:
                        await asyncio.sleep(6000)
                    finally:
                        print("cleaned up")
                threading.Thread(target=interrupt).start()
                try:
                    session.play("x") if sys.argv[1] == "play" else session.execute(plan)
                except KeyboardInterrupt:
                    print("interrupted")
                assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
                print(session.execute({"requestId": "q", "tools": []}).success)
                print("end")
        """
        assert prints(script, call).splitlines() == ["cleaned up", "interrupted", "True", "end"]

    def test_ctrl_c_in_computing_async_function(self) -> None:
        script = """
            import asyncio, os, signal, threading, time, narratoria
            started = threading.Event()
            def interrupt():
                started.wait()
                time.sleep(0.1)
                os.kill(os.getpid(), signal.SIGINT)
            with narratoria.Session() as session:
                @session.tool
                async def count(seconds: float):
                    started.set()
                    until = time.monotonic() + seconds
                    while time.monotonic() < until:
                        pass
                def plan(seconds):
                    return {"requestId": "p", "tools": [
                        {"toolId": "t", "toolPath": "count", "input": {"seconds": seconds}}]}
                threading.Thread(target=interrupt).start()
                try:
                    session.execute(plan(6000))
                except KeyboardInterrupt:
                    print("interrupted")
                print(session.execute(plan(0)).success)
        """
        assert prints(script, quietly=True).splitlines() == ["interrupted", "True"]

    def test_ctrl_c_at_any_moment_leaves_session_usable(self) -> None:
        script = """
            import asyncio, random, signal, threading, time, narratoria
            main, armed, count = threading.main_thread().ident, False, 0
            def storm():
                global armed
                while True:
                    time.sleep(random.random() * 0.006)
                    if armed:
                        armed = False
                        signal.pthread_kill(main, signal.SIGINT)
            session = narratoria.Session()
            plan = {"requestId": "p", "tools": [{"toolId": "t", "toolPath": "nap"}]}
            @session.tool
            async def nap():
                await asyncio.sleep(0.002)
            threading.Thread(target=storm, daemon=True).start()
            for _ in range(2000):
                if count > 20:
                    break
                try:
                    armed = True
                    session.execute(plan)
                    armed = False
                    time.sleep(0)
                except KeyboardInterrupt:
                    count += 1
            armed = False
            try:
                time.sleep(0.1)
            except KeyboardInterrupt:
                pass
            tool = session.execute(plan)["t"]
            print(count > 20, tool.error, tool.stderr)
        """
        assert prints(script) == "True None None\n"

    def test_close_is_quick_after_interrupt_of_cancellation(self) -> None:
        session = narratoria.Session()

        @session.tool
        async def nap() -> None:
            loop: Any = asyncio.get_running_loop()
            call_soon = loop.call_soon

            def call_or_interrupt(callback: Any, *arguments: Any, **options: Any) -> Any:
                # Ctrl-C again, while this task is being woken to end.
                if "wakeup" in repr(callback).lower():
                    loop.call_soon = call_soon
                    raise KeyboardInterrupt
                return call_soon(callback, *arguments, **options)

            loop.call_soon = call_or_interrupt
            call_soon(signal.raise_signal, signal.SIGINT)
            await asyncio.sleep(60)

        with pytest.raises(KeyboardInterrupt):
            session.execute(one("nap"))
        start = time.monotonic()
        session.close()
        assert time.monotonic() - start < 3

    def test_interrupted_loop_runs_again(self, session: Any) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        private = PrivateLoop(session._core)
        private.loop.call_soon(interrupt)
        with pytest.raises(KeyboardInterrupt):
            private.drive_until(lambda: True)
        task = private.loop.create_task(asyncio.sleep(0.01))
        private.settle([task], 60)
        assert task.done()
        private.end([], 0)

    def test_interrupt_in_loop_replaces_only_loop(self, session: Any) -> None:
        @session.tool
        async def nap(interrupted: bool = False) -> None:
            await asyncio.sleep(0.01)
            if interrupted:
                raise KeyboardInterrupt

        assert session.execute(one("nap")).success
        with pytest.raises(KeyboardInterrupt):
            session.execute(one("nap", {"interrupted": True}))
        assert session.execute(one("nap")).success

    def test_own_signal_handler_is_kept(self) -> None:
        class Enough(Exception):
            pass

        def stop(number: int, frame: Any) -> None:
            raise Enough

        before = signal.signal(signal.SIGINT, stop)
        try:
            with narratoria.Session() as session:

                @session.tool
                async def nap(seconds: float = 6000.0) -> None:
                    if seconds > 0:
                        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
                    await asyncio.sleep(seconds)

                with pytest.raises(Enough):
                    session.execute(one("nap"))
                assert signal.getsignal(signal.SIGINT) is stop
                assert session.execute(one("nap", {"seconds": 0.0})).success
        finally:
            signal.signal(signal.SIGINT, before)

    def test_signal_handler_that_returns_does_not_end_call(self, make_tool: Any) -> None:
        heard = []
        before = signal.signal(signal.SIGUSR1, lambda number, frame: heard.append(number))
        try:
            with narratoria.Session() as session:
                script = f"kill -USR1 {os.getpid()}\nsleep 0.1\n{DONE}"
                assert session.execute(one(make_tool("t", script))).success
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert heard == [signal.SIGUSR1]


class TestProcessEnd:
    def test_interpreter_ends_with_running_plan(self, sleeper: Any) -> None:
        tool, pid = sleeper
        script = """
            import os, sys, threading, time, narratoria
            session = narratoria.Session()
            plan = {"requestId": "p", "tools": [{"toolId": "t", "toolPath": sys.argv[1]}]}
            def run():
                try:
                    session.execute(plan)
                except narratoria.GoneError:
                    pass
            threading.Thread(target=run, daemon=True).start()
            while not os.path.exists(sys.argv[2]):
                time.sleep(0.01)
            print("over")
        """
        assert prints(script, str(tool), str(pid), quietly=True) == "over\n"
        assert gone(pid)

    def test_interpreter_ends_with_open_session(self) -> None:
        script = """
            import narratoria
            session = narratoria.Session(narrator=lambda request: "x")
            session.add_sink(print, ["plan_ended"])
            print(session.play("x").narrative)
        """
        prints(script, quietly=True)

    def test_asyncio_program_ends_without_close(self) -> None:
        script = """
            import asyncio, narratoria
            async def main():
                session = narratoria.aio.Session(narrator=lambda request: "x")
                await session.__aenter__()
                print((await session.play("x")).narrative)
            asyncio.run(main())
        """
        assert prints(script) == "x\n"

    def test_sigkill_of_host_ends_tools(self, sleeper: Any) -> None:
        tool, pid = sleeper
        script = (
            "import sys, narratoria\n"
            "narratoria.Session().execute({'requestId': 'p', 'tools': ["
            "{'toolId': 't', 'toolPath': sys.argv[1]}]})"
        )
        host = subprocess.Popen(
            [sys.executable, "-c", script, str(tool)], env=child_environment(), cwd=SOURCE
        )
        deadline = time.monotonic() + 20
        while not pid.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        host.kill()
        host.wait()
        assert gone(pid)


class TestForks:
    def test_forked_child_needs_session_of_its_own(self) -> None:
        script = """
            import os, narratoria
            session = narratoria.Session()
            session.execute({"requestId": "p", "tools": []})
            child = os.fork()
            if child == 0:
                try:
                    session.execute({"requestId": "p", "tools": []})
                except narratoria.ForkedError as error:
                    print("refused:", error)
                try:
                    session.state["x"]
                except narratoria.ForkedError:
                    print("refused")
                with narratoria.Session() as own:
                    print(own.execute({"requestId": "p", "tools": []}).success, flush=True)
                os._exit(0)
            os.waitpid(child, 0)
            print(session.execute({"requestId": "p", "tools": []}).success)
        """
        lines = prints(script).splitlines()
        assert lines[0].startswith("refused: ") and "fork" in lines[0]
        assert lines[1:] == ["refused", "True", "True"]

    def test_forked_child_exits_normally(self) -> None:
        script = """
            import os, narratoria
            session = narratoria.Session()
            child = os.fork()
            if child != 0:
                _, status = os.waitpid(child, 0)
                print(os.waitstatus_to_exitcode(status))
                print(session.execute({"requestId": "p", "tools": []}).success)
        """
        done = python(script)
        assert done.stdout == "0\nTrue\n", done.stderr

    @pytest.mark.parametrize("status", [0, 5])
    def test_forked_child_leaves_block_with_its_own_status(self, status: int) -> None:
        script = """
            import os, sys, narratoria
            with narratoria.Session() as session:
                child = os.fork()
                if child == 0:
                    sys.exit(int(sys.argv[1]))
                print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
                print(session.execute({"requestId": "p", "tools": []}).success)
        """
        done = python(script, str(status))
        assert (done.stdout, done.stderr) == (f"{status}\nTrue\n", "")

    def test_forked_child_leaves_async_block_with_its_own_status(self) -> None:
        script = """
            import asyncio, os, sys, narratoria
            async def main():
                async with narratoria.aio.Session() as session:
                    child = os.fork()
                    if child == 0:
                        try:
                            await session.aclose()
                        except BaseException as error:
                            print(repr(error), flush=True)
                            os._exit(1)
                        os._exit(5)
                    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
                    print((await session.execute({"requestId": "p", "tools": []})).success)
            asyncio.run(main())
        """
        done = python(script)
        assert done.stdout == "5\nTrue\n", done.stderr


class TestLeaks:
    def test_dropped_session_is_collected_with_functions(self) -> None:
        class Marker:
            pass

        def make_circle() -> weakref.ref[Marker]:
            marker = Marker()
            session = narratoria.Session()

            # The session has the function, which has the session.
            @session.tool
            def tool() -> Any:
                return session, marker

            session.add_sink(lambda event: (session, marker))
            session.on_ui_event()(lambda event: (session, marker))
            session.narrator(lambda request: (session, marker))
            return weakref.ref(marker)

        watched = make_circle()
        gc.collect()
        assert watched() is None

    @pytest.mark.parametrize("end", ["cancel", "interrupt", "close"])
    def test_dropped_session_with_async_functions_is_collected(self, end: str) -> None:
        def leave() -> list[weakref.ref[Any]]:
            session = narratoria.Session()

            @session.tool
            async def forever() -> None:
                await asyncio.sleep(60)

            def stop(event: Any) -> None:
                if end == "cancel":
                    session.cancel()
                else:
                    raise KeyboardInterrupt

            session.add_sink(stop, ["attempt_started"])
            try:
                session.execute(one("forever"))
            except KeyboardInterrupt:
                pass
            if end == "close":
                session.close()
            return [weakref.ref(session), weakref.ref(session._core)]

        watched = leave()
        gc.collect()
        assert [each() for each in watched] == [None, None]

    def test_aio_session_of_ended_loop_is_collected(self, make_tool: Any) -> None:
        async def main() -> tuple[list[weakref.ref[Any]], Any]:
            session = await narratoria.aio.Session()
            task = asyncio.get_running_loop().create_task(
                session.execute(one(make_tool("t", "sleep 60")))
            )
            await asyncio.sleep(0.1)
            return [weakref.ref(session), weakref.ref(session._core)], task

        def leave() -> list[weakref.ref[Any]]:
            loop = asyncio.new_event_loop()
            watched, _ = loop.run_until_complete(main())
            loop.close()
            return watched

        watched = leave()
        gc.collect()
        assert [each() for each in watched] == [None, None]

    def test_many_sessions_do_not_leak(self) -> None:
        script = """
            import gc, os, sys, narratoria
            def rounds(count):
                for number in range(count):
                    session = narratoria.Session(state={"n": number})
                    # Without threads: their blocks on the heap decide how much of it is returned.
                    @session.tool(thread=False)
                    def tool(n: int) -> int:
                        return session.state["n"] + n
                    session.add_sink(lambda event: None)
                    if number % 10 == 0:
                        session.execute({"requestId": "p", "tools": [
                            {"toolId": "t", "toolPath": "tool", "input": {"n": 1}}]})
                    if number % 2 == 0:
                        session.close()
                gc.collect()
            def resident():
                with open("/proc/self/statm") as file:
                    return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            def descriptors():
                return len(os.listdir("/proc/self/fd"))
            count = int(sys.argv[1])
            rounds(count // 5)
            before = resident(), descriptors()
            rounds(count)
            after = resident(), descriptors()
            print(before, after)
            # 100 bytes per session would be a leak.
            assert after[0] - before[0] < max(count * 100, 1 << 20), (before, after)
            assert after[1] == before[1], (before, after)
        """
        prints(script, "1000" if SANITIZED else "10000")

    def test_thread_tools_do_not_leak_memory(self) -> None:
        # Measures the bytes in use of one arena: resident memory depends on where the last block of
        # the heap lies. One-time setup grows less with each round, a leak does not, so the round
        # with the least growth counts. This finds a leak of 40 bytes for each session or call.
        script = """
            import ctypes, gc, os, sys, warnings, narratoria
            warnings.simplefilter("ignore", ResourceWarning)
            class Info(ctypes.Structure):
                _fields_ = [(name, ctypes.c_size_t) for name in (
                    "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                    "uordblks", "fordblks", "keepcost")]
            library = ctypes.CDLL(None)
            def in_use():
                if hasattr(library, "__sanitizer_get_current_allocated_bytes"):
                    library.__sanitizer_get_current_allocated_bytes.restype = ctypes.c_size_t
                    return library.__sanitizer_get_current_allocated_bytes()
                library.mallinfo2.restype = Info
                info = library.mallinfo2()
                return info.uordblks + info.hblkhd
            def rounds(count):
                for number in range(count):
                    session = narratoria.Session(state={"n": number})
                    @session.tool
                    def tool(n: int) -> int:
                        return session.state["n"] + n
                    session.add_sink(lambda event: None)
                    result = session.execute({"requestId": "p", "tools": [
                        {"toolId": "t", "toolPath": "tool", "input": {"n": 1}}]})
                    assert result["t"].result == number + 1
                    if number % 2 == 0:
                        session.close()
                gc.collect()
                return in_use(), len(gc.get_objects()), len(os.listdir("/proc/self/fd"))
            count, allowed = int(sys.argv[1]), int(sys.argv[2])
            seen = [rounds(count) for _ in range(6)]
            grown = [[after - before for before, after in zip(*each)] for each in zip(seen, seen[1:])]
            memory, objects, descriptors = map(min, zip(*grown))
            assert memory < count * allowed, seen
            assert objects < count // 10, seen
            assert seen[-1][2] == seen[0][2], seen
        """
        done = python(
            script,
            *(("100", "400") if SANITIZED else ("500", "40")),
            MALLOC_ARENA_MAX="1",
            PYTHONMALLOC="malloc",
        )
        assert done.returncode == 0, done.stderr

    def test_removed_tool_is_released_with_gil_after_timeout(self) -> None:
        # The engine ends the attempt itself, without the GIL, while other threads may read the
        # session's functions, as the garbage collector does. Builds with assertions check that it
        # takes the GIL.
        script = """
            import threading, narratoria
            with narratoria.Session(times=narratoria.Times(grace_ms=1)) as session:
                is_over = threading.Event()
                @session.tool
                def wait() -> None:
                    session.tools.remove("wait")
                    is_over.wait()
                result = session.execute({"requestId": "p", "tools": [
                    {"toolId": "t", "toolPath": "wait", "timeoutMs": 500,
                     "retryPolicy": {"maxRetries": 0}}]})
                is_over.set()
                assert result["t"].state == "timeout" and not session.tools, result
        """
        prints(script)

    def test_events_are_freed(self, session: Any) -> None:
        @session.tool
        def chatty(context: narratoria.Context) -> None:
            for i in range(1000):
                context.log("x" * 100, n=i)

        session.add_sink(lambda event: event.body)
        session.execute(one("chatty"))
        tracemalloc.start()
        before = tracemalloc.take_snapshot()
        for _ in range(5):
            session.execute(one("chatty"))
        gc.collect()
        after = tracemalloc.take_snapshot()
        tracemalloc.stop()
        grown = sum(each.size_diff for each in after.compare_to(before, "filename"))
        assert grown < 200_000


def test_sub_interpreters_are_refused() -> None:
    script = """
        import sys
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _interpreters as interpreters
        code = "\\n".join([
            "import sys",
            f"sys.path[:] = {sys.path!r}",
            "try:",
            "    import narratoria",
            "    narratoria.Session()",
            "except ImportError as error:",
            f"    open({sys.argv[1]!r}, 'w').write(str(error))",
        ])
        if sys.argv[2] == "first":
            import narratoria
            narratoria.Session().close()
        interpreter = interpreters.create()
        interpreters.run_string(interpreter, code)
    """
    for order in ("first", "never"):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "message"
            done = python(script, str(out), order)
            assert out.exists(), done.stderr
            message = out.read_text()
            assert "interpreter" in message, message
