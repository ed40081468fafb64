# SPDX-License-Identifier: Apache-2.0
# The base of both kinds of session: registers Python functions with the runtime.
#
# Imports inside functions are those that not every session needs, so that it starts faster.

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from weakref import WeakSet

import narratoria
from narratoria import _core
from narratoria._checks import check_timeout, text_of, true_or_false
from narratoria._handlers import Handlers
from narratoria._lazy import _type_variables, typing
from narratoria._narrators import Narrators, fault_recorder
from narratoria._reading import Reading
from narratoria._session_options import core_options
from narratoria._sinks import Sinks, kinds_mask
from narratoria._tools import ToolFunctions
from narratoria._turns import Turns
from narratoria.errors import Error, NotFoundError, PlanFailedError


class Registry(ToolFunctions, Handlers, Narrators, Sinks, Reading, Turns):
    """The Python functions of a session. Not for direct use: see Session and aio.Session."""

    def __init__(
        self,
        story: str | PathLike[str] | None = None,
        *,
        project: str | PathLike[str] | None = None,
        state: Mapping[str, typing.Any] | None = None,
        narrator: str | _type_variables.NarratorFunction | None = None,
        plugins: Iterable[str | PathLike[str]] = (),
        plugin_settings: Mapping[str, Mapping[str, typing.Any]] | None = None,
        without_plugins: bool = False,
        id: str | None = None,
        jobs: int | None = None,
        root: str | PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
        allow_paths: Iterable[str | PathLike[str]] = (),
        allow_schemes: Iterable[str] = (),
        sandbox: str | Iterable[str] = (),
        times: narratoria.Times | None = None,
        limits: narratoria.Limits | None = None,
        cgroup: str | PathLike[str] | None = None,
        output_mode: typing.Literal["remove", "keep", "none"] = "remove",
        store: str | PathLike[str] | None = None,
        durability: typing.Literal["turn", "lazy"] = "turn",
        must_be_new: bool = False,
        seed: int | None = None,
        watch: bool = False,
        tools: Iterable[narratoria.Toolset | Callable[..., typing.Any]] = (),
        strict: bool = False,
        on_narrator_error: typing.Literal["raise", "fallback"] = "raise",
        close_timeout: float | None = 5.0,
    ) -> None:
        self._tool_threads = None
        self._causes = {}
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
        self._narrator_error = None
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
            seed=seed,
            watch=watch,
        )
        self._core = _core.Session(options)
        self._id = self._core.id()
        self._faults = []
        self._core.attach(fault_recorder(self._faults), kinds_mask(("warning", "asset_refused")))
        self._tasks = set()
        self._handlers = set()
        self._sinks = []
        _open_sessions.add(self._core)
        try:
            if options["plugins"]:
                self._require_plugins(options["plugins"])
            self._core.log_left_out_plugins()
            for tool in tools:
                self.use(tool)
            if callable(narrator):
                self.narrator(narrator)
        except BaseException:
            # The caller does not get the session, so it must be closed here.
            self._core.close()
            raise

    def _require_plugins(self, wanted: list[str]) -> None:
        """Refuses an id that no plugin has. A plugin that fails later is only logged."""
        states = {each["id"]: each for each in self._core.plugins() if each.get("id")}
        for name in wanted:
            found = states.get(name, {})
            reason = found.get("reason") or ""
            if found.get("state") == "refused" and reason.startswith("no folder has"):
                raise NotFoundError(
                    f'the plugin "{name}" is not available: {reason}', code="PLUGIN"
                )

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

    def __reduce__(self) -> typing.NoReturn:
        # A copy would share the compiled session with this one and close it.
        raise TypeError(
            "a session cannot be copied or pickled; create another one from its state: "
            "Session(state=session.state.to_dict())"
        )

    # The name in Python's TypeError for wrong arguments.
    __init__.__qualname__ = "Session.__init__"

    # ---- calls of one tool

    def _call_plan(self, tool: str, tool_input: dict[str, typing.Any]) -> dict[str, typing.Any]:
        name = text_of("the name of a tool", tool)
        invocation = {
            "toolId": name.rpartition("/")[2] or name,
            "toolPath": name,
            "input": tool_input,
            "retryPolicy": {"maxRetries": 0},
        }
        plan = f"call-{name}"
        if plan in self._causes:  # another task of the loop calls it too
            plan += f"-{len(self._causes)}"
        self._causes[plan] = None
        return {"requestId": plan, "tools": [invocation]}

    def _result_of_call(self, plan: dict[str, typing.Any], result: narratoria.Result) -> typing.Any:
        """Returns the result of the plan's tool. What it raises has the tool's exception as its
        cause."""
        cause = self._causes[plan["requestId"]]
        try:
            return result.raise_on_failure().tool_results[0].result
        except PlanFailedError as error:
            raise error from cause

    # ---- scripts

    def _script_run(
        self,
        source: str | PathLike[str],
        scope: Mapping[str, typing.Any] | None,
        tools: str | PathLike[str] | None,
        on_print: Callable[[str], object] | None,
    ) -> narratoria.script.ScriptRun:
        from narratoria.script import ScriptRun

        return ScriptRun(self._core, source, scope, tools, on_print)

    # ---- cancelling

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
