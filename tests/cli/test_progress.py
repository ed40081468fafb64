# SPDX-License-Identifier: Apache-2.0
"""The live display of narratoria run, on a terminal."""

import os
import re
import signal
import subprocess

import pytest

from harness import done, environment, log, screen

SPINNER = "[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]"


def gated(command, *steps, name="light"):
    """A tool that writes each step and then waits for a line on its pipe; see go()."""
    body = "".join(f"printf '%s\\n' '{step}'\nread line <&3\n" for step in steps)
    os.mkfifo(command.folder / f"go-{name}")
    return command.script(
        name,
        f"#!/bin/sh\ncat >/dev/null\nexec 3<>go-{name}\n{body}echo '{done(summary='Torch lit.')}'\n")


def go(command, name="light"):
    with open(command.folder / f"go-{name}", "w") as pipe:
        pipe.write("on\n")


def watched(command, step, until, **options):
    """Runs a tool that writes this step, waits until it is displayed, and lets the tool end."""
    plan = command.plan(gated(command, step))
    terminal = command.on_terminal("run", plan, **{"stdout": subprocess.DEVNULL, **options})
    terminal.read_until(until)
    go(command)
    return terminal.finish()


# covers: 000-4.1-log-is-shown, 004-status-live
# covers: 003-13.4.7-log
def test_running_tool_shows_its_last_log_and_a_progress_bar(command):
    plan = command.plan(gated(command, log("half way", progress=0.5)))
    terminal = command.on_terminal("run", plan, stdout=subprocess.DEVNULL)
    shown = terminal.read_until("half way")
    assert re.search(SPINNER, shown)
    assert "light" in shown and " 50%" in shown and "██████" in shown
    go(command)
    terminal.finish().exits(0)


def test_finished_tool_leaves_one_line_and_shows_the_cursor(command):
    ran = watched(command, log("half way"), "half way")
    left = [line for line in screen(ran.out) if line]
    assert len(left) == 1, left
    assert re.fullmatch(r"✓ light in [0-9.]+ s: Torch lit\.", left[0])
    # The cursor is hidden during redraws and shown again at the end.
    assert ran.out.rindex("\x1b[?25h") > ran.out.rindex("\x1b[?25l")


def test_log_message_is_truncated_to_the_terminal_width(command):
    ran = watched(command, log("漢字" * 100), "…", columns=60)
    lines = [line for line in re.split(r"[\r\n]+", ran.out) if "漢" in line]
    assert lines
    for line in lines:
        plain = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", line)
        wide = sum(2 if one in "漢字" else 1 for one in plain)
        assert wide < 60, plain


def test_next_redraw_uses_the_resized_width(command):
    plan = command.plan(gated(command, log("x" * 200)))
    terminal = command.on_terminal("run", plan, stdout=subprocess.DEVNULL, columns=100)
    terminal.read_until("x{50}…")
    terminal.resize(40)
    # The old line now takes three rows, so the next redraw moves up three rows.
    drawn = terminal.read_until(r"(?s)\x1b\[3A\x1b\[J.*?…")
    plain = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", drawn[drawn.rindex("\x1b[J") :])
    assert len(plain.strip()) < 40
    go(command)
    assert terminal.finish().status == 0


def test_control_characters_do_not_reach_the_live_display(command):
    shown = re.escape(r"evil \x1B[2J \r\n bell \x07")
    ran = watched(command, log("evil \x1b[2J \r\n bell \x07"), shown, columns=120)
    assert "\x1b[2J" not in ran.out and "\x07" not in ran.out


def test_tools_that_do_not_fit_are_counted(command):
    tools = [gated(command, log("here"), name=f"tool{number}") for number in range(8)]
    plan = command.plan(*[{"toolPath": tool, "async": True} for tool in tools], parallel=True)
    terminal = command.on_terminal(
        "run", plan, "--jobs", "8", stdout=subprocess.DEVNULL, rows=6)
    terminal.read_until("… and 5 more")
    for tool in tools:
        go(command, tool.name)
    ran = terminal.finish().exits(0)
    assert sum(line.startswith("✓ tool") for line in screen(ran.out)) == 8


def test_no_color_keeps_the_live_display_without_colours(command):
    ran = watched(command, log("half way", progress=0.5), "half way",
                  env=environment(TERM="xterm-256color", NO_COLOR="1"))
    assert not re.search(r"\x1b\[[0-9;]*m", ran.out)
    assert "\x1b[" in ran.out


def test_empty_no_color_keeps_the_colours(command):
    terminal = command.on_terminal(
        "run", command.plan(command.tool("light", done())), stdout=subprocess.DEVNULL,
        env=environment(TERM="xterm-256color", NO_COLOR=""))
    assert "\x1b[32m✓\x1b[0m" in terminal.finish().out


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {}], ids=["dumb", "no TERM"])
def test_terminal_without_cursor_control_gets_plain_lines(command, variables):
    plan = command.plan(command.tool("light", done()))
    terminal = command.on_terminal(
        "run", plan, stdout=subprocess.DEVNULL, env=environment(**variables))
    ran = terminal.finish()
    assert "\x1b" not in ran.out
    assert ran.out.startswith("started light (")


def test_result_is_printed_after_the_live_display(command):
    ran = watched(command, log("half way"), "half way", stdout=None)
    text = "\n".join(screen(ran.out, columns=100_000))
    assert text.index("✓ light") < text.index('{"planId"')


def test_typed_ctrl_c_cancels_and_restores_the_terminal(command):
    terminal = command.on_terminal(
        "run", command.plan(command.waiting_tool()), stdout=subprocess.DEVNULL)
    terminal.read_until("ready")
    terminal.type("\x03")
    ran = terminal.finish().exits(130)
    assert ran.out.rindex("\x1b[?25h") > ran.out.rindex("\x1b[?25l")


def test_second_ctrl_c_also_restores_the_cursor(command):
    plan = command.plan(command.waiting_tool(on_term=":"))
    terminal = command.on_terminal("run", plan, "--grace-ms", "0", stdout=subprocess.DEVNULL)
    terminal.read_until("ready")
    terminal.type("\x03", "failed")
    terminal.type("\x03")
    ran = terminal.finish().exits(130)
    assert ran.out.rindex("\x1b[?25h") > ran.out.rindex("\x1b[?25l")


def test_sigtstp_shows_the_cursor_and_sigcont_redraws(command):
    plan = command.plan(command.waiting_tool())
    # With a controlling terminal it would lead an orphaned process group, which never stops.
    terminal = command.on_terminal("run", plan, stdout=subprocess.DEVNULL, is_controlling=False)
    terminal.read_until("ready")
    terminal.signal(signal.SIGTSTP)
    terminal.read_until(r"\x1b\[\?25h")
    _, status = os.waitpid(terminal.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    terminal.signal(signal.SIGCONT)
    terminal.read_until("ready")
    terminal.signal(signal.SIGINT)
    assert terminal.finish().status == 130


def test_display_redraws_at_most_20_times_a_second(command):
    """A burst of a thousand logs causes a few redraws, not a thousand."""
    logs = "".join(f"{log(f'line {number}')}\n" for number in range(1000))
    tool = command.script(
        "chatty", f"#!/bin/sh\ncat >/dev/null\ncat <<'EVENTS'\n{logs}EVENTS\necho '{done()}'\n")
    terminal = command.on_terminal("run", command.plan(tool), stdout=subprocess.DEVNULL)
    ran = terminal.finish()
    seconds = float(re.search(r"✓ chatty in ([0-9.]+) s", "\n".join(screen(
        re.sub(r"\x1b\[[0-9;]*m", "", ran.out))))[1])
    assert ran.out.count("\x1b[J") <= seconds * 20 + 3
