# SPDX-License-Identifier: Apache-2.0
"""Namel3ss projects (spec 001): their tools, traces and faults."""

import http.server
import hashlib
import json
import os
import subprocess
import sys
import threading

import pytest

from harness import BUILD, DEADLINE, NARRATORIA, SOURCE, environment

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

# The prompts of a story that calls the tool.
GREETING = {"hello": [{"plan": {"narrative": "Hi", "tools": [
    {"toolId": "one", "toolPath": "greeter", "input": {"name": "Ada"}}]}}]}

SIX = ["no_filesystem_write", "no_filesystem_read", "no_network", "no_subprocess", "no_env_read",
       "no_env_write"]


def surroundings(**more):
    """An environment with the real Python first in PATH.

    The python of pyenv is a script, which cannot start Python under no_subprocess.
    """
    return environment(**{"PATH": f"{os.path.dirname(os.path.realpath(sys.executable))}:{os.environ['PATH']}", **more})


class Project:
    def __init__(self, command, folder=None):
        self.command = command
        self.folder = folder or command.folder / "project"
        self.write("tools/sample_tool.py", TOOLS)
        self.bind(GREETER)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def bind(self, text):
        self.write(".namel3ss/tools.yaml", text)

    def tool(self, name, *fields, entry=None):
        """Binds one function of sample_tool.py, with these lines of fields."""
        self.bind(f"tools:\n  {name}:\n    entry: tools.{entry or f'sample_tool:{name}'}\n"
                  + "".join(f"    {field}\n" for field in fields))

    def code(self, name, text, *fields):
        """Writes a module, and binds its function run() as the only tool."""
        self.write(f"tools/{name}.py", text)
        self.tool(name, *fields, entry=f"{name}:run")

    def run(self, tool, payload=None, *options, env=None):
        """Runs a tool; returns the finished command and its trace."""
        return self.command.run_tool(tool, self.folder, payload or {}, *options, env=env or surroundings())

    def faults(self):
        """The faults that `validate project` reports, with place and message."""
        ran = self.command("validate", "project", self.folder).exits(1)
        return ran.out


@pytest.fixture
def project(command):
    return Project(command)


def events(ran):
    return [json.loads(line) for line in ran.lines]


# covers: 001-entry, 001-trace-runner, 001-trace-times, 001-trace-version, 001-trace-sandbox
def test_bound_tool_runs_and_its_prints_are_logged(project):
    ran, trace = project.run("greeter", {"name": "Ada"}).exits(0)
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


def test_secret_in_an_error_message_is_not_in_the_trace(project):
    project.code("tells", "import os\ndef run(payload):\n"
                 "    raise ValueError(os.environ['NAMEL3SS_OPENAI_API_KEY'] + os.environ['N3_DATABASE_URL'])\n")
    project.write(".env", "N3_DATABASE_URL=db://x\n")
    ran, (call,) = project.run("tells", env=surroundings(NAMEL3SS_OPENAI_API_KEY="sk-123"))
    assert ran.status == 1 and call["error_message"] == "******", call


# covers: 001-reply-error
def test_exception_fails_the_tool_with_its_type_and_message(project):
    project.tool("fails")
    ran, trace = project.run("fails").exits(1, "Missing input")
    (call,) = trace
    assert (call["status"], call["error_type"], call["error_message"]) == (
        "error", "ValueError", "Missing input")
    assert (call["decision"], call["result"]) == ("allowed", "error")


def test_tool_runs_in_the_project_with_its_path_and_env(project):
    project.tool("where", 'env: {"MOOD": "good"}')
    assert project.run("where", env=surroundings(PYTHONPATH="/elsewhere", MOOD="bad")).result == {
        "folder": str(project.folder), "path": [str(project.folder), "/elsewhere"], "env": "good"}


def test_tool_inherits_the_environment_of_the_host(project):
    project.tool("where")
    ran, _ = project.run("where", env=surroundings(PYTHONPATH="", MOOD="of the host"))
    assert events(ran)[-1]["result"]["env"] == "of the host"
    ran, _ = project.run("where", None, "--sandbox", "secrets_allowed=OTHER",
                         env=surroundings(MOOD="of the host"))
    assert events(ran)[-1]["result"]["env"] is None


def test_tool_and_its_output_work_in_every_locale(project):
    project.code("prints", "import os\ndef run(payload):\n    print('Grüße')\n"
                 "    return os.environ['PYTHONIOENCODING']\n")
    latin = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    ran, _ = project.run("prints", env=surroundings(**latin))
    assert (events(ran)[0]["message"], events(ran)[-1]["result"]) == ("Grüße", "utf-8"), ran
    assert project.run("prints", env=surroundings(PYTHONIOENCODING="utf-8:replace")).result == "utf-8:replace"


def test_tool_gets_the_variables_of_the_dotenv_file(project):
    project.code("keys", "import os\ndef run(payload):\n"
                 "    return [os.environ.get(name) for name in payload['names']]\n", "env: {BOUND: binding}")
    project.write(".env", "# a comment\nexport KEY = 'abc-def'\r\nMOOD=\"of the file\"\nBOUND=file\n"
                  "EMPTY=\nN3_PYTHON_TOOL_TIMEOUT_SECONDS=4\n")
    names = {"names": ["KEY", "MOOD", "BOUND", "EMPTY", "nothing"]}
    ran, (call,) = project.run("keys", names, env=surroundings(MOOD="of the host"))
    assert events(ran)[-1]["result"] == ["abc-def", "of the host", "binding", "", None], ran
    assert call["timeout_ms"] == 4000
    # The file gives no more than the host does, and its values are not shown.
    assert project.run("keys", names, "--sandbox", "secrets_allowed=KEY").result == ["***", None, None, None, None]
    ran = project.command("tool", "list", "--project", project.folder, "--json")
    assert "abc-def" not in ran.out, ran
    (project.folder / ".env").unlink()
    (project.folder / ".env").mkdir()
    ran, _ = project.run("keys", names)
    assert events(ran)[-1]["result"][0] is None, ran


def test_line_of_the_dotenv_file_that_is_not_a_variable_is_a_warning(project):
    project.write(".env", "A=1\n\n# a comment\nexport B=2\nthe secret\n=x\nC D=4\n")
    ran = project.command("validate", "project", project.folder).exits(0)
    assert [line.split(": ")[0] for line in ran.lines[:-1]] == [f"{project.folder}/.env:{n}:1" for n in (5, 6, 7)], ran
    assert "this line is not a variable, and is ignored" in ran.lines[0] and "the secret" not in ran.out, ran


def test_secrets_are_traced_and_refused_unless_allowed(project):
    project.code("keys", "import os\ndef run(payload):\n"
                 "    return [os.environ.get('MOOD'), os.getenv(payload['key'])]\n")
    surrounded = surroundings(MOOD="good", OPENAI_API_KEY="sk-1", N3_DATABASE_URL="sqlite:")
    allowed = "--sandbox", "secrets_allowed=OPENAI_API_KEY"
    ran, (check, call) = project.run("keys", {"key": "OPENAI_API_KEY"}, *allowed, env=surrounded)
    assert events(ran)[-1]["result"] == [None, "***"], ran
    assert (check["capability"], check["allowed"], check["reason"]) == (
        "secrets", True, "secrets_allowed")
    # The name also allows the forms with the prefixes of Namel3ss.
    ran, (check, call) = project.run("keys", {"key": "NAMEL3SS_OPENAI_API_KEY"}, *allowed,
                                     env=surroundings(NAMEL3SS_OPENAI_API_KEY="sk-12345"))
    assert events(ran)[-1]["result"] == [None, "***"] and check["reason"] == "secrets_allowed", ran
    ran, (check, call) = project.run("keys", {"key": "N3_DATABASE_URL"}, *allowed, env=surrounded)
    assert ran.status == 1 and 'Tool "keys" cannot access secrets. It tried to read ' \
        "N3_DATABASE_URL." in ran.err, ran
    assert (check["capability"], check["allowed"], check["guarantee_source"], check["reason"]) == (
        "secrets", False, "policy", "secrets_blocked")
    assert (call["error_type"], call["result"]) == ("CapabilityViolation", "error")


def test_decimal_becomes_a_number(project):
    project.code("price", "from decimal import Decimal\n"
                 "def run(payload):\n    return [Decimal('12.50'), Decimal('3E+2'), Decimal('-0.1')]\n")
    assert project.run("price").result == [12.5, 300, -0.1]


def test_tempfile_uses_the_scratch_folder_of_a_pure_tool(project):
    project.code("scratch", "import tempfile\ndef run(payload):\n"
                 "    with tempfile.NamedTemporaryFile() as file:\n"
                 "        return 'narratoria-scratch-' in file.name\n", "purity: pure", "sandbox: true")
    assert project.run("scratch").exits(0).result is True


# covers: 001-timeouts-end
def test_timeout_of_the_binding_applies_and_is_traced(project):
    project.tool("waits", "timeout_ms: 200")
    ran, trace = project.run("waits").exits(1, "within 200 ms")
    assert trace[-1]["status"] == "error" and trace[-1]["timeout_ms"] == 200
    assert trace[-1]["error_type"] == "TimeoutError"


def test_unbound_name_is_refused_with_the_bound_ones(project):
    ran, trace = project.run("wave").exits(2, "binds no tool wave; it binds greeter")
    assert trace == []
    assert "binds no tool greet; did you mean greeter?" in project.run("greet")[0].err


def test_trace_needs_a_project(command):
    command("tool", "run", command.tool("any"), "--trace", "t").exits(2, "--project")


def test_folder_without_a_project_is_refused(command):
    (command.folder / "empty").mkdir()
    command("tool", "run", "any", "--project", "empty").exits(2, "no .namel3ss/tools.yaml")
    command("tool", "run", "any", "--project", "nowhere").exits(2, "cannot be found")


def test_binding_faults_are_all_reported_with_line_and_field(project):
    project.bind('tools:\n  a:\n    entry: nothing\n    rnner: local\n    timeout_ms: "5"\n'
                 '  b:\n    kind: ruby\n    sandbox: 1\n    env: {"PORT": 80}\n')
    said = project.faults()
    for line, tool, field in ((3, "a", "entry"), (4, "a", "rnner"), (5, "a", "timeout_ms"),
                              (7, "b", "kind"), (8, "b", "sandbox"), (9, "b", "PORT")):
        place = next(each for each in said.splitlines() if f".namel3ss/tools.yaml:{line}:" in each)
        assert f'"{tool}"' in place and field in place, said
    assert 'did you mean "runner"' in said and '"entry" is missing' in said


def test_wrong_url_is_one_fault(project):
    project.bind("tools:\n  a:\n    entry: a:b\n    runner: service\n    url: ftp://x\n")
    said = project.faults()
    assert '"url" cannot be used' in said and len(said.splitlines()) == 1, said


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
], ids=lambda value: repr(value[:20]))
def test_unsupported_yaml_is_refused_with_its_place(project, text, told):
    project.bind(text)
    said = project.faults()
    assert told in said and "tools.yaml" in said, said


@pytest.mark.parametrize("text, place", [
    ("\ufefftools:\n  t:\n    entry: x\n", "3:12"), ("tools:\r\n  t:\r\n    entry: x\r\n", "3:12"),
    ('\ufeff{"tools": {"é😀": {entry: x}}}', "1:26"), ("tools:\n  t:\n    entry:\n  u: {}\n", "3:5"),
    ("tools:\n  t:\n", "2:3"),
], ids=["byte order mark", "carriage return", "letters", "no value", "no table"])
def test_fault_position_is_exact_in_every_encoding(project, text, place):
    project.bind(text)
    (project.folder / ".namel3ss/tools.yaml").write_bytes(text.encode())
    assert f"tools.yaml:{place}: " in project.faults()


def test_settings_fault_position_is_exact_after_a_bom(project):
    project.write("namel3ss.toml", "\ufeffpython_tools = 1\n")
    assert "namel3ss.toml:1:16: " in project.faults()


def test_file_of_100_mb_is_refused_unread(project):
    for name in (".namel3ss/tools.yaml", "namel3ss.toml"):
        with open(project.folder / name, "wb") as file:
            file.truncate(100_000_000)
        said = project.faults()
        assert name in said and "256 KiB" in said, said
        (project.folder / name).unlink()


@pytest.mark.parametrize("files, level, told", [
    ({"namel3ss.toml": "[python_tools]\npython = '/bin/ls'\n"}, "", "/bin/ls is a program, but not Python"),
    ({".namel3ss/tools.yaml": "tools:\n  t: {entry: m:f, runner: service, url: 'http://h:99999/'}\n"}, "",
     "port is not a number from 1 to 65535"),
    ({"namel3ss.toml": "[python_tools]\nservice_url = 'ftp://h/'\n"}, "", "does not begin with http"),
    ({".namel3ss/tools.yaml": "tools:\n  t: {entry: m:f, runner: container, image: i}\n"}, "warning",
     "neither docker nor podman was found"),
    ({".namel3ss/tools.yaml": "tools:\n  t: {entry: tools.sample_tool:nothing}\n"}, "warning", 'does not define "nothing"'),
    ({".namel3ss/tools.yaml": "tools:\n  t: {entry: tools:nothing}\n"}, "", "without __init__.py"),
    ({"namel3ss.toml": "[tool_packs]\ndisabled_pack = ['a']\n"}, "", 'did you mean "disabled_packs"'),
])
def test_validate_reports_what_cannot_work_with_file_and_line(project, files, level, told):
    for name, text in files.items():
        project.write(name, text)
    ran = project.command("validate", "project", project.folder,
                          env=environment(PATH="/nowhere", NARRATORIA_CONTAINER_RUNTIME=""))
    line = next((line for line in ran.lines if told in line), None)
    assert line is not None, ran
    assert (": warning: " in line) == bool(level), line
    assert any(f"{name}:2:" in line for name in [*files, "tools.yaml"]), line


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


def test_refused_url_is_not_quoted_with_its_password(project):
    project.tool("greet", "runner: service", 'url: "http://ada:secret@h:99999/"')
    said = project.faults()
    assert "65535" in said and "secret" not in said, said


# covers: 001-trace-local
def test_venv_runs_the_tools_and_must_contain_python(project):
    venv = project.folder / ".venv" / "bin"
    venv.mkdir(parents=True)
    ran, trace = project.run("greeter", {"name": "Ada"}).exits(1, ".venv without Python")
    assert trace[0]["python_env"] == "venv" and trace[0]["status"] == "error"
    (venv / "python").symlink_to(sys.executable)
    project.write("requirements.txt", "")
    ran, trace = project.run("greeter", {"name": "Ada"}).exits(0)
    assert trace[0]["python_env"] == "venv" and trace[0]["deps_source"] == "requirements"
    assert trace[0]["python_path"] == str(venv / "python")


# ---------------------------------------------------------------- the protocol, with a fake Python

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


# ---------------------------------------------------------------- packs, settings, guarantees

PACK = """id: "{id}"
name: "A pack"
version: "0.2.0"
description: "for tests"
author: "somebody"
license: "MIT"
tools:
  - "{tool}"
"""
ENTRYPOINTS = """entrypoints:
  "{tool}":
    entry: "{module}:run"
"""
CAPABILITIES = """capabilities:
  "{tool}":
    filesystem: "read"
    network: "outbound"
    env: "read"
    subprocess: "allow"
    secrets: ["KEY", "OTHER"]
"""


def pack(project, name="one", tool="pick", folder=".namel3ss/packs", more=ENTRYPOINTS,
         capabilities=CAPABILITIES):
    place = f"{folder}/{name}"
    project.write(f"{place}/src/{name}_tools.py", "def run(payload):\n    return {'pack': __name__}\n")
    said = {"id": f"pack.{name}", "tool": tool, "module": f"{name}_tools"}
    project.write(f"{place}/pack.yaml", PACK.format(**said) + more.format(**said))
    if capabilities:
        project.write(f"{place}/capabilities.yaml", capabilities.format(**said))
    return place


def bound(project, name, **options):
    """The entry of a tool in the output of `tool list`."""
    ran = project.command("tool", "list", "--project", project.folder, "--json", **options).exits(0)
    return next(tool for tool in ran.result if tool["name"] == name)


# covers: 001-trace-pack, 001-trace-resolved-source, 001-pack-entrypoints
def test_tool_of_an_installed_pack_runs_with_the_pack_path(project):
    pack(project)
    project.write("namel3ss.toml", "[capability_overrides]\npick = { allow_unsafe_execution = true }\n")
    project.write(".namel3ss/packs/one/tools.yaml",
                  'tools:\n  pick:\n    entry: "one_tools:run"\n    sandbox: false\n')
    ran, trace = project.run("pick")
    assert ran.status == 0 and events(ran)[-1]["result"] == {"pack": "one_tools"}, ran
    call = trace[-1]
    assert call["resolved_source"] == "installed_pack" and call["unsafe_override"] is True
    assert "entry" not in call
    assert (call["pack_id"], call["pack_name"], call["pack_version"]) == (
        "pack.one", "A pack", "0.2.0")


# covers: 001-pack-bindings
def test_tools_yaml_of_a_pack_overrides_its_entrypoints(project):
    place = pack(project)
    assert bound(project, "pick")["binding"]["entry"] == "one_tools:run"
    project.write(f"{place}/tools.yaml", "tools:\n  pick:\n    entry: other:run\n")
    assert bound(project, "pick")["binding"]["entry"] == "other:run"


# covers: 001-pack-runner
def test_pack_runner_url_and_image_apply_to_its_tools(project):
    pack(project, more=ENTRYPOINTS + 'runners:\n  default: "service"\nservice_url: "http://h/x"\n')
    tool = bound(project, "pick")
    assert tool["runner"] == "service" and tool["binding"]["url"] == "http://h/x"
    pack(project, more=ENTRYPOINTS + 'runners:\n  default: "container"\ncontainer:\n  image: "i:1"\n')
    tool = bound(project, "pick")
    assert tool["runner"] == "container" and tool["binding"]["image"] == "i:1"
    pack(project, more=ENTRYPOINTS + 'runners:\n  default: "container"\n')
    assert 'has no "image"' in project.faults()
    # The container client would take this image for an option.
    pack(project, more=ENTRYPOINTS + 'runners:\n  default: "container"\ncontainer:\n  image: "-v/:/host"\n')
    assert 'must not begin with "-"' in project.faults()


def test_pack_code_folder_outside_the_pack_is_refused(project):
    place = pack(project)
    # Every guarantee lets a tool read the code folder of its pack.
    (project.folder / place / "tools").symlink_to("/")
    assert "leads out of the pack" in project.faults()


def test_pack_in_the_packs_folder_of_the_project_is_used(project):
    pack(project, folder="packs/capability")
    tool = bound(project, "pick")
    assert tool["binding"]["source"] == "installed_pack"
    assert tool["binding"]["pack"] == {"id": "pack.one", "name": "A pack", "version": "0.2.0"}
    assert tool["binding"]["sandbox"] is True


def test_name_in_two_packs_is_a_collision_unless_one_is_chosen(project):
    pack(project)
    pack(project, name="two")
    said = project.faults()
    assert "packs/two/pack.yaml" in said and "packs/one/pack.yaml" in said, said
    assert "pinned_tools" in said
    project.write("namel3ss.toml", '[tool_packs]\npinned_tools = { pick = "pack.two" }\n')
    assert bound(project, "pick")["binding"]["pack"]["id"] == "pack.two"
    project.write("namel3ss.toml", '[tool_packs]\ndisabled_packs = ["pack.two"]\n')
    assert bound(project, "pick")["binding"]["pack"]["id"] == "pack.one"


def test_pack_does_not_replace_the_pinned_one(project):
    pack(project)
    pack(project, name="two", tool="other")
    for pin in ("pack.two", "pack.gone"):
        project.write("namel3ss.toml", f'[tool_packs]\npinned_tools = {{ pick = "{pin}" }}\n')
        ran, (call,) = project.run("pick").exits(1, f'"pick" is pinned to the pack "{pin}"')
        assert (call["decision"], call["reason"], call["result"]) == ("error", "pack_pin_missing", "error")
        said = project.faults()
        assert "namel3ss.toml:2:" in said and said.count(pin) == 1, said


def test_pack_that_binds_other_tools_than_it_lists_is_a_warning(project):
    place = pack(project, more="")
    assert "binds no tools" in project.faults()
    project.write(f"{place}/tools.yaml", 'tools:\n  other:\n    entry: "one_tools:run"\n')
    ran = project.command("validate", "project", project.folder, env=surroundings()).exits(0)
    ran.shows('lists the tool "pick" but does not bind it', 'binds the tool "other" but does not list it')
    assert project.run("other").exits(0).result == {"pack": "one_tools"}
    manifest = project.folder / place / "pack.yaml"
    manifest.write_text(manifest.read_text().replace('  - "pick"\n', ""))
    project.run("other").exits(0)


def test_missing_fields_of_a_pack_are_errors(project):
    place = pack(project)
    project.write(f"{place}/pack.yaml", "id: x\nversion: 1.0\n")
    said = project.faults()
    for field in ("name", "description", "author", "license", "tools"):
        assert f'"{field}" is missing' in said, said


def test_guarantees_come_from_pack_then_tool_user_and_policy(project):
    pack(project)
    binding = bound(project, "pick")["binding"]
    assert binding["sources"] == {"no_filesystem_write": "pack", "no_env_write": "pack",
                                  "secrets_allowed": "pack"}
    assert binding["guarantees"]["secrets_allowed"] == ["KEY", "OTHER"]
    project.write("namel3ss.toml", "[capability_overrides]\n"
                  'pick = { no_network = true, no_env_write = true, no_subprocess = false, '
                  'secrets_allowed = ["OTHER", "NEW"] }\n')
    binding = bound(project, "pick")["binding"]
    assert binding["sources"] == {"no_filesystem_write": "pack", "no_network": "user",
                                  "no_env_write": "user", "secrets_allowed": "user"}
    assert binding["guarantees"]["secrets_allowed"] == ["OTHER"]
    assert binding["guarantees"]["no_subprocess"] is False
    project.write(".namel3ss/trust/policy.toml",
                  'allowed_capabilities = { filesystem = "none", subprocess = "none" }\n')
    binding = bound(project, "pick")["binding"]
    assert binding["sources"] == {
        "no_filesystem_write": "policy", "no_filesystem_read": "policy", "no_network": "user",
        "no_subprocess": "policy", "no_env_write": "policy", "secrets_allowed": "user"}


def test_pack_without_capabilities_and_pure_tool_may_do_nothing(project):
    pack(project, capabilities=None)
    project.write(".namel3ss/tools.yaml",
                  "tools:\n  still:\n    entry: tools.sample_tool:greet\n    purity: pure\n"
                  "    sandbox: true\n")
    for name, source in (("pick", "pack"), ("still", "tool")):
        binding = bound(project, name)["binding"]
        assert binding["guarantees"] == {**dict.fromkeys(SIX, True), "secrets_allowed": []}
        assert binding["sources"] == dict.fromkeys([*SIX, "secrets_allowed"], source)


def test_unenforceable_guarantee_stops_the_call_before_it_starts(project):
    project.tool("greet", "purity: pure")
    ran, trace = project.run("greet", {"name": "Ada"}).exits(1, "COVERAGE_MISSING", "sandbox: true")
    assert [each["type"] for each in trace] == ["capability_check"] * 7 + ["tool_call"]
    assert [each["capability"] for each in trace[:-1]] == [
        "filesystem_read", "filesystem_write", "network", "subprocess", "env_read", "env_write",
        "secrets"]
    for check in trace[:-1]:
        assert list(check) == ["type", "tool_name", "runner", "resolved_source", "capability",
                               "allowed", "guarantee_source", "reason", "protocol_version"]
        assert (check["allowed"], check["guarantee_source"], check["reason"]) == (
            False, "tool", "coverage_missing")
    call = trace[-1]
    assert (call["status"], call["error_type"], call["decision"], call["result"]) == (
        "error", "CapabilityViolation", "allowed", "error")


# covers: 001-trace-unsafe-override
def test_allow_unsafe_execution_waives_coverage_and_is_traced(project):
    project.tool("greet", "purity: pure")
    project.write("namel3ss.toml", "[capability_overrides]\ngreet = { allow_unsafe_execution = true }\n")
    ran, trace = project.run("greet", {"name": "Ada"}).exits(0)
    (call,) = trace
    assert call["unsafe_override"] is True
    assert bound(project, "greet")["binding"]["guarantees"]["no_network"] is True


def test_runner_blocks_acts_even_without_the_kernel(project):
    project.code("sets", "import os\ndef run(payload):\n    os.environ['A'] = 'b'\n")
    project.write("namel3ss.toml", "[capability_overrides]\n"
                  "sets = { no_env_write = true, allow_unsafe_execution = true }\n")
    ran, (check, call) = project.run("sets").exits(1, 'Tool "sets" cannot write environment variables.')
    assert (check["capability"], check["reason"]) == ("env_write", "guarantee_blocked")
    assert (call["error_type"], call["unsafe_override"]) == ("CapabilityViolation", True)


# covers: 001-timeouts
def test_timeout_is_from_binding_then_variable_then_file(project):
    def time_out(**env):
        return bound(project, "greet", env=environment(**env))["times"]["try_ms"]

    project.tool("greet")
    assert time_out() == 10_000
    project.write("namel3ss.toml", "[python_tools]\ntimeout_seconds = 3\n")
    assert time_out() == 3000
    assert time_out(N3_PYTHON_TOOL_TIMEOUT_SECONDS="4") == 4000
    project.tool("greet", "timeout_seconds: 7")
    assert time_out(N3_PYTHON_TOOL_TIMEOUT_SECONDS="4") == 7000
    project.tool("greet", "timeout_ms: 250", "timeout_seconds: 7")
    assert time_out() == 250
    ran = project.command("tool", "list", "--project", project.folder,
                          env=environment(N3_PYTHON_TOOL_TIMEOUT_SECONDS="soon"))
    assert ran.status == 2 and "N3_PYTHON_TOOL_TIMEOUT_SECONDS" in ran.err, ran


def test_service_url_is_from_binding_then_variable_then_file(project):
    project.tool("greet", "runner: service")
    assert "N3_TOOL_SERVICE_URL" in project.faults()
    project.write("namel3ss.toml", '[python_tools]\nservice_url = "http://file/x"\n')
    assert bound(project, "greet")["binding"]["url"] == "http://file/x"
    env = environment(N3_TOOL_SERVICE_URL="http://variable/x")
    assert bound(project, "greet", env=env)["binding"]["url"] == "http://variable/x"
    project.tool("greet", "runner: service", "url: http://binding/x")
    assert bound(project, "greet", env=env)["binding"]["url"] == "http://binding/x"


def test_unrelated_settings_are_ignored_and_faults_are_located(project):
    project.write("namel3ss.toml", '[ollama]\nhost = "x"\n\n[capability_overrides]\n'
                  'greeter = { no_netwrk = true, no_network = 1 }\nnobody = { no_network = true }\n')
    said = project.faults()
    assert "namel3ss.toml:5:" in said and 'did you mean "no_network"' in said, said
    assert '"no_network" must be true or false' in said and '"greeter"' in said, said
    project.write("namel3ss.toml", "[python_tools\n")
    assert "not valid TOML" in project.faults()


def test_misspelled_table_is_refused_rather_than_ignored(project):
    project.write("namel3ss.toml", "[python]\nx = 1\n\n[capability_override]\n"
                  "greeter = { no_network = true }\n")
    said = project.faults()
    assert "namel3ss.toml:4:" in said and 'did you mean "capability_overrides"?' in said, said
    assert '"python"' not in said, said
    project.write("namel3ss.toml", "[python]\nx = 1\n")
    project.write(".namel3ss/trust/policy.toml", 'other = 1\n[allowed_capabilites]\nnetwork = "none"\n')
    said = project.faults()
    assert "policy.toml:2:" in said and 'did you mean "allowed_capabilities"?' in said, said
    project.write(".namel3ss/trust/policy.toml", '[alowd_capabilites]\nnetwork = "none"\n')
    assert 'did you mean "allowed_capabilities"?' in project.faults()


def test_short_names_of_the_tables_are_read(project):
    pack(project)
    project.write("namel3ss.toml", '[packs]\ndisabled_packs = ["pack.one"]\nother = 1\n'
                  "[python]\ntimeout_seconds = 7\nother = 1\n")
    assert "pick" not in project.command("tool", "list", "--project", project.folder).out
    assert bound(project, "greeter")["times"]["try_ms"] == 7000
    # The long names take precedence.
    project.write("namel3ss.toml", '[packs]\ndisabled_packs = ["pack.one"]\n'
                  '[tool_packs]\nenabled_packs = ["pack.one"]\n'
                  "[python]\ntimeout_seconds = 7\n[python_tools]\ntimeout_seconds = 8\n")
    assert bound(project, "pick")["times"]["try_ms"] == 8000


def test_pack_folder_with_a_colon_is_reported(project):
    pack(project)
    (project.folder / ".namel3ss/packs/one").rename(project.folder / ".namel3ss/packs/o:ne")
    project.run("pick").exits(1, "the path of the pack, ", "contains a colon")
    project.run("greeter", {"name": "Ada"}).exits(0)


# ---------------------------------------------------------------- trust in packs and services

ALL_ALLOWED = """capabilities:
  "{tool}":
    filesystem: "write"
    network: "none"
    env: "read"
    subprocess: "allow"
    secrets: []
"""


class Service:
    """Claims to enforce everything, or only `supported`. `paths` are the paths of its requests."""

    def __init__(self):
        service = self
        self.paths = []
        self.supported = None
        self.enforcement = "enforced"

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                service.paths.append(self.path)
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                claims = dict(asked.get("required_guarantees", {}))
                if service.supported is not None:
                    claims = dict.fromkeys(service.supported, True)
                body = json.dumps({"ok": True, "enforcement": service.enforcement, "result": {"served": True},
                                   "supported_guarantees": claims}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/tools"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def service():
    service = Service()
    yield service
    service.server.shutdown()
    service.server.server_close()


def a_client(project):
    """A fake container client that replies for each container."""
    client = project.write("client", "#!/bin/sh\n[ \"$1\" = run ] || exit 0\ncat > /dev/null\n"
                           "echo '{\"ok\": true, \"result\": {\"contained\": true}}'\n")
    client.chmod(0o755)
    return surroundings(NARRATORIA_CONTAINER_RUNTIME=str(client))


def test_empty_command_of_a_container_is_the_default_command(project):
    project.tool("greet", "runner: container", "image: i", "command: []")
    ran, (call,) = project.run("greet", env=a_client(project)).exits(0, '"command" has no effect')
    assert call["command"] == "python -m namel3ss_tools.runner"


@pytest.mark.parametrize("where", ["entrypoints", "tools.yaml"])
@pytest.mark.parametrize("claim", [
    'enforcement: "verified"', 'enforcement: "declared"', "sandbox: true", 'purity: "pure"', "warm: false"])
def test_pack_cannot_vouch_for_its_own_image(project, where, claim):
    tool = f'  pick:\n    entry: "a:run"\n    runner: container\n    image: "i:1"\n    {claim}\n'
    place = pack(project, capabilities=ALL_ALLOWED,
                 more="entrypoints:\n" + tool if where == "entrypoints" else "")
    if where == "tools.yaml":
        project.write(f"{place}/tools.yaml", "tools:\n" + tool)
    env = a_client(project)
    ran, trace = project.run("pick", env=env).exits(1, "COVERAGE_MISSING")
    assert trace[0]["reason"] == "coverage_missing" and "container_enforcement" not in trace[-1]
    if "pure" in claim:  # it requires no_subprocess, which no container covers
        return
    assert "cannot vouch for itself" in ran.err, ran
    project.write("namel3ss.toml", '[capability_overrides]\npick = { enforcement = "verified" }\n')
    ran, trace = project.run("pick", env=env)
    assert ran.status == 0 and events(ran)[-1]["result"] == {"contained": True}, ran
    assert trace[-1]["container_enforcement"] == "verified"


@pytest.mark.parametrize("where", ["service_url", "url", "a local pack"])
def test_pack_cannot_vouch_for_its_own_service(project, service, where):
    tool = 'entrypoints:\n  "{tool}":\n    entry: "a:run"\n    runner: service\n'
    address = f'"{service.url}"\n'
    pack(project, capabilities=ALL_ALLOWED,
         folder="packs/capability" if where == "a local pack" else ".namel3ss/packs",
         more=tool + (f"    url: {address}" if where != "service_url" else f"service_url: {address}"))
    ran, trace = project.run("pick").exits(1, "COVERAGE_MISSING", "cannot vouch")
    assert service.paths == [] and trace[0]["reason"] == "coverage_missing"
    # When the user trusts the service, it is asked, and its answer is accepted.
    project.write("namel3ss.toml", '[capability_overrides]\npick = { enforcement = "declared" }\n')
    ran, _ = project.run("pick")
    assert ran.status == 0 and service.paths == ["/capabilities/handshake", "/tools"], ran
    # When the user waives enforcement, the trace records it.
    project.write("namel3ss.toml", "[capability_overrides]\npick = { allow_unsafe_execution = true }\n")
    ran, trace = project.run("pick")
    assert ran.status == 0 and trace[-1]["unsafe_override"] is True, ran


def test_only_guarantees_without_coverage_are_traced_as_missing(project, service):
    project.tool("greet", "runner: container", "image: i", "enforcement: declared")
    project.write("namel3ss.toml", "[capability_overrides]\n"
                  "greet = { no_network = true, no_subprocess = true }\n")
    ran, trace = project.run("greet", env=a_client(project))
    assert ran.status == 1 and [each["capability"] for each in trace[:-1]] == ["subprocess"], ran
    service.supported = ["no_network"]
    project.tool("greet", "runner: service", f"url: {service.url}")
    ran, trace = project.run("greet")
    assert ran.status == 1 and [each["capability"] for each in trace[:-1]] == ["subprocess"], ran
    assert (trace[0]["guarantee_source"], trace[0]["reason"]) == ("user", "coverage_missing")


def test_service_does_not_get_a_secret_that_it_may_not_have(project, service):
    project.tool("greet", "runner: service", f"url: {service.url}")
    surrounded = surroundings(OPENAI_API_KEY="tok/é\"n", N3_DATABASE_URL="abc")
    for payload in ({"a": [1, {"b": "the key is tok/é\"n!"}]}, {"tok/é\"n": 1}):
        project.write("namel3ss.toml", '[capability_overrides]\ngreet = { secrets_allowed = ["OTHER"] }\n')
        ran, (check, call) = project.run("greet", payload, env=surrounded)
        assert ran.status == 1 and 'Tool "greet" cannot access secrets. Its input has the value of ' \
            "OPENAI_API_KEY." in ran.err and service.paths == [], ran
        assert (check["capability"], check["allowed"], check["reason"]) == ("secrets", False, "secrets_blocked")
        assert (call["error_type"], call["result"]) == ("CapabilityViolation", "error")
    # It may have this one, and the value of the other is too short to tell.
    project.write("namel3ss.toml", '[capability_overrides]\ngreet = { secrets_allowed = ["OPENAI_API_KEY"] }\n')
    project.run("greet", {"a": "tok/é\"n", "b": "abc"}, env=surrounded).exits(0)
    project.write(".env", "N3_EDGE_KV_URL=https://kv\n")
    project.run("greet", {"a": "https://kv/x"}, env=surrounded).exits(1, "the value of N3_EDGE_KV_URL")
    project.write("namel3ss.toml", "")
    project.run("greet", payload, env=surrounded).exits(0)


def test_tool_without_guarantees_needs_no_enforcement_of_its_service(project, service):
    project.tool("greet", "runner: service", f"url: {service.url}")
    handshake = "[python_tools]\nservice_handshake_required = true\n"
    for level in ("none", "partial"):
        service.enforcement = level
        project.write("namel3ss.toml", handshake)
        ran, trace = project.run("greet")
        assert ran.status == 0 and service.paths[-2:] == ["/capabilities/handshake", "/tools"], ran
        assert (trace[-1]["service_handshake"], trace[-1]["enforcement_level"]) == (True, level)
        project.write("namel3ss.toml", handshake + "[capability_overrides]\ngreet = { no_network = true }\n")
        project.run("greet").exits(1, "COVERAGE_MISSING")


def test_user_service_is_asked_what_it_enforces_for_a_pack(project, service):
    pack(project, capabilities=ALL_ALLOWED,
         more='entrypoints:\n  "{tool}":\n    entry: "a:run"\n    runner: service\n')
    project.write("namel3ss.toml", f'[python_tools]\nservice_url = "{service.url}"\n')
    ran, trace = project.run("pick")
    assert ran.status == 0 and service.paths == ["/capabilities/handshake", "/tools"], ran
    assert "unsafe_override" not in trace[-1]


def test_pack_cannot_waive_a_guarantee_or_its_sandbox(project):
    place = pack(project, capabilities=ALL_ALLOWED)
    project.write(f"{place}/tools.yaml",
                  'tools:\n  pick:\n    entry: "one_tools:run"\n    sandbox: false\n')
    ran, trace = project.run("pick")
    assert ran.status == 0 and trace[-1]["sandbox"] is True, ran
    assert '"sandbox: false" has no effect' in ran.err, ran
    for field in ("allow_unsafe_execution: true", "no_network: false"):
        project.write(f"{place}/tools.yaml", f'tools:\n  pick:\n    entry: "one_tools:run"\n    {field}\n')
        assert f'has no field "{field.split(":")[0]}"' in project.faults()


# ---------------------------------------------------------------- fields without effect

USED = {"local": ["env", "sandbox", "warm"], "service": ["url"],
        "container": ["image", "command", "env", "enforcement"]}
VALUES = {"url": "http://h/x", "image": "i", "command": "[a]", "env": "{A: b}", "sandbox": "true",
          "enforcement": "declared", "warm": "true"}


@pytest.mark.parametrize("runner", USED)
def test_field_that_the_runner_does_not_use_is_a_warning(project, runner):
    project.tool("greet", f"runner: {runner}", *(f"{name}: {value}" for name, value in VALUES.items()))
    ran = project.command("validate", "project", project.folder)
    told = [line for line in ran.lines if "[project-no-effect]" in line]
    for number, name in enumerate(VALUES, start=5):
        mine = [line for line in told if f"tools.yaml:{number}:" in line]
        assert len(mine) == (name not in USED[runner]), (name, told)
        for line in mine:
            assert "warning" in line and '"greet"' in line and f'"{name}"' in line, line
    # A call reports the warning, too.
    assert f'"{next(each for each in VALUES if each not in USED[runner])}"' in project.run("greet")[0].err


def test_settings_without_effect_are_warnings(project):
    pack(project, more=ENTRYPOINTS + 'service_url: "http://h/x"\ncontainer:\n  image: "i"\n')
    project.write(".namel3ss/packs/one/tools.yaml", 'tools:\n  pick:\n    entry: "one_tools:run"\n')
    project.write(".namel3ss/packs/one/capabilities.yaml",
                  CAPABILITIES.format(tool="pick") + CAPABILITIES.format(tool="pikc")[14:])
    project.tool("greet", "timeout_ms: 5", "timeout_seconds: 5")
    project.write("namel3ss.toml", '[python_tools]\npython = "/usr/bin/python3"\n[capability_overrides]\n'
                  'greet = { no_network = false, enforcement = "declared", allow_unsafe_execution = true }\n'
                  'gret = { no_network = true }\n'
                  '[tool_packs]\ndisabled_packs = ["pack.oen"]\npinned_tools = { greet = "pack.one" }\n')
    project.write(".namel3ss/trust/policy.toml", 'allow_unverified_installs = true\nother = 1\n')
    (project.folder / ".venv/bin").mkdir(parents=True)
    (project.folder / ".venv/bin/python").symlink_to(sys.executable)
    ran = project.command("validate", "project", project.folder)
    for place, told in (("pack.yaml:12:", '"service_url" has no effect'), ("pack.yaml:14:", '"image" has no effect'),
                        ("pack.yaml:10:", '"entrypoints" has no effect'),
                        ("capabilities.yaml:8:", 'did you mean "pick"'),
                        ("tools.yaml:5:", '"timeout_seconds" has no effect'),
                        ("namel3ss.toml:2:", "the Python of the project's .venv "),
                        ("namel3ss.toml:4:", '"no_network" has no effect'),
                        ("namel3ss.toml:4:", '"enforcement" has no effect'),
                        ("namel3ss.toml:4:", '"allow_unsafe_execution" has no effect'),
                        ("namel3ss.toml:5:", 'did you mean "greet"'),
                        ("namel3ss.toml:7:", 'did you mean "pack.one"'),
                        ("namel3ss.toml:8:", 'has no tool "greet"'),
                        ("policy.toml:1:", "installation of packs"), ("policy.toml:2:", '"other" has no effect')):
        assert any(place in line and told in line and "warning" in line for line in ran.lines), (
            place, told, ran.lines)


def test_warnings_of_unknown_tools_are_limited_to_100(project):
    project.bind("tools:\n" + "".join(f"  a_tool_with_a_name_{i:04}: {{entry: 'tools.sample_tool:greet'}}\n"
                                      for i in range(3000)))
    project.write("namel3ss.toml", "[capability_overrides]\n" + "".join(
        f"a_tool_with_b_name_{i:04} = {{}}\n" for i in range(7000)))
    ran = project.command("validate", "project", project.folder)
    assert len([line for line in ran.lines if "no tool of the project" in line]) == 100, ran.lines[:3]
    assert any("more faults follow" in line for line in ran.lines)


def test_policy_without_packs_is_a_warning(project):
    project.write(".namel3ss/trust/policy.toml", '[allowed_capabilities]\nnetwork = "none"\n')
    project.command("validate", "project", project.folder).exits(0).shows("it applies to packs")


@pytest.mark.parametrize("policy, told", [
    ('allowed_packs = ["pack.two"]\n', '"allowed_packs" does not list it'),
    ('allowed_signers = ["bob"]\n', 'it has no "signer_id"'),
    ('max_risk = "medium"\n', 'its risk is high, and "max_risk" is medium'),
])
def test_policy_refuses_a_pack(project, policy, told):
    pack(project)  # its tool may start subprocesses, which is a high risk
    project.write(".namel3ss/trust/policy.toml", policy)
    ran, (check, call) = project.run("pick").exits(1, "refused by .namel3ss/trust/policy.toml", told)
    assert (check["capability"], check["allowed"], check["guarantee_source"], check["reason"]) == (
        "pack_permission", False, "policy", "policy_denied")
    assert (call["decision"], call["reason"], call["result"]) == (
        "blocked", "pack_permission_denied", "blocked")
    project.command("validate", "project", project.folder).exits(0).shows(told, "warning")
    project.run("greeter", {"name": "Ada"}).exits(0)


def test_policy_accepts_a_pack_that_it_lists(project):
    place = pack(project, capabilities=None)
    sign(project, place)
    project.write(".namel3ss/trust/policy.toml", 'allowed_packs = ["pack.one"]\n'
                  'allowed_signers = ["maintainer"]\nmax_risk = "low"\n')
    project.run("pick").exits(0)
    project.write(".namel3ss/trust/policy.toml", 'max_risk = "none"\n')
    assert '"max_risk" must be' in project.faults()


# ---------------------------------------------------------------- built-in packs

# covers: 001-trace-resolved-source
def test_built_in_packs_are_found_and_checked_for_collisions(project):
    pack(project)
    project.folder.joinpath(".namel3ss/packs").rename(project.command.folder / "builtin")
    env = surroundings(NARRATORIA_PACK_PATH=f"relative:{project.command.folder / 'builtin'}")
    binding = bound(project, "pick", env=env)["binding"]
    assert binding["source"] == "builtin_pack" and binding["pack"]["id"] == "pack.one"
    project.write("namel3ss.toml", "[capability_overrides]\npick = { no_network = true }\n")
    ran, trace = project.run("pick", env=env)
    assert ran.status == 0 and events(ran)[-1]["result"] == {"pack": "one_tools"}, ran
    assert trace[-1]["resolved_source"] == "builtin_pack" and trace[-1]["pack_id"] == "pack.one"
    pack(project, name="two")
    ran, (call,) = project.run("pick", env=env).exits(1, "packs/two/pack.yaml")
    assert f"also in {project.command.folder}/builtin/one/pack.yaml" in ran.err, ran
    assert (call["decision"], call["reason"], call["result"]) == ("error", "pack_collision", "error")


def test_folder_of_the_pack_path_that_is_not_used_is_a_warning(project):
    env = environment(NARRATORIA_PACK_PATH=f"here:{project.folder}/nowhere::{project.folder}")
    ran = project.command("validate", "project", project.folder, env=env)
    said = "warning: the environment variable NARRATORIA_PACK_PATH lists "
    assert f'{said}"here", which is ignored: it is not absolute' in ran.out, ran
    assert f'{said}"{project.folder}/nowhere", which does not exist' in ran.out and ran.out.count(said) == 2, ran


# ---------------------------------------------------------------- how far a fault reaches

def test_reply_beyond_a_limit_is_an_error_that_names_the_limit(project):
    project.code("much", "def run(payload):\n    return eval(payload['result'])\n")
    for result, said in (("'x' * (70 << 20)", "replied with more than 67108864 bytes"),
                         ("10 ** 400", "its reply cannot be read: "),
                         ("eval('[' * 90 + ']' * 90) if 0 else __import__('functools').reduce(lambda a, _: [a], "
                          "range(600), 0)", "its reply cannot be read: ")):
        ran, _ = project.run("much", {"result": result}).exits(1, said)
        assert ran.out == "" and len(ran.err.splitlines()) == 2, ran


def test_fault_disables_only_its_tool(project):
    project.bind("tools:\n  greeter:\n    entry: tools.sample_tool:greet\n"
                 "  odd:\n    entry: tools.sample_tool:greet\n    runner: node\n")
    ran, _ = project.run("greeter", {"name": "Ada"})
    assert ran.status == 0 and events(ran)[-1]["result"]["message"] == "Hello Ada", ran
    ran, (call,) = project.run("odd").exits(1, "cannot be called: .namel3ss/tools.yaml: line 6, column 13")
    assert (call["decision"], call["reason"], call["result"]) == ("error", "unknown_runner", "error")
    assert "tools.yaml" in bound(project, "odd")["problem"]


def test_run_reports_only_the_faults_of_its_tool_and_each_once(project):
    project.bind(GREETER + "  odd:\n    entry: 7\n    sandbox: false\n  killed:\n    entry: tools.killed:run\n")
    project.write("tools/killed.py", "import os\ndef run(payload):\n    os.kill(os.getpid(), 9)\n")
    assert project.run("greeter", {"name": "Ada"})[0].err == ""
    for name, said in (("odd", "tools.yaml: line 6, column 12"), ("killed", "SIGNALED")):
        ran, _ = project.run(name).exits(1)
        assert ran.err.count(said) == 1 and len(ran.err.splitlines()) == 2 and "session" not in ran.err, ran


def test_call_without_a_usable_binding_is_traced_as_an_error(project):
    project.bind("tools:\n  slow:\n    entry: tools.sample_tool:greet\n    timeout_ms: fast\n")
    ran, (call,) = project.run("slow").exits(1)
    assert (call["decision"], call["reason"], call["result"]) == ("error", "binding_error", "error")


def test_trace_lists_the_first_ten_keys_in_sorted_order(project):
    ran, trace = project.run("greeter", {"name": "Ada", **{f"k{n}": n for n in range(20, 5, -1)}})
    assert trace[-1]["input_summary"] == {
        "type": "object", "count": 16,
        "keys": ["k10", "k11", "k12", "k13", "k14", "k15", "k16", "k17", "k18", "k19"]}


def test_fault_in_a_pack_disables_only_its_tools(project):
    pack(project, more=ENTRYPOINTS + "colour: red\n")
    project.run("greeter", {"name": "Ada"}).exits(0)
    ran, (call,) = project.run("pick").exits(1, "cannot be called: .namel3ss/packs/one/pack.yaml: line ")
    assert (call["decision"], call["reason"], call["result"]) == ("error", "binding_error", "error")
    assert "colour" in project.faults()


def sign(project, place):
    """Signs a pack as `packs sign` of the original Namel3ss does."""
    file = project.folder / place / "pack.yaml"
    text = "\n".join(line.rstrip() for line in file.read_text().split("\n")).strip()
    tools = project.folder / place / "tools.yaml"
    if tools.exists():
        text += "\n" + "\n".join(line.rstrip() for line in tools.read_text().split("\n")).strip()
    digest = hashlib.sha256(text.encode()).hexdigest()
    file.write_text(file.read_text() + f'signer_id: "maintainer"\nsigned_at: "not_recorded"\ndigest: "sha256:{digest}"\n')


@pytest.mark.parametrize("has_tools", [False, True])
def test_signed_pack_runs_until_it_is_changed(project, has_tools):
    place = pack(project)
    if has_tools:
        project.write(f"{place}/tools.yaml", "tools: \n  pick:\n    entry: one_tools:run\n\n")
    sign(project, place)
    assert project.run("pick").exits(0).result == {"pack": "one_tools"}
    changed = project.folder / place / ("tools.yaml" if has_tools else "pack.yaml")
    changed.write_text("# changed\n" + changed.read_text())
    ran, (call,) = project.run("pick").exits(1, "was changed after it was signed")
    assert (call["decision"], call["reason"], call["result"]) == (
        "blocked", "pack_unavailable_or_unverified", "blocked")


def test_without_tools_yaml_every_run_function_is_a_tool(project):
    (project.folder / ".namel3ss/tools.yaml").unlink()
    project.write("tools/hello.py", "def run(payload):\n    return 'hello ' + payload['name']\n")
    project.write("tools/words.py", "def count(payload):\n    return 1\n")
    ran, (call,) = project.run("hello", {"name": "Ada"})
    assert ran.status == 0 and events(ran)[-1]["result"] == "hello Ada", ran
    assert call["entry"] == "tools.hello:run" and call["resolved_source"] == "binding"
    ran = project.command("tool", "list", "--project", project.folder)
    assert "hello" in ran.out and "words" not in ran.out, ran


def test_without_tools_yaml_the_names_are_those_of_the_program(project):
    (project.folder / ".namel3ss/tools.yaml").unlink()
    for name in ("say_hello", "say_hello/__init__", "tool_2nd", "tool", "plain", "plain/__init__"):
        project.write(f"tools/{name}.py", "def run(payload):\n    return __name__\n")
    project.write("app.ai", 'spec is "1.0"\n\ntool "Say hello!":\n  implemented using python\n\n'
                  'tool "2nd":\r\n  tool "nested":\n# tool "comment":\ntool "":\ntool "":x\n'
                  'tool "gone":\ntool "a"b":\n')
    project.write("more.ai", 'tool "say-hello":\ntool "Say hello!":\ntool "?":\n')
    listed = project.command("tool", "list", "--project", project.folder, "--json").result
    mine = {each["name"]: each["binding"]["entry"] for each in listed if "binding" in each}
    assert mine == {"Say hello!": "tools.say_hello:run", "say-hello": "tools.say_hello:run",
                    "2nd": "tools.tool_2nd:run", "?": "tools.tool:run", "plain": "tools.plain:run"}
    ran, (call,) = project.run("Say hello!")
    assert events(ran)[-1]["result"] == "tools.say_hello" and call["tool"] == "Say hello!", ran


@pytest.mark.parametrize("name, module", [
    ("hello.py", "run = lambda payload: 1\n"),
    ("hello.py", "class run(dict):\n    pass\n"),
    ("hello.py", "from tools.words import count as run\n"),
    ("hello.py", "if True:\n    def run(payload):\n        return 1\n"),
    ("hello/__init__.py", "async def run(payload):\n    return 1\n"),
])
def test_without_tools_yaml_run_may_be_any_callable(project, name, module):
    (project.folder / ".namel3ss/tools.yaml").unlink()
    project.write("tools/words.py", "import subprocess\ndef count(payload):\n    return 1\n"
                  "# run it\nsubprocess.run(['true'])\nrunner = 1\n"
                  "def go(run):\n    run(run == 1)\n")
    project.write(f"tools/{name}", module)
    ran, (call,) = project.run("hello")
    assert ran.status == 0 and call["entry"] == "tools.hello:run", ran
    assert "words" not in project.command("tool", "list", "--project", project.folder).out


# ---------------------------------------------------------------- calls that cannot start

def test_call_that_cannot_start_is_traced(project):
    project.tool("greet", "kind: node")
    ran, trace = project.run("greet", {"name": "Ada"}).exits(1, 'needs the runner "node"')
    (call,) = trace
    assert (call["type"], call["tool"], call["status"], call["result"]) == (
        "tool_call", "greet", "error", "error")
    assert 'needs the runner "node"' in call["error_message"]
    assert call["input_summary"] == {"type": "object", "keys": ["name"], "count": 1}
    # escape_masked hides the kernel's sandbox.
    project.tool("greet")
    trace_file = project.command.folder / "trace.ndjson"
    ran = subprocess.run([BUILD / "tests" / "escape" / "escape_masked", NARRATORIA, "tool", "run", "greet", "--project",
                          project.folder, "--trace", trace_file, "--sandbox", "no_network"], env=surroundings(),
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE)
    assert ran.returncode == 1 and "GUARANTEE_UNAVAILABLE" in ran.stderr, ran
    check, call = [json.loads(line) for line in trace_file.read_text().splitlines()]
    assert (check["type"], check["capability"], check["allowed"], check["reason"]) == (
        "capability_check", "network", False, "coverage_missing")
    assert (call["error_type"], call["decision"], call["result"]) == (
        "CapabilityViolation", "allowed", "error")


# ---------------------------------------------------------------- the other commands

def test_script_calls_the_tools_of_a_project(project):
    script = project.command.file("a.nuwa", 'LET said = CALL greeter { name: "Ada" }\nPRINT(said.message)\n')
    project.command("script", script, "--project", project.folder).exits(0, out="Hello Ada\n")
    project.bind("tools: 7\n")
    project.command("script", script, "--project", project.folder).exits(2, "tools.yaml:1:", "the project in")


def test_story_is_played_with_the_tools_of_a_project(project):
    story = project.command.story(GREETING)
    assert "does not exist" in project.command("play", "--verbose", "--story", story, "hello").out
    ran = project.command("play", "--verbose", "--story", story, "--project", project.folder, "hello")
    assert ran.status == 0 and "does not exist" not in ran.out and "Nothing happens" not in ran.out, ran
    project.command("play", "--verbose", "--story", story, "--project", "nowhere", "hello").exits(2, "nowhere")


# ---------------------------------------------------------------- listing and checking

def test_list_shows_source_runner_and_guarantees(project):
    project.tool("greet", "purity: pure", "sandbox: true")
    ran = project.command("tool", "list", "--project", project.folder).exits(0)
    assert f"greet  (local; project {project.folder}/.namel3ss/tools.yaml)" in ran.out
    assert "source: binding" in ran.out and "no_network (tool)" in ran.out
    assert "secrets_allowed [] (tool)" in ran.out, ran.out


def test_list_check_finds_what_would_make_calls_fail(project):
    project.command("tool", "list", "--project", project.folder, "--check").exits(0).shows("no faults")
    project.bind("tools:\n  a:\n    entry: tools.nothing:run\n  b:\n    entry: somewhere:run\n"
                 "  c:\n    kind: node\n    entry: tools.sample_tool:run\n"
                 "  d:\n    entry: tools.sample_tool:greet\n    purity: pure\n")
    ran = project.command("tool", "list", "--project", project.folder, "--check").exits(1)
    for line, told in ((2, "the project has no module tools/nothing.py"), (4, "warning"),
                       (6, "tools of the kind node are not supported"), (9, "sandbox: true")):
        assert any(f"tools.yaml:{line}:" in each and told in each for each in ran.out.splitlines()), (
            told, ran.out)
    same = project.command("validate", "project", project.folder, "--json")
    assert same.status == 1 and len(same.result["files"][0]["faults"]) == 4, same
    assert project.command("validate", "project", "nowhere").status == 2


def test_tools_with_the_same_name_in_scripts_are_a_warning(project):
    project.bind("tools:\n" + "".join(f'  "{name}": {{entry: "tools.sample_tool:greet"}}\n'
                                      for name in ("my tool", "my_tool")))
    (line, _) = project.command("validate", "project", project.folder).exits(0).lines
    assert ('tools.yaml:3:3: warning: ' in line and 'the tool "my_tool" has the same name in scripts as "my tool", '
            'my_tool, so scripts can call neither' in line), line
    listed = project.command("tool", "list", "--project", project.folder).exits(0)
    assert listed.out.count("in scripts: my_tool, which is also the name of a different tool") == 2, listed
    script = project.command.file("a.nuwa", "CALL my_tool {}\n")
    project.command("script", script, "--project", project.folder).exits(
        1, f'means "my_tool" of the project {project.folder}/.namel3ss/tools.yaml and "my tool" of the project')


def test_plan_calls_the_tools_of_a_project_by_name(project):
    plan = project.command.plan({"toolPath": "greeter", "input": {"name": "Ada"}})
    ran = project.command("run", plan, "--project", project.folder, "--quiet").exits(0)
    (attempt,) = ran.result["toolResults"][0]["attempts"]
    assert attempt["traces"][-1]["tool"] == "greeter"
    project.bind("tools: 7\n")
    project.command("run", plan, "--project", project.folder).exits(2, "tools.yaml:1:")


def test_secrets_without_variables_are_a_warning(project):
    pack(project, capabilities=CAPABILITIES.replace('env: "read"', 'env: "none"'))
    ran = project.command("validate", "project", project.folder).exits(0)
    assert '"secrets" has no effect: a secret is a variable, and the tool may read none' in ran.lines[0], ran


@pytest.mark.parametrize("settings, entry, said", [
    ("[python_tools]\npython = '/nope/python3'\n", "sample_tool:greet", "cannot be used: No such file or directory"),
    ("[python_tools]\npython = '/bin/ls'\n", "sample_tool:greet", "/bin/ls is a program, but not Python"),
    ("", "nothing:run", 'There is no module "tools.nothing"')])
def test_missing_python_or_module_is_not_retried(project, settings, entry, said):
    project.write("namel3ss.toml", settings)
    project.tool("greet", entry=entry)
    plan = project.command.plan({"toolPath": "greet", "retryPolicy": {"maxRetries": 1, "backoffMs": 1}})
    ran = project.command("run", plan, "--project", project.folder, "--quiet", env=surroundings()).exits(1)
    (attempt,) = ran.result["toolResults"][0]["attempts"]
    assert said in attempt["error"] and len(attempt["error"]) < 2000, ran


def test_tool_without_a_runner_fails_and_names_the_runner(project):
    project.tool("greet", "kind: node")
    project.run("greet").exits(1, 'needs the runner "node"')


# ---------------------------------------------------------------- in plans, stories and scripts

def test_story_that_is_a_project_calls_its_tools_by_name(command):
    story = command.story(GREETING)
    Project(command, story)
    checked = command("validate", "story", story)
    assert checked.status == 0 and "warning" not in checked.out, checked
    command("play", "--story", story, "hello").exits(0).shows("Hi")
    (story / ".namel3ss/tools.yaml").write_text("tools:\n  greeter:\n    entry: 7\n")
    command("validate", "story", story).exits(1).shows(".namel3ss/tools.yaml:3:")
    (story / ".namel3ss/tools.yaml").write_text("tools: 7\n")
    assert command("play", "--story", story, "hello").status == 2


def test_allow_paths_also_applies_to_project_code(command):
    story = command.story(GREETING, toml='title = "A test"\n[tools]\nallow_paths = ["tools"]\n')
    Project(command, story)
    (line, _) = command("validate", "story", story).exits(0).lines
    assert line.startswith(f"{story}/story.toml:3:16: warning: /tools/allow_paths/0: tools of the story's project"), line
    assert 'is outside the allowed paths' in line and 'add "." to allow_paths under [tools] in story.toml' in line, line
    command("play", "--story", story, "hello").exits(1)
    for added in (".", story):
        (story / "story.toml").write_text(f'title = "A test"\n[tools]\nallow_paths = ["tools", "{added}"]\n')
        command("validate", "story", story, "--strict").exits(0)


def test_guarantees_of_the_story_apply_to_project_tools(command):
    story = command.story(GREETING, toml='title = "A test"\n[tools.greeter]\nno_network = true\n')
    Project(command, story)
    command("validate", "story", story, "--strict").exits(0)
    ran = command("tool", "list", "--story", story).exits(0)
    assert ran.lines[-2:] == ["    guarantees: no_network (story)", '    times: {"try_ms":10000}'], ran


def test_sandbox_option_is_enforced_and_traced(project):
    ran, trace = project.run("greeter", {"name": "Ada"}, "--sandbox", "no_network").exits(0)
    (call,) = trace
    assert call["sandbox"] is True
    # The kernel enforces it, and the message is that of the specification.
    project.write("tools/sample_tool.py", "import socket\ndef greet(payload):\n    socket.socket()\n")
    ran, trace = project.run("greeter", {}, "--sandbox", "no_network")
    assert ran.status == 1 and 'Tool "greeter" cannot use the network.' in ran.err, ran
    check, call = trace
    assert (check["capability"], check["allowed"], check["guarantee_source"], check["reason"]) == (
        "network", False, "policy", "guarantee_blocked")
    assert (call["error_type"], call["decision"]) == ("CapabilityViolation", "allowed")


def test_sandbox_option_also_covers_project_guarantees(project):
    project.write("namel3ss.toml", "[capability_overrides]\ngreeter = { no_subprocess = true }\n")
    project.run("greeter", {"name": "Ada"}).exits(1, "COVERAGE_MISSING")
    ran, trace = project.run("greeter", {"name": "Ada"}, "--sandbox", "no_network").exits(0)
    assert len(trace) == 1 and trace[0]["sandbox"] is True


def test_market_example_runs(command):
    market = SOURCE / "examples" / "projects" / "market"
    assert command("validate", "project", market).status == 0
    ran = command("tool", "run", "greet the customer", "--project", market, "--input",
                  '{"name": "Ada"}')
    assert ran.status == 0 and events(ran)[-1]["result"] == {"message": "Hello Ada"}, ran
    ran = command("tool", "run", "add prices", "--project", market, "--input",
                  '{"prices": [1.5, 2]}')
    assert ran.status == 0 and events(ran)[-1]["result"] == {"total": 3.5, "items": 2}, ran
    binding = next(each for each in
                   command("tool", "list", "--project", market, "--json").result
                   if each["name"] == "roll a price")["binding"]
    assert binding["source"] == "installed_pack" and binding["pack"]["id"] == "example.dice"
