# SPDX-License-Identifier: Apache-2.0
# Async calls that would wait for themselves: which session's function a task is inside.

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar

from narratoria.errors import ReentrantError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator

    from narratoria import _core


class _Call:
    # A running tool, narrator or handler of a session. No plan waits for a handler.

    def __init__(self, core: _core.Session, is_waited_for: bool) -> None:
        self.core = core
        self.is_waited_for = is_waited_for
        self.is_over = False


_CALLS: ContextVar[tuple[_Call, ...]] = ContextVar("narratoria_places", default=())


@contextmanager
def inside(core: _core.Session, is_waited_for: bool = True) -> Generator[None]:
    """Marks the current task, and all tasks that it starts, as inside the session."""
    call = _Call(core, is_waited_for)
    # Places that are over are dropped.
    _CALLS.set((*(each for each in _CALLS.get() if not each.is_over), call))
    try:
        yield
    finally:
        call.is_over = True


def refuse_inside(core: _core.Session, what: str, even_handlers: bool = False) -> None:
    core.refuse_forked()
    for call in _CALLS.get():
        if call.core is core and not call.is_over and (call.is_waited_for or even_handlers):
            raise ReentrantError(
                f"{what} would wait for itself: it is made inside a tool, narrator or handler of "
                "this session",
                code="REENTRANT",
            )
