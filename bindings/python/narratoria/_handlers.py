# SPDX-License-Identifier: Apache-2.0
# Python functions as handlers of ui_events and as renderers of assets.
#
# Imports inside functions are those that not every session needs, so that it starts faster.

from __future__ import annotations

from collections.abc import Awaitable, Callable

from narratoria._checks import require_callable, text_of, whole_number
from narratoria._hooks import name_of, report_exception
from narratoria._invocations import import_for
from narratoria._lazy import _type_variables, typing
from narratoria._session_base import SessionBase


class Handlers(SessionBase):
    """The handlers and renderers of a session that are Python functions."""

    def on_ui_event(
        self, *names: str, priority: int = 0
    ) -> Callable[[_type_variables.UiHandler], _type_variables.UiHandler]:
        """Makes a function a handler of ui_events.

        It receives a :class:`narratoria.events.UiEvent`. Return False to pass the event on; any
        other value, including None, handles it. Handlers are called in descending order of
        priority; at equal priority the latest is called first. An exception is logged, and the next
        handler is called. An async function always handles the event; a blocking ``play`` or
        ``execute`` returns after it has ended.

        Args:
            names: names of events, for example ``"narrative_choice"``; default: all events.
            priority: higher is called first.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.on_ui_event("bell")
        ...     def ring(event):
        ...         print("ding", event.payload["times"])
        ...     @session.tool
        ...     def sexton(context: narratoria.Context) -> None:
        ...         context.ui_event("bell", {"times": 3})
        ...     _ = session.execute({"requestId": "p", "tools": [
        ...         {"toolId": "s", "toolPath": "sexton"}]})
        ding 3
        """
        if len(names) == 1 and callable(names[0]):
            raise TypeError('on_ui_event needs parentheses: @session.on_ui_event("bell")')
        given = [text_of("the name of a ui event", name) for name in names]
        whole_number("priority", priority, -(2**31), 2**31 - 1)

        from narratoria.events import UiEvent

        def give(function: _type_variables.UiHandler) -> _type_variables.UiHandler:
            require_callable("a handler", function)
            import_for(function)

            def handle(name: str, payload: dict[str, typing.Any]) -> bool:
                return self._finish(function(UiEvent(name, payload)))

            self._use().add_ui_handler(given, priority, handle)
            return function

        return give

    def asset_renderer(
        self, *media_types: str, priority: int = 0
    ) -> Callable[[_type_variables.Renderer], _type_variables.Renderer]:
        """Makes a function a renderer of assets.

        It receives a :class:`narratoria.Asset` when a ui_event first references it, or when its
        plan has ended. Return False to pass the asset on.

        Args:
            media_types: ``"image/png"``, ``"image/*"``, ``"*/*"``.
            priority: higher is called first.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.asset_renderer("image/*")
        ...     def show(asset):
        ...         print(asset.path)
        """
        if not media_types or callable(media_types[0]):
            raise TypeError('asset_renderer needs media types: @session.asset_renderer("image/*")')
        given = [text_of("a media type", each) for each in media_types]
        whole_number("priority", priority, -(2**31), 2**31 - 1)

        from narratoria.documents import Asset

        def give(function: _type_variables.Renderer) -> _type_variables.Renderer:
            require_callable("an asset renderer", function)
            import_for(function)

            def render(asset: dict[str, typing.Any]) -> bool:
                return self._finish(function(Asset.from_dict(asset)))

            self._use().add_asset_renderer(given, priority, render)
            return function

        return give

    def _finish(self, result: typing.Any) -> bool:
        if result is None or result is True:
            return True
        if hasattr(result, "__await__"):
            self._handlers.add(self._start(self._await_handler(result), name_of(result)))
            return True
        return result is not False

    async def _await_handler(self, result: Awaitable[typing.Any]) -> None:
        from narratoria._inside import inside

        with inside(self._core, is_waited_for=False):
            try:
                await result
            except Exception as exception:
                report_exception("an async handler", exception)
