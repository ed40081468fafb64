# SPDX-License-Identifier: Apache-2.0
"""The base of events and documents: attributes in snake_case, JSON in camelCase."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ._document_error import DocumentError

AnyDocument = TypeVar("AnyDocument", bound="Document")
_AnyLazy = TypeVar("_AnyLazy", bound="LazyDocument")

#: The maximum number of characters of one attribute in `repr`.
_SHOWN = 100


# `dict` and `list` as default factories with types for type checkers, at no run-time cost.
new_object: Callable[[], dict[str, Any]] = dict
new_array: Callable[[], list[Any]] = list


class MissingObject(dict[str, Any]):
    """The empty object of a missing member. It is written only if it is no longer empty."""

    __slots__ = ()


class MissingArray(list[Any]):
    """The empty array of a missing member. It is written only if it is no longer empty."""

    __slots__ = ()


def name_of(value: object) -> str:
    """Names the kind of a JSON value, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, (list, tuple)):
        return "an array"
    if isinstance(value, Mapping):
        return "an object"
    return f"of the type {type(value).__qualname__}"


# Readers of members. Each returns the value for the attribute or raises DocumentError.


def string(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise DocumentError(f"must be a string, is {name_of(value)}")


def string_or_null(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise DocumentError(f"must be a string or null, is {name_of(value)}")


def boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise DocumentError(f"must be a boolean, is {name_of(value)}")


def integer(value: Any) -> int:
    # The usual case. isinstance would accept a bool, too.
    if type(value) is int:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    # In JSON Schema, 2.0 is an integer.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise DocumentError(f"must be an integer, is {name_of(value)}")


def mapping(value: Any) -> Any:
    # JSON gives a dict; the check of the abstract class takes ten times as long.
    if type(value) is dict or isinstance(value, Mapping):
        return value
    raise DocumentError(f"must be an object, is {name_of(value)}")


def anything(value: Any) -> Any:
    return value


def array_of(read: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    """Returns the reader of an array, with `read` for its elements."""

    def read_array(value: Any) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise DocumentError(f"must be an array, is {name_of(value)}")
        elements: list[Any] = []
        for index, element in enumerate(value):
            try:
                elements.append(read(element))
            except DocumentError as fault:
                raise fault.within(index) from None
        return elements

    return read_array


strings = array_of(string)


_LEVELS = ("debug", "info", "warn", "error")


def read_level(value: Any) -> str:
    if value in _LEVELS:
        return string(value)
    raise DocumentError('must be "debug", "info", "warn" or "error"')


def read_number(value: Any) -> int | float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    raise DocumentError("must be a number")


def write_document(value: Any) -> Any:
    return value.to_dict()


def write_documents(value: Any) -> Any:
    return [_written(element, place) for place, element in enumerate(value)]


class WrongElement(TypeError):
    """An element of a list of documents is not a document. `place` is its index."""

    def __init__(self, element: object, place: int) -> None:
        super().__init__(f"must be a document or a dict, is {name_of(element)}")
        self.place = place


def _written(element: Any, place: int) -> Any:
    to_dict = getattr(element, "to_dict", None)
    if callable(to_dict):
        return to_dict()
    # A dict in a list of documents is written unchanged.
    if isinstance(element, dict):
        return dict(element)
    raise WrongElement(element, place)


REQUIRED = 0
OPTIONAL = 1
DEFAULTED = 2
ALWAYS_WRITTEN = 3


class Member:
    """One member of a JSON object, and its attribute.

    presence: a REQUIRED member must exist. An OPTIONAL one is not written if it is None or a
    Missing… that is still empty. A DEFAULTED one is not written if it equals the value of
    `default`. An ALWAYS_WRITTEN one may be missing but is always written.
    """

    __slots__ = ("attribute", "default", "name", "presence", "read", "write")

    def __init__(
        self,
        attribute: str,
        read: Callable[[Any], Any],
        presence: int = REQUIRED,
        *,
        name: str = "",
        write: Callable[[Any], Any] | None = None,
        default: Callable[[], Any] | None = None,
    ) -> None:
        self.attribute = attribute
        first, *others = attribute.split("_")
        self.name = name or first + "".join(other.capitalize() for other in others)
        self.read = read
        self.presence = presence
        self.write = write
        self.default = default

    def is_left_out(self, value: Any) -> bool:
        presence = self.presence
        if presence == DEFAULTED:
            return self.default is not None and bool(value == self.default())
        return presence == OPTIONAL and (
            value is None or (not value and type(value) in (MissingObject, MissingArray))
        )


class Document:
    """A dataclass that is read from, and written as, a JSON object."""

    __slots__ = ()

    #: The members of the object, without those with the same value in all objects (`_constants`).
    _members: ClassVar[tuple[Member, ...]] = ()
    _names: ClassVar[frozenset[str]] = frozenset()
    _constants: ClassVar[dict[str, str]] = {}
    #: The name, the attribute, the reader and the presence of each member.
    _reads: ClassVar[tuple[tuple[str, str, Callable[[Any], Any], int], ...]] = ()

    #: The classes of documents, by name. With slots, `dataclass` creates each class twice; the second
    #: one stays.
    _classes: ClassVar[dict[str, type[Document]]] = {}

    def __init_subclass__(cls) -> None:
        cls._classes[cls.__name__] = cls
        cls._names = frozenset(cls._constants).union(member.name for member in cls._members)
        cls._reads = tuple(
            (member.name, member.attribute, member.read, member.presence) for member in cls._members
        )

    @classmethod
    def from_dict(cls: type[AnyDocument], document: Mapping[str, Any]) -> AnyDocument:
        """Reads the object; nested values are shared with it, not copied.

        Unknown members are kept in `extra`. Only types are checked here; `narratoria validate` and
        the runtime check the other rules.

        Raises:
            DocumentError: a member is missing or has the wrong type; `pointer` names the place.

        >>> from narratoria import Invocation
        >>> Invocation.from_dict({"toolId": "torch", "toolPath": "light", "mood": "dark"}).extra
        {'mood': 'dark'}
        """
        if type(document) is not dict and not isinstance(document, Mapping):
            raise DocumentError(f"must be an object, is {name_of(document)}")
        attributes: dict[str, Any] = {}
        for name, constant in cls._constants.items():
            if document.get(name) != constant:
                if name not in document:
                    raise DocumentError("is missing", "/" + name)
                raise DocumentError(f'must be "{constant}"', "/" + name)
        extra: dict[str, Any] = {}
        name = ""
        try:
            for name, attribute, read, presence in cls._reads:
                if name in document:
                    value = document[name]
                    attributes[attribute] = read(value)
                    if value is None and presence == OPTIONAL:
                        # Keeps an explicit null, so that to_dict writes it again.
                        extra[name] = None
                elif presence == REQUIRED:
                    raise DocumentError("is missing")
        except DocumentError as fault:
            raise fault.within(name) from None
        names = cls._names
        if not document.keys() <= names:
            for name in document:
                if name not in names:
                    extra[name] = document[name]
        if extra:
            attributes["extra"] = extra
        return cls(**attributes)

    def to_dict(self) -> dict[str, Any]:
        """Returns the JSON object, including `extra`; nested values are shared, not copied.

        Optional members that are not set, and members with the schema's default, are left out.

        >>> from narratoria import Invocation
        >>> Invocation("torch", "light", timeout_ms=500).to_dict()
        {'toolId': 'torch', 'toolPath': 'light', 'timeoutMs': 500}
        """
        document: dict[str, Any] = dict(self._constants)
        for member in self._members:
            value = getattr(self, member.attribute)
            if not member.is_left_out(value):
                write = member.write
                try:
                    document[member.name] = value if write is None else write(value)
                except WrongElement as fault:
                    raise TypeError(f"/{member.name}/{fault.place}: {fault}") from None
        extra: Mapping[str, Any] = getattr(self, "extra")
        for name, value in extra.items():
            document.setdefault(name, value)
        return document

    # Shared: the methods that `dataclass` generates for each class cost a third of the import time.
    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            getattr(self, member.attribute) == getattr(other, member.attribute)
            for member in self._members
        ) and bool(getattr(self, "extra") == getattr(other, "extra"))

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown: list[str] = []
        for member in self._members:
            value = getattr(self, member.attribute)
            if not member.is_left_out(value):
                text = repr(value)
                if len(text) > _SHOWN:
                    text = text[:_SHOWN] + "…"
                shown.append(f"{member.attribute}={text}")
        extra: Mapping[str, Any] = getattr(self, "extra")
        if extra:
            shown.append(f"extra={extra!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


#: The reader of a member, by its annotation.
_READERS: dict[str, Callable[[Any], Any]] = {
    "Any": anything,
    "Mapping[str, Any]": mapping,
    "bool": boolean,
    "dict[str, Any]": mapping,
    "dict[str, Any] | bool": anything,
    "float": read_number,
    "int": integer,
    "list[dict[str, Any]]": array_of(mapping),
    "list[str]": strings,
    "str": string,
    "Literal['debug', 'info', 'warn', 'error']": read_level,
}
_MISSING = object()


class Described(Document):
    """A document whose members come from its annotations, followed by those of its base.

    `_order` names the attributes in the order of the JSON, if it is another one.
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        # The second one that `dataclass` creates has no defaults.
        if "_members" not in cls.__dict__:
            own = {
                name: cls._member_of(name, annotation, cls.__dict__.get(name, _MISSING))
                for name, annotation in cls.__annotations__.items()
                if name != "extra"
            }
            order = cls.__dict__["_order"].split() if "_order" in cls.__dict__ else own
            cls._members = (*(own[name] for name in order), *cls._members)
            type_ = cls.__dict__.get("type")
            if type_:
                cls._constants = {"version": "0", "type": type_}
        super().__init_subclass__()

    @classmethod
    def _member_of(cls, attribute: str, annotation: str, default: Any) -> Member:
        """Returns the member. It is required in JSON unless its default is None or a Missing…."""
        kind = annotation.removesuffix(" | None")
        factory = getattr(default, "default_factory", None)
        if factory is not None and default.metadata:
            return Member(attribute, string_or_null)
        is_optional = default is None or factory in (MissingObject, MissingArray)
        presence = OPTIONAL if is_optional else REQUIRED
        if kind in cls._classes:
            read: Callable[[Any], Any] = cls._classes[kind].from_dict
            return Member(attribute, read, presence, write=write_document)
        element = kind.removeprefix("list[").removesuffix("]")
        if element in cls._classes:
            read = array_of(cls._classes[element].from_dict)
            return Member(attribute, read, presence, write=write_documents)
        return Member(attribute, _READERS[kind], presence)


class LazyDocument(Document):
    """A document that may be read on first access."""

    __slots__ = ("_late",)

    _late: Callable[[], Mapping[str, Any]]

    @classmethod
    def later(cls: type[_AnyLazy], read: Callable[[], Mapping[str, Any]], **known: Any) -> _AnyLazy:
        """Returns a document that calls `read` on first access; `known` are attributes set already.

        >>> from narratoria import Result
        >>> result = Result.later(lambda: {}, success=True)
        >>> result.success
        True
        """
        made = cls.__new__(cls)
        made._late = read
        for name, value in known.items():
            setattr(made, name, value)
        return made

    if not TYPE_CHECKING:  # a type checker sees exactly the declared attributes

        def __getattr__(self, name: str) -> Any:
            if name == "extra" or any(name == member.attribute for member in self._members):
                try:
                    late = object.__getattribute__(self, "_late")
                except AttributeError:
                    # Another thread has read it meanwhile, or it is not initialized yet.
                    return object.__getattribute__(self, name)
                document = self.from_dict(late())
                for attribute in ("extra", *(member.attribute for member in self._members)):
                    # Keeps attributes that the program or another thread has set.
                    try:
                        object.__getattribute__(self, attribute)
                    except AttributeError:
                        setattr(self, attribute, getattr(document, attribute))
                try:
                    del self._late
                except AttributeError:
                    pass
                return getattr(self, name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
