# SPDX-License-Identifier: Apache-2.0
"""Tools in Python that several sessions share."""

from __future__ import annotations

from collections.abc import Callable

from narratoria._checks import check_tool
from narratoria._function import FunctionDescription, describe
from narratoria._invocations import import_for
from narratoria._lazy import _type_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import overload
else:

    def overload(function):
        return function


__all__ = ["Toolset"]


class Toolset:
    """Functions that are tools, for any number of sessions: ``Session(tools=[toolset])``.

    A function is inspected once, when it is added. Sessions that run concurrently call it
    concurrently.

    >>> import narratoria
    >>> dice = narratoria.Toolset()
    >>> @dice.tool
    ... def roll(sides: int = 6) -> int:
    ...     "Rolls a die."
    ...     return min(sides, 4)
    >>> with narratoria.Session(tools=[dice]) as first, narratoria.Session(tools=[dice]) as second:
    ...     first.call("roll"), second.call("roll", sides=2)
    (4, 2)
    """

    def __init__(self) -> None:
        self._tools: dict[str, tuple[FunctionDescription, bool]] = {}

    @overload
    def tool(self, function: _type_variables.Function, /) -> _type_variables.Function: ...

    @overload
    def tool(  # noqa: F811 (overload is not typing's own here)
        self,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        thread: bool = True,
        repeatable: bool = True,
    ) -> Callable[[_type_variables.Function], _type_variables.Function]: ...

    def tool(  # noqa: F811
        self,
        function: _type_variables.Function | None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        thread: bool = True,
        repeatable: bool = True,
    ) -> _type_variables.Function | Callable[[_type_variables.Function], _type_variables.Function]:
        """Adds a function. The arguments and the errors are those of
        :meth:`narratoria.Session.tool`.

        >>> import narratoria
        >>> tools = narratoria.Toolset()
        >>> @tools.tool(name="weather", description="What the sky looks like.")
        ... def look_up() -> str:
        ...     return "rain"
        >>> tools
        <Toolset weather>
        """
        if function is None:
            return lambda given: self.tool(  # type: ignore[call-overload]
                given, name=name, description=description, thread=thread, repeatable=repeatable
            )

        check_tool(function, name, description, thread, repeatable)
        import_for(function)

        about = describe(function, name=name, description=description)
        about.repeatable = repeatable
        self._tools[about.name] = (about, thread)
        return function

    @property
    def described(self) -> list[tuple[FunctionDescription, bool]]:
        """The descriptions of its tools, and whether each tool runs in its own thread."""
        return list(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"<Toolset {' '.join(self._tools) or 'empty'}>"
