# SPDX-License-Identifier: Apache-2.0
# What the compiled part asks of Python: where its log goes, and what an exception becomes.

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from logging import Logger
    from typing import Any

__all__ = ["describe_exception", "log", "report_exception", "to_plain"]

# NAR_LOG_…, as logging counts.
_LEVELS = {1: 10, 2: 20, 3: 30, 4: 40}


def _logger() -> Logger:
    import logging

    return logging.getLogger("narratoria")


def log(level: int, message: str) -> None:
    """A line of the library's, to the logger ``narratoria``."""
    _logger().log(_LEVELS.get(level, 20), "%s", message)


def report_exception(what: str, exception: BaseException) -> None:
    """An exception that left a callback: it is logged, and the session goes on."""
    _logger().error("%s raised %r", what, exception, exc_info=exception)


def describe_exception(exception: BaseException) -> tuple[str, str]:
    """The events that a tool ends with which raised this, and the traceback."""
    import contextlib
    import traceback

    from narratoria.tool import ToolError

    if isinstance(exception, ToolError):
        # A failure in good order, told as by a tool that is a process: nobody needs the traceback,
        # unless it cannot be told.
        with contextlib.suppress(TypeError, ValueError):
            return _failure(exception.code, exception.message, exception.details), ""
    trace = "".join(traceback.format_exception(exception))
    _logger().error("a tool raised %r", exception, exc_info=exception)
    kind = type(exception).__name__
    message = f"{kind}: {exception}" if str(exception) else kind
    lines = _failure(
        "TOOL_EXCEPTION", message.encode("utf-8", "replace").decode(), {"exception": kind}
    )
    return lines, trace.encode("utf-8", "replace").decode()


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
