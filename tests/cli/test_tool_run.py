# SPDX-License-Identifier: Apache-2.0
"""narratoria tool run: runs one tool and prints its events unchanged."""

import json
import os
import signal

import pytest

from harness import TORCH, done, event, log

ECHO = "#!/bin/sh\ncat > \"$PWD/invocation.json\"\necho '{}'\n".format(done())


def invocation(command):
    return json.loads((command.folder / "invocation.json").read_text())


# covers: 000-9-minimal-tool
def test_minimal_tool_of_the_specification_completes(command):
    lines = [
        '{"version":"0","type":"log","level":"info","message":"Starting"}',
        '{"version":"0","type":"state_patch","patch":{"flags":{"torchLit":true}}}',
        '{"version":"0","type":"done","ok":true,"summary":"Torch lit."}',
    ]
    ran = command("tool", "run", command.tool("minimal", *lines)).exits(0)
    assert ran.lines == lines
    assert ran.err == ""


def test_events_are_printed_byte_for_byte(command):
    odd = '{  "type" : "log", "version":"0","level":"info","message":"\\u00e9 é","x": 1.50 }'
    assert command("tool", "run", command.tool("odd", odd, done())).lines[0] == odd


# covers: 000-6-input, 003-13.3-input
def test_input_reaches_the_tool(command):
    tool = command.script("echo", ECHO)
    assert command("tool", "run", tool, "--input", '{"target": "door"}').status == 0
    assert invocation(command)["input"] == {"target": "door"}
    assert invocation(command)["tool"] and invocation(command)["requestId"]


def test_input_may_be_a_file_or_standard_input(command):
    tool = command.script("echo", ECHO)
    command.file("in.json", '{"from": "file"}\n')
    assert command("tool", "run", tool, "--input", "@in.json").status == 0
    assert invocation(command)["input"] == {"from": "file"}
    assert command("tool", "run", tool, "--input", "-", stdin='{"from":\n "stdin"}').status == 0
    assert invocation(command)["input"] == {"from": "stdin"}


def test_byte_order_mark_before_the_input_is_ignored(command):
    tool = command.script("echo", ECHO)
    command.file("in.json", b"\xef\xbb\xbf{}")
    command("tool", "run", tool, "--input", "@in.json").exits(0)


def test_input_that_is_nested_too_deep_is_named(command):
    deep = '{"a":' + "[" * 600 + "]" * 600 + "}"
    ran = command("tool", "run", command.tool("echo"), "--input", deep).exits(2)
    first, second = ran.err.splitlines()
    assert first.startswith("--input: ") and "nested deeper than" in first and "plan" not in ran.err, ran


def test_state_is_given_for_the_parts_that_the_manifest_names(command):
    tool = command.script("echo", ECHO)
    command.file("echo.tool.json", '{"state": ["/lamp"]}')
    state = '{"lamp": {"lit": true}, "door": 5}'
    assert command("tool", "run", tool, "--state", state).status == 0
    assert invocation(command)["state"] == {"lamp": {"lit": True}}
    command("tool", "check", tool, "--state", '{"lamp": {"lit": true}}')
    assert invocation(command)["state"] == {"lamp": {"lit": True}}


def test_input_defaults_to_an_empty_object(command):
    command("tool", "run", command.script("echo", ECHO))
    assert invocation(command)["input"] == {}


@pytest.mark.parametrize("words", [("tool", "run"), ("tool", "check")])
def test_empty_input_is_refused_with_advice(command, words):
    ran = command(*words, command.script("echo", ECHO), "--input", "").exits(2)
    assert "--input: the value is empty; give one JSON object" in ran.err
    assert not (command.folder / "in").exists()


def test_bare_name_is_a_file_in_the_working_folder(command):
    command.tool("light", done())
    assert command("tool", "run", "light").status == 0
    assert command("tool", "run", "./light").status == 0
    command("tool", "run", "sh").exits(2, "PATH is not searched")


def test_name_with_a_colon_or_quotes_is_still_a_file(command):
    for name in ("scheme:rest", 'quo"te', "späce d"):
        command.tool(name, done())
        assert command("tool", "run", name).status == 0


def test_failed_tool_exits_with_1_and_shows_its_diagnostics(command):
    tool = command.tool(
        "break", event("error", errorCode="E", errorMessage="m"), done(ok=False, summary="no"),
        before="echo 'Traceback: \x1b[2J here' >&2")
    ran = command("tool", "run", tool).exits(1)
    assert len(ran.lines) == 2
    assert "  | Traceback: \\x1B[2J here\n" in ran.err
    assert ran.err.endswith("the tool failed\n")


def test_failed_tool_is_not_retried(command):
    tool = command.tool("break", done(ok=False), before='echo tried >> "$PWD/tries"')
    command("tool", "run", tool)
    assert (command.folder / "tries").read_text() == "tried\n"


# covers: 000-5.2-unknown-type
def test_invalid_event_is_reported_with_line_and_pointer(command):
    tool = command.tool("odd", log("before"), event("telepathy"), log("after"), done())
    ran = command("tool", "run", tool).exits(1)
    assert ran.lines == [log("before")]
    assert "line 2" in ran.err and "/type" in ran.err and "telepathy" in ran.err


def test_refused_asset_is_a_warning(command):
    tool = command.tool(
        "make", event("asset", assetId="a", kind="image", mediaType="image/png", path="/no/such"), done())
    command("tool", "run", tool).exits(0, "warning: ASSET_UNREADABLE")


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([], "TOOL is required"),
        (["missing"], "cannot find the tool missing"),
        (["lihgt"], "cannot find the tool lihgt (No such file or directory); did you mean light?"),
        (["."], "is a folder"),
        (["plain"], "chmod +x plain"),
        (["light", "--input", "{"], "--input:1:2: the text ends before the JSON is complete"),
        (["light", "--input", '{"a": tru'], "--input:1:10: the text ends before the JSON is complete"),
        (["light", "--input", "[]"], "--input:1:1"),
        (["light", "--input", '{"a": 1,\n"b" 2}'], "--input:2:5"),
        (["light", "--input", "@missing.json"], "missing.json"),
        (["light", "--input", "{} {}"], "--input:1:"),
        (["light", "--max-resident", "1048576"], "--cgroup"),
        (["light", "--cgroup", "."], '"." is not a cgroup2 folder'),
    ],
)
def test_misuse_is_refused_with_advice(command, arguments, said):
    command.tool("light", done(), before='touch "$PWD/it-ran"')
    command.file("plain", "#!/bin/sh\n")
    command("tool", "run", *arguments).exits(2, said, out="")
    assert not (command.folder / "it-ran").exists()


def test_advice_for_non_executable_file_is_a_command(command):
    command.file("my tool's", "#!/bin/sh\n")
    command("tool", "run", "./my tool's").exits(2, "chmod +x './my tool'\\''s'")


def test_missing_interpreter_is_a_spawn_failure(command):
    command("tool", "run", command.script("broken", "#!/no/such/interpreter\n")).exits(1, "SPAWN_FAILED")


# covers: 000-5.4-streaming
def test_events_are_printed_as_they_arrive(command):
    tool = command.script(
        "slow", f"#!/bin/sh\necho '{log('one')}'\nread line < go\necho '{done()}'\n")
    os.mkfifo(command.folder / "go")
    process = command.popen("tool", "run", tool)
    assert process.stdout.readline().decode() == log("one") + "\n"
    with open(command.folder / "go", "w") as go:
        go.write("on\n")
    assert process.stdout.read().decode() == done() + "\n"
    process.stdout.close()
    assert process.wait(timeout=300) == 0


def test_ctrl_c_ends_the_tool_and_exits_with_130(command):
    process = command.popen("tool", "run", command.waiting_tool())
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode == 130


def test_broken_pipe_ends_the_tool_silently(command):
    tool = command.script("endless", f"#!/bin/sh\nexec yes '{log('again')}'\n")
    process = command.popen("tool", "run", tool)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=300) == 1


def test_example_tools_run(command):
    ran = command(
        "tool", "run", TORCH / "tools" / "door-examiner", "--input", '{"target": "mysterious_door"}').exits(0)
    assert [json.loads(line)["type"] for line in ran.lines] == ["log", "state_patch", "ui_event", "done"]
