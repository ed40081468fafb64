# SPDX-License-Identifier: Apache-2.0
# The type variables of the package. Only annotations name them.

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, Union

from narratoria.documents import Asset, Plan
from narratoria.events import UiEvent
from narratoria.session import Session

# A function that a decorator returns unchanged.
Function = TypeVar("Function", bound=Callable[..., Any])
UiHandler = TypeVar("UiHandler", bound=Callable[[UiEvent], Any])
Renderer = TypeVar("Renderer", bound=Callable[[Asset], Any])
# What a narrator answers, and a function that does. Its parameters after the first are optional.
Answer = Union[Plan, dict[str, Any], str]
NarratorFunction = Callable[..., Union[Answer, Awaitable[Answer]]]
Narrator = TypeVar("Narrator", bound=NarratorFunction)
AnySession = TypeVar("AnySession", bound=Session)
