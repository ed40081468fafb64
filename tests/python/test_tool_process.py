# SPDX-License-Identifier: Apache-2.0
"""narratoria.tool in real processes; every line must match the event schema."""

import copy
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from narratoria import tool

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "bindings" / "python"
SCHEMAS = ROOT / "abi" / "schemas"
EVENT = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "event-0.schema.json").read_text()))
INPUT = jsonschema.Draft202012Validator(
    json.loads((SCHEMAS / "tool-input.schema.json").read_text())
)
REQUEST = {
    "requestId": "r-1",
    "tool": "light",
    "operation": "run",
    "input": {"action": "light", "times": 2},
    "dependencies": {"door": {"open": True}, "lever": None},
    "results": {"door": [1, "ü"]},
}
DEADLINE = 300


class Ran:
    def __init__(self, process, output, diagnostics):
        self.status = process.returncode
        self.diagnostics = diagnostics.decode()
        assert output == b"" or output.endswith(b"\n")
        self.lines = output.decode("utf-8").split("\n")[:-1]
        self.events = [json.loads(line) for line in self.lines]
        for event in self.events:
            EVENT.validate(event)

    @property
    def types(self):
        return [event["type"] for event in self.events]

    @property
    def error(self):
        [event] = [event for event in self.events if event["type"] == "error"]
        return event["errorCode"], event["errorMessage"], event.get("details")

    @property
    def done(self):
        assert self.types.count("done") == 1 and self.types[-1] == "done"
        return {k: v for k, v in self.events[-1].items() if k not in ("version", "type")}


def environment(**added):
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGE), **added}


@pytest.fixture
def start(tmp_path):
    """Runs a script with the module's names and this request, and waits for its end."""

    def start(script, request=REQUEST, interpreter=sys.executable, **options):
        path = tmp_path / "script.py"
        path.write_text("from narratoria.tool import *\n" + script, encoding="utf-8")
        given = request if isinstance(request, bytes) else json.dumps(request).encode()
        options.setdefault("env", environment())
        process = subprocess.Popen(
            [interpreter, str(path)],
            stdin=subprocess.PIPE,
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            **options,
        )
        output, diagnostics = process.communicate(given, timeout=DEADLINE)
        return Ran(process, output or b"", diagnostics)

    return start


def test_every_event_type_is_written(start, tmp_path):
    ran = start("""
def light(request):
    log("Lighting torch...", "debug", attempts=1)
    progress(0.5)
    progress(7, "Nearly")
    patch({"inventory": {"torch": {"lit": True, "burnt": None, "hours": (1, 2.5)}}})
    asset("lit", "image", "image/png", "torch.png", {"width": 1})
    ui_event("narrative_choice", {"choices": ["Öffnen", "Leave\\n"]})
    ui_event("flash")
    return {"was": request.input["action"]}

run(light)
""")
    assert ran.status == 0 and ran.diagnostics == ""
    assert ran.types == "log log log state_patch asset ui_event ui_event done".split()
    assert ran.events[0]["fields"] == {"attempts": 1} and ran.events[0]["level"] == "debug"
    assert ran.events[1]["message"] == "50 %" and ran.events[1]["fields"] == {"progress": 0.5}
    assert ran.events[2]["message"] == "Nearly" and ran.events[2]["fields"] == {"progress": 1}
    assert ran.events[3]["patch"]["inventory"]["torch"]["hours"] == [1, 2.5]
    assert ran.events[4]["path"] == str(tmp_path / "torch.png")
    assert ran.events[5]["payload"] == {"choices": ["Öffnen", "Leave\n"]}
    assert "payload" not in ran.events[6]
    assert "Öffnen" in ran.lines[5]
    assert ran.done == {"ok": True, "result": {"was": "light"}}


def test_request_is_read(start):
    INPUT.validate(REQUEST)
    ran = start("""
run(lambda request: [request.request_id, request.tool, request.operation, request.input,
                     request.dependencies, request.results])
""")
    assert ran.done["result"] == [
        REQUEST[name]
        for name in ("requestId", "tool", "operation", "input", "dependencies", "results")
    ]


@pytest.mark.parametrize("text", [b"", b" \r\n\t\n", b"{}", b'{"input": null}'])
def test_tool_can_be_started_by_hand(start, text):
    ran = start("run(lambda r: [r.input, r.operation, r.tool])", text)
    assert ran.done == {"ok": True, "result": [{}, "run", ""]}


@pytest.mark.parametrize(
    "text, says",
    [
        (b"{", "not JSON"),
        (b"[" * 100000, "not JSON"),
        (b"[]", "must be an object, is an array"),
        (b"true", "is a boolean"),
        (b'{"input": []}', "request's input must be an object, is an array"),
        (b'{"requestId": 1}', "request's requestId must be a string, is a number"),
        (b'{"input": {"a": "\xff"}}', "not UTF-8"),
    ],
    ids=range(7),
)
def test_invalid_request_is_reported(start, text, says):
    ran = start("run(lambda r: 1)", text)
    assert ran.error[0] == "INVALID_INPUT" and says in ran.error[1]
    assert ran.done["ok"] is False and ran.status == 0


def test_returning_none_omits_result(start):
    assert start("run(lambda r: None)").done == {"ok": True}
    assert start("run(lambda r: False)").done == {"ok": True, "result": False}


def test_explicit_done_is_kept(start):
    assert start("run(lambda r: done(False, 'Wet.', 3))").done == {
        "ok": False,
        "summary": "Wet.",
        "result": 3,
    }
    ran = start("def f(r):\n    done()\n    return 5\nrun(f)")
    assert ran.done == {"ok": True} and "ignored" in ran.diagnostics and ran.status == 0


def test_error_without_done_fails_invocation(start):
    ran = start("run(lambda r: error('WET', 'Too wet.', {'wetness': 0.9}))")
    assert ran.error == ("WET", "Too wet.", {"wetness": 0.9}) and ran.done["ok"] is False


def test_exception_becomes_error_event(start):
    ran = start("def f(r):\n    return r.input['missing']\nrun(f)")
    assert ran.error == ("TOOL_EXCEPTION", "KeyError: 'missing'", {"exception": "KeyError"})
    assert ran.done == {"ok": False, "summary": "KeyError: 'missing'"}
    assert ran.status == 0
    assert "Traceback" in ran.diagnostics and "line 3, in f" in ran.diagnostics

    ran = start("def f(r):\n    raise ToolError('WET', 'Too wet.', {'wetness': 1})\nrun(f)")
    assert ran.error == ("WET", "Too wet.", {"wetness": 1})
    assert ran.done == {"ok": False, "summary": "Too wet."} and ran.diagnostics == ""

    ran = start("def f(r):\n    raise InvalidInput('must be at least 2', '/sides')\nrun(f)")
    assert ran.error == ("INVALID_INPUT", "input /sides: must be at least 2", {"pointer": "/sides"})


def test_error_with_any_content_is_reported(start):
    ran = start("def f(r):\n    raise ToolError('', '', {'at': float('nan')})\nrun(f)")
    assert ran.error == ("TOOL_FAILURE", "no message was given", None)
    assert "/details/at" in ran.diagnostics
    ran = start("def f(r):\n    raise OSError('no \\udcff file')\nrun(f)")
    assert ran.error[1] == "no \ufffd file"
    assert start("def f(r):\n    raise RecursionError\nrun(f)").error[1] == "RecursionError"


def test_failure_after_done_sets_exit_status(start):
    ran = start("def f(r):\n    done()\n    raise ToolError('A', 'b')\nrun(f)")
    assert ran.status == 1 and ran.done == {"ok": True} and "after done" in ran.diagnostics
    ran = start("def f(r):\n    done()\n    log('more')\nrun(f)")
    assert ran.status == 1 and ran.types == ["done"]


def test_sys_exit_ends_invocation(start):
    assert start("import sys\nrun(lambda r: sys.exit())").done == {"ok": True}
    ran = start("import sys\nrun(lambda r: sys.exit(3))")
    assert ran.done["ok"] is False and "sys.exit(3)" in ran.error[1] and ran.status == 0
    ran = start("import sys\ndef f(r):\n    done()\n    sys.exit(3)\nrun(f)")
    assert ran.done == {"ok": True} and ran.status == 3


@pytest.mark.parametrize("end", ["sys.exit(0)", "sys.exit(3)", "1 / 0", "return 'child'"])
def test_only_the_process_that_called_run_ends_the_invocation(start, end):
    ran = start(f"""
import os, sys
def f(request):
    child = os.fork()
    if child == 0:
        {end}
    os.waitpid(child, 0)
    return "parent"
run(f)""")
    assert ran.done == {"ok": True, "result": "parent"} and ran.types == ["done"]


def test_async_function_is_awaited(start):
    ran = start("""
import asyncio

async def light(request):
    log("before")
    await asyncio.sleep(0)
    return 7

run(light)
""")
    assert ran.types == ["log", "done"] and ran.done["result"] == 7


def test_other_output_is_redirected_to_stderr(start):
    ran = start("""
import os, subprocess, sys
print("before")
early = sys.stdout

def light(request):
    print("stray")
    early.write("kept\\n")
    os.write(1, b"raw\\n")
    subprocess.run([sys.executable, "-c", "print('child')"])
    sys.stdout.buffer.write(b"bytes\\n")
    log("told")
    try:
        input("prompt> ")
    except EOFError:
        log("end of input")

run(light)
print("after")
""")
    assert ran.types == ["log", "log", "done"] and ran.status == 0
    for text in ("before", "stray", "kept", "raw", "child", "bytes", "prompt> ", "after"):
        assert text in ran.diagnostics, text


@pytest.mark.parametrize(
    "statement, exception, says",
    [
        ("patch({'a': [0, float('nan')]})", "ValueError", "/patch/a/1: nan has no JSON form"),
        ("log('x', speed=float('-inf'))", "ValueError", "/fields/speed: -inf"),
        ("patch({'a': {1: 2}})", "TypeError", "/patch/a: the keys of an object must be strings"),
        ("patch({'a/b': {'~': 2 ** 64}})", "ValueError", "/patch/a~1b/~0: an integer of more than"),
        ("patch({'a': -2 ** 63 - 1})", "ValueError", "more than 64 bits"),
        ("patch({'a': 'x\\ud800'})", "ValueError", "/patch/a: U+D800 at 1 is a lone surrogate"),
        ("patch({'\\udfff': 1})", "ValueError", "lone surrogate"),
        ("log('x\\ud800')", "ValueError", "/message: U+D800"),
        ("patch({'a': {1, 2}})", "TypeError", "/patch/a: set is not a JSON type"),
        ("patch({'a': b'x'})", "TypeError", "/patch/a: bytes is not a JSON type"),
        ("patch([1])", "TypeError", "patch must be a dict with strings as keys, is an array"),
        ("patch(None)", "TypeError", "is null"),
        ("x = {}; x['x'] = x; patch(x)", "ValueError", "nested deeper than 512"),
        ("log('')", "ValueError", "message must not be empty"),
        ("log(5)", "TypeError", "message must be a string, is a number"),
        ("log('x', 'loud')", "ValueError", "level must be"),
        ("progress(float('nan'))", "ValueError", "not NaN"),
        ("asset('', 'image', 'image/png', 'x')", "ValueError", "asset_id must not be empty"),
        ("asset('a', 'image', 'image/png', b'x')", "TypeError", "path must be a str"),
        ("asset('a', 'image', 'image/png', '\\udc80')", "ValueError", "/path: U+DC80"),
        ("asset('a', 'image', 'image/png', 'x', 5)", "TypeError", "metadata must be a dict"),
        ("ui_event('')", "ValueError", "event must not be empty"),
        ("error('', 'x')", "ValueError", "code must not be empty"),
        ("done(True, '', float('nan'))", "ValueError", "/result: nan"),
        ("return lambda: 5", "TypeError", "/result: function is not a JSON type"),
        ("return (n for n in [1])", "TypeError", "/result: generator is not a JSON type"),
    ],
)
def test_invalid_event_is_not_sent(start, statement, exception, says):
    ran = start(f"def f(request):\n    {statement}\nrun(f)")
    code, message, details = ran.error
    assert code == "TOOL_EXCEPTION" and details == {"exception": exception}
    assert says in message
    assert ran.types == ["error", "done"] and ran.done["ok"] is False and ran.status == 0


def test_values_at_limits_are_accepted(start):
    deep = "[" * 509 + "]" * 509
    ran = start(f"""
import enum, json, types
class Name(str, enum.Enum):
    TORCH = "torch"
class Number(enum.IntEnum):
    ONE = 1
patch({{"low": -2 ** 63, "high": 2 ** 64 - 1, "deep": json.loads("{deep}"), "kind": Name.TORCH,
       "number": Number.ONE, "text": "\\u2028\\x00\\U0001f525"}})
patch(types.MappingProxyType({{"a": 1}}))
done()
""")
    assert ran.status == 0, ran.diagnostics
    sent = ran.events[0]["patch"]
    assert sent["low"] == -(2**63) and sent["high"] == 2**64 - 1
    assert (sent["kind"], sent["number"]) == ("torch", 1)
    assert sent["text"] == "\u2028\x00\U0001f525"
    assert ran.events[1]["patch"] == {"a": 1}


def test_events_can_be_emitted_without_run(start):
    ran = start("log('Lighting...')\npatch({'lit': True})\ndone(True, 'Torch lit.')")
    assert ran.types == ["log", "state_patch", "done"] and ran.status == 0
    ran = start("done()\nlog('more')")
    assert ran.status == 1 and ran.types == ["done"] and "emitted after done" in ran.diagnostics


@pytest.mark.parametrize("use", ["run(lambda r: log('Überall ö'))", "log('Überall ö')\ndone()"])
def test_output_is_utf8_in_every_locale(start, use):
    ran = start(use, env=environment(LC_ALL="C", PYTHONIOENCODING="latin-1", PYTHONUTF8="0"))
    assert ran.events[0]["message"] == "Überall ö"


def test_each_line_is_sent_at_once():
    script = (
        "from narratoria.tool import *\nimport time\n"
        "def f(r):\n    log('now')\n    time.sleep(60)\nrun(f)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    try:
        assert json.loads(process.stdout.readline())["message"] == "now"
        process.terminate()
        assert process.wait(DEADLINE) == -15
    finally:
        process.kill()
        process.communicate()


def test_threads_write_whole_lines(start):
    ran = start("""
import threading

def light(request):
    def emit(name):
        for index in range(50):
            log(name * 3000, index=index)
    threads = [threading.Thread(target=emit, args=(name,)) for name in "abcd"]
    for thread in threads: thread.start()
    for thread in threads: thread.join()

run(light)
""")
    assert len(ran.events) == 201
    for name in "abcd":
        mine = [e["fields"]["index"] for e in ran.events[:-1] if e["message"][0] == name]
        assert mine == list(range(50))


def test_nonblocking_pipe_is_handled(start):
    ran = start("""
import os
os.set_blocking(1, False)
run(lambda request: patch({"a": "x" * 1000000}))
""")
    assert ran.types == ["state_patch", "done"] and ran.status == 0, ran.diagnostics


def test_lost_output_exits_with_status_1(start):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ran = start("run(lambda request: log('nobody hears'))", stdout=writing)
    finally:
        os.close(writing)
    assert ran.status == 1
    assert "tool failed" in ran.diagnostics and "Traceback" not in ran.diagnostics


@pytest.mark.parametrize("closed", ["1", "2", "0", "0,1,2"])
def test_closed_descriptors_are_handled(closed):
    tool_script = (
        "from narratoria.tool import *\n"
        "def f(r):\n    print(1)\n    return 1 // int(bool(r.input))\n"
        "run(f)"
    )
    script = (
        f"import os, sys\nfor n in ({closed},): os.close(n)\n"
        f"os.execv(sys.executable, [sys.executable, '-c', {tool_script!r}])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        input=b'{"input": {"a": 1}}',
        capture_output=True,
        env=environment(),
        timeout=DEADLINE,
    )
    events = [json.loads(line) for line in ran.stdout.decode().splitlines()]
    assert ran.returncode == (1 if "1" in closed else 0), ran.stderr
    if "1" not in closed:
        assert events[-1]["type"] == "done"


@pytest.mark.parametrize("version", ["3.10", "3.12", "3.13"])
def test_runs_on_other_python_versions(start, version):
    asked = subprocess.run(
        ["env", "python" + version, "-c", "import sys; print(sys.executable)"], capture_output=True
    )
    if asked.returncode:
        pytest.skip(f"no Python {version} here")
    interpreter = asked.stdout.decode().strip()
    ran = start("run(lambda r: 1 / 0)", interpreter=interpreter)
    assert ran.done["ok"] is False and ran.error[0] == "TOOL_EXCEPTION" and ran.status == 0


def test_copied_file_works_without_package(tmp_path):
    shutil.copy(PACKAGE / "narratoria" / "tool.py", tmp_path / "narratoria_tool.py")
    script = tmp_path / "light"
    script.write_text(
        f"#!{sys.executable}\nfrom narratoria_tool import run\nrun(lambda request: 'lit')\n"
    )
    script.chmod(0o755)
    ran = subprocess.run(
        [script], stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE, cwd="/"
    )
    assert json.loads(ran.stdout) == {"version": "0", "type": "done", "ok": True, "result": "lit"}


def test_loads_few_modules_and_no_compiled_part():
    script = f"""
import sys
sys.path.insert(0, {str(PACKAGE)!r})
before = set(sys.modules)
import narratoria.tool
print("\\n".join(sorted(set(sys.modules) - before)))
"""
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=True,
    )
    loaded = set(ran.stdout.split())
    assert not loaded & {"typing", "dataclasses", "inspect", "asyncio", "traceback", "threading"}
    assert {name for name in loaded if name.startswith("narratoria.")} == {"narratoria.tool"}
    assert len(loaded) < 30, loaded


def test_run_works_in_test_process(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"input": {"sides": 6}}'))

    def roll(request):
        print("stray")
        tool.log("Rolling")
        return request.input["sides"]

    tool.run(roll)
    captured = capsys.readouterr()
    assert [json.loads(line)["type"] for line in captured.out.splitlines()] == ["log", "done"]
    assert captured.err == "stray\n"
    tool.log("Not after done: another invocation")
    assert json.loads(capsys.readouterr().out)["type"] == "log"


def test_exceptions_can_be_copied_and_pickled():
    for fault in (tool.ToolError("A", "b", {"c": 1}), tool.InvalidInput("b", "/a")):
        for again in (copy.copy(fault), pickle.loads(pickle.dumps(fault))):
            assert type(again) is type(fault) and str(again) == str(fault)
            assert again.details == fault.details
