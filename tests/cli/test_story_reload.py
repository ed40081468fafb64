# SPDX-License-Identifier: Apache-2.0
"""Changes of a story's files while it is played."""

import json
import os
import time

import pytest

from harness import NARRATORIA, environment

PROMPT_SIGN = r"\x1b\[36m›(\x1b\[0m)? "


def prompts(narrative):
    return json.dumps({"prompts": [{"patterns": ["look"], "answers": [
        {"narrative": narrative, "set": {"/looked": {"+": 1}}}]},
        {"patterns": ["count"], "answers": [{"narrative": "Looked {/looked} times."}]}]})


def save(file, text):
    """Saves as most editors do."""
    other = file.with_suffix(".new")
    other.write_text(text)
    os.replace(other, file)


@pytest.fixture
def story(command):
    folder = command.story({})
    (folder / "prompts.json").write_text(prompts("Water."))
    return folder


@pytest.fixture
def play(command, story):
    if b"libedit.so" not in NARRATORIA.read_bytes():
        pytest.skip("this build has no line editor; libedit was missing when it was configured")

    def start(*options, columns=80):
        terminal = command.on_terminal(
            "play", "--no-store", "--story", story, *options, columns=columns,
            env=environment(TERM="xterm-256color", HOME=str(command.folder)))
        terminal.read_until(PROMPT_SIGN)
        return terminal

    return start


def test_saved_answer_is_given_at_the_next_prompt_and_the_state_is_kept(play, story):
    terminal = play("--verbose")
    terminal.type("look\r", r"Water\.")
    save(story / "prompts.json", prompts("Dark water."))
    terminal.read_until("were read again")
    terminal.type("look\r", r"Dark water\.")
    terminal.type("count\r", r"Looked 2 times\.")
    terminal.type("\x04")
    assert terminal.finish().status == 0


@pytest.mark.parametrize("columns", [80, 30])
def test_fault_is_shown_above_the_typed_line_and_a_good_save_clears_it(play, story, columns):
    terminal = play(columns=columns)
    terminal.type("zzzlook around the old well now", "now")
    save(story / "prompts.json", '{"prompts": [}')
    shown = terminal.read_until("now")
    assert "prompts.json:1:14" in shown
    # The rows of the typed line were erased first.
    up = "" if columns == 80 else "\x1b[1A"
    assert f"\r{up}\x1b[J" in shown.replace("\r\r", "\r")
    terminal.type("\x15" + "look\r", r"Water\.")
    save(story / "prompts.json", prompts("Clear water."))
    # A good save shows nothing, so ask until the answer has changed.
    limit = time.monotonic() + 60
    while True:
        terminal.type("look\r")
        if "Clear" in terminal.read_until(r"(Clear w|W)ater\."):
            break
        assert time.monotonic() < limit
    terminal.type("\x04")
    assert terminal.finish().status == 0


def test_deleted_prompts_leave_the_story_from_before_in_use(play, story):
    terminal = play("--verbose")
    os.remove(story / "prompts.json")
    terminal.read_until("needs a prompts.json")
    terminal.type("look\r", r"Water\.")
    save(story / "prompts.json", prompts("Clear water."))
    terminal.read_until("were read again")
    terminal.type("look\r", r"Clear water\.")
    terminal.type("\x04")
    assert terminal.finish().status == 0


def test_fault_is_shown_without_a_line_editor(command, story):
    terminal = command.on_terminal("play", "--no-store", "--story", story, env=environment(TERM="dumb"))
    terminal.read_until("› ")
    save(story / "story.toml", "title = \n")
    assert "story.toml:1" in terminal.read_until("› ")
    terminal.type("look\n", r"Water\.")
    terminal.type("\x04")
    assert terminal.finish().status == 0
