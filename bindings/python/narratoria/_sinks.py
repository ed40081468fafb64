# SPDX-License-Identifier: Apache-2.0
# Python functions as sinks of the event stream.

from __future__ import annotations

from collections.abc import Callable, Iterable

import narratoria
from narratoria import _core
from narratoria._checks import require_callable
from narratoria._invocations import is_async_function
from narratoria._lazy import typing
from narratoria._session_base import SessionBase

# The bit of each kind of event in the mask of a sink.
_KINDS: dict[str, int] = {}


def kinds_mask(kinds: Iterable[str] | None) -> int:
    """Returns the bit mask of these kinds; None selects all."""
    if kinds is None:
        return 0
    if not _KINDS:
        number = 1
        while (name := _core.kind_name(number)) is not None:
            _KINDS[name] = 1 << number
            number += 1
    mask = 0
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if kind not in _KINDS:
            near = _core.near_name(kind, list(_KINDS)) if isinstance(kind, str) else None
            advice = f"did you mean {near!r}?" if near else f"use one of {', '.join(_KINDS)}"
            raise ValueError(f"unknown kind of event {kind!r}; {advice}")
        mask |= _KINDS[kind]
    if mask == 0:
        raise ValueError("kinds must not be empty; leave it out for all kinds")
    return mask


class Sinks(SessionBase):
    """The sinks of a session that are Python functions."""

    _sinks: list[tuple[Callable[[narratoria.Event], typing.Any], int]]

    def add_sink(
        self, sink: Callable[[narratoria.Event], typing.Any], kinds: Iterable[str] | None = None
    ) -> Callable[[narratoria.Event], typing.Any]:
        """Calls ``sink(event)`` for every record of the event stream, and returns it.

        It is called for each event of each tool, on the thread that drives the session. Its
        exceptions are logged. It cannot be async, because nothing awaits it.

        Args:
            sink: a callable that takes an :class:`narratoria.Event`.
            kinds: kinds to receive, for example ``["tool_event", "tool_ended"]``; default: all.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     seen = []
        ...     _ = session.add_sink(lambda event: seen.append(event.kind), ["plan_started"])
        ...     _ = session.execute({"requestId": "p", "tools": []})
        >>> seen
        ['plan_started']
        """
        require_callable("a sink", sink)
        if is_async_function(sink):
            raise TypeError(
                "a sink must not be async: it is called, not awaited; put the events into a queue, "
                "or use aio.Session and events()"
            )
        self._sinks.append((sink, self._use().attach(sink, kinds_mask(kinds))))
        return sink

    def remove_sink(self, sink: Callable[[narratoria.Event], typing.Any]) -> None:
        """Detaches a sink; allowed inside the sink itself.

        Raises:
            ValueError: the sink is not attached.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     sink = session.add_sink(print)
        ...     session.remove_sink(sink)
        ...     _ = session.execute({"requestId": "p", "tools": []})
        """
        for place, (each, number) in enumerate(self._sinks):
            if each == sink:
                core = self._use()
                del self._sinks[place]
                core.detach(number)
                return
        raise ValueError("this sink is not attached")
