# SPDX-License-Identifier: Apache-2.0
"""A Namel3ss project (spec 001): its tools, their traces, and what is wrong with one."""

import json
import sys

import pytest

from harness import environment

TOOLS = '''
import os

def greet(payload):
    print("greeting")
    return {"message": "Hello " + payload["name"], "ok": True}

def fails(payload):
    raise ValueError("Missing input")

def waits(payload):
    import time
    time.sleep(600)

def where(payload):
    return {"folder": os.getcwd(), "path": os.environ["PYTHONPATH"].split(":"), "env": os.environ.get("MOOD")}
'''
GREETER = 'tools:\n  "greeter":\n    kind: "python"\n    entry: "tools.sample_tool:greet"\n'


class Project:
    def __init__(self, command):
        self.command = command
        self.folder = command.folder / "project"
        self.write("tools/sample_tool.py", TOOLS)
        self.bind(GREETER)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def bind(self, text):
        self.write(".namel3ss/tools.yaml", text)

    def tool(self, name, *fields):
        """One tool of sample_tool.py with these lines of fields."""
        self.bind(f"tools:\n  {name}:\n    entry: tools.sample_tool:{name}\n"
                  + "".join(f"    {field}\n" for field in fields))

    def run(self, tool, payload=None, **options):
        """The command's end and its trace."""
        trace = self.command.folder / "trace.ndjson"
        trace.unlink(missing_ok=True)
        ran = self.command("tool", "run", tool, "--project", self.folder, "--trace", trace,
                           "--input", json.dumps(payload or {}), **options)
        lines = trace.read_text().splitlines() if trace.exists() else []
        return ran, [json.loads(line) for line in lines]

    def faults(self):
        """The faults of tools.yaml, with place and message."""
        ran = self.command("tool", "run", "any", "--project", self.folder)
        assert ran.status == 2, ran
        return ran.err


@pytest.fixture
def project(command):
    return Project(command)


def events(ran):
    return [json.loads(line) for line in ran.lines]


# covers: 001-entry, 001-payload, 001-result
def test_a_bound_tool_runs_and_its_prints_are_logged(project):
    ran, trace = project.run("greeter", {"name": "Ada"})
    assert ran.status == 0, ran
    log, done = events(ran)
    assert (log["type"], log["message"]) == ("log", "greeting")
    assert done["type"] == "done" and done["result"] == {"message": "Hello Ada", "ok": True}
    (call,) = trace
    assert list(call) == [
        "type", "tool", "tool_name", "kind", "input_summary", "purity", "resolved_source",
        "timeout_ms", "entry", "runner", "python_env", "python_path", "deps_source",
        "protocol_version", "sandbox", "status", "output_summary", "duration_ms", "decision",
        "capability", "reason", "result"]
    assert call["type"] == "tool_call" and call["tool"] == call["tool_name"] == "greeter"
    assert call["input_summary"] == {"type": "object", "keys": ["name"], "count": 1}
    assert call["output_summary"] == {"type": "object", "keys": ["message", "ok"], "count": 2}
    assert call["runner"] == "local" and call["resolved_source"] == "binding"
    assert call["timeout_ms"] == 10000 and call["python_env"] == "system"
    assert (call["decision"], call["capability"], call["reason"], call["result"]) == (
        "allowed", "none", "policy_allowed", "ok")


def test_a_function_that_raises_fails_the_tool_with_its_type_and_message(project):
    project.tool("fails")
    ran, trace = project.run("fails")
    assert ran.status == 1 and "ValueError: Missing input" in ran.err, ran
    (call,) = trace
    assert (call["status"], call["error_type"], call["error_message"]) == (
        "error", "ValueError", "Missing input")
    assert (call["decision"], call["result"]) == ("allowed", "error")


def test_the_tool_runs_in_the_project_with_its_path_and_environment(project):
    project.tool("where", 'env: {"MOOD": "good"}')
    ran, _ = project.run("where", env=environment(PYTHONPATH="/elsewhere"))
    assert events(ran)[-1]["result"] == {
        "folder": str(project.folder), "path": [str(project.folder)], "env": "good"}


def test_a_time_out_is_that_of_the_binding_and_in_the_trace(project):
    project.tool("waits", "timeout_ms: 200")
    ran, trace = project.run("waits")
    assert ran.status == 1 and "within 200 ms" in ran.err, ran
    assert trace[-1]["status"] == "error" and trace[-1]["timeout_ms"] == 200
    assert trace[-1]["error_type"] == "TimeoutError"


def test_a_name_that_is_not_bound_is_refused_with_those_that_are(project):
    ran, trace = project.run("greet")
    assert ran.status == 2 and "binds no tool greet; it binds greeter" in ran.err, ran
    assert trace == []


def test_a_trace_needs_a_project(command):
    ran = command("tool", "run", command.tool("any"), "--trace", "t")
    assert ran.status == 2 and "--project" in ran.err, ran


def test_a_folder_that_is_no_project_is_refused(command):
    (command.folder / "empty").mkdir()
    ran = command("tool", "run", "any", "--project", "empty")
    assert ran.status == 2 and "no .namel3ss/tools.yaml" in ran.err, ran
    ran = command("tool", "run", "any", "--project", "nowhere")
    assert ran.status == 2 and "cannot be found" in ran.err, ran


def test_all_faults_of_the_bindings_are_told_at_once_with_line_tool_and_field(project):
    project.bind('tools:\n  a:\n    entry: nothing\n    rnner: local\n    timeout_ms: "5"\n'
                 '  b:\n    kind: ruby\n    sandbox: 1\n    env: {"PORT": 80}\n')
    said = project.faults()
    for line, tool, field in ((3, "a", "entry"), (4, "a", "rnner"), (5, "a", "timeout_ms"),
                              (7, "b", "kind"), (8, "b", "sandbox"), (9, "b", "PORT")):
        place = next(each for each in said.splitlines() if f".namel3ss/tools.yaml:{line}:" in each)
        assert f'"{tool}"' in place and field in place, said
    assert 'did you mean "runner"' in said and '"entry" is missing' in said


@pytest.mark.parametrize("text, told", [
    ("a: &a [x]\nb: *a\n", "anchor"),
    ("tools:\n  a: !!python/object:os.system {entry: x}\n", "tag"),
    ("tools:\n  a: {entry: a:b}\n  a: {entry: a:b}\n", "twice"),
    ("tools: " + "{a: " * 5000, "deeper"),
    ("tools:\n" + "  " * 100 + "- x\n\t- y\n", "YAML"),
    ("tools:\n  a:\n    entry: a:b\n---\ntools: {}\n", "second document"),
    ("", '"tools" is missing'),
    ("tools: 7\n", "a table of tools"),
    ("tools:\n  a: a:b\n", '"kind" and "entry"'),
    ("tools: {}\n" + "#" * 300_000, "256 KiB"),
    ("tools:\n  a\0: {}\n", "NUL"),
])
def test_yaml_that_is_not_read_is_refused_with_its_place(project, text, told):
    project.bind(text)
    said = project.faults()
    assert told in said and "tools.yaml" in said, said


def test_a_virtual_environment_runs_the_tools_and_an_empty_one_does_not(project):
    venv = project.folder / ".venv" / "bin"
    venv.mkdir(parents=True)
    ran, trace = project.run("greeter", {"name": "Ada"})
    assert ran.status == 1 and ".venv without Python" in ran.err, ran
    assert trace[0]["python_env"] == "venv" and trace[0]["status"] == "error"
    (venv / "python").symlink_to(sys.executable)
    project.write("requirements.txt", "")
    ran, trace = project.run("greeter", {"name": "Ada"})
    assert ran.status == 0, ran
    assert trace[0]["python_env"] == "venv" and trace[0]["deps_source"] == "requirements"
    assert trace[0]["python_path"] == str(venv / "python")
