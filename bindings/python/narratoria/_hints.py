# SPDX-License-Identifier: Apache-2.0
# Evaluates annotations: those that are text, and those with type parameters.

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Mapping
from typing import Any


class _ContextByName:
    """Replaces `Context` where it is imported for type checkers only."""

    __narratoria_context__ = True


def hints_of(function: Any, tool: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the annotations of the parameters, after evaluating those that are text."""
    # Without the return type, which may name something imported for type checkers only.
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
    """Returns the return annotation; Any if there is none, if only type checkers can evaluate it,
    or if a decorator may change the return value."""
    plain = _plain_function(function, is_unwrapped=False)
    annotations = getattr(plain, "__annotations__", {})
    if hasattr(plain, "__wrapped__") or "return" not in annotations:
        return Any
    try:
        return _evaluated({"return": annotations["return"]}, plain)["return"]
    except Exception:
        return Any


def _plain_function(function: Any, is_unwrapped: bool) -> Any:
    """Returns the function inside a partial, a method or a callable object."""

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
    """Evaluates annotations in the scope of a function."""

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
        prefix, advice = ("", "import or define the names at run time, at the top of the module")
    else:
        prefix, advice = f"{type(fault).__name__}: ", "each must be an expression that gives a type"
    return TypeError(f"{annotations} cannot be evaluated: {prefix}{fault}; {advice}")


def hints_of_class(annotation: Any, kind: Any) -> dict[str, Any]:
    """Returns the annotations of a class's members, with type parameters replaced by their
    arguments."""

    bound: dict[Any, dict[Any, Any]] = {}
    _bind(annotation, {}, bound)
    return {
        name: with_arguments(hint, bound.get(_owner(kind, name), {}))
        for name, hint in typing.get_type_hints(kind, include_extras=True).items()
    }


def _bind(alias: Any, outside: Mapping[Any, Any], bound: dict[Any, dict[Any, Any]]) -> None:
    """Records the arguments of type parameters for each class: two classes may share a
    parameter."""

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
    """Returns the class that annotates a member: `kind` or one of its bases."""

    if not typing.is_typeddict(kind):
        return next((each for each in kind.__mro__ if name in inspect.get_annotations(each)), kind)
    # A TypedDict does not inherit from its bases: it has a copy of their annotations.
    own = inspect.get_annotations(kind)
    for base in map(lambda each: typing.get_origin(each) or each, reversed(_bases(kind))):
        if typing.is_typeddict(base) and inspect.get_annotations(base).get(name) == own.get(name):
            return _owner(base, name)
    return kind


def with_arguments(hint: Any, bound: Mapping[Any, Any]) -> Any:
    """Replaces the type parameters of an annotation; unbound ones remain."""

    if isinstance(hint, typing.TypeVar):
        return bound.get(hint, hint)
    parameters = () if typing.get_origin(hint) is None else getattr(hint, "__parameters__", ())
    if not parameters:
        return hint
    return hint[tuple(bound.get(each, each) for each in parameters)]


def form_of(annotation: Any) -> str:
    """Returns the name of the annotation's special form, such as "Unpack" or "NotRequired"."""

    return getattr(typing.get_origin(annotation), "_name", None) or ""
