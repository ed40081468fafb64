# SPDX-License-Identifier: Apache-2.0
"""Narratoria: a runtime for tool-driven interactive narrative.

>>> import narratoria
>>> with narratoria.Session(story="examples/stories/torch") as session:
...     turn = session.play("I light the torch")
>>> print(turn.narrative)
You reach for the torch on the wall.

This module has the names that most programs need. The classes of event bodies are in
``narratoria.events``, the functions for tools in ``narratoria.tool``, the asyncio session in
``narratoria.aio``. Names are loaded at first use: ``from narratoria.tool import run`` in a tool's
script does not load the compiled part.
"""

from __future__ import annotations

# Tools are short-lived processes that start often: import `typing` only for type checkers.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from narratoria import aio as aio
    from narratoria import context as context
    from narratoria import documents as documents
    from narratoria import errors as errors
    from narratoria import events as events
    from narratoria import options as options
    from narratoria import registry as registry
    from narratoria import script as script
    from narratoria import session as session
    from narratoria import state as state
    from narratoria import store as store
    from narratoria import tool as tool
    from narratoria import toolset as toolset
    from narratoria._constraints import Field
    from narratoria._core import Event
    from narratoria.context import Context
    from narratoria.documents import (
        Asset,
        Attempt,
        CurrentTurn,
        Fault,
        Invocation,
        NarratorRequest,
        Opening,
        Outcome,
        Plan,
        Result,
        RetryPolicy,
        ToolResult,
    )
    from narratoria.errors import (
        BusyError,
        DocumentError,
        Error,
        ForkedError,
        GoneError,
        InvalidArgumentError,
        InvalidDocumentError,
        NarratoriaWarning,
        NotFoundError,
        PlanFailedError,
        ReentrantError,
        ScriptError,
        SystemRefusedError,
        ThreadError,
        UnsupportedError,
    )
    from narratoria.options import Limits, Times
    from narratoria.registry import ToolInfo, Tools
    from narratoria.script import ScriptResult, parse_script
    from narratoria.session import Session, State, Turn, sample_story, validate
    from narratoria.state import StateMetadata
    from narratoria.store import Store, StoredTurn, StoredTurns
    from narratoria.tool import ToolError
    from narratoria.toolset import Toolset

    __version__: str

_PLACES = {
    "Event": "_core",
    "Context": "context",
    "Asset": "documents",
    "Attempt": "documents",
    "CurrentTurn": "documents",
    "Fault": "documents",
    "Field": "_constraints",
    "Invocation": "documents",
    "NarratorRequest": "documents",
    "Opening": "documents",
    "Outcome": "documents",
    "Plan": "documents",
    "Result": "documents",
    "RetryPolicy": "documents",
    "ToolResult": "documents",
    "BusyError": "errors",
    "DocumentError": "errors",
    "Error": "errors",
    "ForkedError": "errors",
    "GoneError": "errors",
    "InvalidArgumentError": "errors",
    "InvalidDocumentError": "errors",
    "NarratoriaWarning": "errors",
    "NotFoundError": "errors",
    "PlanFailedError": "errors",
    "ReentrantError": "errors",
    "ScriptError": "errors",
    "ScriptResult": "script",
    "ToolInfo": "registry",
    "Tools": "registry",
    "parse_script": "script",
    "SystemRefusedError": "errors",
    "ThreadError": "errors",
    "UnsupportedError": "errors",
    "Limits": "options",
    "Session": "session",
    "State": "session",
    "StateMetadata": "state",
    "Store": "store",
    "StoredTurn": "store",
    "StoredTurns": "store",
    "Times": "options",
    "ToolError": "tool",
    "Toolset": "toolset",
    "Turn": "session",
    "sample_story": "session",
    "validate": "session",
}
_MODULES = (
    "aio",
    "context",
    "documents",
    "errors",
    "events",
    "options",
    "registry",
    "script",
    "session",
    "state",
    "store",
    "tool",
    "toolset",
)

# Without the modules: `from narratoria import *` must not replace a variable `session` or `state`.
__all__ = [
    "Asset",
    "Attempt",
    "BusyError",
    "Context",
    "CurrentTurn",
    "DocumentError",
    "Error",
    "Event",
    "Fault",
    "Field",
    "ForkedError",
    "GoneError",
    "InvalidArgumentError",
    "InvalidDocumentError",
    "Invocation",
    "Limits",
    "NarratorRequest",
    "NarratoriaWarning",
    "NotFoundError",
    "Opening",
    "Outcome",
    "Plan",
    "PlanFailedError",
    "ReentrantError",
    "Result",
    "RetryPolicy",
    "ScriptError",
    "ScriptResult",
    "Session",
    "State",
    "StateMetadata",
    "Store",
    "StoredTurn",
    "StoredTurns",
    "SystemRefusedError",
    "ThreadError",
    "Times",
    "ToolError",
    "ToolInfo",
    "ToolResult",
    "Tools",
    "Toolset",
    "Turn",
    "UnsupportedError",
    "parse_script",
    "sample_story",
    "validate",
]


# Hidden from type checkers, which would otherwise accept any name.
if not TYPE_CHECKING:

    def _import(name: str) -> object:
        # importlib is slower by 3 ms, because it imports `warnings`.
        return __import__(f"narratoria.{name}", fromlist=("__name__",))

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return _import(name)
        if name in _PLACES:
            value = getattr(_import(_PLACES[name]), name)
            globals()[name] = value
            return value
        if name == "__version__":
            from narratoria import _core

            return _core.library_version
        raise AttributeError(f"module 'narratoria' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES, "__version__"})
