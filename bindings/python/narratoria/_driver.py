# SPDX-License-Identifier: Apache-2.0
# An engine driven by an event loop of asyncio, without a thread and without polling.

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import WeakSet, ref

from narratoria import _core
from narratoria.errors import BusyError

if TYPE_CHECKING:
    from collections.abc import Callable

# The time for one run of the engine, before other callbacks of the loop run.
_BUDGET_US = 5_000
# The same while a stream has a limit: the events of one run may exceed the limit.
_LIMITED_BUDGET_US = 200
# The interval of checks whether another thread has left the session.
_BUSY_MS = 1


class Driver:
    """Drives an engine in an event loop: runs it when its descriptor is readable or its timer
    expires. The loop does not keep the driver alive."""

    def __init__(self, core: _core.Session, loop: asyncio.AbstractEventLoop) -> None:
        self._core = core
        self._loop = loop
        self._thread = threading.get_ident()
        self._descriptor = core.descriptor()
        self._timer: asyncio.Handle | None = None
        self._budget_us = _BUDGET_US
        # The streams that are full. While there is one, the engine is not driven.
        self._full: WeakSet[object] = WeakSet()
        self._is_reading = False
        self.is_inside: bool = False
        # Set by a private loop: called after each run, and with an exception that would break the
        # loop.
        self.on_turn: Callable[[], None] | None = None
        self.on_exception: Callable[[BaseException], None] | None = None
        this = ref(self)

        def on_ready() -> None:
            driver = this()
            if driver is not None:
                driver.turn()

        self._on_ready = on_ready
        self._follow()

    def turn(self) -> None:
        """Runs the engine, unless a stream is full."""
        if self._is_reading:
            self.run()

    def run(self) -> None:
        """Runs the engine for one budget of time."""
        try:
            self.is_inside = True
            self._core.run(self._budget_us)
        except BusyError:
            # Another thread uses the session. Nothing is lost: the work remains.
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
        """Sets the timer again, after a change that the engine may have to wait for."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._core.is_closed or not self._is_reading:
            return
        try:
            timeout = self._core.timeout_ms()
        except BusyError:
            timeout = _BUSY_MS
        if timeout == 0:
            self._timer = self._loop.call_soon(self._on_ready)
        elif timeout is not None:
            self._timer = self._loop.call_later(timeout / 1000, self._on_ready)

    def limit(self) -> None:
        """Shortens each run, because a stream has a limit."""
        self._budget_us = _LIMITED_BUDGET_US

    def hold(self, stream: object, is_full: bool) -> None:
        """Notes that a stream is full or has room again."""
        if is_full:
            self._full.add(stream)
        else:
            self._full.discard(stream)
        if self._thread == threading.get_ident():
            self._follow()
            return
        # A dropped stream: the garbage collector may run on any thread.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._follow)

    def _follow(self) -> None:
        is_reading = not self._full
        if is_reading == self._is_reading or self._core.is_closed or self._loop.is_closed():
            return
        self._is_reading = is_reading
        if is_reading:
            self._loop.add_reader(self._descriptor, self._on_ready)
            self.arm()
        else:
            self._loop.remove_reader(self._descriptor)

    def stop(self) -> None:
        """Removes the engine from the loop. On another thread, where the garbage collector may call
        this, the removal is scheduled."""
        self._is_reading = False
        if self._loop.is_closed():
            return
        if self._thread != threading.get_ident():
            try:
                self._loop.call_soon_threadsafe(self._forget)
            except RuntimeError:
                # The loop was closed meanwhile.
                return
        else:
            self._forget()

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self._loop.is_closed():
            self._loop.remove_reader(self._descriptor)
