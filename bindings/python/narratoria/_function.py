# SPDX-License-Identifier: Apache-2.0
"""A tool from a typed function: the JSON Schema of its input, and its arguments from such an input.

    >>> from typing import Annotated, Literal
    >>> def roll(sides: Annotated[int, "faces"], mood: Literal["fair", "loaded"] = "fair"):
    ...     "Rolls a die."
    >>> description = describe(roll)
    >>> description.name, description.description
    ('roll', 'Rolls a die.')
    >>> description.input_schema["properties"]["sides"]
    {'type': 'integer', 'description': 'faces'}
    >>> description.bind({"sides": 6})
    {'sides': 6}

The schema is of draft 4 without `$ref`, which is what the runtime checks, and strict: an input that
it takes is one that `bind` takes, and the other way round. (Rules of a dataclass's own, in its
`__post_init__`, are beyond a schema.)

| annotation                               | JSON                     | argument              |
|------------------------------------------|--------------------------|-----------------------|
| `bool`, `int`, `str`, `None`             | the same; `int` no 1.0   | as it came            |
| `float`                                  | a number                 | `float`               |
| `Any`, `object`, none                    | anything                 | as it came            |
| `X | Y`, `Optional[X]`                   | one of them              | the first that fits   |
| `list[X]`, `Sequence[X]` and their like  | an array                 | `list`                |
| `tuple[X, ...]`, `tuple[X, Y]`           | an array                 | `tuple`               |
| `dict[str, X]`, `Mapping[str, X]`        | an object                | `dict`                |
| `Literal[...]`, an `Enum` (its values)   | one of the values        | the value, the member |
| a `TypedDict`                            | an object, nothing else  | `dict`                |
| a dataclass                              | an object, nothing else  | an instance           |
| `Annotated[X, "what it is"]`             | as X, with a description | as X                  |

Of `int` and `float` in one union `int` comes first, wherever it stands.
"""

from __future__ import annotations

import collections.abc
import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ._document import Document, DocumentError, name_of

#: A converter takes a JSON value and returns the argument, or raises DocumentError.
Converter = Callable[[Any], Any]

_DEEPEST_NESTING = 512


class FunctionDescription:
    """What the runtime needs to know of a function that is a tool.

    Attributes:
        function: the function.
        name: under which plans call it: letters, digits, `_` and `-`.
        description: what it does, for narrators; `""` when it says nothing.
        input_schema: JSON Schema of its input, draft 4 without `$ref`.
        is_async: whether it is an `async def` function (or generator).
        is_generator: whether it is a generator function, asynchronous or not.
        context_parameter: the name of the parameter that takes the `Context`; None without one.

    >>> async def wait(seconds: float = 1.0): ...
    >>> describe(wait).is_async
    True
    """

    __slots__ = (
        "_converters",
        "_extra",
        "_required",
        "context_parameter",
        "description",
        "function",
        "input_schema",
        "is_async",
        "is_generator",
        "name",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        description: str,
        input_schema: dict[str, Any],
        is_async: bool,
        is_generator: bool,
        context_parameter: str | None,
        converters: dict[str, tuple[type | None, Converter]],
        required: frozenset[str],
        extra: tuple[type | None, Converter] | None,
    ) -> None:
        self.function = function
        self.name = name
        self.description = description
        self.input_schema = input_schema
        self.is_async = is_async
        self.is_generator = is_generator
        self.context_parameter = context_parameter
        self._converters = converters
        self._required = required
        self._extra = extra

    def bind(self, input: Mapping[str, Any]) -> dict[str, Any]:
        """The keyword arguments that an input means; the context is not among them.

        Lists and dicts without types of their own within are shared with the input, not copied.

        Raises:
            DocumentError: the input does not fit; its `pointer` names the place.

        >>> def greet(who: str, times: int = 1): ...
        >>> describe(greet).bind({"who": "Ada", "times": "twice"})
        Traceback (most recent call last):
            ...
        narratoria.documents.DocumentError: /times: must be an integer, is a string
        """
        arguments: dict[str, Any] = {}
        try:
            items = input.items()
        except AttributeError:
            raise DocumentError(f"must be an object, is {name_of(input)}") from None
        converters = self._converters
        for name, value in items:
            found = converters.get(name)
            if found is None:
                found = self._unnamed(name)
            exact, convert = found
            # What came from JSON mostly has the very type.
            if type(value) is exact:
                arguments[name] = value
            else:
                try:
                    arguments[name] = convert(value)
                except DocumentError as fault:
                    raise fault.within(name) from None
        if not self._required <= arguments.keys():
            raise _missing(self._required, arguments)
        return arguments

    def _unnamed(self, name: str) -> tuple[type | None, Converter]:
        if self._extra is None or name == self.context_parameter:
            raise DocumentError(f"is unknown to the tool {self.name}").within(name)
        return self._extra

    def __repr__(self) -> str:
        return f"<FunctionDescription {self.name}({', '.join(self._converters)})>"


def describe(
    function: Callable[..., Any], *, name: str | None = None, description: str | None = None
) -> FunctionDescription:
    """What the runtime needs to know of a function that is to be a tool.

    Args:
        function: its parameters are the members of the tool's input. Those without a default are
            required, `**others` takes the members that no parameter takes. A parameter annotated
            with `Context` is the runtime's.
        name: the tool's name; None for the function's.
        description: what it does; None for the first paragraph of the function's docstring.

    Raises:
        TypeError: a parameter is of a type that JSON has no equal for, or of a kind that has no
            name in an object (`*args`, positional-only); the message says which, and what to do.
        ValueError: the name has characters that the name of a tool cannot have.

    >>> def paint(colours: set[str]): ...
    >>> describe(paint)
    Traceback (most recent call last):
        ...
    TypeError: parameter colours of the tool paint: set[str] has no equal in JSON; use list[...]
    """
    import functools
    import inspect

    called: Any = function
    while isinstance(called, functools.partial):
        called = called.func
    if name is None:
        name = str(getattr(called, "__name__", None) or type(called).__name__)
    if not name or not all(char.isascii() and (char.isalnum() or char in "_-") for char in name):
        raise ValueError(
            f"{name!r} cannot be the name of a tool, which has letters, digits, _ and - only; "
            "give it one with name="
        )
    if description is None:
        paragraphs = (inspect.getdoc(called) or "").split("\n\n")
        description = " ".join(paragraphs[0].split())

    converters: dict[str, tuple[type | None, Converter]] = {}
    extra: tuple[type | None, Converter] | None = None
    context: str | None = None
    properties: dict[str, Any] = {}
    required: list[str] = []
    schema: dict[str, Any] = {"type": "object", "properties": properties}

    parameters = inspect.signature(function).parameters
    hints = _hints(function, name, parameters)
    additional: Any = False
    for parameter in parameters.values():
        where = f"parameter {parameter.name} of the tool {name}"
        annotation = hints.get(parameter.name, Any)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(f"{where}: is positional-only, an input has names; take away the /")
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise TypeError(
                f"{where}: *{parameter.name} has no name in an input; "
                f"make it {parameter.name}: list[...]"
            )
        if getattr(annotation, "__narratoria_context__", False):
            if context is not None:
                raise TypeError(f"{where}: is a second Context, beside {context}")
            if parameter.kind is parameter.VAR_KEYWORD:
                raise TypeError(f"{where}: the Context is one parameter, without **")
            context = parameter.name
            continue
        compiled = _Compiler(where).compile(annotation)
        if parameter.kind is parameter.VAR_KEYWORD:
            extra = (compiled.exact, compiled.convert)
            additional = compiled.schema or True
            continue
        converters[parameter.name] = (compiled.exact, compiled.convert)
        properties[parameter.name] = compiled.schema
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        else:
            _add_default(compiled.schema, parameter.default)
    if required:
        schema["required"] = required
    if context is not None and extra is not None:
        # Without this the schema would let through what is no argument of the input's.
        properties[context] = {"not": {}}
    schema["additionalProperties"] = additional

    if not inspect.isroutine(called):
        called = type(called).__call__
    is_asynchronous_generator = inspect.isasyncgenfunction(called)
    return FunctionDescription(
        function,
        name,
        description,
        schema,
        is_asynchronous_generator or inspect.iscoroutinefunction(called),
        is_asynchronous_generator or inspect.isgeneratorfunction(called),
        context,
        converters,
        frozenset(required),
        extra,
    )


class _ContextByName:
    """Stands for `Context` where it was imported for type checkers alone."""

    __narratoria_context__ = True


def _hints(function: Any, tool: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters' annotations, those that are text evaluated."""
    import functools
    import inspect
    import typing

    plain = function
    while True:
        plain = inspect.unwrap(plain)
        if isinstance(plain, functools.partial):
            plain = plain.func
        elif inspect.ismethod(plain):
            plain = plain.__func__
        elif not hasattr(plain, "__globals__") and hasattr(type(plain), "__call__"):
            inner = type(plain).__call__
            if not hasattr(inner, "__globals__"):
                break
            plain = inner
        else:
            break

    # The return type is not the tool's input: it may name what is there for type checkers alone.
    def holder() -> None: ...

    holder.__annotations__ = {
        parameter.name: parameter.annotation
        for parameter in parameters.values()
        if parameter.annotation is not parameter.empty
    }
    names: dict[str, Any] = dict(getattr(plain, "__globals__", {}))
    if getattr(plain, "__closure__", None):
        for free, cell in zip(plain.__code__.co_freevars, plain.__closure__):
            try:
                names[free] = cell.cell_contents
            except ValueError:
                continue
    names.setdefault("Context", _ContextByName)
    try:
        return typing.get_type_hints(holder, names, names, include_extras=True)
    except (NameError, AttributeError) as fault:
        raise TypeError(
            f"the annotations of the tool {tool} cannot be evaluated: {fault}; what they name must "
            "be there when the program runs, at the top of its module"
        ) from None


def _missing(required: frozenset[str], there: Mapping[str, Any]) -> DocumentError:
    [first, *_] = sorted(required - there.keys())
    return DocumentError("is missing").within(first)


def _add_default(schema: dict[str, Any], default: Any) -> None:
    try:
        schema["default"] = to_json_value(default)
    except (TypeError, ValueError):
        # A default that has no form in JSON is the function's own affair.
        return


# --------------------------------------------------------------------------------------------------
# Types
# --------------------------------------------------------------------------------------------------


class _Compiled:
    """A type: its schema, its converter, and the Python type whose values need no conversion."""

    __slots__ = ("convert", "exact", "schema", "said")

    def __init__(
        self, schema: dict[str, Any], convert: Converter, exact: type | None, said: str
    ) -> None:
        self.schema = schema
        self.convert = convert
        self.exact = exact
        #: As a person would say it: "an integer".
        self.said = said


def _as_it_is(value: Any) -> Any:
    return value


def _of_type(kind: type, said: str) -> Converter:
    def convert(value: Any) -> Any:
        if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return value
        raise DocumentError(f"must be {said}, is {_name_number(value)}")

    return convert


def _name_number(value: Any) -> str:
    """As `name_of`, telling 1.0 from 1: the reader of "an integer, is a number" would wonder."""
    if isinstance(value, float):
        return f"the number {value!r}"
    return name_of(value)


def _to_float(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise DocumentError("is larger than a number can be") from None
    raise DocumentError(f"must be a number, is {name_of(value)}")


_PRIMITIVES: dict[Any, tuple[str, Converter, str]] = {
    bool: ("boolean", _of_type(bool, "a boolean"), "a boolean"),
    int: ("integer", _of_type(int, "an integer"), "an integer"),
    float: ("number", _to_float, "a number"),
    str: ("string", _of_type(str, "a string"), "a string"),
    type(None): ("null", _of_type(type(None), "null"), "null"),
}
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
    "date": "str, and make the date of it",
    "datetime": "str, and make the time of it",
    "timedelta": "float",
    "Decimal": "float or str",
    "Path": "str",
    "PurePath": "str",
    "UUID": "str",
    "complex": "tuple[float, float]",
}


class _Compiler:
    """Compiles annotations; `where` names the place for people."""

    __slots__ = ("_inside", "_where")

    def __init__(self, where: str) -> None:
        self._where = where
        #: The classes whose members are being compiled.
        self._inside: list[Any] = []

    def compile(self, annotation: Any) -> _Compiled:
        import dataclasses
        import enum
        import typing

        if annotation is None:
            annotation = type(None)
        if annotation is Any or annotation is object:
            return _Compiled({}, _as_it_is, None, "anything")
        primitive = _PRIMITIVES.get(annotation) if _is_hashable(annotation) else None
        if primitive is not None:
            json_type, convert, said = primitive
            return _Compiled({"type": json_type}, convert, annotation, said)

        origin = typing.get_origin(annotation)
        arguments = typing.get_args(annotation)
        if origin is typing.Annotated:
            return self._described(arguments[0], arguments[1:])
        if origin is typing.Union or _is_plain_union(annotation):
            return self._union(arguments)
        if origin is typing.Literal:
            return self._values([(self._json_of(one), one) for one in arguments])
        kind = annotation if origin is None else origin
        if kind is tuple:
            return self._tuple(arguments, bare=origin is None)
        if kind in _ARRAYS:
            return self._array(arguments[0] if arguments else Any, list)
        if kind in _OBJECTS:
            return self._mapping(arguments)
        # `type X = …` and NewType are names for another type.
        inner = getattr(annotation, "__value__", None) or getattr(annotation, "__supertype__", None)
        if inner is not None:
            with self._inside_of(annotation):
                return self.compile(inner)
        if isinstance(annotation, type):
            if issubclass(annotation, enum.Enum) and not issubclass(annotation, enum.Flag):
                return self._values([(self._json_of(one), one) for one in annotation])
            # Not typing.is_typeddict: typing_extensions may have one of its own.
            if issubclass(annotation, dict) and hasattr(annotation, "__required_keys__"):
                return self._typed_dict(annotation)
            if dataclasses.is_dataclass(annotation):
                return self._dataclass(annotation)
        raise self._unsupported(annotation)

    def _unsupported(self, annotation: Any) -> TypeError:
        name = getattr(annotation, "__name__", "")
        instead = _INSTEAD.get(name)
        if instead is None:
            instead = "a dataclass, a TypedDict or a type of JSON's own (str, int, list, dict ...)"
        shown = name if isinstance(annotation, type) and not _arguments(annotation) else annotation
        return TypeError(f"{self._where}: {shown} has no equal in JSON; use {instead}")

    @contextlib.contextmanager
    def _inside_of(self, named: Any) -> Iterator[None]:
        """Refuses what contains itself: without `$ref` its schema would have no end."""
        if any(one is named for one in self._inside):
            names = [getattr(one, "__name__", str(one)) for one in (*self._inside, named)]
            raise TypeError(
                f"{self._where}: {names[-1]} contains itself ({' > '.join(names)}), which the "
                "schema of a tool cannot say; use dict[str, Any] for the inner one"
            )
        self._inside.append(named)
        where = self._where
        try:
            yield
        finally:
            self._inside.pop()
            self._where = where

    def _described(self, annotation: Any, metadata: tuple[Any, ...]) -> _Compiled:
        compiled = self.compile(annotation)
        for one in metadata:
            if isinstance(one, str):
                schema = {**compiled.schema, "description": one}
                return _Compiled(schema, compiled.convert, compiled.exact, compiled.said)
        return compiled

    def _union(self, arguments: tuple[Any, ...]) -> _Compiled:
        options = [self.compile(one) for one in arguments]
        if all(option.exact in _PRIMITIVES for option in options) and all(
            option.schema.keys() == {"type"} for option in options
        ):
            types = list(dict.fromkeys(option.schema["type"] for option in options))
            schema: dict[str, Any] = {"type": types if len(types) > 1 else types[0]}
            exact = frozenset(option.exact for option in options)
        else:
            schema = {"anyOf": [option.schema for option in options]}
            exact = frozenset()
        # A float would take an integer from an int that stands behind it.
        options.sort(key=lambda option: option.exact is float)
        converters = [option.convert for option in options]
        real = [option.convert for option in options if option.schema.get("type") != "null"]
        said = " or ".join(option.said for option in options)

        def convert(value: Any) -> Any:
            if type(value) in exact:
                return value
            for one in converters:
                try:
                    return one(value)
                except DocumentError:
                    continue
            if len(real) == 1 and value is not None:
                # Of "a point or null" the fault of the point says more.
                return real[0](value)
            raise DocumentError(f"must be {said}, is {_name_number(value)}")

        return _Compiled(schema, convert, None, said)

    def _json_of(self, value: Any) -> Any:
        import enum

        plain = value.value if isinstance(value, enum.Enum) else value
        if plain is None or isinstance(plain, (bool, int, str)):
            return plain
        if isinstance(plain, float) and plain - plain == 0:
            return plain
        raise TypeError(
            f"{self._where}: {value!r} is no value of JSON's own (str, int, bool, None)"
        )

    def _values(self, pairs: list[tuple[Any, Any]]) -> _Compiled:
        if not pairs:
            raise TypeError(f"{self._where}: there is no value that it could have")
        # JSON has 1.0 for 1, but not true for 1, which Python's equality does.
        meant: dict[tuple[bool, Any], Any] = {}
        for plain, one in pairs:
            meant.setdefault((isinstance(plain, bool), plain), one)
        plains = [plain for _, plain in meant]
        said = "one of " + ", ".join(repr(one) for one in plains)

        def convert(value: Any) -> Any:
            try:
                return meant[isinstance(value, bool), value]
            except (KeyError, TypeError):
                shown = repr(value) if isinstance(value, (str, int, float)) else name_of(value)
                raise DocumentError(f"must be {said}, is {shown}") from None

        return _Compiled({"enum": plains}, convert, None, said)

    def _array(self, element: Any, make: type) -> _Compiled:
        compiled = self.compile(element)
        schema: dict[str, Any] = {"type": "array"}
        if compiled.schema:
            schema["items"] = compiled.schema
        exact, convert_element = compiled.exact, compiled.convert
        if make is list and convert_element is _as_it_is:
            return _Compiled(schema, _of_array, list, "an array")

        def convert(value: Any) -> Any:
            elements = _of_array(value)
            converted: list[Any] = []
            for index, one in enumerate(elements):
                if type(one) is not exact:
                    try:
                        one = convert_element(one)
                    except DocumentError as fault:
                        raise fault.within(index) from None
                converted.append(one)
            return converted if make is list else make(converted)

        return _Compiled(schema, convert, None, "an array")

    def _tuple(self, arguments: tuple[Any, ...], bare: bool) -> _Compiled:
        if bare or (len(arguments) == 2 and arguments[1] is ...):
            return self._array(Any if bare else arguments[0], tuple)
        if arguments == ((),):
            # What Python 3.10 answers for tuple[()].
            arguments = ()
        compiled = [self.compile(one) for one in arguments]
        count = len(compiled)
        schema: dict[str, Any] = {"type": "array"}
        if count:
            schema.update(
                items=[one.schema for one in compiled], minItems=count, additionalItems=False
            )
        schema["maxItems"] = count

        def convert(value: Any) -> Any:
            elements = _of_array(value)
            if len(elements) != count:
                raise DocumentError(f"must have {count} elements, has {len(elements)}")
            converted: list[Any] = []
            for index, one in enumerate(elements):
                try:
                    converted.append(compiled[index].convert(one))
                except DocumentError as fault:
                    raise fault.within(index) from None
            return tuple(converted)

        return _Compiled(schema, convert, None, f"an array of {count} elements")

    def _mapping(self, arguments: tuple[Any, ...]) -> _Compiled:
        key, value = arguments if arguments else (str, Any)
        if key is not str and key is not Any:
            raise TypeError(f"{self._where}: the keys of an object are strings; use dict[str, ...]")
        compiled = self.compile(value)
        schema: dict[str, Any] = {"type": "object"}
        if compiled.schema:
            schema["additionalProperties"] = compiled.schema
        convert_member = compiled.convert
        if convert_member is _as_it_is:
            return _Compiled(schema, _of_object, dict, "an object")

        def convert(value: Any) -> Any:
            converted: dict[str, Any] = {}
            for name, one in _of_object(value).items():
                try:
                    converted[name] = convert_member(one)
                except DocumentError as fault:
                    raise fault.within(name) from None
            return converted

        return _Compiled(schema, convert, None, "an object")

    def _typed_dict(self, annotation: Any) -> _Compiled:
        import typing

        members: dict[str, tuple[Any, bool, Any]] = {}
        for name, hint in self._hints_of(annotation).items():
            required = name in annotation.__required_keys__
            while getattr(typing.get_origin(hint), "_name", "") in _QUALIFIERS:
                # Where annotations are text Python itself may not have seen these.
                qualifier = getattr(typing.get_origin(hint), "_name", "")
                required = required if qualifier == "ReadOnly" else qualifier == "Required"
                [hint] = typing.get_args(hint)
            members[name] = (hint, required, _NO_DEFAULT)
        return self._object(annotation, members, None)

    def _dataclass(self, annotation: Any) -> _Compiled:
        import dataclasses

        hints = self._hints_of(annotation)
        members: dict[str, tuple[Any, bool, Any]] = {}
        for one in dataclasses.fields(annotation):
            if not one.init:
                continue
            default: Any = one.default
            if default is dataclasses.MISSING:
                default = _NO_DEFAULT
            required = default is _NO_DEFAULT and one.default_factory is dataclasses.MISSING
            if one.default_factory is not dataclasses.MISSING:
                default = one.default_factory()
            members[one.name] = (hints[one.name], required, default)
        import inspect

        for parameter in inspect.signature(annotation).parameters.values():
            if parameter.name not in members and parameter.default is parameter.empty:
                raise TypeError(
                    f"{self._where}: {annotation.__name__} needs {parameter.name}, which is no "
                    "field of it; use a dataclass whose fields are all that it is made from"
                )
        return self._object(annotation, members, annotation)

    def _hints_of(self, annotation: Any) -> dict[str, Any]:
        import typing

        try:
            return typing.get_type_hints(annotation, include_extras=True)
        except (NameError, AttributeError) as fault:
            raise TypeError(
                f"{self._where}: the annotations of {annotation.__name__} cannot be evaluated: "
                f"{fault}; what they name must be there when the program runs, at the top of its "
                "module"
            ) from None

    def _object(
        self, annotation: Any, members: dict[str, tuple[Any, bool, Any]], make: Any
    ) -> _Compiled:
        properties: dict[str, Any] = {}
        converters: dict[str, Converter] = {}
        required: list[str] = []
        where = self._where
        with self._inside_of(annotation):
            for name, (hint, needed, default) in members.items():
                self._where = f"{where}, member {name} of {annotation.__name__}"
                compiled = self.compile(hint)
                properties[name] = compiled.schema
                converters[name] = compiled.convert
                if needed:
                    required.append(name)
                elif default is not _NO_DEFAULT:
                    _add_default(compiled.schema, default)
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False
        written = _written_docstring(annotation)
        if written:
            schema["description"] = written
        all_required = frozenset(required)

        def convert(value: Any) -> Any:
            converted: dict[str, Any] = {}
            for name, one in _of_object(value).items():
                convert_member = converters.get(name)
                if convert_member is None:
                    raise DocumentError(f"is no member of {annotation.__name__}").within(name)
                try:
                    converted[name] = convert_member(one)
                except DocumentError as fault:
                    raise fault.within(name) from None
            if not all_required <= converted.keys():
                raise _missing(all_required, converted)
            if make is None:
                return converted
            try:
                return make(**converted)
            except (TypeError, ValueError) as fault:
                # A rule of its own, in __post_init__.
                raise DocumentError(str(fault)) from fault

        return _Compiled(schema, convert, None, f"a {annotation.__name__}")


_NO_DEFAULT = object()
_QUALIFIERS = ("NotRequired", "ReadOnly", "Required")


def _is_hashable(annotation: Any) -> bool:
    try:
        hash(annotation)
    except TypeError:
        return False
    return True


def _arguments(annotation: Any) -> Any:
    return getattr(annotation, "__args__", None)


def _is_plain_union(annotation: Any) -> bool:
    """Whether it was written `X | Y`."""
    import types

    return isinstance(annotation, types.UnionType)


def _written_docstring(annotation: Any) -> str:
    """The first paragraph of the class's own docstring, not of one that Python has made."""
    documentation = annotation.__dict__.get("__doc__") or ""
    if documentation.startswith(annotation.__name__ + "("):
        return ""
    first: str = documentation.split("\n\n")[0]
    return " ".join(first.split())


def _of_array(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return value  # pyright: ignore[reportUnknownVariableType]
    raise DocumentError(f"must be an array, is {name_of(value)}")


def _of_object(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value  # pyright: ignore[reportUnknownVariableType]
    raise DocumentError(f"must be an object, is {name_of(value)}")


# --------------------------------------------------------------------------------------------------
# What a function returns
# --------------------------------------------------------------------------------------------------


def to_json_value(value: Any) -> Any:
    """A value as JSON has it: dict, list, str, int, float, bool, None, and nothing else.

    Dataclasses become dicts of their fields, enums their values, tuples lists; the documents and
    events of this package become what their `to_dict` says. Containers are copied.

    Raises:
        TypeError: a value of another type (a set, bytes …), or a key that is no string.
        ValueError: NaN, an infinity, an integer of more than 64 bits, text with a lone surrogate,
            more than 512 levels (or a container that contains itself).
        Both name the place by its JSON Pointer.

    >>> to_json_value({"rolls": (1, 6), "fair": True})
    {'rolls': [1, 6], 'fair': True}
    >>> to_json_value({"rolls": [1, {2, 3}]})
    Traceback (most recent call last):
        ...
    TypeError: /rolls/1: set has no equal in JSON; use list
    """
    try:
        return _to_json(value, [])
    except RecursionError:
        raise ValueError("the value: nested too deeply") from None


def _to_json(value: Any, path: list[Any]) -> Any:
    kind = type(value)
    if kind is str:
        if not value.isascii():
            _check_text(value, path)
        return value
    if value is None or kind is bool:
        return value
    if kind is int:
        if not -(2**63) <= value < 2**64:
            raise ValueError(f"{_pointer(path)}: an integer of more than 64 bits")
        return value
    if kind is float:
        if value - value != 0:
            raise ValueError(f"{_pointer(path)}: {value!r} has no equal in JSON")
        return value
    if len(path) >= _DEEPEST_NESTING:
        raise ValueError(
            f"{_pointer(path[:3])}…: nested deeper than {_DEEPEST_NESTING} levels, or contains "
            "itself"
        )
    if isinstance(value, (list, tuple)):
        elements: list[Any] = []
        for index, element in enumerate(value):  # pyright: ignore[reportUnknownVariableType]
            path.append(index)
            elements.append(_to_json(element, path))
            path.pop()
        return elements
    if isinstance(value, Mapping):
        members: dict[str, Any] = {}
        for key, member in value.items():  # pyright: ignore[reportUnknownVariableType]
            if not isinstance(key, str):
                raise TypeError(f"{_pointer(path)}: the keys of an object are strings, not {key!r}")
            if not key.isascii():
                _check_text(key, path)
            path.append(key)
            members[str.__str__(key)] = _to_json(member, path)
            path.pop()
        return members
    return _other_to_json(value, path)


def _other_to_json(value: Any, path: list[Any]) -> Any:
    # Neither has to be imported for a value to be one of its kind.
    enumeration = sys.modules.get("enum")
    if enumeration is not None and isinstance(value, enumeration.Enum):
        return _to_json(value.value, path)
    if isinstance(value, Document):
        return _to_json(value.to_dict(), path)
    fields = getattr(type(value), "__dataclass_fields__", None)
    if fields is not None:
        import dataclasses

        members: dict[str, Any] = {}
        for field in dataclasses.fields(value):
            path.append(field.name)
            members[field.name] = _to_json(getattr(value, field.name), path)
            path.pop()
        return members
    # A class of its own made from one of them, such as NumPy's float64.
    if isinstance(value, str):
        return _to_json(str.__str__(value), path)
    if isinstance(value, int):
        return _to_json(int.__int__(value), path)
    if isinstance(value, float):
        return _to_json(float.__float__(value), path)
    name = type(value).__name__
    instead = {"set": "list", "frozenset": "list", "bytes": "str", "bytearray": "str"}.get(
        name, "dict, list, str, int, float, bool, None, a dataclass or an enum"
    )
    raise TypeError(f"{_pointer(path)}: {name} has no equal in JSON; use {instead}")


def _check_text(text: str, path: list[Any]) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as fault:
        raise ValueError(
            f"{_pointer(path)}: U+{ord(text[fault.start]):04X} at {fault.start} is a lone "
            "surrogate, which UTF-8 cannot hold"
        ) from None


def _pointer(path: list[Any]) -> str:
    pointer = "".join("/" + str(one).replace("~", "~0").replace("/", "~1") for one in path)
    return pointer.encode("utf-8", "backslashreplace").decode("utf-8") or "the value"
