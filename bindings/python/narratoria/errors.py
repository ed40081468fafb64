# SPDX-License-Identifier: Apache-2.0
"""The exceptions of this package.

Every :class:`Error` has a stable ``code`` for programs, and a message for people: what happened,
where, and what to do. Reading a dict into a class can raise a :class:`DocumentError`.

>>> import narratoria
>>> with narratoria.Session() as session:
...     try:
...         session.execute({"requestId": "p", "tools": [{"toolId": ""}]})
...     except narratoria.InvalidDocumentError as error:
...         error.code, [fault.pointer for fault in error.faults]
('PLAN', ['/tools/0/toolId', '/tools/0/toolPath'])
"""

from __future__ import annotations

# Imports inside functions are those that only some exceptions need: a session starts faster.
import narratoria
from narratoria._document_error import DocumentError
from narratoria._lazy import typing

__all__ = [
    "BusyError",
    "DocumentError",
    "Error",
    "ForkedError",
    "GoneError",
    "InvalidArgumentError",
    "InvalidDocumentError",
    "NarratoriaWarning",
    "NotFoundError",
    "PlanFailedError",
    "ReentrantError",
    "ScriptError",
    "SystemRefusedError",
    "ThreadError",
    "UnsupportedError",
]


class Error(Exception):
    """A call that failed.

    Attributes:
        status: the name of the library's status, for example ``"NAR_BUSY"``.
        code: for programs, for example ``"PLAN_CYCLE"``; never translated.
        details: further information as plain values, or None.

    >>> issubclass(BusyError, Error)
    True
    """

    status = "NAR_FAILED"

    def __init__(self, message: str, *, code: str = "", details: typing.Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.details = details

    def __reduce__(self) -> tuple[typing.Any, ...]:
        return (_restored, (type(self), str(self), self.code, self.details))


class NarratoriaWarning(UserWarning):
    """A probable mistake that the session accepts: a misspelled member of a plan, or a function
    that did not end when its session was closed.

    >>> issubclass(NarratoriaWarning, UserWarning)
    True
    """


class PlanFailedError(Error):
    """A plan failed. Raised by :meth:`narratoria.Result.raise_on_failure` and
    :meth:`narratoria.Session.call`.

    Attributes:
        code: the error code of the first tool that failed, for example ``"TIMEOUT"``.
        result: the execution result.

    >>> import narratoria
    >>> with narratoria.Session() as session:
    ...     @session.tool
    ...     def descend() -> None:
    ...         raise narratoria.ToolError("DARK", "It is too dark.", retry=False)
    ...     try:
    ...         session.call("descend")
    ...     except narratoria.PlanFailedError as error:
    ...         error.code, error.result["descend"].state
    ('DARK', 'failed')
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        details: typing.Any = None,
        result: narratoria.Result | None = None,
    ) -> None:
        super().__init__(message, code=code, details=details)
        self.result: typing.Any = result

    def __reduce__(self) -> tuple[typing.Any, ...]:
        return (_restored_failure, (type(self), str(self), self.code, self.details, self.result))


class ScriptError(Error):
    """A Nuwa script is not valid, or it failed while it ran. The text shows the place.

    Attributes:
        name: the kind of error, for example ``"ParserError"`` (docs/nuwa-script.md lists them).
        message: what happened.
        line, column: the place, from 1; None if the error has no place in the source.
        incomplete: whether the source is valid so far and more text could complete it; only
            ``parse_script`` sets it.
        text: the error, and the source line with a caret below the place; also ``str(error)``.
        output: the lines printed before the failure, without newlines.
        scope: the variables at the failure; ``{}`` if the script is not valid.
        result: the execution result of the script's CALLs, or None if it made none.

    >>> import narratoria
    >>> with narratoria.Session() as session:
    ...     try:
    ...         session.run_script("LET n = 1\\nPRINT(n + who)")
    ...     except narratoria.ScriptError as error:
    ...         print(error)
    ...         error.name, error.line, error.column, error.scope
    UndefinedVariableError: Variable 'who' not defined.
      2 | PRINT(n + who)
        |           ^
    ('UndefinedVariableError', 2, 11, {'n': 1})
    """

    def __init__(self, message: str, *, code: str = "SCRIPT", details: typing.Any = None) -> None:
        text = message.rstrip("\n")
        super().__init__(text, code=code, details=details)
        error: dict[str, typing.Any] = (details or {}).get("error", {})
        self.name: str = error.get("name", "")
        self.message: str = error.get("message", text)
        self.line: int | None = error.get("line") or None
        self.column: int | None = error.get("column") or None
        self.incomplete: bool = bool(error.get("incomplete"))
        self.text: str = text
        self.output: list[str] = []
        self.scope: dict[str, typing.Any] = {}
        self.result: narratoria.Result | None = None

    def __reduce__(self) -> tuple[typing.Any, ...]:
        ran = (self.output, self.scope, self.result)
        return (_restored_script_error, (type(self), str(self), self.code, self.details, ran))


class InvalidArgumentError(Error, ValueError):
    """An argument is missing or out of range.

    >>> import narratoria
    >>> with narratoria.Session(narrator=lambda request: "Yes?") as session:
    ...     try:
    ...         session.play("")
    ...     except narratoria.InvalidArgumentError as error:
    ...         error.status
    'NAR_INVALID_ARGUMENT'
    """

    status = "NAR_INVALID_ARGUMENT"


class InvalidDocumentError(Error, ValueError):
    """A plan, a story, a state or a patch is invalid; nothing was started or changed.

    >>> import narratoria
    >>> with narratoria.Session() as session:
    ...     try:
    ...         session.execute({"requestId": "p"})
    ...     except narratoria.InvalidDocumentError as error:
    ...         print(error.faults[0].message)
    "tools" is missing...
    """

    status = "NAR_INVALID_DOCUMENT"

    @property
    def faults(self) -> list[narratoria.Fault]:
        """All faults, in the order of the text: the place, the violated rule, and what to do."""
        from narratoria._fault import Fault

        found: list[dict[str, typing.Any]] = self.details or []
        return [Fault.from_dict(each) for each in found]


class NotFoundError(Error, LookupError):
    """There is no such object or value.

    >>> import narratoria
    >>> with narratoria.Session(state={"door": "shut"}) as session:
    ...     try:
    ...         session.state.at("/window")
    ...     except narratoria.NotFoundError:
    ...         print("there is no window")
    there is no window
    """

    status = "NAR_NOT_FOUND"


class BusyError(Error):
    """A prompt is already waiting for the running turn, or another thread uses the session.

    >>> import asyncio, narratoria
    >>> async def main():
    ...     async with narratoria.aio.Session(narrator=lambda request: "Yes?") as session:
    ...         turns = [asyncio.create_task(session.play("Hello")) for _ in range(3)]
    ...         return await asyncio.gather(*turns, return_exceptions=True)
    >>> [type(turn).__name__ for turn in asyncio.run(main())]
    ['Turn', 'Turn', 'BusyError']
    """

    status = "NAR_BUSY"


class ThreadError(Error, RuntimeError):
    """The call is not allowed on this thread.

    >>> issubclass(ThreadError, RuntimeError)
    True
    """

    status = "NAR_WRONG_THREAD"


class ReentrantError(Error, RuntimeError):
    """The call is not allowed inside a callback: a tool, a sink, a handler, a narrator.

    >>> import narratoria
    >>> with narratoria.Session() as session:
    ...     @session.narrator
    ...     def echo(request):
    ...         try:
    ...             session.play(request.prompt.text)
    ...         except narratoria.ReentrantError:
    ...             return "No echo of an echo."
    ...     session.play("Hello").narrative
    'No echo of an echo.'
    """

    status = "NAR_REENTRANT"


class ForkedError(Error, RuntimeError):
    """The session was created before a fork; create a new one in the child process.

    >>> import narratoria, os
    >>> session = narratoria.Session()
    >>> child = os.fork()
    >>> if child == 0:
    ...     try:
    ...         session.state.to_dict()
    ...     except narratoria.ForkedError:
    ...         os._exit(7)
    >>> os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    7
    >>> session.close()
    """

    status = "NAR_FORKED"


class GoneError(Error, RuntimeError):
    """The session is closed.

    >>> import narratoria
    >>> with narratoria.Session() as session:
    ...     pass
    >>> try:
    ...     session.execute({"requestId": "p", "tools": []})
    ... except narratoria.GoneError as error:
    ...     error.status
    'NAR_GONE'
    """

    status = "NAR_GONE"


class SystemRefusedError(Error, OSError):
    """The operating system reported an error; the message says which.

    >>> issubclass(SystemRefusedError, OSError)
    True
    """

    status = "NAR_IO"


class UnsupportedError(Error):
    """The library does not support this version, extension or feature.

    >>> UnsupportedError("no such extension").status
    'NAR_UNSUPPORTED'
    """

    status = "NAR_UNSUPPORTED"


_CLASSES: dict[str, type[Error]] = {
    made.status: made
    for made in (
        InvalidArgumentError,
        InvalidDocumentError,
        NotFoundError,
        BusyError,
        ThreadError,
        ReentrantError,
        ForkedError,
        GoneError,
        SystemRefusedError,
        UnsupportedError,
    )
}


def _restored(made: type[Error], message: str, code: str, details: typing.Any) -> Error:
    return made(message, code=code, details=details)


def _restored_failure(
    made: type[PlanFailedError], message: str, code: str, details: typing.Any, result: typing.Any
) -> PlanFailedError:
    return made(message, code=code, details=details, result=result)


def _restored_script_error(
    made: type[ScriptError],
    text: str,
    code: str,
    details: typing.Any,
    ran: tuple[typing.Any, typing.Any, typing.Any],
) -> ScriptError:
    error = made(text, code=code, details=details)
    error.output, error.scope, error.result = ran
    return error


def from_status(status: str, code: str, message: str, details: str) -> BaseException:
    """Returns the exception for a status of the library; ``details`` is JSON or empty."""
    if status == "NAR_OUT_OF_MEMORY":
        return MemoryError(message)
    if status == "NAR_REENTRANT" and "nar_" in message:
        # The library's message names C functions; this one is for Python.
        message = (
            "this call is not allowed in a function that the session calls on its own thread (a sink, a "
            "handler or a narrator that is not async, a tool with thread=False); make it in an async "
            "function, in a tool that runs in its own thread, or after play or execute has returned"
        )
    parsed = None
    if details:
        import json

        parsed = json.loads(details)
    made = ScriptError if code == "SCRIPT" else _CLASSES.get(status, Error)
    error = made(message, code=code, details=parsed)
    error.status = status
    return error
