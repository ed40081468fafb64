# SPDX-License-Identifier: Apache-2.0
"""narratoria story new: the story that it writes and the arguments that it refuses."""

import os
import resource
import shlex

import pytest

from harness import tree

FILES = ["prompts.json", "story.toml", "tests/well.transcript", "tools/rope", "tools/rope.tool.json"]


def test_new_story_has_no_warnings_and_plays(command):
    ran = command("story", "new", "The Well", "well")
    assert (ran.status, ran.err) == (0, ""), ran
    assert "narratoria play --story well" in ran.out
    assert tree(command.folder / "well") == FILES
    checked = command("validate", "story", "well")
    assert (checked.status, checked.out + checked.err) == (0, "well: no faults\n"), checked
    assert command("tool", "check", "well/tools/rope").status == 0
    command("test", "--story", "well").exits(0).shows("1 of 1 transcript passed")
    played = command("play", "--story", "well", "I lower the bucket", "pull up the bucket", "I call home",
                     "I throw the coin into the well")
    assert (played.status, played.err) == (0, ""), played
    for words in ("The Well\n", "At 9 feet the bucket touches water.", "you take it", '"home", says the well',
                  "thank you"):
        assert words in played.out


@pytest.mark.parametrize("name", ["Le puits d'été", '"Quoted" \\ title', "-x", "雨"])
def test_name_is_the_title_and_the_folder(command, name):
    ran = command("story", "new", "--", name).exits(0)
    play = next(line for line in ran.out.splitlines() if "narratoria play" in line)
    folder = shlex.split(play)[-1]
    assert tree(command.folder / name) == FILES
    assert command("play", "--story", folder, "I walk on").exits(0).out.startswith(f"  {name}\n")


@pytest.mark.parametrize("name, why", [
    ("", "is empty"), (" ", "is empty"), ("a/b", "give the folder too"), ("a\nb", "cannot be shown"),
    (".", "already exists"), ("..", "already exists"), ("x" * 300, "File name too long"),
], ids=repr)
def test_unusable_name_is_refused(command, name, why):
    ran = command("story", "new", name).exits(2, out="")
    assert why in ran.err and ran.err.count("\n") == 1
    assert os.listdir(command.folder) == []


def test_existing_folder_is_left_unchanged(command):
    command.file("mine", "precious")
    (command.folder / "well").mkdir()
    for folder in ("well", "mine"):
        command("story", "new", "Well", folder).exits(2, folder)
    assert tree(command.folder) == ["mine"]


def test_write_error_leaves_no_files(command):
    ran = command("story", "new", "well", limit=(resource.RLIMIT_FSIZE, 1000))
    ran.exits(1, "cannot write well/prompts.json", "File too large")
    assert os.listdir(command.folder) == []
