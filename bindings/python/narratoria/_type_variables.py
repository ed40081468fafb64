# SPDX-License-Identifier: Apache-2.0
# The type variables of the package. Only annotations name them.

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from narratoria.documents import Asset
from narratoria.events import UiEvent
from narratoria.session import Session

# A function that a decorator returns unchanged.
Function = TypeVar("Function", bound=Callable[..., Any])
UiHandler = TypeVar("UiHandler", bound=Callable[[UiEvent], Any])
Renderer = TypeVar("Renderer", bound=Callable[[Asset], Any])
AnySession = TypeVar("AnySession", bound=Session)
