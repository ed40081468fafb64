# SPDX-License-Identifier: Apache-2.0
"""Functions as handlers of ui events and renderers of assets."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from plans import DONE, line, one

import narratoria
from narratoria.events import UiEvent

BELL = line('{"type":"ui_event","event":"bell"}')


class TestHandlers:
    def test_handler_gets_named_events(self, session: Any, make_tool: Any) -> None:
        seen: list[UiEvent] = []
        session.on_ui_event("narrative_choice")(seen.append)
        choice = line('{"type":"ui_event","event":"narrative_choice","payload":{"choices":["a"]}}')
        placeholders = []
        session.add_sink(lambda event: placeholders.append(event.body), ["ui_placeholder"])
        session.execute(one(make_tool("t", f"{BELL}\n{choice}\n{DONE}")))
        assert [(each.event, each.payload) for each in seen] == [
            ("narrative_choice", {"choices": ["a"]})
        ]
        assert [each["event"] for each in placeholders] == ["bell"]

    def test_false_passes_event_to_next_handler(self, session: Any, make_tool: Any) -> None:
        asked = []

        @session.on_ui_event()
        def early(event: Any) -> None:
            asked.append("early")

        @session.on_ui_event(priority=5)
        def important(event: Any) -> bool:
            asked.append("important")
            return False

        @session.on_ui_event()
        def late(event: Any) -> bool:
            asked.append("late")
            return False

        session.execute(one(make_tool("t", f"{BELL}\n{DONE}")))
        assert asked == ["important", "late", "early"]

    def test_exception_is_logged_and_next_handler_called(
        self, session: Any, make_tool: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        asked = []
        session.on_ui_event()(asked.append)

        @session.on_ui_event()
        def broken(event: Any) -> None:
            raise RuntimeError("oh")

        with caplog.at_level(logging.ERROR, "narratoria"):
            assert session.execute(one(make_tool("t", f"{BELL}\n{DONE}"))).success
        assert len(asked) == 1 and "RuntimeError: oh" in caplog.text

    def test_asset_renderer_gets_asset(self, torch: str) -> None:
        shown: list[narratoria.Asset] = []
        with narratoria.Session(story=torch) as session:
            session.asset_renderer("image/*")(shown.append)
            session.play("I light the torch")
        assert [(asset.asset_id, asset.tool_id) for asset in shown] == [("lit_torch", "light1")]

    def test_execute_waits_for_async_handler(self, session: Any, make_tool: Any) -> None:
        ended = []

        @session.on_ui_event("bell")
        async def ring(event: UiEvent) -> None:
            await asyncio.sleep(0.05)
            try:
                session.execute({"requestId": "q", "tools": []})
            except narratoria.ReentrantError:
                ended.append(event.event)

        assert session.execute(one(make_tool("t", f"{BELL}\n{DONE}"))).success
        assert ended == ["bell"]

    def test_execute_waits_for_async_renderer(self, torch: str) -> None:
        shown = []
        with narratoria.Session(story=torch) as session:

            @session.asset_renderer("image/*")
            async def show(asset: narratoria.Asset) -> None:
                await asyncio.sleep(0.05)
                shown.append(asset.asset_id)

            session.play("I light the torch")
            assert shown == ["lit_torch"]

    def test_missing_parentheses_are_reported(self, session: Any) -> None:
        with pytest.raises(TypeError, match="parentheses"):
            session.on_ui_event(lambda event: None)
        with pytest.raises(TypeError, match="media types"):
            session.asset_renderer(lambda asset: None)
