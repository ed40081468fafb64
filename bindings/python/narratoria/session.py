# SPDX-License-Identifier: Apache-2.0
"""A session for scripts and notebooks: every call returns when its work is done."""

from __future__ import annotations

from narratoria import _core
from narratoria._checks import check_prompt, check_timeout, path_text, text_of
from narratoria._hooks import to_plain
from narratoria._plan_warnings import describe_faults, plan_warnings, warn_of_plan
from narratoria._registry import Registry
from narratoria.errors import Error, InvalidDocumentError, NarratoriaWarning
from narratoria.state import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike
    from pathlib import Path
    from types import TracebackType
    from typing import Any, Literal

    from typing_extensions import Self

    from narratoria._private_loop import PrivateLoop
    from narratoria.documents import Asset, Fault, Plan, Result
    from narratoria.script import ScriptResult

# Loaded when they are needed: the classes of documents with `dataclasses` (which brings `inspect`), and
# `typing` (which brings `re`) by nobody here. Together they take four times as long as all the rest.

__all__ = ["Session", "State", "Turn", "sample_story", "validate"]

# How long async functions may take to end after Ctrl-C, in seconds.
_AFTERWARDS = 0.05

_core.check_interpreter()


_OUTCOMES = {1: "completed", 2: "fallback", 3: "cancelled", 4: "timeout"}


class Turn:
    """The outcome of a prompt.

    Attributes:
        narrative: text for the player; empty if the turn was cancelled or timed out.
        choices: the choices offered to the player; the text of one is the next prompt.
        assets: the assets of this turn's tools, oldest first.
        outcome: ``completed``; ``fallback``: no plan succeeded, and the narrative is the story's
            fallback text; ``cancelled``; ``timeout``: the prompt's timeout expired.
        generations: number of plans requested, up to 5.
        id: the turn in the session's store, from 1; 0: the store does not have it.
        durable: whether the disk has it.
        result: the execution result of the last plan that ran, or None.
        faults: why answers of the narrator were not used, in the order of its answers: a plan that was
            refused, no answer in time, an exception.

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
    )

    narrative: str
    """What to tell the player."""
    choices: list[str]
    """What the player may choose from; the text of one is the next prompt."""
    assets: list[Asset]
    """The assets that this turn made, the oldest first."""
    outcome: Literal["completed", "fallback", "cancelled", "timeout"]
    """``fallback``: no plan succeeded, and the narrative is a template of the story."""
    generations: int
    """Plans that were asked for, up to 5."""
    faults: list[str]
    """Why answers of the narrator were not used."""
    id: int
    """In the session's store; 0: the store does not have it."""
    durable: bool
    """Whether the disk has it."""

    def __init__(
        self, ended: Mapping[str, Any], assets: list[Asset], faults: Iterable[str] = ()
    ) -> None:
        self.faults = list(faults)
        self.narrative = ended["narrative"]
        self.choices = list(ended["choices"])
        self.assets = assets
        self.outcome = _OUTCOMES[ended["outcome"]]  # type: ignore[assignment]
        self.generations = ended["generations"]
        self.id = ended["id"]
        self.durable = ended["durable"]
        self._text = ended["result"]
        self._result: Result | None = None

    @property
    def result(self) -> Result | None:
        """The execution result of the last plan that ran, or None if none did."""
        if self._result is None and self._text is not None:
            self._result = read_later(self._text)
        return self._result

    def __reduce__(self) -> tuple[Any, ...]:
        # With its result: what is read later lives in this process.
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


def _restored_turn(kind: Any, state: Mapping[str, Any], result: Result | None) -> Any:
    made = kind.__new__(kind)
    for name, value in state.items():
        setattr(made, name, value)
    made._text, made._result = None, result
    return made


def _assets(records: list[dict[str, Any]]) -> list[Asset]:
    if not records:
        return []
    from narratoria.documents import Asset

    return [Asset.from_dict(each) for each in records]


class Session(Registry):
    """One player's game: its state, its assets, its event stream, its turns.

    Use it with ``with``: the end of the block ends its tools. Any thread may use it, but only one at
    a time; prefer one session per thread. Ctrl-C ends a call at once; the tools are ended in the
    background.

    Args:
        story: the story's folder.
        project: the folder of a Namel3ss project, whose tools plans call by name; default: the
            story's folder, if it has a ``.namel3ss/``.
        state: the initial state.
        narrator: a function (see :meth:`narrator`), or the id of a plugin; else the story's.
        plugins: ids or paths of plugins to load beside the story's.
        plugin_settings: settings by plugin id, merged over the story's.
        without_plugins: load none, whatever the story names.
        id: the session's id; default: a new UUID.
        jobs: tools that run at once; default: the processor's cores.
        root: the tools' working folder; default: the current one.
        environment: variables added to the tools' environment.
        allow_paths: folders that tools must be in; default: anywhere.
        allow_schemes: with ``allow_paths``, schemes whose tools may run, whatever follows
            ``scheme:``.
        sandbox: guarantees of every tool, which the kernel enforces: ``"no_network,no_subprocess"`` or
            ``["no_network", "no_subprocess"]``, ``"secrets_allowed=NAME:NAME"``, ``"all"``. A tool for
            which one cannot be enforced, such as a Python function of the session, is not started
            (``GUARANTEE_UNAVAILABLE``). ``attempts[…].guarantees`` of a result has the receipts.
        times: timeouts.
        limits: resource limits of tools.
        cgroup: a cgroup2 folder that is delegated to this user; each attempt of a tool runs in its
            own control group there. Default: none.
        output_mode: what becomes of the folder ``NARRATORIA_OUTPUT_DIR``, in which tools put their
            files. ``"remove"``: it is removed when the session is closed, with the files of the assets
            in it. ``"keep"``: it stays for a day if an asset is in it. ``"none"``: there is none.
        store: the file in which the session is kept under its ``id``, to go on from later; it is
            created if it does not exist. Default: none.
        durability: ``"turn"``: a turn ends when the disk has it; ``"lazy"``: it ends at once, and is
            written soon after.
        must_be_new: the store must not have a session of this id yet.
        tools: toolsets whose tools the session gets (see :meth:`use`).
        strict: refuse plans with warnings, such as a misspelled member; else they are shown as
            :class:`narratoria.NarratoriaWarning`.
        on_narrator_error: what an exception of a narrator in Python does: ``"raise"`` ends the turn,
            and ``play`` raises it; ``"fallback"`` uses up one of the five generations.
        close_timeout: how long ``close`` waits for functions of the session to end, in seconds; None:
            until they have ended.

    Raises:
        InvalidDocumentError: the story or the state has faults; ``faults`` lists them.
        FileNotFoundError: a plugin is a path at which there is no file.
        BusyError: the session of the store is being played (``STORE_LOCKED``).
        InvalidArgumentError: the store has the session that must be new (``SESSION_EXISTS``).

    >>> import narratoria
    >>> with narratoria.Session(story="examples/stories/torch") as session:
    ...     turn = session.play("I light the torch")
    ...     session.state["inventory"]["torch"]["lit"]
    True
    """

    def _prepare(self) -> None:
        self._private: PrivateLoop | None = None
        self._stubborn: set[Task[None]] = set()

    def play(self, prompt: str) -> Turn:
        """Submits a prompt of the player and returns the outcome.

        Raises:
            InvalidArgumentError: the prompt is empty, or the session has no narrator.
            KeyboardInterrupt: Ctrl-C; the turn is cancelled, its tools are ended in the background.
            Exception: what a narrator in Python raised, unless ``on_narrator_error="fallback"``.

        >>> import narratoria
        >>> with narratoria.Session(story="examples/stories/torch") as session:
        ...     session.play("I light the torch and examine the door").choices
        ['Open', 'Leave']
        """
        check_prompt(prompt)
        return self._play_turn(lambda: self._core.prompt(prompt))

    def again(self, turn: int | None = None, *, tools: Iterable[str] | None = None) -> Turn:
        """Plays a prompt of the session's store again, for another answer.

        It begins at the exact end of the turn before, and the new turn is a sibling of the old one.

        Args:
            turn: the turn of the prompt; default: the last one.
            tools: run only these tools of its last plan (their toolIds) and those that depend on them.
                All else, the narrator's answer included, is what it was. Default: the narrator is
                asked, and everything runs.

        Raises:
            NotFoundError: there is no such turn, or its plan has no such tool.
            InvalidArgumentError: the turn is not a prompt.
            BusyError: a turn runs.
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
        """Goes on with a prompt that was interrupted because its process died.

        What the narrator had answered and the tools that had ended are taken from the store; all else
        happens now, in a turn of its own.

        Args:
            turn: the interrupted turn; default: the last one where the session stands.
            repeat: run tools again that had begun and are not repeatable, too.

        Raises:
            NotFoundError: there is no such turn.
            InvalidArgumentError: it was not interrupted, or (``NOT_REPEATABLE``) a tool had begun that
                must not run twice.
            BusyError: a turn runs.
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
        no turn was interrupted where the session stands
        """
        from narratoria.store import resume_arguments

        number, repeats = resume_arguments(turn, repeat)
        return self._play_turn(lambda: self._core.resume(number, repeats))

    def _play_turn(self, submit: Callable[[], _core.Ticket]) -> Turn:
        self._refuse_inside()
        before = self._core.latest_asset()
        self._turn_begins()
        ticket = self._wait(submit)
        error = self._take_narrator_error()
        if error is not None:
            raise error
        return Turn(ticket.value, _assets(self._core.assets_after(before)), self._faults)

    def execute(
        self,
        plan: Plan | Mapping[str, Any] | str,
        *,
        folder: str | PathLike[str] | None = None,
        strict: bool | None = None,
    ) -> Result:
        """Runs a plan without the narrator.

        Args:
            plan: a :class:`Plan`, a dict of Plan JSON, or its text.
            folder: base of relative tool paths; default: the story's folder, else the session's root.
            strict: refuse a plan with warnings; default: as the session.

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
        return read_later(self._wait(lambda: self._core.execute(given, where)).value)

    def call(self, tool: str, /, **input: Any) -> Any:
        """Runs one tool, once, and returns its result.

        Args:
            tool: its name or its path.
            input: its input.

        Raises:
            PlanFailedError: it failed; ``code`` is its error code, ``result`` the execution result.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.tool
        ...     def roll(sides: int = 6) -> int:
        ...         return min(sides, 4)
        ...     session.call("roll", sides=20)
        4
        """
        result = self.execute(self._call_plan(tool, input)).raise_on_failure()
        return result.tool_results[0].result

    def run_script(
        self,
        source: str | PathLike[str],
        scope: Mapping[str, Any] | None = None,
        *,
        tools: str | PathLike[str] | None = None,
        on_print: Callable[[str], object] | None = None,
    ) -> ScriptResult:
        """Runs a Nuwa script (docs/nuwa-script.md). Its CALLs are tools of the session.

        It is limited to 60 s, 100,000,000 steps and 256 MiB of values.

        Args:
            source: the script, or the ``Path`` of its file.
            scope: variables that it begins with, as JSON values. Its numbers are floats of 64 bits.
            tools: a folder whose executable files it can call, too; relative to the current folder.
                A file is called by its name without extension, with ``_`` for what no name can have.
            on_print: called with each line that it prints, without a newline, while it runs. The
                session is blocked meanwhile. What it raises cancels the script, and leaves this call.

        Raises:
            ScriptError: it is not valid, and nothing was started; or it failed, or was cancelled.
            TypeError, ValueError: ``scope`` is no dict, or holds what is no JSON.
            OSError: there is no such file or folder.
            KeyboardInterrupt: Ctrl-C; the script is cancelled, its tools are ended in the background.

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
        cancelled. A second call does nothing.

        Functions that have not ended in time are left behind, with a
        :class:`narratoria.NarratoriaWarning`: an async function that ignores its cancellation, or a
        tool that is not async and still computes in its thread.

        Args:
            timeout: how long to wait for functions to end, in seconds; None: until they have ended;
                default: the session's ``close_timeout``.

        Raises:
            ReentrantError: it is called in a function of the session.
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
        self._refuse_inside()
        try:
            self._core.close()
        finally:
            if self._core.is_closed:
                self._end_functions(timeout)

    def _end_functions(self, timeout: float | None) -> None:
        from time import monotonic

        deadline = None if timeout is None else monotonic() + timeout
        left = self._end_loop(timeout)
        if self._works is not None:
            self._works.wait(deadline)
            left += self._works.names
        if left:
            warn_of_left(left, timeout)

    def __enter__(self) -> Self:
        if self._core.is_closed:
            from narratoria.errors import GoneError

            raise GoneError("the session is closed; make another one", code="GONE")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exception: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # An interrupt does not wait for what may never end.
        is_interrupt = exception is not None and not isinstance(exception, Exception)
        self.close(_AFTERWARDS if is_interrupt else self._close_timeout)

    def __repr__(self) -> str:
        return "<Session closed>" if self.is_closed else f"<Session {self._id}>"

    def _event_loop(self) -> AbstractEventLoop:
        # From the next step on it drives the engine, as long as it has tasks.
        self._core.end_wait()
        if self._private is None:
            from narratoria._private_loop import PrivateLoop

            self._private = PrivateLoop(self._core)
        return self._private.loop

    def _changed(self) -> None:
        # A tool in a thread of its own wakes the engine by what it does.
        if self._private is not None and self._use() is self._core:
            self._private.changed()

    def _wait(self, submit: Callable[[], _core.Ticket]) -> _core.Ticket:
        core = self._core
        # Said before it is so: an interrupt in between would leave the session to this call for ever.
        is_held = True
        try:
            try:
                # Also between the steps nobody else is let in.
                core.begin_use()
            except Error:
                is_held = False
                raise
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
                self._give_up()
                raise
        finally:
            if is_held:
                core.end_use()
        return ticket

    def _give_up(self) -> None:
        # Somebody wants out, Ctrl-C most likely: what runs is ended behind.
        if self._core.is_closed:
            return
        try:
            self._core.cancel()
            self._core.run(0)
        finally:
            for task in list(self._handlers):
                task.cancel()
            if self._private is not None and self._private.is_broken:
                self._end_loop(_AFTERWARDS)
            else:
                self._settle()

    def _settle(self) -> None:
        # What cancelled functions have to do at their end is done now, if it is short; those that go
        # on all the same are waited for once.
        if self._private is not None and self._tasks:
            late = [task for task in self._tasks if task not in self._stubborn]
            self._private.settle(late, _AFTERWARDS)
            self._stubborn = set(self._tasks)

    def _end_loop(self, seconds: float | None) -> list[str]:
        # Returns the names of functions that did not end.
        private, self._private = self._private, None
        left: list[str] = []
        if private is not None:
            try:
                private.end(list(self._tasks), seconds)
            finally:
                left = [task.get_name() for task in self._tasks if not task.done()]
                self._tasks.clear()
                self._handlers.clear()
                self._stubborn.clear()
        return left

    def _drop(self) -> None:
        super()._drop()
        if self._core.is_closed:
            self._end_loop(0)


def read_later(text: _core.ResultText) -> Result:
    """A result of which nothing is made but what is asked for: most are asked for `success` alone,
    and one with many events is as slow to read as they were to make."""
    from narratoria.documents import Result

    return Result.later(text.to_dict, success=text.success)


def warn_of_left(names: Iterable[str], timeout: float | None) -> None:
    """Says which functions a session that was closed has left behind."""
    from warnings import warn

    said = ", ".join(sorted(set(names)))
    warn(
        f"the session is closed, and these functions did not end within {timeout:g} s: {said}; an "
        "async function must let CancelledError through, another may look at context.is_cancelled",
        NarratoriaWarning,
        stacklevel=4,
    )


def plan_to_submit(
    plan: Plan | Mapping[str, Any] | str, folder: str | PathLike[str] | None, is_strict: bool
) -> tuple[str, str]:
    """A plan in any of its forms, and a folder, as the engine takes them. Shows its warnings, or refuses
    it because of them."""
    where = "" if folder is None else path_text("folder", folder)
    given: Any = plan
    if hasattr(given, "to_dict"):
        given = given.to_dict()
    elif not isinstance(given, (str, dict)) and hasattr(given, "keys"):
        given = dict(given)
    if not isinstance(given, (str, dict)):
        raise TypeError(f"a plan is a Plan, a dict or a str of JSON, not {type(plan).__name__}")
    if isinstance(given, str):
        text = text_of("a plan", given)
    else:
        text = _core.to_json(given, to_plain)
    faults = plan_warnings(text)
    if faults and is_strict:
        raise InvalidDocumentError(describe_faults(faults), code="PLAN", details=faults)
    warn_of_plan(faults, 4)
    return text, where


def sample_story() -> Path:
    """Returns the folder of the sample story, which comes with the package: a torch, a door, a lever.

    Raises:
        FileNotFoundError: this package was installed without it.

    >>> import narratoria
    >>> with narratoria.Session(story=narratoria.sample_story()) as session:
    ...     session.play("I light the torch").outcome
    'completed'
    """
    from errno import ENOENT
    from pathlib import Path

    story = Path(__file__).parent / "stories" / "torch"
    if not (story / "story.toml").is_file():
        raise FileNotFoundError(ENOENT, "the sample story is not installed", str(story))
    return story


_WITH_WARNINGS = 0x100
_DOCUMENTS = {"event": 1, "plan": 2, "result": 3, "story": 4}


def validate(
    kind: Literal["event", "plan", "result", "story"],
    document: str | PathLike[str] | Mapping[str, Any] | Plan | Result,
    *,
    warnings: bool = False,
) -> list[Fault]:
    """Returns all faults of a document; an empty list means that it is valid.

    Args:
        kind: ``event`` (a tool's output, one event per line), ``plan``, ``result`` or ``story``.
        document: its text (a str), its dict, a ``Plan`` or ``Result``, or the path of its file (a ``Path``); of a story the
            folder, as a str or a ``Path``.
        warnings: list also what the runtime accepts and reports, such as a misspelled member; the
            ``level`` of these is ``"warning"``.

    Raises:
        OSError: the file does not exist.

    >>> validate("plan", {"tools": []})
    [<Fault ...: "requestId" is missing>]
    """
    if kind not in _DOCUMENTS:
        raise ValueError(
            f"there is no kind of document {kind!r}; there are {', '.join(_DOCUMENTS)}"
        )
    from os import PathLike

    from narratoria.documents import Fault

    text: str | bytes
    given: Any = document
    if kind == "story":
        text = path_text("a story", document)
    elif isinstance(document, str):
        text = text_of("a document", document)
    elif isinstance(document, PathLike):
        # The library says where a byte is that is no UTF-8.
        with open(path_text("a document", document), "rb") as file:
            text = file.read()
    elif hasattr(given, "to_dict"):
        text = _core.to_json(given.to_dict())
    elif hasattr(given, "keys") and hasattr(given, "__getitem__"):
        text = _core.to_json(dict(given))
    else:
        raise TypeError(
            f"a document is a str of JSON, a dict or a Path, not {type(document).__name__}"
        )
    number = _DOCUMENTS[kind] | (_WITH_WARNINGS if warnings else 0)
    return [Fault.from_dict(each) for each in _core.validate(number, text)]
