# SPDX-License-Identifier: Apache-2.0
"""A real model on a real server narrates 20 turns of a story with two tools.

The model is too small to narrate well. What is tested holds for every model.
"""

import asyncio
import json
import shutil
import threading
import time
from dataclasses import dataclass

import pytest

from conftest import BUILD, HERE

import narratoria
import narratoria.aio

PROMPTS = ("I light the lamp", "I look around", "I open the iron door", "I put out the lamp",
           "I roll a die", "I listen at the wall", "I ask who is there", "I search the floor",
           "I knock three times", "I climb on a shelf", "I sing a song", "I sit down and wait")
TURNS = 20
MAX_TOKENS = 120
# The rules and an answer take 600 tokens, and 20 turns more than the rest.
BUDGET = 1200
REPAIR = "That answer cannot be used:"
IDLE_SECONDS = 60
# The narrator asks for a summary after a second.
PAUSE_SECONDS = 2


@dataclass
class Played:
    turn: narratoria.Turn
    records: list
    exchanges: list
    seconds: float


def story_for(proxy, folder, max_tokens=MAX_TOKENS, budget=BUDGET, form="auto"):
    shutil.copytree(HERE / "story", folder)
    with open(folder / "story.toml", "a", encoding="utf-8") as file:
        file.write(f'\n[plugins."narratoria.narrator_llm"]\nbase_url = "{proxy.url}/v1"\n'
                   f'model = "smollm2"\nmax_tokens = {max_tokens}\nbudget = {budget}\n'
                   f'temperature = 0.6\nseed = 1\nformat = "{form}"\n')
    return folder


@pytest.fixture(scope="module")
def game(proxy, tmp_path_factory):
    played, records = [], []
    story = story_for(proxy, tmp_path_factory.mktemp("game") / "story")
    with narratoria.Session(story=story) as session:
        session.add_sink(lambda event: records.append((event.kind, event.body)))
        for number in range(TURNS):
            begin, exchanges = time.monotonic(), len(proxy.exchanges)
            records.clear()
            session.state["hour"] = number
            turn = session.play(PROMPTS[number % len(PROMPTS)])
            played.append(Played(turn, list(records), proxy.exchanges[exchanges:],
                                 time.monotonic() - begin))
    write_numbers(played)
    return played


def exchanges_of(game):
    return [exchange for played in game for exchange in played.exchanges]


def refused(game):
    """The answers after which the model was asked again because of a fault."""
    return [exchange for played in game
            for exchange, following in zip(played.exchanges, played.exchanges[1:])
            if following.messages[-1]["content"].startswith(REPAIR)]


def content(exchange):
    return "".join(f"{each['role']}\n{each['content']}\n" for each in exchange.messages).encode()


def shared_beginning(one, other):
    return next((at for at, (left, right) in enumerate(zip(one, other)) if left != right),
                min(len(one), len(other)))


def shares(game):
    """For each turn but the first: which part of the request before it is the turn's beginning,
    or None if old turns became short in between."""
    result = []
    for before, after in zip(game, game[1:]):
        last, first = before.exchanges[-1], after.exchanges[0]
        is_shortened = len(first.messages) < len(last.messages)
        shared = shared_beginning(content(last), content(first))
        result.append(None if is_shortened else shared / len(content(last)))
    return result


def write_numbers(game):
    """Writes the numbers for the stage, which prints them."""
    exchanges = exchanges_of(game)
    usages = [exchange.usage for exchange in exchanges]
    prompt = sum(usage["prompt_tokens"] for usage in usages)
    cached = sum(usage["prompt_tokens_details"]["cached_tokens"] for usage in usages)
    written = sum(usage["completion_tokens"] for usage in usages)
    writing = sum(exchange.last - exchange.first for exchange in exchanges)
    seconds = sorted(played.seconds for played in game)
    whole = [exchange for exchange in exchanges if not exchange.is_cut]
    tools = sum(kind == "tool_ended" for played in game for kind, _ in played.records)
    (BUILD / "model-numbers.txt").write_text(
        f"{len(game)} turns with {len(exchanges)} answers: {seconds[len(seconds) // 2]:.1f} s a turn "
        f"(median), {seconds[-1]:.1f} s at most\n"
        f"{written / writing:.0f} tokens/s written, {prompt} tokens sent, "
        f"{100 * cached / prompt:.0f} % of them cached\n"
        f"{len(exchanges) - len(refused(game))} of {len(exchanges)} answers usable, "
        f"{len(whole)} not cut by the limit, {tools} uses of tools\n")


def test_the_server_is_found_to_keep_to_a_schema(game, proxy):
    (probe,) = proxy.probes
    assert json.loads(probe.answer) == {"sign": "heron"}
    assert all(b'"json_schema"' in exchange.request for exchange in exchanges_of(game))


def test_the_server_counts_the_tokens_of_the_first_request(game, proxy):
    counted = json.loads(proxy.counts[0].body)["tokens"]
    sent = game[0].exchanges[0].usage["prompt_tokens"]
    assert 0.8 * sent <= len(counted) <= sent


def test_every_turn_completes_with_a_narrative(game):
    assert [played.turn.outcome for played in game] == ["completed"] * TURNS
    assert all(played.turn.narrative.strip() for played in game)


def test_an_answer_that_is_not_cut_is_a_valid_plan_at_once(game):
    assert [exchange.answer for exchange in refused(game) if not exchange.is_cut] == []
    assert any(not exchange.is_cut for exchange in exchanges_of(game))


def test_tools_get_only_inputs_that_their_schemas_allow(game):
    ended = [body for played in game for kind, body in played.records if kind == "tool_ended"]
    assert [body for body in ended if not body["ok"]] == []


def test_the_narrative_arrives_in_pieces_before_the_plan(game):
    for played in game:
        kinds = [kind for kind, _ in played.records]
        assert kinds.count("narrative_delta") > 1
        assert kinds.index("narrative_delta") < kinds.index("plan_started")


def test_tokens_of_every_answer_are_reported(game, proxy):
    for number, played in enumerate(game):
        usages = [exchange.usage for exchange in played.exchanges + (proxy.probes if number == 0 else [])]
        assert played.turn.usage["inputTokens"] == sum(each["prompt_tokens"] for each in usages)
        assert played.turn.usage["outputTokens"] == sum(each["completion_tokens"] for each in usages)
        assert played.turn.usage["cachedTokens"] == sum(
            each["prompt_tokens_details"]["cached_tokens"] for each in usages)


def test_a_turn_begins_with_the_request_before_it(game):
    known = [share for share in shares(game) if share is not None]
    # Old turns become short in few large steps.
    assert TURNS / 2 <= len(known) < TURNS - 1
    assert min(known) >= 0.9


def test_the_server_finds_the_beginning_in_its_cache(game):
    for before, after, share in zip(game, game[1:], shares(game)):
        if share is not None:
            cached = after.exchanges[0].usage["prompt_tokens_details"]["cached_tokens"]
            assert cached >= 0.85 * before.exchanges[-1].usage["prompt_tokens"]


def test_the_budget_is_never_exceeded(game):
    for exchange in exchanges_of(game):
        assert exchange.usage["prompt_tokens"] + MAX_TOKENS <= BUDGET


def test_the_server_keeps_to_a_grammar_too(proxy, tmp_path):
    story = story_for(proxy, tmp_path / "story", form="grammar")
    before = len(proxy.exchanges)
    with narratoria.Session(story=story) as session:
        turns = [session.play(prompt) for prompt in PROMPTS[1:4]]
    assert [turn.outcome for turn in turns] == ["completed"] * 3
    for exchange in proxy.exchanges[before:]:
        assert exchange.is_cut or list(json.loads(exchange.answer)) == ["narrative", "tools", "choices"]


def test_the_model_sums_the_story_up_when_the_player_pauses(proxy, tmp_path):
    story = story_for(proxy, tmp_path / "story", max_tokens=60, budget=1700)
    before = len(proxy.exchanges)

    def summaries():
        return [exchange for exchange in proxy.exchanges[before:]
                if exchange.messages[-1]["content"].startswith("The story pauses.")]

    async def go_on():
        async with narratoria.aio.Session(story=story) as session:
            while not summaries():
                # Long prompts, so that few turns need a summary.
                await session.play(", then ".join(PROMPTS[len(proxy.exchanges) % 3:] + PROMPTS))
                pause = time.monotonic() + PAUSE_SECONDS
                while not summaries() and time.monotonic() < pause:
                    await asyncio.sleep(0.05)
            deadline = time.monotonic() + IDLE_SECONDS
            while b"[DONE]" not in summaries()[0].response:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.05)

    asyncio.run(go_on())
    summary = summaries()[0]
    assert summary.answer.strip()
    assert summary.usage["prompt_tokens_details"]["cached_tokens"] >= 0.7 * summary.usage["prompt_tokens"]


def test_a_cancelled_turn_ends_the_work_of_the_server(server, proxy, tmp_path):
    story = story_for(proxy, tmp_path / "story", max_tokens=1000, budget=4000)
    # The server reads this prompt for seconds, so the turn is cancelled before the answer.
    prompt = "I read the long inscription on the wall. " * 200
    turns = []
    with narratoria.Session(story=story) as session:
        playing = threading.Thread(target=lambda: turns.append(session.play(prompt)))
        before = len(proxy.exchanges)
        playing.start()
        poll(lambda: len(proxy.exchanges) > before and not server.is_idle())
        session.cancel()
        playing.join()
        poll(server.is_idle)
        poll(lambda: proxy.exchanges[-1].left)
        assert turns[0].outcome == "cancelled"
        assert b"[DONE]" not in proxy.exchanges[-1].response


def poll(condition):
    deadline = time.monotonic() + IDLE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
