# SPDX-License-Identifier: Apache-2.0
"""Commands, plans, stories and scripts use the tools of a project, and its settings apply to them."""

from harness import environment
from project_folders import Project, bound

# The prompts of a story that calls the tool.
GREETING = {"hello": [{"plan": {"narrative": "Hi", "tools": [
    {"toolId": "one", "toolPath": "greeter", "input": {"name": "Ada"}}]}}]}


# covers: 001-timeouts
def test_timeout_is_from_binding_then_variable_then_file(project):
    def time_out(**env):
        return bound(project, "greet", env=environment(**env))["times"]["try_ms"]

    project.tool("greet")
    assert time_out() == 10_000
    project.write("namel3ss.toml", "[python_tools]\ntimeout_seconds = 3\n")
    assert time_out() == 3000
    assert time_out(N3_PYTHON_TOOL_TIMEOUT_SECONDS="4") == 4000
    project.tool("greet", "timeout_seconds: 7")
    assert time_out(N3_PYTHON_TOOL_TIMEOUT_SECONDS="4") == 7000
    project.tool("greet", "timeout_ms: 250", "timeout_seconds: 7")
    assert time_out() == 250
    ran = project.command("tool", "list", "--project", project.folder,
                          env=environment(N3_PYTHON_TOOL_TIMEOUT_SECONDS="soon"))
    assert ran.status == 2 and "N3_PYTHON_TOOL_TIMEOUT_SECONDS" in ran.err, ran


def test_service_url_is_from_binding_then_variable_then_file(project):
    project.tool("greet", "runner: service")
    assert "N3_TOOL_SERVICE_URL" in project.faults()
    project.write("namel3ss.toml", '[python_tools]\nservice_url = "http://file/x"\n')
    assert bound(project, "greet")["binding"]["url"] == "http://file/x"
    env = environment(N3_TOOL_SERVICE_URL="http://variable/x")
    assert bound(project, "greet", env=env)["binding"]["url"] == "http://variable/x"
    project.tool("greet", "runner: service", "url: http://binding/x")
    assert bound(project, "greet", env=env)["binding"]["url"] == "http://binding/x"


def test_script_calls_the_tools_of_a_project(project):
    script = project.command.file("a.nuwa", 'LET said = CALL greeter { name: "Ada" }\nPRINT(said.message)\n')
    project.command("script", script, "--project", project.folder).exits(0, out="Hello Ada\n")
    project.bind("tools: 7\n")
    project.command("script", script, "--project", project.folder).exits(2, "tools.yaml:1:", "the project in")


def test_story_is_played_with_the_tools_of_a_project(project):
    story = project.command.story(GREETING)
    assert "does not exist" in project.command("play", "--verbose", "--story", story, "hello").out
    ran = project.command("play", "--verbose", "--story", story, "--project", project.folder, "hello")
    assert ran.status == 0 and "does not exist" not in ran.out and "Nothing happens" not in ran.out, ran
    project.command("play", "--verbose", "--story", story, "--project", "nowhere", "hello").exits(2, "nowhere")


def test_list_shows_source_runner_and_guarantees(project):
    project.tool("greet", "purity: pure", "sandbox: true")
    ran = project.command("tool", "list", "--project", project.folder).exits(0)
    assert f"greet  (local; project {project.folder}/.namel3ss/tools.yaml)" in ran.out
    assert "source: binding" in ran.out and "no_network (tool)" in ran.out
    assert "secrets_allowed [] (tool)" in ran.out, ran.out


def test_list_check_finds_what_would_make_calls_fail(project):
    project.command("tool", "list", "--project", project.folder, "--check").exits(0).shows("no faults")
    project.bind("tools:\n  a:\n    entry: tools.nothing:run\n  b:\n    entry: somewhere:run\n"
                 "  c:\n    kind: node\n    entry: tools.sample_tool:run\n"
                 "  d:\n    entry: tools.sample_tool:greet\n    purity: pure\n")
    ran = project.command("tool", "list", "--project", project.folder, "--check").exits(1)
    for line, told in ((2, "the project has no module tools/nothing.py"), (4, "warning"),
                       (6, "tools of the kind node are not supported"), (9, "sandbox: true")):
        assert any(f"tools.yaml:{line}:" in each and told in each for each in ran.out.splitlines()), (
            told, ran.out)
    same = project.command("validate", "project", project.folder, "--json")
    assert same.status == 1 and len(same.result["files"][0]["faults"]) == 4, same
    assert project.command("validate", "project", "nowhere").status == 2


def test_tools_with_the_same_name_in_scripts_are_a_warning(project):
    project.bind("tools:\n" + "".join(f'  "{name}": {{entry: "tools.sample_tool:greet"}}\n'
                                      for name in ("my tool", "my_tool")))
    (line, _) = project.command("validate", "project", project.folder).exits(0).lines
    assert ('tools.yaml:3:3: warning: ' in line and 'the tool "my_tool" has the same name in scripts as "my tool", '
            'my_tool, so scripts can call neither' in line), line
    listed = project.command("tool", "list", "--project", project.folder).exits(0)
    assert listed.out.count("in scripts: my_tool, which is also the name of a different tool") == 2, listed
    script = project.command.file("a.nuwa", "CALL my_tool {}\n")
    project.command("script", script, "--project", project.folder).exits(
        1, f'means "my_tool" of the project {project.folder}/.namel3ss/tools.yaml and "my tool" of the project')


def test_plan_calls_the_tools_of_a_project_by_name(project):
    plan = project.command.plan({"toolPath": "greeter", "input": {"name": "Ada"}})
    ran = project.command("run", plan, "--project", project.folder, "--quiet").exits(0)
    (attempt,) = ran.result["toolResults"][0]["attempts"]
    assert attempt["traces"][-1]["tool"] == "greeter"
    project.bind("tools: 7\n")
    project.command("run", plan, "--project", project.folder).exits(2, "tools.yaml:1:")


def test_story_that_is_a_project_calls_its_tools_by_name(command):
    story = command.story(GREETING)
    Project(command, story)
    checked = command("validate", "story", story)
    assert checked.status == 0 and "warning" not in checked.out, checked
    command("play", "--story", story, "hello").exits(0).shows("Hi")
    (story / ".namel3ss/tools.yaml").write_text("tools:\n  greeter:\n    entry: 7\n")
    command("validate", "story", story).exits(1).shows(".namel3ss/tools.yaml:3:")
    (story / ".namel3ss/tools.yaml").write_text("tools: 7\n")
    assert command("play", "--story", story, "hello").status == 2


def test_allow_paths_also_applies_to_project_code(command):
    story = command.story(GREETING, toml='title = "A test"\n[tools]\nallow_paths = ["tools"]\n')
    Project(command, story)
    (line, _) = command("validate", "story", story).exits(0).lines
    assert line.startswith(f"{story}/story.toml:3:16: warning: /tools/allow_paths/0: tools of the story's project"), line
    assert 'is outside the allowed paths' in line and 'add "." to allow_paths under [tools] in story.toml' in line, line
    command("play", "--story", story, "hello").exits(1)
    for added in (".", story):
        (story / "story.toml").write_text(f'title = "A test"\n[tools]\nallow_paths = ["tools", "{added}"]\n')
        command("validate", "story", story, "--strict").exits(0)


def test_guarantees_of_the_story_apply_to_project_tools(command):
    story = command.story(GREETING, toml='title = "A test"\n[tools.greeter]\nno_network = true\n')
    Project(command, story)
    command("validate", "story", story, "--strict").exits(0)
    ran = command("tool", "list", "--story", story).exits(0)
    assert ran.lines[-2:] == ["    guarantees: no_network (story)", '    times: {"try_ms":10000}'], ran
