# SPDX-License-Identifier: Apache-2.0
# The base of both kinds of session: registers Python functions with the runtime.

from __future__ import annotations

import atexit
from weakref import WeakSet

from narratoria import _core
from narratoria._checks import (
    check_timeout,
    check_tool,
    require_callable,
    text_of,
    true_or_false,
    whole_number,
)
from narratoria._hooks import (
    exception_text,
    log_event,
    report_exception,
    to_plain,
)
from narratoria._invocations import (
    arguments_of,
    current_or_none,
    done_line,
    end_failed,
    import_for,
    is_async_function,
    is_bare,
    raiser,
    refuse_awaitable,
    run_async_generator,
    run_generator,
    takes_parameter,
)
from narratoria._plan_warnings import describe_faults, plan_warnings, warn_of_plan
from narratoria._session_options import core_options
from narratoria.context import Context
from narratoria.errors import Error, GoneError, NotFoundError, ReentrantError
from narratoria.state import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task
    from collections.abc import (
        Awaitable,
        Callable,
        Coroutine,
        Iterable,
        Mapping,
    )
    from os import PathLike
    from typing import Any, Literal, NoReturn, TypeVar, overload

    from narratoria._core import Event, PendingCall, Reply
    from narratoria._core import Invocation as OpenInvocation
    from narratoria._core import Session as CoreSession
    from narratoria._function import FunctionDescription
    from narratoria._threads import ToolThreads
    from narratoria.documents import Asset, Opening, Outcome
    from narratoria.events import UiEvent
    from narratoria.options import Limits, Times
    from narratoria.registry import Tools
    from narratoria.script import ScriptRun
    from narratoria.store import StoredTurn, StoredTurns
    from narratoria.toolset import Toolset

    Function = TypeVar("Function", bound=Callable[..., Any])
    UiHandler = TypeVar("UiHandler", bound=Callable[[UiEvent], Any])
    Renderer = TypeVar("Renderer", bound=Callable[[Asset], Any])
    Narrator = TypeVar("Narrator", bound=Callable[..., Any])
else:

    def overload(function):
        return function


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
            raise ValueError(f"unknown kind of event {kind!r}; use one of {', '.join(_KINDS)}")
        mask |= _KINDS[kind]
    if mask == 0:
        raise ValueError("kinds must not be empty; leave it out for all kinds")
    return mask


class Registry:
    """The Python functions of a session. Not for direct use: see Session and aio.Session."""

    _core: _core.Session
    _tasks: set[Task[None]]

    def __init__(
        self,
        story: str | PathLike[str] | None = None,
        *,
        project: str | PathLike[str] | None = None,
        state: Mapping[str, Any] | None = None,
        narrator: str | Callable[..., Any] | None = None,
        plugins: Iterable[str | PathLike[str]] = (),
        plugin_settings: Mapping[str, Mapping[str, Any]] | None = None,
        without_plugins: bool = False,
        id: str | None = None,
        jobs: int | None = None,
        root: str | PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
        allow_paths: Iterable[str | PathLike[str]] = (),
        allow_schemes: Iterable[str] = (),
        sandbox: str | Iterable[str] = (),
        times: Times | None = None,
        limits: Limits | None = None,
        cgroup: str | PathLike[str] | None = None,
        output_mode: Literal["remove", "keep", "none"] = "remove",
        store: str | PathLike[str] | None = None,
        durability: Literal["turn", "lazy"] = "turn",
        must_be_new: bool = False,
        tools: Iterable[Toolset] = (),
        strict: bool = False,
        on_narrator_error: Literal["raise", "fallback"] = "raise",
        close_timeout: float | None = 5.0,
    ) -> None:
        self._tool_threads: ToolThreads | None = None
        self._prepare()
        for what, several in (
            ("plugins", plugins),
            ("allow_paths", allow_paths),
            ("allow_schemes", allow_schemes),
            ("tools", tools),
        ):
            if isinstance(several, (str, bytes)) or not hasattr(several, "__iter__"):
                raise TypeError(f"{what} must be a list, not {type(several).__name__}")
        if not hasattr(sandbox, "__iter__"):
            raise TypeError(f"sandbox must be a str or a list of str, not {type(sandbox).__name__}")
        if on_narrator_error not in ("raise", "fallback"):
            raise ValueError(
                f'on_narrator_error must be "raise" or "fallback", not {on_narrator_error!r}'
            )
        self._strict = true_or_false("strict", strict)
        self._raises_narrator_errors = on_narrator_error == "raise"
        self._narrator_error: Exception | None = None
        self._close_timeout = check_timeout("close_timeout", close_timeout)
        self._has_jobs = jobs is not None
        options = core_options(
            story,
            project=project,
            state=state,
            narrator=narrator,
            plugins=plugins,
            plugin_settings=plugin_settings,
            without_plugins=without_plugins,
            id=id,
            jobs=jobs,
            root=root,
            environment=environment,
            allow_paths=allow_paths,
            allow_schemes=allow_schemes,
            sandbox=sandbox,
            times=times,
            limits=limits,
            cgroup=cgroup,
            output_mode=output_mode,
            store=store,
            durability=durability,
            must_be_new=must_be_new,
        )
        self._core = _core.Session(options)
        self._id = self._core.id()
        # Why the narrator's answers were not used in the running turn.
        self._faults: list[str] = []
        self._core.attach(_fault_recorder(self._faults), kinds_mask(("warning", "asset_refused")))
        # All tasks in the loop. `_handlers` has those for which nothing in the engine waits.
        self._tasks = set()
        self._handlers: set[Task[None]] = set()
        self._sinks: list[tuple[Callable[[Event], Any], int]] = []
        _open_sessions.add(self._core)
        try:
            for toolset in tools:
                self.use(toolset)
            if callable(narrator):
                self.narrator(narrator)
        except BaseException:
            # The caller does not get the session, so it must be closed here.
            self._core.close()
            raise

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is None or core.is_closed or core.is_foreign:
            return
        from warnings import warn

        # The text has no id: Python keeps every different warning text that it has shown.
        warn("a session was not closed: use `with`, or close it", ResourceWarning, source=self)
        self._drop()

    def _drop(self) -> None:
        """Closes the session after its last reference is gone."""
        try:
            self._core.close()
        except Error:
            # In use by another thread.
            return

    def __reduce__(self) -> NoReturn:
        # A copy would share the compiled session with this one and close it.
        raise TypeError(
            "a session cannot be copied or pickled; create another one from its state: "
            "Session(state=session.state.to_dict())"
        )

    # The name in Python's TypeError for wrong arguments.
    __init__.__qualname__ = "Session.__init__"

    # ---- what the two kinds of session do differently

    def _prepare(self) -> None:
        """Initializes the subclass, before any callback is possible."""

    def _event_loop(self) -> AbstractEventLoop:
        """Returns the loop in which async functions run."""
        raise NotImplementedError

    def _changed(self) -> None:
        """Called after a submission, an event or the end of a task, which may give the engine
        work."""

    def _use(self) -> CoreSession:
        """Returns the compiled session after a check that the caller may use it. On a tool's thread
        it returns a proxy that runs each call on the session's own thread."""
        if self._tool_threads is not None:
            from narratoria._threads import current_calls

            calls: Any = current_calls(self._core)
            if calls is not None:
                there: CoreSession = calls
                return there
        return self._core

    def _refuse_inside(self) -> None:
        """Refuses a call that would wait for the tool, sink, handler or narrator that makes it."""
        if self._use() is not self._core:
            raise ReentrantError(
                "this call would wait for itself: it is made inside a tool of this session",
                code="REENTRANT",
            )
        self._core.refuse_inside()

    # ---- tools

    @overload
    def tool(self, function: Function, /) -> Function: ...

    @overload
    def tool(  # noqa: F811 (overload is not typing's own here)
        self,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        thread: bool = True,
        repeatable: bool = True,
    ) -> Callable[[Function], Function]: ...

    def tool(  # noqa: F811
        self,
        function: Function | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        thread: bool = True,
        repeatable: bool = True,
    ) -> Function | Callable[[Function], Function]:
        """Makes a function a tool that plans name by its name: ``"toolPath": "weather"``.

        Its parameters are the tool's input, and their annotations are the schema: bool, int, float,
        str, None, Any, list, dict, tuple, Literal, Enum, TypedDict, dataclass, ``X | None``. An
        input that violates the schema fails the attempt with ``INPUT_INVALID``. The return value
        is the tool's ``result``. An exception fails the attempt, with the traceback in its
        diagnostics and in the log; a :class:`narratoria.ToolError` fails it without a traceback.
        The function may be async, or a generator that yields events (dicts). A parameter with the
        annotation :class:`Context` receives one. A function replaces a tool of the same name that
        Python registered; a plugin's tool must be removed first, with ``session.tools.remove``.

        A function that is not async runs in its own thread, concurrently with everything else.
        It may use the state and the session as usual. At its timeout the attempt ends, but the
        thread continues until the function returns; the function can check
        ``context.is_cancelled``.

        Args:
            name: overrides the function's name; letters, digits, ``_`` and ``-``.
            description: for narrators; overrides the docstring's first paragraph.
            thread: False runs a function that is not async on the session's own thread, where it
                blocks everything else. Use it for functions that are quick or bound to one thread.
                Such a function has no time limit.
            repeatable: False if running the function twice may do harm. A turn that was interrupted
                while it ran is then resumed only with ``repeat=True``.

        Raises:
            TypeError: the argument is not a function, or a parameter has no schema; the message
                names it.
            ValueError: the name is too long or has other characters; a ``lambda`` has no name.
            InvalidArgumentError: a plugin has a tool of this name.

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
            return lambda given: self.tool(  # type: ignore[call-overload]
                given, name=name, description=description, thread=thread, repeatable=repeatable
            )
        check_tool(function, name, description, thread, repeatable)
        import_for(function)
        from narratoria._function import describe

        about = describe(function, name=name, description=description)
        about.repeatable = repeatable
        self._register(about, thread)
        return function

    @property
    def tools(self) -> Tools:
        """The tools of the session by name, a live view: to list, look up, register and remove.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.tool
        ...     def roll(sides: int = 6) -> int:
        ...         "Rolls a die."
        ...         return min(sides, 4)
        ...     {name: tool.description for name, tool in session.tools.items()}
        {'roll': 'Rolls a die.'}
        """
        from narratoria.registry import Tools

        return Tools(self, self._use)

    def use(self, toolset: Toolset) -> None:
        """Adds all tools of a :class:`narratoria.Toolset`, which any number of sessions may share.
        Tools added to the toolset later are not added to this session.

        >>> import narratoria
        >>> dice = narratoria.Toolset()
        >>> @dice.tool
        ... def roll(sides: int = 6) -> int:
        ...     return min(sides, 4)
        >>> with narratoria.Session(tools=[dice]) as session:
        ...     session.call("roll", sides=20)
        4
        """
        from narratoria.toolset import Toolset

        if not isinstance(toolset, Toolset):
            raise TypeError(f"a toolset must be a narratoria.Toolset, not {type(toolset).__name__}")
        for about, thread in toolset.described:
            import_for(about.function)
            self._register(about, thread)

    def _register(self, about: FunctionDescription, thread: bool) -> None:
        function = about.function
        is_plain = not about.is_async and not about.is_generator and not about.context_parameter
        # Only a bare function: a decorated one may return anything, also an awaitable.
        if is_plain and not thread and is_bare(function):

            def run_plain(tool_input: dict[str, Any]) -> Any:
                result = function(**arguments_of(about, tool_input))
                if hasattr(result, "__await__"):
                    raise refuse_awaitable(result)
                return result

            call: Callable[[Any], Any] = run_plain
        else:
            is_plain = False

            def run_open(invocation: OpenInvocation) -> None:
                self._run_tool(function, about, invocation, thread)

            call = run_open
        if thread and not about.is_async and self._tool_threads is None:
            from narratoria._threads import ToolThreads

            self._tool_threads = ToolThreads()
        # An async tool takes no job slot, unless the caller has set `jobs`.
        waits = about.is_async and not self._has_jobs
        self._use().add_tool(
            about.name,
            about.description,
            about.input_schema,
            about.result_schema,
            call,
            is_plain,
            waits,
            about.repeatable,
        )

    def _run_tool(
        self,
        function: Callable[..., Any],
        about: FunctionDescription,
        invocation: OpenInvocation,
        thread: bool,
    ) -> None:
        def use() -> CoreSession:
            there = self._use()
            # On a tool's thread, EngineCalls does this.
            if there is self._core:
                invocation.deliver_output()
            return there

        def call() -> Any:
            made = arguments_of(about, invocation.request["input"])
            if about.context_parameter:
                made[about.context_parameter] = Context(
                    invocation, State(self._core, use, self._changed)
                )
            return function(**made)

        if about.is_async:
            self._spawn_tool(call, about.is_generator, invocation)
        elif thread and self._tool_threads is not None:
            self._tool_threads.start(
                about.name, lambda: self._run_in_thread(call, about, invocation)
            )
        else:
            self._run_here(call, about.is_generator, invocation, self._spawn_tool)

    def _run_in_thread(
        self, call: Callable[[], Any], about: FunctionDescription, invocation: OpenInvocation
    ) -> None:
        from narratoria._threads import EngineCalls

        def spawn(call: Callable[[], Any], is_generator: bool, of: OpenInvocation) -> None:
            self._core.post(lambda: self._spawn_tool(call, is_generator, of))

        with EngineCalls(self._core, invocation) as calls:
            try:
                self._run_here(call, about.is_generator, invocation, spawn)
            except BaseException as exception:
                # For example SystemExit: raise it from the call that drives the session.
                invocation.end("", "TOOL_EXCEPTION", "the function was interrupted")
                if exception is calls.raised:
                    return
                try:
                    self._core.post(raiser(exception))
                except Error:
                    # The session is closed, so no call drives it.
                    report_exception("a tool", exception)

    def _run_here(
        self,
        call: Callable[[], Any],
        is_generator: bool,
        invocation: OpenInvocation,
        spawn: Callable[[Callable[[], Any], bool, OpenInvocation], None],
    ) -> None:
        try:
            result = call()
            if is_generator:
                result = run_generator(result, invocation)
            if hasattr(result, "__await__"):
                spawn(lambda: result, False, invocation)
                return
            lines = done_line(result)
        except Exception as exception:
            if isinstance(exception, GoneError) and invocation.is_cancelled:
                # A cancelled tool used the session.
                invocation.end()
            else:
                end_failed(invocation, exception)
            return
        except BaseException:
            invocation.end("", "TOOL_EXCEPTION", "the function was interrupted")
            raise
        invocation.end(lines)

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
                        await run_async_generator(call(), invocation)
                    else:
                        result = await call()
                    invocation.end(done_line(result))
            except CancelledError as exception:
                # The function raised it itself: an ordinary failure.
                if not invocation.is_cancelled and not self._core.is_closed:
                    end_failed(invocation, exception)
            except (KeyboardInterrupt, SystemExit):
                # Leaves the loop, and is raised by the call that runs the loop.
                raise
            except BaseException as exception:
                if (
                    isinstance(exception, GeneratorExit)
                    and current_or_none(current_task) is not task
                ):
                    # Not raised by the function: the task is being destroyed.
                    raise
                end_failed(invocation, exception)
            finally:
                invocation.end()

        # `end` is passed because a task that is cancelled before its first step runs no `finally`.
        self._spawn(run(), invocation, invocation.end)

    def _spawn(
        self,
        work: Coroutine[Any, Any, None],
        open_call: PendingCall,
        end: Callable[[], object],
    ) -> None:
        task = self._start(work)

        def over(_: object) -> None:
            # Breaks the reference cycle of the call, the task and its exception.
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
        # The loop has only weak references to tasks.
        self._tasks.add(task)
        task.add_done_callback(self._task_over)
        return task

    def _task_over(self, task: Task[None]) -> None:
        self._tasks.discard(task)
        self._handlers.discard(task)
        self._changed()

    # ---- handlers

    def on_ui_event(self, *names: str, priority: int = 0) -> Callable[[UiHandler], UiHandler]:
        """Makes a function a handler of ui_events.

        It receives a :class:`narratoria.events.UiEvent`. Return False to pass the event on; any
        other value, including None, handles it. Handlers are called in descending order of
        priority; at equal priority the latest is called first. An exception is logged, and the next
        handler is called. An async function always handles the event; a blocking ``play`` or
        ``execute`` returns after it has ended.

        Args:
            names: names of events, for example ``"narrative_choice"``; default: all events.
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

        def give(function: UiHandler) -> UiHandler:
            require_callable("a handler", function)
            import_for(function)

            def handle(name: str, payload: dict[str, Any]) -> bool:
                return self._finish(function(UiEvent(name, payload)))

            self._use().add_ui_handler(given, priority, handle)
            return function

        return give

    def asset_renderer(
        self, *media_types: str, priority: int = 0
    ) -> Callable[[Renderer], Renderer]:
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

        def give(function: Renderer) -> Renderer:
            require_callable("an asset renderer", function)
            import_for(function)

            def render(asset: dict[str, Any]) -> bool:
                return self._finish(function(Asset.from_dict(asset)))

            self._use().add_asset_renderer(given, priority, render)
            return function

        return give

    def _finish(self, result: Any) -> bool:
        if result is None or result is True:
            return True
        if hasattr(result, "__await__"):
            self._handlers.add(self._start(self._await_handler(result)))
            return True
        return result is not False

    async def _await_handler(self, result: Awaitable[Any]) -> None:
        from narratoria.aio import inside

        with inside(self._core, is_waited_for=False):
            try:
                await result
            except Exception as exception:
                report_exception("an async handler", exception)

    # ---- the narrator

    def narrator(self, function: Narrator) -> Narrator:
        """Makes a function this session's narrator, which turns a request into a plan.

        It receives a :class:`narratoria.NarratorRequest` and returns a :class:`narratoria.Plan`, a
        dict of Plan JSON, or a narrative (str). It may be async. An exception cancels the turn,
        and ``play`` raises it. In a session with ``on_narrator_error="fallback"`` it is logged and
        uses up one of the five generations of a prompt, like a plan with faults.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.narrator
        ...     def echo(request):
        ...         return f"You say: {request.prompt.text}"
        ...     session.play("Hello").narrative
        'You say: Hello'

        An async narrator with a parameter ``invoke`` may run tools before it answers:
        ``await invoke(tool, **input)`` returns a :class:`narratoria.Outcome`. A failed
        tool raises nothing. The narrator's timeout does not run while its tools run.

        >>> with narratoria.Session() as session:
        ...     @session.tool
        ...     def roll(sides: int) -> int:
        ...         return min(sides, 4)
        ...     @session.narrator
        ...     async def gambler(request, invoke):
        ...         rolled = await invoke("roll", sides=6)
        ...         return f"You rolled {rolled.result}."
        ...     session.play("Roll").narrative
        'You rolled 4.'
        """

        from narratoria.documents import NarratorRequest

        require_callable("a narrator", function)
        import_for(function)
        may_invoke = takes_parameter(function, "invoke")

        def generate(reply: Reply) -> None:
            if self._narrator_error is not None:
                # The narrator was asked before the cancellation of the turn took effect.
                reply.fail(exception_text(self._narrator_error))
                return
            try:
                request = NarratorRequest.from_dict(reply.request)
                if may_invoke:
                    plan = function(request, invoke=self._invoker(reply))
                else:
                    plan = function(request)
                if hasattr(plan, "__await__"):
                    self._spawn_narrator(plan, reply)
                elif may_invoke:
                    raise TypeError("a narrator with a parameter invoke must be async")
                else:
                    self._send_reply(reply, plan)
            except Exception as exception:
                self._narrator_failed(reply, exception)

        self._use().set_narrator(generate)
        return function

    def _spawn_narrator(self, plan: Awaitable[Any], reply: Reply) -> None:
        from asyncio import CancelledError

        from narratoria.aio import inside

        async def run() -> None:
            try:
                with inside(self._core):
                    self._send_reply(reply, await plan)
            except CancelledError:
                reply.fail("it was cancelled")
            except (KeyboardInterrupt, SystemExit):
                # Otherwise the narrator would be asked again before this leaves the loop.
                self._core.cancel()
                raise
            except Exception as exception:
                self._narrator_failed(reply, exception)

        self._spawn(run(), reply, lambda: reply.fail("it was cancelled"))

    def _invoker(self, reply: Reply) -> Callable[..., Coroutine[Any, Any, Outcome]]:
        async def invoke(tool: str, /, **input: Any) -> Outcome:
            from asyncio import CancelledError, get_running_loop

            from narratoria.documents import Outcome

            outcome = get_running_loop().create_future()

            def on_outcome(document: dict[str, Any]) -> None:
                if not outcome.done():
                    outcome.set_result(document)

            invocation = {"tool": text_of("the name of a tool", tool), "input": input}
            number = reply.invoke(invocation, on_outcome)
            if number == 0:
                raise GoneError(
                    "the request to the narrator has ended; invoke tools before the answer",
                    code="GONE",
                )
            self._changed()
            try:
                return Outcome.from_dict(await outcome)
            except CancelledError:
                reply.cancel_invocation(number)
                self._changed()
                raise

        return invoke

    def _send_reply(self, reply: Reply, plan: Any) -> None:
        from narratoria.documents import Plan

        if isinstance(plan, str):
            plan = Plan(tools=[], narrative=plan)
        if isinstance(plan, Plan):
            plan = plan.to_dict()
        if not isinstance(plan, dict):
            raise TypeError(
                f"the narrator must return a Plan, a dict or a str, not {type(plan).__name__}"
            )
        try:
            text = _core.to_json(plan, to_plain)
        except (TypeError, ValueError) as exception:
            raise type(exception)(f"the narrator's plan is not JSON: {exception}") from None
        faults = plan_warnings(text)
        if faults and self._strict:
            reply.fail(describe_faults(faults))
            return
        warn_of_plan(faults, 4)
        reply.plan_text(text)

    def _narrator_failed(self, reply: Reply, exception: Exception) -> None:
        if not self._raises_narrator_errors:
            report_exception("the narrator", exception)
            reply.fail(exception_text(exception))
            return
        if self._narrator_error is None:
            self._narrator_error = exception
        # Cancels before it answers, so that the narrator is not asked again.
        self._core.cancel()
        reply.fail(exception_text(exception))

    def _reset_turn_faults(self) -> None:
        self._narrator_error = None
        self._faults.clear()

    def _take_narrator_error(self) -> Exception | None:
        error, self._narrator_error = self._narrator_error, None
        return error

    # ---- calls of one tool

    def _call_plan(self, tool: str, tool_input: dict[str, Any]) -> dict[str, Any]:
        name = text_of("the name of a tool", tool)
        invocation = {
            "toolId": name.rpartition("/")[2] or name,
            "toolPath": name,
            "input": tool_input,
            "retryPolicy": {"maxRetries": 0},
        }
        return {"requestId": f"call-{name}", "tools": [invocation]}

    # ---- scripts

    def _script_run(
        self,
        source: str | PathLike[str],
        scope: Mapping[str, Any] | None,
        tools: str | PathLike[str] | None,
        on_print: Callable[[str], object] | None,
    ) -> ScriptRun:
        from narratoria.script import ScriptRun

        return ScriptRun(self._core, source, scope, tools, on_print)

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
        require_callable("a sink", sink)
        if is_async_function(sink):
            raise TypeError(
                "a sink must not be async: it is called, not awaited; put the events into a queue, "
                "or use aio.Session and events()"
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
    def opening(self) -> Opening | None:
        """The beginning of the story, from the table ``[opening]`` of its ``story.toml``: the text
        before the first prompt, and choices for it. None if the story has none.

        >>> import narratoria
        >>> with narratoria.Session(story="examples/stories/torch") as session:
        ...     session.opening.choices[0]
        'I light the torch'
        """
        from narratoria.documents import Opening

        opening = self._use().opening()
        return None if opening is None else Opening.from_dict(opening)

    @property
    def state(self) -> State:
        """The session's state, a live mapping.

        >>> import narratoria
        >>> with narratoria.Session(state={"torch": {"lit": False}}) as session:
        ...     session.state["torch"]["lit"], session.state.at("/torch/lit")
        (False, False)
        """
        return State(self._core, self._use, self._changed)

    def format_state_for_prompt(self) -> str:
        """The state as text for the prompt of a model, like :meth:`State.format_for_prompt`.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     session.format_state_for_prompt()
        'No state information available.'
        """
        return self.state.format_for_prompt()

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

    def published(self, plugin: str, name: str) -> str | None:
        """The value that a plugin has published under a name, or None. The page publishes its
        address: ``session.published("narratoria.web", "url")``. Plugins publish while the session
        runs, so the value is None before the first step of the loop.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     session.published("narratoria.web", "url") is None    # this session has no page
        True
        """
        value: str | None = self._use().published(
            text_of("a plugin's id", plugin), text_of("a name", name)
        )
        return value

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

    @property
    def turns(self) -> StoredTurns:
        """The turns in the session's store; parents come before their children.

        Raises:
            UnsupportedError: the session has no store.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with narratoria.Session(store=folder + "/saves.db", id="evening") as session:
        ...         _ = session.execute({"requestId": "p", "tools": []})
        ...         session.turns
        [<StoredTurn 1 plan completed>]
        """
        from narratoria.store import StoredTurns

        return StoredTurns(self._use().turns())

    @property
    def current_turn(self) -> int | None:
        """The turn from which the session continues; None: its beginning.

        Raises:
            UnsupportedError: the session has no store.
        """
        current: int | None = self._use().turns()["current"]
        return current

    @property
    def branches(self) -> list[list[StoredTurn]]:
        """The paths from the session's beginning to each turn that has no successor.

        Raises:
            UnsupportedError: the session has no store.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with narratoria.Session(
        ...         story="examples/stories/torch", store=folder + "/saves.db", id="evening"
        ...     ) as session:
        ...         _ = session.play("I light the torch")
        ...         _ = session.again()
        ...         session.branches    # doctest: +NORMALIZE_WHITESPACE
        [[<StoredTurn 1 'I light the torch' completed>],
         [<StoredTurn 2 'I light the torch' completed>]]
        """
        turns = {turn.id: turn for turn in self.turns}
        followed = {turn.parent for turn in turns.values()}
        paths = []
        for turn in turns.values():
            if turn.id in followed:
                continue
            path = [turn]
            while path[-1].parent is not None:
                path.append(turns[path[-1].parent])
            paths.append(path[::-1])
        return paths

    def go_to(self, turn: int) -> None:
        """Goes to the end of a turn of the session's store; 0: to its beginning.

        State, history, assets and descriptions are restored. No turn is removed: the next turn
        starts a new branch.

        Raises:
            BusyError: a turn is running.
            NotFoundError: there is no such turn.
            InvalidArgumentError: the turn has not ended.
            UnsupportedError: the session has no store.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with narratoria.Session(
        ...         story="examples/stories/torch", store=folder + "/saves.db", id="evening"
        ...     ) as session:
        ...         _ = session.play("I light the torch")
        ...         session.go_to(0)
        ...         session.state
        <State {}>
        """
        from narratoria.store import turn_number

        self._use().go_to(turn_number(turn))

    def undo(self, turns: int = 1) -> None:
        """Goes to the end of the turn before the last one, or further back.

        The host's patches after a turn are undone with it.

        Args:
            turns: the number of prompts, plans and scripts to undo.

        Raises:
            NotFoundError: the session has fewer turns.
            BusyError, UnsupportedError: as for :meth:`go_to`.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with narratoria.Session(
        ...         story="examples/stories/torch", store=folder + "/saves.db", id="evening"
        ...     ) as session:
        ...         _ = session.play("I light the torch")
        ...         _ = session.play("I light the torch and examine the door")
        ...         session.undo()
        ...         session.state
        <State {'inventory': {'torch': {'lit': True}}}>
        """
        left = whole_number("turns", turns, 1, 0x7FFF_FFFF_FFFF_FFFF)
        stored = self._use().turns()
        by_id = {turn["id"]: turn for turn in stored["turns"]}
        at: int | None = stored["current"]
        while left > 0:
            if at is None:
                raise NotFoundError("the session has fewer turns to undo", code="TURN_MISSING")
            left -= by_id[at]["kind"] != "host"
            at = by_id[at]["parent"]
        self.go_to(at or 0)

    def cancel(self) -> None:
        """Cancels the running call and drops waiting ones. Thread-safe; allowed in callbacks.

        Tools get SIGTERM, and SIGKILL after the grace period; this call does not wait for their
        end.

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
        """True if the session is closed."""
        return self._core.is_closed


# The codes of warnings about an answer of the narrator that was not used.
_REFUSALS = ("NARRATOR_FAILED", "NARRATOR_TIMEOUT", "PLAN_REFUSED")


def _fault_recorder(faults: list[str]) -> Callable[[Event], None]:
    # Not a method, which would keep the session in a reference cycle.
    def note(event: Event) -> None:
        log_event(event)
        body = event.body
        if event.kind == "warning" and body["code"] in _REFUSALS:
            faults.append(body["message"])

    return note


# ---- the end of the process

_open_sessions: WeakSet[_core.Session] = WeakSet()


def _end_all() -> None:
    # First makes waiting threads return, then closes the sessions while Python can still be called.
    _core.release_threads()
    for core in list(_open_sessions):
        try:
            core.close()
        except Error:
            # In use by a thread that did not return, or created before a fork.
            continue


atexit.register(_end_all)
