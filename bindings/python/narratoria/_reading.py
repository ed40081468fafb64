# SPDX-License-Identifier: Apache-2.0
# Reads a session: its state, its assets, its plugins.
#
# Imports inside functions are those that not every session needs, so that it starts faster.

from __future__ import annotations

import narratoria
from narratoria._checks import text_of
from narratoria._lazy import typing
from narratoria._session_base import SessionBase
from narratoria.state import State


class Reading(SessionBase):
    """The properties of a session."""

    @property
    def id(self) -> str:
        """The session's id."""
        name: str = self._use().id()
        return name

    @property
    def opening(self) -> narratoria.Opening | None:
        """The beginning of the story, from the table ``[opening]`` of its ``story.toml``: the text
        before the first prompt, and choices for it. None if the story has none.

        >>> import narratoria
        >>> with narratoria.Session(story="examples/stories/torch") as session:
        ...     session.opening.choices[0]
        'I light the torch'
        """
        from narratoria.documents import Opening

        opening = self._use().opening()
        return None if opening is None else Opening.from_dict(opening)

    @property
    def current(self) -> narratoria.CurrentTurn:
        """The narrative and the choices of the last turn that was not a change by the host.

        Show them after opening a session that its store already had. If ``turn`` is 0, the
        session is at its beginning: show `opening`. While a turn runs, they are those of the turn
        before.

        >>> import narratoria, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     saved = {"store": folder + "/saves.db", "id": "evening"}
        ...     with narratoria.Session(story="examples/stories/torch", **saved) as session:
        ...         _ = session.play("I light the torch")
        ...     with narratoria.Session(story="examples/stories/torch", **saved) as session:
        ...         session.current.turn, session.current.choices[0]
        (1, 'I examine the door')
        """
        from narratoria.documents import CurrentTurn

        return CurrentTurn.from_dict(self._use().current())

    @property
    def state(self) -> State:
        """The session's state, a live mapping.

        >>> import narratoria
        >>> with narratoria.Session(state={"torch": {"lit": False}}) as session:
        ...     session.state["torch"]["lit"], session.state.at("/torch/lit")
        (False, False)
        """
        return State(self._core, self._use, self._changed)

    def format_state_for_prompt(self) -> str:
        """The state as text for the prompt of a model, like :meth:`State.format_for_prompt`.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     session.format_state_for_prompt()
        'No state information available.'
        """
        return self.state.format_for_prompt()

    @property
    def assets(self) -> list[narratoria.Asset]:
        """The asset registry, oldest first."""
        from narratoria.documents import Asset

        return [Asset.from_dict(each) for each in self._use().assets()]

    @property
    def plugins(self) -> list[dict[str, typing.Any]]:
        """The session's plugins: id, path, version, extensions, state, reason."""
        made: list[dict[str, typing.Any]] = self._use().plugins()
        return made

    def published(self, plugin: str, name: str) -> str | None:
        """The value that a plugin has published under a name, or None. The page publishes its
        address: ``session.published("narratoria.web", "url")``. Plugins publish while the session
        runs, so the value is None before the first step of the loop.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     session.published("narratoria.web", "url") is None    # this session has no page
        True
        """
        value: str | None = self._use().published(
            text_of("a plugin's id", plugin), text_of("a name", name)
        )
        return value

    def history(self) -> dict[str, typing.Any]:
        """The patches of the state, oldest first: ``{"limit", "dropped", "patches": [{seq, time,
        planId, toolId, attempt, patch}]}``. ``dropped`` counts patches beyond the limit.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     session.state.patch({"door": "open"})
        ...     [each["patch"] for each in session.history()["patches"]]
        [{'door': 'open'}]
        """
        made: dict[str, typing.Any] = self._use().history()
        return made
