# SPDX-License-Identifier: Apache-2.0
"""A session for asyncio: driven by the engine's file descriptor in the running loop, without a
thread and without polling.

>>> import asyncio, narratoria
>>> async def main():
...     async with narratoria.aio.Session(story="examples/stories/torch") as session:
...         turn = await session.play("I light the torch")
...         return turn.outcome
>>> asyncio.run(main())
'completed'
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import suppress
from os import PathLike
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet, ref

from narratoria import _core
from narratoria._checks import check_prompt, check_timeout, whole_number
from narratoria._core import Event
from narratoria._driver import Driver
from narratoria._inside import refuse_inside
from narratoria._plans import lazy_result, plan_to_submit
from narratoria._registry import Registry
from narratoria._sinks import kinds_mask
from narratoria._threads import EngineCalls
from narratoria.documents import Asset, Plan, Result
from narratoria.errors import BusyError, Error, GoneError, ThreadError
from narratoria.script import ScriptResult
from narratoria.session import INTERRUPT_GRACE_S, Turn, warn_unfinished
from narratoria.store import again_arguments, resume_arguments

__all__ = ["EventStream", "Session"]

_AnySession = TypeVar("_AnySession", bound="Session")

# The interval of checks whether tools in threads have ended, in seconds.
_POLL_INTERVAL_S = 0.005

# ---- sessions of a loop


class _Queue:
    # The engine has one prompt, plan or script at a time. The other calls wait here, first in,
    # first out, where each can be dropped individually.

    def __init__(self) -> None:
        self._is_taken = False
        self._waiting: deque[tuple[asyncio.Future[None], bool]] = deque()

    async def enter(self, is_prompt: bool) -> None:
        if not self._is_taken:
            self._is_taken = True
            return
        if is_prompt and any(each and not future.done() for future, each in self._waiting):
            raise BusyError(
                "a turn is running and a prompt is already waiting; wait until a turn has ended",
                code="BUSY",
            )
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, is_prompt))
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                # leave() had passed the turn on to this call.
                self.leave()
            raise

    def leave(self) -> None:
        """Lets the next call run."""
        while self._waiting:
            future, _ = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                return
        self._is_taken = False


def _do_nothing() -> None:
    pass


class EventStream:
    """The event stream of a session, for ``async for``. It ends when the session is closed.

    Without a ``limit`` the queue is unbounded; call :meth:`close` when no more events are needed. A
    stream that is no longer referenced, for example after a ``break``, collects nothing.

    >>> import asyncio, narratoria
    >>> async def main():
    ...     async with narratoria.aio.Session() as session:
    ...         events = session.events()
    ...         await session.execute({"requestId": "p", "tools": []})
    ...         events.close()
    ...         return [event.kind async for event in events]
    >>> asyncio.run(main())
    ['plan_started', 'plan_ended']
    """

    def __init__(
        self,
        use: Callable[[], _core.Session],
        streams: WeakSet[EventStream],
        kinds: Iterable[str] | None,
        limit: int | None,
        driver: Driver | None,
    ) -> None:
        self._limit = limit
        self._driver = driver
        if driver is not None and limit is not None:
            driver.limit()
        self._waiting: deque[Event] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._is_closed = False
        self._use = use
        core = use()
        stream = ref(self)

        # Only its reader keeps a stream alive, so the sink has a weak reference.
        def on_event(event: Event) -> None:
            target = stream()
            if target is None:
                core.detach(number)
            else:
                target._append(event)

        self._number = number = core.attach(on_event, kinds_mask(kinds))
        # The session's streams; the session closes them.
        self._streams = streams
        streams.add(self)

    def _append(self, event: Event) -> None:
        self._waiting.append(event)
        if self._limit is not None and len(self._waiting) >= self._limit:
            self._hold(True)
        self._wake()

    def _hold(self, is_full: bool) -> None:
        # While a stream is full the engine is not driven: it reads nothing, and tools block when
        # they write.
        if self._driver is not None and self._limit is not None:
            self._driver.hold(self, is_full)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def __del__(self) -> None:
        # A dropped stream must not hold up the engine.
        if hasattr(self, "_streams"):
            self._hold(False)

    def close(self) -> None:
        """Stops the stream; queued events can still be read. A second call does nothing.

        >>> import asyncio, narratoria
        >>> async def main():
        ...     async with narratoria.aio.Session() as session:
        ...         events = session.events()
        ...         events.close()
        ...         return [event async for event in events]
        >>> asyncio.run(main())
        []
        """
        if self._is_closed:
            return
        core = self._use()
        if isinstance(core, EngineCalls):
            # The reader must be woken on the loop's thread.
            core.on_engine(self.close)
            return
        self._is_closed = True
        self._streams.discard(self)
        self._hold(False)
        if not core.is_closed:
            core.detach(self._number)
        self._wake()

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> Event:
        while not self._waiting:
            if self._is_closed:
                raise StopAsyncIteration
            if self._waiter is not None and not self._waiter.done():
                raise RuntimeError(
                    "another task already waits for this stream; create a stream for each task"
                )
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        event = self._waiting.popleft()
        if self._limit is not None and len(self._waiting) < self._limit:
            self._hold(False)
        return event

    async def aclose(self) -> None:
        """The same as :meth:`close`, for ``contextlib.aclosing``.

        >>> import asyncio, contextlib, narratoria
        >>> async def main():
        ...     async with narratoria.aio.Session() as session:
        ...         async with contextlib.aclosing(session.events(["plan_ended"])) as events:
        ...             await session.execute({"requestId": "p", "tools": []})
        ...             return (await anext(events)).kind
        >>> asyncio.run(main())
        'plan_ended'
        """
        self.close()


class Session(Registry):
    """A session with coroutines. It belongs to the event loop in which it was entered, and to the
    loop's thread; other threads may only call ``cancel``.

    The arguments are those of :class:`narratoria.Session`. Only ``play``, ``again``, ``resume``,
    ``execute``, ``call``, ``run_script`` and ``aclose`` are coroutines. They run one after the other.
    Cancelling a task that awaits ``play`` or ``execute`` cancels that turn, or drops it if it is
    waiting.

    >>> import asyncio, narratoria
    >>> async def main():
    ...     async with narratoria.aio.Session() as session:
    ...         @session.tool
    ...         async def nap(seconds: float) -> str:
    ...             await asyncio.sleep(seconds)
    ...             return "rested"
    ...         result = await session.execute({"requestId": "p", "tools": [
    ...             {"toolId": "n", "toolPath": "nap", "input": {"seconds": 0.01}}]})
    ...         return result["n"].result
    >>> asyncio.run(main())
    'rested'
    """

    def _prepare(self) -> None:
        self._driver: Driver | None = None
        self._running_loop: asyncio.AbstractEventLoop | None = None
        self._thread: int | None = None
        self._queue = _Queue()
        # The number of cancel() calls. A waiting call compares it to see that it was dropped.
        self._cancel_count = 0
        self._streams: WeakSet[EventStream] = WeakSet()

    def __await__(self: _AnySession) -> Generator[Any, None, _AnySession]:
        """Enters the session without a block: ``session = await aio.Session()``, for example in a
        notebook. Close it with `aclose`.

        >>> import asyncio, narratoria
        >>> async def main():
        ...     session = await narratoria.aio.Session()
        ...     await session.aclose()
        ...     return session
        >>> asyncio.run(main())
        <aio.Session closed>
        """
        return self.__aenter__().__await__()

    if not TYPE_CHECKING:

        def __enter__(self):
            raise TypeError("aio.Session is entered with `async with`, not `with`")

        def __exit__(self, *exception):
            pass

    async def __aenter__(self: _AnySession) -> _AnySession:
        loop = asyncio.get_running_loop()
        if self._driver is None:
            self._driver = Driver(self._core, loop)
            self._running_loop = loop
            self._thread = threading.get_ident()
        self._refuse_other_loops()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # After Ctrl-C, which cancels this task, do not wait long for a thread that may never end.
        is_interrupt = exception is not None and not isinstance(exception, Exception)
        timeout = self._close_timeout
        await self._close(timeout, INTERRUPT_GRACE_S if is_interrupt else timeout)

    async def aclose(self, timeout: float | None = -1.0) -> None:
        """Closes the session: kills its tools, cancels its tasks. A second call does nothing, nor
        does a call in a forked child: the session belongs to the parent.

        Functions that have not ended in time are left running, with a
        :class:`narratoria.NarratoriaWarning`.

        Args:
            timeout: how long to wait for functions to end, in seconds; None: no limit; default: the
                session's ``close_timeout``.

        Raises:
            ReentrantError: the call is made inside a function of the session, and would wait for
                itself.

        >>> import asyncio, narratoria
        >>> async def main():
        ...     session = await narratoria.aio.Session()
        ...     await session.aclose()
        ...     return session
        >>> asyncio.run(main())
        <aio.Session closed>
        """
        if timeout == -1.0:
            timeout = self._close_timeout
        check_timeout("timeout", timeout)
        await self._close(timeout, timeout)

    async def _close(self, timeout: float | None, threads_timeout: float | None) -> None:
        if self._core.is_foreign:
            return
        self._use()
        refuse_inside(self._core, "this call", even_handlers=True)
        if self._driver is not None:
            self._driver.stop()
            self._driver = None
        if not self._core.is_closed:
            self._core.close()
        for stream in list(self._streams):
            stream.close()
        # Tasks of another loop, which has most likely ended, cannot be awaited here.
        loop = asyncio.get_running_loop()
        tasks = [task for task in self._tasks if task.get_loop() is loop]
        for task in tasks:
            task.cancel()
        deadline = None if threads_timeout is None else monotonic() + threads_timeout
        left: list[str] = []
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=timeout)
            left += [task.get_name() for task in late]
        waited = timeout if left else threads_timeout
        if self._tool_threads is not None:
            while self._tool_threads.names and (deadline is None or monotonic() < deadline):
                await asyncio.sleep(_POLL_INTERVAL_S)
            left += self._tool_threads.names
        if left:
            warn_unfinished(left, waited)

    async def play(self, prompt: str) -> Turn:
        """Submits a prompt of the player and returns the outcome.

        While a turn runs, one more prompt may wait.

        Raises:
            BusyError: a prompt is already waiting.
            InvalidArgumentError: the prompt is empty, or the session has no narrator.
            ReentrantError: it is awaited in a tool or a narrator of this session.
            RuntimeError: the session was not entered, or was entered in another loop.
            Exception: raised by a Python narrator, unless ``on_narrator_error="fallback"``.

        >>> import asyncio, narratoria
        >>> async def main():
        ...     async with narratoria.aio.Session(narrator=lambda request: "It is dark.") as session:
        ...         return await session.play("I look around")
        >>> asyncio.run(main())
        <Turn completed 'It is dark.'>
        """
        check_prompt(prompt)
        return await self._play_turn(lambda ended: self._core.prompt(prompt, ended))

    async def again(self, turn: int | None = None, *, tools: Iterable[str] | None = None) -> Turn:
        """Plays a prompt of the session's store again; the arguments are those of
        :meth:`narratoria.Session.again`.

        >>> import asyncio, narratoria, tempfile
        >>> async def main(store):
        ...     async with narratoria.aio.Session(
        ...         narrator=lambda request: "It is dark.", store=store, id="evening"
        ...     ) as session:
        ...         await session.play("I look around")
        ...         return (await session.again()).id
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     asyncio.run(main(folder + "/saves.db"))
        2
        """
        number, ids = again_arguments(turn, tools)
        return await self._play_turn(lambda ended: self._core.again(number, ids, ended))

    async def resume(self, turn: int | None = None, *, repeat: bool = False) -> Turn:
        """Resumes a prompt that was interrupted, as :meth:`narratoria.Session.resume` does.

        >>> import asyncio, narratoria, tempfile
        >>> async def main(store):
        ...     async with narratoria.aio.Session(
        ...         narrator=lambda request: "It is dark.", store=store, id="evening"
        ...     ) as session:
        ...         try:
        ...             await session.resume()
        ...         except narratoria.NotFoundError as error:
        ...             return error.code
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     asyncio.run(main(folder + "/saves.db"))
        'TURN_MISSING'
        """
        number, repeats = resume_arguments(turn, repeat)
        return await self._play_turn(lambda ended: self._core.resume(number, repeats, ended))

    async def _play_turn(
        self, begin: Callable[[Callable[[_core.Ticket], None]], _core.Ticket]
    ) -> Turn:
        before = 0
        made: list[dict[str, Any]] = []

        faults: list[str] = []
        errors: list[Exception | None] = []

        def submit(ended: Callable[[_core.Ticket], None]) -> _core.Ticket:
            nonlocal before
            self._reset_turn_faults()
            before = self._core.latest_asset()
            return begin(ended)

        def look() -> None:
            # Called before the next prompt begins, which resets the faults and the error.
            faults.extend(self._faults)
            errors.append(self._take_narrator_error())
            made.extend(self._core.assets_after(before))

        ticket = await self._ended(submit, look, is_prompt=True)
        for error in errors:
            if error is not None:
                raise error
        return Turn(ticket.value, [Asset.from_dict(each) for each in made], faults)

    async def execute(
        self,
        plan: Plan | Mapping[str, Any] | str,
        *,
        folder: str | PathLike[str] | None = None,
        strict: bool | None = None,
    ) -> Result:
        """Runs a plan without the narrator. The arguments are those of
        :meth:`narratoria.Session.execute`. Any number of plans may wait.

        Raises:
            InvalidDocumentError: the plan has faults; nothing was started.
            ReentrantError: it is awaited in a tool or a narrator of this session.
            RuntimeError: the session was not entered, or was entered in another loop.

        >>> import asyncio, narratoria
        >>> async def main():
        ...     async with narratoria.aio.Session() as session:
        ...         return await session.execute({"requestId": "p", "tools": []})
        >>> asyncio.run(main())
        <Result success plan=p no tools ... ms>
        """
        given, where = plan_to_submit(plan, folder, self._strict if strict is None else strict)
        ticket = await self._ended(lambda ended: self._core.execute(given, where, ended))
        return lazy_result(ticket.value)

    async def call(self, tool: str, /, **input: Any) -> Any:
        """Runs one tool, once, and returns its result, as :meth:`narratoria.Session.call` does.

        Raises:
            PlanFailedError: the tool failed; ``code`` is its error code, ``result`` the execution
                result.

        >>> import asyncio, narratoria
        >>> async def main():
        ...     async with narratoria.aio.Session() as session:
        ...         @session.tool
        ...         async def roll(sides: int = 6) -> int:
        ...             return min(sides, 4)
        ...         return await session.call("roll", sides=20)
        >>> asyncio.run(main())
        4
        """
        plan = self._call_plan(tool, input)
        try:
            return self._result_of_call(plan, await self.execute(plan))
        finally:
            del self._causes[plan["requestId"]]

    async def run_script(
        self,
        source: str | PathLike[str],
        scope: Mapping[str, Any] | None = None,
        *,
        tools: str | PathLike[str] | None = None,
        on_print: Callable[[str], object] | None = None,
    ) -> ScriptResult:
        """Runs a Nuwa script. The arguments and the errors are those of
        :meth:`narratoria.Session.run_script`. Any number of scripts may wait.

        Raises:
            ScriptError: the script is not valid, and nothing was started; or it failed or was
                cancelled.
            ReentrantError: it is awaited in a tool or a narrator of this session.
            RuntimeError: the session was not entered, or was entered in another loop.

        >>> import asyncio, narratoria
        >>> async def main():
        ...     async with narratoria.aio.Session() as session:
        ...         return await session.run_script("PRINT(1 + 1)")
        >>> asyncio.run(main()).output
        ['2']
        """
        run = self._script_run(source, scope, tools, on_print)
        return run.result(await self._ended(run.submit))

    def events(
        self, kinds: Iterable[str] | None = None, *, limit: int | None = None
    ) -> EventStream:
        """Returns a stream of the events from now on, for ``async for``.

        Args:
            kinds: kinds to receive; default: all.
            limit: the maximum number of unread events, from 1. At this limit the session stops
                reading from its tools, and they block. A call that is awaited in the task that
                reads the stream may then never return. Default: no limit.

        >>> import asyncio, narratoria
        >>> async def main():
        ...     async with narratoria.aio.Session() as session:
        ...         events = session.events(["plan_ended"])
        ...         await session.execute({"requestId": "p", "tools": []})
        ...         async for event in events:
        ...             return event.data
        >>> asyncio.run(main()).success
        True
        """
        if limit is not None:
            whole_number("limit", limit, 1, 2**31)
        if self._driver is None and limit is not None:
            raise RuntimeError("the session is not entered; use it inside `async with`")
        core = self._use()
        if isinstance(core, EngineCalls):
            made: EventStream = core.on_engine(lambda: self.events(kinds, limit=limit))
            return made
        return EventStream(self._use, self._streams, kinds, limit, self._driver)

    def cancel(self) -> None:
        """Cancels the running call and drops waiting ones. Thread-safe.

        >>> import asyncio, narratoria
        >>> async def main():
        ...     async with narratoria.aio.Session() as session:
        ...         @session.tool
        ...         async def dream() -> None:
        ...             await asyncio.sleep(60)
        ...         _ = asyncio.get_running_loop().call_later(0.01, session.cancel)
        ...         result = await session.execute({"requestId": "p", "tools": [
        ...             {"toolId": "d", "toolPath": "dream"}]})
        ...         return result["d"].error_code
        >>> asyncio.run(main())
        'CANCELLED'
        """
        self._cancel_count += 1
        self._core.cancel()

    def __repr__(self) -> str:
        return "<aio.Session closed>" if self.is_closed else f"<aio.Session {self._id}>"

    def _use(self) -> _core.Session:
        calls = super()._use()
        if calls is not self._core:
            return calls
        here = threading.get_ident()
        if self._thread is not None and self._thread != here and not self._core.is_closed:
            raise ThreadError(
                "an aio.Session must be used on the thread of its loop; from another thread use "
                "loop.call_soon_threadsafe or asyncio.run_coroutine_threadsafe (only cancel() and "
                "the methods of a tool's Context are thread-safe)",
                code="WRONG_THREAD",
            )
        return self._core

    def _refuse_other_loops(self) -> None:
        if asyncio.get_running_loop() is not self._running_loop:
            raise RuntimeError(
                "this session belongs to the event loop in which it was entered, not to the "
                "running one; create a session in each loop"
            )

    def _event_loop(self) -> asyncio.AbstractEventLoop:
        if self._running_loop is None:
            raise RuntimeError("the session is not entered; use it inside `async with`")
        return self._running_loop

    def _changed(self) -> None:
        # Calls from a tool's thread go through EngineCalls, which wakes the loop itself.
        if self._driver is not None and self._thread == threading.get_ident():
            self._driver.arm()

    def _drop(self) -> None:
        if self._driver is not None:
            self._driver.stop()
        super()._drop()

    def _turn(self) -> None:
        if self._driver is not None:
            self._driver.run()

    async def _ended(
        self,
        submit: Callable[[Callable[[_core.Ticket], None]], _core.Ticket],
        look: Callable[[], None] = _do_nothing,
        *,
        is_prompt: bool = False,
    ) -> _core.Ticket:
        # Waits in the queue, submits the call, and returns after it has ended and `look` has run.
        core = self._use()
        if core.is_closed:
            raise GoneError("the session is closed; create a new one", code="SESSION_CLOSED")
        if self._driver is None:
            raise RuntimeError("the session is not entered; use it inside `async with`")
        self._refuse_other_loops()
        refuse_inside(core, "this call")
        cancel_count = self._cancel_count
        await self._queue.enter(is_prompt)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def on_end(ticket: _core.Ticket) -> None:
            # A session that is being closed refuses these calls.
            with suppress(Error):
                look()
            self._queue.leave()
            if not future.done():
                future.set_result(None)

        try:
            ticket = submit(on_end)
        except BaseException:
            self._queue.leave()
            raise
        if self._cancel_count != cancel_count:
            # cancel() was called while this call waited: report it as cancelled, like a running
            # one.
            core.cancel()
        self._changed()
        try:
            await future
        except asyncio.CancelledError:
            if not ticket.is_done and not core.is_closed:
                # on_end sets this one, because the task's cancellation has cancelled the other.
                future = asyncio.get_running_loop().create_future()
                core.cancel()
                self._turn()
                # Most calls end within this time, and then the caller can undo the turn.
                await asyncio.wait([future], timeout=INTERRUPT_GRACE_S)
            raise
        return ticket
