# SPDX-License-Identifier: Apache-2.0
"""The documents that cross the runtime: plans, results, narrator requests, assets, faults.

Each class is a dataclass with the members of the JSON object in snake_case (`async` is `async_`).
`from_dict` reads it and reports faults with a JSON Pointer. `to_dict` writes it, without members
that have their default value. Unknown members are kept in `extra`. Nested values (dicts, lists) are
shared with the object that was read.

    >>> from narratoria.documents import Invocation, Plan
    >>> plan = Plan(
    ...     tools=[
    ...         Invocation("torch", "tools/torch-lighter", input={"action": "light_torch"}),
    ...         Invocation("door", "tools/door-examiner", dependencies=["torch"]),
    ...     ],
    ...     narrative="You reach for the torch.",
    ...     request_id="plan-1",
    ... )
    >>> plan
    <Plan plan-1: torch, door after torch>
    >>> Plan.from_dict(plan.to_dict()) == plan
    True
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import narratoria

from ._document import (
    DEFAULTED,
    OPTIONAL,
    Described,
    Document,
    LazyDocument,
    Member,
    MissingArray,
    MissingObject,
    array_of,
    boolean,
    integer,
    mapping,
    new_array,
    new_object,
    string,
    string_or_null,
    strings,
    write_document,
    write_documents,
)
from ._document_error import DocumentError
from ._fault import Fault
from .errors import PlanFailedError

# Imports inside functions are those that few programs need: the classes of events, and HTML.

__all__ = [
    "Asset",
    "Attempt",
    "CurrentTurn",
    "DocumentError",
    "EventRange",
    "Fault",
    "Invocation",
    "NarratorRequest",
    "Opening",
    "PastTurn",
    "Plan",
    "PlayerPrompt",
    "Receipt",
    "Result",
    "RetryPolicy",
    "ToolDescription",
    "ToolResult",
    "ToolSaid",
]


#: The maximum number of tools of a plan in `repr`.
_SHOWN_TOOLS = 8


def _uuid() -> str:
    """Returns a random UUID (RFC 9562 version 4), without the cost of importing `uuid`."""
    random = bytearray(os.urandom(16))
    random[6] = random[6] & 0x0F | 0x40
    random[8] = random[8] & 0x3F | 0x80
    digits = random.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _short(identifier: str) -> str:
    """Shortens a UUID for display."""
    return identifier if len(identifier) <= 20 else identifier[:8] + "…"


def _false() -> bool:
    return False


def _zero() -> int:
    return 0


def _true() -> bool:
    return True


def _strings_by_name(value: Any) -> Any:
    for name, text in mapping(value).items():
        try:
            string(text)
        except DocumentError as fault:
            raise fault.within(name) from None
    return value


# --------------------------------------------------------------------------------------------------
# The plan
# --------------------------------------------------------------------------------------------------


@dataclass(slots=True, repr=False, eq=False)
class RetryPolicy(Document):
    """How a tool is retried after a failure (spec 003 §13.3).

    Attributes:
        max_retries: retries after the first attempt, 0 to 10.
        backoff_ms: milliseconds before the first retry, doubled for each further one.
        extra: unknown members.

    >>> RetryPolicy(max_retries=0).to_dict()
    {'maxRetries': 0}
    """

    max_retries: int = 3
    backoff_ms: int = 100
    extra: dict[str, Any] = field(default_factory=new_object)

    _members = (
        Member("max_retries", integer, DEFAULTED, default=lambda: 3),
        Member("backoff_ms", integer, DEFAULTED, default=lambda: 100),
    )


@dataclass(slots=True, repr=False, eq=False)
class Invocation(Document):
    """One tool of a plan (spec 003 §13.3; spec 004 ToolInvocation).

    Attributes:
        tool_id: unique within the plan.
        tool_path: a registered tool's name, or a path: absolute, or relative to the plan. Default:
            the tool_id, whose last part then is the tool_id.
        input: passed to the tool as `input`.
        dependencies: the toolIds that must complete first.
        required: True: its failure skips the tools that depend on it and fails the plan.
        async_: True: may run at the same time as others if the plan is `parallel`. `async` in JSON.
        retry_policy: how the tool is retried after a failure.
        environment: added to the tool's environment.
        timeout_ms: timeout of one attempt in milliseconds; 0: no limit, None: the session's.
        extra: unknown members.

    >>> Invocation("torch", "tools/torch-lighter", async_=True).to_dict()
    {'toolId': 'torch', 'toolPath': 'tools/torch-lighter', 'async': True}
    >>> Invocation("tools/torch-lighter", input={"action": "light_torch"}).tool_id
    'torch-lighter'
    """

    tool_id: str
    tool_path: str = None  # type: ignore[assignment]
    input: dict[str, Any] = field(default_factory=new_object)
    dependencies: list[str] = field(default_factory=new_array)
    required: bool = True
    async_: bool = False
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    environment: dict[str, str] = field(default_factory=new_object)
    timeout_ms: int | None = None
    extra: dict[str, Any] = field(default_factory=new_object)

    _members = (
        Member("tool_id", string),
        Member("tool_path", string),
        Member("input", mapping, DEFAULTED, default=dict),
        Member("dependencies", strings, DEFAULTED, default=list),
        Member("required", boolean, DEFAULTED, default=_true),
        Member("async_", boolean, DEFAULTED, name="async", default=_false),
        Member(
            "retry_policy",
            RetryPolicy.from_dict,
            DEFAULTED,
            write=write_document,
            default=RetryPolicy,
        ),
        Member("environment", _strings_by_name, DEFAULTED, default=dict),
        Member("timeout_ms", integer, OPTIONAL),
    )

    def __post_init__(self) -> None:
        path: Any = self.tool_path
        if path is None:
            self.tool_path = self.tool_id
            self.tool_id = self.tool_id.rpartition("/")[2] or self.tool_id
        policy: Any = self.retry_policy
        if isinstance(policy, dict):
            self.retry_policy = RetryPolicy.from_dict(policy)
        elif not isinstance(policy, RetryPolicy):
            raise TypeError(
                f"retry_policy must be a RetryPolicy, not {policy!r}; for the number of retries, "
                "write RetryPolicy(max_retries=…)"
            )


@dataclass(slots=True, repr=False, eq=False)
class Plan(Document):
    """Plan JSON: which tools run, with what input, in what order (spec 003 §13.3).

    Attributes:
        tools: the invocations, in plan order; without any, the plan consists of its narrative. A
            dict of JSON becomes an `Invocation`.
        narrative: shown to the player before or while the tools run, or None.
        parallel: True: tools with `async_` set to True may run at the same time.
        disabled_skills: skills that failed before and must not be selected.
        metadata: `generationAttempt`, `parentPlanId` and further members; in a session the runtime
            sets these two itself. The next request has it as `previous_metadata`.
        request_id: identifies this plan; default: a new UUID.
        extra: unknown members.
        continue_: True: after success the narrator is asked again in the same turn, with the
            result, so that it can tell what the tools found. `continue` in JSON.
        choices: prompts that are offered to the player after success.

    >>> Plan(narrative="Silence.").to_dict()  # doctest: +ELLIPSIS
    {'requestId': '...-...-4...', 'narrative': 'Silence.', 'tools': []}
    >>> Plan.from_dict({"requestId": "p", "tools": [{"toolId": "a", "toolPath": 5}]})
    Traceback (most recent call last):
        ...
    narratoria.errors.DocumentError: /tools/0/toolPath: must be a string, is a number
    """

    tools: list[Invocation] = field(default_factory=new_array)
    narrative: str | None = None
    parallel: bool = False
    disabled_skills: list[str] = field(default_factory=new_array)
    metadata: dict[str, Any] = field(default_factory=MissingObject)
    request_id: str = field(default_factory=_uuid)
    extra: dict[str, Any] = field(default_factory=new_object)
    continue_: bool = False
    choices: list[str] = field(default_factory=new_array)

    _members = (
        Member("request_id", string),
        Member("narrative", string, OPTIONAL),
        Member("tools", array_of(Invocation.from_dict), write=write_documents),
        Member("parallel", boolean, DEFAULTED, default=_false),
        Member("continue_", boolean, DEFAULTED, name="continue", default=_false),
        Member("choices", strings, DEFAULTED, default=list),
        Member("disabled_skills", strings, DEFAULTED, default=list),
        Member("metadata", mapping, OPTIONAL),
    )

    if TYPE_CHECKING:

        def __init__(
            self,
            tools: Sequence[Invocation | Mapping[str, Any]] = ...,
            narrative: str | None = None,
            parallel: bool = False,
            disabled_skills: list[str] = ...,
            metadata: dict[str, Any] = ...,
            request_id: str = ...,
            extra: dict[str, Any] = ...,
            continue_: bool = False,
            choices: list[str] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        # Accepts the JSON of a tool in place of an Invocation.
        tools: Any = self.tools
        if isinstance(tools, (Invocation, dict, str)):
            raise TypeError(
                f"tools must be a list of Invocations, not {type(tools).__name__}; "
                "for one tool, write Plan([Invocation(…)])"
            )
        if isinstance(tools, (list, tuple)) and any(isinstance(tool, dict) for tool in tools):
            self.tools = [_invocation(tool, place) for place, tool in enumerate(tools)]

    def tool(self, tool_id: str) -> Invocation:
        """Returns the invocation with this toolId.

        Raises:
            KeyError: the plan has no such tool.

        >>> Plan([Invocation("torch", "tools/torch-lighter")]).tool("torch").tool_path
        'tools/torch-lighter'
        """
        for invocation in self.tools:
            if invocation.tool_id == tool_id:
                return invocation
        raise _no_tool(tool_id, [invocation.tool_id for invocation in self.tools])

    def __repr__(self) -> str:
        tools: list[str] = []
        given: Any = self.tools
        if not isinstance(given, list) or not all(isinstance(one, Invocation) for one in given):
            # Not a valid plan, but repr must not fail.
            return f"<Plan {_short(str(self.request_id))}: tools={repr(given)[:100]}>"
        for invocation in self.tools[:_SHOWN_TOOLS]:
            after = " and ".join(invocation.dependencies)
            tools.append(f"{invocation.tool_id} after {after}" if after else invocation.tool_id)
        if len(self.tools) > _SHOWN_TOOLS:
            tools.append(f"… {len(self.tools) - _SHOWN_TOOLS} more")
        return f"<Plan {_short(self.request_id)}: {', '.join(tools) or 'no tools'}>"


def _invocation(tool: Any, place: int) -> Any:
    if not isinstance(tool, dict):
        return tool
    try:
        return Invocation.from_dict(tool)
    except DocumentError as fault:
        raise fault.within(place).within("tools") from None


def _no_tool(tool_id: str, there: list[str]) -> KeyError:
    return KeyError(f"no tool {tool_id!r}; there is {', '.join(there) or 'none'}")


# --------------------------------------------------------------------------------------------------
# The execution result
# --------------------------------------------------------------------------------------------------


@dataclass(slots=True, repr=False, eq=False)
class EventRange(Described):
    """The range of an attempt in a tool's events.

    Attributes:
        first: index of the first one in `events`.
        count: number of events.
        extra: unknown members.

    >>> ["a", "b", "c"][EventRange(1, 2).slice]
    ['b', 'c']
    """

    first: int
    count: int
    extra: dict[str, Any] = field(default_factory=new_object)

    @property
    def slice(self) -> slice:
        """The slice for a tool's `events`.

        >>> EventRange(1, 2).slice
        slice(1, 3, None)
        """
        return slice(self.first, self.first + self.count)


@dataclass(slots=True, repr=False, eq=False)
class Receipt(Described):
    """How a guarantee of a tool was enforced in an attempt (docs/guarantees.md).

    Attributes:
        guarantee: its name, for example `"no_network"`.
        mechanism: what enforced it.
        version: the version of the kernel and of the mechanism.
        proven: whether a test program tried the forbidden acts in the same sandbox, and all were
            refused.
        extra: unknown members.

    >>> Receipt("no_network", "seccomp", "Linux 6.18.1", True)
    <Receipt no_network by seccomp, proven>
    """

    guarantee: str
    mechanism: str
    version: str
    proven: bool
    extra: dict[str, Any] = field(default_factory=new_object)

    def __repr__(self) -> str:
        proof = "proven" if self.proven else "not proven"
        return f"<Receipt {self.guarantee} by {self.mechanism}, {proof}>"


@dataclass(slots=True, repr=False, eq=False)
class Attempt(Described):
    """One attempt of a tool, from spawn to end.

    Attributes:
        attempt: number of the attempt, from 1.
        state: `"completed"`, `"failed"` or `"timeout"`.
        started_at: ISO-8601 date and time with its offset.
        execution_time: milliseconds.
        events: the range of this attempt in the tool's events.
        code: the cause of a failure, for programs.
        exit_status: exit status of the process, or None.
        signal: number of the signal that ended the process, or None.
        error: the error, for people.
        resources: what the process used, if known: `userMicroseconds`, `systemMicroseconds`,
            `maximumResidentKiB`.
        extra: unknown members.
        guarantees: a receipt for each guarantee of the tool.
        traces: of a project's tool, the entries of spec 001: `capability_check`, then `tool_call`.
        details: what the tool's runner reports, for example the node of a cluster.

    >>> Attempt(1, "failed", "2026-01-24T18:30:00Z", 12, EventRange(0, 3), "SIGNALED", signal=9)
    <Attempt 1 failed SIGNALED signal 9 12 ms>
    """

    attempt: int
    state: str
    started_at: str
    execution_time: int
    events: EventRange
    code: str | None = None
    exit_status: int | None = None
    signal: int | None = None
    error: str | None = None
    resources: dict[str, Any] = field(default_factory=MissingObject)
    extra: dict[str, Any] = field(default_factory=new_object)
    guarantees: list[Receipt] = field(default_factory=MissingArray)
    traces: list[dict[str, Any]] = field(default_factory=MissingArray)
    details: dict[str, Any] = field(default_factory=MissingObject)

    _order = (
        "attempt state code error exit_status signal started_at "
        "execution_time events resources guarantees traces details"
    )

    def __repr__(self) -> str:
        parts = [f"<Attempt {self.attempt} {self.state}"]
        if self.code:
            parts.append(self.code)
        if self.exit_status:
            parts.append(f"exit status {self.exit_status}")
        if self.signal:
            parts.append(f"signal {self.signal}")
        return " ".join(parts) + f" {self.execution_time} ms>"


@dataclass(slots=True, repr=False, eq=False)
class ToolResult(Described):
    """The result of one tool of a plan (spec 003 §13.5).

    Attributes:
        tool_id: from the plan.
        ok: whether the last attempt completed.
        state: `"completed"`, `"failed"`, `"skipped"` (never started) or `"timeout"`.
        output: the last attempt's patches, merged onto `{}`.
        execution_time: milliseconds from the first attempt's start to the last one's end.
        retry_count: attempts after the first.
        events: the tool's own events of all attempts, verbatim; `typed_events` gives objects.
        error: the error, for people; None if `ok`.
        error_code: the cause, for programs.
        attempts: one entry for each attempt, in order.
        result: the tool's return value, any JSON value; None if it returned none or null.
        stderr: the last 64 KiB of the tool's standard error, or None.
        extra: unknown members.
        line: of the script that invoked it, from 1; None for a plan's tool.
        summary: what the tool said at its end, or None.

    >>> ToolResult("door", False, "failed", {}, 12, 3, [], "it is stuck", "EXIT_STATUS")
    <ToolResult door failed EXIT_STATUS: it is stuck, 3 retries, 12 ms>
    """

    tool_id: str
    ok: bool
    state: str
    output: dict[str, Any]
    execution_time: int
    retry_count: int
    events: list[dict[str, Any]]
    error: str | None = None
    error_code: str | None = None
    attempts: list[Attempt] = field(default_factory=MissingArray)
    result: Any = None
    stderr: str | None = None
    extra: dict[str, Any] = field(default_factory=new_object)
    line: int | None = None
    summary: str | None = None

    _order = (
        "tool_id ok state output execution_time retry_count error error_code "
        "events attempts result summary line stderr"
    )

    def typed_events(
        self,
    ) -> Iterator[narratoria.events.EventBody | narratoria.events.UnknownEvent]:
        """Yields the events of all attempts as objects of the classes of `narratoria.events`.

        Raises:
            DocumentError: an event violates the protocol.

        >>> events = [{"version": "0", "type": "done", "ok": True}]
        >>> list(ToolResult("a", True, "completed", {}, 1, 0, events).typed_events())
        [Done(ok=True)]
        """
        from .events import event_from_dict

        for index, event in enumerate(self.events):
            try:
                yield event_from_dict("tool_event", event)
            except DocumentError as fault:
                raise fault.within(index).within("events") from None

    def __repr__(self) -> str:
        text = f"<ToolResult {self.tool_id} {self.state}"
        if self.error_code:
            text += f" {self.error_code}"
        if self.error:
            text += f": {self.error if len(self.error) <= 80 else self.error[:80] + '…'}"
        if self.error or self.retry_count:
            text += ","
        if self.retry_count:
            text += f" {self.retry_count} {'retry' if self.retry_count == 1 else 'retries'},"
        return f"{text} {self.execution_time} ms>"


@dataclass(slots=True, repr=False, eq=False)
class Result(Described, LazyDocument):
    """The result of executing a plan (spec 003 §13.5).

    Attributes:
        plan_id: the plan's requestId.
        success: whether every required tool completed.
        narrative: the plan's narrative, or `""`.
        execution_time: milliseconds.
        tool_results: all tools of the plan, in plan order.
        failed_tools: the toolIds that failed or timed out, including optional ones.
        generation_attempt: number of the generation for its prompt, from 1.
        can_replan: whether the narrator may plan again.
        disabled_skills: the skills that failed or timed out so far in this prompt.
        state_conflicts: `{"path", "tools"}` for each path that two concurrent tools wrote.
        extra: unknown members.

    It can be used like a mapping by toolId: `result["torch"]`, `"torch" in result`, iteration.

    >>> torch = ToolResult("torch", True, "completed", {}, 110, 0, [])
    >>> door = ToolResult("door", False, "failed", {}, 10, 0, [], "it is stuck", "EXIT_STATUS")
    >>> result = Result("p", False, "", 120, [torch, door], ["door"], 1, True)
    >>> result
    <Result failed plan=p 2 tools, 1 failed (door: EXIT_STATUS) 120 ms>
    >>> result["torch"].ok, "lever" in result, [tool.error for tool in result.failed]
    (True, False, ['it is stuck'])
    """

    plan_id: str
    success: bool
    narrative: str
    execution_time: int
    tool_results: list[ToolResult]
    failed_tools: list[str]
    generation_attempt: int
    can_replan: bool
    disabled_skills: list[str] = field(default_factory=MissingArray)
    state_conflicts: list[dict[str, Any]] = field(default_factory=MissingArray)
    extra: dict[str, Any] = field(default_factory=new_object)

    @property
    def failed(self) -> list[ToolResult]:
        """The tools that failed or timed out, in plan order, without skipped ones.

        >>> Result("p", True, "", 0, [], [], 1, False).failed
        []
        """
        return [tool for tool in self.tool_results if tool.state in ("failed", "timeout")]

    @property
    def skipped(self) -> list[ToolResult]:
        """The tools that were never started, in plan order.

        >>> Result("p", True, "", 0, [], [], 1, False).skipped
        []
        """
        return [tool for tool in self.tool_results if tool.state == "skipped"]

    def raise_on_failure(self) -> Result:
        """Returns this result if it is a success.

        Raises:
            PlanFailedError: it is not; `code` is that of the first tool that failed.

        >>> Result("p", True, "", 0, [], [], 1, False).raise_on_failure().success
        True
        """
        if self.success:
            return self
        failed = self.failed or self.skipped
        causes = [f"{tool.tool_id}: {tool.error or tool.state}" for tool in failed]
        text = "; ".join(causes[:3]) + ("; …" if len(causes) > 3 else "") or "it was cancelled"
        code = failed[0].error_code if failed else None
        raise PlanFailedError(
            f"the plan {self.plan_id} failed: {text}", code=code or "PLAN_FAILED", result=self
        )

    def tool(self, tool_id: str) -> ToolResult:
        """Returns the result of the tool with this toolId; the same as `result[tool_id]`.

        Raises:
            KeyError: the plan has no such tool.

        >>> Result("p", True, "", 0, [], [], 1, False).tool("torch")
        Traceback (most recent call last):
            ...
        KeyError: "no tool 'torch'; there is none"
        """
        for tool in self.tool_results:
            if tool.tool_id == tool_id:
                return tool
        raise _no_tool(tool_id, list(self))

    def __getitem__(self, tool_id: str) -> ToolResult:
        return self.tool(tool_id)

    def __contains__(self, tool_id: object) -> bool:
        return any(tool.tool_id == tool_id for tool in self.tool_results)

    def __iter__(self) -> Iterator[str]:
        return (tool.tool_id for tool in self.tool_results)

    def __repr__(self) -> str:
        count = len(self.tool_results)
        counts = ["no tools" if count == 0 else "1 tool" if count == 1 else f"{count} tools"]
        failed, skipped = self.failed, self.skipped
        if failed:
            causes = [f"{tool.tool_id}: {tool.error_code or tool.state}" for tool in failed[:3]]
            if len(failed) > 3:
                causes.append("…")
            counts.append(f"{len(failed)} failed ({', '.join(causes)})")
        if skipped:
            counts.append(f"{len(skipped)} skipped")
        return (
            f"<Result {'success' if self.success else 'failed'} plan={_short(self.plan_id)} "
            f"{', '.join(counts)} {self.execution_time} ms>"
        )

    def _repr_html_(self) -> str:
        from ._html import result_html

        return result_html(self)


# --------------------------------------------------------------------------------------------------
# The registry of assets
# --------------------------------------------------------------------------------------------------


@dataclass(slots=True, repr=False, eq=False)
class Asset(Described):
    """An entry of a session's asset registry.

    Attributes:
        plan_id: the requestId of the plan that produced it.
        tool_id: the tool that produced it.
        attempt: number of the tool's attempt, from 1.
        seq: the number of its event in the session's stream.
        asset_id: its id within its tool.
        kind: a category: "image", "audio", "video", "model".
        media_type: a MIME type.
        path: absolute.
        metadata: further information: width, height, frame rate.
        extra: unknown members.

    >>> Asset("p", "torch", 1, 9, "lit_torch", "image", "image/png", "/tmp/torch.png")
    <Asset lit_torch of torch: image/png /tmp/torch.png>
    """

    plan_id: str
    tool_id: str
    attempt: int
    seq: int
    asset_id: str
    kind: str
    media_type: str
    path: str
    metadata: dict[str, Any] = field(default_factory=MissingObject)
    extra: dict[str, Any] = field(default_factory=new_object)

    def __repr__(self) -> str:
        return f"<Asset {self.asset_id} of {self.tool_id}: {self.media_type} {self.path}>"

    def _repr_html_(self) -> str:
        from ._html import asset_html

        return asset_html(self)


# --------------------------------------------------------------------------------------------------
# Narrators
# --------------------------------------------------------------------------------------------------


@dataclass(slots=True, repr=False, eq=False)
class Outcome(Described):
    """The end of a tool that a narrator invoked before its answer.

    Attributes:
        tool_id: its toolId in the event stream.
        state: `"completed"`, `"failed"`, `"skipped"` (cancelled before it started) or `"timeout"`.
        ok: whether it completed.
        result: the tool's return value, any JSON value; None if it returned none.
        output: the last attempt's patches, merged onto `{}`.
        execution_time: milliseconds from the first attempt's start to the last one's end.
        retry_count: attempts after the first.
        error: the error, for people; None if `ok`.
        error_code: the cause, for programs.
        extra: unknown members.

    >>> Outcome("door-1", "failed", False, None, {}, 12, 3, "it is stuck", "EXIT_STATUS")
    <Outcome door-1 failed EXIT_STATUS: it is stuck>
    """

    tool_id: str
    state: str
    ok: bool
    result: Any
    output: dict[str, Any]
    execution_time: int
    retry_count: int
    error: str | None = None
    error_code: str | None = None
    extra: dict[str, Any] = field(default_factory=new_object)

    def __repr__(self) -> str:
        why = "" if self.ok else f" {self.error_code}: {self.error}"
        return f"<Outcome {self.tool_id} {self.state}{why}>"


@dataclass(slots=True, repr=False, eq=False)
class Opening(Described):
    """The beginning of a story: the table ``[opening]`` of ``story.toml``.

    Attributes:
        text: the text for the player before the first prompt; may be empty.
        choices: the choices offered to the player; the chosen text is the first prompt.
        extra: unknown members.

    >>> Opening("The door falls shut.", ["Wait"])
    <Opening 'The door falls shut.' choices=['Wait']>
    """

    text: str
    choices: list[str] = field(default_factory=new_array)
    extra: dict[str, Any] = field(default_factory=new_object)

    def __repr__(self) -> str:
        return f"<Opening {self.text!r} choices={self.choices!r}>"


@dataclass(slots=True, repr=False, eq=False)
class CurrentTurn(Described):
    """What the player of a session reads now.

    Attributes:
        turn: the number of the turn from which the session continues; 0 at its beginning or
            without a store.
        narrative: what the player read in the last turn; empty at the beginning.
        choices: the choices offered to the player; at the beginning, those of the opening.
        ending: the name of the story's ending that the turn reached, or None.
        extra: unknown members.

    >>> CurrentTurn(3, "It is dark.", ["Look"])
    <CurrentTurn 3 'It is dark.' choices=['Look']>
    """

    turn: int
    narrative: str = ""
    choices: list[str] = field(default_factory=new_array)
    ending: str | None = None
    extra: dict[str, Any] = field(default_factory=new_object)

    def __repr__(self) -> str:
        return f"<CurrentTurn {self.turn} {self.narrative!r} choices={self.choices!r}>"


@dataclass(slots=True, repr=False, eq=False)
class PlayerPrompt(Described):
    """A prompt of the player (spec 004 PlayerPrompt).

    Attributes:
        text: the player's text.
        timestamp: when it was submitted: ISO-8601 with its offset.
        session_id: the session.
        extra: unknown members.

    >>> PlayerPrompt("I light the torch", "2026-01-24T18:30:00Z", "s").text
    'I light the torch'
    """

    text: str
    timestamp: str
    session_id: str
    extra: dict[str, Any] = field(default_factory=new_object)


@dataclass(slots=True, repr=False, eq=False)
class ToolDescription(Described):
    """A tool that a plan can name in `toolPath`.

    Attributes:
        name: the value for `toolPath`.
        description: what the tool does, for the narrator, or None.
        input_schema: JSON Schema of the tool's `input`; None: any object.
        extra: unknown members.
        result_schema: JSON Schema of the `result` of its `done` event; None: any value.
        try_ms: the timeout of one attempt in milliseconds, 0 for none; None: the session's.
        repeatable: False if a second run may do harm; None: it does not say.
        resources: what it needs on a cluster, or None.
        state: JSON Pointers to the parts of the state that it gets.
        disabled: True if it failed in this prompt and must not be used; None: it may be used.

    >>> ToolDescription("weather", "Tells tomorrow's weather.")
    ToolDescription(name='weather', description="Tells tomorrow's weather.")
    """

    name: str
    description: str | None = None
    input_schema: dict[str, Any] | bool | None = None
    extra: dict[str, Any] = field(default_factory=new_object)
    result_schema: dict[str, Any] | bool | None = None
    try_ms: int | None = None
    repeatable: bool | None = None
    resources: dict[str, Any] | None = None
    state: list[str] = field(default_factory=MissingArray)
    disabled: bool | None = None


@dataclass(slots=True)
class ToolSaid(Described):
    """What a tool of a past turn said.

    Attributes:
        tool: its `toolId` in the plan.
        ok: whether it completed.
        summary: of its `done` event, or None.
        error: why it failed, or None.
        extra: unknown members.

    >>> ToolSaid("light1", True, "The torch burns.").ok
    True
    """

    tool: str
    ok: bool
    summary: str | None = None
    error: str | None = None
    extra: dict[str, Any] = field(default_factory=new_object)


@dataclass(slots=True)
class PastTurn(Described):
    """A turn before the prompt of a request.

    Attributes:
        prompt: the player's text.
        narrative: what the player was told.
        choices: what the player was offered.
        tools: what its tools said.
        extra: unknown members.

    >>> PastTurn("I look", "It is dark.").narrative
    'It is dark.'
    """

    prompt: str
    narrative: str
    choices: list[str] = field(default_factory=new_array)
    tools: list[ToolSaid] = field(default_factory=new_array)
    extra: dict[str, Any] = field(default_factory=new_object)


def _result_or_null(value: Any) -> Result | None:
    return None if value is None else Result.from_dict(value)


def _write_or_null(value: Any) -> Any:
    return None if value is None else value.to_dict()


@dataclass(slots=True, repr=False, eq=False)
class NarratorRequest(Document):
    """A request to a narrator (spec 003 §13.6), which replies with a `Plan`.

    Attributes:
        session_id: the session of the prompt.
        prompt: the player's prompt.
        generation_attempt: number of this generation for the prompt, 1 to 5.
        parent_plan_id: the previous plan for the same prompt, or None.
        disabled_skills: skills that failed in this prompt and must not be selected.
        previous_result: the execution result of the previous plan, or None.
        plan_faults: the faults for which the previous reply was refused, or empty.
        state: the current session state.
        tools: the tools that a plan can name.
        schema: identifies this type of document.
        extra: unknown members.
        invocations: the result of the tools that the narrator invoked before its previous reply,
            or None.
        continuation: how many plans with `continue_` have succeeded in this turn, 0 to 4.
        random: a random number from 0 to 2**53 - 1, the same in all requests of a turn.
        previous_metadata: the `metadata` of the previous plan, as its narrator wrote it.
        turns: the last turns up to this prompt, the oldest first; at most 20, and 64 KiB of JSON.
        turn_metadata: the `metadata` of the last plan before this prompt, so that a narrator can
            keep with the session what it needs later.
        state_for_prompt: the state as text for a model (spec 002 `format_state_for_prompt`), or None.
        timeout_ms: the time for the reply to this request, in milliseconds; None: no limit. It
            does not run while a tool that the narrator invoked runs. Not a member of the JSON.

    >>> prompt = PlayerPrompt("I light the torch", "2026-01-24T18:30:00Z", "s")
    >>> NarratorRequest("s", prompt)
    <NarratorRequest 'I light the torch' attempt 1>
    """

    session_id: str
    prompt: PlayerPrompt
    generation_attempt: int = 1
    parent_plan_id: str | None = None
    disabled_skills: list[str] = field(default_factory=new_array)
    previous_result: Result | None = None
    plan_faults: list[Fault] = field(default_factory=new_array)
    state: dict[str, Any] = field(default_factory=new_object)
    tools: list[ToolDescription] = field(default_factory=new_array)
    schema: str = "narrator-request/1"
    extra: dict[str, Any] = field(default_factory=new_object)
    invocations: Result | None = None
    continuation: int = 0
    random: int = 0
    previous_metadata: dict[str, Any] = field(default_factory=new_object)
    turns: list[PastTurn] = field(default_factory=MissingArray)
    turn_metadata: dict[str, Any] = field(default_factory=new_object)
    state_for_prompt: str | None = None
    timeout_ms: int | None = None

    _members = (
        Member("schema", string),
        Member("session_id", string),
        Member("prompt", PlayerPrompt.from_dict, write=write_document),
        Member("generation_attempt", integer),
        Member("continuation", integer, DEFAULTED, default=_zero),
        Member("random", integer, DEFAULTED, default=_zero),
        Member("parent_plan_id", string_or_null),
        Member("disabled_skills", strings),
        Member("previous_result", _result_or_null, write=_write_or_null),
        Member("previous_metadata", mapping, DEFAULTED, default=dict),
        Member("invocations", Result.from_dict, OPTIONAL, write=write_document),
        Member("plan_faults", array_of(Fault.from_dict), write=write_documents),
        Member("state", mapping),
        Member("tools", array_of(ToolDescription.from_dict), write=write_documents),
        Member("turns", array_of(PastTurn.from_dict), OPTIONAL, write=write_documents),
        Member("turn_metadata", mapping, DEFAULTED, default=dict),
        Member("state_for_prompt", string, OPTIONAL),
    )

    def __repr__(self) -> str:
        parts = [f"<NarratorRequest {self.prompt.text!r} attempt {self.generation_attempt}"]
        if self.previous_result is not None:
            parts.append(f"after {self.previous_result!r}")
        if self.plan_faults:
            parts.append(f"{len(self.plan_faults)} faults")
        return ", ".join(parts) + ">"
