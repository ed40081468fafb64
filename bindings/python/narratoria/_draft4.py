# SPDX-License-Identifier: Apache-2.0
# A JSON Schema of a later draft as draft 4.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def without_references(
    where: str, schema: Any, definitions: Mapping[str, Any], inside: tuple[str, ...]
) -> Any:
    """A schema of a later draft as draft 4 has it, written out."""
    if isinstance(schema, list):
        return [without_references(where, each, definitions, inside) for each in schema]
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
        target = without_references(where, definitions[name], definitions, (*inside, name))
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**target, **without_references(where, rest, definitions, inside)}
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("$defs", "discriminator"):
            continue
        if key in ("properties", "patternProperties") and isinstance(value, dict):
            out[key] = {
                name: without_references(where, each, definitions, inside)
                for name, each in value.items()
            }
        elif key in ("exclusiveMinimum", "exclusiveMaximum") and not isinstance(value, bool):
            out["minimum" if key == "exclusiveMinimum" else "maximum"] = value
            out[key] = True
        elif key == "const":
            out["enum"] = [value]
        elif key == "prefixItems":
            out["items"] = without_references(where, value, definitions, inside)
        elif key in ("default", "enum", "examples", "required"):
            out[key] = value
        else:
            out[key] = without_references(where, value, definitions, inside)
    return out
