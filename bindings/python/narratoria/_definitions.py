# SPDX-License-Identifier: Apache-2.0
# The member `$defs` of a tool's schema: what its parameters refer to.

from __future__ import annotations

import re
from typing import Any

_PREFIX = "#/$defs/"
#: Keywords whose values are no schemas.
_VALUES = frozenset(("const", "default", "enum", "examples", "required"))
#: Keywords whose values are objects of schemas, under any name.
_MAPS = frozenset(("$defs", "dependentSchemas", "patternProperties", "properties"))
#: What patterns of Python or Rust may have, and those of a tool's schema may not.
_BEYOND = re.compile(r"\(\?[^:]|\\[AZzpP1-9]")


class Definitions:
    """The definitions of one schema, each under a name of its own."""

    __slots__ = ("_owners", "schemas")

    def __init__(self) -> None:
        self.schemas: dict[str, Any] = {}
        # Who has a name: an annotation, or the schema that came with it.
        self._owners: dict[str, Any] = {}

    def name_for(self, annotation: Any) -> str:
        """The name under which a class or an alias is defined."""
        for name, owner in self._owners.items():
            if owner == annotation:
                return name
        wanted = str(getattr(annotation, "__name__", "Value"))
        name = self._free("".join(c if c.isascii() and c.isalnum() else "_" for c in wanted))
        self._owners[name] = annotation
        return name

    def _free(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._owners:
            number += 1
            name = f"{wanted}_{number}"
        return name

    def define(self, name: str, schema: dict[str, Any]) -> None:
        self.schemas[name] = schema

    def reference(self, name: str) -> dict[str, Any]:
        return {"$ref": _PREFIX + name}

    def take_in(self, document: dict[str, Any]) -> dict[str, Any]:
        """A schema that was a document of its own, with its `$defs` among these."""
        given: dict[str, Any] = document.get("$defs", {})
        # What is the same may refer to what is not.
        clashes = any(self._owners.get(name, schema) != schema for name, schema in given.items())
        names = {name: self._free(name) if clashes else name for name in given}
        for name, schema in given.items():
            self._owners[names[name]] = schema
            self.schemas[names[name]] = _adopted(schema, names)
        rest = {key: value for key, value in document.items() if key != "$defs"}
        adopted: dict[str, Any] = _adopted(rest, names)
        return adopted


def _adopted(schema: Any, names: dict[str, str]) -> Any:
    """A schema with other names for what it refers to, and without patterns that only Python reads:
    whoever brought them checks them, too."""
    if isinstance(schema, list):
        return [_adopted(each, names) for each in schema]
    if not isinstance(schema, dict):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "$ref":
            out[key] = _renamed(value, names)
        elif key == "discriminator" and isinstance(value, dict):
            mapping = value.get("mapping", {})
            renamed = {tag: _renamed(each, names) for tag, each in mapping.items()}
            out[key] = {**value, "mapping": renamed}
        elif key == "pattern" and _BEYOND.search(value):
            continue
        elif key in _VALUES:
            out[key] = value
        elif key in _MAPS and isinstance(value, dict):
            out[key] = {name: _adopted(each, names) for name, each in value.items()}
        else:
            out[key] = _adopted(value, names)
    return out


def _renamed(reference: str, names: dict[str, str]) -> str:
    name = reference.removeprefix(_PREFIX)
    return _PREFIX + names[name] if name in names else reference
