# SPDX-License-Identifier: Apache-2.0
"""A Python tool's access to its session while the tool runs."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from warnings import warn

# What loads the compiled part is imported inside a function: a module of tools that names Context
# does not need it.
import narratoria
from narratoria._checks import path_text
from narratoria._lazy import _core, typing
from narratoria.errors import GoneError, NarratoriaWarning

__all__ = ["Context"]

_LEVELS = ("debug", "info", "warn", "error")


def _text(what: str, value: typing.Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a str, not {type(value).__name__}")
    if not value:
        raise ValueError(f"{what} must not be empty")
    return value


class Context:
    """Emits the events of a tool that is a Python function. A parameter with this annotation
    receives one. It is thread-safe: a tool may give it to threads of its own. In an async function,
    await these threads, as in ``await asyncio.to_thread(...)``: the state is read on the loop's
    thread. A function with ``thread=False`` blocks the session; there, other threads can only emit.

    >>> import narratoria
    >>> with narratoria.Session() as session:
    ...     @session.tool
    ...     def rain(hours: int, context: narratoria.Context) -> None:
    ...         context.log(f"raining for {hours} hours")
    ...         context.patch({"weather": "rain"})
    ...     result = session.execute({"requestId": "p", "tools": [
    ...         {"toolId": "r", "toolPath": "rain", "input": {"hours": 2}}]})
    ...     session.state["weather"]
    'rain'
    """

    __narratoria_context__: typing.ClassVar[bool] = True
    __slots__ = ("_invocation", "_state")

    def __init__(self, invocation: _core.Invocation, state: narratoria.State) -> None:
        self._invocation = invocation
        self._state = state

    @property
    def request(self) -> dict[str, typing.Any]:
        """The request, as a process reads it from standard input: requestId, tool, operation,
        input, dependencies, results."""
        return self._invocation.request

    @property
    def dependencies(self) -> dict[str, typing.Any]:
        """The output of each dependency by toolId; None for an optional tool that failed."""
        return dict(self.request["dependencies"])

    @property
    def state(self) -> narratoria.State:
        """The session's state, with the patches that this tool has made so far. Changes of it are
        patches of this tool."""
        return self._state

    @property
    def is_cancelled(self) -> bool:
        """True if the tool was cancelled or timed out. An async function's task is cancelled too; a
        function in a thread should return soon. With ``thread=False`` this is always False."""
        return self._invocation.is_cancelled

    def emit(self, event: Mapping[str, typing.Any]) -> None:
        """Emits an event unchanged, with ``version`` added. The methods below are shorter. An event
        after the end of the tool is dropped, with a :class:`narratoria.NarratoriaWarning` unless
        the tool was cancelled. A change of the state is not dropped silently.

        Raises:
            ValueError, TypeError: it is not JSON.
            BusyError: 16 MiB of this tool's events are unread. In an async function, await
                something and retry. A function in its own thread waits instead.
            GoneError: it is a ``state_patch``, and the tool has ended or was cancelled.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.tool
        ...     def bell(context: narratoria.Context) -> None:
        ...         context.emit({"type": "log", "level": "info", "message": "ding"})
        ...     _ = session.add_sink(lambda event: print(event.data), ["tool_event"])
        ...     _ = session.execute({"requestId": "p", "tools": [
        ...         {"toolId": "b", "toolPath": "bell"}]})
        Log(message='ding', level='info')
        Done(ok=True)
        """
        if not hasattr(event, "keys"):
            raise TypeError(f"an event must be a dict, not {type(event).__name__}")
        self._emit(event)

    def _emit(self, event: Mapping[str, typing.Any]) -> None:
        line = event if "version" in event else {"version": "0", **event}
        from narratoria._invocations import emit_blocking

        if emit_blocking(self._invocation, dict(line)):
            return
        if event.get("type") == "state_patch":
            raise GoneError(
                "the tool has ended and can no longer change the state", code="TOOL_ENDED"
            )
        if self.is_cancelled:
            return

        # stacklevel: the caller of the public method.
        warn(
            f"a {event.get('type', 'event')} event was dropped: the tool has ended",
            NarratoriaWarning,
            stacklevel=3,
        )

    def log(self, message: str, level: str = "info", **fields: typing.Any) -> None:
        """Emits a log message. ``level``: debug, info, warn or error.

        Raises:
            TypeError, ValueError: the message is not a str or is empty, or the level is unknown.

        >>> def fish(context: Context) -> None:
        ...     context.log("The line is torn.", "warn", pounds=12)
        """
        if level not in _LEVELS:
            raise ValueError(f'level must be "debug", "info", "warn" or "error", not {level!r}')
        event: dict[str, typing.Any] = {
            "type": "log",
            "level": level,
            "message": _text("message", message),
        }
        if fields:
            event["fields"] = fields
        self._emit(event)

    def progress(self, fraction: float, message: str = "", level: str = "info") -> None:
        """Reports progress from 0 to 1 (values outside are clamped), shown as a bar. The default
        message is the percentage.

        Raises:
            ValueError: ``fraction`` is NaN.

        >>> def dig(metres: int, context: Context) -> None:
        ...     for metre in range(metres):
        ...         context.progress(metre / metres, f"{metre} m deep")
        """
        if not isinstance(fraction, (int, float)):
            raise TypeError(f"fraction must be a number, not {type(fraction).__name__}")
        if fraction != fraction:
            raise ValueError("fraction must be a number from 0 to 1, not NaN")
        shown = min(max(fraction, 0.0), 1.0)
        self.log(message or f"{shown * 100:.0f} %", level, progress=shown)

    def patch(self, patch: Mapping[str, typing.Any]) -> None:
        """Merges into the state: objects recursively, lists replaced, None removes (RFC 7396).

        Raises:
            ValueError, TypeError: it is not JSON.
            GoneError: the tool has ended, or was cancelled.

        >>> def douse(context: Context) -> None:
        ...     context.patch({"torch": {"lit": False, "hours": None}})
        """
        if not hasattr(patch, "keys"):
            raise TypeError(f"a patch must be a dict, not {type(patch).__name__}")
        self._emit({"type": "state_patch", "patch": dict(patch)})

    def set_state(
        self,
        key: str,
        value: typing.Any,
        metadata: narratoria.StateMetadata | Mapping[str, typing.Any] | str | None = None,
    ) -> None:
        """Sets a key of the state at once. The value, which may be None, replaces the previous one.

        It is a patch of this tool, like those of :meth:`patch`, and follows the events emitted so
        far. ``metadata`` describes the key.

        Raises:
            ValueError, TypeError: it is not JSON.
            GoneError: the tool has ended, or was cancelled.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.tool
        ...     def pay(coins: int, context: narratoria.Context) -> int:
        ...         context.set_state("gold", (context.get_state_value("gold") or 9) - coins)
        ...         return context.get_state_value("gold")
        ...     session.execute({"requestId": "p", "tools": [
        ...         {"toolId": "t", "toolPath": "pay", "input": {"coins": 2}}]})["t"].result
        7
        """
        self._state.set(key, value, metadata)

    def get_state_value(self, key: str) -> typing.Any:
        """Returns the value of a key of the state; None if there is no such key.

        >>> def examine(context: Context) -> None:
        ...     lit = context.get_state_value("torchLit")
        """
        return self._state.get(key)

    def has_state(self, key: str) -> bool:
        """True if the state has this key.

        >>> def examine(context: Context) -> None:
        ...     if not context.has_state("torch"): ...
        """
        return key in self._state

    def get_all_state(self) -> dict[str, typing.Any]:
        """Returns a copy of the whole state.

        >>> def examine(context: Context) -> None:
        ...     keys = list(context.get_all_state())
        """
        return self._state.to_dict()

    def clear_state(self) -> None:
        """Removes all keys and all metadata, as a patch of this tool.

        Raises:
            GoneError: the tool has ended, or was cancelled.

        >>> def forget(context: Context) -> None:
        ...     context.clear_state()
        """
        self._state.clear()

    def get_state_metadata(self, key: str) -> narratoria.StateMetadata | None:
        """Returns the metadata of a key of the state, or None.

        >>> def examine(context: Context) -> None:
        ...     known = context.get_state_metadata("torch")
        """
        return self._state.metadata(key)

    def get_all_state_metadata(self) -> dict[str, narratoria.StateMetadata]:
        """Returns the metadata of all keys of the state.

        >>> def examine(context: Context) -> None:
        ...     known = context.get_all_state_metadata()
        """
        return self._state.all_metadata()

    def register_state_metadata(
        self, key: str, metadata: narratoria.StateMetadata | Mapping[str, typing.Any] | str | None
    ) -> None:
        """Describes a key of the state; None removes its metadata.

        >>> def prepare(context: Context) -> None:
        ...     context.register_state_metadata("gold", "coins of the player")
        """
        self._state.describe(key, metadata)

    def format_state_for_prompt(self) -> str:
        """Returns the state as text for a model, like :meth:`State.format_for_prompt`.

        >>> def think(context: Context) -> None:
        ...     prompt = context.format_state_for_prompt()
        """
        return self._state.format_for_prompt()

    def asset(
        self,
        asset_id: str,
        kind: str,
        media_type: str,
        path: str | PathLike[str],
        metadata: Mapping[str, typing.Any] | None = None,
    ) -> None:
        """Registers a file that this tool has written. ``path`` is absolute, or relative to the
        session's root.

        Raises:
            TypeError, ValueError: a text is not a str or is empty, or ``path`` is not a path.

        >>> import narratoria, tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder, narratoria.Session() as session:
        ...     @session.tool
        ...     def draw(context: narratoria.Context) -> None:
        ...         path = Path(folder, "map.txt")
        ...         path.write_text("X marks the spot")
        ...         context.asset("map", "text", "text/plain", path)
        ...     _ = session.execute({"requestId": "p", "tools": [
        ...         {"toolId": "d", "toolPath": "draw"}]})
        ...     session.assets
        [<Asset map of d: text/plain ...map.txt>]
        """

        event: dict[str, typing.Any] = {
            "type": "asset",
            "assetId": _text("asset_id", asset_id),
            "kind": _text("kind", kind),
            "mediaType": _text("media_type", media_type),
            "path": _text("path", path_text("path", path)),
        }
        if metadata is not None:
            event["metadata"] = dict(metadata)
        self._emit(event)

    def ui_event(self, name: str, payload: Mapping[str, typing.Any] | None = None) -> None:
        """Emits a ui_event, for example ``narrative_choice`` with ``{"choices": […]}``.

        Raises:
            TypeError, ValueError: the name is not a str or is empty, the payload is not a dict, or
                the choices of a ``narrative_choice`` are not a list of str.

        >>> def fork(context: Context) -> None:
        ...     context.ui_event("narrative_choice", {"choices": ["Left", "Right"]})
        """
        if payload is not None and not hasattr(payload, "keys"):
            raise TypeError(f"payload must be a dict, not {type(payload).__name__}")
        given = dict(payload or {})
        if name == "narrative_choice":
            choices = given.get("choices")
            if not isinstance(choices, (list, tuple)):
                raise TypeError(f"choices must be a list of str, not {type(choices).__name__}")
            for place, choice in enumerate(choices):
                if not isinstance(choice, str):
                    raise TypeError(f"choices[{place}] must be a str, not {type(choice).__name__}")
        self._emit({"type": "ui_event", "event": _text("name", name), "payload": given})

    def error(
        self, code: str, message: str, details: Mapping[str, typing.Any] | None = None
    ) -> None:
        """Reports an error; it does not end the tool.

        Raises:
            TypeError, ValueError: the code or the message is not a str or is empty.

        >>> def fetch(context: Context) -> None:
        ...     context.error("ROPE_SHORT", "The rope does not reach the water.", {"metres": 12})
        """
        event: dict[str, typing.Any] = {
            "type": "error",
            "errorCode": _text("code", code),
            "errorMessage": _text("message", message),
        }
        if details is not None:
            event["details"] = dict(details)
        self._emit(event)
