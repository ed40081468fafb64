# SPDX-License-Identifier: Apache-2.0
"""narratoria script: runs a Nuwa script and the tools that it calls."""

import json
import os
import re
import select
import signal
import subprocess
import time

import pytest

from harness import SOURCE, done, event, log

ROLL = """#!/usr/bin/env python3
import json, sys
sides = json.load(sys.stdin)["input"]["sides"]
print(json.dumps({"version": "0", "type": "state_patch", "patch": {"sides": sides}}))
print(json.dumps({"version": "0", "type": "done", "ok": True, "result": {"value": sides - 1}}))
"""
FAILS = """#!/bin/sh
echo '{"version":"0","type":"error","errorCode":"WET","errorMessage":"The torch is wet."}'
echo '{"version":"0","type":"done","ok":false}'
"""


@pytest.fixture
def script(command):
    """Runs a source with the tools in tools/; `script.tool` adds one."""
    (command.folder / "tools").mkdir()

    def run(source, *options):
        command.file("a.nuwa", source)
        return command("script", "a.nuwa", "--tools", "tools", *options)

    def tool(name, text):
        file = command.folder / "tools" / name
        file.write_text(text)
        file.chmod(0o755)

    run.tool = tool
    return run


def test_script_prints_lines(script):
    ran = script('PRINT("a") PRINT({b: [1, 2.5]})')
    assert (ran.status, ran.lines, ran.err) == (0, ["a", "{b: [1, 2.5]}"], "")


def test_scope_option_sets_the_initial_variables(script):
    ran = script("LET twice = n * 2", "--scope", '{"n": 21}', "--json")
    assert json.loads(ran.out) == {"output": [], "scope": {"n": 21, "twice": 42}, "error": None}


# Values share their parts. As JSON, these variables would take 3 GB.
SHARED = "LET a = [1]\n" + "LET a = [a, a]\n" * 20 + "".join(
    f"LET b{i} = a\n" for i in range(200))


def test_scope_beyond_the_value_limit_is_an_error(script):
    ran = script(SHARED, "--json").exits(1)
    told = json.loads(ran.out)
    assert told["scope"] is None and told["error"]["name"] == "SizeLimitError"
    assert "16777216 bytes" in told["error"]["message"]


def test_scope_is_not_built_unless_requested(script):
    ran = script(SHARED + 'PRINT("done")')
    assert (ran.status, ran.out, ran.err) == (0, "done\n", "")


@pytest.mark.parametrize("source, option, error, status", [
    ("LET a = 1 + 2 + 3", "--max-steps=2", "StepLimitError", 1),
    ("CALL light {} CALL light {}", "--max-calls=1", "CallLimitError", 1),
    ("LET a = [[[1]]]", "--max-depth=2", "DepthLimitError", 2),
    ("LET a = 1", "--max-source=3", "SizeLimitError", 2),
    ("LET a = [1, 2, 3]", "--max-value=8", "SizeLimitError", 1),
    ("LET a = [1, 2, 3]", "--max-memory=8", "MemoryLimitError", 2),
    ('PRINT("hello")', "--max-output=3", "OutputLimitError", 1),
    ("CALL waits {}", "--max-time=100", "TimeLimitError", 1),
])
def test_limits_are_options(script, source, option, error, status):
    script.tool("light", "#!/bin/sh\necho '" + '{"version":"0","type":"done","ok":true}' + "'\n")
    script.tool("waits", "#!/bin/sh\nexec sleep 100\n")
    ran = script(source, option, "--json")
    assert ran.status == status and error in ran.out + ran.err, ran
    # The most levels cannot be raised.
    assert option.startswith("--max-depth") or option.split("=")[0] in script(source, option).err


def test_calls_that_have_ended_use_no_memory_of_the_script(script):
    script.tool("light", "#!/bin/sh\necho '" + '{"version":"0","type":"done","ok":true}' + "'\n")
    ran = script("FOR i IN [1, 2, 3, 4, 5, 6, 7, 8, 9] DO CALL light {} END PRINT(1)", "--max-memory=4096")
    assert (ran.status, ran.lines) == (0, ["1"]), ran


def test_story_limits_its_scripts(script, command):
    story = command.folder / "story"
    story.mkdir()
    (story / "story.toml").write_text('title = "T"\n[limits]\nscript_steps = 2\n')
    ran = script("LET a = 1 + 2 + 3", "--story", "story", "--json")
    assert json.loads(ran.out)["error"]["name"] == "StepLimitError"


# covers: 002-core-invocation, 002-function-arguments
def test_call_runs_a_tool_and_returns_its_result(script):
    script.tool("roll-dice.py", ROLL)
    ran = script("LET a = CALL roll_dice { sides: 6 }.value "
                 "FOR i IN [2, 3] DO PRINT(CALL roll_dice { sides: i }.value + a) END")
    assert (ran.status, ran.lines) == (0, ["6", "7"]), ran


def test_arguments_are_checked_against_the_manifest_of_the_tool(script):
    script.tool("roll-dice.py", ROLL)
    script.tool("roll-dice.tool.json", json.dumps({
        "parameters": [{"name": "sides", "type": "number", "description": "How many."}],
        "returns": "object"}))
    # An argument without a parameter is dropped.
    ran = script("PRINT(CALL roll_dice { sides: 6, colour: 1 }.value)")
    assert (ran.status, ran.lines) == (0, ["5"]), ran
    assert "has no argument 'side', which is dropped; did you mean \"sides\"?" in (
        script("CALL roll_dice { sides: CALL other { sides: 6 }, side: 1 }", "--check").exits(1).err)
    ran = script('CALL roll_dice { sides: "six" }', "--json")
    assert json.loads(ran.out)["error"]["name"] == "ToolArgumentError"
    assert json.loads(ran.out)["error"]["message"] == (
        "Invalid arguments for tool 'roll_dice': Parameter 'sides': Expected number, received string "
        "(Expected number, received string)")
    ran = script("CALL roll_dice {}", "--json")
    assert "Parameter 'sides': Required (Expected number, received undefined)" in (
        json.loads(ran.out)["error"]["message"])


# covers: 002-schema-name, 002-core-registration
def test_unknown_tool_is_an_error_and_case_matters(script):
    script.tool("roll_dice", ROLL)
    for name in ("Roll_dice", "roll"):
        ran = script(f'PRINT("first") CALL {name} {{}}', "--json")
        assert json.loads(ran.out)["output"] == ["first"]
        assert json.loads(ran.out)["error"]["name"] == "ToolNotFoundError"
        assert json.loads(ran.out)["error"]["message"] == f"Tool '{name}' not found."


def test_failing_tool_fails_the_script_with_its_message(script):
    script.tool("light", FAILS)
    ran = script("\nCALL light {}", "--json").exits(1)
    assert json.loads(ran.out)["error"]["name"] == "ToolExecutionError"
    assert "The torch is wet." in json.loads(ran.out)["error"]["message"]
    assert json.loads(ran.out)["error"]["line"] == 2


def test_error_shows_its_place_in_the_source(script):
    ran = script("LET a = 1\nLET b = a + nothing\n").exits(1)
    assert ran.err.splitlines() == [
        "narratoria script: a.nuwa:2:13: UndefinedVariableError: Variable 'nothing' not defined.",
        "  2 | LET b = a + nothing",
        "    |             ^",
    ]


def test_invalid_script_runs_nothing(script):
    script('PRINT("before") LET = 5').exits(2, "ParserError", ":1:", out="")


def test_exit_status_tells_an_invalid_script_from_a_failed_one(script):
    for source, status in (("PRINT(1)", 0), ("PRINT(missing)", 1), ("LET = 5", 2), (b"\xff", 2)):
        assert script(source).status == script(source, "--json").status == status, source
    assert json.loads(script("LET = 5", "--json").out)["error"]["name"] == "ParserError"
    # --check succeeds in finding a fault; --ast has no tree to print.
    assert script("LET = 5", "--check").status == 1
    assert script("LET = 5", "--ast").status == 2


def test_check_and_ast_run_nothing(script):
    assert (script("PRINT(1)", "--check").status, script("PRINT(1)", "--check").out) == (0, "")
    assert script("LET", "--check").status == 1
    assert json.loads(script("PRINT(1)", "--ast").out)["kind"] == "Script"


def test_check_prints_one_line_for_editors(script):
    ran = script("LET a = 1\n\tIF true PRINT(a) END\n", "--check").exits(1, out="")
    assert ran.err == ("a.nuwa:2:10: error: ParserError: Expected 'THEN' after IF condition. at 2:10\n")
    # The problem matcher in docs/nuwa-script.md matches the line.
    page = (SOURCE / "docs/nuwa-script.md").read_text()
    pattern = json.loads(page.split('"pattern": ')[1].split("}")[0] + "}")
    found = re.search(pattern["regexp"], ran.err.strip())
    assert [found[pattern[name]] for name in ("file", "line", "column", "severity")] == [
        "a.nuwa", "2", "10", "error"]
    assert found[pattern["message"]].startswith("ParserError: Expected 'THEN'")
    # A fault of the whole script is reported at its first character.
    big = script("//" + "x" * (16 << 20), "--check")
    assert big.err.startswith("a.nuwa:1:1: error: SizeLimitError: "), big


def test_check_finds_what_fails_whenever_it_runs(script):
    script.tool("lamp", FAILS)
    source = ("IF false THEN\n  PRNT(1) PRINT(1, 2) CALL lmap {}\nEND\n"
              "CALL lamp { n: who } PRINT(whoo) WHILE LET here = here")
    assert script(source, "--check").exits(1, out="").err.splitlines() == [
        "a.nuwa:2:3: error: RuntimeError: Unknown function called: PRNT; did you mean PRINT?",
        "a.nuwa:2:11: error: RuntimeError: Function PRINT() expects exactly 1 argument, got 2",
        "a.nuwa:2:23: error: ToolNotFoundError: Tool 'lmap' not found; did you mean \"lamp\"?",
        "a.nuwa:4:34: error: UndefinedVariableError: Variable 'WHILE' not defined; "
        "there is no WHILE; FOR name IN list DO … END runs a block for each element"]
    known = script(source, "--check", "--scope", '{"who": 1}').err
    assert "Variable 'who'" not in known and "Variable 'whoo' not defined; did you mean \"who\"?" in known


def test_check_reports_in_the_order_of_the_source_and_a_variable_once(script):
    names = [line.split("'")[1] if "'" in line else "NOPE"
             for line in script("NOPE(one, two)\nPRINT(one)", "--check", "--scope", "{}").err.splitlines()]
    assert names == ["NOPE", "one", "two"]


def test_check_knows_the_tools_only_if_it_is_given_them(script, command):
    script("CALL lamp {}", "--check").exits(1)
    command("script", "--check", "a.nuwa").exits(0, out="")


def test_standard_error_of_a_failed_tool_is_shown(script):
    script.tool("light", "#!/bin/sh\necho 'no match found' >&2\nexit 3\n")
    assert script("PRINT(1)\nCALL light {}").exits(1).err.splitlines()[-1] == "  | no match found"


def test_ambiguous_tool_name_is_an_error_that_names_both_files(script):
    script.tool("roll-dice", ROLL)
    script.tool("roll_dice.py", ROLL)
    script("CALL roll_dice { sides: 6 }").exits(1, "tools/roll-dice", "tools/roll_dice.py")


@pytest.mark.parametrize("scope", ["[]", "5", "{", '{"a":1} x', '{"1a": 2'])
def test_scope_that_is_not_an_object_is_refused(script, scope):
    script("PRINT(1)", "--scope", scope).exits(2, out="")


def test_ctrl_c_ends_a_script_that_computes_or_waits(script, command):
    script.tool("slow", "#!/bin/sh\necho started >&2\ntouch started\nexec sleep 60\n")
    computes = "FOR i IN l DO FOR j IN l DO FOR k IN l DO LET x = 1 END END END"
    for source in ("CALL slow {}", computes):
        (command.folder / "b.nuwa").write_text(f"PRINT(1) {source}")
        numbers = json.dumps({"l": list(range(1000))})
        child = command.popen("script", "b.nuwa", "--tools", "tools", "--scope", numbers)
        assert child.stdout.read(2) == b"1\n"
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
        assert child.returncode == 130


@pytest.mark.parametrize("folder", ["nowhere", "a_file", ""])
def test_tools_must_be_a_folder(command, folder):
    command.file("a_file", "")
    command("script", "-", "--tools", folder, stdin='PRINT("before")').exits(2, "--tools", "give a folder", out="")


@pytest.mark.parametrize("scope, said", [
    ("[]", "--scope:1:1: "), ("", "--scope: the value is empty"), ("@nowhere", "the value of --scope from nowhere"),
    ('{"a": %s}' % ("[" * 600 + "]" * 600), "--scope: ")], ids=["list", "empty", "no file", "deep"])
def test_faults_of_the_scope_name_the_scope_option(script, scope, said):
    ran = script("PRINT(1)", "--scope", scope).exits(2)
    assert said in ran.err and "--input" not in ran.err and "tool" not in ran.err, ran


@pytest.mark.parametrize("story", ["nowhere", "a_file"])
def test_missing_story_is_reported_in_one_line(script, command, story):
    command.file("a_file", "")
    ran = script("PRINT(1)", "--story", story).exits(2, out="")
    assert len(ran.err.splitlines()) == 1 and "\\n" not in ran.err and story in ran.err, ran


def test_faults_of_a_story_are_lines_with_their_places(script, command):
    story = command.story({}, toml='title = "T"\nunheard = 1\n')
    ran = script("PRINT(1)", "--story", story).exits(2, out="")
    assert ran.err.startswith(f"{story}/story.toml:2:1: /unheard: "), ran
    assert "\\n" not in ran.err and "nothing was run" in ran.err, ran


def test_skipped_plugin_is_reported_once(script, command):
    story = command.story({})
    (story / "plugins").mkdir()
    (story / "plugins" / "broken.so").write_text("no library")
    ran = script("PRINT(1)", "--story", story).exits(0, out="1\n")
    assert len(ran.err.splitlines()) == 1 and "broken.so is left out" in ran.err, ran


def test_warnings_and_logs_of_tools_are_on_standard_error(script, command):
    lines = [log("steady"), log("creaks", level="warn"), log("cracks", level="error"),
             event("asset", assetId="a", kind="image", mediaType="image/png", path="/nowhere.png")]
    script.tool("bridge", "#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines)
                + f"echo '{done(result=3)}'\n")
    script.tool("bridge.tool.json", json.dumps({"parameters": [], "returns": "string"}))
    for options in ([], ["--json"]):
        ran = script("PRINT(CALL bridge {})", *options).exits(0)
        assert ran.out == "3\n" or json.loads(ran.out)["output"] == ["3"]
        said = ran.err.splitlines()
        assert [line for line in said if "creaks" in line and ": warning: " in line], ran
        assert [line for line in said if "cracks" in line and ": error: " in line], ran
        assert [line for line in said if "asset a was refused" in line], ran
        assert [line for line in said if line.startswith("warning: ") and '"/result"' in line], ran
        assert len(said) == 4 and "steady" not in ran.err, ran


def test_control_characters_are_unchanged_off_a_terminal(script, command):
    source = 'PRINT("a\\u001b[31mb\\u0007\\tc\\nd\\u202e")'
    assert script(source).out == "a\x1b[31mb\x07\tc\nd\u202e\n"


def start(command, *words, stdout=subprocess.PIPE):
    return command.popen("script", *words, stdout=stdout)


def test_ctrl_c_still_prints_the_json_object(script, command):
    marker = command.folder / "started"
    os.mkfifo(marker)
    started = os.open(marker, os.O_RDONLY | os.O_NONBLOCK)
    script.tool("slow", f"#!/bin/sh\necho >{marker}\nexec sleep 60\n")
    command.file("b.nuwa", "LET a = 1 PRINT(a)\nCALL slow {}")
    child = start(command, "b.nuwa", "--tools", "tools", "--json")
    assert select.select([started], [], [], 60)[0], child.poll()
    os.close(started)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 130
    ended = json.loads(out)
    assert (ended["output"], ended["scope"]) == (["1"], {"a": 1})
    assert (ended["error"]["name"], ended["error"]["line"]) == ("CancelledError", 2)


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["lines", "json"])
def test_first_ctrl_c_ends_a_script_blocked_on_a_full_pipe(script, command, options):
    command.file("b.nuwa", 'FOR i IN l DO FOR j IN l DO PRINT("0123456789012345678901234567890123456789") END END')
    numbers = json.dumps({"l": list(range(100))})
    reader, writer = os.pipe()
    child = start(command, "b.nuwa", "--scope", numbers, *options, stdout=writer)
    try:
        limit = time.monotonic() + 60
        # Wait until the pipe is full; the script still has output to write.
        while select.select([], [writer], [], 0)[1]:
            assert time.monotonic() < limit and child.poll() is None
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=60) == 130
    finally:
        child.kill()
        child.communicate()
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize("source, hint", [
    ("PRINT(1e999)", "  hint: numbers have no exponent; write all digits"),
    ("\ufeffPRINT(1)", "  hint: a byte order mark, which editors do not show; save the script as UTF-8 without one"),
    ("PRINT(true && false)", "  hint: write AND instead of &&"),
    ("PRINT(true || false)", "  hint: write OR instead of ||"),
    ("PRINT(!true)", "  hint: write NOT instead of !"),
    ("PRINT('a')", '  hint: write texts in double quotes: "…"'),
    ("# a\nPRINT(1)", "  hint: a comment begins with //"),
    ("LET a = 1;", "  hint: no character ends a statement; leave the ; out"),
    ("gold = 2", "  hint: to set a variable, write LET gold = …"),
    ("let gold = 2", "  hint: to set a variable, write LET gold = …"),
    ("IF 1 = 1 THEN END", "  hint: to compare two values, write ==; a statement that sets a variable begins with LET"),
    ("PRINT(True)", "  hint: write true in small letters"),
    ("PRINT(None)", "  hint: write null"),
    ("if true", "  hint: write the keyword in capital letters: IF"),
    ('PRINT("a" + "b")', '  hint: + adds numbers; to join texts, write FORMAT("{a}{b}", { a: …, b: … })'),
    ("PRINT(1)\nFOR i IN [] DO", "  hint: the FOR of line 2 has no END"),
    ("PRINT(1)\nIF true THEN\nELSE IF true THEN\nEND",
     "  hint: the IF of line 2 has no END; an IF after ELSE needs an END of its own"),
    ("Print(1)", "  hint: did you mean PRINT?"),
    ("PRINT(UPPER(1))", "  hint: the functions are FORMAT, GET, HAS, NOW and PRINT; CALL calls a tool"),
    ("LET score = 1\nPRINT(scroe)", '  hint: did you mean "score"?'),
    ("PRINT(“a”)", '  hint: write texts in straight double quotes: "…"'),
    ("PRINT(\u00a01)", "  hint: a no-break space, which looks like a space; replace it by one"),
    ("LET größe = 1", "  hint: names consist of the letters A to Z and a to z, digits and _"),
    ('PRINT "a"', "  hint: a function has its arguments in parentheses: PRINT(…)"),
    ("WHILE true", "  hint: there is no WHILE; FOR name IN list DO … END runs a block for each element"),
    ("elif true", "  hint: write ELSE IF … THEN … END END; each IF has its own END"),
    ("ring {}", "  hint: to call a tool, write CALL ring { … }"),
    ("CALL ring(1)", "  hint: the arguments of a CALL are in braces: CALL ring { name: value }"),
    ("CALL ring-bell.py { }",
     "  hint: in a script, a tool's name has _ for each other character, and no extension: CALL ring_bell"),
    ("CALL ring { a: 1, }", "  hint: no comma follows the last argument"),
    ("LET room = { exits: 1 }\nPRINT(room.exit)", '  hint: did you mean "exits"?'),
    ('PRINT(FORMAT("{nmae}", { name: 1 }))', '  hint: did you mean "name"?'),
    ("PRINT(null.a)", "  hint: the value is null"),
    ("PRINT(1 + [2])", "  hint: the value is a list")])
def test_script_error_has_a_hint(script, source, hint):
    assert script(source).err.splitlines()[-1] == hint


def test_unknown_tool_has_a_hint(command):
    command.script("tools/roll-dice", "#!/bin/sh\n")
    locked = command.script("tools/lock.sh", "#!/bin/sh\n")
    os.chmod(locked, 0o644)
    for call, hint in (("rol_dice", 'did you mean "roll_dice"?'),
                       ("lock", "the file lock.sh is not executable, so it is not a tool; run: chmod +x ")):
        ran = command("script", "-", "--tools", "tools", stdin=f"CALL {call} {{}}")
        assert ran.status == 1 and ran.err.splitlines()[-1].startswith(f"  hint: {hint}"), ran


def test_message_shows_only_the_beginning_of_a_long_index(script):
    ran = script('LET key = "' + "ü" * 100_000 + '"\nLET list = [1]\nPRINT(list[key])')
    assert "List index must be an integer, got string (üü" in ran.err and "ü…)." in ran.err, ran
    assert len(ran.err) < 3000
