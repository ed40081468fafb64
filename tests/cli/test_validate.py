# SPDX-License-Identifier: Apache-2.0
"""narratoria validate: every fault, with its place."""

import json
import shutil

import pytest

from harness import BUILD, TORCH, done, environment, log

PLAN = '{"requestId": "p", "tools": []}\n'
# Two faults, on lines 2 and 4.
BROKEN = '{"requestId": "p",\n "parallel": 1,\n "tools": [\n  {"toolId": "", "toolPath": "x"}]}\n'


def test_document_without_faults_exits_with_0(command):
    assert command("validate", "plan", command.file("plan.json", PLAN)).exits(0).err == ""


def test_fault_is_a_line_with_place_pointer_and_rule(command):
    command.file("plan.json", BROKEN)
    ran = command("validate", "plan", "plan.json").exits(1)
    first, second = ran.lines
    assert first.startswith("plan.json:2:14: /parallel: ") and first.endswith("]")
    assert second.startswith("plan.json:4:14: /tools/0/toolId: ") and second.endswith("]")


def test_misspelled_plan_member_is_a_warning_with_a_suggestion(command):
    plan = command.plan("/bin/true", narratives="")
    ran = command("validate", "plan", plan).exits(0)
    assert f"{plan}:1:" in ran.lines[0] and "warning: /narratives: " in ran.lines[0]
    assert 'did you mean "narrative"?' in ran.lines[0]
    assert ran.lines[1] == f"{plan}: no faults"
    document = json.loads(command("validate", "plan", plan, "--json").out)
    assert document["ok"] is True
    assert [fault["level"] for fault in document["files"][0]["faults"]] == ["warning"]


def test_several_files_are_checked_and_named(command):
    command.file("good.json", PLAN)
    command.file("bad.json", BROKEN)
    ran = command("validate", "plan", "good.json", "bad.json").exits(1)
    assert [line.split(":")[0] for line in ran.lines] == ["good.json", "bad.json", "bad.json"]


def test_standard_input_is_checked_like_a_file(command):
    ran = command("validate", "plan", "-", stdin=BROKEN).exits(1)
    assert ran.lines[0].startswith("standard input:2:14: ")


def test_manifest_faults_have_their_places(command):
    text = '{"name": "weather",\n "input": {"properties": {"a": {"type": "objekt"}}},\n "limit": {}}\n'
    ran = command("validate", "tool", command.file("weather.tool.json", text)).exits(1)
    first, second = ran.lines
    assert "weather.tool.json:2:41: /input/properties/a/type: " in first
    assert "weather.tool.json:3:11: /limit: " in second and '"limits"' in second


def test_misspelled_keyword_of_a_schema_is_a_warning(command):
    text = '{"input": {"requird": ["a"], "x-note": 1,\n "properties": {"propertys": {"tpye": "string"}}}}\n'
    ran = command("validate", "tool", command.file("weather.tool.json", text)).exits(0)
    first, second = sorted(ran.lines)[1:]
    assert ':1:23: warning: /input/requird: "requird" is not a keyword' in first and 'did you mean "required"?' in first
    assert ':2:39: warning: /input/properties/propertys/tpye: ' in second and 'did you mean "type"?' in second


def test_help_names_strict_only_where_it_exists(command):
    for document in ("project", "story"):
        said = command("validate", document, "--help").exits(0).out
        assert ("unless --strict is given" in said) == (document == "story"), said


def test_name_in_a_manifest_must_match_the_file_name(command):
    text = '{"description": "Rings.",\n "name": "bell"}\n'
    assert command("validate", "tool", command.file("bell.tool.json", text)).status == 0
    file = command.file("gong.tool.json", text)
    ran = command("validate", "tool", file).exits(1)
    assert ran.lines == [f'{file}:2:10: /name: "name" is "bell" but must be "gong", as in the name of the file '
                         "[manifest-name]"]
    # Standard input has no file name to match. `validate story` reports the same place.
    assert command("validate", "tool", "-", stdin=text).status == 0
    folder = story_with(command)
    (folder / "tools" / "lamp.tool.json").write_text(text)
    ran = command("validate", "story", folder)
    assert ran.status == 1 and ran.lines[0].startswith(f"{folder}/tools/lamp.tool.json:2:10: /name: "), ran


# covers: 003-13.7-event-schema
def test_tool_output_is_checked_line_by_line(command):
    text = "\n".join([log("fine"), "no JSON", log("loud", level="shout"), done()]) + "\n"
    ran = command("validate", "event", command.file("out.ndjson", text)).exits(1)
    assert [line.split("out.ndjson:")[1].split(":")[0] for line in ran.lines] == ["2", "3"]
    assert ": /level: " in ran.lines[1]


def test_missing_done_and_events_after_done_are_warnings(command):
    for lines, line, said in (([log("one"), log("two")], 2, "event-done-missing"),
                              ([log("one"), done(), log("late"), done()], 3, "event-after-done")):
        ran = command("validate", "event", "-", stdin="\n".join(lines)).exits(0)
        assert ran.lines[0].startswith(f"standard input:{line}:1: warning: ") and said in ran.lines[0], ran
        assert len(ran.lines) == 2, ran


# covers: 003-13.7-result-schema
def test_output_of_run_is_a_valid_result(command):
    plan = command.plan(command.tool("light", log("hot"), done()), command.tool("break", exit_status=3))
    result = command("run", plan, "--quiet").out
    command("validate", "result", "-", stdin=result).exits(0)


# covers: 003-13.7-plan-schema
def test_sample_plans_are_valid(command):
    command("validate", "plan", TORCH / "sample-plan.json", TORCH / "replan-plan.json").exits(0)


def test_story_folder_is_validated(command):
    assert command("validate", "story", TORCH).status == 0
    story = command.story({"go": [{"narrative": "{nobody}"}]}, toml='title = "T"\nunheard = 1\n')
    ran = command("validate", "story", story).exits(1)
    assert any("story.toml:2" in line and "unheard" in line for line in ran.lines), ran
    assert any("prompts.json:1" in line and "nobody" in line for line in ran.lines), ran


def test_json_output_has_place_pointer_and_rule(command):
    command.file("plan.json", BROKEN)
    ran = command("validate", "plan", "plan.json", "--json").exits(1)
    document = json.loads(ran.out)
    assert document["ok"] is False
    (file,) = document["files"]
    assert file["file"] == "plan.json"
    assert [(fault["line"], fault["pointer"]) for fault in file["faults"]] == [
        (2, "/parallel"), (4, "/tools/0/toolId")]
    assert {"column", "byte", "rule", "message"} <= set(file["faults"][0])


@pytest.mark.parametrize("arguments", [["plan", "missing.json"], ["plan", "."], ["tool", "missing.tool.json"], ["story", "missing"],
                                       ["story", "-"]])
def test_unreadable_document_exits_with_2(command, arguments):
    ran = command("validate", *arguments).exits(2, out="")
    assert ran.err.startswith("narratoria validate " + arguments[0] + ": ")


def test_unreadable_file_does_not_stop_the_other_checks(command):
    command.file("bad.json", BROKEN)
    ran = command("validate", "plan", "missing.json", "bad.json", "--json").exits(2)
    first, second = json.loads(ran.out)["files"]
    assert "error" in first and first["faults"] == []
    assert len(second["faults"]) == 2


@pytest.mark.parametrize("arguments", [[], ["poem", "x"], ["plan"]])
def test_misuse_exits_with_2(command, arguments):
    command("validate", *arguments).exits(2, "--help", out="")


# ---------------------------------------------------------------- stories


def story_with(command, toml="", plan=None):
    """A complete story, except for the arguments; its plan is on line 3."""
    folder = command.story({}, {"lamp": "#!/bin/sh\n"}, f'title = "T"\n{toml}')
    plan = plan or '{"tools": [{"toolId": "lamp", "toolPath": "tools/lamp"}]}'
    (folder / "prompts.json").write_text(
        '{"prompts": [\n {"patterns": ["go"], "answers": [{"plan":\n' + plan + "}]}]}\n")
    return folder


@pytest.mark.parametrize("toml, plan, place, said", [
    ("", '{"tools": [{"toolId": "a", "toolPath": "lamp", "dependancies": []}]}',
     "prompts.json:3:48: warning: /prompts/0/answers/0/plan/tools/0/dependancies: ",
     'did you mean "dependencies"?'),
    ("", '{"tools": [{"toolId": "a", "toolPath": "tools/lmap"}]}',
     "prompts.json:3:40: warning: /prompts/0/answers/0/plan/tools/0/toolPath: ",
     'did you mean "tools/lamp"?'),
    ("", '{"tools": [], "narrative": "a", "narrative": "b"}',
     "prompts.json:3:33: warning: /prompts/0/answers/0/plan/narrative: ", "the last one is used"),
    ('[tools]\nallow_paths = ["tool", "tools"]\n', None,
     "story.toml:3:16: warning: /tools/allow_paths/0: ", 'did you mean "tools"?'),
    ('[narrator]\nname = "templat"\n', None,
     "story.toml:3:8: warning: /narrator/name: ", 'did you mean "template"?'),
    ('[plugins."narratoria.event_lgo"]\nfile = "x"\n', None,
     "story.toml:2:10: warning: /plugins/narratoria.event_lgo: ", 'did you mean "narratoria.event_log"?'),
], ids=["member", "tool", "duplicate", "allowed path", "narrator", "plugin"])
def test_unknown_name_in_a_story_is_a_warning_with_a_suggestion(command, toml, plan, place, said):
    story = story_with(command, toml, plan)
    ran = command("validate", "story", story).exits(0)
    assert ran.lines[0].startswith(f"{story}/{place}"), ran
    assert said in ran.lines[0]
    assert len(ran.lines) == 2 and ran.lines[1].endswith("no faults"), ran


@pytest.mark.parametrize("toml, place, said", [
    ('[plugins."narratoria.launcher"]\ncommand = ["nice"]\ncomands = {}\n',
     "story.toml:4:1: warning: /plugins/narratoria.launcher/comands: ",
     '"comands" is unknown; did you mean "commands"?'),
    ('[plugins."narratoria.launcher".commands]\nfar = [\n"ssh", 1]\n',
     "story.toml:4:8: warning: /plugins/narratoria.launcher/commands/far/1: ",
     '"commands/far/1" is an integer but must be a string'),
    ('[narrator]\nname = "narratoria.narrator_llm"\n[plugins."narratoria.narrator_llm"]\nserver = "ollama"\n',
     "story.toml:4:10: warning: /plugins/narratoria.narrator_llm/model: ", '"model" is missing'),
    ('[narrator]\nname = "narratoria.narrator_process"\n',
     "story.toml:3:8: warning: /plugins/narratoria.narrator_process/command: ",
     'the plugin "narratoria.narrator_process" needs the setting "command"; '
     'write [plugins."narratoria.narrator_process"] command = …'),
], ids=["unknown", "inner", "missing", "no table"])
def test_setting_that_violates_the_schema_of_its_plugin_is_a_warning(command, toml, place, said):
    story = story_with(command, toml)
    ran = command("validate", "story", story).exits(0)
    assert ran.lines[0].startswith(f"{story}/{place}"), ran
    assert ran.lines[0].endswith(f"{said} [story-plugin-setting]"), ran
    assert len(ran.lines) == 2, ran


def test_complete_story_has_no_warnings(command):
    assert len(command("validate", "story", story_with(command)).lines) == 1
    # The installed copy, because one of its tools is compiled.
    assert len(command("validate", "story", BUILD / "share" / "narratoria" / "stories" / "torch").lines) == 1


@pytest.mark.parametrize("script, status, line", [
    ("PRINT(1)\nIF true PRINT(1) END", 1,
     "tale.nuwa:2:9: ParserError: Expected 'THEN' after IF condition. at 2:9 [story-script]"),
    ("", 0, "tale.nuwa:1:1: warning: the script has no PRINT and no CALL, so the player sees nothing "
     "[story-script-silent]"),
    ("LET a = @", 1, "tale.nuwa:1:9: LexerError: Unknown character '@' at line 1, column 9 [story-script]"),
    ("PRINT(1)\n  CALL lmap {}", 0,
     'tale.nuwa:2:3: warning: CALL lmap: no tool of the story has this name; did you mean "lamp"? '
     "[story-tool-missing]"),
    ("PRINT(promt)", 0,
     "tale.nuwa:1:7: warning: UndefinedVariableError: Variable 'promt' not defined; did you mean \"prompt\"? "
     "[story-script-fails]"),
    ("CALL lamp { a: CALL lamp { n: random, p: prompt, s: state, d: disabledSkills } }", 0, None),
], ids=["parser", "silent", "lexer", "tool", "variable", "valid"])
def test_story_script_and_its_calls_are_checked(command, script, status, line):
    folder = story_with(command, '[narrator]\nname = "tale.nuwa"\n')
    (folder / "tale.nuwa").write_text(script)
    ran = command("validate", "story", folder)
    assert ran.status == status, ran
    assert len(ran.lines) == (1 if line is None or status == 1 else 2), ran
    assert line is None or ran.lines[0] == f"{folder}/{line}"


def test_ambiguous_tool_name_in_a_script_is_a_warning(command):
    folder = story_with(command, '[narrator]\nname = "tale.nuwa"\n')
    command.script("story/tools/lamp.py", "#!/usr/bin/env python3\n")
    (folder / "tale.nuwa").write_text("CALL lamp {}")
    ran = command("validate", "story", folder).shows("tale.nuwa:1:1: warning: CALL lamp: the name means ")
    assert "rename one of them [story-tool-ambiguous]" in ran.out


def test_tool_that_only_a_plugin_can_bring_is_a_warning(command):
    folder = story_with(command, '[narrator]\nname = "tale.nuwa"\n',
                        '{"tools": [{"toolId": "a", "toolPath": "roll"}]}')
    (folder / "tale.nuwa").write_text("CALL rool {}\nCALL lamp {}")
    (folder / "plugins").mkdir()
    shutil.copy(BUILD / "tests" / "plugins" / "probe.so", folder / "plugins")
    ran = command("validate", "story", folder)
    assert ran.status == 0 and len(ran.lines) == 3, ran
    assert ran.lines[0].startswith(f'{folder}/prompts.json:3:') and '"roll" is not a file of the story' in ran.lines[0]
    assert ran.lines[1].startswith(f"{folder}/tale.nuwa:1:1: warning: CALL rool: no file in tools/ has this name")
    for line in ran.lines[:2]:
        assert "only a plugin can provide it (" in line and "[story-tool-plugin]" in line
        assert f"narratoria validate story --plugins {folder} loads it and checks" in line
    assert ran.lines[2].endswith("no faults")
    faults = command("validate", "story", folder, "--json").result["files"][0]["faults"]
    assert [fault["tool"] for fault in faults] == ["roll", "rool"]


def test_plugins_option_warns_only_of_tools_that_are_missing(command):
    folder = story_with(command, '[narrator]\nname = "tale.nuwa"\n',
                        '{"tools": [{"toolId": "a", "toolPath": "probe_add"}, {"toolId": "b", "toolPath": "roll"}]}')
    (folder / "tale.nuwa").write_text("CALL probe_add { a: 1 }\nCALL rool {}")
    (folder / "plugins").mkdir()
    shutil.copy(BUILD / "tests" / "plugins" / "probe.so", folder / "plugins")
    ran = command("validate", "story", "--plugins", folder)
    assert ran.status == 0 and ran.err == "", ran
    assert [line.split(": warning: ")[1] for line in ran.lines[:-1]] == [
        '/prompts/0/answers/0/plan/tools/1/toolPath: "roll": neither a file in tools/ nor a plugin of the story '
        "provides this tool [story-tool-missing]",
        "CALL rool: neither a file in tools/ nor a plugin of the story provides this tool [story-tool-missing]"]
    # No plugin is loaded for a story with faults.
    (folder / "tale.nuwa").write_text("CALL")
    command("validate", "story", "--plugins", folder).exits(1).shows("ParserError", "story-tool-plugin")


def test_tool_of_a_plugin_with_the_name_of_a_file_is_a_warning(command):
    folder = story_with(command)
    (folder / "plugins").mkdir()
    shutil.copy(BUILD / "tests" / "plugins" / "probe.so", folder / "plugins")
    command.script("story/tools/probe_add", "#!/bin/sh\n")
    ran = command("validate", "story", "--plugins", folder).exits(0)
    assert ran.lines[0].startswith(f'{folder}/tools: warning: "probe_add" is a registered tool of the plugin test.probe')
    assert len(ran.lines) == 2, ran


def test_plugin_that_refuses_to_start_is_named_by_all_who_load_it(command):
    folder = story_with(command)
    (folder / "plugins").mkdir()
    shutil.copy(BUILD / "tests" / "plugins" / "refuses.so", folder / "plugins")
    assert len(command("validate", "story", folder).lines) == 1, "no code of the story runs"
    ran = command("validate", "story", "--plugins", folder)
    assert ran.status == 0 and ran.err == "", ran
    assert ran.lines[0] == (f'{folder}/story.toml: warning: the plugin "test.refuses" is left out: it refuses this '
                            "host (ABI 1.0): it wants a host of ABI 9, and this is 1 [story-plugin-refused]")
    assert "plugin test.refuses is left out" in command("play", "go", "--story", folder, "--no-store").out
    ran = command("test", "--story", folder, "--walks", "3")
    assert ran.err.count("plugin test.refuses is left out") == 1, ran


def test_missing_script_is_the_only_fault(command):
    folder = story_with(command, '[narrator]\nname = "tale.nuwa"\n')
    (line,) = command("validate", "story", folder).exits(1).lines
    assert line.startswith(f'{folder}/story.toml:3:8: /narrator/name: the script "tale.nuwa"'), line
    assert "does not exist" in line


TIMES = ["try_ms", "plan_ms", "narrator_ms", "prompt_ms", "grace_ms"]


@pytest.mark.parametrize("value, is_fine", [(4294967294, True), (4294967295, False), (4294967297, False)])
def test_time_out_of_range_is_refused_with_the_maximum(command, value, is_fine):
    toml = "[times]\n" + "".join(f"{key} = {value}\n" for key in TIMES)
    ran = command("validate", "story", story_with(command, toml))
    assert (ran.status == 0) == is_fine, ran
    refused = [key for key in TIMES for line in ran.lines
               if f"/times/{key}: " in line and f"must be at most 4294967294, not {value}" in line]
    assert refused == ([] if is_fine else TIMES), ran


def test_unknown_key_of_a_story_gets_a_suggestion(command):
    command("validate", "story", story_with(command, "[openning]\n")).shows('did you mean "opening"?')


def test_duplicate_keys_of_a_plan_are_warnings(command):
    ran = command("validate", "plan", command.file("plan.json", '{"requestId": "a", "tools": [], "tools": []}'))
    assert ran.status == 0, ran
    assert ran.lines[0].startswith("plan.json:1:33: warning: /tools: ") or "/plan.json:1:33: warning: /tools: " in ran.lines[0]


def test_faults_of_several_stories_name_their_folders(command):
    for name in ("one", "two"):
        command.story({"go": [{"narrative": "Gone."}]}, toml='title = "T"\nunheard = 1\n', name=name)
    ran = command("validate", "story", "one", "two/")
    assert [line.split(":")[0] for line in ran.lines] == ["one/story.toml", "two/story.toml"], ran
    ran = command("validate", "story", ".", cwd=command.folder / "one")
    assert ran.lines[0].startswith("story.toml:2:1: /unheard: "), ran


def test_missing_file_has_no_position(command):
    (command.folder / "empty").mkdir()
    ran = command("validate", "story", "empty")
    assert ran.status == 1 and ran.out.startswith("empty/story.toml: there is no story.toml in "), ran
    (fault,) = json.loads(command("validate", "story", "empty", "--json").out)["files"][0]["faults"]
    assert fault["file"] == "story.toml" and not {"line", "column", "byte"} & set(fault)


def test_opening_choice_without_a_pattern_is_a_warning(command):
    toml = 'title = "T"\n[opening]\nchoices = ["Go!", "fly away"]\n'
    story = command.story({"go": [{"narrative": "Gone.", "choices": ["go"]}]}, toml=toml)
    ran = command("validate", "story", story)
    assert ran.status == 0 and len(ran.lines) == 2, ran
    assert ran.lines[0].startswith(f"{story}/story.toml:3:19: warning: /opening/choices/1: "), ran
    assert '"fly away"' in ran.lines[0] and '"unmatched"' in ran.lines[0]


def test_safe_mode_reports_the_plugins_it_leaves_out(command):
    story = command.story({"go": [{"narrative": "Gone."}]})
    (story / "plugins").mkdir()
    shutil.copy(BUILD / "lib" / "narratoria" / "plugins" / "event_log.so", story / "plugins" / "own.so")
    safe = environment(NARRATORIA_SAFE_MODE="1")
    said = "own.so"
    assert said not in command("play", "--verbose", "--story", story, "go").out
    ran = command("play", "--verbose", "--story", story, "go", env=safe)
    assert ran.status == 0 and ran.out.count(said) == 1 and "NARRATORIA_SAFE_MODE" in ran.out, ran
    ran = command("validate", "story", story, env=safe)
    assert ran.status == 0 and ran.lines[0].startswith(f"{story}/plugins/own.so: warning: "), ran


def test_strict_makes_warnings_faults(command):
    story = command.story({"go": [{"narrative": "n"}, {"narrative": "never"}]})
    assert command("validate", "story", story).status == 0
    ran = command("validate", "story", "--strict", story).exits(1).shows("[story-answer-unreached]")
    assert "no faults" not in ran.out
