# SPDX-License-Identifier: Apache-2.0
"""narratoria test: transcripts of a story, and random walks through it."""

import json
import os
import re
import signal

import pytest

from harness import BUILD, DEADLINE, SOURCE, done

TOML = """
title = "The Door"
[opening]
choices = ["I open the door"]
[state]
torch = {lit = false}
[tools]
allow_paths = ["tools"]
"""
PROMPTS = [
    {"patterns": ["I open the door"], "when": {"/torch/lit": True}, "answers": [
        {"narrative": "It opens.", "ending": "Out"}]},
    {"patterns": ["I open the door"], "answers": [
        {"narrative": "Too dark.", "choices": ["I light the torch", "I open the door"]}]},
    {"patterns": ["I light the torch"], "answers": [
        {"plan": {"tools": [{"toolId": "light", "toolPath": "tools/light"}]}, "narrative": "Sparks.",
         "success": "{light.summary} It burns.", "set": {"/torch/lit": True},
         "choices": ["I open the door"]}]},
    {"patterns": ["I sing"], "answers": [{"narrative": ["La.", "Li.", "Lo."],
                                          "choices": ["I open the door"]}]},
]


@pytest.fixture
def write(command):
    def write(prompts=PROMPTS, transcript=None, **more):
        folder = command.folder / "door"
        (folder / "tools").mkdir(parents=True, exist_ok=True)
        (folder / "tests").mkdir(exist_ok=True)
        (folder / "story.toml").write_text(TOML)
        (folder / "prompts.json").write_text(json.dumps({"prompts": prompts, **more}))
        (folder / "tools" / "light").write_text(f"#!/bin/sh\necho '{done(summary='Click.')}'\n")
        (folder / "tools" / "light").chmod(0o755)
        if transcript is not None:
            (folder / "tests" / "door.transcript").write_text(transcript)
        return folder

    return write


GOOD = """# The torch opens the door.
seed 3
> I open the door
Too dark.
* I light the torch
* I open the door
> light torch
Sparks.

Click. ... burns.
= /torch/lit true
= /torch/oil none
> I open the door
! Out
*
"""


def test_a_transcript_passes_if_the_story_answers_so(command, write):
    command("test", "--story", write(transcript=GOOD), "--walks", "0").exits(0, out="1 of 1 transcript passed\n")


@pytest.mark.parametrize(("old", "new", "line", "said"), [
    ("Too dark.", "Dark.", 3, 'the text differs\n    expected: Dark.\n    found:    Too dark.'),
    ("... burns.", "... burn", 7, "the text differs"),
    ("* I open the door\n> light", "> light", 3,
     'the choices differ\n    expected: "I light the torch"\n    found:    "I light the torch", "I open'),
    ("lit true", "lit false", 11, "/torch/lit differs\n    expected: false\n    found:    true"),
    ("oil none", "oil 3", 12, "/torch/oil differs\n    expected: 3\n    found:    none"),
    ("! Out", "! In", 13, "the ending differs\n    expected: In\n    found:    Out"),
    ("> I open the door\n! Out", "> I sing\n! Out", 13, "found:    the story goes on"),
])
def test_a_difference_is_reported_with_its_line(command, write, old, new, line, said):
    folder = write(transcript=GOOD.replace(old, new))
    ran = command("test", "--story", folder, "--walks", "0").exits(1)
    ran.shows(f"{folder}/tests/door.transcript:{line}: after ", said, "0 of 1 transcript passed")


def test_a_transcript_may_begin_with_another_state(command, write):
    text = 'state {"torch": {"lit": true}}\n> I open the door\nIt opens.\n'
    assert command("test", "--story", write(transcript=text), "--walks", "0").status == 0


def test_the_seed_determines_the_dice(command, write):
    def told(seed):
        folder = write(transcript=f"seed {seed}\n> I sing\n")
        command("test", "--story", folder, "--update")
        return (folder / "tests" / "door.transcript").read_text().splitlines()[2]

    assert told(5) == told(5)
    assert {told(seed) for seed in range(1, 20)} == {"La.", "Li.", "Lo."}


def test_the_seed_determines_the_dice_of_tools(command, write):
    dice = [{"toolId": name, "toolPath": "tools/dice", "retryPolicy": {"maxRetries": 1, "backoffMs": 0}}
            for name in "ab"]
    throw = {"patterns": ["I throw"], "answers": [
        {"plan": {"tools": dice}, "success": "{a.result} {b.result}", "choices": ["I throw"]}]}

    def told(seed):
        folder = write([throw], f"seed {seed}\n> I throw\n> I throw\n")
        # The first attempt fails, and says what it rolled.
        command.script("door/tools/dice", "#!/usr/bin/env python3\nimport json, os, pathlib, sys\n"
                       "seed = json.load(sys.stdin)['seed']\n"
                       "log = pathlib.Path(os.environ['NARRATORIA_OUTPUT_DIR'], 'first')\n"
                       "if not log.exists():\n    log.write_text(str(seed))\n    sys.exit(1)\n"
                       "print(json.dumps({'version': '0', 'type': 'done', 'ok': True, "
                       "'result': f'{log.read_text()} {seed}'}))\n"
                       "log.unlink()\n")
        assert command("test", "--story", folder, "--update", "--walks", "0").status == 0
        text = (folder / "tests" / "door.transcript").read_text()
        return [number for line in text.splitlines() if line[0].isdigit() for number in line.split()]

    numbers = told(5)
    assert len(set(numbers)) == 8, "two throws of two tools with two attempts"
    assert all(0 <= int(number) < 2**32 for number in numbers)
    assert told(5) == numbers
    assert set(told(6)).isdisjoint(numbers)


def test_update_writes_what_the_story_answers_now(command, write):
    folder = write(transcript=GOOD.replace("Too dark.", "Wrong").replace("lit true", "lit 7")
                   .replace("* I open the door\n> light", "> light"))
    assert command("test", "--story", folder, "--update").status == 0
    text = (folder / "tests" / "door.transcript").read_text()
    assert text == GOOD.replace("\n\nClick", "\nClick"), "what is right stays, and what is left out"
    assert command("test", "--story", folder, "--walks", "0").status == 0


def test_update_leaves_what_is_right(command, write):
    text = ("> I open the door\nToo ...\n# Two ways.\n\n* I light the torch\n* I open the door\n"
            "> I light the torch\n")
    folder = write(transcript=text)
    command("test", "--story", folder, "--update")
    assert (folder / "tests" / "door.transcript").read_text() == (
        text + "Sparks.\nClick. It burns.\n* I open the door\n")


@pytest.mark.parametrize("text", [GOOD, GOOD[GOOD.index(">"):]], ids=["comment", "prompt"])
def test_a_transcript_may_begin_with_a_byte_order_mark(command, write, text):
    folder = write(transcript="\ufeff" + text)
    assert command("test", "--story", folder, "--walks", "0").status == 0
    assert command("test", "--story", folder, "--update").status == 0
    assert (folder / "tests" / "door.transcript").read_text() == "\ufeff" + text


def test_a_file_that_is_no_transcript_has_one_fault(command, write):
    folder = write(transcript='{\n"a": 1,\n"b": 2\n}\n')
    ran = command("test", "--story", folder, "--walks", "0").exits(1)
    ran.shows("door.transcript:1: the first prompt is missing")
    assert ran.out.count("\n") == 2, ran


@pytest.mark.parametrize(("text", "said"), [
    ("It opens.\n> I open the door\n", "1: the first prompt is missing"),
    ("> \n", "1: a prompt is missing after >"),
    ("", "1: there is no prompt, so nothing is tested; write what the player says after >"),
    ("# Later.\nseed 7\n", "2: there is no prompt, so nothing is tested"),
    ("seed 0\n", "1: the seed must be a whole number from 1"),
    ("state [1]\n", "1: the state is not a JSON object"),
    ("> a\nstate {}\n", "2: seed and state belong before the first prompt"),
    ("> a\n= /x~y 1\n", "2: write a JSON Pointer and a value after ="),
    ("> a\n= torch true\n", "2: write a JSON Pointer and a value after ="),
    ("> a\n= /torch lit\n", '2: "lit" is not a JSON value'),
])
def test_a_wrong_transcript_is_explained(command, write, text, said):
    command("test", "--story", write(transcript=text), "--walks", "0").exits(1).shows(f"door.transcript:{said}")


def test_a_pointer_of_a_transcript_may_contain_spaces(command, write):
    story = write(transcript='state {"an old": {"key ring": "a b"}}\n> I sing\n= /an old/key ring "a b"\n')
    command("test", "--story", story, "--walks", "0").exits(0, out="1 of 1 transcript passed\n")


def test_walks_report_endings_and_coverage(command, write):
    ran = command("test", "--story", write(), "--walks", "50").exits(0).shows('    ending "Out": 50')
    ran.shows("    answers: 4 of 4", "    tools: 1 of 1")
    assert ran.out == command("test", "--story", write(), "--walks", "50").out, "the seed determines it"


def test_the_number_of_cores_does_not_change_the_walks(command, write):
    on_all = command("test", "--story", write(), "--walks", "50", "--seed", "9").out
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        assert command("test", "--story", write(), "--walks", "50", "--seed", "9").out == on_all
    finally:
        os.sched_setaffinity(0, cores)


def test_a_signal_ends_the_walks_with_the_report_of_those_that_were_made(command, write):
    process = command.popen("test", "--story", write(transcript=GOOD), "--walks", "1000000")
    assert process.stdout.readline() == b"1 of 1 transcript passed\n"
    process.send_signal(signal.SIGTERM)
    out = process.communicate(timeout=DEADLINE)[0].decode()
    assert process.returncode == 128 + signal.SIGTERM
    # Nothing if the signal came before the first walk.
    assert not out or re.match(r"\d+ walks?, \d+ turns?\n", out), out


def test_rules_count_as_answers_of_a_walk(command, write):
    after = [{"set": {"/turns": {"+": 1}}}, {"when": {"/turns": 99}, "narrative": "Enough."}]
    folder = write(after=after, transcript="> I open the door\nToo dark.\n= /turns 1\n> sing!\n...\n"
                   "= /turns 2\n> I dance\n= /turns 2\n")
    ran = command("test", "--story", folder, "--walks", "50").exits(0)
    assert "    answers: 5 of 6\n        prompts.json:1: not given: Enough.\n" in ran.out


def test_walks_find_dead_ends_with_the_way_to_them(command, write):
    prompts = [*PROMPTS[:2], {"patterns": ["I light the torch"], "answers": [{"narrative": "No."}]}]
    ran = command("test", "--story", write(prompts), "--walks", "50").exits(1)
    assert 'dead end: after "I light the torch" there is no choice' in ran.out
    assert "\n    > I light the torch\n50 walks" in ran.out, "the shortest walk"
    assert "        prompts.json:1: not given (I open the door): It opens.\n" in ran.out
    assert '    ending "Out": never (prompts.json:1)\n' in ran.out


def test_answers_that_no_walk_reached_are_named_by_their_lines_and_words(command, write):
    folder = write()
    (folder / "prompts.json").write_text("""{
  "always": ["I look"],
  "prompts": [
    {"patterns": ["I look", "I open the door"], "answers": [
      {"when": {"/torch/lit": true}, "narrative": "A cellar, with more barrels than you can count in one look.",
       "ending": "Light"},
      {"narrative": ["Dark."], "ending": "Dark"}
    ]},
    {"patterns": ["I sing"], "when": {"/torch/lit": true}, "answers": [
      {"narrative": "La.\\nLa.", "ending": "Light"}
    ]}
  ]
}""")
    ran = command("test", "--story", folder, "--walks", "5").exits(0)
    assert ran.out.endswith("""    ending "Dark": 5
    ending "Light": never (prompts.json:5)
    answers: 1 of 3
        prompts.json:5: not given (I look): A cellar, with more barrels than you can count in…
        prompts.json:10: not given (I sing): La. La.
"""), ran


def test_what_transcripts_reach_is_not_missing_in_walks(command, write):
    prompts = [*PROMPTS[:2], {"patterns": ["I light the {thing}"], "answers": PROMPTS[2]["answers"]}]
    prompts[1] = {**prompts[1], "answers": [{"narrative": "Too dark.", "choices": ["I open the door"]}]}
    folder = write(prompts)
    ran = command("test", "--story", folder, "--walks", "5", "--steps", "5").exits(0)
    ran.shows("Out\": never", "    answers: 1 of 3\n        prompts.json:1: not given", "    tools: 0 of 1\n        not run")
    text = "> I light the torch\n= /torch/lit true\n> I open the door\n! Out\n"
    ran = command("test", "--story", write(prompts, text), "--walks", "5", "--steps", "5").exits(0)
    assert ran.out.endswith("    answers: 1 of 3, and 2 in transcripts\n    tools: 0 of 1, and 1 in transcripts\n"), ran


def test_walks_type_what_was_understood_where_few_choices_are_offered(command, write):
    stairs = [{"patterns": [f"I climb stair {i}"], "when": {"/stair": i}, "answers": [
        {"narrative": "Up.", "set": {"/stair": i + 1}}]} for i in range(8)]
    stairs[-1]["answers"][0]["ending"] = "Top"
    others = [{"patterns": [f"I fly {i}"], "when": {"/wings": True}, "answers": [{"narrative": "Whoosh."}]}
              for i in range(40)]
    look = {"patterns": ["I look"], "answers": [{"narrative": "Stairs."}]}
    folder = write([*stairs, *others, look], always=["I look"], hints=["I look"])
    (folder / "story.toml").write_text(TOML.replace("I open the door", "I look").replace("[tools]", "stair = 0\n[tools]"))
    command("test", "--story", folder).exits(0).shows('    ending "Top": ', "    answers: 9 of 49\n")


def test_choices_of_an_opening_do_not_make_a_story_for_typing_one_of_choices(command, write):
    prompts = [{"patterns": ["I open the door"], "answers": [{"narrative": "It is open."}]},
               {"patterns": ["take {thing:/things}"], "answers": [{"narrative": "Taken.", "ending": "Rich"}]}]
    story = write(prompts)
    (story / "story.toml").write_text(TOML.replace("[tools]", 'things = ["crown"]\n[tools]'))
    command("validate", "story", story).exits(0).shows("no faults")
    ran = command("test", "--story", story, "--walks", "20").exits(0)
    ran.shows('    ending "Rich": 20', "    answers: 2 of 2\n")


def test_walks_find_choices_that_are_not_understood(command, write):
    ran = command("test", "--story", write(always=["I dance"]), "--walks", "50").exits(1)
    assert 'not understood: the choice "I dance" is not understood' in ran.out


WET = f"#!/bin/sh\necho '{done(ok=False, summary='wet', retry=False)}'\n"


def test_walks_find_failing_tools_that_no_answer_tells(command, write):
    folder = write()
    (folder / "tools" / "light").write_text(WET)
    ran = command("test", "--story", folder, "--walks", "5", "--steps", "50").exits(1)
    ran.shows('tool failed: tools/light: wet: after "I light the torch" no answer of the story is left',
              'add a "failure" to the answer (prompts.json:1) (walk ', "\n    > I light the torch\n",
              "tools/light: wet: failed 5 times\n")


@pytest.mark.parametrize("told", ["failure", "next answer", "next entry", "unmatched"])
def test_walks_accept_failing_tools_that_an_answer_tells(command, write, told):
    prompts = json.loads(json.dumps(PROMPTS))
    dry = {"narrative": "It is wet.", "choices": ["I open the door"]}
    answers, more = prompts[2]["answers"], {}
    if told == "failure":
        answers[0]["failure"] = "It is wet."
    elif told == "next answer":
        answers.append(dry)
    elif told == "next entry":
        prompts.append({"patterns": ["I light the torch"], "answers": [dry]})
    else:
        more["unmatched"] = [answers.pop(), dry]
        prompts.pop(2)
    folder = write(prompts, **more)
    (folder / "tools" / "light").write_text(WET)
    ran = command("test", "--story", folder, "--walks", "5", "--steps", "50")
    ran.shows("tools/light: wet: failed ")
    assert "tool failed" not in ran.out


@pytest.mark.parametrize(("expected", "status"), [("Sparks.\n...\n", 0), ("", 1), ("Smoke.\n", 1)])
def test_walks_accept_a_failing_tool_that_a_transcript_expects(command, write, expected, status):
    folder = write(transcript=f"> I open the door\n> I light the torch\n{expected}", always=["I open the door"])
    (folder / "tools" / "light").write_text(WET)
    ran = command("test", "--story", folder, "--walks", "5", "--steps", "20").exits(status)
    assert ("tool failed" in ran.out) == (status == 1)


def test_walks_end_early_if_a_tool_fails_again_and_again(command, write):
    folder = write(always=["I light the torch"])
    (folder / "tools" / "light").write_text("#!/bin/sh\nexit 1\n")
    ran = command("test", "--story", folder).exits(1)
    ran.shows("tools/light: the tool exited with status 1", ": failed 16 times after 48 retries; ",
              "    no more walks, because all of the last 16 ended at a failed tool\n")
    assert re.search(r"^16 walks, \d+ turns$", ran.out, re.MULTILINE), ran


def test_a_terminal_shows_how_far_the_walks_are(command, write):
    terminal = command.on_terminal("test", "--story", write(), "--walks", "1000000")
    terminal.read_until(r"walk \d+ of 1000000, \d+ turns")
    terminal.signal(signal.SIGTERM)
    assert terminal.finish().status == 128 + signal.SIGTERM


def test_walks_report_failing_turns(command, write):
    folder = write()
    (folder / "n.nuwa").write_text("LET a = missing")
    (folder / "story.toml").write_text(TOML + '[narrator]\nname = "n.nuwa"\n')
    ran = command("test", "--story", folder, "--walks", "2").exits(1)
    assert 'turn failed: "I open the door" has no answer: ' in ran.out


@pytest.mark.parametrize("file", ["tests/door.txt", "test/door.transcript"])
def test_a_story_without_transcripts_and_walks_has_nothing_to_test(command, write, file):
    folder = write()
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(GOOD)
    ran = command("test", "--story", folder, "--walks", "0").exits(2)
    assert f"there is nothing to test: no file is {folder}/tests/*.transcript, and --walks 0" in ran.err


def test_a_missing_transcript_is_named(command, write):
    ran = command("test", "--story", write(), "no.transcript").exits(2)
    assert ran.err.startswith("narratoria test: cannot read the transcript from no.transcript: ")


def test_a_story_with_faults_is_refused(command, write):
    folder = write()
    (folder / "prompts.json").write_text("{}")
    command("test", "--story", folder).exits(2, "the story was not tested")


def test_walks_of_a_script_end_with_its_endings(command, write):
    folder = write()
    (folder / "n.nuwa").write_text(
        'PRINT("Well.") IF prompt == "I go" THEN LET ending = "Gone" ELSE LET choices = ["I go"] END')
    (folder / "story.toml").write_text(TOML + '[narrator]\nname = "n.nuwa"\n')
    ran = command("test", "--story", folder, "--walks", "3").exits(0)
    assert ran.out.endswith('    ending "Gone": 3\n'), "prompts.json is not used"


@pytest.mark.parametrize("folder", [SOURCE / "examples" / "stories" / "lighthouse",
                                    BUILD / "share" / "narratoria" / "stories" / "torch"],
                         ids=["lighthouse", "torch"])
def test_sample_stories_pass_their_tests(command, folder):
    command("validate", "story", "--strict", folder).exits(0)
    command("test", "--story", folder, "--walks", "20").exits(0)
