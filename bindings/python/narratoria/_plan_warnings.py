# SPDX-License-Identifier: Apache-2.0
# Warnings of plans: faults that the runtime reports and accepts.

from __future__ import annotations

from narratoria import _core
from narratoria.errors import NarratoriaWarning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_PLAN_WITH_WARNINGS = 2 | 0x100


def plan_warnings(text: str) -> list[dict[str, Any]]:
    """Returns the warnings of a plan. Its other faults are reported by the runtime."""
    found = _core.validate(_PLAN_WITH_WARNINGS, text)
    return [each for each in found if each.get("level") == "warning"]


def describe_faults(faults: Iterable[Mapping[str, Any]]) -> str:
    """Returns the places and messages of faults in one line."""
    return "; ".join(f"{each['pointer'] or 'the plan'}: {each['message']}" for each in faults)


def warn_of_plan(faults: Iterable[Mapping[str, Any]], stacklevel: int) -> None:
    """Shows each fault as a Python warning at this `stacklevel`."""
    for each in faults:
        from warnings import warn

        warn(f"{each['pointer']}: {each['message']}", NarratoriaWarning, stacklevel=stacklevel)
