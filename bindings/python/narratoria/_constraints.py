# SPDX-License-Identifier: Apache-2.0
# Constraints of annotations: those of narratoria.Field, of annotated-types and of pydantic.

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from narratoria._converters import Compiled
from narratoria.errors import DocumentError


class Field:
    """Constraints of a tool's parameter or a dataclass member: ``Annotated[int, Field(ge=1)]``.

    Args:
        gt, ge, lt, le: bounds of a number: greater than, at least, less than, at most.
        multiple_of: the number must be a multiple of this, a whole number from 1.
        min_length, max_length: characters of a string, elements of an array, members of an object.
        pattern: a regular expression that must match somewhere in a string; ^ and $ anchor it.
        description: the meaning of the value, for narrators.

    Raises:
        TypeError, ValueError: an argument is not valid for its constraint.

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
            check_constraint(name, value)
        if description is not None and not isinstance(description, str):
            raise TypeError(f"description must be a str, not {type(description).__name__}")

    def __repr__(self) -> str:
        rules = [f"{name}={value!r}" for name, value in self.constraints.items()]
        if self.description is not None:
            rules.append(f"description={self.description!r}")
        return f"Field({', '.join(rules)})"


def check_constraint(name: str, value: Any) -> None:
    if name == "pattern":
        if not isinstance(value, str):
            raise TypeError(f"pattern must be a str, not {type(value).__name__}")
        try:
            re.compile(value)
        except re.error as fault:
            raise ValueError(
                f"pattern {value!r} is not a valid regular expression: {fault}"
            ) from None
    elif isinstance(value, bool) or not isinstance(value, (int, float)) or value - value != 0:
        raise TypeError(f"{name} must be a number, not {value!r}")
    elif name.endswith("_length") and (not isinstance(value, int) or value < 0):
        raise ValueError(f"{name} must be a whole number, at least 0, not {value!r}")
    elif name == "multiple_of" and (not isinstance(value, int) or value <= 0):
        # Only integers: implementations disagree whether 0.3 is a multiple of 0.1.
        raise ValueError(f"multiple_of must be a whole number, at least 1, not {value!r}")


def is_field(value: Any) -> bool:
    return isinstance(value, Field) or type(value).__name__ == "FieldInfo"


#: The classes of annotated-types and their constraints.
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


def constraints_of(one: Any) -> dict[str, Any] | None:
    """Returns the constraints of an annotation's metadata; None if a schema cannot express them."""
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
            rules = {each: value for each, value in vars(one).items() if value is not None}
            return rules if rules.keys() <= {"pattern"} else None
        if name != "FieldInfo":
            return None
        found = {}
        for each in one.metadata:
            inner = constraints_of(each)
            if inner is None:
                return None
            found.update(inner)
        return found
    # Metadata of another library.
    return {}


#: Constraints of numbers: the keyword in the schema, and the words in messages.
_NUMBER_RULES: dict[str, tuple[str, str]] = {
    "gt": ("exclusiveMinimum", "greater than"),
    "ge": ("minimum", "at least"),
    "lt": ("exclusiveMaximum", "less than"),
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


def constrain(where: str, compiled: Compiled, name: str, bound: Any) -> Compiled:
    """Returns the type with one more constraint."""
    check_constraint(name, bound)
    types = compiled.schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    schema, convert_first = dict(compiled.schema), compiled.convert
    check: Callable[[Any], str]
    if name in _NUMBER_RULES and ("integer" in types or "number" in types):
        keyword, phrase = _NUMBER_RULES[name]
        if keyword in schema:
            raise TypeError(f"{where}: {keyword} is set twice; keep one")
        schema[keyword] = bound

        def check_number(value: Any) -> str:
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not is_number or _is_within(name, value, bound):
                return ""
            return f"must be {phrase} {bound}, is {value!r}"

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
        compiled_pattern = re.compile(bound)
        schema["pattern"] = bound

        def check_pattern(value: Any) -> str:
            if not isinstance(value, str) or compiled_pattern.search(value):
                return ""
            return f"must match {bound}"

        check = check_pattern
    else:
        raise TypeError(
            f"{where}: {name}={bound!r} does not apply to {compiled.type_text}; put it on the type "
            "that it is for"
        )

    def convert(value: Any) -> Any:
        # Checks the JSON value, as the runtime does.
        fault = check(value)
        if fault:
            raise DocumentError(fault)
        return convert_first(value)

    return Compiled(schema, convert, None, compiled.type_text)
