# SPDX-License-Identifier: Apache-2.0
# Checks of arguments: the exception names the argument and comes from the call that passed it.
#
# The options are imported inside a function: most sessions set neither times nor limits, and start
# faster without `dataclasses`.

from __future__ import annotations

from os import PathLike, fspath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def text_of(what: str, value: Any) -> str:
    """Checks a text argument, and names it in the exception."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} must not contain a lone surrogate, as at {error.start}") from None
    return value


def path_text(what: str, value: Any) -> str:
    """Checks a path argument, which must be UTF-8."""

    if isinstance(value, PathLike):
        value = fspath(value)
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a path (a str or a Path), not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} must be UTF-8, not {value!r}; rename the file") from None
    return value


def true_or_false(what: str, value: Any) -> bool:
    """Checks a bool argument, and names it in the exception."""
    if not isinstance(value, bool):
        raise TypeError(f"{what} must be True or False, not {value!r}")
    return value


def whole_number(what: str, value: Any, lowest: int, highest: int) -> int:
    """Checks a whole number and its range."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{what} must be an int, not {type(value).__name__}")
    if not lowest <= value <= highest:
        raise ValueError(f"{what} must be a whole number from {lowest} to {highest}, not {value}")
    return value


def numbers_of(what: str, numbers: Any) -> dict[str, int]:
    """Checks an argument `times` or `limits`, and returns the values that are set."""
    if numbers is None:
        return {}
    from narratoria.options import Limits, Times

    kind: type[Times | Limits] = Times if what == "times" else Limits
    if not isinstance(numbers, kind):
        raise TypeError(
            f"{what} must be a narratoria.{kind.__name__}, not {type(numbers).__name__}"
        )
    return numbers.to_dict()


def require_callable(what: str, function: Any) -> None:
    """Refuses a value that is not callable, before the first call would fail."""
    if not callable(function):
        raise TypeError(f"{what} must be a function, not {type(function).__name__}")


def check_tool(function: Any, name: Any, description: Any, thread: Any, repeatable: Any) -> None:
    """Checks the arguments of the decorator `tool`."""
    if not callable(function):
        raise TypeError(
            f"a tool must be a function, not {type(function).__name__}; pass its name and "
            'description as keywords: @session.tool(name="...")'
        )
    for what, text in (("the name of a tool", name), ("the description of a tool", description)):
        if text is not None:
            text_of(what, text)
    for what, value in (("thread", thread), ("repeatable", repeatable)):
        true_or_false(what, value)


def check_timeout(what: str, seconds: float | None) -> float | None:
    """Checks a number of seconds; None means no limit."""
    if seconds is None:
        return None
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        raise TypeError(f"{what} must be a number of seconds or None, not {type(seconds).__name__}")
    if not seconds >= 0:
        raise ValueError(f"{what} must be a number of seconds, at least 0, not {seconds}")
    return seconds


def check_prompt(prompt: str) -> None:
    """Refuses an invalid prompt."""
    text_of("a prompt", prompt)
