# SPDX-License-Identifier: Apache-2.0
"""The runner of a project's Python tools: one request in, one reply out (spec 001)."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "runtime" / "tool" / "project" / "runner" / "python"
SCRIPT = FOLDER / "narratoria_runner.py"
DEADLINE = 300

# The samples of specification 001.
REQUEST = """{
  "protocol_version": 1,
  "tool": "greeter",
  "entry": "tools.sample_tool:greet",
  "payload": { "name": "Ada" },
  "sandbox": true,
  "trace_id": "uuid",
  "capability_context": { "guarantees": { "no_network": true } }
}
"""
SUCCESS = """{
  "ok": true,
  "protocol_version": 1,
  "result": { "message": "Hello Ada", "ok": true }
}
"""
ERROR = """{
  "ok": false,
  "protocol_version": 1,
  "error": { "type": "ValueError", "message": "Missing input", "reason_code": "guarantee_blocked" }
}
"""
TOOL = '''
def greet(payload):
    if "name" not in payload:
        raise ValueError("Missing input")
    return {"message": "Hello " + payload["name"], "ok": True}
'''


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


class Project:
    def __init__(self, folder):
        self.folder = folder

    def write(self, text, name="tool.py"):
        file = self.folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def send(self, data, arguments=("-c", SCRIPT.read_text(encoding="utf-8")), program=sys.executable,
             **environment):
        """Runs the runner as the library does, or with different arguments."""
        if isinstance(data, str):
            data = data.encode()
        return subprocess.run([program, *arguments], input=data, cwd=self.folder,
                              capture_output=True, timeout=DEADLINE, check=False,
                              env={**os.environ, **environment})

    def ask(self, entry="tool:run", payload=None, **more):
        ended = self.send(json.dumps(
            {"protocol_version": 1, "tool": "t", "entry": entry, "payload": payload or {}, **more}))
        assert ended.stdout.count(b"\n") == 1, ended
        reply = json.loads(ended.stdout)
        assert reply["protocol_version"] == 1
        return Reply(reply, ended)

    def run(self, code, **more):
        """Calls a function with this body; returns its reply."""
        self.write("def run(payload):\n" + "".join(f"    {line}\n" for line in code.splitlines()))
        return self.ask(**more)

    def guarded(self, guarantee, code, **more):
        context = {"guarantees": {guarantee: True}, "sources": {guarantee: "user"}}
        return self.run(code, sandbox=True, capability_context=context, **more)


class Reply:
    def __init__(self, reply, ended):
        self.reply, self.status = reply, ended.returncode
        self.printed = ended.stderr.decode()

    def result(self):
        assert self.reply["ok"], self.reply
        assert list(self.reply)[:3] == ["ok", "protocol_version", "result"]
        return self.reply["result"]

    def error(self):
        assert self.reply["ok"] is False, self.reply
        assert self.status == 0
        return self.reply["error"]

    def message(self, type_):
        assert self.error()["type"] == type_
        return self.error()["message"]


def same(reply, example):
    """Asserts that both have the same members in the same order with the same values."""
    def texts(text):
        return json.dumps(json.loads(text))
    assert texts(reply) == texts(example)


def test_sample_request_gets_the_sample_reply(project):
    project.write(TOOL, "tools/sample_tool.py")
    same(project.send(REQUEST).stdout, SUCCESS)


def test_error_has_the_members_of_the_specification(project):
    project.write(TOOL, "tools/sample_tool.py")
    error = project.ask("tools.sample_tool:greet", {}).error()
    expected = json.loads(ERROR)["error"]
    assert (error["type"], error["message"]) == (expected["type"], expected["message"])
    assert 'raise ValueError("Missing input")' in error["details"]["traceback"]
    assert "narratoria" not in error["details"]["traceback"]


@pytest.mark.parametrize("module", ["narratoria_runner", "namel3ss_tools.runner"])
def test_runner_runs_as_a_module_under_both_names(project, module):
    project.write(TOOL, "tools/sample_tool.py")
    example = FOLDER.parents[4] / "examples" / "container"
    path = os.pathsep.join((str(FOLDER), str(example)))
    same(project.send(REQUEST, ("-m", module), PYTHONPATH=path).stdout, SUCCESS)


def test_runner_has_the_syntax_of_python_3_8():
    ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 8))


def test_payload_comes_back_unchanged(project):
    given = {"half": 0.5, "large": 12345678901234567890, "text": "é\u2028🔥\n", "list": [None, True]}
    assert project.run("return payload", payload=given).result() == given


def test_output_of_the_tool_is_not_in_the_reply(project):
    reply = project.run(
        "import atexit, os, subprocess, sys\n"
        "atexit.register(print, 'at exit')\n"
        "print('from Python')\n"
        "os.write(1, b'from the descriptor\\n')\n"
        "subprocess.run(['echo', 'from a child'])\n"
        "sys.__stdout__.write('from the first\\n')")
    assert reply.result() is None
    for text in ("from Python", "from the descriptor", "from a child", "from the first", "at exit"):
        assert text in reply.printed


def test_async_function_is_awaited(project):
    project.write("import asyncio\nasync def run(payload):\n    await asyncio.sleep(0)\n    return 3")
    assert project.ask().result() == 3


def test_project_modules_may_have_standard_library_names(project):
    project.write("VALUE = 'mine'", "json.py")
    assert project.run("import json; return json.VALUE").result() == "mine"


def test_project_may_be_inside_the_prefix_of_python(project):
    home = os.path.dirname(os.path.realpath(sys.executable))
    project.write(f"home = {home}\n", "pyvenv.cfg")
    python = project.folder / "bin" / "python3"
    python.parent.mkdir()
    python.symlink_to(os.path.realpath(sys.executable))
    project.write("import sys\nVALUE = 'mine'\nPREFIX = sys.prefix", "json.py")
    project.write("import json\ndef run(payload):\n    return [json.VALUE, json.PREFIX]")
    ended = project.send('{"entry": "tool:run"}', program=python, PYTHONPATH=str(project.folder))
    assert json.loads(ended.stdout)["result"] == ["mine", str(project.folder)], ended


def test_standard_input_is_empty_for_the_tool(project):
    assert project.run("import sys\nreturn sys.stdin.read()").result() == ""


@pytest.mark.parametrize("data, text", [
    (b"", "(0 bytes) is empty"),
    (b'{"protocol_version": 1, "tool"', "is not valid JSON"),
    (b"\xff\xfe", "is not valid JSON"),
    (b"[" * 100_000, "is not valid JSON"),
    (b"[]", "not a JSON object"),
    (b'{"protocol_version": 2, "entry": "tool:run"}', "version 2; this runner supports only version 1"),
    (b'{"protocol_version": "1", "entry": "tool:run"}', 'version "1"'),
    (b'{"protocol_version": true, "entry": "tool:run"}', "version true"),
    (b'{"protocol_version": 1}', 'no "entry"'),
    (b'{"entry": 5}', '"entry" in the request must be a string'),
    (b'{"entry": "tool:run", "sandbox": "yes"}', '"sandbox" in the request must be true or false'),
    (b'{"entry": "tool:run", "capability_context": []}', '"capability_context" in the request'),
])
def test_bad_request_is_refused(project, data, text):
    project.write("def run(payload):\n    return 1")
    ended = project.send(data)
    reply = json.loads(ended.stdout)
    assert reply["ok"] is False and reply["error"]["type"] == "ProtocolError"
    assert text in reply["error"]["message"]


@pytest.mark.parametrize("entry, type_, text", [
    ("tool", "ValueError", "not have the form module:function"),
    (":run", "ValueError", "not have the form module:function"),
    ("tool:", "ValueError", "not have the form module:function"),
    ("../tool:run", "ValueError", "not have the form module:function"),
    ("nowhere:run", "ModuleNotFoundError", 'There is no module "nowhere"'),
    ("tool.part:run", "ModuleNotFoundError", 'There is no module "tool.part"'),
    ("tool:walk", "AttributeError", 'has no function "walk"'),
    ("tool:rnu", "AttributeError", 'Did you mean "run"?'),
    ("tool:NUMBER", "TypeError", "not a function but of type int"),
])
def test_invalid_entry_is_explained(project, entry, type_, text):
    project.write("NUMBER = 1\ndef run(payload):\n    return 1")
    assert text in project.ask(entry).message(type_)


def test_missing_import_of_the_tool_is_named(project):
    project.write("import no_such_package\ndef run(payload):\n    return 1")
    assert "no_such_package" in project.ask().message("ModuleNotFoundError")


@pytest.mark.parametrize("code, type_, text", [
    ("return float('nan')", "ValueError", "is nan, a number that JSON does not have"),
    ("return {'a': [1, float('inf')]}", "ValueError", "has, at a[1], inf"),
    ("return b'x'", "TypeError", "is bytes; decode them"),
    ("return {'tags': {1, 2}}", "TypeError", "has, at tags, a set; convert it to a list"),
    ("return (x for x in [1])", "TypeError", "a generator"),
    ("import datetime; return {'when': datetime.date(2020, 1, 1)}", "TypeError", "at when, a datetime.date"),
    ("return {(1, 2): 3}", "TypeError", "keys must be str"),
    ("return '\\ud800'", "UnicodeEncodeError", "a lone surrogate"),
    ("a = []; a.append(a); return a", "ValueError", "Circular reference"),
    ("a = []\nfor _ in range(100000): a = [a]\nreturn a", "RecursionError", "cannot be written as JSON"),
])
def test_result_that_is_not_json_is_explained(project, code, type_, text):
    assert text in project.run(code).message(type_)


@pytest.mark.parametrize("code, type_, text", [
    ("import sys; sys.exit(3)", "SystemExit", "(sys.exit) with 3"),
    ("raise KeyboardInterrupt", "KeyboardInterrupt", "KeyboardInterrupt"),
    ("raise GeneratorExit", "GeneratorExit", "GeneratorExit"),
    ("def down(n): return down(n + 1)\ndown(0)", "RecursionError", "recursion"),
    ("class Odd(Exception):\n    def __str__(self): raise RuntimeError\nraise Odd", "Odd",
     "has no message: str() raised RuntimeError"),
    ("class Odd(Exception):\n    def __str__(self): return 5\nraise Odd", "Odd", "has no message"),
    ("{}['name']", "KeyError", "KeyError: 'name'"),
    ("raise ValueError('\\ud800')", "ValueError", "\\ud800"),
    ("raise ValueError('x' * 10**7)", "ValueError", "characters …"),
])
def test_exception_becomes_an_error(project, code, type_, text):
    assert text in project.run(code).message(type_)


@pytest.mark.parametrize("module, type_", [
    ("import sys; sys.exit(0)", "SystemExit"), ("def", "SyntaxError"), ("1 / 0", "ZeroDivisionError"),
])
def test_exception_at_import_is_an_error(project, module, type_):
    project.write(module)
    assert "tool.py" in project.ask().error()["details"]["traceback"]
    assert project.ask().error()["type"] == type_


def test_tool_that_closes_its_descriptors_fails_with_a_reason(project):
    project.write("import os\ndef run(payload):\n    os.closerange(3, 1000)")
    ended = project.send('{"entry": "tool:run"}')
    assert (ended.stdout, ended.returncode) == (b"", 70)
    assert b"closed the descriptor of its reply" in ended.stderr


def test_reply_is_not_written_to_a_reused_descriptor(project):
    project.write("import os\n"
                  "def run(payload):\n"
                  "    os.closerange(3, 1000)\n"
                  "    while os.open('other', os.O_RDWR | os.O_CREAT) < 100: pass")
    ended = project.send('{"entry": "tool:run"}')
    assert ended.returncode == 70
    assert (project.folder / "other").read_bytes() == b""


def test_tool_that_closes_standard_output_still_answers(project):
    assert project.run("import sys, os\nsys.stdout.close()\nos.close(1)\nreturn 1").result() == 1


def test_forked_child_does_not_reply(project):
    assert project.run("import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nreturn 1").result() == 1


def test_daemon_threads_that_print_do_not_disturb_the_reply(project):
    reply = project.run("import threading\n"
                        "def speak():\n"
                        "    while True: print('again')\n"
                        "threading.Thread(target=speak, daemon=True).start()\n"
                        "return 'done'")
    assert reply.result() == "done"


BLOCKED = {
    "no_network": ("use the network", [
        "import socket; socket.socket().connect(('127.0.0.1', 9))",
        "import socket; socket.getaddrinfo('localhost', 80)",
        "import socket; socket.socket(socket.AF_UNIX).connect('/tmp/x')",
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9')",
    ]),
    "no_filesystem_write": ("write to the filesystem", [
        "open('new', 'w')", "import io; io.open('new', 'x')", "import os; os.mkdir('new')",
        "import os; os.open('new', os.O_CREAT | os.O_WRONLY)", "import os; os.remove('tool.py')",
        "import os; os.rename('tool.py', 'new')", "import pathlib; pathlib.Path('new').touch()",
        "import os; os.chmod('tool.py', 0)", "import shutil; shutil.copy('tool.py', 'new')",
    ]),
    "no_filesystem_read": ("read from the filesystem", [
        "open('data.txt').read()", "import os; os.listdir('.')", "open('/etc/hostname')",
        "import os; list(os.scandir('/'))",
    ]),
    "no_subprocess": ("spawn subprocesses", [
        "import subprocess; subprocess.run(['true'])", "import os; os.system('true')",
        "import os; os.fork()", "import os; os.execv('/bin/true', ['true'])",
        "import os; os.posix_spawn('/bin/true', ['true'], {})",
    ]),
    "no_env_read": ("read environment variables", [
        "import os; os.environ['PATH']", "import os; os.getenv('PATH')",
        "import os; dict(os.environ)", "import os; 'PATH' in os.environ",
    ]),
    "no_env_write": ("write environment variables", [
        "import os; os.environ['A'] = 'b'", "import os; os.putenv('A', 'b')",
        "import os; del os.environ['PATH']",
    ]),
}


@pytest.mark.parametrize("guarantee, code",
                         [(name, code) for name, (_, codes) in BLOCKED.items() for code in codes])
def test_forbidden_act_fails_with_the_specified_message(
        project, guarantee, code):
    reply = project.guarded(guarantee, code)
    assert reply.message("CapabilityViolation").startswith(f'Tool "t" cannot {BLOCKED[guarantee][0]}.')
    assert reply.error()["reason_code"] == "guarantee_blocked"
    assert reply.reply["capability_checks"] == [
        {"capability": guarantee[len("no_"):], "allowed": False, "guarantee_source": "user",
         "reason": "guarantee_blocked"}]
    assert not (project.folder / "new").exists()


def test_violation_names_path_address_and_command(project):
    def said(guarantee, code):
        return project.guarded(guarantee, code).error()["message"]
    assert str(project.folder / "new") in said("no_filesystem_write", "open('new', 'w')")
    code = "import socket; socket.socket(socket.AF_UNIX).connect('/tmp/x')"
    assert "/tmp/x" in said("no_network", code)
    assert "true --help" in said("no_subprocess", "import os; os.spawnv(0, 'true', ['true', '--help'])") \
        or "fork" in said("no_subprocess", "import os; os.spawnv(0, 'true', ['true', '--help'])")
    assert "'SECRET'" in said("no_env_read", "import os; os.getenv('SECRET')")


def test_caught_violation_is_in_the_capability_checks(project):
    reply = project.guarded("no_network", "import socket\n"
                                          "try: socket.create_connection(('127.0.0.1', 9))\n"
                                          "except OSError: return 'alone'")
    assert reply.result() == "alone"
    assert reply.reply["capability_checks"][0]["capability"] == "network"


# An error as native code raises it, which the checks of the runner do not see.
REFUSED = "raise PermissionError(13, 'Permission denied', '/place')"


def test_kernel_refusal_is_attributed_to_its_guarantee(project):
    for guarantee in ("no_filesystem_write", "no_filesystem_read"):
        said = project.guarded(guarantee, REFUSED).message("CapabilityViolation")
        assert said.startswith(f'Tool "t" cannot {BLOCKED[guarantee][0]}. It tried to use'), said


def test_ambiguous_kernel_refusal_is_not_attributed(project):
    context = {"guarantees": {"no_filesystem_write": True, "no_filesystem_read": True}, "sources": {}}
    reply = project.run(REFUSED, sandbox=True, capability_context=context)
    assert "/place" in reply.message("PermissionError")
    assert "capability_checks" not in reply.reply


@pytest.mark.parametrize("guarantee", BLOCKED)
def test_acts_that_a_guarantee_allows_work(project, guarantee):
    project.write("VALUE = 1", "other.py")
    reply = project.guarded(
        guarantee, "import asyncio, decimal, sqlite3, tempfile, threading, uuid, zoneinfo\n"
                   "import other\n"
                   "async def nothing(): return 1\n"
                   "thread = threading.Thread(target=print); thread.start(); thread.join()\n"
                   "return asyncio.run(nothing()) + other.VALUE")
    assert reply.result() == 2
    assert "capability_checks" not in reply.reply


@pytest.mark.parametrize("guarantee", ["no_filesystem_write", "no_filesystem_read"])
def test_scratch_folder_of_the_sandbox_is_usable(project, guarantee):
    scratch = project.folder / "narratoria-scratch-1"
    scratch.mkdir()
    context = {"guarantees": {guarantee: True}, "sources": {}}
    project.write("import tempfile\n"
                  "def run(payload):\n"
                  "    with tempfile.NamedTemporaryFile('w+') as file:\n"
                  "        file.write('kept'); file.flush()\n"
                  "        return open(file.name).read()\n")
    ended = project.send(
        json.dumps({"tool": "t", "entry": "tool:run", "sandbox": True,
                    "capability_context": context}),
        arguments=("-c", SCRIPT.read_text(encoding="utf-8"), "--has-scratch"), TMPDIR=str(scratch))
    assert json.loads(ended.stdout)["result"] == "kept"


def test_guarantees_hold_without_the_sandbox_too(project):
    reply = project.run("import os; return 'PATH' in os.environ",
                        capability_context={"guarantees": {"no_env_read": True}})
    assert reply.message("CapabilityViolation").startswith('Tool "t" cannot read environment variables.')
