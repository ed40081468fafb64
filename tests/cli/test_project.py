# SPDX-License-Identifier: Apache-2.0
"""Tools of a project (spec 001) run with its folder, Python, variables and limits, and are traced."""

import json
import subprocess
import sys

import pytest

from harness import BUILD, DEADLINE, NARRATORIA, SOURCE
from project_folders import events, surroundings


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


def test_reply_beyond_a_limit_is_an_error_that_names_the_limit(project):
    project.code("much", "def run(payload):\n    return eval(payload['result'])\n")
    for result, said in (("'x' * (70 << 20)", "replied with more than 67108864 bytes"),
                         ("10 ** 400", "its reply cannot be read: "),
                         ("eval('[' * 90 + ']' * 90) if 0 else __import__('functools').reduce(lambda a, _: [a], "
                          "range(600), 0)", "its reply cannot be read: ")):
        ran, _ = project.run("much", {"result": result}).exits(1, said)
        assert ran.out == "" and len(ran.err.splitlines()) == 2, ran


def test_trace_lists_the_first_ten_keys_in_sorted_order(project):
    ran, trace = project.run("greeter", {"name": "Ada", **{f"k{n}": n for n in range(20, 5, -1)}})
    assert trace[-1]["input_summary"] == {
        "type": "object", "count": 16,
        "keys": ["k10", "k11", "k12", "k13", "k14", "k15", "k16", "k17", "k18", "k19"]}


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


def test_tool_without_a_runner_fails_and_names_the_runner(project):
    project.tool("greet", "kind: node")
    project.run("greet").exits(1, 'needs the runner "node"')


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
