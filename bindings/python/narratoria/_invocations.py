# SPDX-License-Identifier: Apache-2.0
# One attempt of a function that is a tool: its arguments, its events and its end.
#
# Imports inside functions are those that only some kinds of functions need, such as asyncio and
# threading: a session starts faster without them.

from __future__ import annotations

import time

from narratoria import _core
from narratoria._hooks import describe_exception, to_plain
from narratoria.errors import BusyError, DocumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Task
    from collections.abc import AsyncGenerator, Callable, Generator, Mapping
    from typing import Any

    from narratoria._core import Invocation as OpenInvocation
    from narratoria._function import FunctionDescription


def emit_yielded(invocation: OpenInvocation, event: Any) -> None:
    if event is None:
        return
    if hasattr(event, "to_dict"):
        event = event.to_dict()
    if not hasattr(event, "keys"):
        raise TypeError(
            f"a tool that is a generator must yield events (dicts), not {type(event).__name__}"
        )
    emit_blocking(invocation, event if "version" in event else {"version": "0", **event})


def emit_blocking(invocation: OpenInvocation, event: Mapping[str, Any]) -> bool:
    """Emits an event. On a tool's own thread it blocks until the buffer has room; on other threads
    it raises BusyError. Returns False if the tool has ended."""
    while True:
        try:
            is_taken = invocation.emit(event)
        except BusyError:
            from narratoria._threads import in_tool_thread

            if not in_tool_thread():
                raise
            if invocation.is_cancelled:
                return False

            time.sleep(0.001)
        else:
            if is_taken and "type" in event and event["type"] == "done":
                invocation.is_done = True
            return is_taken


def run_generator(generator: Generator[Any, Any, Any], invocation: OpenInvocation) -> Any:
    refused: Exception | None = None
    while True:
        try:
            # Raises the refusal at the generator's `yield`, where its code can handle it.
            event = next(generator) if refused is None else generator.throw(refused)
        except StopIteration as stop:
            return stop.value
        refused = None
        try:
            emit_yielded(invocation, event)
        except BusyError as error:
            refused = BusyError(
                "a function on the session's own thread cannot emit more than 16 MiB; remove "
                "thread=False, or make it an async generator",
                code=error.code,
            )


async def run_async_generator(
    generator: AsyncGenerator[Any, None], invocation: OpenInvocation
) -> None:
    from contextlib import aclosing

    async with aclosing(generator):
        async for event in generator:
            await _emit_when_possible(emit_yielded, invocation, event)


async def _emit_when_possible(
    emit_yielded: Callable[[OpenInvocation, Any], None], invocation: OpenInvocation, what: Any
) -> None:
    """Emits when there is room. The runtime reads while other tasks run."""
    from asyncio import sleep

    while True:
        try:
            emit_yielded(invocation, what)
            return
        except BusyError:
            await sleep(0.001)


def arguments_of(about: FunctionDescription, tool_input: Any) -> dict[str, Any]:
    try:
        return about.bind(tool_input)
    except DocumentError as fault:
        # A rule that the schema cannot express: the text of a date, a rule of a class.
        from narratoria.tool import ToolError

        raise ToolError("INPUT_INVALID", f"input {fault}", retry=False) from None


def done_line(invocation: OpenInvocation, result: Any) -> str:
    """The last line of a function that returned, or "" if it emitted its own `done`. A result
    beside that is sent anyway, so that the runtime warns that it is not used."""
    if invocation.is_done and result is None:
        return ""
    done: dict[str, Any] = {"version": "0", "type": "done", "ok": True}
    if result is not None:
        done["result"] = result
    return _core.to_json(done, to_plain) + "\n"


def end_failed(
    invocation: OpenInvocation, exception: BaseException, causes: dict[str, BaseException | None]
) -> None:
    """Ends a tool that raised. `causes` has the plans of Session.call() that run: the exception is
    the cause of what the call raises, so it is not logged as well."""
    plan = invocation.request["requestId"]
    is_called = plan in causes
    if is_called:
        causes[plan] = exception
    lines, trace, code, message = describe_exception(exception, not is_called)
    invocation.diagnostics(trace)
    invocation.end(lines, code, message)


def raiser(exception: BaseException) -> Callable[[], None]:
    def throw() -> None:
        raise exception

    return throw


def current_or_none(current_task: Callable[[], Task[Any] | None]) -> Task[Any] | None:
    try:
        return current_task()
    except RuntimeError:
        return None


def is_bare(function: Any) -> bool:
    """True if it is a function made by `def`, without a decorator's wrapper."""
    return hasattr(function, "__code__") and not hasattr(function, "__wrapped__")


def refuse_awaitable(result: Any) -> TypeError:
    close = getattr(result, "close", None)
    if callable(close):
        close()
    return TypeError(
        f"the function is not async, but returned {type(result).__name__}, which must be awaited; "
        "make it an async function, or use functools.wraps in the decorator of an async function"
    )


# CO_COROUTINE and CO_ASYNC_GENERATOR; importing inspect would make the start slower.
_ASYNC_FLAGS = 0x80 | 0x200


def is_async_function(function: Any) -> bool:
    while hasattr(function, "func") and not hasattr(function, "__code__"):
        function = function.func
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(getattr(type(function), "__call__", None), "__code__", None)
    return bool(getattr(code, "co_flags", 0) & _ASYNC_FLAGS)


def takes_parameter(function: Any, name: str) -> bool:
    """True if a function can be called with this keyword."""
    from inspect import signature

    try:
        found = signature(function).parameters.get(name)
    except (TypeError, ValueError):
        return False
    return found is not None and found.kind in (found.POSITIONAL_OR_KEYWORD, found.KEYWORD_ONLY)


def import_for(function: Any) -> None:
    # Imports the modules that async functions need before they are called: Ctrl-C during an import
    # would leave a half-initialized module.
    if is_async_function(function):
        from importlib import import_module

        import_module("narratoria._inside")
        import_module("narratoria._private_loop")
        import_module("narratoria.documents")
