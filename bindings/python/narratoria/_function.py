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
| `datetime`, `date`, `time`, `UUID`       | a string                 | of that class         |
| `Path`                                   | a string                 | `Path`                |
| a `NamedTuple`                           | an array                 | an instance           |
| a model of pydantic                      | its own schema           | an instance           |
| `Annotated[X, "what it is"]`             | as X, with a description | as X                  |
| `Annotated[X, Field(gt=0)]`              | as X, with constraints   | as X                  |

Constraints of annotated-types and of pydantic's `Field` count as those of `narratoria.Field` do. One
that a schema cannot say is refused. What the string of a date, a time or a UUID looks like is checked
by `bind`, as are the rules of a model.

Of `int` and `float` in one union `int` comes first, wherever it stands.
"""

from __future__ import annotations

import collections.abc
import contextlib
from collections.abc import Callable, Generator, Mapping
from typing import Any

from ._document import name_of
from .errors import DocumentError

#: A converter takes a JSON value and returns the argument, or raises DocumentError.
Converter = Callable[[Any], Any]


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
        narratoria.errors.DocumentError: /times: must be an integer, is a string
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


# The runtime's limit.
_LONGEST_NAME = 128


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
            f"{name!r} cannot be the name of a tool, which has letters (a-z, A-Z), digits, _ and - "
            "only; give it one with name="
        )
    if len(name) > _LONGEST_NAME:
        raise ValueError(
            f"the name of a tool has at most {_LONGEST_NAME} characters, not {len(name)}; give it "
            "another with name="
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

    try:
        parameters = inspect.signature(function).parameters
    except ValueError:
        raise TypeError(
            f"the tool {name}: its parameters are not known, as of some functions that are written in "
            "C; put a function with annotations around it"
        ) from None
    _refuse_method(called, name, parameters)
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
        if _is_field(parameter.default):
            raise TypeError(
                f"{where}: Field is no default; write Annotated[..., Field(...)] and the default "
                "itself behind it"
            )
        if parameter.kind is parameter.VAR_KEYWORD and _form_of(annotation) == "Unpack":
            for member, (one, needed) in _Compiler(where).unpack(annotation).items():
                converters[member] = (one.exact, one.convert)
                properties[member] = one.schema
                if needed:
                    required.append(member)
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


def _refuse_method(function: Any, tool: str, parameters: Mapping[str, Any]) -> None:
    """Refuses `def tool(self)` as it stands in a class, to which nobody passes the object."""
    first = next(iter(parameters.values()), None)
    if first is None or first.name not in ("self", "cls"):
        return
    outer = getattr(function, "__qualname__", "").rpartition(".")[0]
    if first.annotation is first.empty and outer and not outer.endswith("<locals>"):
        raise TypeError(
            f"parameter {first.name} of the tool {tool}: it is a method of {outer.rpartition('.')[2]}, "
            f"and nothing is passed for {first.name}; give the method of an object, as in "
            f"session.tool(thing.{tool})"
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
    except Exception as fault:
        raise _not_evaluated(f"the annotations of the tool {tool}", fault) from None


def _not_evaluated(annotations: str, fault: Exception) -> TypeError:
    if isinstance(fault, (NameError, AttributeError)):
        said, way_out = (
            "",
            "what they name must be there when the program runs, at the top of its module",
        )
    else:
        said, way_out = f"{type(fault).__name__}: ", "each is an expression that gives a type"
    return TypeError(f"{annotations} cannot be evaluated: {said}{fault}; {way_out}")


def _missing(required: frozenset[str], there: Mapping[str, Any]) -> DocumentError:
    [first, *_] = sorted(required - there.keys())
    return DocumentError("is missing").within(first)


def _add_default(schema: dict[str, Any], default: Any) -> None:
    from narratoria import _core
    from narratoria._hooks import to_plain

    try:
        schema["default"] = _core.from_json(_core.to_json(default, to_plain))
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
    "timedelta": "float",
    "Decimal": "float or str",
    "complex": "tuple[float, float]",
}


class Field:
    """Constraints of a parameter of a tool, or of a member of a dataclass: ``Annotated[int, Field(ge=1)]``.

    Args:
        gt, ge, lt, le: bounds of a number: greater than, at least, less than, at most.
        multiple_of: a number is a multiple of this, a whole number from 1.
        min_length, max_length: characters of a string, elements of an array, members of an object.
        pattern: a regular expression that a string contains; ^ and $ are its ends.
        description: what it is, for narrators.

    Raises:
        TypeError, ValueError: an argument cannot be such a constraint.

    >>> import narratoria
    >>> from typing import Annotated
    >>> with narratoria.Session() as session:
    ...     @session.tool
    ...     def roll(sides: Annotated[int, narratoria.Field(gt=1, le=100)] = 6) -> int:
    ...         return sides
    ...     result = session.execute({"requestId": "p", "tools": [
    ...         {"toolId": "r", "toolPath": "roll", "input": {"sides": 1}}]})
    ...     result["r"].error_code
    'INPUT_INVALID'
    """

    __slots__ = ("constraints", "description")

    def __init__(
        self,
        *,
        gt: float | None = None,
        ge: float | None = None,
        lt: float | None = None,
        le: float | None = None,
        multiple_of: int | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        pattern: str | None = None,
        description: str | None = None,
    ) -> None:
        given: dict[str, Any] = {
            "gt": gt,
            "ge": ge,
            "lt": lt,
            "le": le,
            "multiple_of": multiple_of,
            "min_length": min_length,
            "max_length": max_length,
            "pattern": pattern,
        }
        self.constraints: dict[str, Any] = {
            name: value for name, value in given.items() if value is not None
        }
        self.description: str | None = description
        for name, value in self.constraints.items():
            _check_constraint(name, value)
        if description is not None and not isinstance(description, str):
            raise TypeError(f"description is a str, not {type(description).__name__}")

    def __repr__(self) -> str:
        said = [f"{name}={value!r}" for name, value in self.constraints.items()]
        if self.description is not None:
            said.append(f"description={self.description!r}")
        return f"Field({', '.join(said)})"


def _check_constraint(name: str, value: Any) -> None:
    if name == "pattern":
        import re

        if not isinstance(value, str):
            raise TypeError(f"pattern is a str, not {type(value).__name__}")
        try:
            re.compile(value)
        except re.error as fault:
            raise ValueError(f"pattern {value!r} is no regular expression: {fault}") from None
    elif isinstance(value, bool) or not isinstance(value, (int, float)) or value - value != 0:
        raise TypeError(f"{name} is a number, not {value!r}")
    elif name.endswith("_length") and (not isinstance(value, int) or value < 0):
        raise ValueError(f"{name} is a whole number from 0, not {value!r}")
    elif name == "multiple_of" and (not isinstance(value, int) or value <= 0):
        # 0.3 is no multiple of 0.1 for everybody.
        raise ValueError(f"multiple_of is a whole number from 1, not {value!r}")


def _is_field(value: Any) -> bool:
    return isinstance(value, Field) or type(value).__name__ == "FieldInfo"


#: The constraints that the classes of annotated-types stand for.
_ANNOTATED_TYPES = {
    "Gt": ("gt",),
    "Ge": ("ge",),
    "Lt": ("lt",),
    "Le": ("le",),
    "Interval": ("gt", "ge", "lt", "le"),
    "MultipleOf": ("multiple_of",),
    "MinLen": ("min_length",),
    "MaxLen": ("max_length",),
    "Len": ("min_length", "max_length"),
}


def _constraints_of(one: Any) -> dict[str, Any] | None:
    """The constraints that metadata of an annotation stands for; None for one that means something
    that no schema can say."""
    if isinstance(one, Field):
        return one.constraints
    name, package = type(one).__name__, type(one).__module__.partition(".")[0]
    if package == "annotated_types":
        if name in ("DocInfo", "Unit"):
            return {}
        names = _ANNOTATED_TYPES.get(name)
        if names is None:
            return None
        found = {each: getattr(one, each, None) for each in names}
        return {each: value for each, value in found.items() if value is not None}
    if package == "pydantic":
        if name == "_PydanticGeneralMetadata":
            said = {each: value for each, value in vars(one).items() if value is not None}
            return said if said.keys() <= {"pattern"} else None
        if name != "FieldInfo":
            return None
        found = {}
        for each in one.metadata:
            inner = _constraints_of(each)
            if inner is None:
                return None
            found.update(inner)
        return found
    # Another library's business.
    return {}


#: For the kind of value that has it: what a constraint is in the schema, what is compared, what is said.
_NUMBER_RULES: dict[str, tuple[str, str]] = {
    "gt": ("minimum", "greater than"),
    "ge": ("minimum", "at least"),
    "lt": ("maximum", "less than"),
    "le": ("maximum", "at most"),
    "multiple_of": ("multipleOf", "a multiple of"),
}
_LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}
_CLASSES: dict[str, Any] = {"string": str, "array": (list, tuple), "object": Mapping}


def _is_within(name: str, value: Any, bound: Any) -> bool:
    if name == "gt":
        return bool(value > bound)
    if name == "ge":
        return bool(value >= bound)
    if name == "lt":
        return bool(value < bound)
    if name == "le":
        return bool(value <= bound)
    return bool(value % bound == 0)


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
        if isinstance(annotation, typing.TypeVar):
            if annotation.__constraints__:
                return self._union(annotation.__constraints__)
            if annotation.__bound__ is not None:
                return self.compile(annotation.__bound__)
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
            if hasattr(annotation, "model_json_schema") and hasattr(annotation, "model_validate"):
                return self._model(annotation)
            standard = self._standard_class(annotation)
            if standard is not None:
                return standard
        # Also generic ones, of which `annotation` says what their type parameters are.
        if isinstance(kind, type):
            # Not typing.is_typeddict: typing_extensions may have one of its own.
            if issubclass(kind, dict) and hasattr(kind, "__required_keys__"):
                return self._typed_dict(annotation, kind)
            if dataclasses.is_dataclass(kind):
                return self._dataclass(annotation, kind)
            if issubclass(kind, tuple) and hasattr(kind, "_fields"):
                return self._named_tuple(annotation, kind)
        raise self._unsupported(annotation)

    def _unsupported(self, annotation: Any) -> TypeError:
        import typing

        name = getattr(annotation, "__name__", "")
        instead = _INSTEAD.get(name)
        if isinstance(annotation, typing.TypeVar):
            instead = "Any, or say what it stands for, as in Box[int]"
        elif instead is None:
            instead = "a dataclass, a TypedDict or a type of JSON's own (str, int, list, dict ...)"
        shown = name if isinstance(annotation, type) and not _arguments(annotation) else annotation
        return TypeError(f"{self._where}: {shown} has no equal in JSON; use {instead}")

    @contextlib.contextmanager
    def _inside_of(self, named: Any) -> Generator[None, None, None]:
        """Refuses what contains itself: without `$ref` its schema would have no end."""
        import typing

        kinds = [typing.get_origin(one) or one for one in self._inside]
        is_endless = kinds.count(typing.get_origin(named) or named) >= _MOST_LEVELS
        if is_endless or any(one == named for one in self._inside):
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
        described = ""
        for one in metadata:
            said = one if isinstance(one, str) else getattr(one, "documentation", None)
            if said is None and _is_field(one):
                said = getattr(one, "description")
            if isinstance(said, str) and not described:
                described = said
            if isinstance(one, str):
                continue
            constraints = _constraints_of(one)
            if constraints is None:
                raise TypeError(
                    f"{self._where}: the schema of a tool cannot say {one!r}; check it in the function"
                )
            for name, value in constraints.items():
                compiled = self._constrained(compiled, name, value)
        if not described:
            return compiled
        schema = {**compiled.schema, "description": described}
        return _Compiled(schema, compiled.convert, compiled.exact, compiled.said)

    def _constrained(self, compiled: _Compiled, name: str, bound: Any) -> _Compiled:
        _check_constraint(name, bound)
        types = compiled.schema.get("type", [])
        types = [types] if isinstance(types, str) else types
        schema, convert_first = dict(compiled.schema), compiled.convert
        check: Callable[[Any], str]
        if name in _NUMBER_RULES and ("integer" in types or "number" in types):
            keyword, said = _NUMBER_RULES[name]
            if keyword in schema:
                raise TypeError(f"{self._where}: it has two bounds that are a {keyword}")
            schema[keyword] = bound
            if name in ("gt", "lt"):
                schema["exclusiveMinimum" if name == "gt" else "exclusiveMaximum"] = True

            def check_number(value: Any) -> str:
                is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
                if not is_number or _is_within(name, value, bound):
                    return ""
                return f"must be {said} {bound}, is {value!r}"

            check = check_number
        elif name.endswith("_length") and any(each in _LENGTHS for each in types):
            [of] = [each for each in types if each in _LENGTHS][:1]
            least = name == "min_length"
            schema[("min" if least else "max") + _LENGTHS[of]] = bound

            def check_length(value: Any) -> str:
                if not isinstance(value, _CLASSES[of]):
                    return ""
                if len(value) >= bound if least else len(value) <= bound:
                    return ""
                return f"must have {'at least' if least else 'at most'} {bound}, has {len(value)}"

            check = check_length
        elif name == "pattern" and "string" in types:
            import re

            compiled_pattern = re.compile(bound)
            schema["pattern"] = bound

            def check_pattern(value: Any) -> str:
                if not isinstance(value, str) or compiled_pattern.search(value):
                    return ""
                return f"must match {bound}"

            check = check_pattern
        else:
            raise TypeError(
                f"{self._where}: {name}={bound!r} says nothing about {compiled.said}; put it on the type "
                "that it is for"
            )

        def convert(value: Any) -> Any:
            # What is compared is the JSON value, as the runtime does.
            fault = check(value)
            if fault:
                raise DocumentError(fault)
            return convert_first(value)

        return _Compiled(schema, convert, None, compiled.said)

    def _text_of(self, kind: Any, read: Callable[[str], Any], format_: str) -> _Compiled:
        schema: dict[str, Any] = {"type": "string"}
        if format_:
            schema["format"] = format_
        said = f"a string that is a {kind.__name__}"

        def convert(value: Any) -> Any:
            if not isinstance(value, str):
                raise DocumentError(f"must be {said}, is {name_of(value)}")
            try:
                return read(value)
            except ValueError as fault:
                raise DocumentError(f"must be {said}: {fault}") from None

        return _Compiled(schema, convert, None, said)

    def _standard_class(self, annotation: type) -> _Compiled | None:
        """Classes of the standard library whose values are strings in JSON."""
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

    def _named_tuple(self, annotation: Any, kind: Any) -> _Compiled:
        hints = self._hints_of(annotation, kind)
        fields: tuple[str, ...] = kind._fields
        with self._inside_of(annotation):
            compiled = self._tuple(tuple(hints.get(name, Any) for name in fields), bare=False)
        convert_elements = compiled.convert

        def convert(value: Any) -> Any:
            return kind(*convert_elements(value))

        return _Compiled(compiled.schema, convert, None, f"an array of {', '.join(fields)}")

    def _model(self, annotation: Any) -> _Compiled:
        whole = annotation.model_json_schema()
        schema = _without_references(self._where, whole, whole.get("$defs", {}), ())
        schema.pop("$defs", None)

        def convert(value: Any) -> Any:
            try:
                return annotation.model_validate(value)
            except ValueError as fault:
                errors: Any = getattr(fault, "errors", None)
                said: Any = errors() if callable(errors) else [{"loc": (), "msg": str(fault)}]
                found = DocumentError(str(said[0]["msg"]))
                for token in reversed(said[0]["loc"]):
                    found = found.within(token)
                raise found from None

        return _Compiled(schema, convert, None, f"a {annotation.__name__}")

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
            faults: list[DocumentError] = []
            for one in converters:
                try:
                    return one(value)
                except DocumentError as fault:
                    faults.append(fault)
            if len(real) == 1 and value is not None:
                # Of "a point or null" the fault of the point says more.
                return real[0](value)
            # Those that were met in the value, not at its door, say which one it was meant to be.
            inner = [str(fault) for fault in faults if fault.pointer]
            detail = f" ({'; '.join(inner)})" if inner else ""
            raise DocumentError(f"must be {said}, is {_name_number(value)}{detail}")

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

    def unpack(self, annotation: Any) -> dict[str, tuple[_Compiled, bool]]:
        """The members of `Unpack[X]`, X being a TypedDict, and whether each must be there."""
        import typing

        [inner] = typing.get_args(annotation)
        kind = typing.get_origin(inner) or inner
        if not hasattr(kind, "__required_keys__"):
            raise TypeError(
                f"{self._where}: what Unpack[...] unpacks is a TypedDict, not {inner!r}"
            )
        where, found = self._where, {}
        for name, (hint, needed, _) in self._typed_dict_members(inner, kind).items():
            self._where = f"{where}, member {name} of {kind.__name__}"
            found[name] = (self.compile(hint), needed)
        return found

    def _typed_dict(self, annotation: Any, kind: Any) -> _Compiled:
        return self._object(annotation, kind, self._typed_dict_members(annotation, kind), None)

    def _typed_dict_members(self, annotation: Any, kind: Any) -> dict[str, tuple[Any, bool, Any]]:
        import typing

        members: dict[str, tuple[Any, bool, Any]] = {}
        for name, hint in self._hints_of(annotation, kind).items():
            required = name in kind.__required_keys__
            while (qualifier := _form_of(hint)) in _QUALIFIERS:
                # Where annotations are text Python itself may not have seen these.
                required = required if qualifier == "ReadOnly" else qualifier == "Required"
                [hint] = typing.get_args(hint)
            members[name] = (hint, required, _NO_DEFAULT)
        return members

    def _dataclass(self, annotation: Any, kind: Any) -> _Compiled:
        import dataclasses

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
        import inspect

        for parameter in inspect.signature(kind).parameters.values():
            if parameter.name not in members and parameter.default is parameter.empty:
                raise TypeError(
                    f"{self._where}: {kind.__name__} needs {parameter.name}, which is no "
                    "field of it; use a dataclass whose fields are all that it is made from"
                )
        return self._object(annotation, kind, members, kind)

    def _hints_of(self, annotation: Any, kind: Any) -> dict[str, Any]:
        import typing

        try:
            hints = typing.get_type_hints(kind, include_extras=True)
        except Exception as fault:
            raise _not_evaluated(
                f"{self._where}: the annotations of {kind.__name__}", fault
            ) from None
        bound = _type_arguments(annotation, kind)
        return {name: _with_arguments(hint, bound) for name, hint in hints.items()}

    def _object(
        self, annotation: Any, kind: Any, members: dict[str, tuple[Any, bool, Any]], make: Any
    ) -> _Compiled:
        properties: dict[str, Any] = {}
        converters: dict[str, Converter] = {}
        required: list[str] = []
        where = self._where
        with self._inside_of(annotation):
            for name, (hint, needed, default) in members.items():
                self._where = f"{where}, member {name} of {kind.__name__}"
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
        written = _written_docstring(kind)
        if written:
            schema["description"] = written
        all_required = frozenset(required)

        def convert(value: Any) -> Any:
            converted: dict[str, Any] = {}
            for name, one in _of_object(value).items():
                convert_member = converters.get(name)
                if convert_member is None:
                    raise DocumentError(f"is no member of {kind.__name__}").within(name)
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

        return _Compiled(schema, convert, None, f"a {kind.__name__}")


def _type_arguments(annotation: Any, kind: Any) -> dict[Any, Any]:
    """What the type parameters of a generic class, and of those that it is derived from, stand for."""
    import typing

    found: dict[Any, Any] = {}
    for alias in (annotation, *getattr(kind, "__orig_bases__", ())):
        parameters = getattr(typing.get_origin(alias), "__parameters__", ())
        for parameter, argument in zip(parameters, typing.get_args(alias)):
            found[parameter] = _with_arguments(argument, found)
    return found


def _with_arguments(hint: Any, bound: Mapping[Any, Any]) -> Any:
    """An annotation with what its type parameters stand for; those that nothing is said about stay."""
    import typing

    if isinstance(hint, typing.TypeVar):
        return bound.get(hint, hint)
    parameters = () if typing.get_origin(hint) is None else getattr(hint, "__parameters__", ())
    if not parameters:
        return hint
    return hint[tuple(bound.get(each, each) for each in parameters)]


def _form_of(annotation: Any) -> str:
    """The name of the special form that it is an application of: "Unpack", "NotRequired"."""
    import typing

    return getattr(typing.get_origin(annotation), "_name", None) or ""


def _with_offset(text: str) -> str:
    """A time with Z for UTC, as Python 3.10 reads it."""
    return text[:-1] + "+00:00" if text.endswith("Z") else text


def _without_references(
    where: str, schema: Any, definitions: Mapping[str, Any], inside: tuple[str, ...]
) -> Any:
    """A schema of a later draft as draft 4 has it, written out."""
    if isinstance(schema, list):
        return [_without_references(where, each, definitions, inside) for each in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        name = reference.rpartition("/")[2]
        if name in inside or name not in definitions:
            raise TypeError(
                f"{where}: {name} contains itself, which the schema of a tool cannot say; use "
                "dict[str, Any] for the inner one"
            )
        target = _without_references(where, definitions[name], definitions, (*inside, name))
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**target, **_without_references(where, rest, definitions, inside)}
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("$defs", "discriminator"):
            continue
        if key in ("properties", "patternProperties") and isinstance(value, dict):
            out[key] = {
                name: _without_references(where, each, definitions, inside)
                for name, each in value.items()
            }
        elif key in ("exclusiveMinimum", "exclusiveMaximum") and not isinstance(value, bool):
            out["minimum" if key == "exclusiveMinimum" else "maximum"] = value
            out[key] = True
        elif key == "const":
            out["enum"] = [value]
        elif key == "prefixItems":
            out["items"] = _without_references(where, value, definitions, inside)
        elif key in ("default", "enum", "examples", "required"):
            out[key] = value
        else:
            out[key] = _without_references(where, value, definitions, inside)
    return out


_NO_DEFAULT = object()
# How often a generic class may contain itself with other arguments.
_MOST_LEVELS = 8
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
        return value
    raise DocumentError(f"must be an array, is {name_of(value)}")


def _of_object(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value
    raise DocumentError(f"must be an object, is {name_of(value)}")
