# SPDX-License-Identifier: Apache-2.0
# Modules that only annotations name. They are imported when an annotation is evaluated.
#
# Annotations are text, and few programs evaluate them (`typing.get_type_hints`, web frameworks), but
# `typing` and `asyncio` take longer to import than this package.

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio as asyncio
    import pathlib as pathlib
    import typing as typing

    from narratoria import _core as _core
    from narratoria import _function as _function
    from narratoria import _private_loop as _private_loop
    from narratoria import _threads as _threads
    from narratoria import _tools as _tools
    from narratoria import _type_variables as _type_variables
else:

    class _LazyModule:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> object:
            # importlib is slower by 3 ms, because it imports `warnings`.
            return getattr(__import__(self._name, fromlist=("__name__",)), name)

    asyncio = _LazyModule("asyncio")
    pathlib = _LazyModule("pathlib")
    typing = _LazyModule("typing")
    _core = _LazyModule("narratoria._core")
    _function = _LazyModule("narratoria._function")
    _private_loop = _LazyModule("narratoria._private_loop")
    _threads = _LazyModule("narratoria._threads")
    _tools = _LazyModule("narratoria._tools")
    _type_variables = _LazyModule("narratoria._type_variables")
