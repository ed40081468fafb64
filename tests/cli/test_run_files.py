# SPDX-License-Identifier: Apache-2.0
"""narratoria run: the files that it reads and writes, without partial files or lost data."""

import errno
import json
import os
import signal
import socket
import stat
import subprocess
import tempfile

import pytest

from harness import DEADLINE, done, log, patch


def entries(folder):
    return sorted(path.name for path in folder.iterdir())


def lit(command, name="light"):
    return command.tool(name, patch(torch={"lit": True}), done())


# ---------------------------------------------------------------- --state


# covers: 003-13.4.7-state, 004-state-tree
def test_state_is_read_at_the_start_and_replaced_at_the_end(command):
    state = command.file("game.json", {"torch": {"oil": 3}, "gold": 7})
    assert command("run", command.plan(lit(command)), "--state", state).status == 0
    assert json.loads(state.read_text()) == {"torch": {"oil": 3, "lit": True}, "gold": 7}


def test_missing_state_file_is_an_empty_state_and_is_created(command):
    assert command("run", command.plan(lit(command)), "--state", "new.json").status == 0
    assert json.loads((command.folder / "new.json").read_text()) == {"torch": {"lit": True}}


def test_state_is_also_replaced_after_a_failure(command):
    tool = command.tool("half", patch(step=1), done(ok=False))
    assert command("run", command.plan(tool), "--state", "game.json").status == 1
    assert json.loads((command.folder / "game.json").read_text()) == {"step": 1}


def test_refused_plan_leaves_the_state_untouched(command):
    state = command.file("game.json", {"gold": 7})
    before = state.stat()
    command.file("plan.json", "{}")
    assert command("run", "plan.json", "--state", state).status == 2
    assert state.stat() == before or state.stat().st_ino == before.st_ino
    assert state.stat().st_mtime_ns == before.st_mtime_ns
    assert entries(command.folder) == ["game.json", "plan.json"]


def test_refused_plan_creates_no_files(command):
    command.file("plan.json", "{}")
    arguments = ("--state", "s", "--result", "r", "--events", "e", "--trace", "t")
    assert command("run", "plan.json", *arguments).status == 2
    assert entries(command.folder) == ["plan.json"]


@pytest.mark.parametrize(
    "content, place",
    [(b"", ""), (b"[]", ":1:1"), (b'{"a": 1,\n "b": }', ":2:"), (b'{"a": "\xff"}', ":1:")],
    ids=["empty", "array", "broken", "invalid UTF-8"],
)
def test_invalid_state_file_is_refused_and_kept(command, content, place):
    state = command.file("game.json", content)
    command("run", command.plan(lit(command)), "--state", "game.json").exits(2, "game.json" + place, out="")
    assert state.read_bytes() == content


def test_state_of_gigabytes_is_refused_unread(command):
    with open(command.folder / "state.json", "wb") as file:
        file.truncate(3 << 30)
    command("run", command.plan(lit(command)), "--state", "state.json").exits(2, "larger than 1 GiB")


def test_state_file_keeps_its_mode(command):
    state = command.file("game.json", {})
    for mode in (0o600, 0o640, 0o664):
        state.chmod(mode)
        assert command("run", command.plan(lit(command)), "--state", state).status == 0
        assert stat.S_IMODE(state.stat().st_mode) == mode


def test_new_state_file_obeys_the_umask(command):
    old = os.umask(0o027)
    try:
        assert command("run", command.plan(lit(command)), "--state", "new.json").status == 0
    finally:
        os.umask(old)
    assert stat.S_IMODE((command.folder / "new.json").stat().st_mode) == 0o640


def test_symbolic_link_to_the_state_is_followed(command):
    (command.folder / "saves").mkdir()
    state = command.file("saves/real.json", {"gold": 7})
    link = command.folder / "game.json"
    link.symlink_to("saves/real.json")
    assert command("run", command.plan(lit(command)), "--state", link).status == 0
    assert link.is_symlink()
    assert json.loads(state.read_text())["gold"] == 7
    assert entries(command.folder / "saves") == ["real.json"]


def test_dangling_link_to_the_state_creates_its_target(command):
    (command.folder / "saves").mkdir()
    link = command.folder / "game.json"
    link.symlink_to("saves/real.json")
    assert command("run", command.plan(lit(command)), "--state", link).status == 0
    assert link.is_symlink()
    assert (command.folder / "saves" / "real.json").is_file()


def test_symbolic_link_loop_is_refused(command):
    (command.folder / "a").symlink_to("b")
    (command.folder / "b").symlink_to("a")
    command("run", command.plan(lit(command)), "--state", "a").exits(2, out="")


def test_state_is_replaced_atomically(command):
    """A reader that opened the file before it is replaced reads the complete old state."""
    state = command.file("game.json", {"gold": 7})
    with state.open() as reader:
        inode = os.fstat(reader.fileno()).st_ino
        assert command("run", command.plan(lit(command)), "--state", state).status == 0
        assert json.load(reader) == {"gold": 7}
    assert state.stat().st_ino != inode


def test_state_is_unchanged_during_the_run_and_after_a_kill(command):
    state = command.file("game.json", {"gold": 7})
    running = command.start("run", command.plan(command.waiting_tool()), "--state", state,
                            "--result", "result.json", "--trace", "trace.json")
    running.wait_for_log()
    assert json.loads(state.read_text()) == {"gold": 7}
    running.process.kill()
    running.process.communicate()
    assert json.loads(state.read_text()) == {"gold": 7}
    assert entries(command.folder) == ["game.json", "plan.json", "wait"]


def test_state_that_is_not_a_regular_file_is_refused(command):
    os.mkfifo(command.folder / "fifo")
    for path, advice in (("/dev/null", "not a regular file"), (".", "is a folder"), ("fifo", "not a regular file")):
        command("run", command.plan(lit(command)), "--state", path).exits(2, advice, "give a file", out="")


@pytest.mark.parametrize("option", ["--state", "--result", "--events", "--trace"])
def test_empty_file_name_is_refused(command, option):
    ran = command("run", command.plan(lit(command)), option, "").exits(2)
    assert f"the name of the file for the {option[2:]} is empty" in ran.err


# ---------------------------------------------------------------- --state of two runs


def test_second_run_waits_for_the_state_and_loses_no_patch(command):
    state = command.file("game.json", {"gold": 7})
    os.mkfifo(command.folder / "go")
    waits = command.tool("waits", patch(first=1), done(), before=f"echo '{log('ready')}'; read -r go < go")
    first = command.start("run", command.plan(waits, name="first.json"), "--state", state)
    first.wait_for_log()
    # The second run uses the state under a different name.
    os.symlink("game.json", command.folder / "same.json")
    second = command.popen("run", command.plan(lit(command)), "--state", "same.json", "--state-wait", str(DEADLINE))
    said = second.stderr.readline().decode()
    assert f"waiting for another run (process {first.process.pid}), which uses same.json" in said
    (command.folder / "go").write_text("on\n")
    assert first.finish().status == 0
    assert second.communicate(timeout=DEADLINE) and second.returncode == 0
    assert json.loads(state.read_text()) == {"gold": 7, "first": 1, "torch": {"lit": True}}


def test_concurrent_runs_that_create_a_state_lose_no_patch(command):
    plans = [command.plan(command.tool(f"t{n}", patch(**{f"p{n}": n}), done()), name=f"{n}.json") for n in range(3)]
    for _ in range(2):
        runs = [command.popen("run", plan, "--state", "game.json", "--state-wait", str(DEADLINE)) for plan in plans]
        said = [run.communicate(timeout=DEADLINE)[1] for run in runs]
        assert [run.returncode for run in runs] == [0] * len(runs), said
        state = command.folder / "game.json"
        assert json.loads(state.read_text()) == {f"p{n}": n for n in range(3)}
        state.unlink()


@pytest.mark.parametrize("content", ['{"gold": 7}', None], ids=["a state", "no state yet"])
def test_second_run_that_does_not_wait_names_the_other_process(command, content):
    state = command.folder / "game.json"
    if content is not None:
        state.write_text(content)
    first = command.start("run", command.plan(command.waiting_tool(), name="first.json"), "--state", state)
    first.wait_for_log()
    ran = command("run", command.plan(lit(command)), "--state", state, "--state-wait", "0").exits(2)
    assert f"another run (process {first.process.pid}) uses the state file" in ran.err
    assert "--state-wait" in ran.err
    first.signal(signal.SIGINT)
    first.finish()
    assert command("run", command.plan(lit(command)), "--state", state, "--state-wait", "0").status == 0


def test_tools_do_not_hold_the_state_lock(command):
    state = command.file("game.json", "{}")
    first = command.start("run", command.plan(command.waiting_tool()), "--state", state)
    first.wait_for_log()
    first.process.kill()
    first.process.communicate()
    assert command("run", command.plan(lit(command)), "--state", state, "--state-wait", "0").status == 0


# ---------------------------------------------------------------- --result


def test_result_goes_to_its_file_and_standard_output_stays_empty(command):
    command("run", command.plan(lit(command)), "--result", "result.json").exits(0, out="")
    text = (command.folder / "result.json").read_text()
    assert json.loads(text)["success"] is True
    assert text.endswith("}\n")


def test_result_is_the_same_on_standard_output_and_in_a_file(command):
    plan = command.plan(lit(command))
    on_output = command("run", plan, "--result", "-").result
    command("run", plan, "--result", "result.json")
    in_file = json.loads((command.folder / "result.json").read_text())
    assert list(on_output) == list(in_file)
    assert on_output["toolResults"][0]["events"] == in_file["toolResults"][0]["events"]


def test_old_result_is_kept_until_the_new_one_is_complete(command):
    result = command.file("result.json", "old")
    running = command.start("run", command.plan(command.waiting_tool()), "--result", result)
    running.wait_for_log()
    assert result.read_text() == "old"
    assert entries(command.folder) == ["plan.json", "result.json", "wait"]


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_result_may_be_standard_output_by_any_name(command, name):
    assert command("run", command.plan(lit(command)), "--result", name).exits(0).result["success"] is True


def test_result_may_go_to_a_pipe_of_the_shell(command):
    reader, writer = os.pipe()
    ran = command("run", command.plan(lit(command)), "--result", f"/dev/fd/{writer}", pass_fds=(writer,))
    os.close(writer)
    assert ran.status == 0, ran
    with open(reader, encoding="utf-8") as pipe:
        assert json.load(pipe)["success"] is True


def test_full_device_is_reported_and_fails(command):
    state = command.file("game.json", {"gold": 7})
    ran = command("run", command.plan(lit(command)), "--result", "/dev/full", "--state", state).exits(1)
    assert os.strerror(errno.ENOSPC) in ran.err
    # The state is saved although the result is lost.
    assert json.loads(state.read_text())["torch"] == {"lit": True}


# ---------------------------------------------------------------- refused before anything runs


@pytest.mark.parametrize("option", ["--state", "--result", "--events", "--trace"])
@pytest.mark.parametrize(
    "path", ["missing/file.json", "plan.json/file.json", ".", "/proc/file.json"],
    ids=["no folder", "a file as folder", "a folder", "takes no files"],
)
def test_unwritable_output_is_refused_before_anything_runs(command, option, path):
    plan = command.plan(command.tool("touch", done(), before='touch "$PWD/it-ran"'))
    command("run", plan, option, path).exits(2, path, out="")
    assert entries(command.folder) == ["plan.json", "touch"]


def linked(command, how):
    """A name of the plan."""
    plan = command.folder / "plan.json"
    if how == "itself":
        return plan.name
    if how == "another spelling":
        return "./plan.json"
    name = command.folder / "other"
    name.symlink_to(plan) if how == "symbolic link" else name.hardlink_to(plan)
    return name.name


@pytest.mark.parametrize("option", ["--state", "--result", "--events", "--trace"])
@pytest.mark.parametrize("how", ["itself", "another spelling", "symbolic link", "hard link"])
def test_no_output_replaces_the_plan(command, option, how):
    plan = command.plan(command.tool("touch", done(), before='touch "$PWD/it-ran"'))
    before = plan.read_bytes()
    command("run", "plan.json", option, linked(command, how)).exits(2, f"PLAN and {option} are the same file")
    assert plan.read_bytes() == before
    assert "it-ran" not in entries(command.folder)


def test_no_output_replaces_the_plan_on_standard_input(command):
    plan = command.plan(lit(command))
    before = plan.read_bytes()
    with open(plan, "rb") as given:
        ran = command("run", "-", "--result", plan, stdin=given.fileno())
    assert ran.status == 2, ran
    assert "standard input and --result are the same file" in ran.err
    assert plan.read_bytes() == before


@pytest.mark.parametrize("first, second", [
    ("--state", "--result"), ("--state", "--events"), ("--result", "--trace"), ("--trace", "--events")])
@pytest.mark.parametrize("exists", [True, False])
def test_two_outputs_to_one_file_are_refused(command, first, second, exists):
    if exists:
        command.file("one", "{}")
        (command.folder / "two").hardlink_to(command.folder / "one")
    ran = command("run", command.plan(lit(command)), first, "one", second, "two" if exists else "./one").exits(2)
    assert f"{first} and {second} are the same file" in ran.err
    assert not exists or (command.folder / "one").read_text() == "{}"


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="there is no /dev/shm")
def test_files_in_dev_shm_are_not_devices(command):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        ran = command("run", command.plan(lit(command)), "--result", f"{folder}/x", "--trace", f"{folder}/x")
        assert ran.status == 2, ran
        assert "--result and --trace are the same file" in ran.err


def test_device_may_take_several_outputs(command):
    command.folder.joinpath("null").symlink_to("/dev/null")
    ran = command("run", command.plan(lit(command)), "--result", "null", "--trace", "null", "--events", "/dev/null")
    assert ran.status == 0, ran


def test_events_to_the_file_of_standard_output_are_refused(command):
    plan = command.plan(lit(command))
    with open(command.folder / "out", "wb") as out:
        ran = command("run", plan, "--events", "out", stdout=out)
    assert ran.status == 2, ran
    assert "--events and standard output are the same file" in ran.err


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for the superuser")
@pytest.mark.parametrize("option", ["--state", "--result", "--events", "--trace"])
def test_read_only_file_or_folder_is_refused(command, option):
    plan = command.plan(lit(command))
    file = command.file("fixed", "{}")
    file.chmod(0o444)
    assert command("run", plan, option, "fixed").status == 2
    folder = command.folder / "locked"
    folder.mkdir(mode=0o555)
    assert command("run", plan, option, "locked/new").status == 2


# ---------------------------------------------------------------- --events


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


# covers: 003-13.4.7-collect, 003-13.4.7-log
def test_events_are_records_without_gaps(command):
    one = command.tool("one", log("first"), patch(a=1), done())
    two = command.tool("two", log("second"), done())
    plan = command.plan({"toolPath": one, "async": True}, {"toolPath": two, "async": True}, parallel=True)
    assert command("run", plan, "--events", "events.ndjson").status == 0
    found = records(command.folder / "events.ndjson")
    assert [record["seq"] for record in found] == list(range(1, len(found) + 1))
    assert {"plan_started", "tool_started", "tool_event", "tool_ended", "plan_ended"} <= {
        record["kind"] for record in found
    }
    assert len({record["sessionId"] for record in found}) == 1
    logs = {record["toolId"]: record["event"] for record in found if record["event"].get("type") == "log"}
    assert logs == {"one": json.loads(log("first")), "two": json.loads(log("second"))}


# covers: 000-3-additional-fields
def test_events_of_tools_are_verbatim(command):
    odd = '{ "type":"log","version" : "0", "message":"\\u0041", "level":"info","more":[1e2, 1.0] }'
    tool = command.tool("odd", odd, done())
    assert command("run", command.plan(tool), "--events", "events.ndjson").status == 0
    assert f'"event":{odd}' in (command.folder / "events.ndjson").read_text()


# covers: 000-5.4-streaming
def test_events_are_written_while_the_tool_runs(command):
    running = command.start("run", command.plan(command.waiting_tool()))
    assert running.wait_for_log()["kind"] == "tool_event"
    assert running.process.poll() is None


def test_events_of_an_earlier_run_are_replaced(command):
    events = command.file("events.ndjson", "old\n")
    plan = command.plan(lit(command))
    assert command("run", plan, "--events", events).status == 0
    first = records(events)
    assert command("run", plan, "--events", events).status == 0
    assert [record["seq"] for record in records(events)] == [record["seq"] for record in first]


def test_refused_plan_leaves_the_events_of_an_earlier_run(command):
    events = command.file("events.ndjson", "old\n")
    command.file("plan.json", "{}")
    assert command("run", "plan.json", "--events", events).status == 2
    assert events.read_text() == "old\n"


def test_event_write_error_does_not_stop_the_plan(command):
    ran = command("run", command.plan(lit(command)), "--events", "/dev/full", "--state", "game.json").exits(1)
    assert ran.result["success"] is True
    assert ran.err.count("the run continues without it") == 1
    assert json.loads((command.folder / "game.json").read_text()) == {"torch": {"lit": True}}


# ---------------------------------------------------------------- --trace


def trace_of(command, plan, status=0):
    assert command("run", plan, "--trace", "trace.json").status == status
    document = json.loads((command.folder / "trace.json").read_text())
    return document["traceEvents"]


def slices(events, category):
    return [one for one in events if one["ph"] == "X" and one["cat"] == category]


# covers: 003-13.4.8-trace
def test_trace_has_a_slice_for_the_plan_and_each_attempt(command):
    plan = command.plan(command.tool("one", log("hello"), done()), command.tool("two", done()))
    events = trace_of(command, plan)
    (outer,) = slices(events, "plan")
    attempts = slices(events, "attempt")
    assert [one["name"] for one in attempts] == ["one", "two"]
    for one in attempts:
        assert outer["ts"] <= one["ts"]
        assert one["ts"] + one["dur"] <= outer["ts"] + outer["dur"]
    # Sequential attempts share a track and do not overlap on it.
    assert len({one["tid"] for one in attempts}) == 1
    assert attempts[0]["ts"] + attempts[0]["dur"] <= attempts[1]["ts"]


def test_parallel_tools_have_separate_tracks(command):
    script = (
        "#!/bin/sh\ncat >/dev/null\nmkdir \"here-$$\"\n"
        "while [ \"$(ls -d here-* | wc -l)\" -lt 2 ]; do sleep 0.01; done\n"
        f"echo '{done()}'\n"
    )
    one, two = command.script("one", script), command.script("two", script)
    plan = command.plan({"toolPath": one, "async": True}, {"toolPath": two, "async": True}, parallel=True)
    assert command("run", plan, "--jobs", "2", "--trace", "trace.json").status == 0
    events = json.loads((command.folder / "trace.json").read_text())["traceEvents"]
    assert len({one["tid"] for one in slices(events, "attempt")}) == 2
    named = {one["tid"] for one in events if one["ph"] == "M" and one["name"] == "thread_name"}
    assert {one["tid"] for one in events} <= named


def test_retries_and_logs_show_in_the_trace(command):
    tool = command.tool("light", log("strike"), done(ok=False))
    plan = command.plan({"toolPath": tool, "retryPolicy": {"maxRetries": 1, "backoffMs": 1}})
    events = trace_of(command, plan, status=1)
    attempts = slices(events, "attempt")
    assert [one["args"]["attempt"] for one in attempts] == [1, 2]
    assert [one["args"]["ended"]["state"] for one in attempts] == ["failed", "failed"]
    instants = [one for one in events if one["ph"] == "i"]
    assert [one["name"] for one in instants] == ["strike", "strike"]
    for instant, slice_ in zip(instants, attempts):
        assert instant["tid"] == slice_["tid"]
        assert slice_["ts"] <= instant["ts"] <= slice_["ts"] + slice_["dur"]


def test_trace_is_complete_after_a_cancel(command):
    running = command.start("run", command.plan(command.waiting_tool()), "--trace", "trace.json")
    running.wait_for_log()
    running.signal(2)
    assert running.finish().status == 130
    events = json.loads((command.folder / "trace.json").read_text())["traceEvents"]
    assert len(slices(events, "plan")) == 1
    assert len(slices(events, "attempt")) == 1


def test_waiting_for_a_pipe_reader_is_reported(command):
    os.mkfifo(command.folder / "pipe")
    for option in ("--events", "--result"):
        process = command.popen("run", command.plan(lit(command)), option, "pipe",
                                stdout=subprocess.DEVNULL, text=True)
        try:
            line = process.stderr.readline()
            assert "waiting for a reader of pipe" in line and "cat pipe" in line
            # The open returns once the command has opened the pipe, too.
            assert (command.folder / "pipe").read_text().startswith("{")
            assert process.wait(DEADLINE) == 0
        finally:
            process.kill()
            process.communicate()


@pytest.mark.parametrize("name", ["-", "/dev/stdin", "/dev/fd/0"])
def test_plan_may_come_from_standard_input_by_any_name(command, name):
    lit(command)
    text = json.dumps({"requestId": "p", "tools": [{"toolId": "a", "toolPath": "./light"}]})
    file = command.file("elsewhere.json", text)
    with open(file, "rb") as given:
        assert command("run", name, stdin=given.fileno()).status == 0
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(text.encode())
        ours.shutdown(socket.SHUT_WR)
        command("run", name, stdin=theirs.fileno()).exits(0)


def test_duplicate_keys_of_the_plan_and_the_state_are_warnings(command):
    plan = command.file("plan.json", '{"requestId": "p",\n "tools": [], "tools": []}')
    state = command.file("state.json", '{"gold": 1,\n "gold": 2}')
    ran = command("run", plan, "--state", state).exits(0)
    assert ran.err.count("more than once") == 2, ran
    assert f"warning: {plan}:2:15: /tools: " in ran.err and "line 2, column 2: /gold: " in ran.err
    assert command("run", plan, "--quiet").err == ""
