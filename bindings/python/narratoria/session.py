# SPDX-License-Identifier: Apache-2.0
"""A session for scripts and notebooks: every call returns when its work is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from errno import ENOENT
from os import PathLike
from time import monotonic
from types import TracebackType

import narratoria
from narratoria import _core
from narratoria._checks import check_prompt, check_timeout, path_text, text_of
from narratoria._json_object import JsonObject
from narratoria._lazy import _private_loop, _type_variables, asyncio, pathlib, typing
from narratoria._plans import lazy_result, plan_to_submit
from narratoria._registry import Registry
from narratoria.errors import Error, GoneError, NarratoriaWarning
from narratoria.state import State

# Imports inside functions are those that not every session needs, so that it starts faster. The
# document classes need `dataclasses`, which imports `inspect`. `typing`, which imports `re`, is not
# imported at all. Together they would take four times as long to import as everything else.

__all__ = ["Session", "State", "Turn", "sample_story", "validate"]

# Time for functions to end after Ctrl-C, in seconds.
INTERRUPT_GRACE_S = 0.05

_core.check_interpreter()


_OUTCOMES = {1: "completed", 2: "fallback", 3: "cancelled", 4: "timeout"}


class Turn(JsonObject):
    """The outcome of a prompt.

    Attributes:
        narrative: text for the player; empty if the turn was cancelled or timed out.
        choices: the choices offered to the player; the chosen text is the next prompt.
        assets: the assets of this turn's tools, oldest first.
        outcome: ``completed``; ``fallback``: no plan succeeded, and the narrative is the story's
            fallback text; ``cancelled``; ``timeout``: the prompt's timeout expired.
        generations: number of plans requested, up to 5.
        id: the turn's number in the session's store, from 1; 0 if the store does not have it.
        durable: whether the turn is on disk.
        result: the execution result of the last plan that ran, or None.
        faults: why the narrator's answers were not used, in the order of the answers: a refused
            plan, no answer in time, an exception.
        usage: what the narrator's replies took, as it reported it, or None: a dict with
            ``reports``, ``inputTokens``, ``outputTokens``, ``cachedTokens``, and with prices
            ``cost`` and ``currency``.

    >>> import narratoria
    >>> with narratoria.Session(story="examples/stories/torch") as session:
    ...     turn = session.play("I light the torch")
    >>> turn.outcome, turn.generations, turn.result.success
    ('completed', 1, True)
    """

    __slots__ = (
        "_result",
        "_text",
        "assets",
        "choices",
        "durable",
        "faults",
        "generations",
        "id",
        "narrative",
        "outcome",
        "usage",
    )

    narrative: str
    """Text for the player."""
    choices: list[str]
    """The choices offered to the player; the chosen text is the next prompt."""
    assets: list[narratoria.Asset]
    """The assets that this turn created, oldest first."""
    outcome: typing.Literal["completed", "fallback", "cancelled", "timeout"]
    """``fallback``: no plan succeeded, and the narrative is the story's fallback text."""
    generations: int
    """The number of plans requested, up to 5."""
    faults: list[str]
    """Why the narrator's answers were not used."""
    id: int
    """The turn's number in the session's store; 0 if the store does not have it."""
    durable: bool
    """True if the turn is on disk."""
    usage: dict[str, typing.Any] | None
    """What the narrator's replies took, or None if it reported nothing."""

    def __init__(
        self,
        ended: Mapping[str, typing.Any],
        assets: list[narratoria.Asset],
        faults: Iterable[str] = (),
    ) -> None:
        self.faults = list(faults)
        self.narrative = ended["narrative"]
        self.choices = list(ended["choices"])
        self.assets = assets
        self.outcome = _OUTCOMES[ended["outcome"]]  # type: ignore[assignment]
        self.generations = ended["generations"]
        self.id = ended["id"]
        self.durable = ended["durable"]
        self.usage = ended["usage"]
        self._text = ended["result"]
        self._result: narratoria.Result | None = None

    @property
    def result(self) -> narratoria.Result | None:
        """The execution result of the last plan that ran, or None if none did."""
        if self._result is None and self._text is not None:
            self._result = lazy_result(self._text)
        return self._result

    def to_dict(self) -> dict[str, typing.Any]:
        """Returns the turn as JSON, with its assets and its result; ``dict(turn)`` is the same.

        A handler of FastAPI may return a turn.

        >>> import json, narratoria
        >>> with narratoria.Session(narrator=lambda request: "The door is locked.") as session:
        ...     turn = session.play("I open the door")
        >>> text = json.dumps(turn.to_dict())
        >>> json.loads(text)["narrative"]
        'The door is locked.'
        """
        result = self.result
        return {
            "id": self.id,
            "outcome": self.outcome,
            "narrative": self.narrative,
            "choices": list(self.choices),
            "assets": [asset.to_dict() for asset in self.assets],
            "generations": self.generations,
            "faults": list(self.faults),
            "durable": self.durable,
            "usage": self.usage,
            "result": None if result is None else result.to_dict(),
        }

    def __reduce__(self) -> tuple[typing.Any, ...]:
        # Parses the result now: the handle for parsing it later is valid in this process only.
        state = {name: getattr(self, name) for name in Turn.__slots__ if name[0] != "_"}
        return (_restored_turn, (Turn, state, self.result))

    def __repr__(self) -> str:
        parts = [self.outcome, repr(self.narrative)]
        if self.choices:
            parts.append(f"choices={self.choices!r}")
        if self.assets:
            parts.append(f"assets={[asset.asset_id for asset in self.assets]!r}")
        return f"<Turn {' '.join(parts)}>"

    def _repr_html_(self) -> str:
        from narratoria._html import turn_html

        return turn_html(self.narrative, self.choices, self.assets, self.result)


def _restored_turn(
    kind: typing.Any, state: Mapping[str, typing.Any], result: narratoria.Result | None
) -> typing.Any:
    made = kind.__new__(kind)
    for name, value in state.items():
        setattr(made, name, value)
    made._text, made._result = None, result
    return made


def _assets(records: list[dict[str, typing.Any]]) -> list[narratoria.Asset]:
    if not records:
        return []
    from narratoria.documents import Asset

    return [Asset.from_dict(each) for each in records]


class Session(Registry):
    """One player's game: its state, its assets, its event stream, its turns.

    Use it in a ``with`` block: leaving the block ends its tools. Any thread may use it, but only
    one at a time; prefer one session per thread. Ctrl-C ends a call at once; the tools are ended in
    the background.

    Args:
        story: the story's folder.
        project: the folder of a Namel3ss project. Plans call its tools by name. Default: the
            story's folder, if it has a ``.namel3ss/``.
        state: the initial state. Default: the `[state]` of the story.
        narrator: a function (see :meth:`narrator`) or the id of a plugin; default: the story's.
        plugins: ids or paths of plugins to load in addition to the story's.
        plugin_settings: settings by plugin id, merged over the story's.
        without_plugins: load no plugins, not even those of the story.
        id: the session's id; default: a new UUID.
        jobs: how many tools may run at once; default: the number of processor cores.
        root: the tools' working folder; default: the current folder.
        environment: variables added to the tools' environment.
        allow_paths: folders that tools must be in; default: anywhere.
        allow_schemes: with ``allow_paths``, schemes that are allowed with any text after
            ``scheme:``.
        sandbox: guarantees that the kernel enforces for every tool: ``"no_network,no_subprocess"``
            or ``["no_network", "no_subprocess"]``, ``"secrets_allowed=NAME:NAME"``, ``"all"``. If
            one cannot be enforced for a tool, such as a Python function of the session, the tool is
            not started (``GUARANTEE_UNAVAILABLE``). ``attempts[…].guarantees`` of a result has the
            receipts.
        times: timeouts.
        limits: resource limits of tools.
        cgroup: a cgroup2 folder that is delegated to this user; each attempt of a tool runs in its
            own control group there. Default: none.
        output_mode: what happens to the folder ``NARRATORIA_OUTPUT_DIR``, where tools write their
            files. ``"remove"``: it is removed when the session is closed, including the files of
            assets. ``"keep"``: it is kept for a day if it contains an asset. ``"none"``: tools get
            no such folder.
        store: the file that keeps the session under its ``id``, so that it can be continued later;
            it is created if it does not exist. Without ``id`` each session is a new one, and no
            later session continues it. Default: none.
        durability: ``"turn"``: a turn ends when it is on disk; ``"lazy"``, which needs a store: it
            ends at once and is written soon after.
        must_be_new: fail if the store already has a session with this id; needs a store.
        seed: determines ``request.random`` of narrators and ``seed`` in the request of each tool,
            and so the dice of a story; an int from 1 to 2**64 - 1. Default: chosen by the session.
        watch: read the story again when one of its files has changed. It takes effect between two
            turns, if it has no fault, and sinks get a :class:`narratoria.events.StoryReloaded`.
            The state stays; so do times, limits, plugins and allowed paths.
        tools: functions and toolsets to add to the session (see :meth:`use`).
        strict: refuse plans with warnings, such as a misspelled member; by default each warning is
            shown as a :class:`narratoria.NarratoriaWarning`.
        on_narrator_error: the effect of an exception in a Python narrator: ``"raise"`` ends the
            turn, and ``play`` raises it; ``"fallback"`` uses up one of the five generations.
        close_timeout: how long ``close`` waits for functions of the session to end, in seconds;
            None: no limit.

    Raises:
        InvalidDocumentError: the story or the state has faults; ``faults`` lists them.
        FileNotFoundError: the path of a plugin does not exist.
        BusyError: the stored session is already being played (``STORE_LOCKED``).
        InvalidArgumentError: the store already has the session, and ``must_be_new`` is set
            (``SESSION_EXISTS``).
        ValueError: ``must_be_new`` or ``durability="lazy"`` is given without ``store``.

    >>> import narratoria
    >>> with narratoria.Session(story="examples/stories/torch") as session:
    ...     turn = session.play("I light the torch")
    ...     session.state["inventory"]["torch"]["lit"]
    True
    """

    def _prepare(self) -> None:
        self._private: _private_loop.PrivateLoop | None = None
        self._already_waited_for: set[asyncio.Task[None]] = set()
        # The last call that an exception has cancelled.
        self._cancelled_ticket: _core.Ticket | None = None

    def play(self, prompt: str) -> Turn:
        """Submits a prompt of the player and returns the outcome.

        Raises:
            InvalidArgumentError: the prompt is empty, or the session has no narrator.
            KeyboardInterrupt: Ctrl-C; the turn is cancelled, its tools are ended in the background.
            Exception: raised by a Python narrator, unless ``on_narrator_error="fallback"``.

        >>> import narratoria
        >>> with narratoria.Session(story="examples/stories/torch") as session:
        ...     session.play("I light the torch and examine the door").choices
        ['Open', 'Leave']
        """
        check_prompt(prompt)
        return self._play_turn(lambda: self._core.prompt(prompt))

    def again(self, turn: int | None = None, *, tools: Iterable[str] | None = None) -> Turn:
        """Plays a prompt of the session's store again, for another answer.

        The new turn starts from the exact end of the turn before the prompt and is a sibling of the
        old one.

        Args:
            turn: the turn of the prompt; default: the last one.
            tools: toolIds of the turn's last plan; only these tools and their dependents run again.
                Everything else is reused, including the narrator's answer. Default: the narrator
                is asked again, and all tools run.

        Raises:
            NotFoundError: there is no such turn, or its plan has no such tool.
            InvalidArgumentError: the turn is not a prompt.
            BusyError: a turn is running.
            UnsupportedError: the session has no store.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with narratoria.Session(
        ...         story="examples/stories/torch", store=folder + "/saves.db", id="evening"
        ...     ) as session:
        ...         _ = session.play("I light the torch")
        ...         session.again().id
        2
        """
        from narratoria.store import again_arguments

        number, ids = again_arguments(turn, tools)
        return self._play_turn(lambda: self._core.again(number, ids))

    def resume(self, turn: int | None = None, *, repeat: bool = False) -> Turn:
        """Resumes a prompt that was interrupted because its process died.

        The narrator's answers and the results of the tools that had ended are taken from the store.
        Everything else runs now, in a new turn.

        Args:
            turn: the interrupted turn; default: the last one that directly follows the
                session's current turn.
            repeat: also rerun tools that had started and are not repeatable.

        Raises:
            NotFoundError: there is no such turn.
            InvalidArgumentError: the turn was not interrupted, or a tool that must not run twice
                had started (``NOT_REPEATABLE``).
            BusyError: a turn is running.
            UnsupportedError: the session has no store.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with narratoria.Session(
        ...         story="examples/stories/torch", store=folder + "/saves.db", id="evening"
        ...     ) as session:
        ...         try:
        ...             session.resume()
        ...         except narratoria.NotFoundError as error:
        ...             print(error)
        no turn after the current one was interrupted
        """
        from narratoria.store import resume_arguments

        number, repeats = resume_arguments(turn, repeat)
        return self._play_turn(lambda: self._core.resume(number, repeats))

    def _play_turn(self, submit: Callable[[], _core.Ticket]) -> Turn:
        self._refuse_inside()
        self._end_cancelled()
        before = self._core.latest_asset()
        self._reset_turn_faults()
        ticket = self._wait(submit)
        error = self._take_narrator_error()
        if error is not None:
            raise error
        return Turn(ticket.value, _assets(self._core.assets_after(before)), self._faults)

    def execute(
        self,
        plan: narratoria.Plan | Mapping[str, typing.Any] | str,
        *,
        folder: str | PathLike[str] | None = None,
        strict: bool | None = None,
    ) -> narratoria.Result:
        """Runs a plan without the narrator.

        Args:
            plan: a :class:`Plan`, a dict of Plan JSON, or its text.
            folder: base of relative tool paths; default: the story's folder, or else the session's
                root.
            strict: refuse a plan with warnings; default: the session's setting.

        Raises:
            InvalidDocumentError: the plan has faults; nothing was started.
            KeyboardInterrupt: Ctrl-C; the plan is cancelled, its tools are ended in the background.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     session.execute({"requestId": "p", "tools": []}).success
        True
        """
        self._refuse_inside()
        given, where = plan_to_submit(plan, folder, self._strict if strict is None else strict)
        return lazy_result(self._wait(lambda: self._core.execute(given, where)).value)

    def call(self, tool: str, /, **input: typing.Any) -> typing.Any:
        """Runs one tool, once, and returns its result.

        Args:
            tool: the tool's name or path.
            input: the tool's input.

        Raises:
            PlanFailedError: the tool failed; ``code`` is its error code, ``result`` the execution
                result.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.tool
        ...     def roll(sides: int = 6) -> int:
        ...         return min(sides, 4)
        ...     session.call("roll", sides=20)
        4
        """
        plan = self._call_plan(tool, input)
        try:
            return self._result_of_call(plan, self.execute(plan))
        finally:
            del self._causes[plan["requestId"]]

    def run_script(
        self,
        source: str | PathLike[str],
        scope: Mapping[str, typing.Any] | None = None,
        *,
        tools: str | PathLike[str] | None = None,
        on_print: Callable[[str], object] | None = None,
    ) -> narratoria.ScriptResult:
        """Runs a Nuwa script (docs/nuwa-script.md). Its CALLs are tools of the session.

        By default a script is limited to 60 s, 100,000,000 steps and 256 MiB of values.

        Args:
            source: the script, or the ``Path`` of its file.
            scope: the script's initial variables, as JSON values. Numbers are 64-bit floats.
            tools: a folder of executable files that the script can also call; relative to the
                current folder. A file's name in the script has no extension, and ``_`` in place of
                each character that a name cannot have.
            on_print: called with each printed line, without a newline, while the script runs. It
                blocks the session. An exception in it cancels the script and is raised by this
                call.

        Raises:
            ScriptError: the script is not valid, and nothing was started; or it failed or was
                cancelled.
            TypeError, ValueError: ``scope`` is not a dict, or has a value that is not JSON.
            OSError: a file or folder does not exist.
            KeyboardInterrupt: Ctrl-C; the script is cancelled, its tools are ended in the
                background.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.tool
        ...     def roll(sides: int) -> int:
        ...         return min(sides, 4)
        ...     ran = session.run_script('''
        ...         LET rolled = CALL roll { sides: sides }
        ...         PRINT(FORMAT("You rolled {n}.", { n: rolled }))
        ...     ''', scope={"sides": 20})
        >>> ran.output, ran.scope["rolled"]
        (['You rolled 4.'], 4)
        """
        self._refuse_inside()
        run = self._script_run(source, scope, tools, on_print)
        return run.result(self._wait(run.submit))

    def close(self, timeout: float | None = -1.0) -> None:
        """Closes the session. Its tools are killed without a grace period, and async functions are
        cancelled. A second call does nothing, nor does a call in a forked child: the session
        belongs to the parent.

        Functions that have not ended in time are left running, with a
        :class:`narratoria.NarratoriaWarning`: an async function that ignores its cancellation, or a
        tool that is not async and still computes in its thread.

        Args:
            timeout: how long to wait for functions to end, in seconds; None: no limit; default: the
                session's ``close_timeout``.

        Raises:
            ReentrantError: the call is made inside a function of the session.
            BusyError: another thread uses the session.

        >>> import narratoria
        >>> session = narratoria.Session()
        >>> session.close()
        >>> session
        <Session closed>
        """
        if timeout == -1.0:
            timeout = self._close_timeout
        check_timeout("timeout", timeout)
        if self._core.is_foreign:
            return
        self._refuse_inside()
        try:
            self._core.close()
        finally:
            if self._core.is_closed:
                self._end_functions(timeout)

    def _end_functions(self, timeout: float | None) -> None:
        deadline = None if timeout is None else monotonic() + timeout
        left = self._end_loop(timeout)
        if self._tool_threads is not None:
            self._tool_threads.wait(deadline)
            left += self._tool_threads.names
        if left:
            warn_unfinished(left, timeout)

    def __enter__(self: _type_variables.AnySession) -> _type_variables.AnySession:
        if self._core.is_closed:
            raise GoneError("the session is closed; create a new one", code="GONE")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # After an interrupt, do not wait long for a function that may never end.
        is_interrupt = exception is not None and not isinstance(exception, Exception)
        self.close(INTERRUPT_GRACE_S if is_interrupt else self._close_timeout)

    def __repr__(self) -> str:
        return "<Session closed>" if self.is_closed else f"<Session {self._id}>"

    def _event_loop(self) -> asyncio.AbstractEventLoop:
        # From the next step on, the private loop drives the engine for as long as it has tasks.
        self._core.end_wait()
        if self._private is None:
            from narratoria._private_loop import PrivateLoop

            self._private = PrivateLoop(self._core)
        return self._private.loop

    def _changed(self) -> None:
        # Calls from a tool's thread go through EngineCalls, which wakes the engine itself.
        if self._private is not None and self._core.is_own_thread:
            self._private.changed()

    def _wait(self, submit: Callable[[], _core.Ticket]) -> _core.Ticket:
        core = self._core
        # Set before begin_use(): an interrupt between the two would leave the session held for
        # ever.
        is_held = True
        try:
            try:
                # Keeps other threads out between the steps, too.
                core.begin_use()
            except Error:
                is_held = False
                raise
            if self._private is not None and self._private.is_broken:
                # Ctrl-C came again while the loop was being replaced.
                self._end_loop(INTERRUPT_GRACE_S)
            ticket = submit()
            try:
                while not ticket.is_done or self._handlers:
                    if self._private is not None and self._tasks:
                        self._private.drive_until(
                            lambda: not self._tasks or (ticket.is_done and not self._handlers)
                        )
                    else:
                        core.wait(ticket)
                self._settle()
            except BaseException:
                self._cancelled_ticket = ticket
                self._give_up()
                raise
        finally:
            if is_held:
                core.end_use()
        return ticket

    def _end_cancelled(self) -> None:
        # Earlier calls have ended when the last one has: the engine runs them one after another.
        ticket = self._cancelled_ticket
        if ticket is not None and not ticket.is_done:
            self._wait(lambda: ticket)
        self._cancelled_ticket = None

    def _give_up(self) -> None:
        # Called for an exception, usually Ctrl-C. Cancels the work; it ends in the background.
        if self._core.is_closed:
            return
        try:
            self._cancel_work()
        except BaseException:
            # Ctrl-C again, perhaps while a task was being woken.
            if self._private is not None:
                self._private.is_broken = True
            raise

    def _cancel_work(self) -> None:
        try:
            self._core.cancel()
            self._core.run(0)
        finally:
            for task in list(self._handlers):
                task.cancel()
            if self._private is not None and self._private.is_broken:
                self._end_loop(INTERRUPT_GRACE_S)
            else:
                self._settle()

    def _settle(self) -> None:
        # Gives cancelled functions a short time to clean up. Tasks that outlast it are remembered,
        # and not waited for again.
        if self._private is not None and self._tasks:
            late = [task for task in self._tasks if task not in self._already_waited_for]
            self._private.settle(late, INTERRUPT_GRACE_S)
            self._already_waited_for = set(self._tasks)

    def _end_loop(self, seconds: float | None) -> list[str]:
        # Returns the names of functions that did not end, unless a broken loop has lost them.
        private, self._private = self._private, None
        left: list[str] = []
        if private is not None:
            if private.is_broken:
                # Its tasks may never end.
                seconds = INTERRUPT_GRACE_S if seconds is None else min(seconds, INTERRUPT_GRACE_S)
            try:
                private.end(list(self._tasks), seconds)
            finally:
                if not private.is_broken:
                    left = [task.get_name() for task in self._tasks if not task.done()]
                self._tasks.clear()
                self._handlers.clear()
                self._already_waited_for.clear()
        return left

    def _drop(self) -> None:
        super()._drop()
        if self._core.is_closed:
            self._end_loop(0)


def warn_unfinished(names: Iterable[str], timeout: float | None) -> None:
    """Warns about functions that still run after their session was closed."""
    from warnings import warn

    functions = ", ".join(sorted(set(names)))
    warn(
        f"the session is closed, but these functions did not end within {timeout:g} s: {functions}; let "
        "CancelledError through in an async function, check context.is_cancelled in any other",
        NarratoriaWarning,
        stacklevel=4,
    )


def sample_story() -> pathlib.Path:
    """Returns the folder of the sample story, which comes with the package: a torch, a door, a
    lever.

    Raises:
        FileNotFoundError: the package was installed without the story.

    >>> import narratoria
    >>> with narratoria.Session(story=narratoria.sample_story()) as session:
    ...     session.play("I light the torch").outcome
    'completed'
    """
    from pathlib import Path

    # In an editable installation only the Python files are elsewhere.
    story = Path(_core.__file__).parent / "stories" / "torch"
    if not (story / "story.toml").is_file():
        raise FileNotFoundError(ENOENT, "the sample story is not installed", str(story))
    return story


_WITH_WARNINGS = 0x100
_DOCUMENTS = {"event": 1, "plan": 2, "result": 3, "story": 4}


def validate(
    kind: typing.Literal["event", "plan", "result", "story"],
    document: str | PathLike[str] | Mapping[str, typing.Any] | narratoria.Plan | narratoria.Result,
    *,
    warnings: bool = False,
) -> list[narratoria.Fault]:
    """Returns all faults of a document; an empty list means that it is valid.

    Args:
        kind: ``event`` (a tool's output, one event per line), ``plan``, ``result`` or ``story``.
        document: its text (a str), its dict, a ``Plan`` or ``Result``, or the path of its file (a
            ``Path``); for a story, its folder (a str or a ``Path``).
        warnings: also list faults that the runtime accepts with a warning, such as a misspelled
            member; their ``level`` is ``"warning"``.

    Raises:
        OSError: the file does not exist.

    >>> validate("plan", {"tools": []})
    [<Fault ...: "requestId" is missing>]
    """
    if kind not in _DOCUMENTS:
        raise ValueError(f"unknown kind of document {kind!r}; use one of {', '.join(_DOCUMENTS)}")

    from narratoria.documents import Fault

    text: str | bytes
    given: typing.Any = document
    if kind == "story":
        text = path_text("a story", document)
    elif isinstance(document, str):
        text = text_of("a document", document)
    elif isinstance(document, PathLike):
        # Read as bytes: the library reports the place of a byte that is not UTF-8.
        with open(path_text("a document", document), "rb") as file:
            text = file.read()
    elif hasattr(given, "to_dict"):
        text = _core.to_json(given.to_dict())
    elif hasattr(given, "keys") and hasattr(given, "__getitem__"):
        text = _core.to_json(dict(given))
    else:
        raise TypeError(
            f"a document must be a str of JSON, a dict or a Path, not {type(document).__name__}"
        )
    number = _DOCUMENTS[kind] | (_WITH_WARNINGS if warnings else 0)
    return [Fault.from_dict(each) for each in _core.validate(number, text)]
