# SPDX-License-Identifier: Apache-2.0
# The member `$defs` of a tool's schema: definitions that its parameters refer to.

from __future__ import annotations

import re
from typing import Any

_PREFIX = "#/$defs/"
#: Keywords with values that are not schemas.
_VALUES = frozenset(("const", "default", "enum", "examples", "required"))
#: Keywords with values that are objects of schemas by name.
_MAPS = frozenset(("$defs", "dependentSchemas", "patternProperties", "properties"))
#: Syntax that patterns of Python or Rust may use, but those of a tool's schema may not.
_BEYOND = re.compile(r"\(\?[^:]|\\[AZzpP1-9]")


class Definitions:
    """The definitions of one schema, each under a unique name."""

    __slots__ = ("_owners", "schemas")

    def __init__(self) -> None:
        self.schemas: dict[str, Any] = {}
        # The owner of each name: an annotation, or a schema that was taken in with the name.
        self._owners: dict[str, Any] = {}

    def name_for(self, annotation: Any) -> str:
        """Returns the name under which a class or an alias is defined."""
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

    def merge(self, document: dict[str, Any]) -> dict[str, Any]:
        """Returns a schema that was a separate document, after merging its `$defs` into these."""
        given: dict[str, Any] = document.get("$defs", {})
        # Renames all on a clash: equal schemas may refer to different ones.
        has_conflict = any(
            self._owners.get(name, schema) != schema for name, schema in given.items()
        )
        names = {name: self._free(name) if has_conflict else name for name in given}
        for name, schema in given.items():
            self._owners[names[name]] = schema
            self.schemas[names[name]] = _with_new_names(schema, names)
        rest = {key: value for key, value in document.items() if key != "$defs"}
        merged: dict[str, Any] = _with_new_names(rest, names)
        return merged


def _with_new_names(schema: Any, names: dict[str, str]) -> Any:
    """Returns a schema with renamed references and without patterns that only its own library
    reads. That library checks them, too."""
    if isinstance(schema, list):
        return [_with_new_names(each, names) for each in schema]
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
            out[key] = {name: _with_new_names(each, names) for name, each in value.items()}
        else:
            out[key] = _with_new_names(value, names)
    return out


def _renamed(reference: str, names: dict[str, str]) -> str:
    name = reference.removeprefix(_PREFIX)
    return _PREFIX + names[name] if name in names else reference
