# SPDX-License-Identifier: Apache-2.0
"""narratoria play: a session in the terminal."""

import json
import os
import re
import signal
import subprocess
import sys
import termios

import pytest

from harness import BUILD, NARRATORIA, PROMPT_SIGN, TORCH, done, environment, event, log, screen

NARRATIVE = "You reach for the torch on the wall."


def said(*lines):
    """A shell tool that writes these lines."""
    text = "".join(f"{line}\n" for line in lines)
    return f"#!/bin/sh\ncat >/dev/null\ncat <<'EVENTS'\n{text}EVENTS\n"


def plan(*tools, **members):
    return {"plan": {"tools": [
        {"toolId": tool, "toolPath": f"tools/{tool}", "retryPolicy": {"maxRetries": 0, "backoffMs": 1}}
        for tool in tools], **members}}


# ---------------------------------------------------------------- with prompts


# covers: 003-14.1-player-input, 003-14.2-torch-lighter, 003-14.1-tool-invocation
def test_lighting_the_torch_shows_narrative_and_picture(command):
    ran = command("play", "--verbose", "--story", TORCH, "I light the torch").exits(0).shows(NARRATIVE)
    assert "✓ Torch lit. (light1, " in ran.out
    path = re.search(r"◆ (/\S+\.png) \(image", ran.out)[1]
    with open(path, "rb") as picture:
        assert picture.read(8) == b"\x89PNG\r\n\x1a\n"


# covers: 003-14.2-two-tools, 003-14.2-door-examiner, 000-4.4-choice-display, 003-14.1-ui-events
def test_examining_the_door_lists_the_choices(command):
    ran = command("play", "--story", TORCH, "I light the torch and examine the door").exits(0)
    assert ran.out.index(NARRATIVE) < ran.out.index("Torch lit.") < ran.out.index("Door examined.")
    assert "    1. Open\n    2. Leave\n" in ran.out


# covers: 003-14.3-replan, 003-13.6-returns-plan
def test_failed_prompt_is_replanned_and_succeeds(command):
    ran = command("play", "--verbose", "--story", TORCH, "I pull the lever").exits(0)
    first = ran.out.index("You close both hands around the lever and pull.")
    failed = ran.out.index("! LEVER_STUCK: The lever is rusted fast.")
    second = ran.out.index("The lever is rusted fast. You examine the mysterious door instead.")
    assert first < failed < second < ran.out.index("✓ Door examined.")


# covers: 003-13.6-fallback
def test_five_failed_plans_end_in_the_fallback_and_exit_with_1(command):
    tools = [f"broken{number}" for number in range(6)]
    story = command.story(
        {"go": [plan(tool) for tool in tools], "rest": [{"narrative": "You rest."}]},
        {tool: said(done(ok=False, summary="No.")) for tool in tools},
        'title = "T"\n[fallback]\ntemplates = ["Nothing comes of {prompt}."]\n')
    ran = command("play", "--verbose", "--story", story, "go", "rest").exits(1).shows("Nothing comes of go.")
    assert "broken4" in ran.out and "broken5" not in ran.out
    assert "You rest." in ran.out


def test_prompts_share_one_session(command):
    story = command.story(
        {"one": [plan("count")], "two": [plan("count")]},
        {"count": said(event("state_patch", patch={"n": 1}), done(summary="Counted."))})
    ran = command("play", "--story", story, "one", "two", "something else").exits(0)
    assert ran.out.count("✓ Counted.") == 2
    assert "Nothing happens when you try: something else" in ran.out


# covers: 000-4.4-choice-next-prompt, 000-4.4-narrative-choice
def test_number_as_prompt_selects_a_choice(command):
    ran = command("play", "--story", TORCH, "I examine the door", "1").exits(0)
    assert "The runes flare and the door swings inward." in ran.out


# covers: 000-4.4-placeholder, 000-8-unknown-ui-event
def test_number_as_prompt_selects_a_choice_of_the_opening(command):
    toml = 'title = "T"\n[opening]\nchoices = ["I wait", "I go"]\n'
    story = command.story({"I wait": [{"narrative": "You wait."}], "I go": [{"narrative": "You go."}]}, toml=toml)
    assert "You go." in command("play", "--story", story, "2").out
    # A number without a choice is an ordinary prompt.
    assert "Nothing happens when you try: 3" in command("play", "--story", story, "3").out


def test_repeatedly_refused_plan_is_reported_once(command):
    forbidden = {"plan": {"tools": [{"toolId": name, "toolPath": f"../{name}"} for name in ("a", "b")]}}
    story = command.story({"go": [forbidden], "rest": [{"narrative": "You rest."}]},
                          toml='title = "T"\n[tools]\nallow_paths = ["tools"]\n')
    ran = command("play", "--verbose", "--story", story, "go", "rest").exits(1)
    told = [line for line in ran.lines if "plan-path-allowed" in line]
    assert len(told) == 2, ran
    assert told[0].startswith("    ! 5 times: the narrator's plan was refused: ") and "/tools/0/toolPath" in told[0]
    assert "/tools/1/toolPath" in told[1]
    assert ran.out.index("plan-path-allowed") < ran.out.index("Nothing comes of it") < ran.out.index("You rest.")


def test_repeated_narrator_failure_is_reported_once(command):
    toml = ('title = "T"\n[narrator]\nname = "narratoria.narrator_process"\n'
            '[plugins."narratoria.narrator_process"]\ncommand = ["sh", "-c", "echo broken >&2; exit 3"]\n')
    ran = command("play", "--verbose", "--story", command.story({}, toml=toml), "go").exits(1)
    assert ran.out.count("exit status 3") == 1, ran
    assert "    ! 5 times: the narrator returned no plan: the narrator's process ended with exit status 3" in ran.out


def story_of_program(command, program, tools=()):
    """A story whose narrator is this program in Python."""
    story = command.story({}, tools, 'title = "T"\n[narrator]\nname = "narratoria.narrator_process"\n'
                          '[plugins."narratoria.narrator_process"]\n'
                          f'command = ["{sys.executable}", "-u", "narrator.py"]\n')
    (story / "narrator.py").write_text(program)
    return story


def story_told_by(command, *messages):
    """A story whose narrator answers each request with these messages. At a path of a FIFO it waits for a writer."""
    return story_of_program(command, (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    if 'request' not in json.loads(line): continue\n"
        f"    for message in {messages!r}:\n"
        "        if isinstance(message, dict): print(json.dumps({'id': json.loads(line)['id'], **message}), flush=True)\n"
        "        else: open(message).read()\n"))


WORDS = "The old door creaks on its hinges while you push, and " * 3
WRITTEN = {"plan": {"requestId": "p", "tools": []}}


def test_narrative_in_pieces_is_told_once(command):
    story = story_told_by(command, *({"delta": word + " "} for word in WORDS.split()), WRITTEN)
    ran = command("play", "--story", story, "go").exits(0)
    assert " ".join(ran.out.split()).count(WORDS.strip()) == 1 and "taken back" not in ran.out, ran


def test_narrative_that_no_plan_follows_is_taken_back(command):
    story = story_told_by(command, {"delta": WORDS}, {"error": "it broke"})
    ran = command("play", "--story", story, "go").exits(1)
    shown = " ".join(ran.out.split())
    assert shown.count(WORDS + "(taken back)") == 5 and "Nothing comes of it" in shown, ran


def test_game_of_a_plugins_narrator_is_replayed_without_it(command, tmp_path):
    story = story_told_by(command, {"delta": "It opens."}, WRITTEN)
    store = ("--store", tmp_path / "saves.db", "--session", "s")
    assert command("play", "--story", story, *store, "push").status == 0
    command("replay", *store).exits(0)


def test_narrative_appears_while_it_is_written(command, tmp_path):
    fifo = tmp_path / "go-on"
    os.mkfifo(fifo)
    story = story_told_by(command, {"delta": WORDS + "then"}, str(fifo),
                          {"plan": {"requestId": "p", "narrative": "It stays shut.", "tools": []}})
    terminal = command.on_terminal("play", "--story", story, "go", env=environment(TERM="xterm-256color"))
    shown = terminal.read_until("then")
    fifo.write_text("")
    ended = terminal.finish()
    shown = " ".join(" ".join(screen(shown + ended.out)).split())
    assert shown.endswith(WORDS + "then (taken back) It stays shut."), shown


def test_plan_refused_after_a_failure_is_reported(command):
    # The plan of the first answer fails, so the second answer is used; its plan is refused.
    story = command.story(
        {"go": [plan("broken"), {"plan": {"tools": [{"toolId": "x", "toolPath": "../x"}]}}]},
        {"broken": said(done(ok=False, summary="No."))}, 'title = "T"\n[tools]\nallow_paths = ["tools"]\n')
    ran = command("play", "--verbose", "--story", story, "go")
    assert ran.out.count("plan-path-allowed") == 1 and "! 4 times: " in ran.out, ran


def test_unsupported_ui_event_is_shown_with_name_and_payload(command):
    story = command.story(
        {"go": [plan("quake")]},
        {"quake": said(event("ui_event", event="shake_screen", payload={"strength": 3}), done())})
    ran = command("play", "--verbose", "--story", story, "go")
    assert '□ shake_screen {"strength":3} (this terminal cannot show it)' in ran.out


# covers: 000-4.4-choice-payload
def test_invalid_choices_are_shown_as_a_placeholder(command):
    story = command.story(
        {"go": [plan("ask")]},
        {"ask": said(event("ui_event", event="narrative_choice", payload={"choices": [1]}), done())})
    ran = command("play", "--verbose", "--story", story, "go").shows('□ narrative_choice {"choices":[1]}')
    assert "1. " not in ran.out


# covers: 000-4.4-narrative-choice, 000-4.4-choice-display
def test_shown_choices_are_the_selectable_ones(command):
    def choices(*texts):
        return event("ui_event", event="narrative_choice", payload={"choices": list(texts)})

    story = command.story(
        {"go": [plan("one", "other")], "Open": [{"narrative": "It opens."}]},
        {"one": said(choices("Fight", "Flee"), choices("", "Open"), done()),
         "other": said(choices("Flee", "Sing"), choices(), done())})
    ran = command("play", "--verbose", "--story", story, "go", "3").exits(0)
    ran.shows("    1. Fight\n    2. Flee\n    3. Open\n    4. Sing\n", "It opens.")
    assert "narrative_choice offers nothing to the player: its list of choices is empty" in ran.out


# covers: 000-4.3-placeholder, 000-8-unknown-media-type
def test_asset_of_an_unknown_kind_is_shown_with_its_details(command):
    file = command.file("model.xyz", "x")
    story = command.story(
        {"go": [plan("make")]},
        {"make": said(event("asset", assetId="m1", kind="hologram", mediaType="model/x-unheard-of",
                            path=str(file)), done())})
    command("play", "--verbose", "--story", story, "go").shows(f"◆ {file} (hologram m1, model/x-unheard-of)")


def test_refused_asset_is_not_shown_as_an_asset(command):
    story = command.story(
        {"go": [plan("make")]},
        {"make": said(event("asset", assetId="m1", kind="image", mediaType="image/png",
                            path="/no/such/file"), done())})
    ran = command("play", "--verbose", "--story", story, "go")
    assert "◆" not in ran.out
    assert "! m1 was refused: " in ran.out


def test_asset_in_the_scratch_folder_is_not_shown_as_an_asset(command):
    made = event("asset", assetId="m1", kind="image", mediaType="image/png", path="FILE")
    story = command.story(
        {"go": [plan("make")]},
        {"make": '#!/bin/sh\ncat > /dev/null\n: > "$TMPDIR/picture.png"\n'
                 f"echo '{made}' | sed \"s|FILE|$TMPDIR/picture.png|\"\necho '{done()}'\n"})
    ran = command("play", "--verbose", "--story", story, "--sandbox", "no_filesystem_write", "go")
    assert "◆" not in ran.out
    assert "! m1 was refused: " in ran.out and "scratch folder" in ran.out, ran


def test_story_text_cannot_move_the_cursor(command):
    story = command.story({"go": [{"narrative": "One\u001b[2J\nTwo"}]})
    command("play", "--story", story, "go").shows("  One\\x1B[2J\n  Two\n")


def test_long_narrative_is_wrapped_between_words(command):
    story = command.story({"go": [{"narrative": "word " * 100}]})
    lines = [line for line in command("play", "--story", story, "go").out.splitlines() if "word" in line]
    assert len(lines) > 4
    assert all(len(line) <= 76 and not line.endswith(" ") for line in lines)


def test_full_device_is_reported_and_fails(command):
    with open("/dev/full", "wb") as full:
        ran = command("play", "--story", TORCH, "open", stdout=full)
    assert ran.status == 1, ran
    assert ran.err.count("\n") == ran.err.count("No space left on device") == 1, ran


# ---------------------------------------------------------------- line by line


def test_prompts_are_read_line_by_line_until_the_end(command):
    ran = command("play", "--story", TORCH, stdin="I light the torch\n\n  \nopen").exits(0)
    assert NARRATIVE in ran.out and "The runes flare" in ran.out
    assert "›" not in ran.out


def test_opening_comes_first_and_its_choices_are_selectable(command):
    ran = command("play", "--story", TORCH, stdin="1\n")
    assert (ran.out.index("The stair ends in the dark") < ran.out.index("    1. I light the torch\n") <
            ran.out.index(NARRATIVE)), ran
    # Prompts on the command line skip the opening.
    assert "The stair ends in the dark" not in command("play", "--story", TORCH, "open").out


def test_number_without_choices_is_a_prompt(command):
    story = command.story({"7": [{"narrative": "Seven it is."}]})
    assert "Seven it is." in command("play", "--story", story, stdin="7\n").out


def test_closed_standard_input_ends_the_game(command):
    ran = subprocess.run(
        ["/bin/sh", "-c", '"$0" play --story "$1" <&-', NARRATORIA, TORCH],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), timeout=300)
    assert ran.returncode == 0, ran
    assert ran.stderr == b""


def test_prompt_in_invalid_utf_8_does_not_end_the_game(command):
    command("play", "--story", TORCH, stdin=b"\xff\xfe\nopen\n").exits(0).shows("The runes flare")


# ---------------------------------------------------------------- the story


def test_story_of_the_working_folder_is_the_default(command):
    assert "Gone." in command("play", "go", cwd=command.story({"go": [{"narrative": "Gone."}]})).out


def test_title_is_printed_above_the_first_turn(command):
    ran = command("play", "--story", TORCH, "open")
    assert ran.out.startswith("  The Torch and the Door\n  ──────────────────────\n\n  The runes flare")


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["go"], "no story.toml in the working folder"),
        (["--story", "missing", "go"], "missing"),
        (["--story", "story/story.toml", "go"], "give the story's folder"),
        (["--story", "story", ""], "a prompt is empty"),
        (["--story", "story", b"caf\xe9"], "is not UTF-8"),
        (["--story", "", "go"], "--story: the value is empty"),
        (["story"], 'narratoria play --story story'),
        (["--story", "story", "--narrator", "oracle", "go"], 'the narrator "oracle"'),
        (["--story", "story", "--cgroup", ".", "go"], '"." is not a cgroup2 folder'),
    ],
)
def test_misuse_is_refused_with_advice(command, arguments, said):
    command.story({"go": [{"narrative": "Gone."}]})
    command("play", *arguments).exits(2, said, out="")


def test_story_with_faults_is_refused_with_file_and_line(command):
    command.story({"go": [{"narrative": "Gone."}]}, toml='title = "T"\n[times]\ntry_mss = 3\n')
    ran = command("play", "--story", "story", "go").exits(2)
    assert re.search(r"story\.toml:3(:\d+)?: .*try_mss", ran.err), ran
    assert ran.out == ""


def test_story_with_a_process_limit_requires_a_cgroup_folder(command):
    command.story({"go": [{"narrative": "Gone."}]}, toml='title = "T"\n[limits]\nprocesses = 9\n')
    command("play", "--story", "story", "go").exits(2, "processes cannot be limited", "--cgroup", out="")


def test_story_with_a_missing_narrator_is_refused(command):
    command.story({"go": [{"narrative": "Gone."}]}, toml='title = "T"\n[narrator]\nname = "oracle"\n')
    command("play", "--story", "story", "go").exits(2, 'narrator of story.toml, "oracle", is not available', out="")


def test_template_narrator_may_be_given_by_name(command):
    story = command.story({"go": [{"narrative": "Gone."}]})
    assert command("play", "--story", story, "--narrator", "template", "go").status == 0


# ---------------------------------------------------------------- on a terminal


def test_terminal_prompts_the_player_and_ctrl_d_ends_the_game(command):
    terminal = command.on_terminal("play", "--story", TORCH)
    terminal.prompt("examine the door\n", "Leave")
    terminal.prompt("3\n", "The choices are 1 to 2")
    terminal.prompt("1\n", "The runes flare")
    terminal.prompt("\x04")
    assert terminal.finish().status == 0


def test_picture_is_drawn_on_a_terminal_with_colours(command):
    console = (BUILD / "lib/narratoria/plugins/console.so").read_bytes()
    if b"libchafa" not in console:
        pytest.skip("the console was built without chafa")
    terminal = command.on_terminal(
        "play", "--verbose", "--story", TORCH, "I light the torch",
        env=environment(TERM="xterm-256color", COLORTERM="truecolor"))
    ran = terminal.finish().exits(0)
    picture = ran.out[ran.out.index("lit_torch"):]
    assert picture.count("\x1b[38;2;") + picture.count("\x1b[48;2;") > 20
    plain = command.on_terminal(
        "play", "--verbose", "--story", TORCH, "I light the torch",
        env=environment(TERM="xterm-256color", NO_COLOR="1")).finish()
    assert "lit_torch" in plain.out and "38;2" not in plain.out


def test_player_sees_only_the_words_of_the_story(command):
    story = command.story(
        {"go": [plan("sad"), plan("plain", "told"), {"narrative": "Over."}]},
        {"sad": said(event("error", errorCode="DARK", errorMessage="It is too dark."), done(False)).replace(
            "cat >/dev/null", "cat >/dev/null; echo trace of /usr/lib >&2"),
         "plain": said(done()), "told": said(done(summary="The door creaks."))})
    ran = command("play", "--story", story, "go")
    shown = [line.strip() for line in ran.out.splitlines()]
    assert "✗ It is too dark." in shown and "✓ The door creaks." in shown, ran
    for technical in ("DARK", "sad", "plain", "told", "trace of", "/tmp", " s)", "done"):
        assert technical not in ran.out, ran


def test_failed_tool_says_its_summary_or_else_its_error(command):
    error = event("error", errorCode="DARK", errorMessage="It is too dark.")
    story = command.story({"go": [plan("both"), plan("error"), {"narrative": "Over."}]},
                          {"both": said(error, done(False, summary="You stumble.")), "error": said(error, done(False))})
    ran = command("play", "--story", story, "go")
    assert re.findall("✗ (.*)", ran.out) == ["You stumble.", "It is too dark."], ran


def without_styles(shown):
    return [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line).rstrip() for line in shown.splitlines()]


@pytest.mark.parametrize("options", [[], ["--verbose"]])
def test_words_of_a_tool_wrap_at_the_width_of_the_terminal(command, options):
    words = "the long way round the hill past the mill " * 3
    story = command.story({"go": [plan("told")]}, {"told": said(done(summary=words))})
    terminal = command.on_terminal("play", "--story", story, *options, "go", columns=40, env=environment(TERM="xterm"))
    lines = without_styles(terminal.finish().out.replace("\r", ""))
    begin = next(index for index, line in enumerate(lines) if "✓" in line)
    told = lines[begin:begin + 4]
    assert told[0].startswith("    ✓ the long way") and max(map(len, lines)) <= 40, lines
    assert all(line.startswith("      ") for line in told[1:]), lines
    assert " ".join(" ".join(told).replace("✓", "").split()).startswith(words.strip()), lines


LONG = """import sys
sys.stderr.write("e" * 9000 + "\\n" + "line\\n" * 900)
print("x" * 9000, flush=True)
sys.exit(3)
"""


def test_long_messages_of_a_narrator_are_shortened(command):
    story = story_of_program(command, LONG)
    ran = command("play", "--verbose", "--story", story, "go").shows("exit status 3", "more lines …")
    assert len(ran.lines) < 40 and max(map(len, ran.lines)) <= 420, ran


@pytest.mark.parametrize("width", [30, 60])
def test_opening_and_choices_wrap_at_the_width_of_the_terminal(command, width):
    words = "the long way round the hill past the mill and the old bridge " * 3
    toml = f'title = "{words}"\n[opening]\ntext = "{words}"\nchoices = ["{words}"]\n'
    terminal = command.on_terminal("play", "--no-store", "--story", command.story({}, toml=toml), columns=width,
                                   env=environment(TERM="xterm"))
    shown = terminal.read_until(PROMPT_SIGN)
    lines = without_styles(shown)
    assert max(map(len, lines)) <= width
    assert len(lines) > 2 * len(words) // width
    assert [line for line in lines if line.startswith("       ")], "the choice is not indented"


def test_failed_tool_shows_the_end_of_its_standard_error(command):
    command.story({"go": [plan("sad"), {"narrative": "Sad."}]},
                  {"sad": "#!/bin/sh\ncat >/dev/null\necho 'config missing: set FOO' >&2\nexit 3\n"})
    command("play", "--verbose", "--story", "story", "go").shows("| config missing: set FOO")


THINKER = """
import json, sys

def say(message):
    print(json.dumps(message), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    if "request" in message:
        say({"id": message["id"], "call": 1, "invoke": {"tool": "lamp", "line": 7}})
    elif "outcome" in message:
        say({"id": message["id"], "plan": {"requestId": "p", "narrative": "It is bright.", "tools": []}})
"""


def test_tool_invoked_by_a_narrator_is_shown_with_its_line(command):
    story_of_program(command, THINKER, {"lamp": said(done(summary="The lamp burns."))})
    ran = command("play", "--verbose", "--story", "story", "Look").exits(0)
    assert "✓ The lamp burns. (lamp-1, line 7, " in ran.out
    assert ran.out.index("The lamp burns.") < ran.out.index("It is bright.")


CONTINUER = """
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    tool = "look" if message["request"]["continuation"] == 0 else "climb"
    plan = {"requestId": tool, "tools": [{"toolId": tool, "toolPath": "tools/" + tool}], "continue": tool == "look"}
    print(json.dumps({"id": message["id"], "plan": plan}), flush=True)
"""


def test_summaries_of_continued_plans_come_first(command):
    tools = {"look": said(done(summary="There is a well.")), "climb": said(done(summary="It is deep."))}
    story_of_program(command, CONTINUER, tools)
    ran = command("play", "--story", "story", "Look").exits(0)
    assert ran.out.index("✓ There is a well.") < ran.out.index("✓ It is deep."), ran


# covers: 003-13.3-narrative
def test_narrative_is_shown_before_the_tools_end(command):
    story = command.story(
        {"go": [plan("slow", narrative="You wait for something.")]},
        {"slow": f"#!/bin/sh\ncat >/dev/null\necho '{log('listening', progress=0.25)}'\n"
                 f"read line < go\necho '{done(summary='It came.')}'\n"})
    os.mkfifo(command.folder / "go")
    terminal = command.on_terminal("play", "--verbose", "--story", story, "go")
    terminal.read_until("You wait for something.")
    assert " 25%" in terminal.read_until("listening")
    with open(command.folder / "go", "w") as pipe:
        pipe.write("on\n")
    ran = terminal.finish().exits(0)
    shown = [line for line in screen(ran.out) if line]
    assert [line.strip() for line in shown][-2:] == [
        "You wait for something.", shown[-1].strip()]
    assert "✓ It came. (slow, " in shown[-1]


@pytest.mark.parametrize("kind", ["xterm-256color", "dumb"])
def test_ctrl_c_cancels_a_turn_and_not_the_game(command, kind):
    story = command.story(
        {"wait": [plan("wait")], "go": [{"narrative": "Gone.", "choices": ["wait"]}]},
        {"wait": "#!/bin/sh\ntrap 'exit 0' TERM\necho here > \"$PWD/there\"\n"
                 "while :; do sleep 60 & wait $!; done\n"})
    os.mkfifo(command.folder / "there")
    terminal = command.on_terminal("play", "--story", story, env=environment(TERM=kind))
    terminal.prompt("wait\n")
    (command.folder / "there").read_text()
    terminal.type("\x03", "the turn was cancelled")
    terminal.prompt("\x03", "Ctrl-D or /quit ends the game")
    terminal.prompt("go\n", "Gone.")
    # The choices follow the message.
    terminal.prompt("1\n")
    (command.folder / "there").read_text()
    terminal.type("\x03", "the turn was cancelled")
    terminal.read_until("wait")
    terminal.prompt("/quit\n")
    assert terminal.finish().status == 0


UP, TAB, CTRL_A, CTRL_C, CTRL_D = "\x1b[A", "\t", "\x01", "\x03", "\x04"


class Player:
    """Plays on a terminal with a line editor."""

    def __init__(self, command, story, *options):
        self.state = command.folder / "state"
        self.terminal = command.on_terminal(
            "play", "--story", story, *options,
            env=environment(TERM="xterm-256color", HOME=str(command.folder), XDG_STATE_HOME=str(self.state)))
        self.terminal.read_until(PROMPT_SIGN)

    def type(self, keys, until):
        return self.terminal.type(keys, until)

    def enter(self, line):
        # The editor also draws the prompt while the line is typed.
        return self.terminal.type(line + "\r", r"\r\n\r\n\x1b\[36m" + PROMPT_SIGN)

    def end(self, keys=CTRL_D):
        self.terminal.type(keys)
        return self.terminal.finish().status


@pytest.fixture
def player(command):
    if b"libedit.so" not in NARRATORIA.read_bytes():
        pytest.skip("this build has no line editor; libedit was missing when it was configured")
    return lambda *arguments: Player(command, *arguments)


GO = {"go": [{"narrative": "Gone."}], "/go": [{"narrative": "A slash."}]}


def test_line_at_the_prompt_can_be_edited(player, command):
    it = player(command.story(GO))
    assert "Gone." in it.enter("xo" + CTRL_A + "\x04g")
    it.type(UP, "go")
    assert "Gone." in it.enter("")
    assert it.end() == 0


def test_each_story_has_its_own_history(player, command):
    story, other = command.story(GO), command.story(GO, name="other")
    it = player(story)
    it.enter("go")
    it.enter("/branches")
    assert it.end("/quit\r") == 0
    file = it.state / "narratoria/play-history" / str(story).replace("/", "%")
    assert file.read_text() == "go\n/branches\n/quit\n"
    assert file.stat().st_mode & 0o777 == 0o600
    it = player(other)
    it.terminal.type(UP)
    assert "Nothing happens" in it.enter("listen")
    assert it.end() == 0
    it = player(story)
    it.type(UP, "/quit")
    it.type(UP, "/branches")
    it.type(UP, "go")
    assert "Gone." in it.enter("")
    assert it.end() == 0


def test_game_that_is_not_saved_leaves_no_history(player, command):
    it = player(command.story(GO), "--no-store")
    it.enter("go")
    it.type(UP, "go")
    it.type(CTRL_C, PROMPT_SIGN)
    assert it.end() == 0
    assert not it.state.exists()


def test_ctrl_c_discards_the_typed_line(player, command):
    it = player(command.story(GO))
    it.type("listen", "listen")
    assert "ends the game" not in it.type(CTRL_C, PROMPT_SIGN)
    assert "Gone." in it.enter("go")
    assert it.end() == 0


def test_tab_completes_choices_and_commands(player, command):
    toml = 'title = "T"\n[opening]\nchoices = ["I look around", "I leave", "I \\u001b[31m"]\n'
    it = player(command.story({"I leave": [{"narrative": "You leave."}]}, toml=toml))
    it.type("I l" + TAB, r"I look around\r\nI leave\r\n")
    assert "You leave." in it.enter("e" + TAB)
    assert "list" in it.enter("/h" + TAB)
    assert it.end() == 0


def test_word_after_a_slash_is_a_command_unless_the_slash_is_doubled(player, command):
    it = player(command.story(GO))
    assert "Did you mean /undo?" in it.enter("/udno")
    assert "begin with //" in it.enter("/go")
    it.type("//go\r", r"A slash\.")
    assert it.end() == 0


def test_quit_key_at_the_prompt_does_nothing(player, command):
    it = player(command.story(GO))
    it.terminal.type("\x1c")
    assert "Gone." in it.enter("go")
    assert it.end() == 0


def test_ctrl_d_during_a_turn_ends_the_game_after_it(player, command):
    story = command.story(
        {"wait": [plan("wait")]},
        {"wait": "#!/bin/sh\ncat >/dev/null\necho here > \"$PWD/there\"\nread line < \"$PWD/back\"\n"
                 f"echo '{done(summary='It came.')}'\n"})
    for name in ("there", "back"):
        os.mkfifo(command.folder / name)
    it = player(story)
    it.terminal.type("wait\r")
    (command.folder / "there").read_text()
    it.terminal.type(CTRL_D)
    (command.folder / "back").write_text("go on\n")
    it.terminal.finish().exits(0).shows("It came.")


ENDINGS = {"ctrl-d": CTRL_D, "quit": "/quit\r", "sigterm": signal.SIGTERM, "sighup": signal.SIGHUP}


@pytest.mark.parametrize("ending", ENDINGS)
def test_terminal_is_restored_however_the_game_ends(player, command, ending):
    it = player(command.story(GO))
    how = ENDINGS[ending]
    if isinstance(how, str):
        it.terminal.type(how)
    else:
        it.terminal.type("half a li")
        it.terminal.read_until("li")
        it.terminal.signal(how)
    status = it.terminal.process.wait(timeout=60)
    assert status == (0 if isinstance(how, str) else 128 + how), status
    new_terminal = os.openpty()
    assert termios.tcgetattr(it.terminal.descriptor) == termios.tcgetattr(new_terminal[0])
    for descriptor in new_terminal:
        os.close(descriptor)


def test_ctrl_c_with_given_prompts_ends_the_command_with_130(command):
    story = command.story(
        {"wait": [plan("wait")], "go": [{"narrative": "Gone."}]},
        {"wait": "#!/bin/sh\ntrap 'exit 0' TERM\necho here > \"$PWD/there\"\n"
                 "while :; do sleep 60 & wait $!; done\n"})
    os.mkfifo(command.folder / "there")
    process = command.popen("play", "--story", story, "wait", "go")
    with open(command.folder / "there") as there:
        there.read()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 130
    assert b"Gone." not in out


def test_opening_text_and_choices_follow_one_empty_line(command):
    answers = {"I wait": [{"narrative": "You wait."}]}
    for text, told in (("", ""),
                       ('text = "\\n \\nIt rains.\\n\\nHard.\\n\\n"\n', "  It rains.\n\n  Hard.\n\n")):
        toml = f'title = "T"\n[opening]\n{text}choices = ["I wait"]\n'
        ran = command("play", "--story", command.story(answers, toml=toml))
        assert ran.out == f"  T\n  ─\n\n{told}    1. I wait\n", ran


def test_skipped_tool_is_reported_once(command):
    tools = [{"toolId": "a", "toolPath": "tools/fails", "retryPolicy": {"maxRetries": 0}},
             {"toolId": "b", "toolPath": "tools/fails", "dependencies": ["a"]}]
    story = command.story({"go": [{"plan": {"tools": tools}}]}, {"fails": said(done(ok=False))})
    ran = command("play", "--verbose", "--story", story, "go")
    assert '    – skipped: the tool "a", on which it depends, failed (b)\n' in ran.out, ran
    (story / "plan.json").write_text(json.dumps({"requestId": "p", "tools": tools}))
    ran = command("run", story / "plan.json")
    assert '\nskipped b: the tool "a", on which it depends, failed\n' in ran.err, ran


def test_reading_many_prompts_is_not_reported_as_a_stall(command):
    answers = {f"say word{number}": [{"narrative": f"You say it {number} times."}] for number in range(50000)}
    ran = command("play", "--story", command.story(answers), "say word7").exits(0).shows("You say it 7 times.")
    assert "held the engine thread" not in ran.out


# ---------------------------------------------------------------- a script that narrates


SCRIPT_STORY = 'title = "A"\n[narrator]\nname = "tale.nuwa"\n[fallback]\ntemplates = ["Nothing."]\n'


def test_script_shows_its_output_and_its_calls_with_their_lines(command):
    story = command.story({}, {"ring": said(done(summary="Rung.", result={"times": 3}))}, SCRIPT_STORY)
    (story / "tale.nuwa").write_text(
        'LET bell = CALL ring { hard: true }\nPRINT(FORMAT("{p}: it rings {n} times.", {p: prompt, n: bell.times}))')
    ran = command("play", "--verbose", "--story", story, "Pull").exits(0)
    assert ran.out.index("✓ Rung. (ring-1, line 1, ") < ran.out.index("  Pull: it rings 3 times.")


def test_error_of_a_script_is_shown_with_a_caret(command):
    story = command.story({}, {}, SCRIPT_STORY)
    (story / "tale.nuwa").write_text("LET a = 1\nPRINT(a / 0)")
    ran = command("play", "--verbose", "--story", story, "go").exits(1)
    assert ("    ! the narrator returned no plan: tale.nuwa:2:9: DivisionByZeroError: Division by zero.\n"
            "        2 | PRINT(a / 0)\n"
            "          |         ^\n") in ran.out
    assert "  Nothing." in ran.out


def test_narrator_option_selects_another_script(command):
    story = command.story({}, {}, SCRIPT_STORY)
    (story / "tale.nuwa").write_text('PRINT("one")')
    (story / "other.nuwa").write_text('PRINT("two")')
    assert "  two" in command("play", "--story", story, "--narrator", "other.nuwa", "go").lines
    (story / "other.nuwa").write_text("END")
    ran = command("play", "--story", story, "--narrator", "other.nuwa", "go").exits(2)
    assert 'the narrator "other.nuwa" is not available: ParserError: ' in ran.err and ran.err.endswith(" at 1:1\n")


FERRY = BUILD / "share" / "narratoria" / "stories" / "ferry"


def test_ferry_story_is_narrated_by_a_script(command):
    # The toll is a function of examples/python/ferry.py.
    checked = command("validate", "story", "--plugins", FERRY)
    assert checked.status == 0 and len(checked.lines) == 2, checked
    assert "CALL pay_toll: neither a file in tools/ nor a plugin of the story" in checked.lines[0]
    ran = command("play", "--story", FERRY, "I ring the bell", "I pole across", "I sing").exits(0)
    for told in ("The bell rings, and the cliffs answer 3 times.", "1. I pole across",
                 "The pole finds no ground. You drift back to the bank.",
                 'The river does not know "I sing".'):
        assert told in ran.out


# covers: 002-core-registration
def test_script_call_of_a_missing_tool_ends_in_the_fallback(command):
    ran = command("play", "--verbose", "--story", FERRY, "I cross").exits(1)
    ran.shows("ToolNotFoundError: Tool 'pay_toll' not found.", 'The river takes no notice of "I cross".')
    ran = command("play", "--story", FERRY, "I cross")
    assert "ToolNotFoundError" not in ran.out + ran.err and "CALL" not in ran.out, ran
    assert ran.status == 1 and "not every turn succeeded; --verbose shows the reasons" in ran.err, ran
