# SPDX-License-Identifier: Apache-2.0
"""The session's state as a mapping."""

from __future__ import annotations

from collections.abc import (
    Callable,
    ItemsView,
    Iterator,
    KeysView,
    Mapping,
    MutableMapping,
    ValuesView,
)

# HTML is imported inside a function: only notebooks need it.
from narratoria._checks import text_of
from narratoria._lazy import _core, typing
from narratoria.errors import GoneError, NotFoundError

TYPE_CHECKING = False
if TYPE_CHECKING:
    _Base = MutableMapping[str, typing.Any]
else:
    _Base = MutableMapping

__all__ = ["State", "StateMetadata"]

_MISSING = object()


class StateMetadata:
    """Describes a key of the state, for people and models.

    Attributes:
        description: what the key means.
        formatter: a function from the value to its text in a prompt; None: the default form. It is
            also None if code other than Python registered it. If it raises, the default form is
            shown, and its first exception is logged with the traceback.

    >>> StateMetadata("coins of the player", lambda value: f"{value} gold").description
    'coins of the player'
    """

    __slots__ = ("description", "formatter")

    def __init__(
        self, description: str = "", formatter: Callable[[typing.Any], str] | None = None
    ) -> None:
        if not isinstance(description, str):
            raise TypeError(f"description must be a str, not {type(description).__name__}")
        if formatter is not None and not callable(formatter):
            raise TypeError(f"formatter must be a function, not {type(formatter).__name__}")
        self.description: str = description
        self.formatter: Callable[[typing.Any], str] | None = formatter

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StateMetadata):
            return NotImplemented
        return (self.description, self.formatter) == (other.description, other.formatter)

    __hash__: typing.ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        formatter = "" if self.formatter is None else f", formatter={self.formatter!r}"
        return f"StateMetadata({self.description!r}{formatter})"


def _plain(metadata: typing.Any) -> tuple[str, Callable[[typing.Any], str] | None] | None:
    """Converts metadata for the compiled part."""
    if metadata is None:
        return None
    if isinstance(metadata, str):
        metadata = StateMetadata(metadata)
    elif hasattr(metadata, "keys"):
        metadata = StateMetadata(metadata.get("description", ""), metadata.get("formatter"))
    if not isinstance(metadata, StateMetadata):
        raise TypeError(
            f"metadata must be a StateMetadata, a dict or a str, not {type(metadata).__name__}"
        )
    return (metadata.description, metadata.formatter)


def _key(key: typing.Any) -> str:
    return text_of("a key of the state", key)


def set_state(
    core: _core.Session, key: str, value: typing.Any, metadata: typing.Any, invocation: typing.Any
) -> None:
    if metadata is None and hasattr(value, "keys") and {"value", "metadata"} <= set(value):
        packed = value["metadata"]
        # The runtime unpacks JSON by the same rule (context.h); a formatter is not JSON.
        if isinstance(packed, StateMetadata) or (
            hasattr(packed, "keys") and callable(packed.get("formatter"))
        ):
            value, metadata = value["value"], packed
    core.set_state(_key(key), value, _plain(metadata), invocation)


def metadata_of(core: _core.Session, key: str) -> StateMetadata | None:
    found = core.state_metadata(_key(key))
    return None if found is None else StateMetadata(*found)


def all_metadata(core: _core.Session) -> dict[str, StateMetadata]:
    return {key: StateMetadata(*found) for key, found in core.all_state_metadata().items()}


class State(_Base):
    """A live view of a session's state.

    The values that it returns are copies: ``state["door"]["open"] = True`` changes only a copy.
    Assign to a key, or use :meth:`patch`. In a tool, ``context.state`` has the same methods, and its
    changes are patches of the tool.

    >>> import narratoria
    >>> with narratoria.Session(state={"door": {"open": False}, "keys": ["brass"]}) as session:
    ...     state = session.state
    ...     state["gold"] = 5
    ...     del state["door"]
    ...     state["gold"], state.at("/keys/0"), "door" in state, len(state)
    (5, 'brass', False, 2)
    """

    __slots__ = ("_changed", "_core", "_invocation", "_use")

    def __init__(
        self,
        core: _core.Session,
        use: Callable[[], _core.Session],
        changed: Callable[[], None],
        invocation: _core.Invocation | None = None,
    ) -> None:
        self._core = core
        # Returns the same after a check that the caller may use it.
        self._use = use
        self._changed = changed
        # The tool whose patches the changes are; None: the host's.
        self._invocation = invocation

    def __getitem__(self, key: str) -> typing.Any:
        if not isinstance(key, str):
            raise KeyError(key)
        try:
            key.encode()
            return self._use().state("/" + key.replace("~", "~0").replace("/", "~1"))
        except (NotFoundError, UnicodeEncodeError):
            # A JSON name cannot contain a lone surrogate.
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
        """True if there is a value at a JSON Pointer, without copying it.

        Raises:
            InvalidArgumentError: it is not a JSON Pointer.
            TypeError: it is not a str.

        >>> import narratoria
        >>> with narratoria.Session(state={"torch": {"lit": None}}) as session:
        ...     session.state.has("/torch"), session.state.has("/door/open")
        (True, False)
        """

        there: bool = self._use().has_state(text_of("a JSON Pointer", pointer))
        return there

    def size(self, pointer: str = "") -> int:
        """Counts the members of the object, or the elements of the array, at a JSON Pointer,
        without copying them; 0 for any other value.

        Raises:
            NotFoundError: there is no value at the pointer.
            InvalidArgumentError: it is not a JSON Pointer.
            TypeError: it is not a str.

        >>> import narratoria
        >>> with narratoria.Session(state={"keys": ["brass", "iron"]}) as session:
        ...     session.state.size("/keys"), session.state.size()
        (2, 1)
        """

        count: int = self._use().state_size(text_of("a JSON Pointer", pointer))
        return count

    def at(self, pointer: str, default: typing.Any = _MISSING) -> typing.Any:
        """Returns the value at a JSON Pointer; ``""`` is the whole state.

        Raises:
            NotFoundError: there is no value at the pointer, and no default.
            InvalidArgumentError: it is not a JSON Pointer.
            TypeError: it is not a str.

        >>> import narratoria
        >>> with narratoria.Session(state={"a/b": [1, 2]}) as session:
        ...     session.state.at("/a~1b/1"), session.state.at("/c", None)
        (2, None)
        """

        text_of("a JSON Pointer", pointer)
        try:
            return self._use().state(pointer)
        except NotFoundError:
            if default is _MISSING:
                raise
            return default

    def to_dict(self) -> dict[str, typing.Any]:
        """Returns a copy of the whole state.

        >>> import narratoria
        >>> with narratoria.Session(state={"keys": ["brass"]}) as session:
        ...     session.state.to_dict()
        {'keys': ['brass']}
        """
        made: dict[str, typing.Any] = self._use().state("")
        return made

    def patch(self, patch: Mapping[str, typing.Any]) -> None:
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
            raise TypeError(f"a patch must be a dict, not {type(patch).__name__}")
        if self._invocation is None:
            self._use().patch_state(dict(patch))
            self._changed()
            return
        from narratoria._invocations import emit_blocking

        event = {"version": "0", "type": "state_patch", "patch": dict(patch)}
        if not emit_blocking(self._invocation, event):
            raise GoneError(
                "the tool has ended and can no longer change the state", code="TOOL_ENDED"
            )

    def set(
        self,
        key: str,
        value: typing.Any,
        metadata: StateMetadata | Mapping[str, typing.Any] | str | None = None,
    ) -> None:
        """Sets a key to a value. It replaces the previous value, even if both are dicts.

        Args:
            key: a key of the state; not a JSON Pointer.
            value: JSON; None is stored as a value (:meth:`patch` removes keys). ``{"value": …,
                "metadata": …}`` is unpacked if its metadata is None or an object.
            metadata: the description of the key; None keeps the existing metadata.

        Raises:
            ValueError, TypeError: it is not JSON; the message has the place as a JSON Pointer.

        >>> import narratoria
        >>> with narratoria.Session(state={"door": {"open": True, "age": 90}}) as session:
        ...     session.state.set("door", {"open": False}, "the door to the cellar")
        ...     session.state.to_dict(), session.state.metadata("door")
        ({'door': {'open': False}}, StateMetadata('the door to the cellar'))
        """
        set_state(self._use(), key, value, metadata, self._invocation)
        self._changed()

    def change(
        self, key: str, function: Callable[[typing.Any], typing.Any], default: typing.Any = None
    ) -> typing.Any:
        """Sets a key to ``function(value)``, and returns the new value. Nothing else changes the
        state meanwhile: tools that run at the same time lose no change.

        Args:
            key: a key of the state; not a JSON Pointer.
            function: called on the session's own thread, which it blocks.
            default: the value for the function if there is no such key.

        Raises:
            ValueError, TypeError: the new value is not JSON.
            Exception: raised by the function; the state is not changed.

        >>> import narratoria
        >>> with narratoria.Session(state={"gold": 5}) as session:
        ...     session.state.change("gold", lambda gold: gold - 2)
        3
        """

        def read_and_set() -> typing.Any:
            value = function(self.get(key, default))
            self.set(key, value)
            return value

        # On a tool's thread, all of it runs on the session's thread, in one step.
        on_engine = getattr(self._use(), "on_engine", None)
        return read_and_set() if on_engine is None else on_engine(read_and_set)

    def __setitem__(self, key: str, value: typing.Any) -> None:
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        self.patch({key: None})

    def clear(self) -> None:
        """Removes all keys and all metadata.

        >>> import narratoria
        >>> with narratoria.Session(state={"a": 1, "b": 2}) as session:
        ...     session.state.clear()
        ...     session.state.to_dict()
        {}
        """
        self._use().clear_state(self._invocation)
        self._changed()

    def metadata(self, key: str) -> StateMetadata | None:
        """Returns the metadata of a key, or None.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     session.state.describe("gold", "coins of the player")
        ...     session.state.metadata("gold"), session.state.metadata("silver")
        (StateMetadata('coins of the player'), None)
        """
        return metadata_of(self._use(), key)

    def all_metadata(self) -> dict[str, StateMetadata]:
        """Returns the metadata of all keys, ordered by key.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     session.state.describe("gold", "coins of the player")
        ...     session.state.all_metadata()
        {'gold': StateMetadata('coins of the player')}
        """
        return all_metadata(self._use())

    def describe(
        self, key: str, metadata: StateMetadata | Mapping[str, typing.Any] | str | None
    ) -> None:
        """Describes a key, which need not have a value yet. None removes the metadata.

        Metadata belongs to the running session: it is neither in patches nor in the history. An
        exception in a formatter is logged, not raised: see :class:`StateMetadata`.

        >>> import narratoria
        >>> with narratoria.Session(state={"hp": 7}) as session:
        ...     session.state.describe(
        ...         "hp", narratoria.StateMetadata("health", lambda value: f"{value} of 10"))
        ...     print(session.state.format_for_prompt())
        hp: 7 of 10 (health)
        """
        self._use().register_state_metadata(_key(key), _plain(metadata))

    def format_for_prompt(self) -> str:
        """Returns the state as text for a model's prompt: a line ``key: value (description)`` per
        key.

        The formatter in the key's metadata writes the value. Without one the value is indented
        JSON, cut to 200 characters for a list or dict. A number under a key with ``time``
        or ``date`` in it is also shown as a time.

        >>> import narratoria
        >>> with narratoria.Session(state={"gold": 5, "doneTime": 1732354323045}) as session:
        ...     print(session.state.format_for_prompt())
        gold: 5
        doneTime: 1732354323045 (2024-11-23T09:32:03.045Z)
        """
        return self._use().format_state_for_prompt()

    def __reduce__(self) -> typing.NoReturn:
        raise TypeError(
            "a state is a view of its session and cannot be copied or pickled; to_dict() is a copy"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return self.size()

    # keys, values and items read the state once, not once for each key.
    def keys(self) -> KeysView[str]:
        """The top-level names of the current state.

        >>> import narratoria
        >>> with narratoria.Session(state={"door": 1, "keys": 2}) as session:
        ...     list(session.state.keys())
        ['door', 'keys']
        """
        return self.to_dict().keys()

    def values(self) -> ValuesView[typing.Any]:
        """The top-level values of the current state.

        >>> import narratoria
        >>> with narratoria.Session(state={"door": 1, "keys": 2}) as session:
        ...     list(session.state.values())
        [1, 2]
        """
        return self.to_dict().values()

    def items(self) -> ItemsView[str, typing.Any]:
        """The top-level names and values of the current state.

        >>> import narratoria
        >>> with narratoria.Session(state={"door": 1, "keys": 2}) as session:
        ...     dict(session.state.items())
        {'door': 1, 'keys': 2}
        """
        return self.to_dict().items()

    def __repr__(self) -> str:
        # Debuggers and notebooks call this at any time, even after close.
        if self._core.is_closed:
            return "<State of a closed session>"
        text = repr(self.to_dict())
        return f"<State {text if len(text) <= 200 else text[:199] + '…'}>"

    def _repr_html_(self) -> str:
        from narratoria._html import state_html

        if self._core.is_closed:
            return "<p>The session is closed.</p>"
        return state_html(self.to_dict())
