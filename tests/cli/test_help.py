# SPDX-License-Identifier: Apache-2.0
"""Help, version, misuse, and how quickly the command starts."""

import errno
import os

import pytest

from harness import done, environment

COMMANDS = [
    [], ["play"], ["run"], ["tool"], ["tool", "run"], ["tool", "check"], ["validate"],
    ["validate", "event"], ["validate", "plan"], ["validate", "result"], ["validate", "story"],
    ["plugin"], ["plugin", "check"], ["plugin", "list"], ["plugin", "new"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(command, words):
    for flag in ("--help", "-h"):
        ran = command(*words, flag)
        assert ran.status == 0, ran
        assert ran.err == ""
        assert "Example:\n  " in ran.out
        assert f"Usage: {' '.join(['narratoria', *words])} " in ran.out


def test_help_has_no_escapes_and_needs_no_home(command):
    ran = command("run", "--help", env=environment(TERM="xterm", HOME="/no/such"))
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("words", [
    ("--help",), ("--version",), ("run", "--help"), ("plugin", "list"), ("plugin", "list", "--json"),
    ("validate", "plan", "plan.json"), ("validate", "plan", "plan.json", "--json"),
    ("tool", "check", "./light"),
], ids=" ".join)
def test_a_full_device_is_told_and_exits_with_2(command, words):
    command.plan(command.tool("light", done()))
    with open("/dev/full", "wb") as full:
        ran = command(*words, stdout=full)
    assert ran.status == 2, ran
    assert os.strerror(errno.ENOSPC) in ran.err and "standard output" in ran.err


def test_a_reader_that_went_away_is_no_fault(command):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb", closefd=True) as gone:
        ran = command("validate", "plan", command.file("plan.json", "{}"), stdout=gone)
    assert (ran.status, ran.err) == (2, ""), ran


def test_version_names_the_library(command):
    ran = command("--version")
    assert ran.status == 0, ran
    assert ran.out.startswith("narratoria 0.")


@pytest.mark.parametrize("words", [[], ["sing"], ["tool"], ["tool", "sing"]], ids=" ".join)
def test_misuse_exits_with_2_and_points_at_the_help(command, words):
    ran = command(*words)
    assert ran.status == 2, ran
    assert ran.out == ""
    assert "--help" in ran.err


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["frobnicate"], 'there is no command "frobnicate"; there are: play, serve, run, tool, validate, plugin'),
        (["tool", "frob"], 'there is no command "frob"; there are: run, check'),
    ],
)
def test_a_word_that_is_no_command_is_named_with_those_there_are(command, arguments, said):
    ran = command(*arguments)
    assert ran.status == 2, ran
    assert said in ran.err
    assert ran.out == ""
