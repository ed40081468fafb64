# SPDX-License-Identifier: Apache-2.0
"""The session's state as a mapping."""

from __future__ import annotations

from collections.abc import Mapping

from narratoria.errors import NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
    from typing import Any, NoReturn

    from narratoria._core import Session

    _Base = Mapping[str, Any]
else:
    _Base = Mapping

__all__ = ["State"]

_MISSING = object()


class State(_Base):
    """A live view of a session's state.

    The values that it returns are copies; change the state with :meth:`patch`.

    >>> import narratoria
    >>> with narratoria.Session(state={"door": {"open": False}, "keys": ["brass"]}) as session:
    ...     state = session.state
    ...     state["door"]["open"], state.at("/keys/0"), "window" in state, len(state)
    (False, 'brass', False, 2)
    """

    __slots__ = ("_changed", "_core", "_use")

    def __init__(
        self, core: Session, use: Callable[[], Session], changed: Callable[[], None]
    ) -> None:
        self._core = core
        # The same, for a caller who may use it.
        self._use = use
        self._changed = changed

    def __getitem__(self, key: str) -> Any:
        if not isinstance(key, str):
            raise KeyError(key)
        try:
            key.encode()
            return self._use().state("/" + key.replace("~", "~0").replace("/", "~1"))
        except (NotFoundError, UnicodeEncodeError):
            # No JSON has a name with half of a surrogate pair.
            raise KeyError(key) from None

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            return False
        try:
            key.encode()
        except UnicodeEncodeError:
            return False
        there: bool = self._use().has_state("/" + key.replace("~", "~0").replace("/", "~1"))
        return there

    def has(self, pointer: str) -> bool:
        """Whether there is a value at a JSON Pointer, without copying it.

        Raises:
            InvalidArgumentError: it is not a JSON Pointer.
            TypeError: it is not a str.

        >>> import narratoria
        >>> with narratoria.Session(state={"torch": {"lit": None}}) as session:
        ...     session.state.has("/torch"), session.state.has("/door/open")
        (True, False)
        """
        from narratoria._checks import text_of

        there: bool = self._use().has_state(text_of("a JSON Pointer", pointer))
        return there

    def size(self, pointer: str = "") -> int:
        """Counts the members of the object, or the elements of the array, at a JSON Pointer, without
        copying them; 0 for any other value.

        Raises:
            NotFoundError: the pointer leads nowhere.
            InvalidArgumentError: it is not a JSON Pointer.
            TypeError: it is not a str.

        >>> import narratoria
        >>> with narratoria.Session(state={"keys": ["brass", "iron"]}) as session:
        ...     session.state.size("/keys"), session.state.size()
        (2, 1)
        """
        from narratoria._checks import text_of

        count: int = self._use().state_size(text_of("a JSON Pointer", pointer))
        return count

    def at(self, pointer: str, default: Any = _MISSING) -> Any:
        """Returns the value at a JSON Pointer; ``""`` is the whole state.

        Raises:
            NotFoundError: the pointer leads nowhere, and there is no default.
            InvalidArgumentError: it is not a JSON Pointer.
            TypeError: it is not a str.

        >>> import narratoria
        >>> with narratoria.Session(state={"a/b": [1, 2]}) as session:
        ...     session.state.at("/a~1b/1"), session.state.at("/c", None)
        (2, None)
        """
        from narratoria._checks import text_of

        text_of("a JSON Pointer", pointer)
        try:
            return self._use().state(pointer)
        except NotFoundError:
            if default is _MISSING:
                raise
            return default

    def to_dict(self) -> dict[str, Any]:
        """Returns a copy of the whole state.

        >>> import narratoria
        >>> with narratoria.Session(state={"keys": ["brass"]}) as session:
        ...     session.state.to_dict()
        {'keys': ['brass']}
        """
        made: dict[str, Any] = self._use().state("")
        return made

    def patch(self, patch: Mapping[str, Any]) -> None:
        """Merges a patch: objects recursively, lists replaced, None removes (RFC 7396).

        Raises:
            ValueError, TypeError: it is not JSON; the message has the place as a JSON Pointer.

        >>> import narratoria
        >>> with narratoria.Session(state={"a": 1, "b": {"c": 2}}) as session:
        ...     session.state.patch({"a": None, "b": {"d": 3}})
        ...     session.state.to_dict()
        {'b': {'c': 2, 'd': 3}}
        """
        if not hasattr(patch, "keys"):
            raise TypeError(f"a patch is a dict, not {type(patch).__name__}")
        self._use().patch_state(dict(patch))
        self._changed()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a state is a view of its session and cannot be copied or pickled; to_dict() is a copy"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return self.size()

    # One reading for all, instead of one for each key.
    def keys(self) -> KeysView[str]:
        """The top-level names of the current state.

        >>> import narratoria
        >>> with narratoria.Session(state={"door": 1, "keys": 2}) as session:
        ...     list(session.state.keys())
        ['door', 'keys']
        """
        return self.to_dict().keys()

    def values(self) -> ValuesView[Any]:
        """The top-level values of the current state.

        >>> import narratoria
        >>> with narratoria.Session(state={"door": 1, "keys": 2}) as session:
        ...     list(session.state.values())
        [1, 2]
        """
        return self.to_dict().values()

    def items(self) -> ItemsView[str, Any]:
        """The top-level names and values of the current state.

        >>> import narratoria
        >>> with narratoria.Session(state={"door": 1, "keys": 2}) as session:
        ...     dict(session.state.items())
        {'door': 1, 'keys': 2}
        """
        return self.to_dict().items()

    def __repr__(self) -> str:
        # Debuggers and notebooks ask at any time.
        if self._core.is_closed:
            return "<State of a closed session>"
        text = repr(self.to_dict())
        return f"<State {text if len(text) <= 200 else text[:199] + '…'}>"

    def _repr_html_(self) -> str:
        from narratoria._html import state_html

        if self._core.is_closed:
            return "<p>The session is closed.</p>"
        return state_html(self.to_dict())
