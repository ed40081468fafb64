# SPDX-License-Identifier: Apache-2.0
"""Nuwa scripts in sessions."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import SOURCE
from plans import DONE, line

import narratoria
from narratoria import aio

# Computes until it is ended, at the latest by its limit of steps.
LONG = """
FOR a IN rounds DO FOR b IN rounds DO FOR c IN rounds DO FOR d IN rounds DO
    LET n = a + b * c
END END END END
"""
ROUNDS = {"rounds": list(range(80))}


def compute(session: Any, begun: threading.Event) -> None:
    """Runs computing scripts until one ends for a reason other than its limit."""
    for _ in range(50):
        try:
            session.run_script("PRINT(1) " + LONG, ROUNDS, on_print=lambda line: begun.set())
        except narratoria.ScriptError as error:
            if error.name != "StepLimitError":
                raise
    pytest.fail("nothing else had its turn")


def fails(session: Any, *arguments: Any, **options: Any) -> narratoria.ScriptError:
    """Runs a script and returns its error."""
    with pytest.raises(narratoria.ScriptError) as raised:
        session.run_script(*arguments, **options)
    return raised.value


class TestResult:
    def test_scope_and_output(self, session: Any) -> None:
        ran = session.run_script(
            'LET n = 2 * x PRINT(n) PRINT("a\\nb") PRINT({a: "s", b: [1, x]})',
            scope={"x": 3, "rest": {"deep": [None, True]}},
        )
        assert ran.scope == {"x": 3, "rest": {"deep": [None, True]}, "n": 6}
        assert ran.output == ["6", "a\nb", "{a: s, b: [1, 3]}"]
        assert ran.result is None
        assert repr(ran).startswith("<ScriptResult 3 lines, scope={'x': 3")

    def test_empty_script_runs(self, session: Any) -> None:
        ran = session.run_script("")
        assert (ran.scope, ran.output, ran.result) == ({}, [], None)

    def test_calls_are_in_result_and_event_stream(self, session: Any) -> None:
        @session.tool
        def roll(sides: int) -> int:
            return sides

        kinds: list[str] = []
        session.add_sink(lambda event: kinds.append(event.kind))
        ran = session.run_script("LET a = CALL roll {sides: 4}\nLET b = CALL roll {sides: 6}")
        assert ran.scope == {"a": 4, "b": 6}
        assert [each.result for each in ran.result.tool_results] == [4, 6]
        assert ran.result.success and kinds.count("tool_ended") == 2

    def test_script_may_be_file(self, session: Any, tmp_path: Path) -> None:
        file = tmp_path / "hello.nuwa"
        file.write_text('PRINT("grüß")', encoding="utf-8")
        assert session.run_script(file).output == ["grüß"]
        file.write_bytes(b"PRINT(1) \xff")
        error = fails(session, file)
        assert error.name == "LexerError" and error.column == 10
        with pytest.raises(FileNotFoundError):
            session.run_script(tmp_path / "none.nuwa")

    def test_python_values_are_converted_as_in_plans(self, session: Any) -> None:
        @dataclass
        class Point:
            x: int

        ran = session.run_script("LET n = point.x", scope={"point": Point(5), "where": Path("/a")})
        assert ran.scope == {"point": {"x": 5}, "where": "/a", "n": 5}

    def test_result_can_be_copied_and_pickled(self, session: Any) -> None:
        session.tool(lambda: 1, name="one")
        ran = session.run_script("LET n = CALL one {} PRINT(n)")
        for again in (copy.deepcopy(ran), pickle.loads(pickle.dumps(ran)), copy.copy(ran)):
            assert (again.scope, again.output) == ({"n": 1}, ["1"])
            assert again.result.tool_results[0].result == 1


class TestErrors:
    def test_invalid_script_starts_nothing(self, session: Any) -> None:
        kinds: list[str] = []
        session.add_sink(lambda event: kinds.append(event.kind))
        error = fails(session, "PRINT(1)\nIF true PRINT(a) END")
        assert isinstance(error, narratoria.Error) and error.status == "NAR_INVALID_DOCUMENT"
        assert (error.name, error.line, error.column) == ("ParserError", 2, 9)
        assert error.message == "Expected 'THEN' after IF condition. at 2:9"
        assert error.text == str(error)
        assert error.text.splitlines() == [
            "ParserError: Expected 'THEN' after IF condition. at 2:9",
            "  2 | IF true PRINT(a) END",
            "    |         ^",
        ]
        assert (error.code, error.output, error.scope, error.result) == ("SCRIPT", [], {}, None)
        assert kinds == []

    def test_output_and_scope_before_error_are_kept(self, session: Any) -> None:
        session.tool(lambda: 1, name="one")
        error = fails(session, 'LET n = CALL one {}\nPRINT("so far")\nLET m = n / 0')
        assert (error.name, error.line, error.column) == ("DivisionByZeroError", 3, 11)
        assert error.text.splitlines()[1:] == ["  3 | LET m = n / 0", "    |           ^"]
        assert error.output == ["so far"] and error.scope == {"n": 1}
        assert error.result.tool_results[0].result == 1

    def test_error_can_be_copied_and_pickled(self, session: Any) -> None:
        error = fails(session, "PRINT(1) PRINT(n)", {"x": 1})
        for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
            assert str(again) == str(error)
            assert (again.name, again.column) == ("UndefinedVariableError", 16)
            assert (again.output, again.scope, again.result) == (["1"], {"x": 1}, None)

    @pytest.mark.parametrize(
        "scope, kind, says",
        [
            ([1], TypeError, "scope must be a dict, not list"),
            ({"x": float("nan")}, ValueError, "scope is not JSON: /x: .*NaN"),
            ({"x": {1, 2}}, TypeError, "scope is not JSON: /x: "),
            ({1: 2}, TypeError, "scope is not JSON: "),
            ({"x": 2**64}, ValueError, "scope is not JSON: /x: .*64 bits"),
        ],
    )
    def test_scope_must_be_json(self, session: Any, scope: Any, kind: Any, says: str) -> None:
        with pytest.raises(kind, match=says):
            session.run_script("PRINT(x)", scope)

    def test_arguments_of_wrong_type_are_refused(self, session: Any, tmp_path: Path) -> None:
        with pytest.raises(TypeError, match="a script must be a str or a Path, not int"):
            session.run_script(5)
        with pytest.raises(ValueError, match="lone surrogate"):
            session.run_script('PRINT("\ud800")')
        with pytest.raises(TypeError, match="on_print must be a function, not int"):
            session.run_script("", on_print=5)
        with pytest.raises(FileNotFoundError):
            session.run_script("", tools=tmp_path / "none")
        with pytest.raises(NotADirectoryError):
            session.run_script("", tools=SOURCE / "README.md")

    def test_limits_of_session_apply(self) -> None:
        limits = narratoria.Limits(script_steps=1000)
        with narratoria.Session(limits=limits) as session:
            with pytest.raises(narratoria.ScriptError, match="more than 1000 steps") as raised:
                session.run_script(LONG, ROUNDS)
        assert raised.value.name == "StepLimitError"

    def test_closed_session_is_refused(self) -> None:
        with narratoria.Session() as session:
            pass
        with pytest.raises(narratoria.GoneError):
            session.run_script("PRINT(1)")

    def test_forked_child_is_refused(self, session: Any) -> None:
        child = os.fork()
        if child == 0:
            try:
                session.run_script("PRINT(1)")
            except narratoria.ForkedError:
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


class TestCalls:
    @pytest.fixture(params=["thread", "here", "async"])
    def halve(self, request: Any, session: Any) -> Iterator[Any]:
        """A session with one tool of each kind of function."""

        def compute(n: float, digits: int = 0) -> float:
            if n > 1000:
                raise narratoria.ToolError("TOO_LARGE", "That is too large.", retry=False)
            return round(n / 2, digits)

        async def wait(n: float, digits: int = 0) -> float:
            await asyncio.sleep(0)
            return compute(n, digits)

        given = wait if request.param == "async" else compute
        session.tool(name="halve", thread=request.param == "thread")(given)
        yield session

    def test_function_is_called_by_name(self, halve: Any) -> None:
        ran = halve.run_script("LET n = CALL halve {n: 5, digits: 1}\nPRINT(n)")
        assert ran.scope == {"n": 2.5} and ran.output == ["2.5"]

    def test_invalid_arguments_are_reported_together(self, halve: Any) -> None:
        error = fails(halve, '\nLET n = CALL halve {n: "five", digits: 0.5}')
        assert (error.name, error.line) == ("ToolArgumentError", 2)
        assert "'n'" in error.message and "'digits'" in error.message, (
            "all faults are reported at once"
        )
        assert "received string" in error.message
        with pytest.raises(narratoria.ScriptError, match="ToolArgumentError"):
            halve.run_script("CALL halve {}")

    def test_result_of_wrong_type_is_passed_on(self, session: Any) -> None:
        @session.tool
        def count() -> int:
            return "three"  # type: ignore[return-value]

        assert session.run_script("LET n = CALL count {}").scope == {"n": "three"}

    def test_failed_tool_fails_script(self, halve: Any) -> None:
        error = fails(halve, "LET n = CALL halve {n: 4000}")
        assert error.name == "ToolExecutionError"
        assert error.message == (
            "Error executing tool 'halve': Execution failed for tool 'halve': That is too large."
        )
        assert error.result.tool_results[0].error_code == "TOO_LARGE"

    def test_missing_tool_fails_script(self, session: Any) -> None:
        error = fails(session, "CALL sing {}")
        assert error.name == "ToolNotFoundError" and "sing" in error.message

    def test_exception_of_function_fails_script(self, session: Any) -> None:
        @session.tool
        def fail() -> None:
            raise KeyError("door")

        error = fails(session, "CALL fail {}")
        assert error.name == "ToolExecutionError"
        assert "KeyError: 'door'" in error.message

    def test_files_of_folder_can_be_called(
        self, session: Any, make_tool: Any, tmp_path: Path
    ) -> None:
        make_tool("torch-lighter.sh", line('{"type":"done","ok":true,"result":"lit"}'))
        make_tool("door", DONE)
        ran = session.run_script(
            "LET a = CALL torch_lighter {} LET b = CALL door {}", tools=tmp_path
        )
        assert ran.scope == {"a": "lit", "b": None}

    def test_script_uses_session_state(self, session: Any) -> None:
        @session.tool
        def light(context: narratoria.Context) -> None:
            context.patch({"lit": True})

        @session.tool
        def look(context: narratoria.Context) -> bool:
            return bool(context.state["lit"])

        assert session.run_script("CALL light {} LET lit = CALL look {}").scope == {"lit": True}
        assert session.state["lit"] is True


class TestPrinting:
    def test_lines_arrive_while_script_runs(self, session: Any) -> None:
        seen: list[str] = []

        @session.tool(thread=False)
        def count() -> int:
            return len(seen)

        ran = session.run_script(
            'PRINT("a") LET n = CALL count {} PRINT("b")', on_print=seen.append
        )
        assert seen == ran.output == ["a", "b"] and ran.scope == {"n": 1}

    def test_on_print_exception_cancels_script_and_is_raised(self, session: Any) -> None:
        seen: list[str] = []
        session.tool(lambda: 1, name="one")

        def refuse(line: str) -> None:
            seen.append(line)
            raise BrokenPipeError(line)

        with pytest.raises(BrokenPipeError, match="^a$"):
            session.run_script('PRINT("a") PRINT("b") CALL one {} PRINT("c")', on_print=refuse)
        assert seen == ["a"]
        assert session.run_script('PRINT("again")').output == ["again"]

    def test_on_print_interrupt_is_raised(self, session: Any) -> None:
        def interrupt(line: str) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            session.run_script("PRINT(1) " + LONG, ROUNDS, on_print=interrupt)
        assert session.run_script('PRINT("again")').output == ["again"]

    def test_async_on_print_is_refused(self, session: Any) -> None:
        async def show(line: str) -> None: ...

        with pytest.raises(TypeError, match="must not be async"):
            session.run_script("PRINT(1)", on_print=show)
        with pytest.raises(TypeError, match="must be awaited"):
            session.run_script("PRINT(1)", on_print=lambda line: show(line))

    def test_call_that_would_wait_for_itself_is_refused(self, session: Any) -> None:
        @session.tool
        def run() -> None:
            session.run_script("PRINT(1)")

        with pytest.raises(narratoria.ReentrantError):
            session.run_script("PRINT(1)", on_print=lambda line: session.run_script(line))
        with pytest.raises(narratoria.ScriptError, match="wait"):
            session.run_script("CALL run {}")


class TestCancelling:
    def test_cancel_ends_script(self, session: Any) -> None:
        session.tool(session.cancel, name="stop")
        error = fails(session, 'PRINT("a") CALL stop {} PRINT("b")')
        assert error.name == "CancelledError" and error.output == ["a"]
        assert session.run_script("PRINT(1)").output == ["1"]

    def test_other_threads_run_while_script_computes(self, session: Any) -> None:
        begun = threading.Event()

        def cancel() -> None:
            begun.wait(300)
            session.cancel()

        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(narratoria.ScriptError) as raised:
            compute(session, begun)
        thread.join()
        assert raised.value.name == "CancelledError"

    def test_other_thread_cannot_close_session_during_script(self, session: Any) -> None:
        errors: list[BaseException] = []
        begun, tried = threading.Event(), threading.Event()

        def close() -> None:
            begun.wait(300)
            try:
                session.close()
            except narratoria.Error as error:
                errors.append(error)
            tried.set()

        @session.tool
        def wait() -> bool:
            begun.set()
            return tried.wait(300)

        thread = threading.Thread(target=close)
        thread.start()
        assert session.run_script("LET ok = CALL wait {}").scope == {"ok": True}
        thread.join()
        assert [type(error) for error in errors] == [narratoria.BusyError]

    @pytest.mark.parametrize("what", ["computes", "waits"])
    def test_ctrl_c_ends_script(self, session: Any, what: str) -> None:
        begun = threading.Event()

        @session.tool
        async def wait() -> None:
            begun.set()
            await asyncio.Event().wait()

        def interrupt() -> None:
            begun.wait(300)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            if what == "computes":
                compute(session, begun)
            else:
                session.run_script("CALL wait {}")
        thread.join()
        assert session.run_script("PRINT(1)").output == ["1"]


class TestAsyncio:
    async def test_run_script_is_awaited(self) -> None:
        async with aio.Session() as session:

            @session.tool
            async def nap(seconds: float) -> str:
                await asyncio.sleep(seconds)
                return "rested"

            @session.tool
            def think() -> str:
                return "thought"

            seen: list[str] = []
            ran = await session.run_script(
                "LET a = CALL nap {seconds: s} LET b = CALL think {} PRINT(b)",
                {"s": 0.001},
                on_print=seen.append,
            )
            assert ran.scope == {"s": 0.001, "a": "rested", "b": "thought"}
            assert ran.output == seen == ["thought"]

    async def test_loop_continues_while_script_computes(self) -> None:
        async with aio.Session() as session:
            begun, rounds = asyncio.Event(), 0
            script = session.run_script(
                "PRINT(1) " + LONG, ROUNDS, on_print=lambda line: begun.set()
            )
            running = asyncio.create_task(script)
            await begun.wait()
            while not running.done() and rounds < 3:
                await asyncio.sleep(0)
                rounds += 1
            assert rounds == 3
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert (await session.run_script("PRINT(2)")).output == ["2"]

    async def test_waiting_scripts_can_be_dropped_individually(self) -> None:
        async with aio.Session() as session:

            @session.tool
            async def nap() -> None:
                await asyncio.sleep(0.001)

            said: list[str] = []
            scripts = [
                asyncio.create_task(
                    session.run_script(f"CALL nap {{}} PRINT({n})", on_print=said.append)
                )
                for n in range(4)
            ]
            await asyncio.sleep(0)
            scripts[2].cancel()
            await asyncio.gather(*scripts, return_exceptions=True)
            assert said == ["0", "1", "3"]

    async def test_asyncio_errors_are_raised(self) -> None:
        async with aio.Session() as session:
            with pytest.raises(narratoria.ScriptError, match="ParserError"):
                await session.run_script("LET")
            with pytest.raises(narratoria.ScriptError, match="UndefinedVariableError"):
                await session.run_script("PRINT(n)")
            with pytest.raises(ZeroDivisionError):
                await session.run_script("PRINT(1)", on_print=lambda line: 1 // 0)

            @session.tool
            async def again() -> None:
                await session.run_script("PRINT(1)")

            with pytest.raises(narratoria.ScriptError, match="wait"):
                await session.run_script("CALL again {}")
            assert (await session.run_script("PRINT(1)")).output == ["1"]

    async def test_close_ends_running_script(self) -> None:
        session = await aio.Session()
        begun = asyncio.Event()

        @session.tool
        async def wait() -> None:
            begun.set()
            await asyncio.Event().wait()

        running = asyncio.create_task(session.run_script('PRINT("a") CALL wait {}'))
        waiting = asyncio.create_task(session.run_script("PRINT(1)"))
        await begun.wait()
        await session.aclose()
        with pytest.raises(narratoria.ScriptError) as raised:
            await running
        assert raised.value.name == "CancelledError" and raised.value.output == ["a"]
        with pytest.raises(narratoria.GoneError):
            await waiting


class TestTree:
    def test_tree_is_dict(self) -> None:
        tree = narratoria.parse_script("LET n = 1 + x")
        assert tree["kind"] == "Script"
        [let] = tree["statements"]
        assert (let["kind"], let["variableName"], let["line"]) == ("LetStatement", "n", 1)
        assert let["value"]["operator"] == "+" and let["value"]["column"] == 11

    def test_parse_errors_equal_run_errors(self, tmp_path: Path) -> None:
        with pytest.raises(narratoria.ScriptError) as raised:
            narratoria.parse_script("PRINT(1")
        assert raised.value.name == "ParserError" and "^" in raised.value.text
        file = tmp_path / "a.nuwa"
        file.write_text("PRINT(1)", encoding="utf-8")
        assert len(narratoria.parse_script(file)["statements"]) == 1

    def test_unfinished_script_is_marked_incomplete(self) -> None:
        for source, is_incomplete in (("FOR x IN [1] DO", True), ("LET 1", False)):
            with pytest.raises(narratoria.ScriptError) as raised:
                narratoria.parse_script(source)
            assert raised.value.incomplete is is_incomplete

    def test_tree_with_too_many_levels_is_refused(self) -> None:
        with pytest.raises(ValueError, match="more than 1000 levels"):
            narratoria.parse_script("LET n = " + "1 + " * 3000 + "1")


def test_script_is_cancelled_between_printed_lines(session):
    heard = []

    def hear(line):
        heard.append(line)
        session.cancel()

    with pytest.raises(narratoria.ScriptError) as error:
        session.run_script("FOR a IN [1, 2, 3, 4, 5] DO PRINT(a) END", on_print=hear)
    assert error.value.name == "CancelledError"
    assert heard == ["1"]
