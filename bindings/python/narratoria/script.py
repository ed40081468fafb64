# SPDX-License-Identifier: Apache-2.0
"""Nuwa scripts: their results and their syntax trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike, listdir
from os.path import abspath

import narratoria
from narratoria import _core
from narratoria._checks import path_text, require_callable, text_of
from narratoria._hooks import to_plain
from narratoria._invocations import is_async_function, refuse_awaitable
from narratoria._json_object import JsonObject
from narratoria._lazy import typing
from narratoria._plans import lazy_result
from narratoria.errors import ScriptError

__all__ = ["ScriptResult", "parse_script"]


class ScriptResult(JsonObject):
    """The result of a Nuwa script that ran to its end.

    Attributes:
        scope: the variables at the end, including the initial ones.
        output: the printed lines, without newlines.
        result: the execution result of the script's CALLs, or None if it made none.

    >>> import narratoria
    >>> with narratoria.Session() as session:
    ...     session.run_script('LET door = "open" PRINT(door)')
    <ScriptResult 1 line, scope={'door': 'open'}>
    """

    __slots__ = ("output", "result", "scope")

    def __init__(
        self, scope: dict[str, typing.Any], output: list[str], result: narratoria.Result | None
    ) -> None:
        self.scope: dict[str, typing.Any] = scope
        self.output: list[str] = output
        self.result: narratoria.Result | None = result

    def to_dict(self) -> dict[str, typing.Any]:
        """Returns the result as JSON: ``scope``, ``output`` and ``result``.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     session.run_script("PRINT(1 + 1)").to_dict()
        {'scope': {}, 'output': ['2'], 'result': None}
        """
        result = self.result
        return {
            "scope": self.scope,
            "output": list(self.output),
            "result": None if result is None else result.to_dict(),
        }

    def __repr__(self) -> str:
        count = len(self.output)
        scope = repr(self.scope)
        if len(scope) > _SHOWN:
            scope = scope[:_SHOWN] + "…"
        return f"<ScriptResult {count} line{'' if count == 1 else 's'}, scope={scope}>"


# The maximum number of characters of a scope in `repr`.
_SHOWN = 200


def parse_script(source: str | PathLike[str]) -> dict[str, typing.Any]:
    """Returns the syntax tree of a Nuwa script without running it. Thread-safe.

    Each node is a dict with ``kind``, ``line`` and ``column``; docs/nuwa-script.md lists them.

    Args:
        source: the script, or the ``Path`` of its file.

    Raises:
        ScriptError: the script is not valid.
        ValueError: the script is valid, but its tree has more than 1000 levels.

    >>> [each["kind"] for each in parse_script("LET n = 1 PRINT(n)")["statements"]]
    ['LetStatement', 'ExpressionStatement']
    """
    given = _source_of(source)
    try:
        return _core.parse_script(given)
    except ValueError:
        # Nesting has its own, lower limit; a long chain such as 1 + 1 + 1 … reaches this one.
        raise ValueError(
            "the syntax tree has more than 1000 levels; split the longest expression"
        ) from None


def _source_of(source: typing.Any) -> str | bytes:
    if isinstance(source, str):
        return text_of("a script", source)
    if not hasattr(source, "__fspath__"):
        raise TypeError(f"a script must be a str or a Path, not {type(source).__name__}")
    # Read as bytes: the library reports the place of a byte that is not UTF-8.
    with open(path_text("a script", source), "rb") as file:
        return file.read()


def _scope_of(scope: typing.Any) -> str:
    if scope is None:
        return ""
    if not hasattr(scope, "keys"):
        raise TypeError(f"scope must be a dict, not {type(scope).__name__}")
    try:
        return _core.to_json(dict(scope), to_plain)
    except (TypeError, ValueError) as exception:
        raise type(exception)(f"scope is not JSON: {exception}") from None


def _folder_of(tools: typing.Any) -> str:
    if tools is None:
        return ""

    folder = abspath(path_text("tools", tools))
    # Raises if there is no such folder; the script would only find no tools.
    listdir(folder)
    return folder


class ScriptRun:
    """One run of a script. Not for direct use: see Session.run_script."""

    def __init__(
        self,
        core: _core.Session,
        source: str | PathLike[str],
        scope: Mapping[str, typing.Any] | None,
        tools: str | PathLike[str] | None,
        on_print: Callable[[str], object] | None,
    ) -> None:
        self._core = core
        self._source = _source_of(source)
        self._scope = _scope_of(scope)
        self._tools = _folder_of(tools)
        if on_print is not None:
            require_callable("on_print", on_print)
            if is_async_function(on_print):
                raise TypeError("on_print must not be async: it is called, not awaited")
        self._on_print = on_print
        self._output: list[str] = []
        self._raised: Exception | None = None

    def submit(self, ended: Callable[[_core.Ticket], None] | None = None) -> _core.Ticket:
        """Submits the script to the session."""
        printed = self._output.append if self._on_print is None else self._print
        return self._core.run_script(self._source, self._scope, self._tools, printed, ended)

    def _print(self, line: str) -> None:
        self._output.append(line)
        if self._raised is not None or self._on_print is None:
            return
        try:
            answer = self._on_print(line)
            if hasattr(answer, "__await__"):
                raise refuse_awaitable(answer)
        except Exception as exception:
            self._raised = exception
            self._core.cancel()

    def result(self, ticket: _core.Ticket) -> ScriptResult:
        """Returns the result of the script, or raises its error."""
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised

        ended: dict[str, typing.Any] = ticket.value
        scope, error = ended["scope"], ended["error"]
        result = None if ended["result"] is None else lazy_result(ended["result"])
        if error is None:
            return ScriptResult(scope, self._output, result)
        failed = ScriptError(error["text"], details={"error": error})
        failed.output, failed.scope, failed.result = self._output, scope, result
        raise failed
