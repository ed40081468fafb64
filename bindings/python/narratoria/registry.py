# SPDX-License-Identifier: Apache-2.0
"""The tools of a session: those that plans, scripts and narrators call by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from warnings import warn

from narratoria._checks import numbers_of, path_text, text_of
from narratoria._lazy import _core, _tools, _type_variables, typing
from narratoria.errors import InvalidArgumentError, NarratoriaWarning, NotFoundError
from narratoria.options import Limits, Times

TYPE_CHECKING = False
if TYPE_CHECKING:
    _Base = Mapping[str, "ToolInfo"]
else:
    _Base = Mapping

__all__ = ["ToolInfo", "Tools"]

# NAR_TOOLS_…
_OPENAI, _MCP = 1, 2


class ToolInfo:
    """A tool that a session has.

    Attributes:
        name: the name that plans use.
        script_name: the name that scripts use in ``CALL``.
        description: what the tool does, for narrators; may be empty.
        input_schema, result_schema: JSON Schema; None: any object, any value.
        runner: ``"process"``, ``"function"``, or the scheme of a tool runner.
        origin: ``"file"``, ``"plugin"`` or ``"host"``.
        place: the path of the file, the id of the plugin, or ``"python"`` for a function of this
            session.
        target: the path of a tool that was registered by path, or None.
        times: the timeout of one attempt (``try_ms``).
        limits: the limits of the tool's process. In both, None selects the session's value and 0
            means no limit.
        problem: why the tool cannot run, for example an invalid manifest; None if no problem is
            known.

    >>> import narratoria
    >>> with narratoria.Session() as session:
    ...     @session.tool
    ...     def roll(sides: int = 6) -> int:
    ...         "Rolls a die."
    ...         return min(sides, 4)
    ...     session.tools["roll"]
    <ToolInfo roll: Rolls a die. (function of host python)>
    """

    __slots__ = (
        "description",
        "input_schema",
        "limits",
        "name",
        "origin",
        "place",
        "problem",
        "result_schema",
        "runner",
        "script_name",
        "target",
        "times",
    )

    def __init__(self, found: Mapping[str, typing.Any]) -> None:
        self.name: str = found["name"]
        self.script_name: str = found["scriptName"]
        self.description: str = found.get("description", "")
        self.input_schema: dict[str, typing.Any] | None = found.get("inputSchema")
        self.result_schema: dict[str, typing.Any] | None = found.get("resultSchema")
        self.runner: str = found["runner"]
        self.origin: typing.Literal["file", "plugin", "host"] = found["origin"]["kind"]
        self.place: str = found["origin"].get("place", "")
        self.target: str | None = found.get("target")
        self.problem: str | None = found.get("problem")

        self.times: Times = Times(**found.get("times", {}))
        # In JSON, null means no limit.
        given = found.get("limits", {}).items()
        self.limits: Limits = Limits(**{name: value or 0 for name, value in given})

    def __repr__(self) -> str:
        described = f": {self.description}" if self.description else ""
        return f"<ToolInfo {self.name}{described} ({self.runner} of {self.origin} {self.place})>"


class Tools(_Base):
    """The tools of a session by name, a live view: its functions, tools of plugins, and the
    executable files of the story's tools folder.

    >>> import narratoria
    >>> with narratoria.Session(story="examples/stories/torch") as session:
    ...     @session.tools.register
    ...     def roll(sides: int = 6) -> int:
    ...         return min(sides, 4)
    ...     "roll" in session.tools, "sing" in session.tools, session.tools["roll"].runner
    (True, False, 'function')
    """

    __slots__ = ("_session", "_use")

    def __init__(self, session: _tools.ToolFunctions, use: Callable[[], _core.Session]) -> None:
        self._session = session
        # Returns the compiled session after a check that the caller may use it.
        self._use = use

    def __getitem__(self, name: str) -> ToolInfo:
        if not isinstance(name, str):
            raise KeyError(name)
        try:
            return ToolInfo(self._use().find_tool(name))
        except NotFoundError as error:
            raise KeyError(str(error)) from None

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        try:
            self._use().find_tool(name)
        except NotFoundError:
            return False
        except InvalidArgumentError:
            # Several tools have this name.
            return True
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(each["name"] for each in self._use().tools()))

    def __len__(self) -> int:
        return len({each["name"] for each in self._use().tools()})

    def __repr__(self) -> str:
        if self._session.is_closed:
            return "<Tools closed>"
        return f"<Tools {' '.join(self) or 'none'}>"

    def all(self) -> list[ToolInfo]:
        """Returns all tools: files first, by name, then registered tools in the order of
        registration. If two tools have the same name, both are listed, and a plan with this name is
        refused.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     session.tools.all()
        []
        """
        return [ToolInfo(each) for each in self._use().tools()]

    def openai(self) -> list[dict[str, typing.Any]]:
        """Returns the tools that a model can call, in the format of OpenAI's API. A tool is left
        out with a warning if it cannot run, the format does not allow its name, or its input is not
        an object.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     _ = session.tools.register(lambda: 4, name="roll", description="Rolls a die.")
        ...     session.tools.openai()[0]["function"]["name"]
        'roll'
        """
        return self._for_models(_OPENAI)

    def mcp(self) -> list[dict[str, typing.Any]]:
        """Returns the same tools in the format of the Model Context Protocol: the list ``tools`` of
        ``tools/list``.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     _ = session.tools.register(lambda: 4, name="roll", description="Rolls a die.")
        ...     session.tools.mcp()[0]["description"]
        'Rolls a die.'
        """
        return self._for_models(_MCP)

    def _for_models(self, form: int) -> list[dict[str, typing.Any]]:
        found = self._use().tools_for_models(form)
        for each in found["leftOut"]:
            message = f"the tool {each['name']} is left out: {each['reason']}"
            warn(message, NarratoriaWarning, stacklevel=3)
        tools: list[dict[str, typing.Any]] = found["tools"]
        return tools

    def register(
        self,
        function: _type_variables.Function,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        thread: bool = True,
        repeatable: bool = True,
    ) -> _type_variables.Function:
        """Makes a function a tool, as :meth:`narratoria.Session.tool` does, and returns the
        function.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     _ = session.tools.register(lambda sides: sides, name="roll")
        ...     session.call("roll", sides=6)
        6
        """
        give: typing.Any = self._session.tool(
            name=name, description=description, thread=thread, repeatable=repeatable
        )
        registered: _type_variables.Function = give(function)
        return registered

    def register_path(
        self,
        name: str,
        path: str | PathLike[str],
        *,
        description: str = "",
        input_schema: Mapping[str, typing.Any] | None = None,
        result_schema: Mapping[str, typing.Any] | None = None,
        times: Times | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Registers a name for a tool that is a file or has a path ``scheme:rest``. It replaces a
        tool that Python registered under the same name.

        Args:
            path: relative to the story's folder, else to the session's root.
            description, input_schema, result_schema: default: those of the file's manifest. Schemas
                are JSON Schema; an input schema may have the form of spec 002 instead, with
                ``"parameters"`` and ``"returns"``.
            times: only ``try_ms``, the timeout of one attempt; default: the manifest's, or else the
                session's. A plan's ``timeoutMs`` overrides it.
            limits: the limits of its process, and ``line_bytes``; defaults as for ``times``.

        Raises:
            InvalidDocumentError: a schema is not a valid JSON Schema.
            InvalidArgumentError: a plugin has a tool of this name, or a limit does not apply to
                tools.

        >>> import narratoria
        >>> with narratoria.Session(story="examples/stories/torch") as session:
        ...     session.tools.register_path("light", "tools/torch-lighter", description="Makes light.")
        ...     session.tools["light"].description
        'Makes light.'
        """
        given_times = numbers_of("times", times)
        for member in given_times:
            if member != "try_ms":
                raise ValueError(
                    f"the time {member} cannot be set for one tool; set it for the session"
                )
        self._use().add_tool_path(
            text_of("the name of a tool", name),
            text_of("the description of a tool", description),
            _schema("input_schema", input_schema),
            _schema("result_schema", result_schema),
            path_text("path", path),
            given_times,
            numbers_of("limits", limits),
        )

    def remove(self, name: str) -> None:
        """Removes a registered tool, also one of a plugin. Its running attempts continue. Allowed
        in callbacks.

        Raises:
            KeyError: no registered tool has this name. A file of the story cannot be removed.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     _ = session.tools.register(lambda: 4, name="roll")
        ...     session.tools.remove("roll")
        ...     len(session.tools)
        0
        """
        try:
            self._use().remove_tool(text_of("the name of a tool", name))
        except NotFoundError as error:
            raise KeyError(str(error)) from None


def _schema(what: str, schema: typing.Any) -> dict[str, typing.Any] | None:
    if schema is None:
        return None
    if not hasattr(schema, "keys"):
        raise TypeError(f"{what} must be a dict, not {type(schema).__name__}")
    return dict(schema)
