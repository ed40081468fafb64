# SPDX-License-Identifier: Apache-2.0
"""narratoria play --store, and narratoria session: stored games."""

import json
import os
import resource
import signal
import sqlite3
import subprocess
import time

import pytest

from harness import NARRATORIA, PROMPT_SIGN, TORCH, environment


@pytest.fixture
def play(command, tmp_path):
    """Plays prompts in the torch story, in the session "evening" of saves.db."""
    def ran(*prompts, **options):
        return command("play", "--story", TORCH, "--store", tmp_path / "saves.db",
                       "--session", "evening", *prompts, **options)
    return ran


@pytest.fixture
def session(command, tmp_path):
    def ran(what, *arguments):
        name = [] if what == "list" else ["--session", "evening"]
        return command("session", what, "--store", tmp_path / "saves.db", *name, *arguments)
    return ran


def test_game_continues_in_another_process(play, session):
    assert play("I light the torch").status == 0
    assert play("I light the torch and examine the door").status == 0
    tree = json.loads(session("tree", "--json").out)
    assert tree["current"] == 2
    assert [(turn["id"], turn["parent"], turn["prompt"], turn["status"], turn["durable"])
            for turn in tree["turns"]] == [
        (1, None, "I light the torch", "completed", True),
        (2, 1, "I light the torch and examine the door", "completed", True)]
    assert tree["turns"][0]["stateHash"] != tree["turns"][1]["stateHash"]
    now = json.loads(session("state").out)
    before = json.loads(session("state", "--at", "1").out)
    assert before["inventory"] == {"torch": {"lit": True}}
    assert "discovered" in now and "discovered" not in before


def test_continued_game_shows_its_last_turn(play):
    play("I light the torch and examine the door")
    ran = play(stdin=b"1\n").shows("evening, turn 1, saved in ", "  You reach for the torch on the wall.\n")
    assert "    1. Open\n    2. Leave\n" in ran.out
    assert "the door swings inward" in ran.out, "1 selects a choice of the previous turn"


def test_show_prints_the_story_of_a_session(play, session):
    play("I light the torch and examine the door", "I open the door")
    out = session("show").out
    assert out.startswith("› I light the torch and examine the door\n"
                          "  You reach for the torch on the wall.\n")
    assert "› I open the door\n" in out


def test_tree_marks_the_current_turn(play, session):
    play("I light the torch", "I pull the lever")
    assert session("tree").out == "  1 I light the torch\n* 2 I pull the lever\n"


def test_prompt_after_going_back_starts_a_branch(play, session):
    play("I light the torch", "I light the torch and examine the door")
    assert session("go", "1").status == 0
    assert session("state").out == session("state", "--at", "1").out
    assert play("I light the torch").status == 0
    assert session("tree").out == ("  1 I light the torch\n"
                                   "  ├─ 2 I light the torch and examine the door\n"
                                   "* 3 I light the torch\n")
    assert session("go", "0").status == 0
    assert session("state").out == "{}\n"
    session("go", "9").exits(2, "no turn 9")


def test_turn_can_be_given_by_its_name(play, session):
    play("I light the torch", "I pull the lever")
    play(stdin=b"/undo\n/save the lit torch\n")
    session("go", "2").exits(0)
    session("go", "the lit torch").exits(0)
    assert session("tree").out == "* 1 I light the torch [the lit torch]\n  2 I pull the lever\n"
    session("state", "--at", "the lit touch").exits(2, "did you mean the lit torch?")
    session("prune", "lever").exits(2, "no turn is saved as lever")
    session("prune", "").exits(2, "TURN")
    session("go", str(2**64 - 1)).exits(2, "no turn is saved as 18446744073709551615")


def test_again_adds_a_sibling_of_the_repeated_turn(command, tmp_path):
    story = command.story({"count": [{"plan": {"tools": [{"toolId": "c", "toolPath": "tools/count"}]}}]},
                          {"count": f"#!/bin/sh\necho >> {tmp_path}/runs\n"
                                    f"n=$(wc -l < {tmp_path}/runs)\n"
                                    """echo '{"version":"0","type":"state_patch","patch":{"n'$n'":1}}'\n"""
                                    """echo '{"version":"0","type":"done","ok":true}'\n"""})
    kept = ["--store", tmp_path / "saves.db", "--session", "s"]
    assert command("play", "--story", story, *kept, "count", "count").status == 0
    command("session", "again", *kept).exits(0)
    states = [json.loads(command("session", "state", *kept, "--at", turn).out) for turn in "123"]
    assert states == [{"n1": 1}, {"n1": 1, "n2": 1}, {"n1": 1, "n3": 1}]
    assert command("session", "again", *kept, "1").status == 0
    tree = json.loads(command("session", "tree", *kept, "--json").out)
    assert [(turn["id"], turn["parent"]) for turn in tree["turns"]] == [(1, None), (2, 1), (3, 1), (4, None)]
    assert tree["current"] == 4
    assert command("session", "again", *kept, "9").exits(2, "no turn 9").out == "", "no title"


def test_prune_removes_branches_permanently(play, session, tmp_path):
    play("I light the torch")
    play("I light the torch and examine the door")
    session("go", "1")
    play("I pull the lever")
    before = session("state").out
    session("prune", "1").exits(2, "go to a different turn first")
    assert session("prune").out == "removed 1 turn\n"
    assert session("tree").out == "  1 I light the torch\n* 3 I pull the lever\n"
    assert session("state").out == before
    assert session("go", "1").status == 0
    assert session("prune", "3").out == "removed 1 turn\n"
    assert play("I pull the lever").status == 0
    assert session("state").out == before
    with sqlite3.connect(tmp_path / "saves.db") as store:
        assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert store.execute("PRAGMA foreign_key_check").fetchall() == []
    session("go", "0")
    session("prune").exits(2, "the session is at its beginning, so all its turns would be removed")


COUNTING = """#!/bin/sh
echo >> LOG
echo '{"version":"0","type":"state_patch","patch":{"NAME":'$(wc -l < LOG)'}}'
if [ NAME = b ] && [ ! -e GO ]; then
    until python3 -c "
import sqlite3, sys
parts = sqlite3.connect('STORE').execute('SELECT count(*) FROM part WHERE instr(body, ?)', (b'through a',))
sys.exit(parts.fetchone() == (0,))"; do :; done
    kill -9 $(cat PID)
    sleep 600
fi
echo '{"version":"0","type":"done","ok":true,"summary":"through NAME"}'
"""


def counting_tool(name, folder):
    words = {"NAME": name, "LOG": folder / f"{name}.log", "GO": folder / "go", "PID": folder / "pid",
             "STORE": folder / "saves.db"}
    text = COUNTING
    for word, value in words.items():
        text = text.replace(word, str(value))
    return text


@pytest.fixture
def counting(command, tmp_path):
    """A story whose prompt "both" runs a, b and c. Once the end of a is stored, b kills the game,
    unless the file "go" exists."""
    tools = [{"toolId": "a", "toolPath": "tools/a"},
             {"toolId": "b", "toolPath": "tools/b", "dependencies": ["a"]},
             {"toolId": "c", "toolPath": "tools/c"}]
    (tmp_path / "go").touch()
    return command.story({"both": [{"plan": {"tools": tools}}]},
                         {name: counting_tool(name, tmp_path) for name in "abc"})


def runs(tmp_path):
    return {name: len((tmp_path / f"{name}.log").read_text().splitlines()) for name in "abc"}


def test_again_also_runs_dependent_tools(command, counting, tmp_path):
    kept = ["--store", tmp_path / "saves.db", "--session", "s"]
    assert command("play", "--story", counting, *kept, "both").status == 0
    command("session", "again", *kept, "--tools", "a").exits(0)
    assert runs(tmp_path) == {"a": 2, "b": 2, "c": 1}
    assert json.loads(command("session", "state", *kept).out) == {"a": 2, "b": 2, "c": 1}
    command("session", "again", *kept, "--tools", "a,z").exits(2, 'no tool "z"; it has "a", "b", "c"')


def test_interrupted_turn_is_resumed(command, counting, tmp_path):
    kept = ["--store", tmp_path / "saves.db", "--session", "s"]
    (tmp_path / "go").unlink()
    game = command.popen("play", "--story", counting, *kept, "both")
    (tmp_path / "pid").write_text(str(game.pid))
    game.communicate()
    assert game.returncode == -signal.SIGKILL
    (tmp_path / "go").touch()
    assert command("session", "tree", *kept).out == "  1 both (interrupted)\n"
    command("session", "go", *kept, "1").exits(2, "turn 1 was interrupted; resume it")
    command("play", "--story", counting, *kept, stdin=b"").shows('"both" was interrupted; /resume continues it')
    command("session", "resume", *kept).exits(0)
    assert runs(tmp_path) == {"a": 1, "b": 2, "c": 1}
    assert command("session", "tree", *kept).out == "  ├─ 1 both (interrupted)\n* 2 both\n"
    command("session", "resume", *kept, "2").exits(2, "turn 2 was not interrupted")


def test_replay_compares_the_state_of_each_turn(command, counting, tmp_path):
    kept = ["--store", tmp_path / "saves.db", "--session", "s"]
    assert command("play", "--story", counting, *kept, "both", "both").status == 0
    command("replay", *kept).exits(0, out="2 turns; each ends in its stored state\n")
    assert runs(tmp_path) == {"a": 2, "b": 2, "c": 2}, "no tool is started"
    with sqlite3.connect(tmp_path / "saves.db") as store:
        store.execute("UPDATE turn SET state_digest = state_digest + 1 WHERE number = 2")
    ran = command("replay", *kept).exits(1)
    assert ran.out.startswith("turn 2: the state differs: ")
    assert ran.out.endswith("\n1 of 2 turns differs\n")


def test_secrets_are_not_in_the_store(command, tmp_path):
    story = command.story({"tell": [{"plan": {"tools": [{"toolId": "t", "toolPath": "tools/tell"}]}}]},
                          {"tell": "#!/bin/sh\necho '{\"version\":\"0\",\"type\":\"state_patch\",'"
                                   "'\"patch\":{\"key\":\"'$SHOP_KEY'\"}}'\n"
                                   "echo $SHOP_KEY >&2\n"
                                   """echo '{"version":"0","type":"done","ok":true}'\n"""},
                          'title = "A test"\n[sandbox]\nsecrets_allowed = ["SHOP_KEY"]\n')
    store = tmp_path / "saves.db"
    command("play", "--story", story, "--store", store, "--session", "s", "tell",
            env=environment(SHOP_KEY="planted-4711")).exits(0)
    assert json.loads(command("session", "state", "--store", store, "--session", "s").out) == {"key": "***"}
    assert b"planted-4711" not in b"".join(file.read_bytes() for file in tmp_path.glob("saves.db*"))


def test_list_names_the_sessions(play, session):
    play("I light the torch")
    assert session("list").out.startswith("evening  1 turn  begun ")
    assert json.loads(session("list", "--json").out)[0]["id"] == "evening"


@pytest.mark.parametrize("arguments, said", [
    (["session", "list", "--store", "missing.db"], "missing.db"),
    (["session", "tree", "--store", "saves.db", "--session", "nobody"],
     'no session "nobody"; it has "evening"'),
    (["session", "tree", "--store", "saves.db", "--session", "evning"], 'did you mean "evening"?'),
    (["session", "state", "--store", "saves.db", "--session", "evening", "--at", "7"], "no turn 7; its last turn is 1"),
])
def test_missing_store_session_or_turn_is_refused(command, play, tmp_path, arguments, said):
    play("I light the torch")
    command(*arguments, cwd=tmp_path).exits(2, said)
    assert not (tmp_path / "missing.db").exists()


def test_game_in_use_is_not_opened_twice(command, play, session):
    first = command.popen("play", "--story", TORCH, "--store", "saves.db", "--session", "evening",
                          stdin=subprocess.PIPE)
    assert first.stdout.readline()
    play("I light the torch").exits(2, "is already being played")
    assert session("list").status == 0, "it can be read"
    first.communicate(b"")


def test_killed_game_continues_after_its_last_complete_turn(command, play, session, tmp_path):
    play("I light the torch")
    before = session("state").out
    game = command.popen("play", "--story", TORCH, "--store", "saves.db", "--session", "evening",
                         "I pull the lever", *["I light the torch"] * 50)
    deadline = time.monotonic() + 300
    while json.loads(session("tree", "--json").out)["turns"][-1]["id"] < 4:
        assert time.monotonic() < deadline
    game.send_signal(signal.SIGKILL)
    game.communicate()
    turns = json.loads(session("tree", "--json").out)["turns"]
    assert {turn["status"] for turn in turns[:-1]} == {"completed"}
    assert turns[-1]["status"] in ("completed", "interrupted")
    assert json.loads(session("state", "--at", "1").out) == json.loads(before)
    assert play("I light the torch").status == 0
    with sqlite3.connect(tmp_path / "saves.db") as store:
        assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_tree_shows_branches_beside_the_current_path(play, session):
    play("one", "two", "three")
    session("go", "1")
    play("other", "more")
    session("go", "4")
    play("again")
    session("go", "3")
    assert session("tree").out == ("  1 one\n"
                                   "  ├─ 4 other\n"
                                   "  │  ├─ 5 more\n"
                                   "  │  6 again\n"
                                   "  2 two\n"
                                   "* 3 three\n")


def test_concurrent_new_games_get_separate_sessions(command, tmp_path):
    store = tmp_path / "saves.db"
    games = [command.popen("play", "--story", TORCH, "--store", store, "--new", "open", stdout=subprocess.DEVNULL)
             for _ in range(8)]
    assert [game.wait() for game in games] == [0] * 8
    kept = json.loads(command("session", "list", "--store", store, "--json").out)
    assert [game["turns"] for game in kept] == [1] * 8


def test_game_belongs_to_the_story_of_its_last_turn(command, play, session):
    play("I light the torch")
    other = command.story({"say": [{"plan": {"tools": []}}]})
    assert play("--story", other, "say").status == 2, "given twice"

    def story():
        return json.loads(session("list", "--json").out)[0]["about"]["story"]

    def play_other(*prompts, **options):
        return command("play", "--story", other, "--store", "saves.db", "--session", "evening", *prompts, **options)

    ran = play_other(stdin=b"/quit\n")
    assert f"the game evening was last played with a different story, {TORCH}" in ran.err
    assert story() == str(TORCH), "no turn was played"
    play_other("say")
    assert story() == str(other)


def test_game_of_a_missing_story_is_named_when_a_new_one_begins(command, tmp_path):
    story = command.story({"say": [{"plan": {"tools": []}}]})
    store = ["--store", tmp_path / "saves.db"]
    command("play", "--story", story, *store, "say").exits(0)
    moved = story.rename(story.with_name("moved"))
    ran = command("play", "--story", moved, *store, "say").exits(0)
    assert f'if the story was in {story} before, continue its game "{story.name}" with --session' in ran.err


def test_story_whose_path_is_not_utf8_is_refused_with_a_store(command, tmp_path):
    story = command.story({"say": [{"plan": {"tools": []}}]}).rename(tmp_path / os.fsdecode(b"\xff"))
    command("play", "--story", story, "--store", tmp_path / "saves.db", "say").exits(2, "is not UTF-8")
    command("play", "--store", tmp_path / "saves.db", "say", cwd=story).exits(2, "is not UTF-8")


def test_game_whose_store_is_removed_is_lost(command, tmp_path):
    store = tmp_path / "saves.db"
    story = command.story({"lose": [{"plan": {"tools": [{"toolId": "t", "toolPath": "tools/lose"}]}}]},
                          {"lose": f"#!/bin/sh\nrm -f {store}\n"
                                   """echo '{"version":"0","type":"done","ok":true}'\n"""})
    command("play", "--story", story, "--store", store, "--session", "s", "lose", "lose").exits(
        1, "the game is lost: its store was removed")


@pytest.fixture
def on_small_disk(command, tmp_path):
    """A game whose store cannot grow, and a function that limits its files."""
    story = command.story({"say": [{"narrative": "told", "plan": {"tools": []}}]})
    game = ["--store", tmp_path / "saves.db", "--session", "s"]
    terminal = command.on_terminal("play", "--story", story, *game)

    def limit_files_to(size):
        resource.prlimit(terminal.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    terminal.prompt("say\n", "told")
    terminal.read_until(PROMPT_SIGN)
    limit_files_to(1024)
    terminal.type("say\n", "tries again")
    return terminal, game, limit_files_to


def test_turns_that_are_not_stored_are_counted(on_small_disk):
    terminal, _, _ = on_small_disk
    terminal.prompt("say\n", "told")
    terminal.prompt("/quit\n")
    ran = terminal.finish()
    assert ran.status == 1 and "the last 2 turns are not stored" in ran.out


def test_turns_are_stored_once_the_disk_has_room(command, on_small_disk):
    terminal, game, limit_files_to = on_small_disk
    terminal.read_until(PROMPT_SIGN)
    limit_files_to(resource.RLIM_INFINITY)
    terminal.type("say\n", "all turns are stored again")
    terminal.prompt("/quit\n")
    terminal.finish().exits(0)
    assert len(json.loads(command("session", "tree", *game, "--json").out)["turns"]) == 3


def test_pipe_is_not_a_store(session, play, tmp_path):
    os.mkfifo(tmp_path / "saves.db")
    session("list").exits(2, "saves.db\" is not a regular file")
    play("I light the torch").exits(2, "saves.db\" is not a regular file")


def test_damaged_store_is_refused_with_advice(session, play, tmp_path):
    play("I light the torch")
    with open(tmp_path / "saves.db", "r+b") as store:
        store.truncate(4096 * 3)
    session("tree").exits(2, f'sqlite3 "{tmp_path}/saves.db" .recover')


def test_empty_list_of_tools_is_refused(play, session):
    play("I light the torch")
    session("again", "--tools", " , ").exits(2, "contains no toolId")


# Root may write everywhere unless it drops these capabilities.
AS_A_USER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


@pytest.fixture
def user(tmp_path):
    """Runs the command without the rights of root."""
    def ran(*arguments):
        return subprocess.run([*AS_A_USER, NARRATORIA, *arguments], capture_output=True, text=True,
                              env=environment())
    yield ran
    tmp_path.chmod(0o700)


@pytest.mark.parametrize("read_only", [".", "saves.db"])
def test_unwritable_store_is_refused(play, user, tmp_path, read_only):
    play("I light the torch")
    (tmp_path / read_only).chmod(0o500)
    ran = user("play", "--story", TORCH, "--store", tmp_path / "saves.db", "--session", "evening",
               "I light the torch")
    assert ran.returncode == 2
    assert "saves.db" in ran.stderr and "the file and its folder must be writable" in ran.stderr


def test_new_store_in_a_read_only_folder_says_why(user, tmp_path):
    tmp_path.chmod(0o500)
    ran = user("play", "--story", TORCH, "--store", tmp_path / "saves.db", "I light the torch")
    assert ran.returncode == 2 and "cannot be created: Permission denied" in ran.stderr, ran


def test_store_on_a_read_only_medium_is_readable(play, user, tmp_path):
    play("I light the torch")
    odd = tmp_path / "a %3f b?#.db"
    (tmp_path / "saves.db").rename(odd)
    odd.chmod(0o400)
    tmp_path.chmod(0o500)
    ran = user("session", "tree", "--store", odd, "--session", "evening")
    assert (ran.returncode, ran.stdout) == (0, "* 1 I light the torch\n"), ran


def test_wal_file_on_a_read_only_medium_is_reported(play, user, tmp_path):
    play("I light the torch")
    (tmp_path / "saves.db-wal").write_bytes(b"")
    tmp_path.chmod(0o500)
    ran = user("session", "tree", "--store", tmp_path / "saves.db", "--session", "evening")
    assert ran.returncode == 2 and "its folder writable if FILE-wal exists" in ran.stderr, ran


def test_store_with_two_hard_links_is_refused(play, command, tmp_path):
    play("I light the torch")
    os.link(tmp_path / "saves.db", tmp_path / "other.db")
    ran = command("play", "--story", TORCH, "--store", tmp_path / "other.db", "--new", "open")
    assert ran.status == 2 and "has 2 names (hard links)" in ran.err
