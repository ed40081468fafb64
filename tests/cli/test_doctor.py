# SPDX-License-Identifier: Apache-2.0
"""narratoria doctor: what this machine can enforce."""

import json
import subprocess

from harness import BUILD, NARRATORIA, environment

NAMES = ["programs", "no_filesystem_write", "no_filesystem_read", "no_network", "no_subprocess",
         "no_env_read", "no_env_write"]


def doctor(*arguments, before=()):
    return subprocess.run([*before, NARRATORIA, "doctor", *arguments], capture_output=True, text=True,
                          env=environment(), timeout=300, stdin=subprocess.DEVNULL)


def test_it_lists_every_guarantee_with_its_mechanism():
    ended = doctor("--json")
    report = json.loads(ended.stdout)
    assert [check["name"] for check in report["checks"]] == NAMES
    assert ended.returncode == (0 if report["ok"] else 1)
    for check in report["checks"]:
        assert check["ok"] == ("mechanism" in check) and check["ok"] == ("problem" not in check)


def test_it_says_the_same_for_people():
    ended = doctor()
    assert [line.split()[1] for line in ended.stdout.splitlines()] == NAMES
    assert ended.stderr == ""


def test_without_landlock_it_says_what_is_missing():
    ended = doctor(before=[BUILD / "tests" / "escape" / "escape_masked"])
    assert ended.returncode == 1
    lines = ended.stdout.splitlines()
    assert lines[0].startswith("ok   programs")
    for name, line in zip(NAMES[1:], lines[1:]):
        assert line.startswith(f"NO   {name}")
        assert "the kernel has no Landlock; it needs Linux 5.13" in line


def test_an_empty_list_of_guarantees_is_refused(command):
    ran = command("run", command.plan(command.tool("nothing")), "--sandbox", "")
    assert ran.status == 2, ran
    assert "--sandbox" in ran.err
