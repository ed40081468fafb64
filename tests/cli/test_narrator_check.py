# SPDX-License-Identifier: Apache-2.0
"""narratoria narrator check: how well and how fast a story's narrator replies."""

import pytest

from harness import TORCH

PROGRAM = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "request" not in message: continue
    request = message["request"]
    def say(**members): print(json.dumps({"id": message["id"], **members}), flush=True)
    number = len(request["turns"]) + 1
    if number == MISSED: say(error="no idea")
    elif number == 2 and request["generationAttempt"] == 1: say(plan={"tools": 5})
    else:
        say(delta="It is ")
        say(usage={"inputTokens": 100, "cachedTokens": 80, "outputTokens": 20})
        say(plan={"requestId": f"p{number}", "tools": [], "narrative": "It is dark.", "choices": ["A", "B"]})
"""


@pytest.fixture
def check(command):
    def run(*arguments, missed=0):
        toml = ('title = "T"\n[narrator]\nname = "narratoria.narrator_process"\n'
                '[plugins."narratoria.narrator_process"]\ncommand = ["python3", "-u", "teller.py"]\n')
        story = command.story({}, toml=toml)
        (story / "teller.py").write_text(PROGRAM.replace("MISSED", str(missed)))
        return command("narrator", "check", "--story", story, *arguments)
    return run


def test_reports_each_prompt_and_the_whole(check):
    ran = check("--prompts", "3").exits(0)
    lines = ran.out.splitlines()
    assert lines[0].startswith("ok      I look around: ") and lines[0].endswith(", 3 words, 2 choices"), ran
    assert "first words after" in lines[0]
    assert lines[1].startswith("ok      B: ") and lines[1].endswith(", asked 2 times"), ran
    assert "refused" in lines[2]
    assert "3 of 3 prompts were answered, 2 with the first reply; a turn took " in ran.out
    ran.shows("300 tokens in, 80 % of them from the server's cache; 60 out", "it used no tool")


def test_fails_if_a_prompt_is_not_answered(check):
    ran = check("--prompts", "2", missed=1).exits(1)
    assert ran.out.splitlines()[0].startswith("failed  I look around: ")
    ran.shows("the narrator returned no plan: no idea", "1 of 2 prompts were answered, 0 with the first reply")


def test_checks_any_narrator(command):
    ran = command("narrator", "check", "--story", TORCH, "--prompts", "3")
    assert ran.status == 0 and "3 of 3 prompts were answered, 3 with the first reply" in ran.out, ran
    assert "it used no tool" not in ran.out


def test_checks_another_narrator_than_the_storys(check):
    ran = check("--prompts", "1", "--narrator", "template")
    assert " of 1 prompts were answered" in ran.out and "tokens in" not in ran.out, "the story's narrator reports them"
    check("--narrator", "narratoria.narrator_proces").exits(2, 'did you mean "narratoria.narrator_process"?')


def test_gives_no_advice_if_nothing_was_answered(check):
    ran = check("--prompts", "1", missed=1)
    assert ran.out.splitlines()[-1].startswith("0 of 1 prompts were answered"), ran


def test_story_must_be_playable(command, tmp_path):
    command("narrator", "check", "--story", tmp_path / "none").exits(2, "none")
