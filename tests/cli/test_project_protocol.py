# SPDX-License-Identifier: Apache-2.0
"""Python gets the request of spec 001, and its reply becomes the result, error and trace. A fake Python replies."""

import json

import pytest

from project_folders import GREETER, SIX


def answering(project, *lines, exit_status=0):
    """Installs a fake Python that saves its request in request.json and writes this reply.

    The tool "greeter" starts it for each call.
    """
    project.bind(GREETER + "    warm: false\n")
    python = project.folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    reply = "".join(f"{line}\n" for line in lines)
    python.write_text(f"#!/bin/sh\ncat > request.json\ncat <<'REPLY'\n{reply}REPLY\n"
                      f"echo the end >&2\nexit {exit_status}\n")
    python.chmod(0o755)


# covers: 001-request, 001-request-trace-id
def test_request_has_the_specified_fields_in_order(project):
    answering(project, '{"ok": true, "protocol_version": 1, "result": {}}')
    project.run("greeter", {"name": "Ada", "height": 1.50}).exits(0)
    request = json.loads((project.folder / "request.json").read_text())
    assert list(request) == ["protocol_version", "tool", "entry", "payload", "trace_id"]
    assert request.pop("trace_id")
    assert request == {"protocol_version": 1, "tool": "greeter",
                       "entry": "tools.sample_tool:greet",
                       "payload": {"name": "Ada", "height": 1.5}}


# covers: 001-request-capability-context, 001-request-sandbox
def test_request_has_the_guarantees_and_their_sources(project):
    project.write("namel3ss.toml", "[capability_overrides]\n"
                  "greeter = { no_env_write = true, allow_unsafe_execution = true }\n")
    answering(project, '{"ok": true, "protocol_version": 1, "result": {}}')
    assert project.run("greeter")[0].status == 0
    request = json.loads((project.folder / "request.json").read_text())
    assert "sandbox" not in request
    assert request["capability_context"] == {
        "tool_name": "greeter", "resolved_source": "binding", "runner": "local",
        "protocol_version": 1, "guarantees": {**dict.fromkeys(SIX, False), "no_env_write": True},
        "sources": {"no_env_write": "user"}}
    project.bind(GREETER + "    warm: false\n    sandbox: true\n")
    project.write("namel3ss.toml", "")
    assert project.run("greeter")[0].status == 0
    request = json.loads((project.folder / "request.json").read_text())
    assert request["sandbox"] is True and "capability_context" not in request


# covers: 001-reply-success, 001-exit-0
def test_sample_reply_of_the_specification_is_the_result(project):
    answering(project, '{', '"ok": true,', '"protocol_version": 1,',
              '"result": { "message": "Hello Ada", "ok": true }', '}')
    assert project.run("greeter").exits(0).result == {"message": "Hello Ada", "ok": True}


# covers: 001-version
def test_reply_in_a_different_version_is_an_error(project):
    answering(project, '{"ok": true, "protocol_version": 2, "result": {}}')
    ran, trace = project.run("greeter").exits(1, "PROTOCOL_ERROR", "version")
    assert trace[-1]["status"] == "error"


# covers: 001-exit-crash
def test_crash_without_a_reply_is_an_error_with_its_stderr(project):
    answering(project, exit_status=3)
    ran, trace = project.run("greeter").exits(1, "EXIT_STATUS", "the end")
    assert (trace[-1]["status"], trace[-1]["result"]) == ("error", "error")


def test_capability_checks_are_traced_and_a_block_is_reported(project):
    answering(project, '{"ok": false, "error": {"type": "CapabilityViolation", '
              '"message": "Tool \\"greeter\\" cannot use the network.", '
              '"reason_code": "guarantee_blocked"}, "capability_checks": ['
              '{"capability": "network", "allowed": false, "guarantee_source": "user", '
              '"reason": "guarantee_blocked", "duration_ms": 2}, {"capability": 7}]}')
    ran, trace = project.run("greeter").exits(1, "GUARANTEE_BLOCKED")
    check, call = trace
    assert check == {"type": "capability_check", "tool_name": "greeter", "runner": "local",
                     "resolved_source": "binding", "capability": "network", "allowed": False,
                     "guarantee_source": "user", "reason": "guarantee_blocked",
                     "protocol_version": 1, "duration_ms": 2}
    # The policy allowed the call; the guarantee blocked only an act in it.
    assert (call["status"], call["decision"], call["capability"], call["reason"], call["result"]) == (
        "error", "allowed", "none", "policy_allowed", "error")


def test_only_complete_checks_are_traced_and_each_permission_once(project):
    def check(**fields):
        return {"capability": "network", "allowed": True, "guarantee_source": "user",
                "reason": "guarantee_allowed", **fields}

    answering(project, json.dumps({"ok": True, "result": 1, "capability_checks": [
        check(), check(), check(allowed=False), check(allowed=False), check(allowed="no"),
        check(guarantee_source=7), check(reason=None), {"capability": "network", "allowed": True},
        check(capability="env_read", duration_ms=1.5)]}))
    ran, trace = project.run("greeter").exits(0)
    assert [(each["capability"], each["allowed"]) for each in trace[:-1]] == [
        ("network", True), ("network", False), ("network", False), ("env_read", True)]
    assert not any("duration_ms" in each for each in trace[:-1])


@pytest.mark.parametrize("result, type_", [([1, 2], "list"), ("x", "text"), (None, "null")])
def test_trace_names_the_type_of_a_result_that_is_not_an_object(project, result, type_):
    answering(project, json.dumps({"ok": True, "result": result}))
    assert project.run("greeter")[1][-1]["output_summary"]["type"] == type_


def test_tool_that_catches_a_refusal_succeeds(project):
    answering(project, '{"ok": true, "result": 1, "capability_checks": ['
              '{"capability": "network", "allowed": false, "guarantee_source": "user", '
              '"reason": "guarantee_blocked"}]}')
    ran, (check, call) = project.run("greeter")
    assert ran.status == 0 and check["allowed"] is False, ran
    assert (call["status"], call["decision"], call["result"]) == ("ok", "allowed", "ok")


@pytest.mark.parametrize("guarantee, refuses", [
    ("no_subprocess", True), ("no_filesystem_read", True), ("no_filesystem_write", False)])
def test_script_as_python_is_a_fault_under_some_guarantees(project, guarantee, refuses):
    answering(project, '{"ok": true}')
    project.tool("greet", "sandbox: true", "warm: false")
    project.write("namel3ss.toml", f"[capability_overrides]\ngreet = {{ {guarantee} = true }}\n")
    said = f"is a script, and {guarantee} prevents it from starting Python" if refuses else ""
    project.command("validate", "project", project.folder).exits(int(refuses)).shows(said)
    if refuses:
        project.run("greet").exits(1, said)


def test_validate_runs_nothing_of_the_project(project):
    answering(project, "{}")
    project.write("tools/sample_tool.py", "open('ran', 'w')\ndef greet(payload): pass\n")
    assert project.command("validate", "project", project.folder).status == 0
    assert not (project.folder / "request.json").exists() and not (project.folder / "ran").exists()
