# SPDX-License-Identifier: Apache-2.0
# The schema of a function's result, from its return annotation.
#
# The schema is open: it accepts every value that has the annotated type for a type checker. An
# object may have more members than its class or TypedDict, and an int may be a bool. A class with
# its own JSON form (`to_dict`, models of pydantic) and a type without a JSON form are any value.

from __future__ import annotations

import collections.abc
import dataclasses
import typing
from collections.abc import Callable
from typing import Any

from narratoria._annotations import Compiler, Inside
from narratoria._constraints import constraints_of
from narratoria._converters import Compiled, as_it_is
from narratoria._definitions import Definitions
from narratoria._hints import return_hint_of


def result_schema_of(function: Any, is_generator: bool) -> dict[str, Any] | None:
    """Returns the JSON Schema of the result, draft 2020-12; None: any value, or unknown."""
    hint = return_hint_of(function)
    hint = _returned(hint) if is_generator else hint
    if hint is None or hint is type(None):
        return None
    try:
        return _ResultCompiler("", Definitions()).compile(hint).schema or None
    except Exception:
        # An annotation may raise anything; without the schema, any value is accepted.
        return None


def _returned(hint: Any) -> Any:
    """Returns the annotation of the value that a generator returns at its end."""

    arguments = typing.get_args(hint)
    is_generator = typing.get_origin(hint) is collections.abc.Generator
    return arguments[2] if is_generator and len(arguments) == 3 else Any


def _of(schema: dict[str, Any]) -> Compiled:
    """Returns a type without a converter: results are written, never read."""
    return Compiled(schema, as_it_is, None, "")


class _ResultCompiler(Compiler):
    __slots__ = ()

    # For type checkers, a bool is an int and an int is a float.
    _primitives: dict[Any, Any] = {
        bool: ("boolean", as_it_is, ""),
        int: (["integer", "boolean"], as_it_is, ""),
        float: (["number", "boolean"], as_it_is, ""),
        str: ("string", as_it_is, ""),
        type(None): ("null", as_it_is, ""),
    }
    # Not Sequence, which may be a str, and not Mapping, which may be anything with keys.
    _arrays = (list,)
    _objects = (dict,)

    def compile(self, annotation: Any) -> Compiled:
        kind = typing.get_origin(annotation) or annotation
        if isinstance(kind, type) and hasattr(kind, "to_dict"):
            return _of({})
        try:
            return super().compile(annotation)
        except TypeError:
            return _of({})

    def _named(self, annotation: Any, compile_inner: Callable[[], Compiled]) -> Compiled:
        if any(outer.annotation == annotation for outer in self._inside):
            return _of({})
        self._inside.append(Inside(annotation))
        try:
            return compile_inner()
        finally:
            self._inside.pop()

    def _described(self, annotation: Any, metadata: tuple[Any, ...]) -> Compiled:
        known = tuple(
            one for one in metadata if isinstance(one, str) or constraints_of(one) is not None
        )
        return super()._described(annotation, known) if self.compile(annotation).schema else _of({})

    def _union(self, arguments: tuple[Any, ...]) -> Compiled:
        options: list[dict[str, Any]] = []
        for one in arguments:
            schema = self.compile(one).schema
            if not schema:
                return _of({})
            if schema not in options:
                options.append(schema)
        return _of(options[0] if len(options) == 1 else {"anyOf": options})

    def _values(self, pairs: list[tuple[Any, Any]]) -> Compiled:
        return _of({"enum": [plain for plain, _ in pairs]} if pairs else {})

    def _mapping(self, arguments: tuple[Any, ...]) -> Compiled:
        return _of({}) if arguments and arguments[0] is not str else super()._mapping(arguments)

    def _standard_class(self, annotation: type) -> None:
        return None

    def _model(self, annotation: Any) -> Compiled:
        return _of({})

    def _named_tuple(self, annotation: Any, kind: Any) -> Compiled:
        return _of({})

    def _dataclass(self, annotation: Any, kind: Any) -> Compiled:
        hints = self._hints_of(annotation, kind)
        members = {one.name: (hints[one.name], False, None) for one in dataclasses.fields(kind)}
        return self._object(annotation, kind, members, kind)

    def _members(self, kind: Any, members: dict[str, tuple[Any, bool, Any]], make: Any) -> Compiled:
        properties = {
            name: schema
            for name, (hint, *_) in members.items()
            if (schema := self.compile(hint).schema)
        }
        made: dict[str, Any] = {"type": "object", "properties": properties}
        required = sorted(name for name, (_, needed, _) in members.items() if needed)
        if required:
            made["required"] = required
        return _of(made)
