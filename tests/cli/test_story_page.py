# SPDX-License-Identifier: Apache-2.0
"""The story in docs/writing-a-story.md is valid and plays as the page says."""

import re

import pytest

from harness import SOURCE

DONE = 'echo \'{"version":"0","type":"done","ok":true}\''


@pytest.fixture
def well(command, tmp_path):
    page = (SOURCE / "docs" / "writing-a-story.md").read_text(encoding="utf-8")
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
    page = (SOURCE / "docs" / "writing-a-story.md").read_text(encoding="utf-8")
    script = re.search(r"```sh\n#!/bin/sh\n(.*?)```", page, re.DOTALL).group(1)
    transcript = re.search(r"```\n(# The rope gets.*?)```", page, re.DOTALL).group(1)
    folder = well(script)
    (folder / "tests").mkdir()
    (folder / "tests" / "rope.transcript").write_text(transcript)
    ran = command("test", "--story", folder, "--walks", "0")
    assert ran.status == 0, ran
