# SPDX-License-Identifier: Apache-2.0
# An engine driven by an event loop of asyncio, without a thread and without polling.

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from narratoria import _core
from narratoria.errors import BusyError

if TYPE_CHECKING:
    from collections.abc import Callable

# What the engine may do before others in the loop have their turn.
_BUDGET_US = 5_000
# After how long it is looked again whether another thread has left the session.
_BUSY_MS = 1


class Driver:
    """Between an engine and an event loop: the descriptor says that there is something to do, a timer
    that time has come."""

    def __init__(self, core: _core.Session, loop: asyncio.AbstractEventLoop) -> None:
        self._core = core
        self._loop = loop
        self._descriptor = core.descriptor()
        self._timer: asyncio.Handle | None = None
        self.is_inside = False
        # Of a private loop: who looks after each turn, and who gets what would break the loop.
        self.on_turn: Callable[[], None] | None = None
        self.on_exception: Callable[[BaseException], None] | None = None
        loop.add_reader(self._descriptor, self.turn)
        self.arm()

    def turn(self) -> None:
        """Does what there is to do."""
        try:
            self.is_inside = True
            self._core.run(_BUDGET_US)
        except BusyError:
            # Another thread is inside, and nothing is lost: what there is to do is still there.
            pass
        except BaseException as exception:
            if self.on_exception is None:
                raise
            self.on_exception(exception)
        finally:
            self.is_inside = False
            self.arm()
        if self.on_turn is not None:
            self.on_turn()

    def arm(self) -> None:
        """The engine may have something new to wait for."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._core.is_closed:
            return
        try:
            timeout = self._core.timeout_ms()
        except BusyError:
            timeout = _BUSY_MS
        if timeout == 0:
            self._timer = self._loop.call_soon(self.turn)
        elif timeout is not None:
            self._timer = self._loop.call_later(timeout / 1000, self.turn)

    def stop(self) -> None:
        """The loop forgets the engine."""
        if self._timer is not None:
            self._timer.cancel()
        if not self._loop.is_closed():
            self._loop.remove_reader(self._descriptor)
