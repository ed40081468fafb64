# SPDX-License-Identifier: Apache-2.0
"""narratoria script without a file: the interactive session on a terminal."""

import signal
import subprocess

import pytest

from harness import environment


ROLL = """#!/usr/bin/env python3
import json, sys
sides = json.load(sys.stdin)["input"]["sides"]
print(json.dumps({"version": "0", "type": "done", "ok": True, "result": sides - 1}))
"""
UP, TAB, CTRL_C, CTRL_D = "\x1b[A", "\t", "\x03", "\x04"
# Matches the prompt at the start of a line, and not "> " in the typed text.
PROMPT = r"(?:^|\n|\x1b\[K)> "


class Typist:
    def __init__(self, command, *options):
        self.terminal = command.on_terminal("script", *options, env=self.environment(command.folder))
        self.greeting = self.read_until(rf"{PROMPT}|no line editor")
        if "no line editor" in self.greeting:
            pytest.skip("this build has no line editor; libedit was missing when it was configured")

    @staticmethod
    def environment(folder):
        return environment(TERM="xterm-256color", HOME=str(folder), XDG_STATE_HOME=str(folder / "state"))

    def read_until(self, pattern):
        return self.terminal.read_until(pattern)

    def type(self, keys, until):
        return self.terminal.type(keys, until)

    def enter(self, line, until=PROMPT):
        """Enters a line; returns the output after it, including the next prompt."""
        shown = self.type(line + "\r", until)
        return shown[shown.index("\n") + 1 :].replace("\r", "")


@pytest.fixture
def typist(command):
    return lambda *options: Typist(command, *options)


@pytest.fixture
def tools(command):
    command.script("tools/roll-dice.py", ROLL)
    command.script("tools/slow", "#!/bin/sh\necho started >&2\nexec sleep 60\n")
    (command.folder / "tools/notes.txt").write_text("no tool\n")
    return str(command.folder / "tools")


def test_values_are_shown_and_variables_are_kept(typist, tools):
    it = typist("--tools", tools, "--scope", '{"n": 20}')
    assert it.enter("LET a = n + 1") == "> "
    assert it.enter("a * 2") == "42\n> "
    assert it.enter('PRINT("größer: ☃")') == "größer: ☃\n> "
    assert it.enter("[a, {b: null}] // a comment") == "[21, {b: null}]\n> "
    assert it.enter("CALL roll_dice { sides: 6 }") == "5\n> "
    assert it.enter("") == "> "


def test_help_and_quit_are_commands_unless_they_are_variables(typist):
    it = typist()
    assert "CALL tool { key: value }" in it.enter("help")
    it.enter("LET help = 5")
    assert it.enter("help").startswith("5\n")
    it.terminal.type("quit\r")
    assert it.terminal.finish().status == 0


def test_unfinished_block_continues_on_the_next_line(typist):
    it = typist()
    assert it.enter("FOR i IN [1, 2] DO", r"\.\.\. ") == "... "
    assert it.enter("  IF i == 2 THEN", r"\.\.\. ") == "... "
    assert it.enter("    PRINT({", r"\.\.\. ") == "... "
    assert it.enter("", r"\.\.\. ") == "... "
    assert it.enter("a: i }) END", r"\.\.\. ") == "... "
    assert it.enter("END") == "{a: 2}\n> "


def test_end_of_input_reports_the_unfinished_block(typist):
    it = typist()
    it.enter("IF true THEN", r"\.\.\. ")
    it.enter("  PRINT(1)", r"\.\.\. ")
    it.terminal.type(CTRL_D)
    assert "ParserError: " in it.read_until(r"  2 \|   PRINT\(1\)\r\n")
    assert it.terminal.finish().status == 0


def test_truncated_character_does_not_swallow_the_next_one(typist):
    it = typist()
    # The first bytes of a character, then Enter or a character of a different length.
    for begun in (b"\xc3", b"\xe2\x98"):
        it.terminal.type(b'PRINT("on") // ' + begun + b"\r", rf"\non\r{PROMPT}")
    it.terminal.type(b'PRINT("\xe2\xc3\xbc\xc3")\r', f"\n\ufffdü\ufffd\r{PROMPT}")


def test_string_cannot_continue_on_the_next_line(typist):
    assert "without a closing quote" in typist().enter('PRINT("a')


def test_error_shows_its_place_and_the_session_continues(typist):
    it = typist()
    it.enter("LET a = 1")
    assert it.enter("LET b = a + nothing").splitlines() == [
        "UndefinedVariableError: Variable 'nothing' not defined.",
        "  1 | LET b = a + nothing",
        "    |             ^",
        "> "]
    # The error shows an expression as it was typed.
    assert it.enter("a + nothing").splitlines()[1:3] == ["  1 | a + nothing", "    |     ^"]
    assert it.enter("LET = 5").splitlines()[1:3] == ["  1 | LET = 5", "    |     ^"]
    it.enter("IF true THEN", r"\.\.\. ")
    assert "  2 | PRINT(x) END\n    |       ^" in it.enter("PRINT(x) END")
    assert it.enter("a") == "1\n> "


def test_variables_of_a_failed_script_are_kept(typist):
    it = typist()
    it.enter("LET a = 7 LET b = nothing")
    assert it.enter("a") == "7\n> "


def test_tab_completes_tools_keywords_and_variables(typist, tools):
    it = typist("--tools", tools)
    it.enter("LET wanderer = 5")
    assert it.enter("PRI" + TAB + "wand" + TAB + ")") == "5\n> "
    assert it.enter("CALL r" + TAB + " { sides: 3 }") == "2\n> "
    # Several matches: their common prefix first, then a list.
    it.type("F" + TAB + TAB, r"FOR FORMAT\(\r\n")
    it.type(CTRL_C, rf"\^C\r{PROMPT}")
    # Only executable files are tools.
    assert it.type("CALL " + TAB, r"roll_dice slow\r\n")
    it.type(CTRL_C, rf"\^C\r{PROMPT}")
    # Strings are not completed.
    assert it.enter('"wand' + TAB + 'x"').endswith("wandx\n> ")


def test_tab_completes_the_tools_of_a_story(typist, command):
    story = command.story({"wait": [{"narrative": "You wait."}]}, {"open-door.sh": ROLL})
    it = typist("--story", str(story))
    assert it.enter("CALL op" + TAB + " { sides: 4 }") == "3\n> "
    # Tools added during the session are completed, too.
    command.script("story/tools/close.py", ROLL)
    assert it.enter("CALL cl" + TAB + " { sides: 3 }") == "2\n> "


def test_history_is_kept_between_sessions(typist, command):
    it = typist()
    it.enter("LET first = 1")
    it.enter("nothing")
    it.terminal.type(CTRL_D)
    assert it.terminal.finish().status == 0
    file = command.folder / "state/narratoria/script-history"
    assert file.read_text() == "LET first = 1\nnothing\n"
    assert file.stat().st_mode & 0o777 == 0o600
    # Control characters in the history file do not reach the terminal.
    with open(file, "ab") as history:
        history.write(b"\xff\n\x1b]0;title\x07\n\n")
    again = typist()
    again.type(UP, "nothing")
    again.type(UP, "LET first = 1")
    again.enter("")
    assert again.enter("first") == "1\n> "


def test_unwritable_history_is_reported_once(typist, command):
    (command.folder / "state").write_text("a file")
    it = typist()
    assert "the history is not saved: cannot read" in it.greeting
    assert it.enter("1") == "1\n> "


@pytest.mark.parametrize("source", [
    "FOR i IN l DO FOR j IN l DO FOR k IN l DO LET x = 1 END END END", "CALL slow {}"])
def test_ctrl_c_ends_the_script_and_not_the_session(typist, tools, source):
    it = typist("--tools", tools, "--scope", '{"l": [%s]}' % ",".join("1" * 1000))
    it.terminal.type(f'LET kept = 3 PRINT("on") {source}\r', r"\non\r")
    assert "CancelledError" in it.type(CTRL_C, PROMPT)
    assert it.enter("kept") == "3\n> "


def test_output_is_shown_while_the_script_runs(typist, command):
    command.script("tools/wait", "#!/bin/sh\nuntil [ -e \"$0.go\" ]; do :; done\n"
                   """echo '{"version":"0","type":"done","ok":true}'\n""")
    it = typist("--tools", str(command.folder / "tools"))
    it.terminal.type('PRINT("before") CALL wait {} PRINT("after")\r', r"\nbefore\r")
    (command.folder / "tools/wait.go").touch()
    assert it.read_until(PROMPT).replace("\r", "") == "\nafter\n> "


def test_output_before_an_error_is_shown_before_it(typist):
    it = typist()
    assert it.enter('PRINT("on") LET a = nothing').splitlines()[:2] == [
        "on", "UndefinedVariableError: Variable 'nothing' not defined."]


def test_ctrl_c_discards_the_typed_input(typist):
    it = typist()
    it.enter("IF true THEN", r"\.\.\. ")
    it.type("PRINT(1", r"PRINT\(1")
    it.type(CTRL_C, rf"\^C\r{PROMPT}")
    assert it.enter("2") == "2\n> "


def test_ctrl_c_on_an_empty_line_says_how_to_end(typist):
    assert "quit or Ctrl-D ends" in typist().type(CTRL_C, PROMPT)


def test_repeated_ctrl_c_at_the_prompt_keeps_the_session(typist):
    it = typist()
    for _ in range(200):
        it.terminal.signal(signal.SIGINT)
    # The last SIGINTs discard input that is typed before they are handled.
    while "\n2\r" not in it.type("2\r", r"\n2\r\n|\^C\r\n(.*\r\n)?> "):
        pass
    it.type("3\r", r"\n3\r\n> ")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        it.terminal.signal(number)
    assert it.terminal.finish().status == 128 + signal.SIGTERM


def test_error_with_several_lines_shows_the_typed_source(typist, command):
    command.script("tools/wet.py", """#!/usr/bin/env python3
import json
print(json.dumps({"version": "0", "type": "error", "errorCode": "WET", "errorMessage": "wet\\nand cold"}))
print(json.dumps({"version": "0", "type": "done", "ok": False}))
""")
    shown = typist("--tools", str(command.folder / "tools")).enter("CALL wet {}")
    assert "\n  1 | CALL wet {}\n    | ^\n" in shown


def test_ctrl_d_and_signals_end_the_session(typist):
    it = typist()
    it.terminal.type(CTRL_D)
    assert it.terminal.finish().status == 0
    for number in (signal.SIGTERM, signal.SIGHUP):
        it = typist()
        it.terminal.signal(number)
        assert it.terminal.finish().status == 128 + number


def test_without_a_terminal_standard_input_is_the_script(command):
    ran = command("script", stdin='LET a = 1\nPRINT("a") PRINT(a)')
    assert (ran.status, ran.lines) == (0, ["a", "1"]), ran
    ran = command("script", "--check", stdin="LET a = \n")
    assert ran.err.startswith("standard input:2:1: error: ParserError: "), ran


def test_redirected_output_requires_a_file(command):
    terminal = command.on_terminal("script", stdout=subprocess.DEVNULL)
    terminal.read_until(r"give the script's FILE, or - for\s+standard input")
    assert terminal.finish().status == 2
    terminal = command.on_terminal("script", "--check")
    terminal.read_until(r"give the script's FILE, or - for\s+standard input")
    assert terminal.finish().status == 2


HOSTILE = 'PRINT("a\\u001b[31mb\\u009b31m\\u0007\\tc\\nd\\u202e")'
HARMLESS = "a\\x1B[31mb\\u{009B}31m\\x07\tc\nd\\u{202E}\n"


def test_control_characters_of_a_script_are_escaped(typist, command):
    it = typist()
    # The terminal shows a tab as spaces.
    assert it.enter(HOSTILE).expandtabs() == (HARMLESS + "> ").expandtabs()
    assert "\x1b[31m" not in it.enter('"\\u001b[31m"')
    command.file("a.nuwa", HOSTILE)
    shown = command.on_terminal("script", "a.nuwa").finish().exits(0)
    assert shown.out.replace("\r", "").expandtabs() == HARMLESS.expandtabs()


def test_tab_offers_only_callable_and_readable_names(typist, command):
    for name in ("3d", "LET", "ring-bell", "twice.py", "twice.sh"):
        command.script(f"tools/{name}", ROLL)
    it = typist("--tools", str(command.folder / "tools"), "--scope",
                '{"1st": 1, "IF": 2, "\\u001b[31m": 3, "fine": 4}')
    assert it.type("CALL " + TAB + TAB, r"ring_bell\r\n").splitlines()[-1] == "_3d _LET ring_bell"
    it.type(CTRL_C, rf"\^C\r{PROMPT}")
    assert it.enter("CALL _3" + TAB + " { sides: 3 }") == "2\n> "
    shown = it.type(TAB + TAB, r"true\r\n")
    assert "fine" in shown and "1st" not in shown and "\x1b[31m" not in shown and " IF IF " not in shown


def test_logs_of_tools_are_shown(typist, command):
    command.script("tools/creak", "#!/bin/sh\n"
                   """echo '{"version":"0","type":"log","level":"warn","message":"it creaks"}'\n"""
                   """echo '{"version":"0","type":"done","ok":true,"result":3}'\n""")
    it = typist("--tools", str(command.folder / "tools"))
    for _ in range(2):
        shown = it.enter("CALL creak {}")
        assert "warning: it creaks" in shown and "3" in shown.splitlines()
