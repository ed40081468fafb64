# SPDX-License-Identifier: Apache-2.0
"""Annotations: every public name has some that Python can evaluate, as web frameworks do."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from public_names import public_names

import narratoria


def functions_of(thing: Any) -> Iterator[Any]:
    """Yields what has annotations: a class and its special methods, a function, a getter."""
    if isinstance(thing, (property, functools.cached_property)):
        thing = thing.fget if isinstance(thing, property) else thing.func
    thing = getattr(thing, "__func__", thing)
    if isinstance(thing, type):
        yield thing
        yield from (each for each in vars(thing).values() if inspect.isfunction(each))
    elif inspect.isfunction(thing):
        yield thing


def test_type_hints_of_every_public_name_resolve() -> None:
    failed = []
    for name, thing in public_names():
        for each in functions_of(thing):
            try:
                typing.get_type_hints(each)
            except Exception as exception:
                failed.append(f"{name}, {each.__qualname__}: {exception}")
    assert failed == []


def test_type_hints_are_the_public_classes() -> None:
    assert typing.get_type_hints(narratoria.Session.play) == {
        "prompt": str,
        "return": narratoria.Turn,
    }
    assert typing.get_type_hints(narratoria.Context.patch)["patch"] == Mapping[str, Any]
    assert typing.get_type_hints(narratoria.Turn)["assets"] == list[narratoria.Asset]
