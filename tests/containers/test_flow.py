# SPDX-License-Identifier: Apache-2.0
"""The bakery example: a script calls a process, a sandbox, a service and a container.

One trace has all four calls.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest

from container_runtime import make_image
from harness import SOURCE, environment

BAKERY = SOURCE / "examples" / "projects" / "bakery"
IMAGE = "localhost/narratoria-bakery"
PYTHON = ["python_env", "python_path", "deps_source", "protocol_version", "sandbox"]
# The fields of specification 001, in the order of the pages about traces.
FIRST = ["type", "tool", "tool_name", "kind", "input_summary", "purity", "resolved_source", "timeout_ms", "entry",
         "runner"]
LAST = ["status", "output_summary", "duration_ms", "decision", "capability", "reason", "result"]


@pytest.fixture
def service():
    """Runs the service of the example; yields the variables that the caller needs."""
    process = subprocess.Popen(
        [sys.executable, SOURCE / "examples" / "service" / "service.py", "--port", "0", "--root", BAKERY,
         "--enforced", "no_subprocess"], stdout=subprocess.PIPE, text=True)
    with process:
        port = json.loads(process.stdout.readline())["port"]
        yield {"N3_TOOL_SERVICE_URL": f"http://127.0.0.1:{port}/tools"}
        process.kill()


def play(command, script, env):
    trace = command.folder / "trace.ndjson"
    ran = command("script", script, "--project", BAKERY, "--scope", '{"words": "3 buns, 2 pretzels"}',
                  "--trace", trace, env=env)
    return ran, [json.loads(line) for line in trace.read_text().splitlines()]


def check_first_three(trace):
    """Checks the three calls that need no container."""
    order, bill, place = trace
    assert list(order) == FIRST + PYTHON + LAST
    assert (order["tool"], order["runner"], order["sandbox"]) == ("read_order", "local", False)
    assert order["input_summary"] == {"type": "object", "keys": ["words"], "count": 1}
    assert list(bill) == FIRST + PYTHON + LAST
    assert (bill["tool"], bill["runner"], bill["sandbox"]) == ("add_prices", "local", True)
    assert list(place) == [*FIRST, "service_url", "protocol_version", "service_handshake", "enforcement_level", *LAST]
    assert (place["tool"], place["runner"], place["enforcement_level"]) == ("reserve", "service", "enforced")
    for call in (order, bill, place):
        assert (call["type"], call["status"], call["decision"], call["result"]) == ("tool_call", "ok", "allowed", "ok")
        assert call["tool_name"] == call["tool"] and call["kind"] == "python" and call["protocol_version"] == 1
        assert call["resolved_source"] == "binding" and call["timeout_ms"] == 30000


def test_script_calls_process_sandbox_and_service_in_one_trace(command, service):
    script = command.folder / "flow.nuwa"
    script.write_text("".join(line for line in (BAKERY / "flow.nuwa").read_text().splitlines(True)
                              if "label" not in line))
    ran, trace = play(command, script, environment(**service))
    assert ran.status == 0 and ran.lines == ["shelf 5"], ran
    check_first_three(trace)


# covers: 001-trace-runner
def test_script_calls_every_kind_of_runner_in_one_trace(command, service, runtime):
    made = make_image(runtime, IMAGE, BAKERY / "tools")
    assert made.returncode == 0, made
    try:
        env = environment(NARRATORIA_CONTAINER_RUNTIME=runtime.program, **runtime.environment, **service)
        ran, trace = play(command, BAKERY / "flow.nuwa", env)
    finally:
        runtime("rmi", "-f", IMAGE)
    assert ran.status == 0 and ran.lines == ["shelf 5", "Kneads & Co. shelf 5, 8.75 to pay"], ran
    *first, label = trace
    check_first_three(first)
    assert list(label) == [*FIRST, "image", "command", "container_enforcement", "container_runtime",
                           "protocol_version", *LAST]
    assert (label["image"], label["command"]) == (IMAGE, "python -m narratoria_runner")
    assert label["container_runtime"] == os.path.basename(runtime.program)
    assert label["container_enforcement"] == "verified" and label["status"] == "ok"


def test_bakery_project_is_valid(command):
    folder = command.folder / "bakery"
    shutil.copytree(BAKERY, folder)
    checked = command("validate", "project", folder)
    assert checked.status == 0, checked
