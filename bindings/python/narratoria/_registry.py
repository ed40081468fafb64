# SPDX-License-Identifier: Apache-2.0
# What both kinds of session share: everything that is written in Python and given to the runtime.

from __future__ import annotations

import atexit
from weakref import WeakSet

from narratoria import _core
from narratoria._hooks import describe_exception, exception_text, log_event, report_exception
from narratoria.context import Context
from narratoria.errors import BusyError, Error
from narratoria.state import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task
    from collections.abc import (
        AsyncGenerator,
        Awaitable,
        Callable,
        Coroutine,
        Generator,
        Iterable,
        Mapping,
    )
    from os import PathLike
    from typing import Any, TypeVar, overload

    from narratoria._core import Event, Open, Question
    from narratoria._core import Invocation as OpenInvocation
    from narratoria._core import Session as CoreSession
    from narratoria._function import FunctionDescription
    from narratoria.documents import Asset, NarratorRequest
    from narratoria.options import Limits, Times

    Function = TypeVar("Function", bound=Callable[..., Any])
else:

    def overload(function):
        return function


# The bits of a sink's kinds.
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
            raise ValueError(f"there is no kind of event {kind!r}; there are {', '.join(_KINDS)}")
        mask |= _KINDS[kind]
    if mask == 0:
        raise ValueError("kinds is empty: nothing would ever come; leave it out for all kinds")
    return mask


def text_of(what: str, value: Any) -> str:
    """Checks a text argument, and names it in the exception."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a str, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{what} has no lone surrogates, as at {error.start}") from None
    return value


def path_text(what: str, value: Any) -> str:
    """Checks a path argument, which must be UTF-8."""
    from os import PathLike, fspath

    if isinstance(value, PathLike):
        value = fspath(value)
    if not isinstance(value, str):
        raise TypeError(f"{what} is a path: a str or a Path, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} is no path in UTF-8: {value!r}; rename it") from None
    return value


def whole_number(what: str, value: Any, lowest: int, highest: int) -> int:
    """Checks a whole number and its range."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{what} is an int, not {type(value).__name__}")
    if not lowest <= value <= highest:
        raise ValueError(f"{what} is a whole number from {lowest} to {highest}, not {value}")
    return value


def need_callable(what: str, function: Any) -> None:
    """Refuses at once what would fail only when it is called."""
    if not callable(function):
        raise TypeError(f"{what} is a function, not {type(function).__name__}")


def check_prompt(prompt: str) -> None:
    """Refuses an invalid prompt."""
    text_of("a prompt", prompt)


class Registry:
    """The Python functions of a session. Not for direct use: see Session and aio.Session."""

    _core: _core.Session
    _tasks: set[Task[None]]

    def __init__(
        self,
        story: str | PathLike[str] | None = None,
        *,
        state: Mapping[str, Any] | None = None,
        narrator: str | Callable[[NarratorRequest], Any] | None = None,
        plugins: Iterable[str | PathLike[str]] = (),
        plugin_settings: Mapping[str, Mapping[str, Any]] | None = None,
        without_plugins: bool = False,
        id: str | None = None,
        jobs: int | None = None,
        root: str | PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
        allow_paths: Iterable[str | PathLike[str]] = (),
        allow_schemes: Iterable[str] = (),
        times: Times | None = None,
        limits: Limits | None = None,
        cgroup: str | PathLike[str] | None = None,
    ) -> None:
        self._prepare()
        for name, given in (
            ("plugins", plugins),
            ("allow_paths", allow_paths),
            ("allow_schemes", allow_schemes),
        ):
            if isinstance(given, (str, bytes)):
                raise TypeError(f"{name} is a list of texts, not one text")
        if state is not None and not hasattr(state, "keys"):
            raise TypeError(f"state is a dict, not {type(state).__name__}")
        if plugin_settings is not None and not hasattr(plugin_settings, "keys"):
            raise TypeError(f"plugin_settings is a dict, not {type(plugin_settings).__name__}")
        if narrator is not None and not isinstance(narrator, str) and not callable(narrator):
            raise TypeError(
                f"narrator is a function or the id of a plugin, not {type(narrator).__name__}"
            )
        if not isinstance(without_plugins, bool):
            raise TypeError(f"without_plugins is True or False, not {without_plugins!r}")
        if times is not None or limits is not None:
            from narratoria.options import Limits, Times

            for what, numbers, kind in (("times", times, Times), ("limits", limits, Limits)):
                if numbers is not None and not isinstance(numbers, kind):
                    raise TypeError(
                        f"{what} is a narratoria.{kind.__name__}, not {type(numbers).__name__}"
                    )
        if environment is not None and not hasattr(environment, "items"):
            raise TypeError(f"environment is a dict, not {type(environment).__name__}")
        given_environment: list[str] = []
        for name, value in (environment or {}).items():
            if "=" in text_of("the name of a variable of environment", name):
                raise ValueError(f"the name of a variable of environment has no =, as in {name!r}")
            given_environment.append(f"{name}={text_of(f'environment[{name!r}]', value)}")
        options = {
            "story": None if story is None else path_text("story", story),
            "state": None if state is None else dict(state),
            "narrator_id": text_of("narrator", narrator) if isinstance(narrator, str) else None,
            "plugins": [path_text("each of plugins", each) for each in plugins],
            "plugin_settings": None if plugin_settings is None else dict(plugin_settings),
            "without_plugins": without_plugins,
            "id": None if id is None else text_of("id", id),
            "jobs": 0 if jobs is None else whole_number("jobs", jobs, 0, 0xFFFF_FFFF),
            "cgroup": None if cgroup is None else path_text("cgroup", cgroup),
            "root": None if root is None else path_text("root", root),
            "environment": given_environment,
            "allow_paths": [path_text("each of allow_paths", each) for each in allow_paths],
            "allow_schemes": [text_of("each of allow_schemes", each) for each in allow_schemes],
            "times": {} if times is None else times.to_dict(),
            "limits": {} if limits is None else limits.to_dict(),
        }
        self._core = _core.Session(options)
        self._id = self._core.id()
        self._core.attach(log_event, kinds_mask(("warning", "asset_refused")))
        # All that runs in the loop, and of it what nothing in the engine waits for.
        self._tasks = set()
        self._handlers: set[Task[None]] = set()
        self._sinks: list[tuple[Callable[[Event], Any], int]] = []
        _living.add(self._core)
        if callable(narrator):
            self.narrator(narrator)

    # What a wrong call speaks of.
    __init__.__qualname__ = "Session.__init__"

    # ---- what the two kinds of session do differently

    def _prepare(self) -> None:
        """Before anything can be called back."""

    def _event_loop(self) -> AbstractEventLoop:
        """Where async functions run."""
        raise NotImplementedError

    def _changed(self) -> None:
        """Called after a submission, an event or the end of a task: the engine may have work."""

    def _use(self) -> CoreSession:
        """The compiled session, after a check that the caller may use it."""
        return self._core

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

        Its parameters are the tool's input, and their annotations are the schema: bool, int, float,
        str, None, Any, list, dict, tuple, Literal, Enum, TypedDict, dataclass, ``X | None``. An
        input that violates the schema fails the attempt with ``INPUT_INVALID``. The return value
        is the tool's ``result``. An exception fails the attempt, with the traceback in its
        diagnostics and in the log; a :class:`narratoria.ToolError` fails it without a traceback.
        The function may be async, or a generator that yields events (dicts). A parameter with the
        annotation :class:`Context` receives one. A function replaces an earlier one of the same
        name.

        A function that is not async blocks everything else while it runs.

        Args:
            name: overrides the function's name; letters, digits, ``_`` and ``-``.
            description: for narrators; overrides the docstring's first paragraph.

        Raises:
            TypeError: it is not a function, or a parameter has no schema; the message names it.
            ValueError: the name is too long or has other characters; a ``lambda`` has no name.

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
        if not callable(function):
            raise TypeError(
                f"a tool is a function, not {type(function).__name__}; a name and a description are "
                'given by theirs: @session.tool(name="...")'
            )
        _import_for(function)
        from narratoria._function import describe

        about = describe(function, name=name, description=description)
        is_plain = not about.is_async and not about.is_generator and not about.context_parameter
        bind = about.bind
        # What a decorator has made of a function may return anything.
        if is_plain and _is_bare(function):

            def run_plain(tool_input: dict[str, Any]) -> Any:
                result = function(**bind(tool_input))
                if hasattr(result, "__await__"):
                    raise _refuse_awaitable(result)
                return result

            call: Callable[[Any], Any] = run_plain
        else:
            is_plain = False

            def run_open(invocation: OpenInvocation) -> None:
                self._run_tool(function, about, invocation)

            call = run_open
        self._use().add_tool(about.name, about.description, about.input_schema, call, is_plain)
        return function

    def _run_tool(
        self, function: Callable[..., Any], about: FunctionDescription, invocation: OpenInvocation
    ) -> None:
        def call() -> Any:
            made: dict[str, Any] = about.bind(invocation.request["input"])
            if about.context_parameter:
                made[about.context_parameter] = Context(
                    invocation, State(self._core, self._use, self._changed)
                )
            return function(**made)

        if about.is_async:
            self._spawn_tool(call, about.is_generator, invocation)
            return
        is_over = True
        try:
            result = call()
            if about.is_generator:
                result = _run_generator(result, invocation)
            if hasattr(result, "__await__"):
                is_over = False
                self._spawn_tool(lambda: result, False, invocation)
            else:
                _say_done(invocation, result)
        except Exception as exception:
            _say_failure(invocation, exception)
        finally:
            if is_over:
                invocation.end()

    def _spawn_tool(
        self, call: Callable[[], Any], is_generator: bool, invocation: OpenInvocation
    ) -> None:
        from asyncio import CancelledError, current_task

        from narratoria.aio import inside

        async def run() -> None:
            task = current_task()
            try:
                with inside(self._core):
                    result = None
                    if is_generator:
                        await _run_async_generator(call(), invocation)
                    else:
                        result = await call()
                    await _patiently(_say_done, invocation, result)
            except CancelledError as exception:
                # Of its own making it is a failure like others.
                if not invocation.is_cancelled and not self._core.is_closed:
                    await _say_failure_patiently(invocation, exception)
            except (KeyboardInterrupt, SystemExit):
                # It leaves the loop, and whoever runs that gets it.
                raise
            except BaseException as exception:
                if isinstance(exception, GeneratorExit) and _current(current_task) is not task:
                    # It was not raised here: the task is being thrown away.
                    raise
                await _say_failure_patiently(invocation, exception)
            finally:
                invocation.end()

        # One that is cancelled before its first step never comes to its end.
        self._spawn(run(), invocation, invocation.end)

    def _spawn(
        self,
        work: Coroutine[Any, Any, None],
        open_call: Open,
        end: Callable[[], object],
    ) -> None:
        task = self._start(work)

        def over(_: object) -> None:
            # The call, the task and what it raised are not to keep each other.
            open_call.on_cancel = None
            end()

        open_call.on_cancel = task.cancel
        task.add_done_callback(over)

    def _start(self, work: Coroutine[Any, Any, None]) -> Task[None]:
        try:
            loop = self._event_loop()
        except BaseException:
            work.close()
            raise
        task = loop.create_task(work)
        # The loop itself keeps no task alive.
        self._tasks.add(task)
        task.add_done_callback(self._task_over)
        return task

    def _task_over(self, task: Task[None]) -> None:
        self._tasks.discard(task)
        self._handlers.discard(task)
        self._changed()

    # ---- handlers

    def on_ui_event(self, *names: str, priority: int = 0) -> Callable[[Function], Function]:
        """Makes a function a handler of ui_events.

        It receives a :class:`narratoria.events.UiEvent`. Return False to pass the event on; any
        other value, including None, handles it. Handlers are called in descending order of
        priority, at equal priority the latest first. An exception is logged, and the next handler
        is called. An async function always handles the event; a blocking ``play`` or ``execute``
        returns after it has ended.

        Args:
            names: names of events, for example ``"narrative_choice"``; none: all events.
            priority: higher is called first.

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
        given = [text_of("the name of a ui event", name) for name in names]
        whole_number("priority", priority, -(2**31), 2**31 - 1)

        from narratoria.events import UiEvent

        def give(function: Function) -> Function:
            need_callable("a handler", function)
            _import_for(function)

            def handle(name: str, payload: dict[str, Any]) -> bool:
                return self._finish(function(UiEvent(name, payload)))

            self._use().add_ui_handler(given, priority, handle)
            return function

        return give

    def asset_renderer(
        self, *media_types: str, priority: int = 0
    ) -> Callable[[Function], Function]:
        """Makes a function a renderer of assets.

        It receives a :class:`narratoria.Asset` when a ui_event first references it, or when its
        plan has ended. Return False to pass the asset on.

        Args:
            media_types: ``"image/png"``, ``"image/*"``, ``"*/*"``.
            priority: higher is called first.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.asset_renderer("image/*")
        ...     def show(asset):
        ...         print(asset.path)
        """
        if not media_types or callable(media_types[0]):
            raise TypeError('asset_renderer needs media types: @session.asset_renderer("image/*")')
        given = [text_of("a media type", each) for each in media_types]
        whole_number("priority", priority, -(2**31), 2**31 - 1)

        from narratoria.documents import Asset

        def give(function: Function) -> Function:
            need_callable("an asset renderer", function)
            _import_for(function)

            def render(asset: dict[str, Any]) -> bool:
                return self._finish(function(Asset.from_dict(asset)))

            self._use().add_asset_renderer(given, priority, render)
            return function

        return give

    def _finish(self, answer: Any) -> bool:
        if answer is None or answer is True:
            return True
        if hasattr(answer, "__await__"):
            self._handlers.add(self._start(self._await_handler(answer)))
            return True
        return answer is not False

    async def _await_handler(self, answer: Awaitable[Any]) -> None:
        from narratoria.aio import inside

        with inside(self._core, is_waited_for=False):
            try:
                await answer
            except Exception as exception:
                report_exception("an async handler", exception)

    # ---- the narrator

    def narrator(self, function: Function) -> Function:
        """Makes a function this session's narrator, which turns a request into a plan.

        It receives a :class:`narratoria.NarratorRequest` and returns a :class:`narratoria.Plan`, a
        dict of Plan JSON, or a narrative (str). It may be async. An exception uses up one of the
        five generations of a prompt, like a plan with faults; the next request reports it.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.narrator
        ...     def echo(request):
        ...         return f"You say: {request.prompt.text}"
        ...     session.play("Hello").narrative
        'You say: Hello'
        """

        from narratoria.documents import NarratorRequest

        need_callable("a narrator", function)
        _import_for(function)

        def ask(question: Question) -> None:
            try:
                answer = function(NarratorRequest.from_dict(question.request))
                if hasattr(answer, "__await__"):
                    self._spawn_narrator(answer, question)
                else:
                    _answer(question, answer)
            except Exception as exception:
                _fail(question, exception)

        self._use().set_narrator(ask)
        return function

    def _spawn_narrator(self, answer: Awaitable[Any], question: Question) -> None:
        from asyncio import CancelledError

        from narratoria.aio import inside

        async def run() -> None:
            try:
                with inside(self._core):
                    _answer(question, await answer)
            except CancelledError:
                question.fail("it was cancelled")
            except GeneratorExit:
                raise
            except BaseException as exception:
                _fail(question, exception)
                if isinstance(exception, (KeyboardInterrupt, SystemExit)):
                    raise

        self._spawn(run(), question, lambda: question.fail("it was cancelled"))

    # ---- sinks

    def add_sink(
        self, sink: Callable[[Event], Any], kinds: Iterable[str] | None = None
    ) -> Callable[[Event], Any]:
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
        need_callable("a sink", sink)
        if _is_async(sink):
            raise TypeError(
                "a sink is called for each event, and not awaited: it cannot be async; put the events "
                "into a queue, or use aio.Session and events()"
            )
        self._sinks.append((sink, self._use().attach(sink, kinds_mask(kinds))))
        return sink

    def remove_sink(self, sink: Callable[[Event], Any]) -> None:
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

    # ---- reading

    @property
    def id(self) -> str:
        """The session's id."""
        name: str = self._use().id()
        return name

    @property
    def state(self) -> State:
        """The session's state, a live mapping.

        >>> import narratoria
        >>> with narratoria.Session(state={"torch": {"lit": False}}) as session:
        ...     session.state["torch"]["lit"], session.state.at("/torch/lit")
        (False, False)
        """
        return State(self._core, self._use, self._changed)

    @property
    def assets(self) -> list[Asset]:
        """The asset registry, oldest first."""
        from narratoria.documents import Asset

        return [Asset.from_dict(each) for each in self._use().assets()]

    @property
    def plugins(self) -> list[dict[str, Any]]:
        """The session's plugins: id, path, version, extensions, state, reason."""
        made: list[dict[str, Any]] = self._use().plugins()
        return made

    def history(self) -> dict[str, Any]:
        """The patches of the state, oldest first: ``{"limit", "dropped", "patches": [{seq, time,
        planId, toolId, attempt, patch}]}``. ``dropped`` counts patches beyond the limit.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     session.state.patch({"door": "open"})
        ...     [each["patch"] for each in session.history()["patches"]]
        [{'door': 'open'}]
        """
        made: dict[str, Any] = self._use().history()
        return made

    def cancel(self) -> None:
        """Cancels what runs and drops what waits. Thread-safe; allowed in callbacks.

        Tools get SIGTERM, and SIGKILL after the grace period; this call does not wait for that.

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
        """Whether the session is closed."""
        return self._core.is_closed


def _say(invocation: OpenInvocation, event: Any) -> None:
    if event is None:
        return
    if hasattr(event, "to_dict"):
        event = event.to_dict()
    invocation.emit(event if "version" in event else {"version": "0", **event})


def _run_generator(generator: Generator[Any, Any, Any], invocation: OpenInvocation) -> Any:
    refused: BusyError | None = None
    while True:
        try:
            # Told where it is said: its own code knows what to leave out.
            event = next(generator) if refused is None else generator.throw(refused)
        except StopIteration as stop:
            return stop.value
        refused = None
        try:
            _say(invocation, event)
        except BusyError as error:
            refused = BusyError(
                "a function that is not async cannot say more than 16 MiB; make it an async generator",
                code=error.code,
            )


async def _run_async_generator(
    generator: AsyncGenerator[Any, None], invocation: OpenInvocation
) -> None:
    from contextlib import aclosing

    async with aclosing(generator):
        async for event in generator:
            await _patiently(_say, invocation, event)


async def _patiently(
    say: Callable[[OpenInvocation, Any], None], invocation: OpenInvocation, what: Any
) -> None:
    """Emits when there is room: the runtime reads while other tasks run."""
    from asyncio import sleep

    while True:
        try:
            say(invocation, what)
            return
        except BusyError:
            await sleep(0.001)


def _say_done(invocation: OpenInvocation, result: Any) -> None:
    done: dict[str, Any] = {"version": "0", "type": "done", "ok": True}
    if result is not None:
        done["result"] = result
    invocation.emit(done)


def _failure_lines(invocation: OpenInvocation, exception: BaseException) -> list[Any]:
    lines, trace = describe_exception(exception)
    invocation.diagnostics(trace)
    return [_core.from_json(line) for line in lines.splitlines()]


def _say_failure(invocation: OpenInvocation, exception: BaseException) -> None:
    for line in _failure_lines(invocation, exception):
        invocation.emit(line)


async def _say_failure_patiently(invocation: OpenInvocation, exception: BaseException) -> None:
    for line in _failure_lines(invocation, exception):
        await _patiently(_say, invocation, line)


def _current(current_task: Callable[[], Task[Any] | None]) -> Task[Any] | None:
    try:
        return current_task()
    except RuntimeError:
        return None


def _is_bare(function: Any) -> bool:
    """Whether it is a function as `def` makes it, and not something around one."""
    return hasattr(function, "__code__") and not hasattr(function, "__wrapped__")


def _refuse_awaitable(result: Any) -> TypeError:
    close = getattr(result, "close", None)
    if callable(close):
        close()
    return TypeError(
        f"the function is not async and returned {type(result).__name__}, which must be awaited; make "
        "it an async function, or if a decorator stands around one, let that use functools.wraps"
    )


# What a code object says of `async def`, with `yield` or without: inspect would cost a start time.
_ASYNC_FLAGS = 0x80 | 0x200


def _is_async(function: Any) -> bool:
    while hasattr(function, "func") and not hasattr(function, "__code__"):
        function = function.func
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(getattr(type(function), "__call__", None), "__code__", None)
    return bool(getattr(code, "co_flags", 0) & _ASYNC_FLAGS)


def _import_for(function: Any) -> None:
    # Ctrl-C within an import leaves half a module behind: what an async function needs is there before
    # it is called.
    if _is_async(function):
        from importlib import import_module

        import_module("narratoria.aio")


def _fail(question: Question, exception: BaseException) -> None:
    """Reports the narrator's failure with its reason."""
    report_exception("the narrator", exception)
    question.fail(exception_text(exception))


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
        question.fail(f"the narrator's plan is no JSON: {exception_text(exception)}")


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
