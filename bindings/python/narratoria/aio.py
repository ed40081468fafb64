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
from collections import deque
from typing import TYPE_CHECKING, Any

from narratoria import _core
from narratoria._registry import Registry, check_prompt, kinds_mask, plain_options
from narratoria.documents import Asset
from narratoria.session import Turn, read_later, submit_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping
    from os import PathLike
    from types import TracebackType

    from typing_extensions import Self

    from narratoria._core import Event
    from narratoria.documents import NarratorRequest, Plan, Result
    from narratoria.options import Limits, Times

__all__ = ["EventStream", "Session"]

# What the engine may do before others in the loop have their turn.
_BUDGET_US = 5_000


class _Driver:
    # Between an engine and an event loop: the descriptor says that there is something to do, a timer
    # that time has come.

    def __init__(self, core: _core.Session, loop: asyncio.AbstractEventLoop) -> None:
        self._core = core
        self._loop = loop
        self._descriptor = core.descriptor()
        self._timer: asyncio.Handle | None = None
        self.on_turn: Callable[[], None] | None = None
        loop.add_reader(self._descriptor, self.turn)
        self.arm()

    def turn(self) -> None:
        """Does what there is to do."""
        try:
            self._core.run(_BUDGET_US)
        finally:
            if not self._core.is_closed:
                self.arm()
        if self.on_turn is not None:
            self.on_turn()

    def arm(self) -> None:
        """The engine may have something new to wait for."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        timeout = self._core.timeout_ms()
        if timeout == 0:
            self._timer = self._loop.call_soon(self.turn)
        elif timeout is not None:
            self._timer = self._loop.call_later(timeout / 1000, self.turn)

    def stop(self) -> None:
        self._loop.remove_reader(self._descriptor)
        if self._timer is not None:
            self._timer.cancel()


def drive_until(
    core: _core.Session, loop: asyncio.AbstractEventLoop, is_done: Callable[[], bool]
) -> None:
    """Runs a loop of a blocking session, which has async functions."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise RuntimeError(
            "an async function of a session is called, and an event loop runs here already (as in a "
            "notebook); use narratoria.aio.Session and await its calls"
        )
    driver = _Driver(core, loop)
    done = loop.create_future()

    def look() -> None:
        if is_done() and not done.done():
            done.set_result(None)

    driver.on_turn = look
    look()
    try:
        loop.run_until_complete(done)
    finally:
        driver.stop()


def end_tasks(loop: asyncio.AbstractEventLoop, tasks: set[asyncio.Task[None]]) -> None:
    """Cancels the tasks of a blocking session, and lets them end."""
    if not tasks:
        return
    for task in tasks:
        task.cancel()

    def run() -> None:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        run()
        return
    # Two loops do not run in one thread.
    import threading

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


class EventStream:
    """The event stream of a session, for ``async for``. It ends when the session is closed.

    Events wait here without a bound until they are asked for; :meth:`close` when no more are wanted.

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
        self, core: _core.Session, streams: set[EventStream], kinds: Iterable[str] | None
    ) -> None:
        self._waiting: deque[Event] = deque()
        self._asked: asyncio.Future[None] | None = None
        self._is_closed = False
        self._core = core
        self._number = core.attach(self._take, kinds_mask(kinds))
        # The streams of the session, which ends them.
        self._streams = streams
        streams.add(self)

    def _take(self, event: Event) -> None:
        self._waiting.append(event)
        self._wake()

    def _wake(self) -> None:
        if self._asked is not None and not self._asked.done():
            self._asked.set_result(None)

    def close(self) -> None:
        """No more events; those that wait can still be read. A second call does nothing.

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
        self._is_closed = True
        self._streams.discard(self)
        if not self._core.is_closed:
            self._core.detach(self._number)
        self._wake()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while not self._waiting:
            if self._is_closed:
                raise StopAsyncIteration
            if self._asked is not None and not self._asked.done():
                raise RuntimeError("another task waits for this stream; make a stream for each")
            self._asked = asyncio.get_running_loop().create_future()
            await self._asked
        return self._waiting.popleft()

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
    """A session whose calls are awaited. It belongs to the loop that it was entered in.

    The arguments are those of :class:`narratoria.Session`. Cancelling a task that awaits ``play`` or
    ``execute`` cancels what the session runs.

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

    def __init__(
        self,
        story: str | PathLike[str] | None = None,
        *,
        state: Mapping[str, Any] | None = None,
        narrator: str | Callable[[NarratorRequest], Any] | None = None,
        plugins: Iterable[str | PathLike[str]] = (),
        without_plugins: bool = False,
        id: str | None = None,
        jobs: int | None = None,
        root: str | PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
        allow_paths: Iterable[str | PathLike[str]] = (),
        times: Times | None = None,
        limits: Limits | None = None,
        cgroup: str | PathLike[str] | None = None,
    ) -> None:
        self._driver: _Driver | None = None
        self._running_loop: asyncio.AbstractEventLoop | None = None
        self._streams: set[EventStream] = set()
        super().__init__(
            plain_options(
                story=story,
                state=state,
                narrator=narrator,
                plugins=plugins,
                without_plugins=without_plugins,
                id=id,
                jobs=jobs,
                root=root,
                environment=environment,
                allow_paths=allow_paths,
                times=times,
                limits=limits,
                cgroup=cgroup,
            )
        )
        if callable(narrator):
            self.narrator(narrator)

    def __await__(self) -> Generator[Any, None, Self]:
        """Enters it without a block: ``session = await aio.Session()``, in a notebook or where a
        session comes on demand. Then `aclose` ends it.

        >>> import asyncio, narratoria
        >>> async def main():
        ...     session = await narratoria.aio.Session()
        ...     await session.aclose()
        ...     return session
        >>> asyncio.run(main())
        <aio.Session closed>
        """
        return self.__aenter__().__await__()

    async def __aenter__(self) -> Self:
        self._running_loop = asyncio.get_running_loop()
        self._driver = _Driver(self._core, self._running_loop)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Ends it: its tools are ended at once, its tasks cancelled. A second call does nothing.

        >>> import asyncio, narratoria
        >>> async def main():
        ...     session = await narratoria.aio.Session().__aenter__()
        ...     await session.aclose()
        ...     return session
        >>> asyncio.run(main())
        <aio.Session closed>
        """
        if self._driver is not None:
            self._driver.stop()
            self._driver = None
        if not self._core.is_closed:
            self._core.close()
        for stream in list(self._streams):
            stream.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def play(self, prompt: str) -> Turn:
        """Submits the player's words, and returns what came of them.

        While a turn runs one more prompt may wait.

        Raises:
            BusyError: one waits already.
            InvalidArgumentError: the prompt is empty, or the session has no narrator.

        >>> import asyncio, narratoria
        >>> async def main():
        ...     async with narratoria.aio.Session(narrator=lambda request: "It is dark.") as session:
        ...         return await session.play("I look around")
        >>> asyncio.run(main())
        <Turn completed 'It is dark.'>
        """
        known = {asset["seq"] for asset in self._core.assets()}
        check_prompt(prompt)
        ticket = await self._ended(lambda ended: self._core.prompt(prompt, ended))
        # One whose session was closed meanwhile was cancelled, and is told so as well.
        assets = [] if self._core.is_closed else self._core.assets()
        new = [each for each in assets if each["seq"] not in known]
        return Turn(ticket.value, [Asset.from_dict(each) for each in new])

    async def execute(
        self, plan: Plan | Mapping[str, Any] | str, *, folder: str | PathLike[str] | None = None
    ) -> Result:
        """Runs one plan, without the narrator. The arguments are those of
        :meth:`narratoria.Session.execute`.

        Raises:
            InvalidDocumentError: the plan has faults; nothing was started.

        >>> import asyncio, narratoria
        >>> async def main():
        ...     async with narratoria.aio.Session() as session:
        ...         return await session.execute({"requestId": "p", "tools": []})
        >>> asyncio.run(main())
        <Result success plan=p no tools ... ms>
        """
        ticket = await self._ended(lambda ended: submit_plan(self._core, plan, folder, ended))
        return read_later(ticket.value)

    def events(self, kinds: Iterable[str] | None = None) -> EventStream:
        """The events from now on, for ``async for``.

        Args:
            kinds: only these.

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
        return EventStream(self._core, self._streams, kinds)

    def cancel(self) -> None:
        """Ends what runs and drops what waits. From any thread.

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
        self._core.cancel()

    def __repr__(self) -> str:
        return "<aio.Session closed>" if self.is_closed else f"<aio.Session {self.id}>"

    def _event_loop(self) -> asyncio.AbstractEventLoop:
        assert self._running_loop is not None
        return self._running_loop

    def _changed(self) -> None:
        if self._driver is not None:
            self._driver.arm()

    async def _ended(
        self, submit: Callable[[Callable[[_core.Ticket], None]], _core.Ticket]
    ) -> _core.Ticket:
        if self._driver is None:
            raise RuntimeError("use the session inside of `async with`: then the loop drives it")
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def on_end(ticket: _core.Ticket) -> None:
            if not future.done():
                future.set_result(None)

        ticket = submit(on_end)
        self._driver.arm()
        try:
            await future
        except asyncio.CancelledError:
            if not self._core.is_closed:
                self._core.cancel()
                self._driver.turn()
            raise
        return ticket
