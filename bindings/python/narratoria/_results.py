# SPDX-License-Identifier: Apache-2.0
# The schema of what a function returns, from its return annotation.
#
# It is open: whatever is of the annotated type for a type checker must fit. An object may have more
# members than its class or TypedDict names, an int may be a bool, and what has a form in JSON of its
# own (`to_dict`, models of pydantic) is any value. What JSON cannot say is any value, too.

from __future__ import annotations

from typing import Any

from narratoria._constraints import constrain, constraints_of, is_field
from narratoria._converters import Compiled, as_it_is
from narratoria._hints import form_of, hints_of_class, return_hint_of

_QUALIFIERS = ("NotRequired", "ReadOnly", "Required")


def result_schema_of(function: Any, is_generator: bool) -> dict[str, Any] | None:
    """JSON Schema of its result, draft 2020-12; None: any value, or nothing is known."""
    hint = return_hint_of(function)
    try:
        return _schema(_returned(hint) if is_generator else hint, ()) or None
    except Exception:
        # It may be anything, and nothing but this schema is lost.
        return None


def _returned(hint: Any) -> Any:
    """What a generator with this annotation returns at its end."""
    import collections.abc
    import typing

    arguments = typing.get_args(hint)
    is_generator = typing.get_origin(hint) is collections.abc.Generator
    return arguments[2] if is_generator and len(arguments) == 3 else Any


def _schema(hint: Any, inside: tuple[Any, ...]) -> dict[str, Any]:
    """{}: any value."""
    import dataclasses
    import enum
    import typing

    simple = _SIMPLE.get(hint) if isinstance(hint, type) else None
    if simple is not None:
        return {"type": simple}
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is None or hint is Any or hint in inside:
        return {}
    if origin is typing.Annotated:
        return _annotated(_schema(arguments[0], inside), arguments[1:])
    if origin is typing.Union or _is_plain_union(hint):
        return _union(arguments, inside)
    if origin is typing.Literal:
        return _values(arguments)
    inner = getattr(hint, "__value__", None) or getattr(hint, "__supertype__", None)
    if inner is not None:
        return _schema(inner, (*inside, hint))
    kind = hint if origin is None else origin
    if not isinstance(kind, type) or hasattr(kind, "to_dict"):
        return {}
    if kind is list:
        return _with({"type": "array"}, "items", arguments[:1], inside)
    if kind is dict:
        if arguments and arguments[0] is not str:
            return {}
        return _with({"type": "object"}, "additionalProperties", arguments[1:], inside)
    if kind is tuple:
        return _tuple(arguments, inside)
    if issubclass(kind, enum.Enum) and not issubclass(kind, enum.Flag):
        return _values(kind)
    hints = None
    required: list[str] = []
    if issubclass(kind, dict) and hasattr(kind, "__required_keys__"):
        hints = hints_of_class(hint, kind)
        required = sorted(getattr(kind, "__required_keys__", ()))
    elif dataclasses.is_dataclass(kind):
        hints = hints_of_class(hint, kind)
        hints = {one.name: hints[one.name] for one in dataclasses.fields(kind)}
    if hints is None:
        return {}
    properties = {
        name: schema
        for name, one in hints.items()
        if (schema := _schema(_unqualified(one), (*inside, hint)))
    }
    made: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        made["required"] = required
    return made


#: A bool is an int, and an int a float, for type checkers.
_SIMPLE: dict[Any, Any] = {
    bool: "boolean",
    int: ["integer", "boolean"],
    float: ["number", "boolean"],
    str: "string",
}


def _unqualified(hint: Any) -> Any:
    import typing

    while form_of(hint) in _QUALIFIERS:
        [hint] = typing.get_args(hint)
    return hint


def _is_plain_union(hint: Any) -> bool:
    import types

    return isinstance(hint, types.UnionType)


def _annotated(schema: dict[str, Any], metadata: tuple[Any, ...]) -> dict[str, Any]:
    described = [one for one in metadata if isinstance(one, str)]
    described += [one.description for one in metadata if is_field(one) and one.description]
    for one in metadata:
        for name, bound in (constraints_of(one) or {}).items() if not isinstance(one, str) else ():
            schema = constrain("", Compiled(schema, as_it_is, None, ""), name, bound).schema
    return {**schema, "description": described[0]} if schema and described else schema


def _union(arguments: tuple[Any, ...], inside: tuple[Any, ...]) -> dict[str, Any]:
    options: list[dict[str, Any]] = []
    for one in arguments:
        schema = {"type": "null"} if one is type(None) else _schema(one, inside)
        if not schema:
            return {}
        if schema not in options:
            options.append(schema)
    return options[0] if len(options) == 1 else {"anyOf": options}


def _values(members: Any) -> dict[str, Any]:
    import enum

    plain = [one.value if isinstance(one, enum.Enum) else one for one in members]
    are_plain = all(one is None or isinstance(one, (bool, int, str)) for one in plain)
    return {"enum": plain} if plain and are_plain else {}


def _with(
    schema: dict[str, Any], keyword: str, arguments: tuple[Any, ...], inside: tuple[Any, ...]
) -> dict[str, Any]:
    inner = _schema(arguments[0], inside) if arguments else {}
    return {**schema, keyword: inner} if inner else schema


def _tuple(arguments: tuple[Any, ...], inside: tuple[Any, ...]) -> dict[str, Any]:
    if len(arguments) == 2 and arguments[1] is ...:
        return _with({"type": "array"}, "items", arguments[:1], inside)
    if not arguments:
        return {"type": "array"}
    elements = [_schema(one, inside) for one in arguments]
    count = len(elements)
    return {"type": "array", "prefixItems": elements, "minItems": count, "maxItems": count}
