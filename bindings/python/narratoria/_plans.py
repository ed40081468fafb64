# SPDX-License-Identifier: Apache-2.0
# Plans as they are submitted, their results, and their warnings: faults that the runtime reports
# and accepts.
#
# Imports inside functions are those that not every session needs, so that it starts faster.

from __future__ import annotations

from narratoria import _core
from narratoria._checks import path_text, text_of, true_or_false
from narratoria._hooks import to_plain
from narratoria.errors import InvalidDocumentError, NarratoriaWarning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from os import PathLike
    from typing import Any

    from narratoria.documents import Plan, Result

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


def plan_to_submit(
    plan: Plan | Mapping[str, Any] | str, folder: str | PathLike[str] | None, is_strict: bool
) -> tuple[str, str]:
    """Returns the plan, in any of its forms, and the folder as the engine takes them. Shows the
    plan's warnings, or refuses a plan with warnings if `is_strict`."""
    true_or_false("strict", is_strict)
    where = "" if folder is None else path_text("folder", folder)
    given: Any = plan
    if hasattr(given, "to_dict"):
        given = given.to_dict()
    elif not isinstance(given, (str, dict)) and hasattr(given, "keys"):
        given = dict(given)
    if not isinstance(given, (str, dict)):
        raise TypeError(
            f"a plan must be a Plan, a dict or a str of JSON, not {type(plan).__name__}"
        )
    if isinstance(given, str):
        text = text_of("a plan", given)
    else:
        text = _core.to_json(given, to_plain)
    faults = plan_warnings(text)
    if faults and is_strict:
        raise InvalidDocumentError(describe_faults(faults), code="PLAN", details=faults)
    warn_of_plan(faults, 4)
    return text, where


def lazy_result(text: _core.ResultText) -> Result:
    """Returns a result that is parsed on first use. Most callers read only `success`, and parsing a
    result with many events takes as long as making them did."""
    from narratoria.documents import Result

    return Result.later(text.to_dict, success=text.success)
