# SPDX-License-Identifier: Apache-2.0
"""Help, version and misuse of the command."""

import errno
import os

import pytest

from harness import done, environment

COMMANDS = [
    [], ["play"], ["run"], ["tool"], ["tool", "run"], ["tool", "check"], ["tool", "list"], ["validate"], ["test"],
    ["validate", "event"], ["validate", "plan"], ["validate", "result"], ["validate", "story"],
    ["plugin"], ["plugin", "check"], ["plugin", "list"], ["plugin", "new"], ["story"], ["story", "new"], ["narrator"], ["narrator", "check"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example(command, words):
    for flag in ("--help", "-h"):
        ran = command(*words, flag).exits(0)
        assert ran.err == ""
        ran.shows("Example:\n  ", f"Usage: {' '.join(['narratoria', *words])} ")


def test_help_has_no_escapes_and_needs_no_home(command):
    assert "\x1b" not in command("run", "--help", env=environment(TERM="xterm", HOME="/no/such")).out


@pytest.mark.parametrize("words", [
    ("--help",), ("--version",), ("run", "--help"), ("plugin", "list"), ("plugin", "list", "--json"),
    ("validate", "plan", "plan.json"), ("validate", "plan", "plan.json", "--json"),
    ("tool", "check", "./light"),
], ids=" ".join)
def test_full_device_is_reported_and_exits_with_1(command, words):
    command.plan(command.tool("light", done()))
    with open("/dev/full", "wb") as full:
        ran = command(*words, stdout=full)
    assert ran.status == 1, ran
    assert os.strerror(errno.ENOSPC) in ran.err and "standard output" in ran.err


def test_broken_pipe_is_not_an_error(command):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb", closefd=True) as gone:
        ran = command("validate", "plan", command.file("plan.json", "{}"), stdout=gone)
    assert (ran.status, ran.err) == (1, ""), ran


def test_version_names_the_library(command):
    assert command("--version").exits(0).out.startswith("narratoria 0.")


@pytest.mark.parametrize("words", [
    [], ["sing"], ["tool"], ["tool", "sing"], ["narrator"], ["plugin"], ["story"]], ids=" ".join)
def test_misuse_exits_with_2_and_points_to_the_help(command, words):
    command(*words).exits(2, "--help", out="")


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["frobnicate"], 'unknown command "frobnicate"; use one of: play, serve, run, script, tool, session, replay, story, validate, test, doctor, narrator, plugin'),
        (["tool", "frob"], 'unknown command "frob"; use one of: run, check'),
        (["validat", "story", "x"], 'unknown command "validat"; did you mean "validate"?'),
        ([], "give a command: play, serve, run, script, tool, session, replay, story, validate, test, doctor, narrator, plugin"),
        (["tool"], "give a command: run, check"),
    ],
)
def test_unknown_command_is_reported_with_the_known_ones(command, arguments, said):
    ran = command(*arguments).exits(2, said)
    assert "narratoria story" not in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--versoin"], 'unknown option "--versoin"; did you mean "--version"?'),
        (["run", "plan.json", "--reslt", "x"], 'unknown option "--reslt"; did you mean "--result"?'),
        (["run", "plan.json", "--evens=x"], 'unknown option "--evens"; did you mean "--events"?'),
        (["play", "--stroy", "x"], 'unknown option "--stroy"; did you mean "--story"?'),
        (["play", "--log", "loud"], '--log: unknown value "loud"; use one of: debug, info, warning, error'),
        (["play", "--log", "warnin"], '--log: unknown value "warnin"; did you mean "warning"?'),
        (["play", "--story", "x", "-light"], 'unknown option "-light"; put -- before arguments that begin with -'),
        (["run", "plan.json", "extra.json"], 'unexpected argument "extra.json"'),
        (["run", "--", "plan.json", "--quiet"], 'unexpected argument "--quiet"; words after -- are not options'),
        (["run", "plan.json", "--result", "a", "--result", "b"], "--result is given 2 times; give it once"),
        (["run", "plan.json", "--jobs", "1", "--jobs=2"], "--jobs is given 2 times; give it once"),
        (["play", "--session=", "talk"], '--session= has no value; write an empty value as --session ""'),
        (["run", "plan.json", "--jobs", "4294967297"], 'invalid value "4294967297"; give a whole number from 1 to 4096'),
        (["run", "plan.json", "--try-ms", "5s"], 'invalid value "5s"; give a whole number from 0 to 4294967294'),
        (["run", "plan.json", "--try-ms", "-1"], 'invalid value "-1"'),
        (["run", "plan.json", "--try-ms", ""], 'invalid value ""'),
        (["run", "plan.json", "--try-ms", "010"], 'invalid value "010"'),
        (["serve", "--story", "x", "--port", "08080"], 'invalid value "08080"'),
        (["run", "plan.json", "--max-processes", "4294967297"], "a whole number from 1 to 4294967294"),
        (["run", "plan.json", "--state-wait", "nan"], 'invalid value "nan"; give a number of seconds from 0 to 86400'),
        (["run", "plan.json", "--state-wait", "inf"], 'invalid value "inf"'),
        (["tool", "check", "x", "--time-limit", "1e9"], "a number of seconds from 0.1 to 86400"),
        (["serve", "--story", "x", "--port", "65536"], "a whole number from 0 to 65535"),
    ],
)
def test_command_line_mistake_is_reported_with_the_fix(command, arguments, said):
    command.plan(command.tool("light", done()))
    command(*arguments).exits(2, said, out="")
