# SPDX-License-Identifier: Apache-2.0
# What the compiled part asks of Python: where its log goes, and what an exception becomes.

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from logging import Logger
    from typing import Any

    from narratoria._core import Event

__all__ = [
    "describe_exception",
    "exception_text",
    "log",
    "log_event",
    "report_exception",
    "to_plain",
]

# NAR_LOG_…, as logging counts.
_LEVELS = {1: 10, 2: 20, 3: 30, 4: 40}


def _logger() -> Logger:
    import logging

    return logging.getLogger("narratoria")


def log(level: int, message: str) -> None:
    """A line of the library's, to the logger ``narratoria``."""
    _logger().log(_LEVELS.get(level, 20), "%s", message)


def log_event(event: Event) -> None:
    """What went wrong in a session without being anybody's exception, to the same logger."""
    body = event.body
    of = f" ({event.tool_id})" if event.tool_id else ""
    _logger().warning("%s: %s%s", body["code"], body["message"], of)


def report_exception(what: str, exception: BaseException) -> None:
    """An exception that left a callback: it is logged, and the session goes on."""
    _logger().error("%s raised %s", what, _shown(exception), exc_info=exception)


def exception_text(exception: BaseException) -> str:
    """Its name and its message, whatever it is: this cannot fail."""
    kind = _clean(type(exception).__name__)
    try:
        message = _clean(str(exception))
    except Exception as another:
        return f"{kind} (its text cannot be read: {type(another).__name__})"
    return f"{kind}: {message}" if message else kind


def describe_exception(exception: BaseException) -> tuple[str, str]:
    """The events that a tool ends with which raised this, and the traceback. This cannot fail."""
    from narratoria.tool import ToolError

    if isinstance(exception, ToolError):
        # A failure in good order, told as by a tool that is a process: nobody needs the traceback.
        return _tool_error(exception)
    _logger().error("a tool raised %s", _shown(exception), exc_info=exception)
    kind = _clean(type(exception).__name__)
    return _failure("TOOL_EXCEPTION", exception_text(exception), {"exception": kind}), _trace(
        exception
    )


def _tool_error(error: Any) -> tuple[str, str]:
    # A class of a user's own may have made of these what it liked.
    code = _text_or(getattr(error, "code", None), "TOOL_EXCEPTION")
    message = _text_or(getattr(error, "message", None), _clean(type(error).__name__))
    try:
        return _failure(code, message, getattr(error, "details", None)), ""
    except Exception as reason:
        note = f"the details of {code} are left out, they are no JSON: {exception_text(reason)}"
        _logger().warning("%s", note)
        return _failure(code, message, None), note + "\n"


def _text_or(text: Any, otherwise: str) -> str:
    return _clean(text) if isinstance(text, str) and text else otherwise


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _shown(exception: BaseException) -> str:
    try:
        return repr(exception)
    except Exception:
        return exception_text(exception)


def _trace(exception: BaseException) -> str:
    import traceback

    try:
        return _clean("".join(traceback.format_exception(exception)))
    except Exception as another:
        return f"{exception_text(exception)}\n(no traceback: {type(another).__name__})\n"


def _failure(code: str, message: str, details: Mapping[str, Any] | None) -> str:
    from narratoria import _core

    error: dict[str, Any] = {
        "version": "0",
        "type": "error",
        "errorCode": code,
        "errorMessage": message,
    }
    if details is not None:
        error["details"] = dict(details)
    done = {"version": "0", "type": "done", "ok": False, "summary": message}
    return f"{_core.to_json(error, to_plain)}\n{_core.to_json(done)}\n"


def to_plain(value: Any) -> Any:
    """One step from a value that is none of JSON's to one that may be; NotImplemented: there is none.

    What is inside of it is asked for again.
    """
    from dataclasses import fields, is_dataclass
    from enum import Enum

    to_dict = getattr(value, "to_dict", None)
    if callable(to_dict) and not isinstance(value, type):
        return to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, Enum):
        return value.value
    mapping: Any = value
    if hasattr(mapping, "keys") and hasattr(mapping, "__getitem__"):
        return dict(mapping)
    return NotImplemented
