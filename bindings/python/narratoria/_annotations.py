# SPDX-License-Identifier: Apache-2.0
# Compiles an annotation to its schema and its converter in one pass.
#
# The modules of dates, paths and UUIDs are imported inside a function: few tools need them.

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

from narratoria._constraints import constrain, constraints_of, is_field
from narratoria._converters import (
    PRIMITIVES,
    Compiled,
    Converter,
    add_default,
    as_it_is,
    missing,
    name_number,
    of_array,
    of_object,
)
from narratoria._definitions import Definitions
from narratoria._document import name_of
from narratoria._hints import form_of, hints_of_class, not_evaluated
from narratoria.errors import DocumentError

_ARRAYS = (
    list,
    collections.abc.Sequence,
    collections.abc.MutableSequence,
    collections.abc.Collection,
    collections.abc.Iterable,
)
_OBJECTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_INSTEAD = {
    "set": "list[...]",
    "frozenset": "list[...]",
    "Set": "list[...]",
    "bytes": "str",
    "bytearray": "str",
    "timedelta": "float",
    "Decimal": "float or str",
    "complex": "tuple[float, float]",
}
_NO_DEFAULT = object()
# The maximum number of times a generic class may contain itself with different arguments.
_MOST_LEVELS = 8
_QUALIFIERS = ("NotRequired", "ReadOnly", "Required")


class Inside:
    # A class or alias that is being compiled. It gets a name when something inside refers to it.

    def __init__(self, annotation: Any) -> None:
        self.annotation = annotation
        self.name = ""
        self.compiled: Compiled | None = None

    def convert(self, value: Any) -> Any:
        assert self.compiled is not None, "convert() is called after compilation"
        return self.compiled.convert(value)


class Compiler:
    """Compiles annotations. `where` names the place in messages. Definitions go to `$defs` of the
    tool's schema."""

    __slots__ = ("_definitions", "_inside", "_where")

    _primitives = PRIMITIVES
    _arrays: tuple[Any, ...] = _ARRAYS
    _objects: tuple[Any, ...] = _OBJECTS

    def __init__(self, where: str, definitions: Definitions) -> None:
        self._where = where
        self._definitions = definitions
        #: The classes and aliases that are being compiled, outermost first.
        self._inside: list[Inside] = []

    def compile(self, annotation: Any) -> Compiled:
        if annotation is None:
            annotation = type(None)
        if annotation is Any or annotation is object:
            return Compiled({}, as_it_is, None, "anything")
        primitive = self._primitives.get(annotation) if _is_hashable(annotation) else None
        if primitive is not None:
            json_type, convert, type_text = primitive
            return Compiled({"type": json_type}, convert, annotation, type_text)

        origin = typing.get_origin(annotation)
        arguments = typing.get_args(annotation)
        if origin is typing.Annotated:
            return self._described(arguments[0], arguments[1:])
        if origin is typing.Union or _is_plain_union(annotation):
            return self._union(arguments)
        if origin is typing.Literal:
            return self._values([(self._json_of(one), one) for one in arguments])
        if isinstance(annotation, typing.TypeVar):
            if annotation.__constraints__:
                return self._union(annotation.__constraints__)
            if annotation.__bound__ is not None:
                return self.compile(annotation.__bound__)
        kind = annotation if origin is None else origin
        if kind is tuple:
            return self._tuple(arguments, bare=origin is None)
        if kind in self._arrays:
            return self._array(arguments[0] if arguments else Any, list)
        if kind in self._objects:
            return self._mapping(arguments)
        # `type X = …` and NewType are names for another type.
        inner = getattr(annotation, "__value__", None) or getattr(annotation, "__supertype__", None)
        if inner is not None:
            return self._named(annotation, lambda: self.compile(inner))
        if isinstance(annotation, type):
            if issubclass(annotation, enum.Enum) and not issubclass(annotation, enum.Flag):
                return self._values([(self._json_of(one), one) for one in annotation])
            if hasattr(annotation, "model_json_schema") and hasattr(annotation, "model_validate"):
                return self._model(annotation)
            standard = self._standard_class(annotation)
            if standard is not None:
                return standard
        # Including generic classes; `annotation` has the arguments of their type parameters.
        if isinstance(kind, type):
            # Not typing.is_typeddict, which does not know the TypedDict of typing_extensions.
            if issubclass(kind, dict) and hasattr(kind, "__required_keys__"):
                return self._typed_dict(annotation, kind)
            if dataclasses.is_dataclass(kind):
                return self._dataclass(annotation, kind)
            if issubclass(kind, tuple) and hasattr(kind, "_fields"):
                return self._named_tuple(annotation, kind)
        raise self._unsupported(annotation)

    def _unsupported(self, annotation: Any) -> TypeError:
        name = getattr(annotation, "__name__", "")
        instead = _INSTEAD.get(name)
        if isinstance(annotation, typing.TypeVar):
            instead = "Any, or give its argument, as in Box[int]"
        elif instead is None:
            instead = "a dataclass, a TypedDict or a type of JSON's own (str, int, list, dict ...)"
        shown = name if isinstance(annotation, type) and not _arguments(annotation) else annotation
        return TypeError(f"{self._where}: {shown} has no JSON equivalent; use {instead}")

    def _named(self, annotation: Any, compile_inner: Callable[[], Compiled]) -> Compiled:
        """Compiles a type that may contain itself. If it does, it goes to `$defs`, with a reference
        here."""

        for outer in self._inside:
            if outer.annotation == annotation:
                if not outer.name:
                    outer.name = self._definitions.name_for(annotation)
                type_text = f"a {getattr(annotation, '__name__', annotation)}"
                return Compiled(
                    self._definitions.reference(outer.name), outer.convert, None, type_text
                )
        kinds = [typing.get_origin(one.annotation) or one.annotation for one in self._inside]
        if kinds.count(typing.get_origin(annotation) or annotation) >= _MOST_LEVELS:
            names = [getattr(one, "__name__", str(one)) for one in (*kinds, kinds[-1])]
            raise TypeError(
                f"{self._where}: {names[-1]} contains itself with different arguments each time "
                f"({' > '.join(names)}), without end; use dict[str, Any] for the inner one"
            )
        named = Inside(annotation)
        self._inside.append(named)
        where = self._where
        try:
            named.compiled = compiled = compile_inner()
        finally:
            self._inside.pop()
            self._where = where
        if not named.name:
            return compiled
        if compiled.schema == self._definitions.reference(named.name):
            raise TypeError(f"{self._where}: {annotation} is defined only as itself")
        self._definitions.define(named.name, compiled.schema)
        reference = self._definitions.reference(named.name)
        return Compiled(reference, compiled.convert, compiled.exact, compiled.type_text)

    def _described(self, annotation: Any, metadata: tuple[Any, ...]) -> Compiled:
        compiled = self.compile(annotation)
        described = ""
        for one in metadata:
            text = one if isinstance(one, str) else getattr(one, "documentation", None)
            if text is None and is_field(one):
                text = getattr(one, "description")
            if isinstance(text, str) and not described:
                described = text
            if isinstance(one, str):
                continue
            constraints = constraints_of(one)
            if constraints is None:
                raise TypeError(
                    f"{self._where}: a tool's schema cannot express {one!r}; check it in the "
                    "function"
                )
            for name, value in constraints.items():
                compiled = constrain(self._where, compiled, name, value)
        if not described:
            return compiled
        schema = {**compiled.schema, "description": described}
        return Compiled(schema, compiled.convert, compiled.exact, compiled.type_text)

    def _text_of(self, kind: Any, read: Callable[[str], Any], format_: str) -> Compiled:
        schema: dict[str, Any] = {"type": "string"}
        if format_:
            schema["format"] = format_
        type_text = f"a string that is a {kind.__name__}"

        def convert(value: Any) -> Any:
            if not isinstance(value, str):
                raise DocumentError(f"must be {type_text}, is {name_of(value)}")
            try:
                return read(value)
            except ValueError as fault:
                raise DocumentError(f"must be {type_text}: {fault}") from None

        return Compiled(schema, convert, None, type_text)

    def _standard_class(self, annotation: type) -> Compiled | None:
        """Compiles classes of the standard library with values that are strings in JSON."""
        import datetime
        import pathlib
        import uuid

        if annotation is datetime.datetime:

            def read_time(text: str) -> datetime.datetime:
                # Python 3.10 does not know the Z.
                return datetime.datetime.fromisoformat(_with_offset(text))

            return self._text_of(annotation, read_time, "date-time")
        if annotation is datetime.date:
            return self._text_of(annotation, datetime.date.fromisoformat, "date")
        if annotation is datetime.time:

            def read_day_time(text: str) -> datetime.time:
                return datetime.time.fromisoformat(_with_offset(text))

            return self._text_of(annotation, read_day_time, "time")
        if annotation is uuid.UUID:
            return self._text_of(annotation, uuid.UUID, "uuid")
        if issubclass(annotation, pathlib.PurePath):
            return self._text_of(annotation, annotation, "")
        return None

    def _named_tuple(self, annotation: Any, kind: Any) -> Compiled:
        hints = self._hints_of(annotation, kind)
        fields: tuple[str, ...] = kind._fields

        def elements() -> Compiled:
            compiled = self._tuple(tuple(hints.get(name, Any) for name in fields), bare=False)

            def convert(value: Any) -> Any:
                return kind(*compiled.convert(value))

            return Compiled(compiled.schema, convert, None, f"an array of {', '.join(fields)}")

        return self._named(annotation, elements)

    def _model(self, annotation: Any) -> Compiled:
        schema = self._definitions.merge(annotation.model_json_schema())

        def convert(value: Any) -> Any:
            try:
                return annotation.model_validate(value)
            except ValueError as fault:
                errors: Any = getattr(fault, "errors", None)
                details: Any = errors() if callable(errors) else [{"loc": (), "msg": str(fault)}]
                found = DocumentError(str(details[0]["msg"]))
                for token in reversed(details[0]["loc"]):
                    found = found.within(token)
                raise found from None

        return Compiled(schema, convert, None, f"a {annotation.__name__}")

    def _union(self, arguments: tuple[Any, ...]) -> Compiled:
        options = [self.compile(one) for one in arguments]
        if all(option.exact in PRIMITIVES for option in options) and all(
            option.schema.keys() == {"type"} for option in options
        ):
            types = list(dict.fromkeys(option.schema["type"] for option in options))
            schema: dict[str, Any] = {"type": types if len(types) > 1 else types[0]}
            exact = frozenset(option.exact for option in options)
        else:
            schema = {"anyOf": [option.schema for option in options]}
            # A float stays a float: 1.0 would also match int.
            exact = frozenset({float} if any(one.exact is float for one in options) else ())
        # Tries float last: it would accept integers, too.
        options.sort(key=lambda option: option.exact is float)
        converters = [option.convert for option in options]
        real = [option.convert for option in options if option.schema.get("type") != "null"]
        type_text = " or ".join(option.type_text for option in options)

        def convert(value: Any) -> Any:
            if type(value) in exact:
                return value
            faults: list[DocumentError] = []
            for one in converters:
                try:
                    return one(value)
                except DocumentError as fault:
                    faults.append(fault)
            if len(real) == 1 and value is not None:
                # For "a point or null", the fault of the point is more useful.
                return real[0](value)
            # Faults inside the value show which option was meant.
            inner = [str(fault) for fault in faults if fault.pointer]
            detail = f" ({'; '.join(inner)})" if inner else ""
            raise DocumentError(f"must be {type_text}, is {name_number(value)}{detail}")

        return Compiled(schema, convert, None, type_text)

    def _json_of(self, value: Any) -> Any:
        plain = value.value if isinstance(value, enum.Enum) else value
        if plain is None or isinstance(plain, (bool, int, str)):
            return plain
        if isinstance(plain, float) and plain - plain == 0:
            return plain
        raise TypeError(f"{self._where}: {value!r} is not a JSON value (str, int, bool, None)")

    def _values(self, pairs: list[tuple[Any, Any]]) -> Compiled:
        if not pairs:
            raise TypeError(f"{self._where}: it has no values; add at least one")
        # In JSON, 1.0 equals 1, but true does not; in Python, True equals 1.
        by_key: dict[tuple[bool, Any], Any] = {}
        for plain, one in pairs:
            by_key.setdefault((isinstance(plain, bool), plain), one)
        values = [plain for _, plain in by_key]
        type_text = "one of " + ", ".join(repr(one) for one in values)

        def convert(value: Any) -> Any:
            try:
                return by_key[isinstance(value, bool), value]
            except (KeyError, TypeError):
                shown = repr(value) if isinstance(value, (str, int, float)) else name_of(value)
                raise DocumentError(f"must be {type_text}, is {shown}") from None

        schema = {"const": values[0]} if len(values) == 1 else {"enum": values}
        return Compiled(schema, convert, None, type_text)

    def _array(self, element: Any, make: type) -> Compiled:
        compiled = self.compile(element)
        schema: dict[str, Any] = {"type": "array"}
        if compiled.schema:
            schema["items"] = compiled.schema
        exact, convert_element = compiled.exact, compiled.convert
        if make is list and convert_element is as_it_is:
            return Compiled(schema, of_array, list, "an array")

        def convert(value: Any) -> Any:
            elements = of_array(value)
            converted: list[Any] = []
            for index, one in enumerate(elements):
                if type(one) is not exact:
                    try:
                        one = convert_element(one)
                    except DocumentError as fault:
                        raise fault.within(index) from None
                converted.append(one)
            return converted if make is list else make(converted)

        return Compiled(schema, convert, None, "an array")

    def _tuple(self, arguments: tuple[Any, ...], bare: bool) -> Compiled:
        if bare or (len(arguments) == 2 and arguments[1] is ...):
            return self._array(Any if bare else arguments[0], tuple)
        if arguments == ((),):
            # Python 3.10 returns this for tuple[()].
            arguments = ()
        compiled = [self.compile(one) for one in arguments]
        count = len(compiled)
        schema: dict[str, Any] = {"type": "array"}
        if count:
            schema.update(prefixItems=[one.schema for one in compiled], minItems=count)
        schema["maxItems"] = count

        def convert(value: Any) -> Any:
            elements = of_array(value)
            if len(elements) != count:
                raise DocumentError(f"must have {count} elements, has {len(elements)}")
            converted: list[Any] = []
            for index, one in enumerate(elements):
                try:
                    converted.append(compiled[index].convert(one))
                except DocumentError as fault:
                    raise fault.within(index) from None
            return tuple(converted)

        return Compiled(schema, convert, None, f"an array of {count} elements")

    def _mapping(self, arguments: tuple[Any, ...]) -> Compiled:
        key, value = arguments if arguments else (str, Any)
        if key is not str and key is not Any:
            raise TypeError(
                f"{self._where}: the keys of an object must be strings; use dict[str, ...]"
            )
        compiled = self.compile(value)
        schema: dict[str, Any] = {"type": "object"}
        if compiled.schema:
            schema["additionalProperties"] = compiled.schema
        convert_member = compiled.convert
        if convert_member is as_it_is:
            return Compiled(schema, of_object, dict, "an object")

        def convert(value: Any) -> Any:
            converted: dict[str, Any] = {}
            for name, one in of_object(value).items():
                try:
                    converted[name] = convert_member(one)
                except DocumentError as fault:
                    raise fault.within(name) from None
            return converted

        return Compiled(schema, convert, None, "an object")

    def unpack(self, annotation: Any) -> dict[str, tuple[Compiled, bool]]:
        """Returns the members of `Unpack[X]`, where X is a TypedDict, and whether each is
        required."""

        [inner] = typing.get_args(annotation)
        kind = typing.get_origin(inner) or inner
        if not hasattr(kind, "__required_keys__"):
            raise TypeError(f"{self._where}: Unpack[...] needs a TypedDict, not {inner!r}")
        where, found = self._where, {}
        for name, (hint, needed, _) in self._typed_dict_members(inner, kind).items():
            self._where = f"{where}, member {name} of {kind.__name__}"
            found[name] = (self.compile(hint), needed)
        return found

    def _typed_dict(self, annotation: Any, kind: Any) -> Compiled:
        return self._object(annotation, kind, self._typed_dict_members(annotation, kind), None)

    def _typed_dict_members(self, annotation: Any, kind: Any) -> dict[str, tuple[Any, bool, Any]]:
        members: dict[str, tuple[Any, bool, Any]] = {}
        for name, hint in self._hints_of(annotation, kind).items():
            required = name in kind.__required_keys__
            while (qualifier := form_of(hint)) in _QUALIFIERS:
                # Python may not have evaluated these where annotations are text.
                required = required if qualifier == "ReadOnly" else qualifier == "Required"
                [hint] = typing.get_args(hint)
            members[name] = (hint, required, _NO_DEFAULT)
        return members

    def _dataclass(self, annotation: Any, kind: Any) -> Compiled:
        hints = self._hints_of(annotation, kind)
        members: dict[str, tuple[Any, bool, Any]] = {}
        for one in dataclasses.fields(kind):
            if not one.init:
                continue
            default: Any = one.default
            if default is dataclasses.MISSING:
                default = _NO_DEFAULT
            required = default is _NO_DEFAULT and one.default_factory is dataclasses.MISSING
            if one.default_factory is not dataclasses.MISSING:
                default = one.default_factory()
            members[one.name] = (hints[one.name], required, default)

        for parameter in inspect.signature(kind).parameters.values():
            if parameter.name not in members and parameter.default is parameter.empty:
                raise TypeError(
                    f"{self._where}: {kind.__name__} needs {parameter.name}, which is not a "
                    "field; use a dataclass that is made from its fields only"
                )
        return self._object(annotation, kind, members, kind)

    def _hints_of(self, annotation: Any, kind: Any) -> dict[str, Any]:
        try:
            return hints_of_class(annotation, kind)
        except Exception as fault:
            raise not_evaluated(
                f"{self._where}: the annotations of {kind.__name__}", fault
            ) from None

    def _object(
        self, annotation: Any, kind: Any, members: dict[str, tuple[Any, bool, Any]], make: Any
    ) -> Compiled:
        return self._named(annotation, lambda: self._members(kind, members, make))

    def _members(self, kind: Any, members: dict[str, tuple[Any, bool, Any]], make: Any) -> Compiled:
        properties: dict[str, Any] = {}
        converters: dict[str, Converter] = {}
        required: list[str] = []
        where = self._where
        for name, (hint, needed, default) in members.items():
            self._where = f"{where}, member {name} of {kind.__name__}"
            compiled = self.compile(hint)
            properties[name] = compiled.schema
            converters[name] = compiled.convert
            if needed:
                required.append(name)
            elif default is not _NO_DEFAULT:
                add_default(compiled.schema, default)
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False
        written = _written_docstring(kind)
        if written:
            schema["description"] = written
        all_required = frozenset(required)

        def convert(value: Any) -> Any:
            converted: dict[str, Any] = {}
            for name, one in of_object(value).items():
                convert_member = converters.get(name)
                if convert_member is None:
                    raise DocumentError(f"is not a member of {kind.__name__}").within(name)
                try:
                    converted[name] = convert_member(one)
                except DocumentError as fault:
                    raise fault.within(name) from None
            if not all_required <= converted.keys():
                raise missing(all_required, converted)
            if make is None:
                return converted
            try:
                return make(**converted)
            except (TypeError, ValueError) as fault:
                # A rule of the class, in __post_init__.
                raise DocumentError(str(fault)) from fault

        return Compiled(schema, convert, None, f"a {kind.__name__}")


def _with_offset(text: str) -> str:
    """Replaces Z by an offset that Python 3.10 can read."""
    return text[:-1] + "+00:00" if text.endswith("Z") else text


def _is_hashable(annotation: Any) -> bool:
    try:
        hash(annotation)
    except TypeError:
        return False
    return True


def _arguments(annotation: Any) -> Any:
    return getattr(annotation, "__args__", None)


def _is_plain_union(annotation: Any) -> bool:
    """True if it was written `X | Y`."""

    return isinstance(annotation, types.UnionType)


def _written_docstring(annotation: Any) -> str:
    """Returns the first paragraph of the docstring, unless `dataclass` generated it."""
    documentation = annotation.__dict__.get("__doc__") or ""
    if documentation.startswith(annotation.__name__ + "("):
        return ""
    first: str = documentation.split("\n\n")[0]
    return " ".join(first.split())
