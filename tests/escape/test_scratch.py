# SPDX-License-Identifier: Apache-2.0
"""The scratch folder is empty when a tool starts and is removed however the engine ends."""

import contextlib
import os
import signal
import subprocess
import time

import pytest

from escape import DEADLINE, NARRATORIA, run

LEAVER = """#!/bin/sh
seen=$(ls -A "$TMPDIR")
mkdir -p "$TMPDIR/deep/er" && echo x >"$TMPDIR/deep/er/file" && echo x >"$TMPDIR/.hidden"
printf '{"version":"0","type":"done","ok":true,"result":"%s:%s"}\\n' "${TMPDIR##*/}" "$seen"
"""
SLEEPER = """#!/bin/sh
echo "$PPID $$ it runs" >"$TMPDIR/file"
exec sleep 600
"""


def script(folder, text):
    path = folder / "tool"
    path.write_text(text)
    path.chmod(0o755)
    return path


def left_in(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith("narratoria-scratch-")]


@pytest.mark.parametrize("guarantee", ["no_filesystem_write", "no_filesystem_read", "all"])
def test_no_file_passes_from_one_invocation_to_the_next(places, guarantee):
    place = places("leaver")
    # Under no_subprocess a shell script cannot run ls, so Python lists the folder.
    text = LEAVER if guarantee != "all" else (
        "#!/usr/bin/env python3\nimport json, os\nhere = os.environ['TMPDIR']\n"
        "seen = ' '.join(os.listdir(here))\nos.makedirs(here + '/deep/er')\n"
        "open(here + '/deep/er/file', 'w').write('x')\n"
        "print(json.dumps({'version': '0', 'type': 'done', 'ok': True,\n"
        "                  'result': os.path.basename(here) + ':' + seen}))\n")
    told, _ = run(place, guarantee, ["one", "two", "three"], tool=script(place.folder, text),
                  environment={"TMPDIR": str(place.folder)})
    assert all(how.startswith("narratoria-scratch-") and how.endswith(":") for how in told.values()), told
    assert left_in(place.folder) == []


def test_tool_that_replaces_its_folder_blocks_no_other_tool(places):
    place = places("taken")
    text = ('#!/bin/sh\nmv "$TMPDIR" "$TMPDIR.moved" && echo x >"$TMPDIR"\n'
            'printf \'{"version":"0","type":"done","ok":true,"result":"ran"}\\n\'\n')
    told, _ = run(place, "no_filesystem_read", ["one", "two", "three"], tool=script(place.folder, text),
                  environment={"TMPDIR": str(place.folder)})
    assert set(told.values()) == {"ran"}, told


def until(what):
    deadline = time.monotonic() + DEADLINE
    while not (found := what()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def running(place):
    """Starts a tool that sleeps; returns the command and the pids of supervisor and tool."""
    plan = place.plan(["sleep"], script(place.folder, SLEEPER))
    command = subprocess.Popen([NARRATORIA, "run", plan, "--sandbox", "no_filesystem_write"],
                               cwd=place.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, env={**os.environ, "TMPDIR": str(place.folder)})

    def told():
        files = list(place.folder.glob("narratoria-scratch-*/file"))
        words = files[0].read_text().split() if files else []
        return [int(word) for word in words[:2]] if words[2:] == ["it", "runs"] else None

    return command, until(told)


def state_and_parent_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        state, parent = file.read().rsplit(")", 1)[1].split()[:2]
    return state, int(parent)


def has_ended(pid):
    """True also for a zombie that is never reaped, as in a container without an init process."""
    try:
        return state_and_parent_of(pid)[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_folder_of_a_killed_supervisor_is_removed(places):
    place = places("killed")
    command, (supervisor, _) = running(place)
    assert len(left_in(place.folder)) == 1
    os.kill(supervisor, signal.SIGKILL)
    out, _ = command.communicate(timeout=DEADLINE)
    assert '"errorCode":"SUPERVISOR_LOST"' in out
    assert left_in(place.folder) == []


def test_next_engine_removes_folders_of_killed_engines(places):
    place = places("swept")
    command, (supervisor, tool) = running(place)
    _, reaper = state_and_parent_of(supervisor)
    # Stop all of them first, so that none can react to the end of the others.
    for pid in (command.pid, reaper, supervisor):
        os.kill(pid, signal.SIGSTOP)
    # Kill the tool first: the kernel kills it with its supervisor, and its pid may then be reused.
    for pid in (tool, supervisor, reaper, command.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    command.communicate(timeout=DEADLINE)
    until(lambda: has_ended(tool))
    assert len(left_in(place.folder)) == 1
    other = place.folder / "narratoria-scratch-of-nobody"
    other.write_text("a file")
    run(place, "no_filesystem_write", ["threads_work"], environment={"TMPDIR": str(place.folder)})
    assert left_in(place.folder) == [other.name]


def test_slow_removal_of_files_is_not_lingering(places):
    place = places("many")
    text = ("#!/usr/bin/python3\nimport os\nfor n in range(40000):\n"
            "    os.close(os.open(f'{os.environ[\"TMPDIR\"]}/{n}', os.O_CREAT | os.O_WRONLY))\n"
            "print('{\"version\":\"0\",\"type\":\"done\",\"ok\":true,\"result\":\"made\"}', flush=True)\n"
            "os._exit(0)\n")
    told, _ = run(place, "no_filesystem_write", ["many"], tool=script(place.folder, text),
                  options=["--grace-ms", "150", "--events", "events"],
                  environment={"TMPDIR": str(place.folder)})
    assert told["many"] == "made"
    assert "LINGERED" not in (place.folder / "events").read_text()


NEVER_OURS = [
    "mine", "", "1", "{uuid}", "{uuid}-", "{uuid}-x", "{uuid}-01", "{uuid}-1-", "{uuid}-1-2-3",
    "{uuid}-12345678901", "{UUID}-1", "{uuid}-1.old", "0{uuid}-1", "{version}-1", "{variant}-1",
]


def test_sweep_removes_only_folders_of_engines(places):
    place = places("others")
    uuid = "0f3c5a1e-9b2d-4c6f-8a7e-1234567890ab"
    words = {"uuid": uuid, "UUID": uuid.upper(), "version": uuid.replace("-4", "-1"),
             "variant": uuid.replace("-8a7e", "-7a7e")}
    start = "narratoria-scratch-"
    kept = [start + each.format(**words) for each in NEVER_OURS]
    ours = [f"{start}{uuid}-7", f"{start}{uuid}-4294967295-12"]
    for name in kept + ours:
        (place.folder / name).mkdir(mode=0o700)
        (place.folder / name / "notes").write_text("kept")
    shared = f"{start}{uuid}-8"
    (place.folder / shared).mkdir()
    (place.folder / shared).chmod(0o755)
    # A tool that may write can replace its folder by a link.
    (place.folder / f"{start}{uuid}-9").symlink_to(kept[0])
    told, _ = run(place, "no_filesystem_write", ["threads_work"],
                  environment={"TMPDIR": str(place.folder)})
    assert sorted(left_in(place.folder)) == sorted([*kept, shared]), told
    assert all((place.folder / name / "notes").read_text() == "kept" for name in kept)
