# SPDX-License-Identifier: Apache-2.0
"""Help, version, misuse, and how quickly the command starts."""

import errno
import os

import pytest

from harness import done, environment

COMMANDS = [
    [], ["play"], ["run"], ["tool"], ["tool", "run"], ["tool", "check"], ["tool", "list"], ["validate"],
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
def test_a_full_device_is_told_and_exits_with_1(command, words):
    command.plan(command.tool("light", done()))
    with open("/dev/full", "wb") as full:
        ran = command(*words, stdout=full)
    assert ran.status == 1, ran
    assert os.strerror(errno.ENOSPC) in ran.err and "standard output" in ran.err


def test_a_reader_that_went_away_is_no_fault(command):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb", closefd=True) as gone:
        ran = command("validate", "plan", command.file("plan.json", "{}"), stdout=gone)
    assert (ran.status, ran.err) == (1, ""), ran


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
        (["frobnicate"], 'there is no command "frobnicate"; there are: play, serve, run, script, tool, session, replay, validate, doctor, plugin'),
        (["tool", "frob"], 'there is no command "frob"; there are: run, check'),
        (["validat", "story", "x"], 'there is no command "validat"; did you mean "validate"?'),
        ([], "give a command: play, serve, run, script, tool, session, replay, validate, doctor, plugin"),
        (["tool"], "give a command: run, check"),
    ],
)
def test_a_word_that_is_no_command_is_named_with_those_there_are(command, arguments, said):
    ran = command(*arguments)
    assert ran.status == 2, ran
    assert said in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--versoin"], 'there is no option "--versoin"; did you mean "--version"?'),
        (["run", "plan.json", "--reslt", "x"], 'there is no option "--reslt"; did you mean "--result"?'),
        (["run", "plan.json", "--evens=x"], 'there is no option "--evens"; did you mean "--events"?'),
        (["play", "--stroy", "x"], 'there is no option "--stroy"; did you mean "--story"?'),
        (["play", "--story", "x", "-light"], 'there is no option "-light"; a text that begins with - is written behind --'),
        (["run", "plan.json", "extra.json"], '"extra.json" is one argument too many'),
        (["run", "--", "plan.json", "--quiet"], '"--quiet" is one argument too many; behind -- nothing is an option'),
        (["run", "plan.json", "--result", "a", "--result", "b"], "--result is given 2 times; give it once"),
        (["run", "plan.json", "--jobs", "1", "--jobs=2"], "--jobs is given 2 times; give it once"),
        (["play", "--session=", "talk"], '--session= has no value; an empty one is given as --session ""'),
        (["run", "plan.json", "--jobs", "4294967297"], 'a whole number from 1 to 4096 is needed, not "4294967297"'),
        (["run", "plan.json", "--try-ms", "5s"], 'a whole number from 0 to 4294967294 is needed, not "5s"'),
        (["run", "plan.json", "--try-ms", "-1"], 'not "-1"'),
        (["run", "plan.json", "--try-ms", ""], 'not ""'),
        (["run", "plan.json", "--try-ms", "010"], 'not "010"'),
        (["serve", "--story", "x", "--port", "08080"], 'not "08080"'),
        (["run", "plan.json", "--max-processes", "4294967297"], "a whole number from 1 to 4294967294"),
        (["run", "plan.json", "--state-wait", "nan"], 'a number of seconds from 0 to 86400 is needed, not "nan"'),
        (["run", "plan.json", "--state-wait", "inf"], 'not "inf"'),
        (["tool", "check", "x", "--time-limit", "1e9"], "a number of seconds from 0.1 to 86400"),
        (["serve", "--story", "x", "--port", "65536"], "a whole number from 0 to 65535 is needed"),
    ],
)
def test_a_mistake_on_the_command_line_is_named_with_what_to_write(command, arguments, said):
    command.plan(command.tool("light", done()))
    ran = command(*arguments)
    assert ran.status == 2, ran
    assert said in ran.err, ran
    assert ran.out == ""
