# SPDX-License-Identifier: Apache-2.0
"""narratoria.documents: documents round-trip, and valid ones stay valid."""

import copy
import dataclasses
import json
import pickle
import re
import typing
from pathlib import Path

import pytest
from from_schema import SCHEMAS, json_objects, objects, unknown_members, validator
from hypothesis import given, settings
from hypothesis import strategies as st

from narratoria import documents
from narratoria.documents import (
    Asset,
    Attempt,
    DocumentError,
    EventRange,
    Fault,
    Invocation,
    NarratorRequest,
    Plan,
    PlayerPrompt,
    Result,
    RetryPolicy,
    ToolResult,
)
from narratoria.events import Done, Log

TORCH = Path(__file__).resolve().parents[2] / "examples" / "stories" / "torch"
PLAN = validator("plan-1")
RESULT = validator("result-1")
REQUEST = validator("narrator-request-1")

plans = objects(
    SCHEMAS["plan-1"]["$defs"]["body"], "plan-1", requestId=st.text(min_size=1, max_size=5)
)
results = objects(SCHEMAS["result-1"], "result-1")
requests = objects(
    SCHEMAS["narrator-request-1"], "narrator-request-1", previousResult=st.none() | results
)
PLAN_DEFAULTS = {"parallel": False, "disabledSkills": [], "continue": False, "choices": []}
REQUEST_DEFAULTS = {"continuation": 0, "random": 0, "previousMetadata": {}, "turnMetadata": {}}
TOOL_DEFAULTS = {
    "input": {},
    "dependencies": [],
    "required": True,
    "async": False,
    "retryPolicy": {},
    "environment": {},
}
RETRY_DEFAULTS = {"maxRetries": 3, "backoffMs": 100}


def without(defaults, document):
    return {k: v for k, v in document.items() if k not in defaults or v != defaults[k]}


def without_defaults(plan):
    plan = without(PLAN_DEFAULTS, copy.deepcopy(plan))
    for tool in plan["tools"]:
        if "retryPolicy" in tool:
            tool["retryPolicy"] = without(RETRY_DEFAULTS, tool["retryPolicy"])
    plan["tools"] = [without(TOOL_DEFAULTS, tool) for tool in plan["tools"]]
    return plan


@settings(max_examples=150)
@given(plans)
def test_plans_round_trip(document):
    before = copy.deepcopy(document)
    plan = Plan.from_dict(document)
    written = plan.to_dict()
    assert document == before
    assert written == without_defaults(document)
    assert Plan.from_dict(written) == plan
    assert PLAN.is_valid(written) and PLAN.is_valid(document)
    assert repr(plan).startswith("<Plan ")


@settings(max_examples=100)
@given(results)
def test_results_round_trip(document):
    result = Result.from_dict(document)
    written = result.to_dict()
    assert written == document
    assert Result.from_dict(written) == result
    assert RESULT.is_valid(written) == RESULT.is_valid(document)
    assert repr(result).startswith("<Result ") and len(repr(result)) < 400


@settings(max_examples=60)
@given(requests)
def test_narrator_requests_round_trip(document):
    request = NarratorRequest.from_dict(document)
    written = request.to_dict()
    assert written == without(REQUEST_DEFAULTS, document)
    assert NarratorRequest.from_dict(written) == request
    assert REQUEST.is_valid(written) == REQUEST.is_valid(document)
    assert repr(request).startswith("<NarratorRequest ")


@given(
    st.fixed_dictionaries(
        {
            **{name: st.text() for name in ("planId", "toolId", "assetId", "kind", "mediaType")},
            "attempt": st.integers(1, 9),
            "seq": st.integers(1),
            "path": st.text(),
        },
        optional={"metadata": json_objects},
    ),
    unknown_members,
)
def test_assets_round_trip(known, unknown):
    document = {**unknown, **known}
    asset = Asset.from_dict(document)
    assert asset.to_dict() == document and asset.extra == unknown


@given(
    st.fixed_dictionaries(
        {name: st.text() for name in ("pointer", "rule", "message")},
        optional={
            **{name: st.integers(0) for name in ("line", "column", "byte")},
            "file": st.text(),
        },
    )
)
def test_faults_round_trip(document):
    assert Fault.from_dict(document).to_dict() == document


@pytest.mark.parametrize("name", ["sample-plan.json", "replan-plan.json"])
def test_story_plans_round_trip(name):
    document = json.loads((TORCH / name).read_text())
    plan = Plan.from_dict(document)
    assert plan.to_dict() == without_defaults(document)
    PLAN.validate(plan.to_dict())
    assert plan.metadata == document["metadata"]


def test_invocation_id_defaults_to_name_of_tool() -> None:
    made = [Invocation("roll").to_dict(), Invocation("tools/torch-lighter").to_dict()]
    assert made == [
        {"toolId": "roll", "toolPath": "roll"},
        {"toolId": "torch-lighter", "toolPath": "tools/torch-lighter"},
    ]
    # In JSON both are required.
    with pytest.raises(DocumentError, match="/toolPath: is missing"):
        Invocation.from_dict({"toolId": "roll"})


def test_python_plan_matches_json():
    plan = Plan(
        tools=[
            Invocation("torch", "tools/torch-lighter", input={"action": "light"}),
            Invocation(
                "door",
                "tools/door-examiner",
                dependencies=["torch"],
                required=False,
                async_=True,
                retry_policy=RetryPolicy(max_retries=0),
                environment={"MOOD": "calm"},
                timeout_ms=0,
            ),
        ],
        narrative="You reach for the torch.",
        parallel=True,
    )
    document = plan.to_dict()
    PLAN.validate(document)
    assert re.fullmatch(
        "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", plan.request_id
    )
    assert document["tools"] == [
        {"toolId": "torch", "toolPath": "tools/torch-lighter", "input": {"action": "light"}},
        {
            "toolId": "door",
            "toolPath": "tools/door-examiner",
            "dependencies": ["torch"],
            "required": False,
            "async": True,
            "retryPolicy": {"maxRetries": 0},
            "environment": {"MOOD": "calm"},
            "timeoutMs": 0,
        },
    ]
    assert Plan().request_id != Plan().request_id
    assert plan.tool("door").required is False
    with pytest.raises(KeyError, match="no tool 'lever'; there is torch, door"):
        plan.tool("lever")


def test_missing_member_is_written_once_filled():
    plan = Plan.from_dict({"requestId": "p", "tools": []})
    assert "metadata" not in plan.to_dict()
    plan.metadata["generationAttempt"] = 2
    assert plan.to_dict()["metadata"] == {"generationAttempt": 2}
    assert Plan.from_dict({"requestId": "p", "tools": []}).metadata == {}


@pytest.mark.parametrize(
    "document, pointer, says",
    [
        ({}, "/requestId", "is missing"),
        ({"requestId": "p"}, "/tools", "is missing"),
        ({"requestId": "p", "tools": {}}, "/tools", "must be an array, is an object"),
        ({"requestId": "p", "tools": [5]}, "/tools/0", "must be an object, is a number"),
        (
            {
                "requestId": "p",
                "tools": [
                    {"toolId": "a", "toolPath": "b"},
                    {"toolId": "a", "toolPath": "b", "retryPolicy": {"maxRetries": "3"}},
                ],
            },
            "/tools/1/retryPolicy/maxRetries",
            "must be an integer, is a string",
        ),
        (
            {
                "requestId": "p",
                "tools": [{"toolId": "a", "toolPath": "b", "environment": {"A/B~": 5}}],
            },
            "/tools/0/environment/A~1B~0",
            "must be a string, is a number",
        ),
        ({"requestId": "p", "tools": [], "parallel": None}, "/parallel", "is null"),
        ("plan", "", "must be an object, is a string"),
    ],
)
def test_faults_have_pointers(document, pointer, says):
    with pytest.raises(DocumentError) as caught:
        Plan.from_dict(document)
    assert caught.value.pointer == pointer and says in str(caught.value)


def result_of(*tools, success=False):
    return Result(
        "550e8400-e29b-41d4-a716-446655440000",
        success,
        "",
        120,
        list(tools),
        [tool.tool_id for tool in tools if tool.state in ("failed", "timeout")],
        1,
        not success,
    )


def tool_of(name, state="completed", code=None, **more):
    error = None if state == "completed" else f"{name} was {state}"
    ok = state == "completed"
    return ToolResult(
        name, ok, state, {}, 10 if state != "skipped" else 0, 0, [], error, code, **more
    )


def test_result_repr_is_concise():
    assert (
        repr(result_of(tool_of("torch"), success=True))
        == "<Result success plan=550e8400… 1 tool 120 ms>"
    )
    result = result_of(
        tool_of("torch"),
        tool_of("door", "failed", "EXIT_STATUS"),
        tool_of("lever", "timeout", "TIMEOUT"),
        tool_of("hall", "skipped"),
    )
    RESULT.validate(result.to_dict())
    assert repr(result) == (
        "<Result failed plan=550e8400… 4 tools, 2 failed (door: EXIT_STATUS, lever: TIMEOUT), "
        "1 skipped 120 ms>"
    )
    assert [tool.tool_id for tool in result.failed] == ["door", "lever"] == result.failed_tools
    assert [tool.tool_id for tool in result.skipped] == ["hall"]
    assert result["torch"] is result.tool("torch") is result.tool_results[0]
    assert list(result) == ["torch", "door", "lever", "hall"]
    assert "door" in result and "cellar" not in result and bool(result)
    with pytest.raises(KeyError, match="no tool 'cellar'; there is torch, door, lever, hall"):
        result["cellar"]
    assert repr(result["door"]) == "<ToolResult door failed EXIT_STATUS: door was failed, 10 ms>"
    assert repr(result["torch"]) == "<ToolResult torch completed 10 ms>"


def test_typed_events_of_result():
    said = [
        {"version": "0", "type": "log", "level": "info", "message": "First"},
        {"version": "0", "type": "log", "level": "info", "message": "Second"},
        {"version": "0", "type": "done", "ok": True},
    ]
    tool = tool_of("torch")
    tool.events = said
    tool.attempts = [
        Attempt(1, "failed", "2026-01-24T18:30:00Z", 5, EventRange(0, 1), "EXIT_STATUS", 1),
        Attempt(2, "completed", "2026-01-24T18:30:01Z", 5, EventRange(1, 2), exit_status=0),
    ]
    assert list(tool.typed_events()) == [Log("First"), Log("Second"), Done(True)]
    assert tool.events[tool.attempts[1].events.slice] == said[1:]
    assert repr(tool.attempts[0]) == "<Attempt 1 failed EXIT_STATUS exit status 1 5 ms>"
    tool.events = [said[0], {"version": "0", "type": "log"}]
    with pytest.raises(DocumentError) as caught:
        list(tool.typed_events())
    assert caught.value.pointer == "/events/1/message"


def test_null_result_is_kept():
    document = {**tool_of("a").to_dict(), "result": None}
    assert ToolResult.from_dict(document).to_dict() == document
    assert "result" not in tool_of("a").to_dict()


def test_python_narrator_request_is_valid():
    request = NarratorRequest("s", PlayerPrompt("I light the torch", "2026-01-24T18:30:00Z", "s"))
    REQUEST.validate(request.to_dict())


def test_type_hints_can_be_evaluated():
    for name in documents.__all__:
        assert typing.get_type_hints(getattr(documents, name)) is not None


class TestLateResult:
    def later(self, document, reads):
        def read():
            reads.append(document)
            return document

        return Result.later(read, success=document["success"])

    def document(self):
        return Result(
            "p", True, "Light!", 5, [tool_of("torch")], [], 1, False, extra={"new": 1}
        ).to_dict()

    def test_late_result_is_parsed_on_demand(self):
        reads = []
        result = self.later(self.document(), reads)
        assert result.success and not hasattr(result, "_repr_png_") and reads == []
        assert result["torch"].ok and result.narrative == "Light!" and result.extra == {"new": 1}
        assert len(reads) == 1

    def test_late_result_equals_parsed_result(self):
        document = self.document()
        read = Result.from_dict(document)
        assert self.later(document, []) == read
        assert repr(self.later(document, [])) == repr(read)
        assert self.later(document, []).to_dict() == document
        assert copy.deepcopy(self.later(document, [])) == read
        assert pickle.loads(pickle.dumps(self.later(document, []))) == read
        assert dataclasses.replace(self.later(document, []), narrative="Dark.").narrative == "Dark."

    def test_set_attribute_survives_late_parsing(self):
        result = self.later(self.document(), [])
        result.narrative = "Dark."
        assert result.plan_id == "p" and result.narrative == "Dark."

    def test_unknown_attribute_raises(self):
        with pytest.raises(AttributeError, match="'Result' object has no attribute 'tools'"):
            self.later(self.document(), []).tools
