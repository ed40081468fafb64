# SPDX-License-Identifier: Apache-2.0
# The event loop of a blocking session, for its async functions.

from __future__ import annotations

import asyncio
import selectors
import signal
import threading
from os.path import dirname
from typing import TYPE_CHECKING

from narratoria import _core
from narratoria._driver import Driver

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import FrameType, TracebackType

# The maximum delay of a signal that another thread received, in seconds.
_MAX_SIGNAL_DELAY_S = 0.05


class _InterruptHandler:
    # While a private loop runs, Ctrl-C becomes a request to end the run: an exception inside the
    # loop's own code would break the loop. asyncio.Runner does the same.

    def __init__(
        self, loop: asyncio.AbstractEventLoop, driver: Driver, stop: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._driver = driver
        self._stop = stop
        self._is_installed = False
        self._wakeup_timer: asyncio.TimerHandle | None = None
        self.is_pending = False

    def __enter__(self) -> _InterruptHandler:
        if (
            threading.current_thread() is threading.main_thread()
            # Our own handler remains if __exit__ was interrupted.
            and signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _on_interrupt)
        ):
            self._is_installed = True
            _active[:] = [self]
            signal.signal(signal.SIGINT, _on_interrupt)
            self._schedule_wakeup()
        return self

    def _schedule_wakeup(self) -> None:
        # A signal that another thread received does not wake this loop; it is handled at the next
        # step.
        self._wakeup_timer = self._loop.call_later(_MAX_SIGNAL_DELAY_S, self._schedule_wakeup)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_installed:
            # From here on Ctrl-C raises KeyboardInterrupt, even if this method is interrupted.
            _active.clear()
            if signal.getsignal(signal.SIGINT) is _on_interrupt:
                signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._wakeup_timer is not None:
            self._wakeup_timer.cancel()

    def on_signal(self, frame: FrameType | None) -> None:
        # Raises at once if that is safe: inside the engine, which catches exceptions, or in a
        # user's function, which nothing else would stop. A second Ctrl-C always raises.
        is_safe = self._driver.is_inside or not _is_bookkeeping(frame)
        if self.is_pending or is_safe or self._loop.is_closed():
            raise KeyboardInterrupt
        self.is_pending = True
        self._stop()
        # Wakes the loop.
        self._loop.call_soon_threadsafe(_do_nothing)


_active: list[_InterruptHandler] = []


def _on_interrupt(number: int, frame: FrameType | None) -> None:
    if not _active:
        raise KeyboardInterrupt
    _active[0].on_signal(frame)


_LOOP_SOURCES = (
    dirname(asyncio.__file__) + "/",
    dirname(__file__) + "/",
    selectors.__file__,
    # Used by asyncio for its tasks.
    dirname(selectors.__file__) + "/_weakrefset.py",
)


def _is_bookkeeping(frame: FrameType | None) -> bool:
    return frame is None or frame.f_code.co_filename.startswith(_LOOP_SOURCES)


def _do_nothing() -> None:
    pass


class PrivateLoop:
    """The loop of a blocking session. It runs only while a call waits for async functions."""

    def __init__(self, core: _core.Session) -> None:
        self.loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        self._driver = Driver(core, self.loop)
        self._check: Callable[[], None] | None = None
        self.is_broken: bool = False

    def drive_until(self, is_done: Callable[[], bool]) -> None:
        """Runs the loop, and the engine in it, until `is_done`."""
        if _is_in_a_loop():
            raise RuntimeError(
                "a session cannot run an async function while an event loop is running (as in a "
                "notebook); use narratoria.aio.Session and await its calls"
            )
        self._run(is_done, None)

    def settle(self, tasks: Collection[asyncio.Task[None]], seconds: float | None) -> None:
        """Runs the loop until these cancelled tasks have ended, for at most `seconds`."""
        if not tasks:
            return

        def are_done() -> bool:
            return all(task.done() for task in tasks)

        for task in tasks:
            task.add_done_callback(lambda _: self.changed())
        if not _is_in_a_loop():
            self._run(are_done, seconds)
            return
        # A thread can run only one loop.
        thread = threading.Thread(target=self._run, args=(are_done, seconds))
        thread.start()
        thread.join()

    def changed(self) -> None:
        """Called when the engine may have work, or a task may have ended."""
        if self._check is not None:
            self._driver.arm()
            self._check()

    def end(self, tasks: Collection[asyncio.Task[None]], seconds: float | None) -> None:
        """Cancels these tasks, lets them end, and closes the loop."""
        self._driver.stop()
        try:
            for task in tasks:
                task.cancel()
            self.settle(tasks, seconds)
        finally:
            self.loop.close()

    def _run(self, is_done: Callable[[], bool], seconds: float | None) -> None:
        loop, driver = self.loop, self._driver
        raised: list[BaseException] = []

        # Not run_until_complete: an interrupted one would leave a callback that stops a later run.
        stop = loop.stop

        def check() -> None:
            if is_done():
                stop()

        def on_exception(exception: BaseException) -> None:
            raised.append(exception)
            stop()

        timer = None if seconds is None else loop.call_later(seconds, stop)
        interrupts = _InterruptHandler(loop, driver, stop)
        self._check = driver.on_turn = check
        driver.on_exception = on_exception
        try:
            driver.arm()
            check()
            with interrupts:
                try:
                    loop.run_forever()
                except BaseException:
                    # The loop may have lost callbacks, so that a task never wakes.
                    self.is_broken = True
                    raise
        finally:
            self._check = driver.on_turn = driver.on_exception = None
            if timer is not None:
                timer.cancel()
        if raised:
            raise raised.pop()
        if interrupts.is_pending:
            raise KeyboardInterrupt


def _is_in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
