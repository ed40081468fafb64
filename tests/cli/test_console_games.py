# SPDX-License-Identifier: Apache-2.0
"""narratoria play on a terminal stores the game, and accepts commands that begin with a slash."""

import json
import re
import signal
import sqlite3
import stat

import pytest

from harness import TORCH, environment, until

PROMPT_SIGN = r"›\x1b\[0m "
OPENING = "The stair ends in the dark"
EXAMINED = "You run your fingers over the mysterious door"
OPENED = "The runes flare"
LEFT = "You turn your back on the door"


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


class Player:
    """Plays a story on a terminal."""

    def __init__(self, command, *arguments, story=TORCH, **changes):
        self.terminal = command.on_terminal("play", "--story", story, *arguments,
                                            env=environment(TERM="xterm-256color", **changes))
        self.begun = self.terminal.read_until(PROMPT_SIGN)

    def __call__(self, line, until):
        """Types a line. Returns the output up to the next prompt; it must contain `until`."""
        self.terminal.type(line + "\n")
        return self.terminal.read_until(until) + self.terminal.read_until(PROMPT_SIGN)

    def end(self):
        self.terminal.type("\x04")
        assert self.terminal.finish().status == 0


@pytest.fixture
def play(command):
    return lambda *arguments, **options: Player(command, *arguments, **options)


@pytest.fixture
def kept(command, data):
    """The turns of a game in the default store, as (parent, prompt)."""
    def turns(name="torch"):
        ran = command("session", "tree", "--json", "--store", data / "narratoria/games.db",
                      "--session", name)
        return [(turn["parent"], turn["prompt"]) for turn in json.loads(ran.out)["turns"]]
    return turns


@pytest.fixture
def played(play):
    """A game in which the player has examined and opened the door."""
    game = play()
    game("examine the door", "Leave")
    game("1", OPENED)
    return game


# ---------------------------------------------------------------- which game


def unwrapped(shown):
    """The words of the output, without its line breaks and colours."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", shown).split())


def test_next_play_continues_the_game(play, data):
    game = play()
    assert f"torch, a new game, saved in {data}/narratoria/games.db; /help" in unwrapped(game.begun)
    game("examine the door", "Leave")
    game.end()
    game = play()
    assert f"torch, turn 1, saved in {data}/narratoria/games.db; --new starts over" in unwrapped(game.begun)
    assert EXAMINED in game.begun and "Leave" in game.begun
    assert LEFT in game("2", LEFT)


def test_game_that_continues_shows_its_last_three_turns(play):
    game = play()
    game("I light the torch", "")
    for prompt in ("I wait", "I examine the door", "I look around"):
        game(prompt, "")
    game.end()
    shown = unwrapped(play().begun)
    assert re.search(rf"starts over … 1 turn before; /branches lists it › I wait \w.+ › I examine the door {EXAMINED}.+ › I look around \w", shown), shown
    assert "› I light the torch" not in shown


def test_game_that_continues_says_which_turn_was_cancelled(play, command):
    story = command.story({"wait": [{"plan": {"tools": [{"toolId": "a", "toolPath": "tools/a"}]}}]},
                          {"a": "#!/bin/sh\ntouch started\nexec sleep 60\n"})
    game = play(story=story)
    game.terminal.type("wait\n")
    until(lambda: list(command.folder.rglob("started")))
    game.terminal.type("\x03")
    game.terminal.read_until(PROMPT_SIGN)
    game("look", "Nothing happens")
    game.end()
    shown = unwrapped(play(story=story).begun)
    assert "› wait (cancelled) › look Nothing happens" in shown, shown


@pytest.mark.parametrize("data_home", ["", "relative"])
def test_default_store_is_in_the_home_folder(play, tmp_path, data_home):
    game = play(XDG_DATA_HOME=data_home, HOME=str(tmp_path))
    assert "saved in ~/.local/share/narratoria/games.db" in game.begun
    folder = tmp_path / ".local/share/narratoria"
    assert (folder / "games.db").exists()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (folder, folder.parent)] == [0o700] * 2


def test_session_commands_use_the_default_store(play, command):
    game = play()
    game("open", OPENED)
    game.end()
    time = r"\d{4}-\d\d-\d\d \d\d:\d\d"
    assert re.fullmatch(rf"torch  1 turn  begun {time}  played {time}  torch\n", command("session", "list").out)
    command("replay", "--session", "torch").exits(0, out="1 turn; each ends in its stored state\n")


def test_session_commands_without_any_game_say_so(command, data):
    command("session", "list").exits(2, "no game is saved in ")
    assert not (data / "narratoria").exists()


def test_new_option_starts_another_game(play):
    game = play()
    game("open", OPENED)
    game.end()
    game = play("--new")
    assert "torch-2, a new game" in game.begun and OPENING in game.begun


def test_game_without_a_prompt_is_not_kept(play, command):
    play().end()
    assert command("session", "list").out == "the store has no sessions\n"


def test_game_without_a_prompt_that_existed_before_is_kept(play, command):
    game = play()
    game.terminal.signal(signal.SIGKILL)
    game.terminal.finish()
    play().end()
    assert "torch" in command("session", "list").out


def test_what_tools_told_and_the_ending_are_shown_again(play, command):
    tool = 'echo \'{"version":"0","type":"done","ok":true,"summary":"A dragon sleeps."}\''
    story = command.story({"look": [{"plan": {"tools": [{"toolId": "a", "toolPath": "tools/a"}]},
                                     "ending": "Too late"}]}, {"a": "#!/bin/sh\n" + tool})
    game = play(story=story)
    hint = "/load 0 goes back"
    assert hint in game("look", "— Too late —") and hint in game("/again", "— Too late —")
    assert hint in game("/load 1", "— Too late —") and hint not in game("/load 0", "beginning")
    game("/load 1", "— Too late —")
    game.end()
    game = play(story=story)
    assert hint in game.begun
    shown = [game.begun, game("/load 1", "turn 1"), command("session", "show", "--session", "story").out]
    assert all("A dragon sleeps." in each and "— Too late —" in each for each in shown)


def test_most_recently_played_game_is_continued(play, command):
    for arguments in [[], ["--new"], ["--session", "torch"]]:
        game = play(*arguments)
        game("open", OPENED)
        game.end()
    assert "torch, turn 2, " in play().begun


def test_game_of_another_story_is_not_continued(play, command):
    play().end()
    assert "story, a new game" in play(story=command.story({})).begun


def test_game_in_use_by_another_process_is_not_continued(play):
    elsewhere = play()
    elsewhere("open", OPENED)
    assert "torch is being played elsewhere; torch-2, a new game" in play().begun


def test_noninteractive_game_is_not_stored(command, data):
    assert command("play", "--story", TORCH, stdin="open\n").status == 0
    assert command.on_terminal("play", "--story", TORCH, "open").finish().status == 0
    assert not (data / "narratoria").exists()


def test_no_store_option_stores_nothing(play, data):
    play("--no-store")("open", OPENED)
    assert not (data / "narratoria").exists()


def test_session_option_stores_a_noninteractive_game(command, kept):
    for _ in range(2):
        assert command("play", "--story", TORCH, "--session", "torch", "open").status == 0
    assert kept() == [(None, "open"), (1, "open")]


def test_store_option_continues_the_last_game_of_that_store(command):
    for arguments in [["open"], ["--new", "open"], ["open"]]:
        assert command("play", "--story", TORCH, "--store", "saves.db", *arguments).status == 0
    assert [(game["id"], game["turns"]) for game in
            json.loads(command("session", "list", "--store", "saves.db", "--json").out)] == [
        ("torch", 1), ("torch-2", 2)]


@pytest.mark.parametrize("arguments", [
    ["--no-store", "--store", "s.db"], ["--no-store", "--session", "s"], ["--no-store", "--new"],
    ["--new", "--session", "s"]])
def test_contradictory_options_are_refused(command, arguments):
    command("play", "--story", TORCH, *arguments).exits(2, f"{arguments[0]} contradicts {arguments[1]}")


def test_blank_name_of_a_game_is_refused(command):
    command("play", "--story", TORCH, "--session", " ").exits(2, "the name after --session is blank")


@pytest.mark.parametrize("changes, why", [
    ({"XDG_DATA_HOME": "", "HOME": ""}, "neither XDG_DATA_HOME nor HOME"),
    ({"XDG_DATA_HOME": "/dev/null"}, "Not a directory"),
    ({}, "file is not a database"),
])
def test_game_is_played_even_if_the_store_is_unusable(play, data, changes, why):
    (data / "narratoria").mkdir()
    (data / "narratoria/games.db").write_bytes(b"of another program")
    game = play(**changes)
    begun = unwrapped(game.begun)
    assert "this game is not being saved: " in begun and why in begun
    game("open", OPENED)
    game.end()


# ---------------------------------------------------------------- slash commands


def test_undo_returns_to_the_previous_turn_and_shows_it(played):
    shown = played("/undo", "Leave")
    assert "turn 1: examine the door" in shown and EXAMINED in shown
    played("2", LEFT)


def test_undo_with_a_number_undoes_several_prompts(played):
    assert OPENING in played("/undo 2", OPENING)
    played("/undo", "There is no prompt yet")


def test_undo_skips_patches_of_the_host(played, play, data):
    played.end()
    with sqlite3.connect(data / "narratoria/games.db") as store:
        store.execute("UPDATE turn SET kind = 3 WHERE number = 2")
    game = play()
    assert "torch, turn 2" in game.begun and EXAMINED in game.begun
    game("/undo", OPENING)
    game.end()
    assert "torch, the beginning, saved in" in play().begun


def test_again_plays_the_last_prompt_on_a_branch(played, kept):
    played("/again", OPENED)
    assert kept() == [(None, "examine the door"), (1, "Open"), (1, "Open")]


def test_edit_plays_another_prompt_on_a_branch(played, kept):
    played("/edit 2", LEFT)
    assert kept()[2] == (1, "Leave")


def test_resume_names_a_turn(played):
    assert "turn 1 was not interrupted" in plain(played("/resume 1", "interrupted"))
    assert "Turn 0 is the beginning" in played("/resume 0 repeat", "beginning")
    assert "No turn is saved as camp" in played("/resume camp", "saved as")


def test_quit_stands_alone(played):
    assert "Usage: /quit" in played("/quit now", "Usage")


def test_edit_refuses_a_number_that_is_no_choice(played, kept):
    assert "The choices are 1 to 2" in played("/edit 77", "1 to 2")
    assert EXAMINED in played("/undo", EXAMINED), "nothing was undone before"
    assert len(kept()) == 2


def test_edit_without_text_shows_the_last_prompt(played, kept):
    played("/edit", "Usage: /edit TEXT, instead of: Open")
    assert len(kept()) == 2


def test_load_goes_to_a_turn_listed_by_branches(played):
    played("/load 0", OPENING)
    played("open", OPENED)
    shown = played("/branches", r"\* 3 open")
    assert "  ├─ 1 examine the door\r\n  │  2 Open\r\n" in shown
    assert EXAMINED in played("/load 1", "Leave")
    played("/load 9", "no turn 9")
    played("/load", "Usage: /load TURN")


def test_save_names_the_current_turn(played):
    played("/undo", EXAMINED)
    played("/save before the door", "turn 1 is saved as before the door")
    assert OPENED in played("/load 2", OPENED)
    assert "1 examine the door [before the door]" in plain(played("/branches", r"\* 2"))
    assert EXAMINED in played("/load before the door", "Leave")
    played("/load after it", "No turn is saved as after it")
    played("/save", "Usage: /save NAME")
    played("/save 7", "the name must not be a number")


def test_reused_name_moves_to_the_current_turn(played):
    played("/save here", "turn 2")
    played("/undo", "Leave")
    played("/save here", "turn 1")
    assert [line for line in plain(played("/branches", "2 Open")).splitlines() if "[" in line] == [
        "* 1 examine the door [here]"]


def test_store_of_an_earlier_version_accepts_names(played, play, command, data):
    played.end()
    store = data / "narratoria/games.db"
    with sqlite3.connect(store) as old:
        old.execute("DROP TABLE name")
    assert "2 Open" in command("session", "tree", "--store", store, "--session", "torch").out
    play()("/save here", "turn 2 is saved as here")


def test_quit_ends_the_game(command):
    ran = command("play", "--story", TORCH, stdin="/quit\nexamine the door\n")
    assert ran.status == 0 and EXAMINED not in ran.out, ran


def test_unknown_command_is_not_sent_as_a_prompt(played, kept):
    played("/restart now", "There is no command /restart. /help lists the commands")
    played("/load evenin", "No turn is saved as evenin; /branches lists the turns")
    played("/save evening", "turn 2 is saved as evening")
    played("/load evenin", "No turn is saved as evenin; did you mean evening?")
    played("/brnaches", "There is no command /brnaches. Did you mean /branches?")
    assert len(kept()) == 2


def test_double_slash_sends_a_prompt_with_one_slash(play, kept):
    # Both fallback texts of the story name the prompt.
    play()("//undo", '"/undo"')
    assert kept() == [(None, "/undo")]


def test_help_lists_the_commands(play):
    shown = play()("/help", "//TEXT")
    assert all(f"  /{name} " in shown for name in ["undo", "again", "edit", "branches", "save", "load", "help"])


def test_messages_and_help_break_between_words(play):
    game = play(HOME="", XDG_DATA_HOME="")
    shown = plain(game.begun + game("/help", "//TEXT") + play()("/help", "//TEXT"))
    assert "neither XDG_DATA_HOME nor\r\nHOME is set" in shown and "/resume" in shown
    assert max(map(len, shown.splitlines())) < 80


def test_unstored_game_has_nothing_to_undo(play):
    game = play("--no-store")
    game("/undo", "This game is not saved")
    assert "/undo" not in game("/help", "//TEXT")


def test_again_shows_the_prompt_only_if_it_is_played(played):
    assert "1" not in plain(played("/again x", "has no tool")).split("\n")[1]


def test_again_refuses_an_empty_list_of_tools(played, kept):
    assert "contains no toolId" in plain(played("/again ,", "toolIds"))
    assert len(kept()) == 2


def test_deleted_store_is_reported_once(play, data):
    game = play()
    game("open", OPENED)
    (data / "narratoria/games.db").unlink()
    assert unwrapped(game("open", OPENED)).count("nothing more is stored") == 1
    game.terminal.type("\x04")
    ran = game.terminal.finish()
    assert ran.status == 1 and "the game is lost: its store was removed" in ran.out
