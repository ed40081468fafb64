# SPDX-License-Identifier: Apache-2.0
"""The stories in docs/writing-a-story.md are valid and play as the page says."""

import json
import re

import pytest

from harness import SOURCE

PAGE = (SOURCE / "docs" / "writing-a-story.md").read_text(encoding="utf-8")
DONE = 'echo \'{"version":"0","type":"done","ok":true}\''


@pytest.fixture
def well(command, tmp_path):
    page = PAGE[PAGE.index("## story.toml") :]
    (tmp_path / "tools").mkdir()
    for language, file in (("toml", "story.toml"), ("json", "prompts.json")):
        text = re.search(rf"```{language}\n(.*?)```", page, re.DOTALL).group(1)
        (tmp_path / file).write_text(text, encoding="utf-8")

    def rope(script):
        (tmp_path / "tools" / "rope").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "tools" / "rope").chmod(0o755)
        return tmp_path

    return rope


def test_story_on_the_page_is_valid(command, well):
    assert command("validate", "story", well(DONE)).status == 0


def test_story_on_the_page_answers_all_that_it_offers(command, well):
    script = re.search(r"```sh\n#!/bin/sh\n(.*?)```", PAGE, re.DOTALL).group(1)
    command("validate", "story", "--strict", well(script)).exits(0)
    command("test", "--story", well(script)).exits(0).shows("answers: 6 of 6", 'ending "Nothing left to hold": ')


def test_patterns_capture_and_other_prompts_are_unmatched(command, well):
    story = well("read -r request; case $request in *'\"thing\":\"bucket\"'*) " + DONE + ";; esac")
    played = command("play", "--story", story, "  i LOWER the   bucket!", "Sing")
    played.shows("The rope runs through your hands.", 'The well does not understand "Sing".')


def test_a_failure_is_told(command, well):
    played = command("play", "--story", well("exit 1"), "Lower the bucket into the well.")
    assert "The rope is stuck: the tool exited with status 1" in played.out


def test_the_transcript_on_the_page_passes(command, well):
    script = re.search(r"```sh\n#!/bin/sh\n(.*?)```", PAGE, re.DOTALL).group(1)
    transcript = re.search(r"```\n(# The rope gets.*?)```", PAGE, re.DOTALL).group(1)
    folder = well(script)
    (folder / "tests").mkdir()
    (folder / "tests" / "rope.transcript").write_text(transcript)
    command("test", "--story", folder, "--walks", "0").exits(0)


def test_rules_and_named_conditions_on_the_page_are_valid(command, well):
    folder = well(DONE)
    page = PAGE[PAGE.index("## story.toml"):]
    prompts, conditions, after = map(json.loads, re.findall(r"```json\n(.*?)```", page, re.DOTALL)[:3])
    prompts |= conditions | after
    (folder / "prompts.json").write_text(json.dumps(prompts))
    assert command("validate", "story", folder).status == 0
    played = command("play", "--story", folder, *["I lower the bucket"] * 12)
    assert played.out.count("The clock strikes ten.") == 1


def test_the_tool_on_the_page_shows_a_picture_file(command, well):
    folder = well(DONE)
    page = PAGE[PAGE.index("**Picture files.**"):]
    (folder / "tools" / "show").write_text(re.search(r"```sh\n(.*?)```", page, re.DOTALL).group(1))
    (folder / "tools" / "show").chmod(0o755)
    answer = json.loads(re.search(r"```json\n(.*?)```", page, re.DOTALL).group(1))
    (folder / "prompts.json").write_text(json.dumps({"prompts": [], "unmatched": answer}))
    ran = command("validate", "story", folder)
    assert 'the story has no file "pictures/door.png"' in ran.err + ran.out
    (folder / "pictures").mkdir()
    (folder / "pictures" / "door.png").write_bytes(b"x")
    assert "pictures/door.png" not in str(command("validate", "story", folder))
    played = command("play", "--story", folder, "--verbose", "I look")
    assert f"◆ {folder}/pictures/door.png (image pictures/door.png, image/png" in played.out, played


def test_the_story_with_places_is_valid_and_offers_what_each_place_allows(command, tmp_path):
    page = PAGE[PAGE.index("## A story with places"):]
    for language, file in (("toml", "story.toml"), ("json", "prompts.json")):
        (tmp_path / file).write_text(re.search(rf"```{language}\n(.*?)```", page, re.DOTALL).group(1))
    assert command("validate", "story", "--strict", tmp_path).status == 0
    command("test", "--story", tmp_path).exits(0).shows("    answers: 10 of 10")
    played = command("play", "--story", tmp_path, "I go in", "go up", "I go out")
    assert played.out.endswith("    1. I open the chest\n    2. I go down\n    3. I look around\n"), played


def test_the_story_with_many_things_plays_as_the_page_says(command, tmp_path):
    page = PAGE[PAGE.index("## Many things, few answers"):]
    for language, file in (("toml", "story.toml"), ("json", "prompts.json")):
        (tmp_path / file).write_text(re.search(rf"```{language}\n(.*?)```", page, re.DOTALL).group(1))
    command("validate", "story", "--strict", tmp_path).exits(0)
    command("test", "--story", tmp_path).exits(0).shows("    answers: 7 of 9", 'ending "The crown in the hall": ')
    played = command("play", "--story", tmp_path, "get the Crown", "go up", "Pick up the crown!", "x crown", "look around", "take lmap", "down",
                     "take lamp", "put down crown")
    played.shows("You see no Crown here.", "You take the iron crown.", "It is heavier than it looks",
                 "You see: nothing of use.", "You see no lmap here.", "You have no hand free: you carry the iron crown.",
                 "The crown in the hall")
    # With a choice for each name.
    prompts = json.loads((tmp_path / "prompts.json").read_text())
    always = json.loads(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[1])
    (tmp_path / "prompts.json").write_text(json.dumps(prompts | always))
    story = (tmp_path / "story.toml").read_text()
    (tmp_path / "story.toml").write_text(story.replace("leads up.\"\n", "leads up.\"\nchoices = [\"I look around\"]\n"))
    command("validate", "story", "--strict", tmp_path).exits(0)
    command("test", "--story", tmp_path).exits(0)
    played = command("play", "--story", tmp_path, "look around", "take rope")
    played.shows("    1. go up\n    2. take the lamp\n    3. take the rope\n",
                 "    1. go up\n    2. examine the rope\n    3. drop the rope\n")


@pytest.fixture
def lamp(command, tmp_path):
    """The story that the page builds step by step."""
    page = PAGE[: PAGE.index("## story.toml")]

    def blocks(language):
        return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)

    folder = tmp_path / "lamp"
    for name in ("tools", "tests"):
        (folder / name).mkdir(parents=True)
    (folder / "story.toml").write_text(blocks("toml")[0], encoding="utf-8")
    first, door, manifest, window = map(json.loads, blocks("json"))
    first["prompts"] += door + window
    (folder / "prompts.json").write_text(json.dumps(first))
    (folder / "tools" / "window").write_text(blocks("python")[0])
    (folder / "tools" / "window").chmod(0o755)
    (folder / "tools" / "window.tool.json").write_text(json.dumps(manifest))
    transcript = re.search(r"```\n(> I open the door.*?)```", page, re.DOTALL).group(1)
    (folder / "tests" / "away.transcript").write_text(transcript)
    return folder


def test_the_first_story_plays_as_the_page_says(command, lamp):
    command("validate", "story", "--strict", lamp).exits(0)
    ran = command("play", "--story", lamp, "--verbose", "I open the door", "light lamp",
                  "look out of window", "I open the door").exits(0).shows("Ships that see your light: 1.")
    assert re.search(r"◆ /\S+\.png \(image sea, image/png, 96 × 64\)", ran.out), ran
    assert "Stairs lead down to the boat." in ran.out


def test_the_first_story_passes_its_test_and_its_walks(command, lamp):
    ran = command("test", "--story", lamp).exits(0).shows("1 of 1 transcript passed", '    ending "Away": 100')
    assert "    answers: 4 of 4" in ran.out
    assert command("test", "--story", lamp, "--update").status == 0
    assert "Ships that see your light: 1." in (lamp / "tests" / "away.transcript").read_text()
