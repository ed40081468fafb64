# SPDX-License-Identifier: Apache-2.0
"""Stores: files that keep sessions, turn by turn (docs/sessions.md)."""

from __future__ import annotations

import json

# HTML is imported inside a function: only notebooks need it.
from collections.abc import Iterable, Mapping
from os import PathLike

from narratoria import _core
from narratoria._checks import path_text, text_of, true_or_false, whole_number
from narratoria._json_object import JsonObject
from narratoria._lazy import typing

__all__ = ["Store", "StoredTurn", "StoredTurns"]

# NAR_TURN_CURRENT and NAR_TURN_BEGINNING of the C ABI.
_CURRENT, _BEGINNING = 0, 0xFFFF_FFFF_FFFF_FFFF


def turn_number(turn: int | None) -> int:
    """Converts a turn's number for the C ABI, where 0 means the session's current turn; None and 0
    mean its beginning."""
    number = 0 if turn is None else whole_number("turn", turn, 0, 0x7FFF_FFFF_FFFF_FFFF)
    return number or _BEGINNING


def turn_or_current(turn: int | None) -> int:
    """Converts a turn's number for the C ABI; None means the session's current turn."""
    return _CURRENT if turn is None else whole_number("turn", turn, 1, 0x7FFF_FFFF_FFFF_FFFF)


def again_arguments(turn: int | None, tools: Iterable[str] | None) -> tuple[int, str]:
    """Returns the arguments of nar_session_again."""
    if isinstance(tools, str):
        raise TypeError('tools must be toolIds, such as ["t"], not a str')
    ids = [] if tools is None else [text_of("a toolId", tool) for tool in tools]
    if tools is not None and not ids:
        raise ValueError("tools must not be empty; leave it out to ask the narrator again")
    return turn_or_current(turn), json.dumps(ids) if ids else ""


def resume_arguments(turn: int | None, repeat: bool) -> tuple[int, bool]:
    """Returns the arguments of nar_session_resume."""
    return turn_or_current(turn), true_or_false("repeat", repeat)


class StoredTurn(JsonObject):
    """A turn of a stored session.

    Attributes:
        id: the turn's number, from 1.
        parent: the previous turn; None if it follows the session's beginning.
        kind: ``prompt``, ``plan``, ``script``; ``host``: the host's patches between two other
            turns.
        prompt: the player's prompt; empty for other kinds.
        status: ``completed``, ``fallback``, ``cancelled``, ``timeout``; ``running``;
            ``interrupted``: its host died while it ran.
        durable: whether the turn's end is in the store.
        state_hash: equal for equal states at the end of a turn; None before its end.
        began: the start time, ISO 8601.
        ended: the end time, ISO 8601; None before the end.
        narrative: what the player read: the narratives and what the tools said; None before the
            end.
        choices: the choices offered to the player; None before the end.
        ending: the name of the story's ending that the turn reached, or None.
        names: the names given by :meth:`Store.set_name`, sorted.

    >>> import narratoria, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with narratoria.Session(store=folder + "/saves.db", id="evening") as session:
    ...         _ = session.execute({"requestId": "p", "tools": []})
    ...         session.turns
    [<StoredTurn 1 plan completed>]
    """

    __slots__ = (
        "began",
        "choices",
        "durable",
        "ended",
        "ending",
        "id",
        "kind",
        "names",
        "narrative",
        "parent",
        "prompt",
        "state_hash",
        "status",
    )

    id: int
    parent: int | None
    kind: typing.Literal["prompt", "plan", "script", "host"]
    prompt: str
    status: str
    durable: bool
    state_hash: str | None
    began: str
    ended: str | None
    narrative: str | None
    choices: list[str] | None
    ending: str | None
    names: list[str]

    def __init__(self, turn: Mapping[str, typing.Any]) -> None:
        self.state_hash = turn["stateHash"]
        for name in self.__slots__:
            if name != "state_hash":
                setattr(self, name, turn[name])

    def to_dict(self) -> dict[str, typing.Any]:
        """Returns the turn as JSON.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with narratoria.Session(store=folder + "/saves.db", id="evening") as session:
        ...         _ = session.execute({"requestId": "p", "tools": []})
        ...         session.turns[0].to_dict()["status"]
        'completed'
        """
        made = {name: getattr(self, name) for name in self.__slots__ if name != "state_hash"}
        return {**made, "stateHash": self.state_hash}

    def __repr__(self) -> str:
        what = repr(self.prompt) if self.kind == "prompt" else self.kind
        names = f" names={self.names!r}" if self.names else ""
        return f"<StoredTurn {self.id} {what} {self.status}{names}>"


# The text of a list shows this many turns, the last ones.
_SHOWN_TURNS = 10


class StoredTurns(list[StoredTurn]):
    """The turns of a stored session; parents come before their children. A notebook shows them as a
    tree.

    Attributes:
        current: the turn from which the session continues; None: its beginning.

    >>> import narratoria, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with narratoria.Session(store=folder + "/saves.db", id="evening") as session:
    ...         _ = session.execute({"requestId": "p", "tools": []})
    ...         session.turns.current
    1
    """

    current: int | None

    def __init__(self, stored: Mapping[str, typing.Any]) -> None:
        super().__init__(StoredTurn(turn) for turn in stored["turns"])
        self.current = stored["current"]

    def __repr__(self) -> str:
        if len(self) <= _SHOWN_TURNS:
            return super().__repr__()
        last = ", ".join(map(repr, self[-_SHOWN_TURNS:]))
        return f"[… {len(self) - _SHOWN_TURNS} more, {last}]"

    def _repr_html_(self) -> str:
        from narratoria._html import turns_html

        return turns_html(self, self.current)


class Store:
    """A file that keeps sessions. It can be read while they are being played.

    Args:
        path: the file.

    >>> import narratoria, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = folder.name + "/saves.db"
    >>> with narratoria.Session(story="examples/stories/torch", store=path, id="evening") as session:
    ...     turn = session.play("I light the torch")
    >>> store = narratoria.Store(path)
    >>> [each["id"] for each in store.sessions()]
    ['evening']
    >>> store.turns("evening")
    [<StoredTurn 1 'I light the torch' completed>]
    >>> store.state("evening")
    {'inventory': {'torch': {'lit': True}}}
    >>> folder.cleanup()
    """

    __slots__ = ("_path",)

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = path_text("a store", path)

    def sessions(self) -> list[dict[str, typing.Any]]:
        """Returns its sessions in the order of creation: id, created, about, turns, current.

        Raises:
            Error: the store cannot be read; ``code`` says why (``STORE_IO``, ``STORE_DAMAGED``, …).

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     narratoria.Session(store=folder + "/saves.db", id="evening").close()
        ...     [each["id"] for each in narratoria.Store(folder + "/saves.db").sessions()]
        ['evening']
        """
        made: list[dict[str, typing.Any]] = _core.store_sessions(self._path)
        return made

    def turns(self, session: str) -> StoredTurns:
        """Returns the turns of a session; parents come before their children.

        Raises:
            NotFoundError: there is no such session.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     narratoria.Session(store=folder + "/saves.db", id="evening").close()
        ...     narratoria.Store(folder + "/saves.db").turns("evening")
        []
        """
        return StoredTurns(_core.store_turns(self._path, text_of("session", session)))

    def current(self, session: str) -> int | None:
        """Returns the turn from which a session continues; None: its beginning.

        Raises:
            NotFoundError: there is no such session.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     narratoria.Session(store=folder + "/saves.db", id="evening").close()
        ...     print(narratoria.Store(folder + "/saves.db").current("evening"))
        None
        """
        current: int | None = _core.store_turns(self._path, text_of("session", session))["current"]
        return current

    def state(self, session: str, turn: int | None = None) -> dict[str, typing.Any]:
        """Returns the state at the end of a turn.

        Args:
            session: its id.
            turn: 0: the beginning; default: the turn from which the session continues.

        Raises:
            NotFoundError: there is no such session, or no such turn.
            InvalidArgumentError: the turn has not ended.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = folder + "/saves.db"
        ...     narratoria.Session(store=path, id="evening", state={"gold": 3}).close()
        ...     narratoria.Store(path).state("evening")
        {'gold': 3}
        """
        number = _CURRENT if turn is None else turn_number(turn)
        made: dict[str, typing.Any] = _core.store_state(
            self._path, text_of("session", session), number
        )
        return made

    def go_to(self, session: str, turn: int | None) -> None:
        """Makes a session that is not being played continue from a turn's end.

        No turn is removed: the next turn starts a new branch.

        Args:
            session: its id.
            turn: the turn's number; None or 0: the session's beginning.

        Raises:
            NotFoundError: there is no such session, or no such turn.
            InvalidArgumentError: the turn has not ended.
            BusyError: the session is being played; use the session's own ``go_to``.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = folder + "/saves.db"
        ...     with narratoria.Session(story="examples/stories/torch", store=path, id="s") as session:
        ...         _ = session.play("I light the torch")
        ...     narratoria.Store(path).go_to("s", None)
        ...     narratoria.Store(path).state("s")
        {}
        """
        _core.store_go_to(self._path, text_of("session", session), turn_number(turn))

    def prune(self, session: str, turn: int | None = None) -> int:
        """Permanently removes turns of a session that is not being played.

        Args:
            session: its id.
            turn: remove this turn and its descendants; 0: the whole session; default: all turns
                that do not lead to the session's current turn. Required if the session is at its
                beginning.

        Returns:
            The number of removed turns.

        Raises:
            NotFoundError: there is no such session, or no such turn.
            InvalidArgumentError: the session's current turn is one of them (``TURN_CURRENT``), or
                the session is at its beginning and no turn is given (``TURN_REQUIRED``).
            BusyError: the session is being played.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = folder + "/saves.db"
        ...     with narratoria.Session(story="examples/stories/torch", store=path, id="s") as session:
        ...         _ = session.play("I light the torch")
        ...         _ = session.again()
        ...     narratoria.Store(path).prune("s")
        1
        """
        removed: int = _core.store_prune(
            self._path,
            text_of("session", session),
            _CURRENT if turn is None else turn_number(turn),
        )
        return removed

    def set_name(self, session: str, name: str, turn: int | None = None) -> None:
        """Names a turn. The session may be in play.

        Args:
            session: its id.
            name: the name. If another turn of the session has it, the name moves to this turn.
            turn: the turn; default: the one from which the session continues.

        Raises:
            NotFoundError: there is no such session, or no such turn.
            InvalidArgumentError: the turn has not ended or is the beginning; the name is empty or a
                number, begins or ends with a blank, or contains two blanks in a row, a tab or a
                line break.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = folder + "/saves.db"
        ...     with narratoria.Session(story="examples/stories/torch", store=path, id="s") as session:
        ...         _ = session.play("I light the torch")
        ...         narratoria.Store(path).set_name("s", "lit")
        ...         [turn.names for turn in session.turns]
        [['lit']]
        """
        number = _CURRENT if turn is None else turn_number(turn)
        _core.store_set_name(self._path, text_of("session", session), text_of("name", name), number)

    def __repr__(self) -> str:
        return f"Store({self._path!r})"
