# SPDX-License-Identifier: Apache-2.0
"""What calls of this package raise.

Every error has a ``code`` for programs, which never changes, and a message for people: what
happened, where, and what to do.

>>> import narratoria
>>> with narratoria.Session() as session:
...     try:
...         session.execute({"requestId": "p", "tools": [{"toolId": ""}]})
...     except narratoria.InvalidDocumentError as error:
...         error.code, [fault.pointer for fault in error.faults]
('PLAN', ['/tools/0/toolId', '/tools/0/toolPath'])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from narratoria.documents import Fault

__all__ = [
    "BusyError",
    "Error",
    "ForkedError",
    "GoneError",
    "InvalidArgumentError",
    "InvalidDocumentError",
    "NotFoundError",
    "ReentrantError",
    "SystemRefusedError",
    "ThreadError",
    "UnsupportedError",
]


class Error(Exception):
    """A call that failed.

    Attributes:
        status: the name of the library's status, for example ``"NAR_BUSY"``.
        code: for programs, for example ``"PLAN_CYCLE"``; never translated.
        details: more about it as plain values, or None.

    >>> issubclass(BusyError, Error)
    True
    """

    status = "NAR_FAILED"

    def __init__(self, message: str, *, code: str = "", details: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.details = details

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (type(self), str(self), self.code, self.details))


class InvalidArgumentError(Error, ValueError):
    """An argument is missing or out of range."""

    status = "NAR_INVALID_ARGUMENT"


class InvalidDocumentError(Error, ValueError):
    """A plan, a story, a state or a patch breaks its rules; nothing was started or changed."""

    status = "NAR_INVALID_DOCUMENT"

    @property
    def faults(self) -> list[Fault]:
        """Every fault, in the order of the text: where it is, the rule, and what to do."""
        from narratoria.documents import Fault

        found = self.details if isinstance(self.details, list) else []
        return [Fault.from_dict(each) for each in found]


class NotFoundError(Error, LookupError):
    """What was asked for is not there."""

    status = "NAR_NOT_FOUND"


class BusyError(Error):
    """One prompt may wait while a turn runs, and a session serves one thread at a time."""

    status = "NAR_BUSY"


class ThreadError(Error, RuntimeError):
    """The call belongs on another thread."""

    status = "NAR_WRONG_THREAD"


class ReentrantError(Error, RuntimeError):
    """The call is not allowed inside a callback: a tool, a sink, a handler, a narrator."""

    status = "NAR_REENTRANT"


class ForkedError(Error, RuntimeError):
    """The session was made before a fork; the child makes one of its own."""

    status = "NAR_FORKED"


class GoneError(Error, RuntimeError):
    """The session is closed."""

    status = "NAR_GONE"


class SystemRefusedError(Error, OSError):
    """The operating system refused; the message says what and why."""

    status = "NAR_IO"


class UnsupportedError(Error):
    """The library does not know this version, extension or ability."""

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


def _restored(made: type[Error], message: str, code: str, details: Any) -> Error:
    return made(message, code=code, details=details)


def from_status(status: str, code: str, message: str, details: str) -> BaseException:
    """The exception for a status of the library; ``details`` is JSON, or empty."""
    if status == "NAR_OUT_OF_MEMORY":
        return MemoryError(message)
    parsed = None
    if details:
        import json

        parsed = json.loads(details)
    error = _CLASSES.get(status, Error)(message, code=code, details=parsed)
    error.status = status
    return error
