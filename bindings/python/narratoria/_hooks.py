# SPDX-License-Identifier: Apache-2.0
# Python functions that the compiled part calls: logging, exceptions, and values to JSON.
#
# Imports inside functions are those that not every session needs, so that it starts faster.

from __future__ import annotations

from os import PathLike

from narratoria import _core, errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from logging import Logger
    from typing import Any

    from narratoria._core import Event

__all__ = [
    "add_body_classes",
    "describe_exception",
    "exception_text",
    "log",
    "log_event",
    "name_of",
    "report_exception",
    "restore_event",
    "to_plain",
]

# NAR_LOG_… to the levels of logging.
_LEVELS = {1: 10, 2: 20, 3: 30, 4: 40}


def _logger() -> Logger:
    import logging

    return logging.getLogger("narratoria")


def log(level: int, message: str) -> None:
    """Logs a line of the library to the logger ``narratoria``."""
    _logger().log(_LEVELS.get(level, 20), "%s", message)


def log_event(event: Event) -> None:
    """Logs an event that reports a problem without an exception, to the same logger."""
    body = event.body
    of = f" ({event.tool_id})" if event.tool_id else ""
    _logger().warning("%s: %s%s", body["code"], body["message"], of)


def report_exception(
    what: str, exception: BaseException, counts: dict[Any, int] | None = None
) -> None:
    """Logs an exception that left a callback; the session continues.

    With ``counts``, a repeated exception from the same place is only counted: a sink that always
    raises would log a traceback for each event. The 10th, 100th … occurrence is logged.
    """
    count = 1
    if counts is not None:
        place = exception.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        if len(counts) > 1000:
            counts.clear()
        at = (place.tb_frame.f_code, place.tb_lineno) if place is not None else None
        count = counts[what, type(exception), at] = counts.get((what, type(exception), at), 0) + 1
    if count == 1:
        _logger().error("%s raised %s", what, _shown(exception), exc_info=exception)
    elif count == 10 ** (len(str(count)) - 1):
        _logger().error("%s raised %s, for the %dth time", what, _shown(exception), count)


def name_of(awaitable: object) -> str:
    """The name of the async function that a coroutine is of."""
    return getattr(awaitable, "__name__", type(awaitable).__name__)


def exception_text(exception: BaseException) -> str:
    """Returns the name and the message of any exception. Never raises."""
    kind = _clean(type(exception).__name__)
    try:
        message = _clean(str(exception))
    except Exception as error:
        return f"{kind} (its text cannot be read: {type(error).__name__})"
    return f"{kind}: {message}" if message else kind


# Exceptions that show a bug in the function. A retry would fail again, after the same side effects.
_BUGS = (
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    NotImplementedError,
    RecursionError,
    SyntaxError,
    TypeError,
    ZeroDivisionError,
)


def _is_bug(exception: BaseException) -> bool:
    misuses = (
        errors.ForkedError,
        errors.GoneError,
        errors.InvalidArgumentError,
        errors.InvalidDocumentError,
        errors.ReentrantError,
        errors.ThreadError,
        errors.UnsupportedError,
    )
    return isinstance(exception, (*_BUGS, *misuses))


def describe_exception(
    exception: BaseException, is_logged: bool = True
) -> tuple[str, str, str, str]:
    """Returns the end of a tool that raised: its last events, the traceback, and the failure's code
    and message. Logs the exception, unless `is_logged` is False. Never raises."""
    from narratoria.tool import ToolError

    if isinstance(exception, ToolError):
        # A controlled failure, reported as for a tool that is a process: without a traceback.
        return _tool_error(exception)
    if is_logged:
        _logger().error("a tool raised %s", _shown(exception), exc_info=exception)
    kind = _clean(type(exception).__name__)
    code, message = "TOOL_EXCEPTION", _message_of(exception)
    lines = _failure(code, message, {"exception": kind}, not _is_bug(exception))
    return lines, _trace(exception), code, message


def _message_of(exception: BaseException) -> str:
    """Returns the exception's own message. A KeyError's is only the key, so its name is added."""
    if isinstance(exception, SystemExit):
        return _clean(f"the tool called sys.exit({exception.code!r})")
    try:
        message = "" if isinstance(exception, KeyError) else _clean(str(exception))
    except Exception:
        message = ""
    return message or exception_text(exception)


def _tool_error(error: Any) -> tuple[str, str, str, str]:
    # A subclass may have set these to anything.
    code = _text_or(getattr(error, "code", None), "TOOL_EXCEPTION")
    message = _text_or(getattr(error, "message", None), _clean(type(error).__name__))
    may_retry = getattr(error, "retry", True) is not False
    try:
        return (
            _failure(code, message, getattr(error, "details", None), may_retry),
            "",
            code,
            message,
        )
    except Exception as reason:
        note = f"the details of {code} are left out, they are not JSON: {exception_text(reason)}"
        _logger().warning("%s", note)
        return _failure(code, message, None, may_retry), note + "\n", code, message


def _text_or(text: Any, otherwise: str) -> str:
    return _clean(text) if isinstance(text, str) and text else otherwise


# The maximum length of a text. A longer one is cut, because the event stream and results keep it.
_LONGEST = 16_384


def _clean(text: str) -> str:
    if len(text) > _LONGEST:
        half = _LONGEST // 2
        text = f"{text[:half]} … ({len(text) - _LONGEST} characters left out) … {text[-half:]}"
    return text.encode("utf-8", "replace").decode()


def _shown(exception: BaseException) -> str:
    try:
        return _clean(repr(exception))
    except Exception:
        return exception_text(exception)


def _trace(exception: BaseException) -> str:
    import traceback

    try:
        return _clean("".join(traceback.format_exception(exception)))
    except Exception as error:
        return f"{exception_text(exception)}\n(no traceback: {type(error).__name__})\n"


def _failure(
    code: str, message: str, details: Mapping[str, Any] | None, may_retry: bool = True
) -> str:
    error: dict[str, Any] = {
        "version": "0",
        "type": "error",
        "errorCode": code,
        "errorMessage": message,
    }
    if details is not None:
        error["details"] = dict(details)
    done: dict[str, Any] = {"version": "0", "type": "done", "ok": False, "summary": message}
    if not may_retry:
        done["retry"] = False
    return f"{_core.to_json(error, to_plain)}\n{_core.to_json(done)}\n"


def _plain_text(value: Any) -> str | None:
    """Returns the text of a date, a time, a path or a UUID; None for any other value."""
    from datetime import date, time
    from uuid import UUID

    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, PathLike):
        path = value.__fspath__()
        return path if isinstance(path, str) else None
    return str(value) if isinstance(value, UUID) else None


def add_body_classes() -> None:
    """Describes the event classes to the compiled part, which creates their objects."""
    from dataclasses import MISSING, fields

    from narratoria import _document, events

    checks: dict[Any, str] = {
        _document.string: "s",
        _document.string_or_null: "n",
        _document.boolean: "b",
        _document.integer: "i",
        _document.mapping: "m",
        _document.anything: "a",
        _document.strings: "t",
        _document.read_level: "l",
    }
    classes: list[Any] = [*events.TOOL_EVENTS.values(), *events.RUNTIME_EVENTS.values()]
    for made in classes:
        defaults = {each.name: each for each in fields(made)}
        described: list[tuple[Any, ...]] = []
        for member in made._members:
            default = defaults[member.attribute]
            is_factory = default.default_factory is not MISSING
            otherwise = default.default_factory if is_factory else default.default
            described.append(
                (
                    member.name,
                    getattr(made, member.attribute),
                    checks.get(member.read, "?"),
                    member.presence == _document.REQUIRED or otherwise is MISSING,
                    member.presence == _document.OPTIONAL,
                    otherwise,
                    is_factory,
                )
            )
        kind, type_ = made.record_kind, getattr(made, "type", "")
        extra = getattr(made, "extra")
        _core.add_body_class(kind, type_, made, made._constants, extra, described)


def restore_event(*state: Any) -> Event:
    """Restores an event from its pickled or copied state."""

    return _core.restore_event(*state)


def to_plain(value: Any) -> Any:
    """Converts a value that is not JSON, by one step; NotImplemented if it has no JSON form.

    The caller converts nested values of the result in the same way.
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
    # pydantic's models, without importing it.
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    plain = _plain_text(value)
    if plain is not None:
        return plain
    mapping: Any = value
    if hasattr(mapping, "keys") and hasattr(mapping, "__getitem__"):
        return dict(mapping)
    return NotImplemented
