# SPDX-License-Identifier: Apache-2.0
# Python functions as tools: their registration and their calls.
#
# Imports inside functions are those that not every session needs, so that it starts faster.

from __future__ import annotations

from collections.abc import Callable

import narratoria
from narratoria._checks import check_tool
from narratoria._core import Invocation as OpenInvocation
from narratoria._core import Session as CoreSession
from narratoria._hooks import report_exception
from narratoria._invocations import (
    arguments_of,
    current_or_none,
    done_line,
    end_failed,
    import_for,
    is_bare,
    raiser,
    refuse_awaitable,
    run_async_generator,
    run_generator,
)
from narratoria._lazy import _function, _type_variables, typing
from narratoria._session_base import SessionBase
from narratoria.errors import Error, GoneError
from narratoria.state import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import overload
else:

    def overload(function):
        return function


class ToolFunctions(SessionBase):
    """The tools of a session that are Python functions."""

    @overload
    def tool(self, function: _type_variables.Function, /) -> _type_variables.Function: ...

    @overload
    def tool(  # noqa: F811 (overload is not typing's own here)
        self,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        thread: bool = True,
        repeatable: bool = True,
    ) -> Callable[[_type_variables.Function], _type_variables.Function]: ...

    def tool(  # noqa: F811
        self,
        function: _type_variables.Function | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        thread: bool = True,
        repeatable: bool = True,
    ) -> _type_variables.Function | Callable[[_type_variables.Function], _type_variables.Function]:
        """Makes a function a tool that plans name by its name: ``"toolPath": "weather"``.

        Its parameters are the tool's input, and their annotations are the schema: bool, int, float,
        str, None, Any, list, dict, tuple, Literal, Enum, TypedDict, dataclass, ``X | None``. An
        input that violates the schema fails the attempt with ``INPUT_INVALID``. The return value
        is the tool's ``result``. An exception fails the attempt, with the traceback in its
        diagnostics and in the log; a :class:`narratoria.ToolError` fails it without a traceback.
        The function may be async, or a generator that yields events (dicts); the value that a
        generator returns is the ``result``, and an async generator, which cannot return one, yields
        ``{"type": "done", "ok": True, "result": …}``. A parameter with the
        annotation :class:`Context` receives one. A function replaces a tool of the same name that
        Python registered; a plugin's tool must be removed first, with ``session.tools.remove``.

        A function that is not async runs in its own thread, concurrently with everything else.
        It may use the state and the session as usual. At its timeout the attempt ends, but the
        thread continues until the function returns; the function can check
        ``context.is_cancelled``.

        Args:
            name: overrides the function's name; letters, digits, ``_`` and ``-``.
            description: for narrators; overrides the docstring's first paragraph. The docstring's
                section ``Args:`` describes the parameters that have no other description.
            thread: False runs a function that is not async on the session's own thread, where it
                blocks everything else. Use it for functions that are quick or bound to one thread.
                Such a function has no time limit.
            repeatable: False if running the function twice may do harm. A turn that was interrupted
                while it ran is then resumed only with ``repeat=True``.

        Raises:
            TypeError: the argument is not a function, or a parameter has no schema; the message
                names it.
            ValueError: the name is too long or has other characters; a ``lambda`` has no name.
            InvalidArgumentError: a plugin has a tool of this name.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.tool
        ...     def roll(sides: int = 6) -> int:
        ...         "Rolls a die."
        ...         return min(sides, 4)
        ...     result = session.execute({"requestId": "p", "tools": [
        ...         {"toolId": "r", "toolPath": "roll", "input": {"sides": 20}}]})
        ...     result["r"].result
        4
        """
        if function is None:
            return lambda given: self.tool(  # type: ignore[call-overload]
                given, name=name, description=description, thread=thread, repeatable=repeatable
            )
        check_tool(function, name, description, thread, repeatable)
        import_for(function)
        from narratoria._function import describe

        about = describe(function, name=name, description=description)
        about.repeatable = repeatable
        self._register(about, thread)
        return function

    @property
    def tools(self) -> narratoria.Tools:
        """The tools of the session by name, a live view: to list, look up, register and remove.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.tool
        ...     def roll(sides: int = 6) -> int:
        ...         "Rolls a die."
        ...         return min(sides, 4)
        ...     {name: tool.description for name, tool in session.tools.items()}
        {'roll': 'Rolls a die.'}
        """
        from narratoria.registry import Tools

        return Tools(self, self._use)

    def use(self, tool: narratoria.Toolset | Callable[..., typing.Any]) -> None:
        """Adds a function as a tool, or all tools of a :class:`narratoria.Toolset`, which any number
        of sessions may share. Tools added to the toolset later are not added to this session.

        Raises:
            TypeError: the argument is neither; and as for :meth:`tool`.
            ValueError, InvalidArgumentError: as for :meth:`tool`.

        >>> import narratoria
        >>> dice = narratoria.Toolset()
        >>> @dice.tool
        ... def roll(sides: int = 6) -> int:
        ...     return min(sides, 4)
        >>> with narratoria.Session(tools=[dice]) as session:
        ...     session.call("roll", sides=20)
        4
        """
        from narratoria.toolset import Toolset

        if not isinstance(tool, Toolset):
            if not callable(tool):
                raise TypeError(
                    f"a tool must be a function or a narratoria.Toolset, not {type(tool).__name__}"
                )
            self.tool(tool)
            return
        for about, thread in tool.described:
            import_for(about.function)
            self._register(about, thread)

    def _register(self, about: _function.FunctionDescription, thread: bool) -> None:
        function = about.function
        is_plain = not about.is_async and not about.is_generator and not about.context_parameter
        # Only a bare function: a decorated one may return anything, also an awaitable.
        if is_plain and not thread and is_bare(function):

            def run_plain(tool_input: dict[str, typing.Any]) -> typing.Any:
                result = function(**arguments_of(about, tool_input))
                if hasattr(result, "__await__"):
                    raise refuse_awaitable(result)
                return result

            call: Callable[[typing.Any], typing.Any] = run_plain
        else:
            is_plain = False

            def run_open(invocation: OpenInvocation) -> None:
                self._run_tool(function, about, invocation, thread)

            call = run_open
        if thread and not about.is_async and self._tool_threads is None:
            from narratoria._threads import ToolThreads

            self._tool_threads = ToolThreads()
        # An async tool takes no job slot, unless the caller has set `jobs`.
        waits = about.is_async and not self._has_jobs
        self._use().add_tool(
            about.name,
            about.description,
            about.input_schema,
            about.result_schema,
            call,
            is_plain,
            waits,
            about.repeatable,
        )

    def _run_tool(
        self,
        function: Callable[..., typing.Any],
        about: _function.FunctionDescription,
        invocation: OpenInvocation,
        thread: bool,
    ) -> None:
        def use() -> CoreSession:
            blocks = not about.is_async and not thread
            if self._core.is_own_thread or blocks or not invocation.is_open:
                there = self._use()
                # Elsewhere, EngineCalls does this.
                if there is self._core:
                    invocation.deliver_output()
                return there
            # The tool's own thread, or a thread that the tool has started.
            from narratoria._threads import EngineCalls, current_calls

            calls: typing.Any = current_calls(self._core) or EngineCalls(self._core, invocation)
            elsewhere: CoreSession = calls
            return elsewhere

        def call() -> typing.Any:
            made = arguments_of(about, invocation.request["input"])
            if about.context_parameter:
                from narratoria.context import Context

                made[about.context_parameter] = Context(
                    invocation, State(self._core, use, self._changed, invocation)
                )
            return function(**made)

        if about.is_async:
            self._spawn_tool(call, about.is_generator, invocation)
        elif thread and self._tool_threads is not None:
            self._tool_threads.start(
                about.name, lambda: self._run_in_thread(call, about, invocation)
            )
        else:
            self._run_here(call, about.is_generator, invocation, self._spawn_tool)

    def _run_in_thread(
        self,
        call: Callable[[], typing.Any],
        about: _function.FunctionDescription,
        invocation: OpenInvocation,
    ) -> None:
        from narratoria._threads import EngineCalls

        def spawn(call: Callable[[], typing.Any], is_generator: bool, of: OpenInvocation) -> None:
            self._core.post(lambda: self._spawn_tool(call, is_generator, of))

        with EngineCalls(self._core, invocation) as calls:
            try:
                self._run_here(call, about.is_generator, invocation, spawn)
            except BaseException as exception:
                # Raise it from the call that drives the session.
                invocation.end("", "TOOL_EXCEPTION", "the function was interrupted")
                if exception is calls.raised:
                    return
                try:
                    self._core.post(raiser(exception))
                except Error:
                    # The session is closed, so no call drives it.
                    report_exception("a tool", exception)

    def _run_here(
        self,
        call: Callable[[], typing.Any],
        is_generator: bool,
        invocation: OpenInvocation,
        spawn: Callable[[Callable[[], typing.Any], bool, OpenInvocation], None],
    ) -> None:
        try:
            result = call()
            if is_generator:
                result = run_generator(result, invocation)
            if hasattr(result, "__await__"):
                spawn(lambda: result, False, invocation)
                return
            lines = done_line(invocation, result)
        except Exception as exception:
            if isinstance(exception, GoneError) and invocation.is_cancelled:
                # A cancelled tool used the session.
                invocation.end()
            else:
                end_failed(invocation, exception, self._causes)
            return
        except BaseException as exception:
            from narratoria._threads import in_tool_thread

            if isinstance(exception, SystemExit) and in_tool_thread():
                end_failed(invocation, exception, self._causes)
                return
            # On the session's own thread, a signal handler may have raised SystemExit.
            invocation.end("", "TOOL_EXCEPTION", "the function was interrupted")
            raise
        invocation.end(lines)

    def _spawn_tool(
        self, call: Callable[[], typing.Any], is_generator: bool, invocation: OpenInvocation
    ) -> None:
        from asyncio import CancelledError, current_task

        from narratoria._inside import inside

        async def run() -> None:
            task = current_task()
            try:
                with inside(self._core):
                    result = None
                    if is_generator:
                        await run_async_generator(call(), invocation)
                    else:
                        result = await call()
                    invocation.end(done_line(invocation, result))
            except CancelledError as exception:
                # The function raised it itself: an ordinary failure.
                if not invocation.is_cancelled and not self._core.is_closed:
                    end_failed(invocation, exception, self._causes)
            except (KeyboardInterrupt, SystemExit):
                # A signal handler may have raised it. It leaves the loop, and is raised by the call that runs the loop.
                raise
            except BaseException as exception:
                if (
                    isinstance(exception, GeneratorExit)
                    and current_or_none(current_task) is not task
                ):
                    # Not raised by the function: the task is being destroyed.
                    raise
                end_failed(invocation, exception, self._causes)
            finally:
                invocation.end()

        # `end` is passed because a task that is cancelled before its first step runs no `finally`.
        self._spawn(run(), invocation.request["tool"], invocation, invocation.end)
