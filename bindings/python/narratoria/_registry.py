# SPDX-License-Identifier: Apache-2.0
# What both kinds of session share: everything that is written in Python and given to the runtime.

from __future__ import annotations

import atexit
from weakref import WeakSet

from narratoria import _core
from narratoria._hooks import describe_exception, report_exception
from narratoria.context import Context
from narratoria.errors import Error
from narratoria.state import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
    from os import PathLike
    from typing import Any, TypeVar, overload

    from narratoria._core import Event, Open, Question
    from narratoria._core import Invocation as OpenInvocation
    from narratoria._function import FunctionDescription
    from narratoria.documents import Asset

    Function = TypeVar("Function", bound=Callable[..., Any])
else:

    def overload(function):
        return function


# The bits of a sink's kinds.
_KINDS: dict[str, int] = {}


def kinds_mask(kinds: Iterable[str] | None) -> int:
    """The bits for these kinds; all of them for None."""
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
            raise ValueError(f"there is no kind of event {kind!r}; there are {', '.join(_KINDS)}")
        mask |= _KINDS[kind]
    if mask == 0:
        raise ValueError("kinds is empty: nothing would ever come; leave it out for all kinds")
    return mask


def check_prompt(prompt: str) -> None:
    """Refuses what cannot be the player's words."""
    if not isinstance(prompt, str):
        raise TypeError(f"a prompt is a str, not {type(prompt).__name__}")
    try:
        prompt.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"a prompt has no lone surrogates, as at {error.start}") from None


def plain_options(
    *,
    story: str | PathLike[str] | None,
    state: Mapping[str, Any] | None,
    narrator: Any,
    plugins: Iterable[str | PathLike[str]],
    without_plugins: bool,
    id: str | None,
    jobs: int | None,
    root: str | PathLike[str] | None,
    environment: Mapping[str, str] | None,
    allow_paths: Iterable[str | PathLike[str]],
    times: Any,
    limits: Any,
    cgroup: str | PathLike[str] | None,
) -> dict[str, Any]:
    """The constructor's arguments as the compiled part takes them."""
    from os import fspath

    if isinstance(plugins, str) or isinstance(allow_paths, str):
        raise TypeError("plugins and allow_paths are lists of texts, not one text")
    return {
        "story": None if story is None else fspath(story),
        "state": None if state is None else dict(state),
        "narrator_id": narrator if isinstance(narrator, str) else None,
        "plugins": [fspath(each) for each in plugins],
        "without_plugins": without_plugins,
        "id": id,
        "jobs": 0 if jobs is None else jobs,
        "cgroup": None if cgroup is None else fspath(cgroup),
        "root": None if root is None else fspath(root),
        "environment": [f"{name}={value}" for name, value in (environment or {}).items()],
        "allow_paths": [fspath(each) for each in allow_paths],
        "times": {} if times is None else times.to_dict(),
        "limits": {} if limits is None else limits.to_dict(),
    }


class Registry:
    """What a session can be given that is written in Python. Not for direct use: see Session and
    aio.Session."""

    _core: _core.Session
    _tasks: set[Task[None]]

    def __init__(self, options: dict[str, Any]) -> None:
        self._core = _core.Session(options)
        self._tasks = set()
        self._sinks: list[tuple[Callable[[Event], Any], int]] = []
        _living.add(self._core)

    # ---- what the two kinds of session do differently

    def _event_loop(self) -> AbstractEventLoop:
        """Where async functions run."""
        raise NotImplementedError

    def _changed(self) -> None:
        """Something was submitted or said: the engine may have work."""

    # ---- tools

    @overload
    def tool(self, function: Function, /) -> Function: ...

    @overload
    def tool(  # noqa: F811 (overload is not typing's own here)
        self, /, *, name: str | None = None, description: str | None = None
    ) -> Callable[[Function], Function]: ...

    def tool(  # noqa: F811
        self,
        function: Function | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
    ) -> Function | Callable[[Function], Function]:
        """Makes a function a tool that plans name by its name: ``"toolPath": "weather"``.

        Its parameters are the tool's input, and its annotations the schema: bool, int, float, str,
        None, Any, list, dict, tuple, Literal, Enum, TypedDict, dataclass, ``X | None``. An input
        that breaks the schema fails the attempt with ``INPUT_INVALID``. What it returns is the
        tool's ``result``; what it raises fails the attempt, with the traceback in its diagnostics
        and in the log; :class:`narratoria.tool.ToolError` with neither. It may be async, may be a generator that yields events (dicts), and gets a
        :class:`Context` for a parameter annotated with it. A function of the same name takes the
        place of an earlier one.

        A function that is not async holds up everything else while it runs.

        Args:
            name: instead of the function's own; letters, digits, ``_`` and ``-``.
            description: instead of the docstring's first paragraph; narrators read it.

        Raises:
            TypeError: a parameter cannot be described; the message names it.
            InvalidArgumentError: the name has other characters.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.tool
        ...     def roll(sides: int = 6) -> int:
        ...         "Rolls a die."
        ...         return min(sides, 4)
        ...     result = session.execute({"requestId": "p", "tools": [
        ...         {"toolId": "r", "toolPath": "roll", "input": {"sides": 20}}]})
        ...     result["r"].result
        4
        """
        if function is None:
            return lambda given: self.tool(given, name=name, description=description)  # type: ignore[call-overload]
        from narratoria._function import describe

        about = describe(function)
        is_plain = not about.is_async and not about.is_generator and not about.context_parameter
        bind = about.bind
        if is_plain:

            def run_plain(tool_input: dict[str, Any]) -> Any:
                return function(**bind(tool_input))

            call: Callable[[Any], Any] = run_plain
        else:

            def run_open(invocation: OpenInvocation) -> None:
                self._run_tool(function, about, invocation)

            call = run_open
        self._core.add_tool(
            name if name is not None else about.name,
            description if description is not None else about.description,
            about.input_schema,
            call,
            is_plain,
        )
        return function

    def _run_tool(
        self, function: Callable[..., Any], about: FunctionDescription, invocation: OpenInvocation
    ) -> None:
        def arguments() -> dict[str, Any]:
            made: dict[str, Any] = about.bind(invocation.request["input"])
            if about.context_parameter:
                made[about.context_parameter] = Context(invocation, State(self._core))
            return made

        if about.is_async:
            self._spawn_tool(function, arguments, about.is_generator, invocation)
            return
        try:
            result = function(**arguments())
            if about.is_generator:
                result = _run_generator(result, invocation)
            _say_done(invocation, result)
        except Exception as exception:
            _say_failure(invocation, exception)
        finally:
            invocation.end()

    def _spawn_tool(
        self,
        function: Callable[..., Any],
        arguments: Callable[[], dict[str, Any]],
        is_generator: bool,
        invocation: OpenInvocation,
    ) -> None:
        from asyncio import CancelledError

        async def run() -> None:
            try:
                result = None
                if is_generator:
                    async for event in function(**arguments()):
                        _say(invocation, event)
                else:
                    result = await function(**arguments())
                _say_done(invocation, result)
            except CancelledError:
                pass
            except Exception as exception:
                _say_failure(invocation, exception)
            finally:
                invocation.end()

        self._spawn(run(), invocation)

    def _spawn(self, work: Coroutine[Any, Any, None], open_call: Open) -> None:
        task = self._event_loop().create_task(work)
        # The loop itself keeps no task alive.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        open_call.on_cancel = task.cancel

    # ---- handlers

    def on_ui_event(self, *names: str, priority: int = 0) -> Callable[[Function], Function]:
        """Makes a function carry out what tools ask of the user interface.

        It gets a :class:`narratoria.events.UiEvent`. Return False to leave the event to others;
        everything else, also None, takes it. Of handlers the one with the highest priority is
        asked first, of equal ones the latest. An exception is logged, and the next is asked.

        Args:
            names: the events' names, for example ``"narrative_choice"``; none: every event.
            priority: higher is asked first.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.on_ui_event("bell")
        ...     def ring(event):
        ...         print("ding", event.payload["times"])
        ...     @session.tool
        ...     def sexton(context: narratoria.Context) -> None:
        ...         context.ui_event("bell", {"times": 3})
        ...     _ = session.execute({"requestId": "p", "tools": [
        ...         {"toolId": "s", "toolPath": "sexton"}]})
        ding 3
        """
        if len(names) == 1 and callable(names[0]):
            raise TypeError('on_ui_event needs parentheses: @session.on_ui_event("bell")')

        from narratoria.events import UiEvent

        def give(function: Function) -> Function:
            def handle(name: str, payload: dict[str, Any]) -> bool:
                return self._finish(function(UiEvent(name, payload)))

            self._core.add_ui_handler(list(names), priority, handle)
            return function

        return give

    def asset_renderer(
        self, *media_types: str, priority: int = 0
    ) -> Callable[[Function], Function]:
        """Makes a function show assets.

        It gets a :class:`narratoria.Asset` when the asset is first named by a ui event, or when
        its plan has ended. Return False to leave it to others.

        Args:
            media_types: ``"image/png"``, ``"image/*"``, ``"*/*"``.
            priority: higher is asked first.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.asset_renderer("image/*")
        ...     def show(asset):
        ...         print(asset.path)
        """
        if not media_types or callable(media_types[0]):
            raise TypeError('asset_renderer needs media types: @session.asset_renderer("image/*")')

        from narratoria.documents import Asset

        def give(function: Function) -> Function:
            def render(asset: dict[str, Any]) -> bool:
                return self._finish(function(Asset.from_dict(asset)))

            self._core.add_asset_renderer(list(media_types), priority, render)
            return function

        return give

    def _finish(self, answer: Any) -> bool:
        from inspect import isawaitable

        if answer is None or answer is True:
            return True
        if isawaitable(answer):

            async def run() -> None:
                try:
                    await answer
                except Exception as exception:
                    report_exception("an async handler", exception)

            task = self._event_loop().create_task(run())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return True
        return answer is not False

    # ---- the narrator

    def narrator(self, function: Function) -> Function:
        """Makes a function this session's narrator: from a request to a plan.

        It gets a :class:`narratoria.NarratorRequest` and returns a :class:`narratoria.Plan`, a dict
        of Plan JSON, or a str that is told as it is. It may be async. What it raises uses up one of
        the five generations of a prompt, as a plan with faults does; the next request says so.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.narrator
        ...     def echo(request):
        ...         return f"You say: {request.prompt.text}"
        ...     session.play("Hello").narrative
        'You say: Hello'
        """

        from narratoria.documents import NarratorRequest

        def ask(question: Question) -> None:
            from inspect import isawaitable

            try:
                answer = function(NarratorRequest.from_dict(question.request))
            except Exception as exception:
                report_exception("the narrator", exception)
                question.fail(f"{type(exception).__name__}: {exception}")
                return
            if isawaitable(answer):
                self._spawn_narrator(answer, question)
            else:
                _answer(question, answer)

        self._core.set_narrator(ask)
        return function

    def _spawn_narrator(self, answer: Any, question: Question) -> None:
        from asyncio import CancelledError

        async def run() -> None:
            try:
                _answer(question, await answer)
            except CancelledError:
                question.fail("it was cancelled")
            except Exception as exception:
                report_exception("the narrator", exception)
                question.fail(f"{type(exception).__name__}: {exception}")

        self._spawn(run(), question)

    # ---- sinks

    def add_sink(
        self, sink: Callable[[Event], Any], kinds: Iterable[str] | None = None
    ) -> Callable[[Event], Any]:
        """Calls ``sink(event)`` for every record of the event stream, and returns it.

        It is called for each event of each tool, on the thread that drives the session; what it
        raises is logged.

        Args:
            sink: a callable that takes an :class:`narratoria.Event`.
            kinds: only these, for example ``["tool_event", "tool_ended"]``.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     seen = []
        ...     _ = session.add_sink(lambda event: seen.append(event.kind), ["plan_started"])
        ...     _ = session.execute({"requestId": "p", "tools": []})
        >>> seen
        ['plan_started']
        """
        if not callable(sink):
            raise TypeError(f"a sink is a callable, not {type(sink).__name__}")
        self._sinks.append((sink, self._core.attach(sink, kinds_mask(kinds))))
        return sink

    def remove_sink(self, sink: Callable[[Event], Any]) -> None:
        """Takes a sink off, also from inside of it.

        Raises:
            ValueError: it is not attached.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     sink = session.add_sink(print)
        ...     session.remove_sink(sink)
        ...     _ = session.execute({"requestId": "p", "tools": []})
        """
        for place, (each, number) in enumerate(self._sinks):
            if each == sink:
                del self._sinks[place]
                self._core.detach(number)
                return
        raise ValueError("this sink is not attached")

    # ---- reading

    @property
    def id(self) -> str:
        """The session's id."""
        return self._core.id()

    @property
    def state(self) -> State:
        """The session's state, which reads like a mapping.

        >>> import narratoria
        >>> with narratoria.Session(state={"torch": {"lit": False}}) as session:
        ...     session.state["torch"]["lit"], session.state.at("/torch/lit")
        (False, False)
        """
        return State(self._core, self._changed)

    @property
    def assets(self) -> list[Asset]:
        """The asset registry, the oldest first."""
        from narratoria.documents import Asset

        return [Asset.from_dict(each) for each in self._core.assets()]

    @property
    def plugins(self) -> list[dict[str, Any]]:
        """What the session has of plugins: id, path, version, extensions, state, reason."""
        made: list[dict[str, Any]] = self._core.plugins()
        return made

    def history(self) -> dict[str, Any]:
        """The patches that made the state: ``{"limit", "dropped", "patches": [{seq, time, planId,
        toolId, attempt, patch}]}``, the oldest first; ``dropped`` counts what the limit cost.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     session.state.patch({"door": "open"})
        ...     [each["patch"] for each in session.history()["patches"]]
        [{'door': 'open'}]
        """
        made: dict[str, Any] = self._core.history()
        return made

    def cancel(self) -> None:
        """Ends what runs and drops what waits. From any thread, and from callbacks.

        Tools get SIGTERM, and SIGKILL after the grace time; nobody waits for that here.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.tool
        ...     def give_up() -> None:
        ...         session.cancel()
        ...     session.execute({"requestId": "p", "tools": [
        ...         {"toolId": "g", "toolPath": "give_up"}]}).success
        False
        """
        self._core.cancel()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._core.is_closed


def _say(invocation: OpenInvocation, event: Any) -> None:
    if event is None:
        return
    if hasattr(event, "to_dict"):
        event = event.to_dict()
    invocation.emit(event if "version" in event else {"version": "0", **event})


def _run_generator(generator: Iterator[Any], invocation: OpenInvocation) -> Any:
    while True:
        try:
            event = next(generator)
        except StopIteration as stop:
            return stop.value
        _say(invocation, event)


def _say_done(invocation: OpenInvocation, result: Any) -> None:
    done: dict[str, Any] = {"version": "0", "type": "done", "ok": True}
    if result is not None:
        done["result"] = result
    invocation.emit(done)


def _say_failure(invocation: OpenInvocation, exception: Exception) -> None:
    lines, trace = describe_exception(exception)
    invocation.diagnostics(trace)
    for line in lines.splitlines():
        invocation.emit(_core.from_json(line))


def _answer(question: Question, answer: Any) -> None:
    from narratoria.documents import Plan

    if isinstance(answer, str):
        answer = Plan(tools=[], narrative=answer)
    if isinstance(answer, Plan):
        answer = answer.to_dict()
    if not isinstance(answer, dict):
        question.fail(
            f"the narrator returned {type(answer).__name__}; it returns a Plan, a dict or a str"
        )
        return
    try:
        question.plan(answer)
    except (TypeError, ValueError) as exception:
        question.fail(f"the narrator's plan is no JSON: {exception}")


# ---- the end of the process

_living: WeakSet[_core.Session] = WeakSet()


def _end_all() -> None:
    # A thread that still waits comes back first; what is left ends while Python can still be called.
    _core.leave_all()
    for core in list(_living):
        try:
            core.close()
        except Error:
            # In use by a thread that did not come back, or made before a fork.
            continue


atexit.register(_end_all)
