# SPDX-License-Identifier: Apache-2.0
"""narratoria run: exit statuses, output streams and refused plans."""

import json
import os
import subprocess

import pytest

from harness import NARRATORIA, TORCH, default_signals, done, environment, event, log, patch


# covers: 003-13.5-result, 003-13.5-plan-id
def test_successful_plan_exits_with_0_and_prints_its_result(command):
    tool = command.tool("light", patch(torch={"lit": True}), done(summary="Torch lit."))
    ran = command("run", command.plan(tool)).exits(0)
    assert ran.result["planId"] == "plan-1"
    assert ran.result["success"] is True
    assert ran.result["toolResults"][0]["output"] == {"torch": {"lit": True}}
    assert ran.out.endswith("}\n") and ran.out.count("\n") == 1


def test_failed_plan_exits_with_1_and_prints_its_result(command):
    ran = command("run", command.plan(command.tool("break", done(ok=False, summary="It broke.")))).exits(1)
    assert ran.result["success"] is False
    assert ran.result["failedTools"] == ["break"]
    assert "break" in ran.err and "failed" in ran.err


def test_standard_error_of_a_failed_tool_is_shown(command):
    tool = command.tool("break", done(ok=False), before="echo 'no such door' >&2")
    assert "  | no such door\n" in command("run", command.plan(tool)).err


# covers: 003-13.4.6-optional-logged
def test_failed_optional_tool_is_reported_and_the_plan_succeeds(command):
    tool = command.tool("maybe", done(ok=False, summary="Not today."))
    command("run", command.plan({"toolPath": tool, "required": False})).exits(0, "failed maybe")


# covers: 003-14.3-sample-plan
def test_sample_plan_runs_with_the_example_tools(command):
    ran = command("run", TORCH / "sample-plan.json", "--quiet").exits(0)
    assert [tool["state"] for tool in ran.result["toolResults"]] == ["completed", "completed"]
    assert ran.err == ""


def test_tool_paths_are_relative_to_the_folder_of_the_plan_file(command):
    (command.folder / "deep").mkdir()
    command.tool("deep/light", done())
    command.file("deep/plan.json", {"requestId": "p", "tools": [{"toolId": "a", "toolPath": "light"}]})
    assert command("run", "deep/plan.json").status == 0
    assert command("run", "plan.json", cwd=command.folder / "deep").status == 0


def test_plan_on_standard_input_uses_the_working_folder(command):
    command.tool("light", done())
    plan = json.dumps({"requestId": "p", "tools": [{"toolId": "a", "toolPath": "light"}]})
    assert command("run", "-", stdin=plan).exits(0).result["success"] is True


def test_plan_in_a_pipe_is_read_like_standard_input(command):
    command.tool("light", done())
    reader, writer = os.pipe()
    os.write(writer, json.dumps({"requestId": "p", "tools": [{"toolId": "a", "toolPath": "light"}]}).encode())
    os.close(writer)
    ran = command("run", f"/dev/fd/{reader}", pass_fds=(reader,))
    os.close(reader)
    assert ran.status == 0, ran


def test_progress_goes_to_standard_error_in_plain_lines(command):
    tool = command.tool("light", log("look out", level="warn"), done(summary="Torch lit."))
    ran = command("run", command.plan(tool), env=environment(TERM="xterm-256color"))
    assert "\x1b" not in ran.err and "\r" not in ran.err
    started, warned, completed = ran.err.splitlines()
    assert started.startswith("started light (")
    assert warned == "light: warning: look out"
    assert completed.startswith("completed light in ") and completed.endswith(": Torch lit.")


# covers: 000-4.5-surface, 003-13.4.7-error
def test_errors_of_a_tool_are_shown_with_its_name(command):
    tool = command.tool(
        "light", event("error", errorCode="WET", errorMessage="The torch is wet."), done(ok=False))
    assert "light: error: WET: The torch is wet.\n" in command("run", command.plan(tool)).err


def test_retries_are_shown_with_the_reason(command):
    tool = command.tool("light", exit_status=3)
    plan = command.plan({"toolPath": tool, "retryPolicy": {"maxRetries": 1, "backoffMs": 1}})
    ran = command("run", plan)
    assert "retrying light: attempt 2, after: " in ran.err
    assert ran.result["toolResults"][0]["retryCount"] == 1


def test_quiet_prints_only_errors(command):
    good = command.plan(command.tool("light", log("hot", level="warn"), done()), name="good.json")
    assert command("run", good, "--quiet").err == ""
    bad = command.plan(command.tool("break", done(ok=False)), name="bad.json")
    ran = command("run", bad, "--quiet")
    assert "tool break failed" in ran.err
    assert "started" not in ran.err


def test_control_characters_of_a_tool_cannot_reach_the_terminal(command):
    tool = command.tool("evil", log("\x1b[2J\x07 owned \u202e", level="warn"), done())
    assert r"evil: warning: \x1B[2J\x07 owned \u{202E}" in command("run", command.plan(tool)).err


# ---------------------------------------------------------------- refused


def faults_of(ran):
    assert ran.status == 2, ran
    assert ran.out == ""
    return ran.err.splitlines()[:-1]


def test_every_fault_of_a_plan_is_listed_with_its_place(command):
    plan = command.file(
        "plan.json",
        '{"requestId": "",\n "tools": [\n  {"toolId": "a", "toolPath": ""},\n'
        '  {"toolId": "a", "toolPath": "x", "dependencies": ["b"]}\n ]}\n',
    )
    ran = command("run", "plan.json")
    lines = faults_of(ran)
    assert len(lines) == 4, ran
    for line, start in zip(
        lines, ["plan.json:1:", "plan.json:3:", "plan.json:4:", "plan.json:4:"]
    ):
        assert line.startswith(start), ran
        assert line.endswith("]")
    for pointer in ("/requestId", "/tools/0/toolPath", "/tools/1/toolId", "/tools/1/dependencies/0"):
        assert any(f": {pointer}: " in line for line in lines), ran
    assert "nothing was run" in ran.err
    assert plan.exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff", b'{"requestId":"p","tools":[]} trailing', b"[" * 100_000,
     b'{"requestId":"\\ud800","tools":[]}', b'\xef\xbb\xbf{"requestId":"p","tools":[]}'],
    ids=["empty", "half", "array", "null", "invalid UTF-8", "trailing", "deep", "surrogate", "BOM"],
)
def test_malformed_plan_is_refused_with_its_place(command, content):
    command.file("plan.json", content)
    lines = faults_of(command("run", "plan.json"))
    assert len(lines) == 1
    assert lines[0].startswith("plan.json:1:"), lines


@pytest.mark.parametrize(
    "arguments, said",
    [
        ([], "PLAN is required"),
        (["missing.json"], "missing.json"),
        (["."], "folder"),
        (["plan.json", "--jobs", "0"], "--jobs"),
        (["plan.json", "--jobs", "4097"], "--jobs"),
        (["plan.json", "--jobs", "two"], "--jobs"),
        (["plan.json", "--no-such-option"], "--no-such-option"),
        (["plan.json", "another.json"], "another.json"),
        (["plan.json", "--events", "-"], "standard output"),
        (["plan.json", "--trace", "-"], "standard output"),
        (["plan.json", "--state", "-"], "--state"),
        (["plan.json", "--max-processes", "9"], "--cgroup"),
        (["plan.json", "--max-resident", "1048576"], "--cgroup"),
        (["plan.json", "--cgroup", ".", "--max-resident", "1000"], "--max-resident"),
        (["plan.json", "--cgroup", ".", "--max-processes", "0"], "--max-processes"),
        (["plan.json", "--cgroup", "."], '"." is not a cgroup2 folder; name one below'),
        (["plan.json", "--cgroup", "no-such"], '"no-such" cannot be opened: No such file'),
        (["plan.json", "--state", "same", "--result", "./same"], "same"),
    ],
)
def test_misuse_is_refused_with_advice(command, arguments, said):
    command.plan(command.tool("light", done(), before='touch "$PWD/it-ran"'))
    ran = command("run", *arguments).exits(2, out="")
    assert ran.err.startswith("narratoria run: ") and said in ran.err
    assert not (command.folder / "it-ran").exists()


def test_two_jobs_run_two_tools_at_once(command):
    # Each tool waits for the other one; with one slot they would wait forever.
    script = (
        "#!/bin/sh\ncat >/dev/null\nmkdir \"here-$$\"\n"
        "while [ \"$(ls -d here-* | wc -l)\" -lt 2 ]; do sleep 0.01; done\n"
        f"echo '{done()}'\n"
    )
    one, two = command.script("one", script), command.script("two", script)
    plan = command.plan(
        {"toolPath": one, "async": True}, {"toolPath": two, "async": True}, parallel=True)
    assert command("run", plan, "--jobs", "2").status == 0


def test_time_limit_on_the_command_line_ends_a_tool(command):
    plan = command.plan(command.waiting_tool())
    ran = command("run", plan, "--try-ms", "100").exits(1)
    assert ran.result["toolResults"][0]["state"] == "timeout"
    assert command("run", plan, "--plan-ms", "100").result["toolResults"][0]["state"] == "timeout"


# ---------------------------------------------------------------- the streams of the process


def test_diagnostics_are_utf_8_in_every_locale(command):
    command.file("plän.json", "[")
    for locale in ("C", "POSIX", "en_US.ISO-8859-1", "no_SUCH"):
        ran = command("run", "plän.json", env=environment(LANG=locale, LC_ALL=locale))
        assert ran.err.startswith("plän.json:1:"), ran


def test_file_names_are_bytes(command):
    command.tool("light", done())
    folder = os.fsencode(command.folder)
    command.plan(command.folder / "light")
    odd = b"st\xffte \n\x1b[31m.json"
    command("run", "plan.json", "--state", odd, "--result", b"r\xfe.json").exits(0)
    assert json.loads(open(folder + b"/" + odd, "rb").read()) == {}
    assert json.loads(open(folder + b"/r\xfe.json", "rb").read())["success"] is True
    open(folder + b"/" + odd, "wb").write(b"[]")
    command("run", "plan.json", "--state", odd).exits(2, r"st\xFFte \n\x1B[31m.json:1:1: ")


def test_closed_standard_output_is_refused_before_anything_runs(command):
    plan = command.plan(command.tool("touch", done(), before='touch "$PWD/it-ran"'))
    ran = subprocess.run(
        ["/bin/sh", "-c", '"$0" run "$1" >&-', NARRATORIA, plan],
        stderr=subprocess.PIPE, cwd=command.folder, env=environment(), timeout=300)
    assert ran.returncode == 2, ran
    assert b"standard output is closed" in ran.stderr
    assert not (command.folder / "it-ran").exists()


def test_closed_standard_output_is_fine_with_a_result_file(command):
    plan = command.plan(command.tool("light", done()))
    ran = subprocess.run(
        ["/bin/sh", "-c", '"$0" run "$1" --result result.json >&- 2>&- <&-', NARRATORIA, plan],
        cwd=command.folder, env=environment(), timeout=300)
    assert ran.returncode == 0
    assert json.loads((command.folder / "result.json").read_text())["success"] is True


def test_plan_on_closed_standard_input_is_refused(command):
    ran = subprocess.run(
        ["/bin/sh", "-c", '"$0" run - <&-', NARRATORIA],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=command.folder, env=environment(), timeout=300)
    assert ran.returncode == 2
    assert b"standard input is closed" in ran.stderr


def test_broken_pipe_ends_the_command_silently(command):
    # The result exceeds the pipe buffer, so it cannot be written before the reader closes.
    tool = command.tool("light", *[log("x" * 1000) for _ in range(200)], done())
    plan = command.plan(tool)
    process = command.popen("run", plan, "--quiet")
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=300) == 1


def test_state_beyond_the_file_size_limit_is_reported(command):
    patch = json.dumps({"version": "0", "type": "state_patch", "patch": {"text": "x" * 3_000_000}})
    plan = command.plan(command.tool("fill", patch, done()))
    state = command.file("state.json", "{}")
    ran = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -f 4096; exec "$0" "$@"', NARRATORIA, "run", plan, "--quiet", "--state", state],
        capture_output=True, cwd=command.folder, env=environment(), preexec_fn=default_signals, timeout=300)
    assert ran.returncode == 1, ran
    assert b"state.json: File too large; the file is unchanged" in ran.stderr
    assert state.read_text() == "{}"


def test_large_result_is_written_to_a_pipe_completely(command):
    # The events exceed 8 MiB, above which they are kept in a file.
    tool = command.script(
        "much",
        "#!/bin/sh\ncat >/dev/null\nhead -c 12000000 /dev/zero | tr '\\0' 'x' | fold -w 60000 |"
        " sed 's/.*/{\"version\":\"0\",\"type\":\"log\",\"level\":\"info\",\"message\":\"&\"}/'\n"
        f"echo; echo '{done()}'\n")
    ran = command("run", command.plan(tool), "--quiet").exits(0)
    assert len(ran.result["toolResults"][0]["events"]) == 201


def test_tool_without_its_interpreter_is_a_failure_of_the_run(command):
    ran = command("run", command.plan(command.script("broken", "#!/no/such/interpreter\n"))).exits(1)
    assert ran.result["toolResults"][0]["errorCode"] == "SPAWN_FAILED"
