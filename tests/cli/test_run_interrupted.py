# SPDX-License-Identifier: Apache-2.0
"""narratoria run: SIGINT, SIGTERM and SIGHUP at any moment."""

import json
import os
import signal

import pytest

from harness import done, log, patch


def test_ctrl_c_cancels_keeps_results_and_exits_with_130(command):
    tool = command.script(
        "wait",
        f"#!/bin/sh\nexec 2>/dev/null\ntrap 'exit 0' TERM\necho '{patch(step=1)}'\necho '{log('ready')}'\n"
        "while :; do sleep 60 & wait $!; done\n")
    never = command.tool("never", done(), before='touch "$PWD/it-ran"')
    running = command.start("run", command.plan(tool, never), "--state", "game.json")
    running.wait_for_log()
    running.signal(signal.SIGINT)
    ran = running.finish().exits(130)
    states = {tool["toolId"]: tool["state"] for tool in ran.result["toolResults"]}
    assert states == {"wait": "failed", "never": "skipped"}
    assert ran.result["toolResults"][0]["errorCode"] == "CANCELLED"
    assert ran.result["canReplan"] is False
    assert json.loads((command.folder / "game.json").read_text()) == {"step": 1}
    assert not (command.folder / "it-ran").exists()


@pytest.mark.parametrize(
    "number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["SIGINT", "SIGTERM", "SIGHUP"])
def test_exit_status_is_128_plus_the_signal(command, number, status):
    running = command.start("run", command.plan(command.waiting_tool()))
    running.wait_for_log()
    running.signal(number)
    ran = running.finish()
    assert ran.status == status, ran
    assert ran.result["success"] is False


def test_command_waits_for_the_tool_in_its_grace_period(command):
    running = command.start("run", command.plan(command.waiting_tool(on_term=": >tidied-up; exit 0")))
    running.wait_for_log()
    running.signal(signal.SIGINT)
    assert running.finish().status == 130
    assert (command.folder / "tidied-up").exists()


def test_second_ctrl_c_exits_at_once(command):
    tool = command.waiting_tool(on_term=":")  # it ignores SIGTERM
    state = command.file("game.json", {"gold": 7})
    running = command.start("run", command.plan(tool), "--state", state, "--grace-ms", "0")
    running.wait_for_log()
    running.signal(signal.SIGINT)
    running.wait_for(lambda record: record["kind"] == "plan_ended")
    running.signal(signal.SIGINT)
    running.finish().exits(130, out="")
    assert json.loads(state.read_text()) == {"gold": 7}


@pytest.mark.parametrize(
    "kind",
    ["plan_started", "tool_pending", "tool_started", "attempt_started", "tool_event", "attempt_ended",
     "tool_ended", "plan_ended"])
def test_ctrl_c_at_any_moment_leaves_complete_files(command, kind):
    state = command.file("game.json", {"gold": 7})
    tools = [command.tool(f"tool{number}", log("here"), patch(step=number), done()) for number in range(3)]
    running = command.start("run", command.plan(*tools), "--state", state, "--result", "result.json")
    running.wait_for(lambda record: record["kind"] == kind)
    running.signal(signal.SIGINT)
    ran = running.finish()
    assert ran.out == ""
    result = json.loads((command.folder / "result.json").read_text())
    states = [tool["state"] for tool in result["toolResults"]]
    # On a busy machine the plan may be complete before the signal arrives.
    assert ran.status == 130 or (ran.status == 0 and result["success"]), ran
    assert set(states) <= {"completed", "failed", "skipped"} and len(states) == 3
    completed = states.count("completed")
    assert json.loads(state.read_text())["gold"] == 7
    assert json.loads(state.read_text()).get("step", -1) >= completed - 1
    assert not [name for name in os.listdir(command.folder) if name.startswith(".")]


def test_ctrl_c_during_the_retry_backoff_cancels(command):
    tool = command.tool("light", done(ok=False))
    plan = command.plan({"toolPath": tool, "retryPolicy": {"maxRetries": 3, "backoffMs": 20000}})
    running = command.start("run", plan)
    running.wait_for(lambda record: record["kind"] == "attempt_ended")
    running.signal(signal.SIGINT)
    assert running.finish().exits(130).result["toolResults"][0]["retryCount"] == 0


def wait_for_handler(process, number):
    """Waits until the process has a handler for the signal, according to /proc."""
    while process.poll() is None:
        with open(f"/proc/{process.pid}/status") as status:
            caught = int(next(line for line in status if line.startswith("SigCgt")).split()[1], 16)
        if caught & (1 << (number - 1)):
            return
    raise AssertionError("the process ended before it had a handler for the signal")


def test_ctrl_c_before_the_plan_is_read_exits(command):
    reader, writer = os.pipe()
    process = command.popen("run", "-", stdin=reader)
    os.close(reader)
    os.write(writer, b"{")
    wait_for_handler(process, signal.SIGINT)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    os.close(writer)
    assert process.returncode == 130
    assert out == b""


def test_ignored_sigint_stays_ignored(command):
    """A shell's background job and nohup start the command with signals ignored."""
    tool = command.script(
        "wait", f"#!/bin/sh\necho '{log('ready')}'\nread line < go\necho '{done()}'\n")
    os.mkfifo(command.folder / "go")
    plan = command.plan(tool)
    reader, writer = os.pipe()
    process = command.popen("run", plan, "--events", f"/dev/fd/{writer}",
                            pass_fds=(writer,), preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    os.close(writer)
    with os.fdopen(reader) as stream:
        for line in stream:
            if '"ready"' in line:
                break
        process.send_signal(signal.SIGINT)
        with open(command.folder / "go", "w") as go:
            go.write("on\n")
        stream.read()
    process.communicate(timeout=300)
    assert process.returncode == 0
