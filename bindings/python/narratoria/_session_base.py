# SPDX-License-Identifier: Apache-2.0
# The parts of a session share the compiled session and the tasks of its async functions.
#
# Imports inside functions are those that not every session needs, so that it starts faster.

from __future__ import annotations

from collections.abc import Callable, Coroutine

from narratoria._core import PendingCall
from narratoria._core import Session as CoreSession
from narratoria._lazy import _threads, asyncio, typing
from narratoria.errors import ReentrantError


class SessionBase:
    """The base of the parts of a session. Not for direct use: see Session and aio.Session."""

    _core: CoreSession
    # All tasks in the loop. `_handlers` has those for which nothing in the engine waits.
    _tasks: set[asyncio.Task[None]]
    _handlers: set[asyncio.Task[None]]
    _tool_threads: _threads.ToolThreads | None
    # The plans of call() that run, and the exceptions of their tools.
    _causes: dict[str, BaseException | None]
    _has_jobs: bool
    _strict: bool

    @property
    def is_closed(self) -> bool:
        """True if the session is closed."""
        return self._core.is_closed

    # ---- what the two kinds of session do differently

    def _prepare(self) -> None:
        """Initializes the subclass, before any callback is possible."""

    def _event_loop(self) -> asyncio.AbstractEventLoop:
        """Returns the loop in which async functions run."""
        raise NotImplementedError

    def _changed(self) -> None:
        """Called after a submission, an event or the end of a task, which may give the engine
        work."""

    def _end_cancelled(self) -> None:
        """Waits for the end of calls that were cancelled and still end in the background."""

    def _use(self) -> CoreSession:
        """Returns the compiled session after a check that the caller may use it. On a tool's thread
        it returns a proxy that runs each call on the session's own thread."""
        if self._tool_threads is not None:
            from narratoria._threads import current_calls

            calls: typing.Any = current_calls(self._core)
            if calls is not None:
                there: CoreSession = calls
                return there
        return self._core

    def _refuse_inside(self) -> None:
        """Refuses a call that would wait for the tool, sink, handler or narrator that makes it."""
        self._core.refuse_forked()
        if self._use() is not self._core:
            raise ReentrantError(
                "this call would wait for itself: it is made inside a tool of this session",
                code="REENTRANT",
            )
        self._core.refuse_inside()

    # ---- tasks

    def _spawn(
        self,
        work: Coroutine[typing.Any, typing.Any, None],
        name: str,
        open_call: PendingCall,
        end: Callable[[], object],
    ) -> None:
        task = self._start(work, name)

        def over(_: object) -> None:
            # Breaks the reference cycle of the call, the task and its exception.
            open_call.on_cancel = None
            end()

        open_call.on_cancel = task.cancel
        task.add_done_callback(over)

    def _start(
        self, work: Coroutine[typing.Any, typing.Any, None], name: str
    ) -> asyncio.Task[None]:
        """Starts a task with the name of the user's function, which a warning may show."""
        try:
            loop = self._event_loop()
        except BaseException:
            work.close()
            raise
        task = loop.create_task(work, name=name)
        # The loop has only weak references to tasks.
        self._tasks.add(task)
        task.add_done_callback(self._task_over)
        return task

    def _task_over(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._handlers.discard(task)
        self._changed()
