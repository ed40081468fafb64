# SPDX-License-Identifier: Apache-2.0
"""narratoria plugin list: the plugins that load, and why the others do not."""

import json
import shutil

import pytest

from harness import BUILD, environment

PROBE = BUILD / "tests" / "plugins" / "probe.so"


def test_installed_plugins_are_listed_with_their_versions(command):
    command("plugin", "list").exits(0).shows("narratoria.console 1.0.0", "not requested")


def test_story_loads_plugins_from_its_plugins_folder(command):
    command.story({"go": [{"narrative": "Gone."}]})
    plugins = command.folder / "story" / "plugins"
    plugins.mkdir()
    shutil.copy(PROBE, plugins / "rain.so")
    (plugins / "text.so").write_text("no library")
    ran = command("plugin", "list", "--explain", "--story", "story").exits(0)
    ran.shows("rain.so (test.probe 1.2.3): loads", "text.so: refused: it is not a shared library")
    assert "(the story)" in ran.out


def test_file_is_listed_once(command):
    command.story({"go": [{"narrative": "Gone."}]})
    plugins = command.folder / "story" / "plugins"
    plugins.mkdir()
    rain = plugins / "rain.so"
    shutil.copy(PROBE, rain)
    (plugins / "text.so").write_text("no library")
    for wishes in ((), (str(rain),), ("story/plugins/rain.so", str(rain)), ("story/plugins/text.so",)):
        options = [option for wish in wishes for option in ("--plugin", wish)]
        ran = command("plugin", "list", "--explain", "--story", "story", *options,
                      env=environment(NARRATORIA_PLUGIN_PATH=str(plugins))).exits(0)
        assert ran.out.count("rain.so") == ran.out.count("rain.so (test.probe 1.2.3): loads") == 1, ran
        assert ran.out.count("text.so") == ran.out.count("text.so: refused: it is not a shared library") == 1, ran


def test_requested_but_missing_plugin_is_reported(command):
    ran = command("plugin", "list", "--explain", "--plugin", "org.example.nowhere")
    assert "org.example.nowhere: requested by the host: no folder has a plugin with this id" in ran.out


@pytest.mark.parametrize("words, meant", [
    (("--plugin", "narratoria.wbe"), "narratoria.web"), (("--narrator", "templat"), "template"),
    # narratoria.web is similar, but no narrator.
    (("--narrator", "narratoria.wbe"), None)])
def test_unknown_plugin_of_play_is_refused_with_a_similar_id(command, words, meant):
    ran = command("play", "--story", command.story({"go": [{"narrative": "Gone."}]}), *words, "go")
    assert ran.status == 2 and "no folder has a plugin with this id" in ran.err, ran
    assert (f'; did you mean "{meant}"?' in ran.err) if meant else ("did you mean" not in ran.err), ran
    assert "requested by" not in ran.err, ran


def test_json_output_lists_the_search_places(command):
    ran = command("plugin", "list", "--json")
    found = json.loads(ran.out)
    assert found["safeMode"] is False
    assert "the installation" in [place["from"] for place in found["places"]]
    settings = {file["id"]: file.get("settings") for place in found["places"] for file in place["files"]}
    assert "file" in settings["narratoria.event_log"]["properties"]


def test_safe_mode_refuses_the_plugins_of_a_story(command):
    command.story({"go": [{"narrative": "Gone."}]})
    plugins = command.folder / "story" / "plugins"
    plugins.mkdir()
    shutil.copy(PROBE, plugins / "rain.so")
    ran = command("plugin", "list", "--explain", "--story", "story",
                  env=environment(NARRATORIA_SAFE_MODE="1"))
    assert "rain.so (test.probe 1.2.3): refused: NARRATORIA_SAFE_MODE is set" in ran.out


def test_story_with_faults_is_refused(command):
    (command.folder / "story").mkdir()
    command("plugin", "list", "--story", "story").exits(2, "story.toml")


def test_play_refuses_a_bad_plugin_option_but_skips_a_bad_file(command):
    command.story({"go": [{"narrative": "Gone."}]})
    command("play", "--verbose", "--story", "story", "--plugin", str(PROBE), "go").exits(0).shows("Gone.")
    (command.folder / "bad.so").write_text("no library")
    for wish, reason in (("./bad.so", "it is not a shared library"), ("bad.so", "./bad.so"),
                         ("./nothing.so", "No such file"), ("org.example.no", "no folder has")):
        ran = command("play", "--verbose", "--story", "story", "--plugin", wish, "go").exits(2, out="")
        assert f"--plugin {wish}: " in ran.err and reason in ran.err
    plugins = command.folder / "story" / "plugins"
    plugins.mkdir()
    (plugins / "bad.so").write_text("no library")
    ran = command("play", "--verbose", "--story", "story", "go").exits(0).shows("Gone.")
    assert ran.out.count("bad.so is left out") == 1, ran


def test_plugin_logs_are_shown_with_log_info(command):
    command.story({"go": [{"narrative": "Gone."}]}, toml='title = "T"\n[plugins."test.probe"]\ndo = "chat"\n')
    arguments = ("play", "--story", "story", "--plugin", str(PROBE), "go")
    assert "test.probe: good day" not in command(*arguments).out
    assert "test.probe: good day" in command(*arguments[:1], "--log", "info", *arguments[1:]).out
    assert command("play", "--log", "loud", "go").status == 2


def test_plugin_runs_while_play_waits_for_input(command):
    command.story({"go": [{"narrative": "Gone."}]}, toml='title = "T"\n[plugins."test.probe"]\ndo = "chat_later"\n')
    terminal = command.on_terminal("play", "--verbose", "--story", "story", "--plugin", str(PROBE))
    terminal.read_until("a while has passed")
    terminal.type("\x04")
    assert terminal.finish().status == 0


def test_narrator_option_selects_a_plugin(command):
    command.story({"go": [{"narrative": "Gone."}]})
    command("play", "--story", "story", "--plugin", str(PROBE),
            "--narrator", "test.probe", "go").exits(0).shows("The probe speaks.")
