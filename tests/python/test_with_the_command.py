# SPDX-License-Identifier: Apache-2.0
"""The package reads the output of the command, and Python tools pass `narratoria tool check`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from narratoria import events
from narratoria.documents import Fault, Invocation, Plan, Result, RetryPolicy
from narratoria.events import EventBody, EventRecord, ToolEvent, UnknownEvent

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "bindings" / "python"
BUILD = Path(os.environ.get("NARRATORIA_BUILD_DIR", ROOT / "build" / "release")).resolve()
NARRATORIA = BUILD / "bin" / "narratoria"
DEADLINE = 300
NO_RETRY = RetryPolicy(max_retries=0)

pytestmark = pytest.mark.skipif(not NARRATORIA.exists(), reason="the command is not built")

TOOLS = {
    "lights": """
def lights(request):
    print("stray")
    log("Lighting torch...", attempts=1)
    progress(0.5)
    patch({"torch": {"lit": True, "by": request.request_id != ""}})
    with open("torch.txt", "w") as file:
        file.write("A torch.")
    asset("torch", "text", "text/plain", "torch.txt", {"words": 2})
    asset("torch", "text", "text/plain", "torch.txt")
    ui_event("narrative_choice", {"choices": ["Open", "Leave"]})
    return {"hours": 3}

run(lights)
""",
    "receives": """
def receives(request):
    return [request.input, request.operation, request.dependencies, request.results, request.tool]

run(receives)
""",
    "raises": "run(lambda request: 1 / 0)",
    "refuses": """
def refuses(request):
    raise ToolError("TORCH_WET", "The torch is too wet.", {"wetness": 0.9})

run(refuses)
""",
    "ends": "import os\nrun(lambda request: os._exit(3))",
    "sleeps": "import time\nrun(lambda request: time.sleep(60))",
}


@pytest.fixture
def narratoria(tmp_path):
    for name, body in TOOLS.items():
        path = tmp_path / name
        path.write_text(f"#!{sys.executable}\nfrom narratoria.tool import *\n{body}")
        path.chmod(0o755)

    # The command has the sanitizer inside, and must not get the library that the interpreter needs.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}

    def narratoria(*arguments):
        return subprocess.run(
            [NARRATORIA, *arguments],
            cwd=tmp_path,
            capture_output=True,
            timeout=DEADLINE,
            env=environment,
        )

    return narratoria


def invoke(name, **members):
    return Invocation(
        name,
        f"./{name}",
        environment={"PYTHONPATH": str(PACKAGE)},
        retry_policy=members.pop("retry_policy", NO_RETRY),
        **members,
    )


def test_python_plan_runs_with_command(narratoria, tmp_path):
    plan = Plan(
        tools=[
            invoke("lights"),
            invoke("receives", input={"operation": "look", "at": "door"}, dependencies=["lights"]),
            invoke("refuses", required=False, retry_policy=RetryPolicy(1, 10)),
            invoke("raises"),
            invoke("ends", required=False),
            invoke("sleeps", required=False, timeout_ms=500),
            Invocation("late", "./lights", dependencies=["raises"]),
        ],
        narrative="You reach for the torch.",
    )
    (tmp_path / "plan.json").write_text(json.dumps(plan.to_dict()))
    assert narratoria("validate", "plan", "plan.json").returncode == 0
    ran = narratoria("run", "plan.json", "--quiet", "--events", "events.ndjson")
    assert ran.returncode == 1, ran.stderr
    document = json.loads(ran.stdout)
    result = Result.from_dict(document)
    assert result.to_dict() == document

    assert result.plan_id == plan.request_id and not result.success
    assert {name: result[name].state for name in result} == {
        "lights": "completed",
        "receives": "completed",
        "refuses": "failed",
        "raises": "failed",
        "ends": "failed",
        "sleeps": "timeout",
        "late": "skipped",
    }
    assert result["lights"].result == {"hours": 3}
    assert result["lights"].output == {"torch": {"lit": True, "by": True}}
    assert "stray" in result["lights"].stderr
    assert result["receives"].result == [
        {"operation": "look", "at": "door"},
        "look",
        {"lights": {"torch": {"lit": True, "by": True}}},
        {"lights": {"hours": 3}},
        "receives",
    ]
    raised = [one for one in result["raises"].typed_events() if isinstance(one, events.ErrorEvent)]
    assert raised == [
        events.ErrorEvent("TOOL_EXCEPTION", "division by zero", {"exception": "ZeroDivisionError"})
    ]
    assert "Traceback" in result["raises"].stderr
    assert result["refuses"].retry_count == 1
    assert result["ends"].attempts[0].exit_status == 3
    assert result._repr_html_().count("<rect") == 7

    kinds = set()
    for line in (tmp_path / "events.ndjson").read_text().splitlines():
        record = EventRecord.from_dict(json.loads(line))
        assert record.to_dict() == json.loads(line)
        assert isinstance(record.event, EventBody) and not isinstance(record.event, UnknownEvent)
        assert isinstance(record.event, ToolEvent) or not record.event.extra
        kinds.add(record.kind)
    assert {"plan_started", "tool_event", "asset_refused", "tool_ended", "plan_ended"} <= kinds


@pytest.mark.parametrize("name", ["lights", "receives", "raises", "refuses"])
def test_python_tools_pass_tool_check(narratoria, tmp_path, name):
    # Next to the script: the checker sets no Python path for a tool, like the runtime.
    (tmp_path / "narratoria_tool.py").write_bytes((PACKAGE / "narratoria" / "tool.py").read_bytes())
    script = tmp_path / name
    text = script.read_text().replace("narratoria.tool", "narratoria_tool")
    # Without the second asset of the same name, which a plan refuses.
    script.write_text(text.replace('    asset("torch", "text", "text/plain", "torch.txt")\n', ""))
    ran = narratoria("tool", "check", f"./{name}", "--json")
    findings = json.loads(ran.stdout)
    assert ran.returncode == 0, findings


def test_faults_of_command_are_read(narratoria, tmp_path):
    (tmp_path / "plan.json").write_text('{"requestId": "",\n "tools": [{"toolId": 5}]}')
    ran = narratoria("validate", "plan", "plan.json", "--json")
    [checked] = json.loads(ran.stdout)["files"]
    documents = checked["faults"]
    faults = [Fault.from_dict(one) for one in documents]
    assert [one.to_dict() for one in faults] == documents
    assert "/tools/0/toolId" in [one.pointer for one in faults] and faults[0].line == 1
    assert str(faults[0]).startswith("1:15 /requestId plan-field-empty: ")
