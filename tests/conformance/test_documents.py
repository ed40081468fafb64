# SPDX-License-Identifier: Apache-2.0
"""The documents that the runtime writes match their schemas: results, event records, narrator requests.

The command runs plans that end in every possible way, and each document it writes is validated
against abi/schemas. So are the narrator requests of a turn with a failed plan, a refused plan and
the fallback.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))

from harness import BUILD, DEADLINE, NARRATORIA, Command, done, event, log, patch  # noqa: E402
from test_schemas import VALIDATORS  # noqa: E402

NO_RETRY = {"maxRetries": 0, "backoffMs": 0}
ASSET = dict(assetId="a", kind="image", mediaType="image/png")


def tool(tool_id, path, **members):
    return {"toolId": tool_id, "toolPath": path, "retryPolicy": NO_RETRY, **members}


# name: (the plan's tools, its other members, the exit status, the expected part of the result)
PLANS = {
    "success": ([tool("a", "works"), tool("b", "works", dependencies=["a"])], {}, 0,
                {"a": "completed", "b": "completed"}),
    "narrative": ([], {"narrative": "Silence.\n"}, 0, {}),
    "failure": ([tool("a", "fails"), tool("b", "works", dependencies=["a"]),
                 tool("c", "works", dependencies=["b"])], {}, 1,
                {"a": "failed", "b": "skipped", "c": "skipped"}),
    "optional": ([tool("a", "fails", required=False), tool("b", "works", dependencies=["a"])], {}, 0,
                 {"a": "failed", "b": "completed"}),
    "retry": ([tool("a", "second-time", retryPolicy={"maxRetries": 3, "backoffMs": 1})], {}, 0,
              {"a": "completed"}),
    "time-out": ([tool("a", "hangs", timeoutMs=50)], {}, 1, {"a": "timeout"}),
    "not-there": ([tool("a", "no/such/tool"), tool("b", "/dev/null"), tool("c", "web:service")], {}, 1,
                  {"a": "failed", "b": "failed", "c": "failed"}),
    "protocol-error": ([tool("a", "garbage"), tool("b", "unknown-type")], {}, 1,
                       {"a": "failed", "b": "failed"}),
    "signal": ([tool("a", "killed"), tool("b", "exits")], {}, 1, {"a": "failed", "b": "failed"}),
    "refused-assets": ([tool("a", "assets")], {}, 0, {"a": "completed"}),
    "conflict": ([{**tool("a", "one"), "async": True}, {**tool("b", "other"), "async": True}],
                 {"parallel": True}, 0, {"a": "completed", "b": "completed"}),
    "everything-said": ([tool("a", "says-everything")], {"metadata": {
        "generationAttempt": 5, "parentPlanId": "before"}, "disabledSkills": ["old"]}, 0, {"a": "completed"}),
    "after-done": ([tool("a", "after-done"), tool("b", "strange-envelope")], {}, 0,
                   {"a": "completed", "b": "completed"}),
}


@pytest.fixture
def command(tmp_path):
    one = Command(tmp_path)
    one.tool("works", patch(lit=True), done(summary="Torch lit.", result={"any": [None, 1.5]}))
    one.tool("fails", event("error", errorCode="WET", errorMessage="wet", details={"ml": 3}),
             done(False, summary="It is wet."), before="echo oh no >&2")
    one.tool("second-time", done(), before="[ -e once ] || { touch once; exit 3; }")
    one.tool("hangs", before="echo '" + log("waiting") + "'\nmkfifo never && read -r never < never")
    one.tool("garbage", log("so far"), "no JSON")
    one.tool("unknown-type", event("sing"))
    one.tool("killed", before="kill -9 $$")
    one.tool("exits", done(), exit_status=200)
    one.file("picture.png", b"")
    one.tool("assets", event("asset", **ASSET, path="picture.png", metadata={"width": 1}),
             event("asset", **ASSET, path="picture.png"),
             event("asset", **{**ASSET, "assetId": "b", "mediaType": "picture"}, path="picture.png"),
             event("asset", **{**ASSET, "assetId": "c"}, path="missing.png"), done())
    # Both tools run concurrently, and each patch is merged before the other tool ends.
    os.mkfifo(tmp_path / "there")
    os.mkfifo(tmp_path / "back")
    one.tool("one", done(), before="echo '" + patch(torch=1) + "'; echo go > there; read -r go < back")
    one.tool("other", done(), before="read -r go < there; echo '" + patch(torch=2) + "'; echo go > back")
    one.tool("says-everything", event("log", level="debug", message="é \u2028 \U0001f525", fields={"progress": 0.5}),
             patch(a={"b": [1, None]}, gone=None), event("ui_event", event="narrative_choice", payload={"choices": ["x"]}),
             event("ui_event", event="shake"), event("error", errorCode="E", errorMessage="m"), done())
    one.tool("after-done", done(), log("too late"), "no JSON")
    one.tool("strange-envelope", event("log", level="info", message="m", requestId="other", timestamp="noon"), done())
    yield one
    one.end()


def faults(name, document):
    return [f"{'/'.join(map(str, fault.absolute_path))}: {fault.message}"
            for fault in VALIDATORS[name].iter_errors(document)]


def records_of(path):
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def check_stream(records):
    # An asset with an invalid MIME type is refused, but its event is passed on and violates its
    # schema.
    invalid = [(record["toolId"], record["event"]["assetId"]) for record in records
               if record["kind"] == "asset_refused" and record["event"]["code"] == "ASSET_INVALID"]
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    for record in records:
        assert faults("event-record", record) == [], record
        if record["kind"] == "tool_event":
            expected = (record["toolId"], record["event"].get("assetId")) in invalid
            assert (faults("event", record["event"]) != []) == expected, record


def run(command, tools, members, *options):
    plan = command.file("plan.json", {"requestId": "plan-1", "tools": tools, **members})
    assert faults("plan", json.loads(plan.read_text())) == []
    return command("run", plan, "--quiet", "--events", "events.ndjson", "--jobs", "4", *options)


# covers: 003-13.5-result, 003-13.7-result-schema, 003-13.4.8-trace
@pytest.mark.parametrize("name", PLANS)
def test_result_and_events_match_their_schemas(command, name):
    tools, members, status, states = PLANS[name]
    finished = run(command, tools, members)
    assert finished.status == status, finished
    result = finished.result
    assert faults("result", result) == []
    assert {tool["toolId"]: tool["state"] for tool in result["toolResults"]} == states
    records = records_of(command.folder / "events.ndjson")
    check_stream(records)
    # Rules that a schema cannot express.
    command.file("result.json", finished.out)
    checked = command("validate", "result", "result.json")
    assert checked.status == 0, checked
    # The stream alone gives each tool's final state and its events.
    ended = {record["toolId"]: record["event"]["state"] for record in records if record["kind"] == "tool_ended"}
    assert ended == states
    for one in result["toolResults"]:
        assert one["events"] == [record["event"] for record in records
                                 if record["kind"] == "tool_event" and record["toolId"] == one["toolId"]]


def kinds_and_codes(records):
    return [(record["kind"], record["event"].get("code")) for record in records]


def test_stream_has_refused_assets_conflicts_and_warnings(command):
    tools, members, _, _ = PLANS["refused-assets"]
    run(command, tools, members)
    codes = [code for kind, code in kinds_and_codes(records_of(command.folder / "events.ndjson"))
             if kind == "asset_refused"]
    assert codes == ["ASSET_DUPLICATE", "ASSET_INVALID", "ASSET_UNREADABLE"]

    tools, members, _, _ = PLANS["conflict"]
    run(command, tools, members)
    conflicts = [record["event"] for record in records_of(command.folder / "events.ndjson")
                 if record["kind"] == "state_conflict"]
    assert conflicts == [{"path": "/torch", "tools": ["a", "b"]}]

    tools, members, _, _ = PLANS["after-done"]
    run(command, tools, members)
    codes = [code for kind, code in kinds_and_codes(records_of(command.folder / "events.ndjson"))
             if kind == "warning"]
    assert sorted(codes) == ["AFTER_DONE", "REQUEST_ID", "TIMESTAMP"]


# covers: 003-13.5-result, 003-13.5-can-replan
def test_result_of_a_cancelled_plan_matches_its_schema(command):
    plan = command.file("plan.json", {"requestId": "plan-1", "tools": [
        tool("a", "hangs"), tool("b", "works", dependencies=["a"])]})
    running = command.start("run", plan, "--quiet")
    running.wait_for_log("waiting")
    running.signal(2)
    finished = running.finish()
    assert finished.status == 130, finished
    result = finished.result
    assert faults("result", result) == []
    assert [tool["errorCode"] for tool in result["toolResults"]] == ["CANCELLED", "CANCELLED"]
    assert result["canReplan"] is False


# covers: 003-13.6-returns-plan, 004-prompt-generates-plan
def test_narrator_requests_match_their_schema(command):
    # The C++ test writes its narrator's requests to the file in NARRATORIA_KEEP_REQUESTS.
    program = BUILD / "tests" / "narratoria_conformance_tests"
    assert program.exists(), f"{program} is not built"
    kept = command.folder / "requests.ndjson"
    finished = subprocess.run(
        [program, "--gtest_filter=NarratorLoop.NextRequestReportsEachKindOfRefusal"],
        env={**os.environ, "NARRATORIA_KEEP_REQUESTS": str(kept)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE)
    assert finished.returncode == 0, finished.stdout.decode()
    requests = records_of(kept)
    assert len(requests) == 5, finished.stdout.decode()
    for request in requests:
        assert faults("narrator-request", request) == [], request
    assert requests[0]["previousResult"] is None
    assert requests[1]["planFaults"] != []
    assert requests[2]["previousResult"]["toolResults"][0]["state"] == "failed"
    assert requests[2]["disabledSkills"] == ["fails"]
    assert requests[3]["planFaults"][0]["rule"] == "plan-skill-disabled"
    assert requests[4]["planFaults"][0]["rule"] == "narrator-failed"


def test_command_is_built():
    assert NARRATORIA.exists(), f"{NARRATORIA} is not built; set NARRATORIA_BUILD_DIR"
