# SPDX-License-Identifier: Apache-2.0
"""Timeouts and resource limits of a session.

>>> import narratoria
>>> narratoria.Session(times=narratoria.Times(try_ms=500)).close()
"""

from __future__ import annotations

from dataclasses import dataclass

# The compiled part is imported inside a function: a script that only describes a tool does not
# load it.

__all__ = ["Limits", "Times"]


@dataclass(frozen=True)
class Times:
    """Timeouts in milliseconds. None selects the default, 0 means no limit.

    Attributes:
        try_ms: one attempt of a tool (30,000).
        plan_ms: one plan (60,000).
        narrator_ms: one reply of a narrator (5,000).
        prompt_ms: a prompt with its replans (300,000).
        grace_ms: from SIGTERM to SIGKILL; for a function in a thread, the time to return after its
            timeout, before its attempt ends (2,000).
        narrator_first_ms: the first piece of a narrative that the narrator tells in pieces (none).
        narrator_between_ms: from each piece to the next one, or to the reply (none).

    >>> Times(try_ms=500).to_dict()
    {'try_ms': 500}
    """

    try_ms: int | None = None
    plan_ms: int | None = None
    narrator_ms: int | None = None
    prompt_ms: int | None = None
    grace_ms: int | None = None
    narrator_first_ms: int | None = None
    narrator_between_ms: int | None = None

    def to_dict(self) -> dict[str, int]:
        """Returns the values that are set.

        >>> Times(prompt_ms=0).to_dict()
        {'prompt_ms': 0}
        """
        return _set_fields(self)


@dataclass(frozen=True)
class Limits:
    """Resource limits. None selects the default, 0 means no limit.

    Attributes:
        open_files: open descriptors of a tool (the host's limit).
        memory_bytes: address space of a tool (none).
        file_bytes: size of a file that a tool writes (none).
        cpu_seconds: processor time of a tool, in seconds (none).
        processes: processes of a tool with its descendants (none; needs ``cgroup``).
        resident_bytes: memory of a tool with its descendants (none; needs ``cgroup``).
        history_patches: patches kept in the history (10,000).
        patch_bytes: one patch of the state as JSON (8 MiB).
        state_bytes: the state as JSON (256 MiB).
        line_bytes: the longest line of an event (8 MiB).
        script_steps: operations of a script (100,000,000).
        script_calls: CALLs of a script (1,000,000).
        script_depth: nesting in a script and its values (512, the maximum).
        script_source_bytes: the source of a script (16 MiB).
        script_value_bytes: one value of a script, and all its variables at its end (16 MiB).
        script_memory_bytes: all values of a script, and the records of its CALLs (256 MiB).
        script_output_bytes: the output of a script (16 MiB).
        script_time_ms: a script, including the tools that it waits for (60,000).

    >>> Limits(cpu_seconds=5).to_dict()
    {'cpu_seconds': 5}
    """

    open_files: int | None = None
    memory_bytes: int | None = None
    file_bytes: int | None = None
    cpu_seconds: int | None = None
    processes: int | None = None
    resident_bytes: int | None = None
    history_patches: int | None = None
    patch_bytes: int | None = None
    state_bytes: int | None = None
    line_bytes: int | None = None
    script_steps: int | None = None
    script_calls: int | None = None
    script_depth: int | None = None
    script_source_bytes: int | None = None
    script_value_bytes: int | None = None
    script_memory_bytes: int | None = None
    script_output_bytes: int | None = None
    script_time_ms: int | None = None

    def to_dict(self) -> dict[str, int]:
        """Returns the values that are set.

        >>> Limits().to_dict()
        {}
        """
        return _set_fields(self)


# The largest time. The library uses the next number for "no limit".
_LARGEST_TIME = 2**32 - 2


def _set_fields(numbers: Times | Limits) -> dict[str, int]:
    from narratoria._core import largest_limits

    out: dict[str, int] = {}
    for name, value in vars(numbers).items():
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ValueError(f"{name} must be a whole number, at least 0, not {value!r}")
        most = largest_limits.get(name, _LARGEST_TIME)
        if value > most:
            raise ValueError(f"{name} must be at most {most}, not {value}; 0 means no limit")
        out[name] = value
    return out
