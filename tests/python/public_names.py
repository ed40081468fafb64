# SPDX-License-Identifier: Apache-2.0
"""Lists what the package promises: its public names."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import narratoria

MODULES = [
    module.name
    for module in pkgutil.iter_modules(narratoria.__path__)
    if not module.name.startswith("_")
]
# Special methods are described in the docstring of the class.
UNDERSCORED = "_"


def public_names() -> Iterator[tuple[str, Any]]:
    """Yields every public name of the package, and the members that its classes define."""
    seen: set[int] = set()
    modules = [(name, importlib.import_module(f"narratoria.{name}")) for name in MODULES]
    tops = [("narratoria", name, getattr(narratoria, name)) for name in narratoria.__all__]
    for module_name, module in modules:
        tops += [(module_name, name, getattr(module, name)) for name in module.__all__]
    for place, name, thing in tops:
        if inspect.ismodule(thing) or id(thing) in seen:
            continue
        seen.add(id(thing))
        yield f"{place}.{name}", thing
        if not isinstance(thing, type):
            continue
        for base in thing.__mro__:
            if not base.__module__.startswith("narratoria") or base.__module__.endswith("._core"):
                continue
            for member_name, member in vars(base).items():
                if member_name.startswith(UNDERSCORED) or id(member) in seen:
                    continue
                if callable(member) or isinstance(member, (property, classmethod, staticmethod)):
                    seen.add(id(member))
                    yield f"{place}.{base.__name__}.{member_name}", member
    for name, member in vars(narratoria.Event).items():
        if not name.startswith(UNDERSCORED):
            yield f"narratoria.Event.{name}", member
