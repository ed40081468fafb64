# SPDX-License-Identifier: Apache-2.0
"""What narratoria.narrator_llm remembers when the story is longer than its budget."""

import time

import pytest

from chat_server import ChatServer, Peer, begins, error, says, whole
from harness import DEADLINE, PROMPT_SIGN, environment, until
from model_stories import GOOD, TOLD, play, shown, story  # noqa: F401

SUMMARY = "You opened the door of the old mill, met nobody, and went down a dark stair. You promised to wait."
SMALL = ("budget = 1100", "max_tokens = 200", 'format = "json_schema"')


def is_summary(request):
    return request.messages[-1]["content"].startswith("The story pauses.")


def narrates(summary, usage=None):
    """Replies with GOOD, and to the request for a summary with `summary`."""
    return lambda peer: (summary if is_summary(peer.request) else says(GOOD, usage=usage))(peer)


class Game:
    """A game on a terminal."""

    def __init__(self, command, server, *arguments, turns_shown=0):
        self.server = server
        self.terminal = command.on_terminal("play", *arguments, env=environment(TERM="dumb"))
        for _ in range(turns_shown + 1):
            self.terminal.read_until(PROMPT_SIGN)

    def type(self, text):
        self.terminal.type(text + "\n", PROMPT_SIGN)

    def play_until_summary(self):
        """Plays turns until one needs a summary; returns the request for it."""
        for number in range(20):
            self.type(f"I take step {number}")
            self.last = f"I take step {number}"
            # The player pauses for longer than a second when there are enough turns.
            pause = time.monotonic() + (1.5 if number >= 8 else 0)
            while not self.summaries() and time.monotonic() < pause:
                time.sleep(0.01)
            if self.summaries():
                return self.summaries()[0]
        raise AssertionError("the model was not asked to sum up")

    def summaries(self):
        return [request for request in self.server.requests if is_summary(request)]

    def shown(self, prompt="I go on"):
        """Plays a turn; returns the first message after the rules."""
        self.type(prompt)
        request = [each for each in self.server.requests if not is_summary(each)][-1]
        assert prompt in request.messages[-1]["content"]
        return request.messages[1]["content"]

    def quit(self):
        self.terminal.type("/quit\n")
        assert self.terminal.finish().status == 0


@pytest.fixture
def game(command, story):
    def start(server, *settings, arguments=("--no-store",)):
        return Game(command, server, *arguments, "--story", story(server.url, *SMALL, *settings))
    return start


def test_summary_replaces_old_turns_here_in_a_stored_game_and_not_before_it(command, story, tmp_path):
    with ChatServer(narrates(says(SUMMARY, usage=None))) as server:
        arguments = ("--store", tmp_path / "games.db", "--session", "one", "--story", story(server.url, *SMALL))
        game = Game(command, server, *arguments)
        request = game.play_until_summary()
        last = game.last
        assert request.body["messages"][:2] == server.requests[-2].body["messages"][:2], "the same beginning"
        assert "response_format" not in request.body and request.body["max_tokens"] == 200
        until(lambda: request.sent)
        begin = f"What happened before, in short:\n{SUMMARY}\n"
        until(lambda: game.shown().startswith(begin))
        assert "I take step 0" not in server.requests[-1].text and last in server.requests[-1].text
        game.quit()

        game = Game(command, server, *arguments, turns_shown=3)
        shown = game.shown("I open the game again")
        assert shown.startswith(begin) and last in server.requests[-1].text, shown
        assert "I take step 0" not in server.requests[-1].text
        for _ in range(6):
            game.type("/undo")
        assert SUMMARY not in game.shown("I go another way")
        game.quit()


def test_summary_leaves_with_the_last_turn_that_it_tells_of(command, story, tmp_path):
    with ChatServer(narrates(says(SUMMARY, usage=None))) as server:
        game = Game(command, server, "--store", tmp_path / "games.db", "--session", "one", "--story",
                    story(server.url, *SMALL))
        request = game.play_until_summary()
        until(lambda: request.sent)
        game.type("/undo")
        assert game.shown("I go another way") == "I take step 0"
        assert game.last not in server.requests[-1].text
        game.quit()


def test_prompt_ends_the_request_for_a_summary(game):
    with ChatServer(narrates(begins(b"", Peer.stall))) as server:
        playing = game(server)
        request = playing.play_until_summary()
        assert TOLD in playing.terminal.seen.decode()
        assert "I take step" in playing.shown()
        assert request.closed.wait(DEADLINE) and len(playing.summaries()) == 1, "before it is asked again"
        playing.quit()


@pytest.mark.parametrize("reply", [says("I see.", usage=None), says("", usage=None), whole(error("no"), "500 Oh"),
                                   whole(b"", "200 OK")], ids=["short", "empty", "refused", "no body"])
def test_reply_that_sums_nothing_up_changes_nothing(game, reply):
    with ChatServer(narrates(reply)) as server:
        playing = game(server)
        request = playing.play_until_summary()
        until(lambda: request.sent)
        for _ in range(2):
            assert playing.shown() == "I take step 0"
        playing.quit()


def test_tokens_of_a_summary_are_reported_with_the_next_answer(command, story):
    taken = {"prompt_tokens": 700, "completion_tokens": 60}
    with ChatServer(narrates(says(SUMMARY, usage=taken), usage={**taken, "prompt_tokens": 400})) as server:
        folder = story(server.url, *SMALL)
        playing = Game(command, server, "--no-store", "--verbose", "--story", folder)
        request = playing.play_until_summary()
        until(lambda: request.sent)
        until(lambda: SUMMARY in playing.shown())
        playing.quit()
    assert b"took 400 tokens" in playing.terminal.seen and b"took 1100 tokens" in playing.terminal.seen


# ---------------------------------------------------------------- facts

STATE = "[state]\nplayer = {name = 'Ada', hp = 5}\nquest = 'the mill'\n" + "".join(
    f"a{number:03} = '{'x' * 20_000}'\n" for number in range(2))


def test_facts_are_shown_however_long_the_state_is(play):
    ran = play([says(GOOD)], settings=('facts = ["/a000", "/player/name", "/quest", "/none"]', STATE)).exits(0)
    text = ran.requests[0].messages[-1]["content"]
    assert 'Most important:\n- a000: "xxxxx' in text
    assert '…\n- player/name: "Ada"\n- quest: "the mill"\nThe state:\n' in text
    assert "(the rest is left out)" in text


def test_what_the_budget_has_no_room_for_is_said_once(play):
    ran = play([says(GOOD)], "go", "on", settings=(STATE,)).exits(0)
    assert shown(ran).count("left out is the rest of the state after") == 1, ran
    assert "the budget of" not in play([says(GOOD)]).exits(0).out


@pytest.mark.parametrize("prompt, settings", [("word " * 6000, ()), ("go", ("budget = 300", "max_tokens = 100"))])
def test_prompt_that_does_not_fit_with_the_rules_and_facts_is_refused(play, prompt, settings):
    ran = play([says(GOOD)], prompt, settings=('facts = ["/player/name"]', *settings, STATE)).exits(1)
    assert ran.requests == []
    assert "tokens is too small for a request" in shown(ran) and 'raise "budget"' in shown(ran), ran


@pytest.mark.parametrize("facts", ['"/player"', '["player"]', "[7]", '[""]'])
def test_invalid_facts_are_reported(play, facts):
    ran = play([says(GOOD)], settings=(f"facts = {facts}",))
    assert ran.status == 1 and 'the setting "facts" must be' in " ".join((ran.out + ran.err).split()), ran
    assert ran.requests == []
