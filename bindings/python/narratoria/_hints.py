# SPDX-License-Identifier: Apache-2.0
# Annotations evaluated: those that are text, and those with type parameters.

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class _ContextByName:
    """Stands for `Context` where it was imported for type checkers alone."""

    __narratoria_context__ = True


def hints_of(function: Any, tool: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
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
        raise not_evaluated(f"the annotations of the tool {tool}", fault) from None


def not_evaluated(annotations: str, fault: Exception) -> TypeError:
    if isinstance(fault, (NameError, AttributeError)):
        said, way_out = (
            "",
            "what they name must be there when the program runs, at the top of its module",
        )
    else:
        said, way_out = f"{type(fault).__name__}: ", "each is an expression that gives a type"
    return TypeError(f"{annotations} cannot be evaluated: {said}{fault}; {way_out}")


def type_arguments(annotation: Any, kind: Any) -> dict[Any, Any]:
    """What the type parameters of a generic class, and of those that it is derived from, stand for."""
    import typing

    found: dict[Any, Any] = {}
    for alias in (annotation, *getattr(kind, "__orig_bases__", ())):
        parameters = getattr(typing.get_origin(alias), "__parameters__", ())
        for parameter, argument in zip(parameters, typing.get_args(alias)):
            found[parameter] = with_arguments(argument, found)
    return found


def with_arguments(hint: Any, bound: Mapping[Any, Any]) -> Any:
    """An annotation with what its type parameters stand for; those that nothing is said about stay."""
    import typing

    if isinstance(hint, typing.TypeVar):
        return bound.get(hint, hint)
    parameters = () if typing.get_origin(hint) is None else getattr(hint, "__parameters__", ())
    if not parameters:
        return hint
    return hint[tuple(bound.get(each, each) for each in parameters)]


def form_of(annotation: Any) -> str:
    """The name of the special form that it is an application of: "Unpack", "NotRequired"."""
    import typing

    return getattr(typing.get_origin(annotation), "_name", None) or ""
