# SPDX-License-Identifier: Apache-2.0
# The turns in a session's store, and the ways between them.
#
# Imports inside functions are those that not every session needs, so that it starts faster.

from __future__ import annotations

import narratoria
from narratoria._checks import whole_number
from narratoria._core import Session as CoreSession
from narratoria._session_base import SessionBase
from narratoria.errors import NotFoundError, ReentrantError


class Turns(SessionBase):
    """The stored turns of a session."""

    @property
    def turns(self) -> narratoria.StoredTurns:
        """The turns in the session's store; parents come before their children.

        Raises:
            UnsupportedError: the session has no store.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with narratoria.Session(store=folder + "/saves.db", id="evening") as session:
        ...         _ = session.execute({"requestId": "p", "tools": []})
        ...         session.turns
        [<StoredTurn 1 plan completed>]
        """
        from narratoria.store import StoredTurns

        return StoredTurns(self._use().turns())

    @property
    def current_turn(self) -> int | None:
        """The turn from which the session continues; None: its beginning.

        Raises:
            UnsupportedError: the session has no store.
        """
        current: int | None = self._use().turns()["current"]
        return current

    @property
    def branches(self) -> list[list[narratoria.StoredTurn]]:
        """The paths from the session's beginning to each turn that has no successor.

        Raises:
            UnsupportedError: the session has no store.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with narratoria.Session(
        ...         story="examples/stories/torch", store=folder + "/saves.db", id="evening"
        ...     ) as session:
        ...         _ = session.play("I light the torch")
        ...         _ = session.again()
        ...         session.branches    # doctest: +NORMALIZE_WHITESPACE
        [[<StoredTurn 1 'I light the torch' completed>],
         [<StoredTurn 2 'I light the torch' completed>]]
        """
        turns = {turn.id: turn for turn in self.turns}
        followed = {turn.parent for turn in turns.values()}
        paths = []
        for turn in turns.values():
            if turn.id in followed:
                continue
            path = [turn]
            while path[-1].parent is not None:
                path.append(turns[path[-1].parent])
            paths.append(path[::-1])
        return paths

    def go_to(self, turn: int | None) -> None:
        """Goes to the end of a turn of the session's store.

        State, history, assets and descriptions are restored. No turn is removed: the next turn
        starts a new branch.

        Args:
            turn: its number. None (as in ``current_turn`` and ``StoredTurn.parent``) or 0: the
                session's beginning.

        Raises:
            BusyError: a turn is running.
            ReentrantError: the call is made inside a function of the session.
            NotFoundError: there is no such turn.
            InvalidArgumentError: the turn has not ended.
            UnsupportedError: the session has no store.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with narratoria.Session(
        ...         story="examples/stories/torch", store=folder + "/saves.db", id="evening"
        ...     ) as session:
        ...         _ = session.play("I light the torch")
        ...         session.go_to(None)
        ...         session.state
        <State {}>
        """
        from narratoria.store import turn_number

        number = turn_number(turn)
        try:
            self._engine_between_turns().go_to(number)
        except ReentrantError:
            raise ReentrantError(
                "this call is not allowed inside a tool, a sink, a handler or a narrator of this "
                "session, because a turn is running; make it after play or execute has returned",
                code="REENTRANT",
            ) from None

    def _engine_between_turns(self) -> CoreSession:
        core = self._use()
        if core is self._core:
            self._end_cancelled()
        return core

    def undo(self, turns: int = 1) -> None:
        """Goes to the end of the turn before the last one, or further back.

        The host's patches after a turn are undone with it.

        Args:
            turns: the number of prompts, plans and scripts to undo.

        Raises:
            NotFoundError: the session has fewer turns.
            BusyError, ReentrantError, UnsupportedError: as for :meth:`go_to`.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with narratoria.Session(
        ...         story="examples/stories/torch", store=folder + "/saves.db", id="evening"
        ...     ) as session:
        ...         _ = session.play("I light the torch")
        ...         _ = session.play("I light the torch and examine the door")
        ...         session.undo()
        ...         session.state
        <State {'inventory': {'torch': {'lit': True}}}>
        """
        left = whole_number("turns", turns, 1, 0x7FFF_FFFF_FFFF_FFFF)
        stored = self._engine_between_turns().turns()
        by_id = {turn["id"]: turn for turn in stored["turns"]}
        at: int | None = stored["current"]
        while left > 0:
            if at is None:
                done = turns - left
                raise NotFoundError(
                    f"the session has only {done} {'turn' if done == 1 else 'turns'} to undo, not "
                    f"{turns}"
                    if done
                    else "the session is at its beginning; there is no turn to undo",
                    code="TURN_MISSING",
                )
            left -= by_id[at]["kind"] != "host"
            at = by_id[at]["parent"]
        self.go_to(at)
