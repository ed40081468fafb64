# SPDX-License-Identifier: Apache-2.0
"""narratoria.events: events round-trip, and their types match the schemas."""

import copy
import dataclasses
import json
import pickle
import typing

import pytest
from from_schema import SCHEMAS, objects, unknown_members, validator
from hypothesis import given, settings
from hypothesis import strategies as st

from narratoria import _core, events
from narratoria.events import (
    AssetEvent,
    AttemptEnded,
    DocumentError,
    Done,
    EventBody,
    EventRecord,
    Log,
    StatePatch,
    ToolEvent,
    UnknownEvent,
    WarningEvent,
    event_from_dict,
)

EVENT = validator("event-0")
RECORD = validator("event-record-1")
TYPES = SCHEMAS["event-0"]["properties"]["type"]["enum"]
KINDS = [
    kind
    for kind in SCHEMAS["event-record-1"]["properties"]["kind"]["examples"]
    if kind != "tool_event"
]
classes = [
    one
    for one in vars(events).values()
    if isinstance(one, type) and issubclass(one, EventBody) and one not in (EventBody, ToolEvent)
]


def tool_events(name):
    schema = SCHEMAS["event-0"]
    envelope = {"version": st.just("0"), "type": st.just(name)}
    return st.builds(
        lambda one, more: {**one, **more},
        objects(schema["$defs"][name], "event-0", **envelope),
        st.fixed_dictionaries({}, optional={"requestId": st.text(), "timestamp": st.text()}),
    )


def runtime_events(kind):
    return objects(SCHEMAS["event-record-1"]["$defs"][kind], "event-record-1")


def json_of(kind, body, **members):
    """A record of the event stream."""
    of = {"sessionId": "s", "planId": None, "toolId": None, "attempt": None}
    return {"seq": 3, "time": "2026-01-24T18:30:00Z", **of, "kind": kind, "event": body, **members}


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=60)
@given(data=st.data())
def test_tool_events_round_trip(name, data):
    body = data.draw(tool_events(name))
    EVENT.validate(body)
    before = copy.deepcopy(body)
    event = event_from_dict("tool_event", body)
    assert event.type == name and isinstance(event, ToolEvent)
    assert event.to_dict() == body == before
    assert type(event).from_dict(event.to_dict()) == event
    assert pickle.loads(pickle.dumps(event)) == event
    assert repr(event).startswith(type(event).__name__ + "(")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(data=st.data())
def test_runtime_events_round_trip(kind, data):
    body = data.draw(runtime_events(kind))
    event = event_from_dict(kind, body)
    assert not isinstance(event, UnknownEvent), "each kind of the schema has a class"
    assert event.record_kind == kind
    assert event.to_dict() == body
    assert type(event).from_dict(event.to_dict()) == event
    members = {"time": "2026-01-24T18:30:00.250Z", "planId": "p", "toolId": "t", "attempt": 1}
    RECORD.validate(json_of(kind, body, **members))
    RECORD.validate(json_of(kind, event.to_dict(), **members))


@settings(max_examples=60)
@given(
    st.sampled_from(KINDS).flatmap(
        lambda kind: st.tuples(st.just(kind), runtime_events(kind), unknown_members)
    )
)
def test_records_round_trip(drawn):
    kind, body, more = drawn
    record = {**more, **json_of(kind, body)}
    assert EventRecord.from_dict(record).to_dict() == record
    assert EventRecord.from_dict(record).extra == more
    short = {k: v for k, v in record.items() if k not in ("planId", "toolId", "attempt")}
    assert EventRecord.from_dict(short) == EventRecord.from_dict(record)


def record_of(kind, body):
    """Returns an event of the compiled part, as in a session."""
    numbers = {}
    while (name := _core.kind_name(len(numbers) + 1)) is not None:
        numbers[name] = len(numbers) + 1
    # The numbers of the types of tool events.
    tool_types = ["log", "state_patch", "asset", "ui_event", "error", "done"]
    type_number = tool_types.index(body["type"]) + 1 if kind == "tool_event" else 0
    text = _core.to_json(body).encode()
    return _core.restore_event(1, 0, numbers[kind], type_number, 1, "s", "p", "t", text)


@pytest.mark.parametrize("name", ["tool_event", *KINDS])
@settings(max_examples=20)
@given(data=st.data())
def test_data_equals_event_from_dict(name, data):
    if name == "tool_event":
        body = data.draw(tool_events(data.draw(st.sampled_from(TYPES))))
    else:
        body = data.draw(runtime_events(name))
    for each in (body, {**body, **data.draw(unknown_members)}):
        event = record_of(name, each)
        read = event_from_dict(name, event.body)
        assert event.data == read and type(event.data) is type(read)
        assert repr(event.data) == repr(read) and event.data.to_dict() == read.to_dict()
        assert event.data.extra is not record_of(name, each).data.extra


@pytest.mark.parametrize(
    "kind, body",
    [
        ("tool_event", {"version": "0", "type": "log", "level": "info", "message": "a", "n": 1}),
        ("tool_event", {"version": "0", "type": "ui_event", "event": "bell", "of": [1], "b": {}}),
        ("tool_pending", {"toolPath": "t", "dependencies": ["a", "b"]}),
        ("narrative", {"text": "a", "source": "plan", "mood": None}),
    ],
)
def test_data_of_every_kind_has_compiled_reader(kind, body, monkeypatch):
    expected = event_from_dict(kind, body)
    monkeypatch.setattr(events, "event_from_dict", None)
    assert record_of(kind, body).data == expected


def test_data_copies_lists():
    event = record_of("tool_pending", {"toolPath": "t", "dependencies": ["a"]})
    event.data.dependencies.append("b")
    assert event.body["dependencies"] == ["a"]


def test_every_event_class_is_tested():
    reached = {event_from_dict("tool_event", example(one)).__class__ for one in TYPES}
    reached |= {type(event_from_dict(kind, example(kind))) for kind in KINDS}
    assert reached == {one for one in classes if one is not events.RuntimeEvent}
    assert {name for name in events.__all__} <= set(vars(events))


def example(name):
    found = []

    @settings(max_examples=1, database=None)
    @given(tool_events(name) if name in TYPES else runtime_events(name))
    def draw(body):
        found.append(body)

    draw()
    return found[0]


@pytest.mark.parametrize(
    "kind, body, pointer, says",
    [
        ("tool_event", {"type": "log", "version": "1"}, "/version", 'must be "0"'),
        ("tool_event", {"type": "log"}, "/version", "is missing"),
        ("tool_event", {"type": "done", "version": "0", "ok": 1}, "/ok", "boolean, is a number"),
        ("tool_event", {"type": "done", "version": "0"}, "/ok", "is missing"),
        (
            "tool_event",
            {"type": "log", "version": "0", "level": "loud", "message": "x"},
            "/level",
            '"warn"',
        ),
        (
            "tool_event",
            {"type": "state_patch", "version": "0", "patch": [1]},
            "/patch",
            "must be an object, is an array",
        ),
        ("attempt_started", {"attempt": True}, "/attempt", "must be an integer, is a boolean"),
        ("attempt_started", {"attempt": 1.5}, "/attempt", "must be an integer, is a number"),
        ("tool_pending", {"toolPath": "a", "dependencies": ["b", 5]}, "/dependencies/1", "string"),
        ("tool_pending", {"toolPath": "a", "dependencies": "b"}, "/dependencies", "an array"),
        ("warning", {"code": None, "message": "x"}, "/code", "must be a string, is null"),
        ("warning", [], "", "must be an object, is an array"),
    ],
)
def test_faults_have_pointers(kind, body, pointer, says):
    with pytest.raises(DocumentError) as caught:
        event_from_dict(kind, body)
    assert caught.value.pointer == pointer
    assert says in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_faults_of_record_have_pointers_from_record():
    record = {"seq": 1, "time": "x", "sessionId": "s", "kind": "warning", "event": {"code": 1}}
    with pytest.raises(DocumentError) as caught:
        EventRecord.from_dict(record)
    assert caught.value.pointer == "/event/code"
    with pytest.raises(DocumentError) as caught:
        EventRecord.from_dict({**record, "kind": 5})
    assert caught.value.pointer == "/kind"


@pytest.mark.parametrize(
    "kind, body",
    [("moon_risen", {"phase": 1}), ("tool_event", {"type": "sing"}), ("tool_event", {"type": []})],
)
def test_unknown_event_is_kept_unchanged(kind, body):
    event = event_from_dict(kind, body)
    assert event == UnknownEvent(kind, body) and event.to_dict() == body


def test_events_match_by_position():
    match Log("Lighting...", "warn", {"progress": 0.5}):
        case Log(message, "warn", {"progress": share}):
            assert (message, share) == ("Lighting...", 0.5)
        case _:
            raise AssertionError
    for one in classes:
        assert not {"extra", "request_id"} & set(one.__match_args__)


def test_empty_optional_members_are_left_out():
    assert repr(Log("x")) == "Log(message='x', level='info')"
    assert repr(Done(True)) == "Done(ok=True)"
    assert Log("x").to_dict() == {"version": "0", "type": "log", "level": "info", "message": "x"}
    assert Log("x", fields={}).to_dict()["fields"] == {}
    assert Log("x").fields.get("progress") is None
    assert len(repr(StatePatch({"a": "x" * 10000}))) < 200
    assert repr(Done(True, extra={"mood": "calm"})) == "Done(ok=True, extra={'mood': 'calm'})"


def test_null_result_is_kept():
    body = {"version": "0", "type": "done", "ok": True, "result": None}
    event = event_from_dict("tool_event", body)
    assert event.result is None and event.to_dict() == body
    assert dataclasses.replace(event, result=5).to_dict()["result"] == 5


def test_events_are_frozen_and_have_no_dict():
    for one in (Log("x"), AttemptEnded(1, "failed"), WarningEvent("A", "b")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.extra = {}
        assert not hasattr(one, "__dict__")
    assert dataclasses.asdict(AssetEvent("a", "image", "image/png", "/a"))["metadata"] == {}


def test_type_hints_can_be_evaluated():
    for one in classes:
        assert typing.get_type_hints(one)


def test_reads_event_stream_of_command():
    line = (
        '{"seq":11,"time":"2026-11-21T21:11:18.657620Z","sessionId":"4d2c","planId":"550e",'
        '"toolId":"light1","attempt":1,"kind":"attempt_ended",'
        '"event":{"attempt":1,"state":"completed","exitStatus":0}}'
    )
    record = EventRecord.from_dict(json.loads(line))
    assert record.event == AttemptEnded(1, "completed", exit_status=0)
    assert record.to_dict() == json.loads(line)


def test_traces_of_project_tool_are_read():
    body = {
        "attempt": 1,
        "state": "completed",
        "exitStatus": 0,
        "traces": [{"type": "tool_call", "tool": "count"}],
    }
    event = AttemptEnded.from_dict(body)
    assert event.traces == [{"type": "tool_call", "tool": "count"}]
    assert event.to_dict() == body
    assert AttemptEnded(1, "completed").traces == []
