# SPDX-License-Identifier: Apache-2.0
"""narratoria.narrator_llm records exchanges with a server, and plays a story from the recording."""

import json
import time

import pytest

from chat_server import ChatServer, completion, says, whole
from model_stories import FALLBACK, GOOD, TOLD, of, play, shown, story, use  # noqa: F401

LIT = {**GOOD, "narrative": "The lamp is lit.", "tools": [use("lamp", oil=3)]}
PRICES = ("price_input = 2.0", "price_cached = 0.5", "price_output = 4.0", 'currency = "EUR"')
FORMAT = 'format = "json_schema"'
REPLAY = (FORMAT, 'replay = "exchanges.ndjson"')


NOWHERE = "http://127.0.0.1:1/v1"


@pytest.fixture
def recorded(play):
    """Plays with a server, and then from the recording without one; returns both runs."""
    def both(replies, *prompts, settings=()):
        with ChatServer(*replies) as server:
            first = play(server, *prompts, settings=(FORMAT, 'record = "exchanges.ndjson"', *settings))
        # Both runs use the same folder, and append to the same log.
        second = play(NOWHERE, *prompts, settings=(*REPLAY, *settings))
        second.records = second.records[len(first.records):]
        return first, second
    return both


def test_story_is_played_from_the_recording_without_the_server(recorded):
    first, second = recorded((says(LIT), says(GOOD), whole(completion({**GOOD, "narrative": "Rain."}))),
                             "I light the lamp", "I listen", settings=PRICES)
    assert first.status == second.status == 0, second
    assert "The lamp is lit." in shown(second) and TOLD in shown(second) and "Rain." in shown(second)
    told = [[each["text"] for each in of(ran, "narrative_delta")] for ran in (first, second)]
    assert "".join(told[0]) == "".join(told[1])
    usages = [[{key: value for key, value in each.items() if not key.endswith("Ms") and key != "model"}
               for each in of(ran, "narrator_usage")] for ran in (first, second)]
    assert usages[0] == usages[1] and len(usages[0]) == 3


def test_cost_is_that_of_the_prices_for_a_million_tokens(play):
    ran = play([says(GOOD)], settings=(FORMAT, *PRICES))
    (usage,) = of(ran, "narrator_usage")
    # 900 tokens in, of which 800 are cached, and 120 out.
    assert usage["cost"] == pytest.approx((100 * 2.0 + 800 * 0.5 + 120 * 4.0) / 1e6) and usage["currency"] == "EUR"


def test_prompt_that_is_not_in_the_recording_says_so(recorded, play):
    recorded((says(GOOD),), "go")
    ran = play(NOWHERE, "sing", settings=REPLAY).exits(1).shows(FALLBACK)
    assert 'has no answer to "sing" at this place of the story; record it again' in shown(ran)


def test_recorded_times_are_kept_if_wanted(recorded, play, command):
    recorded((says(GOOD),), "go")
    file = command.folder / "story" / "exchanges.ndjson"
    exchange = json.loads(file.read_text())
    exchange["pieces"][-1][0] = 700
    file.write_text(json.dumps(exchange) + "\n")
    begin = time.monotonic()
    assert play(NOWHERE, "go", settings=(*REPLAY, "replay_times = true")).status == 0
    assert time.monotonic() - begin >= 0.7
