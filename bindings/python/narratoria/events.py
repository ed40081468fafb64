# SPDX-License-Identifier: Apache-2.0
"""Classes of the event stream: events of tools (spec 000 §4) and records of the runtime.

Each class is frozen, is read with `from_dict` and written with `to_dict`, keeps unknown members in
`extra`, and matches by position:

    >>> from narratoria.events import Done, Log, event_from_dict
    >>> body = {"version": "0", "type": "log", "level": "warn", "message": "The torch gutters."}
    >>> match event_from_dict("tool_event", body):
    ...     case Log(message, "warn" | "error"):
    ...         print(message)
    ...     case Done(ok=False):
    ...         print("failed")
    The torch gutters.

A missing member is None, or an empty dict or list, and is not written back. Nested values (dicts,
lists) are shared with the object that was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ._document import (
    ALWAYS_WRITTEN,
    Described,
    Document,
    Member,
    MissingArray,
    MissingObject,
    integer,
    mapping,
    new_object,
    string,
    string_or_null,
)
from ._document_error import DocumentError

__all__ = [
    "AssetEvent",
    "AssetPlaceholder",
    "AssetRefused",
    "AttemptEnded",
    "AttemptStarted",
    "DocumentError",
    "Done",
    "ErrorEvent",
    "EventBody",
    "EventRecord",
    "Log",
    "Narrative",
    "NarrativeDelta",
    "NarrativeRetracted",
    "NarratorUsage",
    "PlanEnded",
    "PlanStarted",
    "Prompt",
    "RuntimeEvent",
    "SessionMoved",
    "StateConflict",
    "StatePatch",
    "StatePatched",
    "StoryReloaded",
    "ToolEnded",
    "ToolEvent",
    "ToolPending",
    "ToolStarted",
    "TurnEnded",
    "UiEvent",
    "UiPlaceholder",
    "UnknownEvent",
    "WarningEvent",
    "event_from_dict",
]

#: Metadata of a member that may be null but is always in the JSON.
_NULL_IS_WRITTEN = {"null": True}


@dataclass(slots=True, frozen=True, kw_only=True, repr=False, eq=False)
class EventBody(Described):
    """Base class of all events.

    Attributes:
        record_kind: class attribute: the record's `kind`, such as `"tool_event"`.
        extra: unknown members, by their JSON names.

    >>> Log("Lighting torch...").record_kind, PlanStarted({}, 1).record_kind
    ('tool_event', 'plan_started')
    """

    extra: Mapping[str, Any] = field(default_factory=new_object)

    record_kind = ""


# --------------------------------------------------------------------------------------------------
# Events of tools
# --------------------------------------------------------------------------------------------------


@dataclass(slots=True, frozen=True, kw_only=True, repr=False, eq=False)
class ToolEvent(EventBody):
    """Base class of events of tools (spec 000 §3).

    Attributes:
        type: class attribute: `"log"`, `"state_patch"`, `"asset"`, `"ui_event"`, `"error"`,
            `"done"`.
        request_id: the plan's requestId, if the tool repeats it.
        timestamp: when it happened, as the tool sent it; should be ISO-8601.

    >>> Log("Lighting torch...", timestamp="2026-01-24T18:30:00Z").to_dict()["timestamp"]
    '2026-01-24T18:30:00Z'
    """

    request_id: str | None = None
    timestamp: str | None = None

    record_kind = "tool_event"
    type = ""


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class Log(ToolEvent):
    """Progress or diagnostics (spec 000 §4.1).

    Attributes:
        message: for people.
        level: `"debug"`, `"info"`, `"warn"` or `"error"`.
        fields: additional data; a number `progress` from 0 to 1 reports progress.

    >>> Log("Lighting torch...", fields={"progress": 0.5})
    Log(message='Lighting torch...', level='info', fields={'progress': 0.5})
    """

    message: str
    level: Literal["debug", "info", "warn", "error"] = "info"
    fields: Mapping[str, Any] = field(default_factory=MissingObject)

    type = "log"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class StatePatch(ToolEvent):
    """A change to the session state (spec 000 §4.2).

    Attributes:
        patch: merged into the state: objects recursively, arrays replaced, None removes.
        nulls: merged after the patch; a None in it is a value and removes nothing.

    >>> StatePatch({"torch": {"lit": True}}).to_dict()
    {'version': '0', 'type': 'state_patch', 'patch': {'torch': {'lit': True}}}
    """

    patch: Mapping[str, Any]
    nulls: Mapping[str, Any] = field(default_factory=MissingObject)

    type = "state_patch"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class AssetEvent(ToolEvent):
    """A file that the tool has written (spec 000 §4.3). What the session registers is an `Asset`.

    Attributes:
        asset_id: unique within the attempt.
        kind: a category: "image", "audio", "video", "model".
        media_type: a MIME type.
        path: absolute, or relative to the engine's root.
        metadata: further information: width, height, frame rate.

    >>> AssetEvent("lit_torch", "image", "image/png", "/tmp/torch.png").to_dict()["kind"]
    'image'
    """

    asset_id: str
    kind: str
    media_type: str
    path: str
    metadata: Mapping[str, Any] = field(default_factory=MissingObject)

    type = "asset"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class UiEvent(ToolEvent):
    """A request for an action of the user interface (spec 000 §4.4).

    Attributes:
        event: the action's name.
        payload: its parameters.

    >>> match UiEvent("narrative_choice", {"choices": ["Open", "Leave"]}):
    ...     case UiEvent("narrative_choice", {"choices": choices}):
    ...         print(choices)
    ['Open', 'Leave']
    """

    event: str
    payload: Mapping[str, Any] = field(default_factory=MissingObject)

    type = "ui_event"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class ErrorEvent(ToolEvent):
    """A structured error (spec 000 §4.5), not an exception. The attempt continues.

    Attributes:
        error_code: for programs.
        error_message: for people.
        details: structured data for debugging.

    >>> ErrorEvent("TORCH_WET", "The torch is wet.")
    ErrorEvent(error_code='TORCH_WET', error_message='The torch is wet.')
    """

    error_code: str
    error_message: str
    details: Mapping[str, Any] = field(default_factory=MissingObject)

    type = "error"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class Done(ToolEvent):
    """The end of the attempt (spec 000 §4.6).

    Attributes:
        ok: True for success, False for a controlled failure.
        summary: one sentence for people.
        result: the tool's return value, any JSON value; None if it returned none or null.

    >>> Done(True, "Torch lit.").to_dict()
    {'version': '0', 'type': 'done', 'ok': True, 'summary': 'Torch lit.'}
    """

    ok: bool
    summary: str | None = None
    result: Any = None

    type = "done"


# --------------------------------------------------------------------------------------------------
# Records of the runtime
# --------------------------------------------------------------------------------------------------


@dataclass(slots=True, frozen=True, kw_only=True, repr=False, eq=False)
class RuntimeEvent(EventBody):
    """Base class of the runtime's own events.

    >>> isinstance(ToolStarted("tools/torch-lighter"), RuntimeEvent)
    True
    """


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class Prompt(RuntimeEvent):
    """A prompt of the player (spec 004 PlayerPrompt).

    Attributes:
        text: the player's text.
        timestamp: ISO-8601 date and time with its offset.

    >>> Prompt("I light the torch", "2026-01-24T18:30:00Z").text
    'I light the torch'
    """

    text: str
    timestamp: str

    record_kind = "prompt"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class Narrative(RuntimeEvent):
    """Text for the player.

    Attributes:
        text: the text.
        source: `"plan"` or `"fallback"`; later versions may add values.

    >>> Narrative("You reach for the torch.", "plan")
    Narrative(text='You reach for the torch.', source='plan')
    """

    text: str
    source: str

    record_kind = "narrative"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class PlanStarted(RuntimeEvent):
    """An accepted plan starts.

    Attributes:
        plan: Plan JSON; `Plan.from_dict` reads it.
        generation_attempt: number of the generation for its prompt, from 1.
        parent_plan_id: the previous plan, which failed, or None.
        open: True if a narrator invokes the tools one by one while it thinks; otherwise None.

    >>> PlanStarted({"requestId": "p", "tools": []}, 1).to_dict()["parentPlanId"] is None
    True
    """

    plan: Mapping[str, Any]
    generation_attempt: int
    parent_plan_id: str | None = field(default=None, metadata=_NULL_IS_WRITTEN)
    open: bool | None = None

    record_kind = "plan_started"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class PlanEnded(RuntimeEvent):
    """A plan has ended. The execution result has the details.

    Attributes:
        success: whether every required tool completed.
        execution_time: milliseconds.
        failed_tools: the toolIds that failed or timed out.
        can_replan: whether the narrator may plan again.

    >>> PlanEnded(False, 120, ["door"], True).failed_tools
    ['door']
    """

    success: bool
    execution_time: int
    failed_tools: list[str]
    can_replan: bool

    record_kind = "plan_ended"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class ToolPending(RuntimeEvent):
    """A tool of the plan waits for its dependencies or its turn.

    Attributes:
        tool_path: from the plan.
        dependencies: the toolIds of its dependencies.
        line: of the script that invoked it, from 1; None for a plan's tool.

    >>> ToolPending("tools/door-examiner", ["torch"]).dependencies
    ['torch']
    """

    tool_path: str
    dependencies: list[str]
    line: int | None = None

    record_kind = "tool_pending"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class ToolStarted(RuntimeEvent):
    """A tool runs.

    Attributes:
        tool_path: from the plan.
        line: of the script that invoked it, from 1; None for a plan's tool.

    >>> ToolStarted("tools/torch-lighter").to_dict()
    {'toolPath': 'tools/torch-lighter'}
    """

    tool_path: str
    line: int | None = None

    record_kind = "tool_started"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class ToolEnded(RuntimeEvent):
    """A tool has ended or was skipped.

    Attributes:
        state: `"completed"`, `"failed"`, `"skipped"` or `"timeout"`.
        ok: whether it completed.
        execution_time: milliseconds.
        retry_count: attempts after the first.
        error: the error, for people; None if it completed.
        error_code: the cause, for programs.
        stderr: the end of a failed tool's standard error.

    >>> ToolEnded("failed", False, 12, 3, "exited with status 1", "EXIT_STATUS").error_code
    'EXIT_STATUS'
    """

    state: str
    ok: bool
    execution_time: int
    retry_count: int
    error: str | None = None
    error_code: str | None = None
    stderr: str | None = None

    record_kind = "tool_ended"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class AttemptStarted(RuntimeEvent):
    """An attempt of a tool starts.

    Attributes:
        attempt: number of the attempt, from 1.

    >>> AttemptStarted(2)
    AttemptStarted(attempt=2)
    """

    attempt: int

    record_kind = "attempt_started"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class AttemptEnded(RuntimeEvent):
    """An attempt of a tool has ended.

    Attributes:
        attempt: number of the attempt, from 1.
        state: `"completed"`, `"failed"` or `"timeout"`.
        code: the cause, for programs; None if it completed.
        error: the error, for people.
        exit_status: exit status of the process, or None.
        signal: number of the signal that ended the process, or None.
        traces: for a project's tool, the entries of spec 001: `capability_check`, then `tool_call`.

    >>> AttemptEnded(1, "failed", "SIGNALED", signal=9)
    AttemptEnded(attempt=1, state='failed', code='SIGNALED', signal=9)
    """

    attempt: int
    state: str
    code: str | None = None
    error: str | None = None
    exit_status: int | None = None
    signal: int | None = None
    traces: list[dict[str, Any]] = field(default_factory=MissingArray)

    record_kind = "attempt_ended"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class AssetRefused(RuntimeEvent):
    """An asset was refused; the attempt continues.

    Attributes:
        asset_id: from the tool's event.
        code: `"ASSET_UNREADABLE"`, `"ASSET_INVALID"` or `"ASSET_DUPLICATE"`; others may follow.
        message: the reason, for people.

    >>> AssetRefused("lit", "ASSET_DUPLICATE", "the assetId came before").code
    'ASSET_DUPLICATE'
    """

    asset_id: str
    code: str
    message: str

    record_kind = "asset_refused"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class StateConflict(RuntimeEvent):
    """Two concurrent tools wrote the same path; the later value is kept.

    Attributes:
        path: a JSON Pointer into the state.
        tools: the toolIds, the earlier one first.

    >>> StateConflict("/torch/lit", ["light", "douse"]).tools
    ['light', 'douse']
    """

    path: str
    tools: list[str]

    record_kind = "state_conflict"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class WarningEvent(RuntimeEvent):
    """A condition that stopped nothing; the record's kind is `warning`. Not a Python warning.

    Attributes:
        code: for programs.
        message: for people.

    >>> WarningEvent("TIMESTAMP_INVALID", "the timestamp is not ISO-8601").record_kind
    'warning'
    """

    code: str
    message: str

    record_kind = "warning"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class UiPlaceholder(RuntimeEvent):
    """A ui_event that no plugin handled.

    Attributes:
        event: its name.
        payload: its parameters; `{}` if the tool sent none.

    >>> UiPlaceholder("flash", {}).event
    'flash'
    """

    event: str
    payload: Any

    record_kind = "ui_placeholder"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class AssetPlaceholder(RuntimeEvent):
    """A referenced asset that no plugin rendered.

    Attributes:
        asset_id: the asset's id within its tool.
        kind: the category: image, audio …
        media_type: as the tool sent it.
        path: absolute.
        metadata: `{}` if the tool sent none.

    >>> AssetPlaceholder("lit", "model", "model/obj", "/tmp/torch.obj", {}).media_type
    'model/obj'
    """

    asset_id: str
    kind: str
    media_type: str
    path: str
    metadata: Mapping[str, Any]

    record_kind = "asset_placeholder"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class TurnEnded(RuntimeEvent):
    """The turn of the last prompt has ended.

    Attributes:
        outcome: `"completed"`, `"fallback"` (no plan succeeded), `"cancelled"` or `"timeout"`.
        generations: number of plans requested from the narrator.
        choices: the choices offered to the player.
        turn: with a store, the turn's number in it, from 1; 0 if the store does not have it.
        durable: with a store, whether the turn is on disk.
        durable_seq: with a store, the last record that is on disk with all records before it.
        usage: the sum of the turn's `NarratorUsage`, or None.

    >>> TurnEnded("completed", 1, ["Open", "Leave"]).choices
    ['Open', 'Leave']
    """

    outcome: str
    generations: int
    choices: list[str]
    turn: int | None = None
    durable: bool | None = None
    durable_seq: int | None = None
    usage: Mapping[str, Any] | None = None

    record_kind = "turn_ended"


@dataclass(slots=True, frozen=True, repr=False)
class SessionMoved(RuntimeEvent):
    """The session went to the end of a different turn of its store.

    State, history and assets are restored to that moment.

    Attributes:
        turn: the turn's number; 0 at the beginning of the session.
        narrative: what the player read in the turn.
        choices: the choices offered to the player.
        ending: the name of the story's ending that the turn reached, or None.
        plays_again: True if it moved to play the prompt after it again, which follows; or None.

    >>> SessionMoved(3, "It is dark.", ["Look"]).turn
    3
    """

    turn: int
    narrative: str
    choices: list[str]
    ending: str | None = None
    plays_again: bool | None = None

    record_kind = "session_moved"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class StatePatched(RuntimeEvent):
    """The host or a plugin patched the state; a tool's patch is a `StatePatch`.

    Attributes:
        patch: merged into the state (RFC 7396).
        by: the plugin's id; empty for the host.
        nulls: merged after the patch; a None in it is a value and removes nothing.

    >>> StatePatched({"score": 1}, "").patch
    {'score': 1}
    """

    patch: Mapping[str, Any]
    by: str
    nulls: Mapping[str, Any] = field(default_factory=MissingObject)

    record_kind = "state_patched"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class StoryReloaded(RuntimeEvent):
    """A file of the story has changed. The session watches it (`watch=True`).

    Attributes:
        title: the title of the story in use.
        faults: empty if the next turn uses the changed story. Otherwise the faults of the changed
            files, as of :func:`narratoria.validate`; the story from before stays in use.
        opening: the opening of the story in use, with `text` and `choices`, or None.

    >>> StoryReloaded("The Well", []).faults
    []
    """

    title: str
    faults: list[dict[str, Any]]
    opening: Mapping[str, Any] | None = None

    record_kind = "story_reloaded"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class NarrativeDelta(RuntimeEvent):
    """The next piece of a narrative that the narrator is still writing.

    A :class:`Narrative` with the whole text follows, or a :class:`NarrativeRetracted`.

    Attributes:
        text: follows the pieces before it directly.

    >>> NarrativeDelta("The door ").text
    'The door '
    """

    text: str

    record_kind = "narrative_delta"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class NarrativeRetracted(RuntimeEvent):
    """The pieces told so far do not count, because no plan followed them.

    Another generation follows, or the turn ends.

    >>> NarrativeRetracted().to_dict()
    {}
    """

    record_kind = "narrative_retracted"


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class NarratorUsage(RuntimeEvent):
    """What a reply of the narrator took, as it reports it.

    Attributes:
        model: the model that replied.
        input_tokens: tokens of the request to the model, including the cached ones.
        output_tokens: tokens that the model wrote.
        cached_tokens: those of the request that the server had in a cache.
        first_ms: the time to the first token, in milliseconds.
        total_ms: the time to the last token, in milliseconds.
        cost: its price, in `currency`.
        currency: for example an ISO 4217 code.

    >>> NarratorUsage(input_tokens=900, output_tokens=120).output_tokens
    120
    """

    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    first_ms: int | None = None
    total_ms: int | None = None
    cost: float | None = None
    currency: str | None = None

    record_kind = "narrator_usage"


@dataclass(slots=True, frozen=True, repr=False)
class UnknownEvent:
    """An event of an unknown kind or type, from a later version.

    Attributes:
        kind: the record's `kind`.
        body: the event, unchanged.

    >>> event_from_dict("moon_risen", {"phase": "full"})
    UnknownEvent('moon_risen', {'phase': 'full'})
    """

    kind: str
    body: Mapping[str, Any]

    @property
    def record_kind(self) -> str:
        """The same as `kind`; all events have this attribute."""
        return self.kind

    def to_dict(self) -> dict[str, Any]:
        """The event, unchanged.

        >>> UnknownEvent("moon_risen", {"phase": "full"}).to_dict()
        {'phase': 'full'}
        """
        return dict(self.body)

    def __repr__(self) -> str:
        return f"UnknownEvent({self.kind!r}, {self.body!r})"


TOOL_EVENTS: dict[str, type[ToolEvent]] = {
    event.type: event for event in (Log, StatePatch, AssetEvent, UiEvent, ErrorEvent, Done)
}
RUNTIME_EVENTS: dict[str, type[RuntimeEvent]] = {
    event.record_kind: event
    for event in (
        Prompt,
        Narrative,
        PlanStarted,
        PlanEnded,
        ToolPending,
        ToolStarted,
        ToolEnded,
        AttemptStarted,
        AttemptEnded,
        AssetRefused,
        StateConflict,
        WarningEvent,
        UiPlaceholder,
        AssetPlaceholder,
        TurnEnded,
        StatePatched,
        SessionMoved,
        StoryReloaded,
        NarrativeDelta,
        NarrativeRetracted,
        NarratorUsage,
    )
}


def event_from_dict(kind: str, body: Mapping[str, Any]) -> EventBody | UnknownEvent:
    """Returns the event of a record as an object of its class.

    Args:
        kind: the record's `kind`; for `"tool_event"`, the body's `type` selects the class.
        body: the record's `event`.

    Returns:
        An object of a class of this module; `UnknownEvent` for an unknown kind or type.

    Raises:
        DocumentError: a member is missing or has the wrong type; `pointer` is relative to `body`.

    >>> event_from_dict("tool_event", {"version": "0", "type": "done", "ok": True})
    Done(ok=True)
    >>> event_from_dict("plan_ended", {"success": 1})
    Traceback (most recent call last):
        ...
    narratoria.errors.DocumentError: /success: must be a boolean, is a number
    """
    found: type[EventBody] | None
    if kind == "tool_event":
        type_ = body.get("type")
        found = TOOL_EVENTS.get(type_) if isinstance(type_, str) else None
    else:
        found = RUNTIME_EVENTS.get(kind)
    return UnknownEvent(kind, body) if found is None else found.from_dict(body)


def _attempt_or_null(value: Any) -> int | None:
    return None if value is None else integer(value)


@dataclass(slots=True, frozen=True, repr=False, eq=False)
class EventRecord(Document):
    """One record of the event stream: one line of `narratoria run --events`.

    Attributes:
        seq: from 1, without gaps within a session, in order of decoding and merging.
        time: when the runtime made the record: ISO-8601 with its offset.
        session_id: the session.
        event: what happened.
        plan_id: the plan's requestId; None if the record concerns no plan.
        tool_id: the tool's toolId; None if the record concerns no tool.
        attempt: number of the attempt, from 1; None if the record concerns no attempt.
        extra: unknown members.

    >>> record = EventRecord.from_dict({
    ...     "seq": 7, "time": "2026-01-24T18:30:00Z", "sessionId": "s", "planId": "p",
    ...     "kind": "narrative", "event": {"text": "It is dark.", "source": "plan"},
    ... })
    >>> record.seq, record.kind, record.event
    (7, 'narrative', Narrative(text='It is dark.', source='plan'))
    """

    seq: int
    time: str
    session_id: str
    event: EventBody | UnknownEvent
    plan_id: str | None = None
    tool_id: str | None = None
    attempt: int | None = None
    extra: Mapping[str, Any] = field(default_factory=new_object)

    _members = (
        Member("seq", integer),
        Member("time", string),
        Member("session_id", string),
        Member("plan_id", string_or_null, ALWAYS_WRITTEN),
        Member("tool_id", string_or_null, ALWAYS_WRITTEN),
        Member("attempt", _attempt_or_null, ALWAYS_WRITTEN),
        Member("event", mapping),
    )

    @property
    def kind(self) -> str:
        """The record's kind: `"tool_event"`, `"plan_started"` …"""
        return self.event.record_kind

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> EventRecord:
        """Reads the record and its event.

        Raises:
            DocumentError: a member is missing or has the wrong type; `pointer` names the place.

        >>> EventRecord.from_dict({"seq": 7})
        Traceback (most recent call last):
            ...
        narratoria.errors.DocumentError: /time: is missing
        """
        record = super(EventRecord, cls).from_dict(document)
        kind = record.extra.get("kind")
        if not isinstance(kind, str):
            raise DocumentError("is missing or not a string", "/kind")
        body: Any = record.event
        try:
            event = event_from_dict(kind, body)
        except DocumentError as fault:
            raise fault.within("event") from None
        extra = {name: value for name, value in record.extra.items() if name != "kind"}
        return cls(
            record.seq,
            record.time,
            record.session_id,
            event,
            record.plan_id,
            record.tool_id,
            record.attempt,
            extra,
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns the record as a JSON object, with its event.

        >>> EventRecord(7, "2026-01-24T18:30:00Z", "s", Narrative("Dark.", "plan")).to_dict()["event"]
        {'text': 'Dark.', 'source': 'plan'}
        """
        document = super(EventRecord, self).to_dict()
        event = self.event
        del document["event"]
        return {**document, "kind": event.record_kind, "event": event.to_dict()}
