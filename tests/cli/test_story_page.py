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


def test_patterns_capture_and_other_prompts_are_unmatched(command, well):
    story = well("read -r request; case $request in *'\"thing\":\"bucket\"'*) " + DONE + ";; esac")
    played = command("play", "--story", story, "  i LOWER the   bucket!", "Sing")
    assert "The rope runs through your hands." in played.out
    assert 'The well does not understand "Sing".' in played.out


def test_a_failure_is_told(command, well):
    played = command("play", "--story", well("exit 1"), "Lower the bucket into the well.")
    assert "The rope is stuck: the tool exited with status 1" in played.out


def test_the_transcript_on_the_page_passes(command, well):
    script = re.search(r"```sh\n#!/bin/sh\n(.*?)```", PAGE, re.DOTALL).group(1)
    transcript = re.search(r"```\n(# The rope gets.*?)```", PAGE, re.DOTALL).group(1)
    folder = well(script)
    (folder / "tests").mkdir()
    (folder / "tests" / "rope.transcript").write_text(transcript)
    ran = command("test", "--story", folder, "--walks", "0")
    assert ran.status == 0, ran


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
    ran = command("validate", "story", "--strict", lamp)
    assert ran.status == 0, ran
    ran = command("play", "--story", lamp, "--verbose", "I open the door", "light lamp",
                  "look out of window", "I open the door")
    assert ran.status == 0, ran
    assert "Ships that see your light: 1." in ran.out
    assert re.search(r"◆ /\S+\.png \(image sea, image/png, 96 × 64\)", ran.out), ran
    assert "Stairs lead down to the boat." in ran.out


def test_the_first_story_passes_its_test_and_its_walks(command, lamp):
    ran = command("test", "--story", lamp)
    assert ran.status == 0, ran
    assert "1 of 1 transcript passed" in ran.out
    assert '    ending "Away": 100' in ran.out
    assert "    answers: 4 of 4" in ran.out
    assert command("test", "--story", lamp, "--update").status == 0
    assert "Ships that see your light: 1." in (lamp / "tests" / "away.transcript").read_text()
