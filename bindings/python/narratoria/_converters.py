# SPDX-License-Identifier: Apache-2.0
# The result of compiling an annotation: a schema, and a converter from JSON values to arguments.
#
# The compiled part is imported inside a function: a script that only describes a tool, with
# narratoria.Field, does not load it.

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from narratoria._document import name_of
from narratoria.errors import DocumentError

#: A converter takes a JSON value and returns the argument, or raises DocumentError.
Converter = Callable[[Any], Any]


class Compiled:
    """A type: its schema, its converter, and the Python type that needs no conversion, if any."""

    __slots__ = ("convert", "exact", "schema", "type_text")

    def __init__(
        self, schema: dict[str, Any], convert: Converter, exact: type | None, type_text: str
    ) -> None:
        self.schema = schema
        self.convert = convert
        self.exact = exact
        #: The type in messages, such as "an integer".
        self.type_text = type_text


def as_it_is(value: Any) -> Any:
    return value


def of_type(kind: type, type_text: str) -> Converter:
    def convert(value: Any) -> Any:
        if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return value
        raise DocumentError(f"must be {type_text}, is {name_number(value)}")

    return convert


def _to_integer(value: Any) -> int:
    # In JSON Schema, 1.0 is an integer.
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise DocumentError(f"must be an integer, is {name_number(value)}")


def name_number(value: Any) -> str:
    """Like `name_of`, but with the value of a float: "an integer, is a number" would be unclear."""
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


PRIMITIVES: dict[Any, tuple[str, Converter, str]] = {
    bool: ("boolean", of_type(bool, "a boolean"), "a boolean"),
    int: ("integer", _to_integer, "an integer"),
    float: ("number", _to_float, "a number"),
    str: ("string", of_type(str, "a string"), "a string"),
    type(None): ("null", of_type(type(None), "null"), "null"),
}


def of_array(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return value
    raise DocumentError(f"must be an array, is {name_of(value)}")


def of_object(value: Any) -> Any:
    if isinstance(value, Mapping):
        return value
    raise DocumentError(f"must be an object, is {name_of(value)}")


def missing(required: frozenset[str], there: Mapping[str, Any]) -> DocumentError:
    [first, *_] = sorted(required - there.keys())
    return DocumentError("is missing").within(first)


def add_default(schema: dict[str, Any], default: Any) -> None:
    from narratoria import _core
    from narratoria._hooks import to_plain

    try:
        schema["default"] = _core.from_json(_core.to_json(default, to_plain))
    except (TypeError, ValueError):
        # A default without a JSON form is left out of the schema.
        return
