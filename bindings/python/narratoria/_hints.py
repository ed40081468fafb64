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
    # The return type is not the tool's input: it may name what is there for type checkers alone.
    annotations = {
        parameter.name: parameter.annotation
        for parameter in parameters.values()
        if parameter.annotation is not parameter.empty
    }
    try:
        return _evaluated(annotations, _plain_function(function, is_unwrapped=True))
    except Exception as fault:
        raise not_evaluated(f"the annotations of the tool {tool}", fault) from None


def return_hint_of(function: Any) -> Any:
    """The annotation of what it returns; Any without one, or with one that type checkers alone can
    evaluate, or if a decorator may return something else."""
    plain = _plain_function(function, is_unwrapped=False)
    annotations = getattr(plain, "__annotations__", {})
    if hasattr(plain, "__wrapped__") or "return" not in annotations:
        return Any
    try:
        return _evaluated({"return": annotations["return"]}, plain)["return"]
    except Exception:
        return Any


def _plain_function(function: Any, is_unwrapped: bool) -> Any:
    """The function in a partial one, a method or an object that can be called."""
    import functools
    import inspect

    plain = function
    while True:
        if is_unwrapped:
            plain = inspect.unwrap(plain)
        if isinstance(plain, functools.partial):
            plain = plain.func
        elif inspect.ismethod(plain):
            plain = plain.__func__
        elif not hasattr(plain, "__globals__") and hasattr(type(plain), "__call__"):
            inner = type(plain).__call__
            if not hasattr(inner, "__globals__"):
                return plain
            plain = inner
        else:
            return plain


def _evaluated(annotations: dict[str, Any], plain: Any) -> dict[str, Any]:
    """Annotations of a function, as they are where it stands."""
    import typing

    def holder() -> None: ...

    holder.__annotations__ = annotations
    names: dict[str, Any] = dict(getattr(plain, "__globals__", {}))
    if getattr(plain, "__closure__", None):
        for free, cell in zip(plain.__code__.co_freevars, plain.__closure__):
            try:
                names[free] = cell.cell_contents
            except ValueError:
                continue
    names.setdefault("Context", _ContextByName)
    return typing.get_type_hints(holder, names, names, include_extras=True)


def not_evaluated(annotations: str, fault: Exception) -> TypeError:
    if isinstance(fault, (NameError, AttributeError)):
        said, way_out = (
            "",
            "what they name must be there when the program runs, at the top of its module",
        )
    else:
        said, way_out = f"{type(fault).__name__}: ", "each is an expression that gives a type"
    return TypeError(f"{annotations} cannot be evaluated: {said}{fault}; {way_out}")


def hints_of_class(annotation: Any, kind: Any) -> dict[str, Any]:
    """The annotations of a class's members, with what the type parameters of generic classes stand for."""
    import typing

    bound: dict[Any, dict[Any, Any]] = {}
    _bind(annotation, {}, bound)
    return {
        name: with_arguments(hint, bound.get(_owner(kind, name), {}))
        for name, hint in typing.get_type_hints(kind, include_extras=True).items()
    }


def _bind(alias: Any, outside: Mapping[Any, Any], bound: dict[Any, dict[Any, Any]]) -> None:
    """Notes for each class what its own type parameters stand for: two classes may share a parameter."""
    import typing

    kind = typing.get_origin(alias) or alias
    if not isinstance(kind, type) or kind in bound:
        return
    arguments = (with_arguments(each, outside) for each in typing.get_args(alias))
    bound[kind] = dict(zip(getattr(kind, "__parameters__", ()), arguments))
    for base in _bases(kind):
        _bind(base, bound[kind], bound)


def _bases(kind: type) -> tuple[Any, ...]:
    bases: tuple[Any, ...] = kind.__dict__.get("__orig_bases__", kind.__bases__)
    return bases


def _owner(kind: Any, name: str) -> Any:
    """The class that annotates a member: itself, or one that it is derived from."""
    import inspect
    import typing

    if not typing.is_typeddict(kind):
        return next((each for each in kind.__mro__ if name in inspect.get_annotations(each)), kind)
    # Its bases are no classes that it is derived from: it has a copy of their annotations.
    own = inspect.get_annotations(kind)
    for base in map(lambda each: typing.get_origin(each) or each, reversed(_bases(kind))):
        if typing.is_typeddict(base) and inspect.get_annotations(base).get(name) == own.get(name):
            return _owner(base, name)
    return kind


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
