# SPDX-License-Identifier: Apache-2.0
"""Makes a tool from a typed function: the JSON Schema of its input, and its arguments from an
input.

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

The schema is of draft 2020-12, and strict: it accepts exactly the inputs that `bind` accepts. (A
schema cannot express the rules in a dataclass's `__post_init__`.) Classes that contain themselves,
and the definitions of pydantic's models, are in `$defs`.

| annotation                               | JSON                     | argument              |
|------------------------------------------|--------------------------|-----------------------|
| `bool`, `str`, `None`                    | the same                 | as it came            |
| `int`                                    | an integer, also 1.0     | `int`                 |
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

Constraints of annotated-types and of pydantic's `Field` have the same effect as those of
`narratoria.Field`. A constraint that a schema cannot express is refused. `bind` checks the form of
a string that is a date, a time or a UUID, and the rules of a model.

In a union of `int` and `float`, `int` is tried first, whatever the order.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from narratoria._annotations import Compiler
from narratoria._constraints import is_field
from narratoria._converters import Converter, add_default, missing
from narratoria._definitions import Definitions
from narratoria._docstring import described_parameters
from narratoria._document import name_of
from narratoria._hints import form_of, hints_of
from narratoria._results import result_schema_of
from narratoria.errors import DocumentError


def require_type(where: str, exact: type | None, default: Any) -> None:
    """Refuses a default that the annotation does not allow. None is accepted: many functions have
    it for "not given"."""
    if (
        exact is None
        or exact not in (bool, int, float, str)
        or default is None
        or isinstance(default, exact)
    ):
        return
    if exact is not float or not isinstance(default, int):
        raise TypeError(
            f"{where}: the default {default!r} is not of the annotated type {exact.__name__}"
        )


@dataclass(slots=True, repr=False, eq=False)
class FunctionDescription:
    """The runtime's description of a function that is a tool.

    Attributes:
        function: the function.
        name: the name that plans use: letters, digits, `_` and `-`.
        description: what the function does, for narrators; `""` without a docstring.
        input_schema: JSON Schema of its input, draft 2020-12.
        result_schema: JSON Schema of its result, from the return annotation; None: any value.
        is_async: whether it is an `async def` function (or generator).
        is_generator: whether it is a generator function, asynchronous or not.
        context_parameter: the name of the parameter that takes the `Context`; None without one.
        repeatable: whether it may run twice.

    >>> async def wait(seconds: float = 1.0): ...
    >>> describe(wait).is_async
    True
    """

    function: Callable[..., Any]
    name: str
    description: str
    input_schema: dict[str, Any]
    result_schema: dict[str, Any] | None
    is_async: bool
    is_generator: bool
    context_parameter: str | None
    _converters: dict[str, tuple[type | None, Converter]]
    _required: frozenset[str]
    _extra: tuple[type | None, Converter] | None
    repeatable: bool = True

    def bind(self, input: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the keyword arguments for an input, without the context.

        Lists and dicts without conversions inside are shared with the input, not copied.

        Raises:
            DocumentError: the input does not fit; its `pointer` names the place.

        >>> def greet(who: str, times: int = 1): ...
        >>> describe(greet).bind({"who": "Ada", "times": "twice"})
        Traceback (most recent call last):
            ...
        narratoria.errors.DocumentError: /times: must be an integer, is a string
        """
        try:
            return self._bind(input)
        except RecursionError:
            raise DocumentError("is nested too deeply for this function") from None

    def _bind(self, input: Mapping[str, Any]) -> dict[str, Any]:
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
            # The usual case: the JSON value has exactly this type.
            if type(value) is exact:
                arguments[name] = value
            else:
                try:
                    arguments[name] = convert(value)
                except DocumentError as fault:
                    raise fault.within(name) from None
        if not self._required <= arguments.keys():
            raise missing(self._required, arguments)
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
    """Returns the description of a function that becomes a tool.

    Args:
        function: its parameters are the members of the tool's input. Those without a default are
            required, and `**others` takes all other members. The runtime supplies a parameter
            annotated with `Context`.
        name: the tool's name; default: the function's.
        description: what the tool does; default: the first paragraph of the function's docstring.

    Raises:
        TypeError: the type of a parameter has no JSON equivalent, or the parameter has no name in
            an input (`*args`, positional-only); the message says which, and what to do.
        ValueError: the name has characters that the name of a tool cannot have.

    >>> def paint(colours: set[str]): ...
    >>> describe(paint)
    Traceback (most recent call last):
        ...
    TypeError: parameter colours of the tool paint: set[str] has no JSON equivalent; use list[...]
    """

    called: Any = function
    while isinstance(called, functools.partial):
        called = called.func
    if name is None:
        name = str(getattr(called, "__name__", None) or type(called).__name__)
    if not name or not all(char.isascii() and (char.isalnum() or char in "_-") for char in name):
        raise ValueError(
            f"{name!r} is not a valid tool name; use letters (a-z, A-Z), digits, _ and - only, or "
            "set one with name="
        )
    if len(name) > _LONGEST_NAME:
        raise ValueError(
            f"the name of a tool must have at most {_LONGEST_NAME} characters, not {len(name)}; "
            "set a shorter one with name="
        )
    text = inspect.getdoc(called) or ""
    if description is None:
        description = " ".join(text.split("\n\n")[0].split())
    described = described_parameters(text)

    converters: dict[str, tuple[type | None, Converter]] = {}
    extra: tuple[type | None, Converter] | None = None
    context: str | None = None
    properties: dict[str, Any] = {}
    required: list[str] = []
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    definitions = Definitions()

    try:
        parameters = inspect.signature(function).parameters
    except ValueError:
        raise TypeError(
            f"the tool {name}: its parameters are unknown, as for some functions written in C; wrap "
            "it in a function with annotations"
        ) from None
    _refuse_method(called, name, parameters)
    hints = hints_of(function, name, parameters)
    additional: Any = False
    for parameter in parameters.values():
        where = f"parameter {parameter.name} of the tool {name}"
        annotation = hints.get(parameter.name, Any)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(f"{where}: is positional-only, but inputs have names; remove the /")
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise TypeError(
                f"{where}: *{parameter.name} has no name in an input; "
                f"make it {parameter.name}: list[...]"
            )
        if getattr(annotation, "__narratoria_context__", False):
            if context is not None:
                raise TypeError(f"{where}: is a second Context; the first is {context}")
            if parameter.kind is parameter.VAR_KEYWORD:
                raise TypeError(f"{where}: a Context must be a plain parameter; remove the **")
            context = parameter.name
            continue
        if is_field(parameter.default):
            raise TypeError(
                f"{where}: Field is not a default; write Annotated[..., Field(...)] = DEFAULT"
            )
        if parameter.kind is parameter.VAR_KEYWORD and form_of(annotation) == "Unpack":
            for member, (one, needed) in Compiler(where, definitions).unpack(annotation).items():
                converters[member] = (one.exact, one.convert)
                properties[member] = one.schema
                if needed:
                    required.append(member)
            continue
        compiled = Compiler(where, definitions).compile(annotation)
        if parameter.kind is parameter.VAR_KEYWORD:
            extra = (compiled.exact, compiled.convert)
            additional = compiled.schema or True
            continue
        converters[parameter.name] = (compiled.exact, compiled.convert)
        properties[parameter.name] = compiled.schema
        if parameter.name in described:
            compiled.schema.setdefault("description", described[parameter.name])
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        else:
            require_type(where, compiled.exact, parameter.default)
            add_default(compiled.schema, parameter.default)
    if required:
        schema["required"] = required
    if context is not None and extra is not None:
        # Otherwise the schema would accept a member with the name of the context.
        properties[context] = False
    schema["additionalProperties"] = additional
    if definitions.schemas:
        schema["$defs"] = definitions.schemas

    if not inspect.isroutine(called):
        called = type(called).__call__
    is_asynchronous_generator = inspect.isasyncgenfunction(called)
    is_generator = is_asynchronous_generator or inspect.isgeneratorfunction(called)
    return FunctionDescription(
        function,
        name,
        description,
        schema,
        result_schema_of(function, is_generator),
        is_asynchronous_generator or inspect.iscoroutinefunction(called),
        is_generator,
        context,
        converters,
        frozenset(required),
        extra,
    )


def _refuse_method(function: Any, tool: str, parameters: Mapping[str, Any]) -> None:
    """Refuses a method taken from its class, `def tool(self)`: no object would be passed to it."""
    first = next(iter(parameters.values()), None)
    if first is None or first.name not in ("self", "cls"):
        return
    outer = getattr(function, "__qualname__", "").rpartition(".")[0]
    if first.annotation is first.empty and outer and not outer.endswith("<locals>"):
        raise TypeError(
            f"parameter {first.name} of the tool {tool}: it is a method of "
            f"{outer.rpartition('.')[2]}, and no object is passed to it; register the method of an "
            f"object: session.tool(thing.{tool})"
        )
