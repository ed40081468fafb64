# SPDX-License-Identifier: Apache-2.0
# The threads of tools that are functions and not async, and their calls of the session.
#
# A thread runs one tool at a time, and waits a few seconds for the next one. Threads are daemons: a
# tool that does not end must not keep the process alive. On such a thread, and on every thread where
# a tool's context is used, EngineCalls replaces the session's compiled part; its methods run on the
# thread that drives the engine.

from __future__ import annotations

import os
import threading
from contextvars import copy_context
from time import monotonic
from typing import TYPE_CHECKING, Any

from narratoria import _core
from narratoria.errors import GoneError

if TYPE_CHECKING:
    from collections.abc import Callable

# How long a thread waits for another tool, in seconds.
_IDLE_S = 5.0
# The interval at which a thread that waits for the engine checks for cancellation, in seconds.
_POLL_INTERVAL_S = 0.05

# Calls that the engine accepts only outside callbacks.
_EXTENSIONS = frozenset(("add_ui_handler", "add_asset_renderer", "set_narrator"))

_idle: list[_core.ThreadInbox] = []
os.register_at_fork(after_in_child=_idle.clear)


def run(work: Callable[[], None]) -> None:
    """Runs `work` in another thread, in a copy of the caller's context."""
    context = copy_context()

    def in_context() -> None:
        context.run(work)

    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = _core.ThreadInbox()
        threading.Thread(target=_serve, args=(inbox,), name="narratoria-tool", daemon=True).start()
    inbox.put(in_context)


def _serve(inbox: _core.ThreadInbox) -> None:
    process = os.getpid()
    work = inbox.get(None)
    while work is not None:
        work()
        if os.getpid() != process:
            # The tool has forked, and this is the child's only thread.
            return
        # Drops the references of the work while the thread is idle.
        work = None
        _idle.append(inbox)
        work = inbox.get(_IDLE_S)
        if work is None:
            try:
                _idle.remove(inbox)
            except ValueError:
                # run() has just taken this thread.
                work = inbox.get(None)


class _ThreadState(threading.local):
    calls: EngineCalls | None = None


_thread_state = _ThreadState()


def current_calls(core: _core.Session) -> EngineCalls | None:
    """Returns the proxy of this session on a thread of one of its tools; None elsewhere."""
    calls = _thread_state.calls
    return calls if calls is not None and calls.core is core else None


def in_tool_thread() -> bool:
    """True if this is the thread of a tool of any session."""
    return _thread_state.calls is not None


class EngineCalls:
    """The methods of a `_core.Session`, each run on the thread that drives the engine."""

    def __init__(self, core: _core.Session, invocation: _core.Invocation) -> None:
        self.core = core
        # An exception raised both by the call that drives the engine and by the tool's own call.
        self.raised: BaseException | None = None
        self._invocation = invocation

    def __enter__(self) -> EngineCalls:
        _thread_state.calls = self
        return self

    def __exit__(self, *_: object) -> None:
        _thread_state.calls = None

    @property
    def is_closed(self) -> bool:
        """True if the session is closed."""
        return self.core.is_closed

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.core, name)
        is_deferred = name in _EXTENSIONS

        def call(*arguments: Any) -> Any:
            return self.on_engine(lambda: method(*arguments), is_deferred)

        return call

    def on_engine(self, function: Callable[[], Any], is_deferred: bool = False) -> Any:
        """Calls `function` on the thread that drives the engine, after this tool's output so
        far."""
        results: list[tuple[Any, BaseException | None]] = []
        finished = threading.Lock()
        finished.acquire()

        def run_call() -> None:
            try:
                self._invocation.deliver_output()
                results.append((function(), None))
            except Exception as exception:
                results.append((None, exception))
            except BaseException as exception:
                # For example Ctrl-C: it belongs to the driving thread.
                self.raised = exception
                results.append((None, exception))
                raise
            finally:
                finished.release()

        self.core.post(run_call, is_deferred)
        while not finished.acquire(timeout=_POLL_INTERVAL_S):
            if self.core.is_closed or not self._invocation.is_open or self._invocation.is_cancelled:
                break
        if not results:
            if self._invocation.is_cancelled or self.core.is_closed:
                raise GoneError(
                    "the tool was cancelled and can no longer use the session", code="CANCELLED"
                )
            raise GoneError(
                "the tool has ended and can no longer use the session", code="TOOL_ENDED"
            )
        value, exception = results[0]
        if exception is not None:
            raise exception
        return value


class ToolThreads:
    """The running tools of a session in threads. Thread-safe."""

    def __init__(self) -> None:
        self._running: dict[int, str] = {}
        self._last = 0
        self._changed = threading.Condition()

    def start(self, name: str, work: Callable[[], None]) -> None:
        with self._changed:
            self._last += 1
            number = self._last
            self._running[number] = name

        def run_and_remove() -> None:
            try:
                work()
            finally:
                with self._changed:
                    del self._running[number]
                    self._changed.notify_all()

        try:
            run(run_and_remove)
        except BaseException:
            with self._changed:
                del self._running[number]
            raise

    @property
    def names(self) -> list[str]:
        """The names of the tools that run."""
        return sorted(self._running.values())

    def wait(self, deadline: float | None) -> None:
        """Waits until no tool runs, or until `deadline` (`time.monotonic`); None: no limit."""
        with self._changed:
            while self._running:
                left = None if deadline is None else deadline - monotonic()
                if left is not None and left <= 0:
                    return
                self._changed.wait(left)
