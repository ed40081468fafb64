# SPDX-License-Identifier: Apache-2.0
# What the runtime accepts in a plan, and reports.

from __future__ import annotations

from narratoria import _core
from narratoria.errors import NarratoriaWarning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_PLAN_WITH_WARNINGS = 2 | 0x100


def plan_warnings(text: str) -> list[dict[str, Any]]:
    """What the runtime accepts in a plan and still finds wrong; its faults are the runtime's to tell."""
    found = _core.validate(_PLAN_WITH_WARNINGS, text)
    return [each for each in found if each.get("level") == "warning"]


def describe_faults(faults: Iterable[Mapping[str, Any]]) -> str:
    """Their places and messages in one line."""
    return "; ".join(f"{each['pointer'] or 'the plan'}: {each['message']}" for each in faults)


def warn_of_plan(faults: Iterable[Mapping[str, Any]], stacklevel: int) -> None:
    """Shows each as a warning of the caller's caller."""
    for each in faults:
        from warnings import warn

        warn(f"{each['pointer']}: {each['message']}", NarratoriaWarning, stacklevel=stacklevel)
